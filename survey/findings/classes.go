package findings

import (
	"fmt"
	"slices"

	"ocl/config"
	"ocl/run/result"
	"ocl/survey"
)

// classClaims are those about methods where each task brings new classes.
func classClaims() []Claim {
	list := []Claim{
		{Title: "EWC++ explodes with λ", Source: "perf_class_incremental", Benchmarks: cifar, Study: "lambda.yaml",
			Text: "The regularisation term of EWC++ explodes when λ becomes too large.",
			Rule: "At a learning rate of 0.1. With each seed, runs with λ = 0 and 10 come to their end, and with λ = 1,000, the largest value of table:hyper, they diverge.",
			Note: "`survey/results/cifar100/lambda.csv` lists nine older runs with one seed: four came to their end, up to λ = 10, and five diverged, from λ = 30 on. " +
				"Their result files were not kept, so this is not from results and does not count.",
			parts: explosion},
		{Title: "EWC++ and Finetune", Source: survey.ClassIncremental, Benchmarks: classStreams, Study: methodStudy,
			Text: "EWC++ is hardly better than Finetune.", parts: asGood("ewc++", []string{"finetune"}, 0)},
		{Title: "LwF and small memories", Source: survey.ClassIncremental, Benchmarks: smallStreams, Study: methodStudy,
			Text: "LwF, which stores nothing, is as good as replay with 1,000 samples on CIFAR-100, and better on Mini-ImageNet.",
			parts: func(b string) []question {
				if b == survey.CIFAR100 {
					return asGood("lwf", replaying, 1000)(b)
				}
				return leads("lwf", replaying, 1000)(b)
			}},
		{Title: "Methods without memory on CORe50", Source: survey.ClassIncremental, Benchmarks: []string{survey.CORe50NC},
			Study: methodStudy,
			Text:  "On CORe50, EWC++ and LwF fail: they are as good as Finetune.",
			parts: all(asGood("ewc++", []string{"finetune"}, 0), asGood("lwf", []string{"finetune"}, 0))},
		{Title: "A-GEM and Finetune", Source: survey.ClassIncremental, Benchmarks: classStreams, Study: methodStudy,
			Text:  "A-GEM is as good as Finetune: using stored samples indirectly is worth little.",
			parts: asGood("agem", []string{"finetune"}, sizes...)},
		{Title: "iCaRL leads with a small memory", Source: survey.ClassIncremental, Benchmarks: smallStreams,
			Study: methodStudy,
			Text:  "With a memory of 1,000, iCaRL is ahead of all other methods.", parts: leads("icarl", methods, 1000)},
		{Title: "CN-DPM with a small memory", Source: "conclusion", Benchmarks: smallStreams, Study: methodStudy,
			Text: "With a memory of 1,000, CN-DPM comes next after iCaRL.",
			parts: leads("cndpm", slices.DeleteFunc(slices.Clone(methods), func(name string) bool { return name == "icarl" }),
				1000)},
		{Title: "CN-DPM on CORe50", Source: "perf_class_incremental", Benchmarks: []string{survey.CORe50NC},
			Study: methodStudy,
			Text:  "CN-DPM fails on CORe50: it is as good as Finetune.", parts: asGood("cndpm", []string{"finetune"}, 1000)},
		{Title: "GDumb leads with larger memories", Source: survey.ClassIncremental, Benchmarks: smallStreams,
			Study: methodStudy,
			Text:  "With a memory of 5,000 and 10,000, GDumb is ahead of all other methods.",
			parts: leads("gdumb", methods, large...)},
		{Title: "GDumb leads at every evaluation", Source: "perf_class_incremental", Benchmarks: smallStreams,
			Study: metricStudy,
			Text:  "GDumb is ahead not only at the end of the stream, but also at every evaluation before.",
			Rule:  "M = 5,000, runs that were tested after each task. The share of the evaluations after which GDumb is ahead by the average accuracy on the tasks so far: all of them.",
			parts: gdumbAlways},
		{Title: "GSS stays below ER", Source: survey.ClassIncremental, Benchmarks: classStreams, Study: methodStudy,
			Text: "ER is ahead of GSS at each size of the memory.", parts: leads("er", []string{"gss"}, sizes...)},
		{Title: "MIR and ER", Source: "tab: comment_method", Benchmarks: classStreams, Study: methodStudy,
			Text: "With a large memory, MIR is ahead of ER.", parts: leads("mir", []string{"er"}, large...)},
		{Title: "MIR leads on CORe50", Source: survey.ClassIncremental, Benchmarks: []string{survey.CORe50NC},
			Study: methodStudy,
			Text:  "On CORe50, MIR is ahead of all other methods at each size of the memory.",
			parts: leads("mir", methods, sizes...)},
		{Title: "Distillation forgets less because it learns less", Source: "fig:nc_bar", Benchmarks: smallStreams,
			Study: metricStudy,
			Text:  "LwF and iCaRL, which distil, forget less than the others because they learn less: their accuracy on a task just learned is lower, too.",
			Rule:  "M = 5,000; forgetting and learning accuracy in points, of runs that were tested after each task.",
			Note:  "The parts show both, and not that one is the cause of the other.",
			parts: distillation},
		{Title: "No transfer between classes", Source: "fig:nc_bar", Benchmarks: smallStreams, Study: metricStudy,
			Text: "No method transfers to earlier tasks.",
			Rule: "Backward transfer in points, not clipped: the survey's BWT⁺ is never below 0, so of a method that forgets nothing but 0 could be found. It is below 0 where later tasks harm " +
				"the earlier ones. Runs that were tested after each task, M = 5,000 but for CN-DPM.",
			Note: "The survey says the same of transfer to later tasks. That is not counted, as it cannot fail: before the first task of a class the last layer has only been trained to say that no image is of it, " +
				"so nearly no image is labelled so, and FWT was 0 in all runs.",
			parts: on(methods, func(name, b string) []question {
				m := 5000
				if !has(name, m) {
					m = 1000
				}
				return []question{{what: "BWT of " + of(b, name, "none", m).String() + " < 0",
					terms: []term{{of(b, name, "none", m), backward()}}, rule: below, text: points}}
			})},
	}
	for i := range list {
		list[i].Group = Classes
	}
	return list
}

// explosion looks at how runs of EWC++ end as λ rises.
func explosion(b string) []question {
	var terms []term
	for _, lambda := range []string{"0", "10", "1000"} {
		a := of(b, "ewc++", "none", 0).with(changed("method.ewc++.lambda", lambda), changed("optimizer.lr", "0.1"),
			changed("optimizer.weight_decay", "0.0001"))
		terms = append(terms, term{a, diverged()})
	}
	// The value counts how many of the three runs end as the claim says.
	return []question{{what: "EWC++ comes to its end with λ = 0 and 10, and diverges with 1,000", terms: terms, rule: each,
		value: func(x []float64) float64 { return (1 - x[0]) + (1 - x[1]) + x[2] },
		so:    func(v float64) bool { return v == 3 },
		text:  func(v, _ float64) string { return fmt.Sprintf("%.0f of 3 runs", v) }}}
}

func gdumbAlways(b string) (list []question) {
	gdumb := of(b, "gdumb", "none", 5000)
	for _, name := range methods {
		if name == "gdumb" || !has(name, 5000) {
			continue
		}
		other := of(b, name, "none", 5000)
		list = append(list, aheadAtAll(gdumb, other, 0, fmt.Sprintf("GDumb > %s after every task, M = 5,000", other),
			accuracyAfter))
	}
	return list
}

// distillation compares forgetting and learning accuracy.
func distillation(b string) (list []question) {
	for _, kind := range []struct {
		m      measure
		called string
	}{{forgetting(), "forgetting"}, {learning(), "learning accuracy"}} {
		for _, distilling := range []string{"lwf", "icarl"} {
			for _, other := range []string{"finetune", "ewc++", "er", "mir", "gss", "agem"} {
				list = append(list, more(of(b, other, "none", 5000), of(b, distilling, "none", 5000), kind.m, kind.called))
			}
		}
	}
	return list
}

// errorClaims are those about the errors of A-GEM, ER and MIR.
func errorClaims() []Claim {
	const rule = "M = 5,000; of the samples, in the tasks that have old classes. The share of these tasks in which this is so: "
	// courseOf are the parts, a method each, that something is so after most tasks with old classes, or after all.
	courseOf := func(m measure, ask func(string, []term, func([]float64) float64) question,
		when string) func(string) []question {
		return on(bases, func(name, b string) []question {
			a := of(b, name, "none", 5000)
			return []question{ask(a.String()+when, []term{{a, m}}, nil)}
		})
	}
	logits := course("logits", func(t result.TaskErrors) (a, b *float64) {
		if t.Logits == nil {
			return nil, nil
		}
		return t.Logits.NewOwn, t.Logits.OldOwn
	})
	weights := course("weights", func(t result.TaskErrors) (a, b *float64) {
		if t.Head == nil {
			return nil, nil
		}
		return t.Head.NewWeight, t.Head.OldWeight
	})
	biases := course("biases", func(t result.TaskErrors) (a, b *float64) {
		if t.Head == nil {
			return nil, nil
		}
		return t.Head.NewBias, t.Head.OldBias
	})
	ratios := course("error ratios", func(t result.TaskErrors) (a, b *float64) {
		return t.OldAsNewOfSamples,
			t.NewAsOldOfSamples
	})
	list := []Claim{
		{Title: "Old classes are taken for new ones", Source: "fig:trick_motivation",
			Text: "Most of the times, old classes are taken for new ones more often than the reverse: er(o,n) > er(n,o).",
			Rule: rule + "more than half.", parts: courseOf(ratios, inMost, ", in most tasks")},
		{Title: "Logits of new classes", Source: "fig:trick_motivation",
			Text: "The mean logit of new classes is always above that of old ones.", Rule: rule + "all.",
			parts: courseOf(logits, inAll, ", in all tasks")},
		{Title: "Weights of new classes", Source: "fig:trick_motivation",
			Text: "The last layer's weights are larger for new classes than for old ones.", Rule: rule + "all.",
			parts: courseOf(weights, inAll, ", in all tasks")},
		{Title: "Biases of new classes", Source: "fig:trick_motivation",
			Text: "Most of the times, its biases are larger for new classes, too.", Rule: rule + "more than half.",
			parts: courseOf(biases, inMost, ", in most tasks")},
		{Title: "A-GEM takes all old classes for new ones", Source: survey.ErrorAnalysis,
			Text: "After the last task, A-GEM takes all samples of old classes for new ones.",
			Rule: "er(o,n) of the samples, M = 5,000: at least 99.5 %, which rounds to all.",
			parts: func(b string) []question {
				return []question{{what: "er(o,n) of A-GEM is 100 %, M = 5,000",
					terms: []term{{of(b, "agem", "none", 5000), oldAsNew(evaluations - 1)}}, rule: each,
					text: percent, so: func(v float64) bool { return v >= 99.5 }}}
			}},
		{Title: "Replay and the errors", Source: survey.ErrorAnalysis,
			Text: "ER and MIR always take fewer old classes for new ones than A-GEM: they replay stored samples, and A-GEM only looks at them.",
			Rule: "er(o,n) of the samples, M = 5,000: after the last task in points, and after every task with old classes.",
			parts: on(replayed, func(name, b string) []question {
				agem, a := of(b, "agem", "none", 5000), of(b, name, "none", 5000)
				return []question{more(agem, a, oldAsNew(evaluations-1), "er(o,n) after the last task"),
					aheadAtAll(agem, a, 1, fmt.Sprintf("%s > %s, er(o,n) after every task", agem, a), oldAsNew)}
			})},
	}
	for i := range list {
		list[i].Group, list[i].Benchmarks, list[i].Study = Errors, cifar, metricStudy
	}
	return list
}

// byHead is the classifier of the methods themselves.
const byHead = config.ClassifierHead
