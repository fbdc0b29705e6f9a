package findings

import (
	"fmt"
	"math"
	"strings"

	"ocl/config"
	"ocl/survey"
)

// others are the tricks but some.
func others(but ...string) (list []string) {
	for _, trick := range allTricks {
		if !strings.Contains(" "+strings.Join(but, " ")+" ", " "+trick+" ") {
			list = append(list, trick)
		}
	}
	return list
}

// trickClaims are those about the accuracy that tricks bring.
func trickClaims() []Claim {
	const ncm = config.ClassifierNCM
	list := []Claim{
		{Title: "Every trick helps", Benchmarks: smallStreams,
			Text:  "Every trick helps A-GEM, ER and MIR.",
			Note:  "The survey's own tables have KDC below ER and MIR at 5,000 and 10,000, of which it says itself that KDC fails there.",
			parts: helps(bases, allTricks, sizes...)},
		{Title: "The nearest class mean helps always", Benchmarks: smallStreams, Study: methodStudy,
			Text: "The nearest class mean helps at each size of the memory.", parts: helps(bases, []string{ncm}, sizes...)},
		{Title: "Review helps with a large memory", Benchmarks: smallStreams,
			Text: "Review helps with a large memory.", parts: helps(bases, []string{"rv"}, large...)},
		{Title: "Tricks for a small memory", Benchmarks: cifar,
			Text:  "With a memory of 1,000, the labels trick and the nearest class mean help ER and MIR more than the other tricks do.",
			parts: outdoes(replayed, []string{"lb", ncm}, others("lb", ncm), 1000)},
		{Title: "Tricks for a small memory on Mini-ImageNet", Source: "additional_oci", Benchmarks: mini,
			Text:  "With a memory of 1,000, the labels trick and KDC* help ER and MIR more than the other tricks do.",
			parts: outdoes(replayed, []string{"lb", "kdc*"}, others("lb", "kdc*"), 1000)},
		{Title: "Gains with a small memory", Benchmarks: cifar,
			Text: "With a memory of 1,000, the labels trick and the nearest class mean raise the accuracy of ER and MIR by around 100 %, and KDC, KDC* and separated softmax by around 64 %.",
			Rule: gainRule, Note: "The survey's conclusion says 64 % of the labels trick and the nearest class mean.",
			parts: on(replayed, func(name, b string) []question {
				return []question{gain(b, name, 1000, 100, "lb", ncm), gain(b, name, 1000, 64, "kdc", "kdc*", "ss")}
			})},
		{Title: "Gains of review with a large memory", Benchmarks: cifar,
			Text: "With a memory of 10,000, review raises the accuracy of ER by 74 % and that of MIR by 82 %.", Rule: gainRule,
			parts: func(b string) []question {
				return []question{gain(b, "er", 10000, 74, "rv"), gain(b, "mir", 10000, 82, "rv")}
			}},
		{Title: "KDC, KDC* and separated softmax", Benchmarks: cifar,
			Text: "With a memory of 1,000, KDC, KDC* and separated softmax help ER and MIR equally.",
			parts: on(replayed, func(name, b string) []question {
				kdc, star, ss := of(b, name, "kdc", 1000), of(b, name, "kdc*", 1000), of(b, name, "ss", 1000)
				return []question{alike(kdc, star), alike(kdc, ss), alike(star, ss)}
			})},
		{Title: "Tricks that depend on the memory", Benchmarks: cifar,
			Text: "Multiple iterations and review depend more on the size of the memory than the other tricks do.",
			Rule: "ER and MIR. The accuracy with 10,000 samples minus that with 1,000, in points, of two tricks beside each other.",
			parts: on(replayed, func(name, b string) (list []question) {
				for _, trick := range []string{"mi", "rv"} {
					for _, other := range others("mi", "rv") {
						list = append(list, grows(b, name, trick, other))
					}
				}
				return list
			})},
		{Title: "Review and A-GEM", Benchmarks: cifar,
			Text:  "Only review brings A-GEM close to ER and MIR: with a large memory it is ahead of all other tricks there.",
			parts: outdoes([]string{"agem"}, []string{"rv"}, others("rv"), large...)},
		{Title: "KDC fails with a large memory", Benchmarks: cifar,
			Text: "With a large memory, ER and MIR are better without KDC.",
			parts: on(replayed, func(name, b string) (list []question) {
				for _, m := range large {
					list = append(list, ahead(of(b, name, "none", m), of(b, name, "kdc", m)))
				}
				return list
			})},
		{Title: "New classes under KDC", Source: "trick_detail", Benchmarks: smallStreams,
			Text: "With KDC and a large memory, new classes are nearly unlearnt at the end of the stream, because distillation weighs too much.",
			Rule: fmt.Sprintf("The accuracy on the last task after it was learned: at most %g %%.", Unlearnt),
			parts: on(replayed, func(name, b string) (list []question) {
				for _, m := range large {
					a := of(b, name, "kdc", m)
					list = append(list, question{what: fmt.Sprintf("%s knows at most %g %% of the last task%s", a, Unlearnt,
						memory(a)), terms: []term{{a, lastTask()}}, rule: each,
						text: percent, so: func(v float64) bool { return v <= Unlearnt }})
				}
				return list
			})},
		{Title: "KDC* and KDC", Benchmarks: smallStreams,
			Text: "With a large memory, KDC* is better than KDC.", Note: `The survey says "much better".`,
			parts: outdoes(replayed, []string{"kdc*"}, []string{"kdc"}, large...)},
		{Title: "Two tricks beat every plain method", Benchmarks: smallStreams,
			Text:  "With review or the nearest class mean and a large memory, ER and MIR are ahead of every method without tricks.",
			Rule:  "Each is compared with GDumb, the best method without tricks in the survey. Which method is best here is not asked first, as a choice by results would favour that method.",
			Note:  "On Mini-ImageNet the survey excepts the nearest class mean with a memory of 10,000, which is left out here.",
			parts: beatsPlain},
		{Title: "The nearest class mean on Mini-ImageNet", Source: "additional_oci", Benchmarks: mini,
			Text: "With a memory of 10,000, ER and MIR with the nearest class mean stay behind the best method without tricks, GDumb.",
			parts: on(replayed, func(name, b string) []question {
				return []question{ahead(of(b, "gdumb", "none", 10000), of(b, name, ncm, 10000))}
			})},
		{Title: "MIR with both tricks and Offline", Source: "intro", Benchmarks: smallStreams,
			Text: "MIR with review and the nearest class mean comes much closer to Offline.",
			Rule: "M = 10,000. Much closer is more than half of the way from MIR alone to Offline: the part says by how many points the accuracy is beyond the middle of the two.",
			Note: "The survey has no figure of MIR with both.",
			parts: func(b string) []question {
				both := of(b, "mir", "rv", 10000)
				both.spec.Classifier = ncm
				return []question{{what: both.String() + " > the middle of MIR and Offline" + memory(both), text: points,
					terms: []term{{both, accuracy(ncm)}, {of(b, "mir", "none", 10000), accuracy(byHead)},
						{of(b, "offline", "none", 0), accuracy(byHead)}},
					value: func(x []float64) float64 { return x[0] - (x[1]+x[2])/2 }}}
			}},
	}
	for i := range list {
		c := &list[i]
		c.Group = Tricks
		if c.Source == "" {
			c.Source = "performance_tricks"
		}
		if c.Study == "" {
			c.Study = trickStudy
		}
	}
	return list
}

const gainRule = "By how much the mean accuracy with these tricks is above that without, in per cent of the latter. Around is less than a fifth of the survey's figure away from it."

// gain asks whether tricks raise the accuracy of a method by around so many per cent, in the mean over the tricks.
func gain(b, name string, m int, around float64, tricks ...string) question {
	base := of(b, name, "none", m)
	terms := []term{{base, accuracy(byHead)}}
	var names []string
	for _, trick := range tricks {
		a := of(b, name, trick, m)
		terms = append(terms, term{a, accuracy(a.spec.Classifier)})
		names = append(names, strings.ToUpper(trick))
	}
	value := func(x []float64) float64 {
		sum := 0.0
		for _, v := range x[1:] {
			sum += v
		}
		return 100 * (sum/float64(len(x)-1)/x[0] - 1)
	}
	var theirs []float64
	for _, t := range terms {
		mean, _ := t.arm.publishedMean()
		theirs = append(theirs, mean)
	}
	return question{what: fmt.Sprintf("%s gains around %.0f %% by %s%s", base, around, strings.Join(names, ", "),
		memory(base)), terms: terms, value: value, rule: near,
		limit: around, margin: around / AlikeOf, text: wholePercent, published: wholePercent(value(theirs), math.NaN())}
}

// grows asks whether the accuracy with a trick rises more with the memory than with another one.
func grows(b, name, trick, other string) question {
	var terms []term
	for _, t := range []string{trick, other} {
		for _, m := range []int{10000, 1000} {
			a := of(b, name, t, m)
			terms = append(terms, term{a, accuracy(a.spec.Classifier)})
		}
	}
	value := func(x []float64) float64 { return x[0] - x[1] - (x[2] - x[3]) }
	var theirs []float64
	for _, t := range terms {
		mean, _ := t.arm.publishedMean()
		theirs = append(theirs, mean)
	}
	return question{what: fmt.Sprintf("%s > %s, from M = 1,000 to 10,000", terms[0].arm, terms[2].arm), terms: terms,
		value: value, text: points, published: signed(value(theirs))}
}

// beatsPlain compares ER and MIR with a trick with GDumb, the survey's best method without one.
func beatsPlain(b string) (list []question) {
	for _, m := range large {
		for _, name := range replayed {
			for _, trick := range []string{config.ClassifierNCM, "rv"} {
				if b == survey.MiniImageNet && trick == config.ClassifierNCM && m == 10000 {
					continue
				}
				list = append(list, ahead(of(b, name, trick, m), of(b, "gdumb", "none", m)))
			}
		}
	}
	return list
}
