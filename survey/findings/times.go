package findings

import (
	"fmt"
	"math"
	"sync"

	"ocl/config"
	"ocl/survey"
	"ocl/survey/paper"
)

// timeClaims are those about run times. They use jobs with timing: true in a study alone, on one kind of processor.
func timeClaims() []Claim {
	const rule = "Seconds of jobs that had the machine for themselves (`timing: true` in a study), on one kind of processor. "
	list := []Claim{
		{Title: "Run times of tricks", Source: survey.TrickTimes, Study: trickTimeStudy,
			Text: "The run times of the nearest class mean and of review grow with the memory, and those of the other tricks do not.",
			Rule: rule + fmt.Sprintf("ER with M = 10,000 as a multiple of M = 1,000. Growing is more than %g times.", Steady),
			parts: func(b string) (list []question) {
				for _, trick := range append([]string{"none"}, allTricks...) {
					q := ratio(of(b, "er", trick, 10000), of(b, "er", trick, 1000))
					q.limit, q.rule, q.what = Steady, below, of(b, "er", trick, 0).String()+": time does not depend on the memory"
					if trick == config.ClassifierNCM || trick == "rv" {
						q.rule, q.what = above, of(b, "er", trick, 0).String()+": time grows with the memory"
					}
					list = append(list, q)
				}
				return list
			}},
		{Title: "Overhead of tricks", Source: survey.TrickTimes, Study: trickTimeStudy,
			Text: "The labels trick, KDC, KDC*, multiple iterations and separated softmax take little longer than ER alone.",
			Rule: rule + fmt.Sprintf("M = 5,000, as a multiple of ER alone. A little is less than %g times.", Limited),
			Note: "The survey's own table has multiple iterations at almost four times.",
			parts: on([]string{"lb", "kdc", "kdc*", "mi", "ss"}, func(trick, b string) []question {
				x, er := of(b, "er", trick, 5000), of(b, "er", "none", 5000)
				return []question{within(ratio(x, er), x, er, Limited)}
			})},
		{Title: "Tricks by run time", Source: "tab:comment_trick", Study: trickTimeStudy,
			Text: "Separated softmax costs less time than KDC*, and review less than the nearest class mean.",
			Rule: rule + "ER at each size of the memory.",
			parts: func(b string) (list []question) {
				for _, m := range sizes {
					list = append(list, slower(of(b, "er", "kdc*", m), of(b, "er", "ss", m)),
						slower(of(b, "er", config.ClassifierNCM, m), of(b, "er", "rv", m)))
				}
				return list
			}},
		{Title: "Run times of methods", Source: "perf_class_incremental", Study: methodTimeStudy,
			Text: "CN-DPM takes longest, then GDumb, which trains anew at every evaluation, then GSS. The others have similar run times.",
			Rule: rule + fmt.Sprintf("M = 5,000 but for CN-DPM with 1,000, tested after each task. Similar to ER is less than %g times as long as ER, and ER as the method.",
				Similar),
			parts: methodTimes},
		{Title: "Run time of ER", Source: "tab: comment_method", Study: methodTimeStudy,
			Text: "ER is the fastest of the methods with a memory.", Rule: rule + "M = 5,000, tested after each task.",
			parts: on([]string{"mir", "gss", "icarl", "agem", "gdumb"}, func(name, b string) []question {
				return []question{slowerOften(of(b, name, "none", 5000), of(b, "er", "none", 5000))}
			})},
	}
	for i := range list {
		list[i].Group, list[i].Benchmarks = Times, cifar
	}
	return list
}

// methodTimes are the parts about the order of the methods, tested after each task as in the survey.
func methodTimes(b string) (list []question) {
	at := func(name string) arm { return of(b, name, "none", 5000) }
	cndpm, gdumb, gss, er := of(b, "cndpm", "none", 1000), at("gdumb"), at("gss"), at("er")
	rest := []string{"finetune", "ewc++", "lwf", "er", "mir", "icarl", "agem"}
	list = append(list, slowerOften(cndpm, gdumb), slowerOften(gdumb, gss))
	for _, name := range rest {
		list = append(list, slowerOften(gss, at(name)))
	}
	for _, name := range rest {
		if name == "er" {
			continue
		}
		q := ratioOf(at(name), er, config.EvalSeen)
		q.value = func(x []float64) float64 { return math.Max(x[0]/x[1], x[1]/x[0]) }
		q.rule, q.limit, q.what = below, Similar, fmt.Sprintf("%s takes about as long as ER, M = 5,000", at(name))
		list = append(list, q)
	}
	return list
}

// ratio is the run time of a as a multiple of b's, of runs that were tested at the end, and slower asks whether it is
// above 1.
func ratio(a, b arm) question { return ratioOf(a, b, config.EvalFinal) }

func slower(a, b arm) question { return longer(ratio(a, b), a, b) }

// slowerOften is the same of runs that were tested after each task.
func slowerOften(a, b arm) question { return longer(ratioOf(a, b, config.EvalSeen), a, b) }

func longer(q question, a, b arm) question {
	q.what, q.limit = fmt.Sprintf("%s takes longer than %s%s", a, b, memory(a, b)), 1
	return q
}

func ratioOf(a, b arm, eval string) question {
	q := question{what: fmt.Sprintf("%s by %s%s", a, b, memory(a, b)), text: times,
		value: func(x []float64) float64 { return x[0] / x[1] }}
	for _, t := range []arm{a, b} {
		q.terms = append(q.terms, term{t, seconds(t.spec.Classifier, eval)})
	}
	x, ok := publishedSeconds()[a.spec]
	y, also := publishedSeconds()[b.spec]
	if ok && also {
		q.published = times(x/y, math.NaN())
	}
	return q
}

// publishedSeconds are the survey's run times of ER with a trick.
var publishedSeconds = sync.OnceValue(func() map[paper.Spec]float64 {
	all := map[paper.Spec]float64{}
	for _, c := range new(paper.Study).Cells(survey.TrickTimes) {
		all[c.Spec] = c.Published.Mean
	}
	return all
})

// within asks whether the run time of a is below so many times b's.
func within(q question, a, b arm, limit float64) question {
	q.what, q.rule, q.limit = fmt.Sprintf("%s takes less than %g times as long as %s%s", a, limit, b, memory(a, b)), below,
		limit
	return q
}
