package findings

import (
	"fmt"
	"math"

	"ocl/config"
	"ocl/survey"
	"ocl/survey/paper"
)

// Sizes of the memory in the survey.
var (
	sizes = []int{1000, 5000, 10000}
	large = []int{5000, 10000}
)

// Data sets of the survey, by how their tasks differ.
var (
	classStreams  = []string{survey.CIFAR100, survey.MiniImageNet, survey.CORe50NC}
	smallStreams  = []string{survey.CIFAR100, survey.MiniImageNet}
	shiftStreams  = []string{survey.Noise, survey.Occlusion, survey.Blur}
	domainStreams = []string{survey.Noise, survey.Occlusion, survey.Blur, survey.CORe50NI}
	cifar         = []string{survey.CIFAR100}
	mini          = []string{survey.MiniImageNet}
)

// Methods by kind.
var (
	replaying = []string{"er", "mir", "gss"}
	bases     = []string{"agem", "er", "mir"} // those of the tricks
	replayed  = []string{"er", "mir"}         // of these, those that replay
	allTricks = []string{"lb", "kdc", "kdc*", "mi", "ss", config.ClassifierNCM, "rv"}
)

// methods are those of table:nc but for its bounds, Finetune and Offline. They are no methods of continual learning,
// and being ahead of the lower one says nothing.
var methods = []string{"ewc++", "lwf", "er", "mir", "gss", "icarl", "agem", "cndpm", "gdumb"}

// has says whether the survey has a method with a memory of that size. It has CN-DPM with 1,000 samples alone.
func has(name string, m int) bool { return name != "cndpm" || m == 1000 }

// memory says of a part with which memory its arms ran, if one has one.
func memory(arms ...arm) string {
	m := 0
	for _, a := range arms {
		m = max(m, a.spec.Memory)
	}
	if m == 0 {
		return ""
	}
	return fmt.Sprintf(", M = %d,000", m/1000)
}

// ahead asks whether the accuracy of a is above that of b.
func ahead(a, b arm) question {
	return question{what: a.String() + " > " + b.String() + memory(a, b), text: points,
		published: publishedDifference(a, b),
		terms:     []term{{a, accuracy(a.spec.Classifier)}, {b, accuracy(b.spec.Classifier)}}}
}

// more asks whether a measure of a is above that of b.
func more(a, b arm, m measure, called string) question {
	return question{what: fmt.Sprintf("%s > %s, %s", a, b, called), text: points, terms: []term{{a, m}, {b, m}}}
}

// alike asks whether the accuracies of a and b are the same.
func alike(a, b arm) question {
	q := ahead(a, b)
	q.what, q.rule, q.margin = a.String()+" ≈ "+b.String()+memory(a, b), near, Alike
	for _, x := range []arm{a, b} {
		if mean, ok := x.publishedMean(); ok {
			q.margin = math.Min(q.margin, mean/AlikeOf)
		}
	}
	return q
}

// publishedDifference is the paper's accuracy of a minus that of b; "" where it does not have both.
func publishedDifference(a, b arm) string {
	x, ok := a.publishedMean()
	y, also := b.publishedMean()
	if !ok || !also {
		return ""
	}
	return signed(x - y)
}

// against are parts about a method and each of some others, at each size of the memory.
func against(name string, others []string, at []int, ask func(method, other arm) question) func(string) []question {
	return func(b string) (list []question) {
		for _, m := range at {
			for _, other := range others {
				if other != name && has(other, m) {
					list = append(list, ask(of(b, name, "none", m), of(b, other, "none", m)))
				}
			}
		}
		return list
	}
}

// leads are the parts that a method is ahead of others at each size of the memory.
func leads(name string, others []string, at ...int) func(string) []question {
	return against(name, others, at, ahead)
}

// behind are the parts that others are ahead of a method.
func behind(name string, others []string, at ...int) func(string) []question {
	return against(name, others, at, func(method, other arm) question { return ahead(other, method) })
}

// asGood are the parts that a method is as good as others.
func asGood(name string, others []string, at ...int) func(string) []question {
	return against(name, others, at, alike)
}

// helps are the parts that tricks raise the accuracy of methods.
func helps(methods, tricks []string, at ...int) func(string) []question {
	return outdoes(methods, tricks, []string{"none"}, at...)
}

// outdoes are the parts that each of some tricks is ahead of others on the same method.
func outdoes(methods, tricks, others []string, at ...int) func(string) []question {
	return func(b string) (list []question) {
		for _, m := range at {
			for _, name := range methods {
				for _, trick := range tricks {
					for _, other := range others {
						list = append(list, ahead(of(b, name, trick, m), of(b, name, other, m)))
					}
				}
			}
		}
		return list
	}
}

// inMost asks of a share of the tasks whether it is more than half with each seed, and inAll whether it is all of them.
func inMost(what string, terms []term, value func([]float64) float64) question {
	return question{what: what, terms: terms, value: value, rule: each, text: wholePercent,
		so: func(v float64) bool { return v > 50 }}
}

func inAll(what string, terms []term, value func([]float64) float64) question {
	return question{what: what, terms: terms, value: value, rule: each, text: wholePercent,
		so: func(v float64) bool { return v == 100 }}
}

// aheadAtAll asks whether a is ahead of b by a measure of a task, after all tasks from the first.
func aheadAtAll(a, b arm, first int, what string, at func(task int) measure) question {
	var terms []term
	for task := first; task < evaluations; task++ {
		terms = append(terms, term{a, at(task)}, term{b, at(task)})
	}
	return inAll(what, terms, func(x []float64) float64 {
		yes := 0
		for i := 0; i < len(x); i += 2 {
			if x[i] > x[i+1] {
				yes++
			}
		}
		return 100 * float64(yes) / float64(len(x)/2)
	})
}

// on are the same parts for each of some methods.
func on(methods []string, of func(name, benchmark string) []question) func(string) []question {
	return func(b string) (list []question) {
		for _, name := range methods {
			list = append(list, of(name, b)...)
		}
		return list
	}
}

// all are the parts of several functions.
func all(of ...func(string) []question) func(string) []question {
	return func(b string) (list []question) {
		for _, f := range of {
			list = append(list, f(b)...)
		}
		return list
	}
}

// changed is a key with another value.
func changed(key, value string) paper.Change { return paper.Change{Key: key, Value: value} }
