package findings

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"ocl/config"
	"ocl/experiment/result"
	"ocl/metric"
	"ocl/report/paper"
	"ocl/survey"
)

// Sizes of the memory in the survey.
var (
	sizes = []int{1000, 5000, 10000}
	large = []int{5000, 10000}
)

// Data sets of the survey, by how their tasks differ.
var (
	classStreams = []string{survey.CIFAR100, survey.MiniImageNet, survey.CORe50NC}
	smallStreams = []string{survey.CIFAR100, survey.MiniImageNet}
	shiftStreams = []string{survey.Noise, survey.Occlusion, survey.Blur}
	cifar        = []string{survey.CIFAR100}
)

// Methods by kind.
var (
	replaying = []string{"er", "mir", "gss"}
	bases     = []string{"agem", "er", "mir"} // those of the tricks
	allTricks = []string{"lb", "kdc", "kdc*", "mi", "ss", config.ClassifierNCM, "rv"}
)

// plain are the methods of table:nc that are no bounds, and Finetune.
func plain() []string {
	names := []string{"finetune"}
	for _, name := range []string{"EWC++", "LwF", "ER", "MIR", "GSS", "iCaRL", "A-GEM", "CN-DPM", "GDumb"} {
		if n := paper.MethodName(name); n != "" {
			names = append(names, n)
		}
	}
	return names
}

// published says whether the survey has a method with a memory of that size. It has CN-DPM with 1,000 samples alone.
func published(name string, m int) bool { return name != paper.MethodName("CN-DPM") || m == 1000 }

func memory(m int) string { return fmt.Sprintf(", M = %d,000", m/1000) }

// leads are the parts that a method is ahead of others at each size of the memory.
func leads(name string, others []string, at ...int) func(*evidence, string) []Part {
	return func(e *evidence, b string) (parts []Part) {
		for _, m := range at {
			for _, other := range others {
				if other != name && published(other, m) {
					parts = append(parts, e.ahead(of(b, name, "none", m), of(b, other, "none", m), memory(m)))
				}
			}
		}
		return parts
	}
}

// behind are the parts that others are ahead of a method.
func behind(name string, others []string, at ...int) func(*evidence, string) []Part {
	return func(e *evidence, b string) (parts []Part) {
		for _, m := range at {
			for _, other := range others {
				parts = append(parts, e.ahead(of(b, other, "none", m), of(b, name, "none", m), memory(m)))
			}
		}
		return parts
	}
}

// asGood are the parts that a method is as good as others.
func asGood(name string, others []string, at ...int) func(*evidence, string) []Part {
	return func(e *evidence, b string) (parts []Part) {
		for _, m := range at {
			for _, other := range others {
				parts = append(parts, e.alike(of(b, name, "none", m), of(b, other, "none", m), memory(m)))
			}
		}
		return parts
	}
}

// helps are the parts that tricks raise the accuracy of methods.
func helps(methods, tricks []string, at ...int) func(*evidence, string) []Part {
	return func(e *evidence, b string) (parts []Part) {
		for _, m := range at {
			for _, name := range methods {
				for _, trick := range tricks {
					parts = append(parts, e.ahead(of(b, name, trick, m), of(b, name, "none", m), memory(m)))
				}
			}
		}
		return parts
	}
}

// outdoes are the parts that a trick is ahead of others on the same method.
func outdoes(methods, tricks, others []string, at ...int) func(*evidence, string) []Part {
	return func(e *evidence, b string) (parts []Part) {
		for _, m := range at {
			for _, name := range methods {
				for _, trick := range tricks {
					for _, other := range others {
						parts = append(parts, e.ahead(of(b, name, trick, m), of(b, name, other, m), memory(m)))
					}
				}
			}
		}
		return parts
	}
}

// Claims are those that are checked, in the order of the page.
func Claims() []Claim {
	return []Claim{
		{Title: "EWC++ explodes with λ", Group: Classes, Source: "perf_class_incremental", Benchmarks: cifar, Study: "lambda.yaml",
			Text: "The regularisation term of EWC++ explodes when λ becomes too large.",
			Rule: "It holds if, at one learning rate, at least three runs with small values of λ come to their end and at least three with larger values diverge. " +
				"It fails if runs with λ up to 1,000, the largest value of table:hyper, all come to their end.",
			parts: explosion},
		{Title: "EWC++ and Finetune", Group: Classes, Source: survey.ClassIncremental, Benchmarks: classStreams, Study: "oci.yaml",
			Text: "EWC++ is hardly better than Finetune.", parts: asGood("ewc++", []string{"finetune"}, 5000)},
		{Title: "LwF and small memories", Group: Classes, Source: survey.ClassIncremental, Benchmarks: smallStreams, Study: "oci.yaml",
			Text: "LwF, which stores nothing, is as good as replay with 1,000 samples on CIFAR-100, and better on Mini-ImageNet.",
			parts: func(e *evidence, b string) []Part {
				if b == survey.CIFAR100 {
					return asGood("lwf", replaying, 1000)(e, b)
				}
				return leads("lwf", replaying, 1000)(e, b)
			}},
		{Title: "Methods without memory on CORe50", Group: Classes, Source: survey.ClassIncremental, Benchmarks: []string{survey.CORe50NC}, Study: "oci.yaml",
			Text: "On CORe50, EWC++ and LwF fail: they are as good as Finetune.",
			parts: func(e *evidence, b string) []Part {
				return slices.Concat(asGood("ewc++", []string{"finetune"}, 5000)(e, b), asGood("lwf", []string{"finetune"}, 5000)(e, b))
			}},
		{Title: "A-GEM and Finetune", Group: Classes, Source: survey.ClassIncremental, Benchmarks: classStreams, Study: "oci.yaml",
			Text: "A-GEM is as good as Finetune: using stored samples indirectly is worth little.", parts: asGood("agem", []string{"finetune"}, sizes...)},
		{Title: "iCaRL leads with a small memory", Group: Classes, Source: survey.ClassIncremental, Benchmarks: smallStreams, Study: "oci.yaml",
			Text: "With a memory of 1,000, iCaRL is ahead of all other methods.", parts: leads("icarl", plain(), 1000)},
		{Title: "CN-DPM with a small memory", Group: Classes, Source: "conclusion", Benchmarks: smallStreams, Study: "oci.yaml",
			Text:  "With a memory of 1,000, CN-DPM comes next after iCaRL.",
			parts: leads(paper.MethodName("CN-DPM"), slices.DeleteFunc(plain(), func(name string) bool { return name == "icarl" }), 1000)},
		{Title: "GDumb leads with larger memories", Group: Classes, Source: survey.ClassIncremental, Benchmarks: smallStreams, Study: "oci.yaml",
			Text: "With a memory of 5,000 and 10,000, GDumb is ahead of all other methods.", parts: leads("gdumb", plain(), large...)},
		{Title: "GSS stays below ER", Group: Classes, Source: survey.ClassIncremental, Benchmarks: classStreams, Study: "oci.yaml",
			Text: "ER is ahead of GSS at each size of the memory.", parts: leads("er", []string{"gss"}, sizes...)},
		{Title: "MIR and ER", Group: Classes, Source: "tab: comment_method", Benchmarks: classStreams, Study: "oci.yaml",
			Text: "With a large memory, MIR is ahead of ER.", parts: leads("mir", []string{"er"}, large...)},
		{Title: "MIR leads on CORe50", Group: Classes, Source: survey.ClassIncremental, Benchmarks: []string{survey.CORe50NC}, Study: "oci.yaml",
			Text: "On CORe50, MIR is ahead of all other methods at each size of the memory.", parts: leads("mir", plain(), sizes...)},
		{Title: "Distillation forgets less because it learns less", Group: Classes, Source: "fig:nc_bar", Benchmarks: smallStreams, Study: "metrics.yaml",
			Text: "LwF and iCaRL, which distil, forget less than the others because they learn less: their accuracy on a task just learned is lower, too.",
			Rule: "M = 5,000; forgetting and learning accuracy in points, of runs that were tested after each task.", parts: distillation},
		{Title: "No transfer between classes", Group: Classes, Source: "fig:nc_bar", Benchmarks: smallStreams, Study: "metrics.yaml",
			Text: "No method transfers to earlier or to later tasks.",
			Rule: "A part holds if the whole 95 % interval of BWT⁺, or of FWT, is within 1 point of 0, over at least three runs that were tested on all tasks; it fails if the whole interval is above.",
			parts: func(e *evidence, b string) (parts []Part) {
				for _, name := range plain() {
					m := 5000
					if !published(name, m) {
						m = 1000
					}
					for _, t := range transfers {
						parts = append(parts, e.none(of(b, name, "none", m), t.name, onAll(metricOf(config.ClassifierHead, t.of))))
					}
				}
				return parts
			}},

		{Title: "Old classes are taken for new ones", Group: Errors, Source: "fig:trick_motivation", Benchmarks: cifar, Study: "error_analysis.yaml",
			Text: "Most of the times, old classes are taken for new ones more often than the reverse: er(o,n) > er(n,o).",
			Rule: course + " A part holds if this is so in more than half of the tasks of each run, and fails if it is in those of no run.",
			parts: courses(false, func(t result.TaskErrors) (bool, bool) {
				return above(t.OldAsNewOfSamples, t.NewAsOldOfSamples)
			})},
		{Title: "Logits of new classes", Group: Errors, Source: "fig:trick_motivation", Benchmarks: cifar, Study: "error_analysis.yaml",
			Text: "The mean logit of new classes is always above that of old ones.", Rule: course + " A part holds if this is so in all tasks of each run, and fails if it is in those of no run.",
			parts: courses(true, func(t result.TaskErrors) (bool, bool) {
				if t.Logits == nil {
					return false, false
				}
				return above(t.Logits.NewOwn, t.Logits.OldOwn)
			})},
		{Title: "Weights of new classes", Group: Errors, Source: "fig:trick_motivation", Benchmarks: cifar, Study: "error_analysis.yaml",
			Text: "The last layer's weights are larger for new classes than for old ones.", Rule: course + " A part holds if this is so in all tasks of each run, and fails if it is in those of no run.",
			parts: courses(true, func(t result.TaskErrors) (bool, bool) {
				if t.Head == nil {
					return false, false
				}
				return above(t.Head.NewWeight, t.Head.OldWeight)
			})},
		{Title: "Biases of new classes", Group: Errors, Source: "fig:trick_motivation", Benchmarks: cifar, Study: "error_analysis.yaml",
			Text: "Most of the times, its biases are larger for new classes, too.", Rule: course + " A part holds if this is so in more than half of the tasks of each run, and fails if it is in those of no run.",
			parts: courses(false, func(t result.TaskErrors) (bool, bool) {
				if t.Head == nil {
					return false, false
				}
				return above(t.Head.NewBias, t.Head.OldBias)
			})},
		{Title: "Replay and the errors", Group: Errors, Source: survey.ErrorAnalysis, Benchmarks: cifar, Study: "error_analysis.yaml",
			Text: "ER and MIR take fewer old classes for new ones than A-GEM: they replay stored samples, and A-GEM only looks at them.",
			Rule: "er(o,n) of the samples after the last task, in points, M = 5,000.",
			parts: func(e *evidence, b string) (parts []Part) {
				for _, name := range []string{"er", "mir"} {
					m := lastShare(func(t result.TaskErrors) *float64 { return t.OldAsNewOfSamples })
					parts = append(parts, e.more(of(b, "agem", "none", 5000), of(b, name, "none", 5000), ", er(o,n)", m, m))
				}
				return parts
			}},

		{Title: "Every trick helps", Group: Tricks, Source: "performance_tricks", Benchmarks: smallStreams, Study: "tricks_cifar.yaml",
			Text: "Every trick helps A-GEM, ER and MIR.", Note: "The survey's own tables have KDC below ER and MIR at 5,000 and 10,000, of which it says itself that KDC fails there.",
			parts: helps(bases, allTricks, sizes...)},
		{Title: "The nearest class mean helps always", Group: Tricks, Source: "performance_tricks", Benchmarks: smallStreams, Study: "oci.yaml",
			Text: "The nearest class mean helps at each size of the memory.", parts: helps(bases, []string{config.ClassifierNCM}, sizes...)},
		{Title: "Review helps with a large memory", Group: Tricks, Source: "performance_tricks", Benchmarks: smallStreams, Study: "tricks_cifar.yaml",
			Text: "Review helps with a large memory.", parts: helps(bases, []string{"rv"}, large...)},
		{Title: "Tricks for a small memory", Group: Tricks, Source: "performance_tricks", Benchmarks: cifar, Study: "tricks_cifar.yaml",
			Text:  "With a memory of 1,000, the labels trick and the nearest class mean help ER and MIR more than the other tricks do.",
			parts: outdoes([]string{"er", "mir"}, []string{"lb", config.ClassifierNCM}, []string{"kdc", "kdc*", "mi", "ss", "rv"}, 1000)},
		{Title: "Review and A-GEM", Group: Tricks, Source: "performance_tricks", Benchmarks: cifar, Study: "tricks_cifar.yaml",
			Text: "Only review brings A-GEM close to ER and MIR: with a large memory it is ahead of all other tricks there.", parts: outdoes([]string{"agem"}, []string{"rv"}, []string{"lb", "kdc", "kdc*", "mi", "ss", config.ClassifierNCM}, large...)},
		{Title: "New classes under KDC", Group: Tricks, Source: "trick_detail", Benchmarks: smallStreams, Study: "tricks_cifar.yaml",
			Text: "With KDC and a large memory, new classes are nearly unlearnt at the end of the stream, because distillation weighs too much.",
			Rule: fmt.Sprintf("The accuracy on the last task after it was learned. A part holds if the whole 95 %% interval over at least three runs is at most %g %%, and fails if it is above.", Unlearnt),
			parts: func(e *evidence, b string) (parts []Part) {
				for _, m := range large {
					for _, name := range []string{"er", "mir"} {
						parts = append(parts, e.unlearnt(of(b, name, "kdc", m), memory(m)))
					}
				}
				return parts
			}},
		{Title: "KDC* and KDC", Group: Tricks, Source: "performance_tricks", Benchmarks: smallStreams, Study: "tricks_cifar.yaml",
			Text: "With a large memory, KDC* is much better than KDC.", parts: outdoes([]string{"er", "mir"}, []string{"kdc*"}, []string{"kdc"}, large...)},
		{Title: "Two tricks beat every plain method", Group: Tricks, Source: "performance_tricks", Benchmarks: smallStreams, Study: "tricks_cifar.yaml",
			Text: "With review or the nearest class mean and a large memory, ER and MIR are ahead of every method without tricks.",
			Rule: "Each is compared with the best method without tricks of those that were run with that memory.",
			Note: "On Mini-ImageNet the survey excepts the nearest class mean with a memory of 10,000, which is left out here.", parts: beatsPlain},
		{Title: "MIR with both tricks and Offline", Group: Tricks, Source: "intro", Benchmarks: smallStreams, Study: "tricks_cifar.yaml",
			Text: "MIR with review and the nearest class mean comes much closer to Offline.",
			Rule: "M = 10,000. Much closer is more than half of the way from MIR alone to Offline: the part says by how many points the accuracy is beyond the middle of the two.",
			Note: "The survey has no figure of MIR with both.", parts: nearOffline},
		{Title: "Run times of tricks", Group: Tricks, Source: survey.TrickTimes, Benchmarks: cifar, Study: "trick_time.yaml",
			Text: "The run times of the nearest class mean and of review grow with the memory, and those of the other tricks do not.",
			Rule: fmt.Sprintf("Seconds of ER with M = 10,000 as a multiple of those with M = 1,000, of runs that had the machine to themselves; one run of each decides. Growing is more than %g times.", Steady), parts: trickTimes},

		{Title: "Replay leads", Group: Domains, Source: survey.DomainIncremental, Benchmarks: slices.Concat(shiftStreams, []string{survey.CORe50NI}), Study: "odi.yaml",
			Text: "ER, MIR and GSS are ahead of Finetune, EWC++, LwF and A-GEM at each size of the memory.",
			parts: func(e *evidence, b string) (parts []Part) {
				for _, other := range []string{"finetune", "ewc++", "lwf", "agem"} {
					parts = append(parts, behind(other, replaying, sizes...)(e, b)...)
				}
				return parts
			}},
		{Title: "GDumb falls behind", Group: Domains, Source: survey.DomainIncremental, Benchmarks: slices.Concat(shiftStreams, []string{survey.CORe50NI}), Study: "odi.yaml",
			Text: "GDumb falls behind ER, MIR and GSS.", parts: behind("gdumb", replaying, sizes...)},
		{Title: "What GDumb stores", Group: Domains, Source: "perf_domain_incremental", Benchmarks: slices.Concat(shiftStreams, []string{survey.CORe50NI}), Study: "odi.yaml",
			Text: "GDumb falls behind because its greedy memory holds mostly samples of the latest tasks.",
			Rule: "The share of the stored samples that came with the latest third of the tasks (rounded down), at the end. A part holds if it is more than half in each run, and fails if it is at most what that " +
				"third has of the stream. One run decides, as it counts thousands of samples.",
			Note:  "By the rule of the greedy memory one expects the reverse: where all tasks have the same classes, it is balanced soon after it is full, and then refuses what comes later.",
			parts: gdumbMemory},
		{Title: "GDumb with a reservoir", Group: Domains, Source: "perf_domain_incremental", Benchmarks: slices.Concat(shiftStreams, []string{survey.CORe50NI}), Study: "claims.yaml",
			Text: "With reservoir sampling in place of its greedy memory, GDumb does better.",
			parts: func(e *evidence, b string) []Part {
				greedy, reservoir := of(b, "gdumb", "none", 5000), of(b, "gdumb", "none", 5000)
				reservoir.changes, reservoir.name = []paper.Change{{Key: "method.gdumb.update", Value: "reservoir"}}, "GDumb with a reservoir"
				return []Part{e.ahead(reservoir, greedy, memory(5000))}
			}},
		{Title: "LwF falls behind", Group: Domains, Source: survey.DomainIncremental, Benchmarks: slices.Concat(shiftStreams, []string{survey.CORe50NI}), Study: "odi.yaml",
			Text:  "LwF is behind EWC++ and Finetune.",
			Note:  "With blur, the survey's own table has LwF ahead of both.",
			parts: behind("lwf", []string{"ewc++", "finetune"}, 5000)},
		{Title: "Transfer between domains", Group: Domains, Source: "fig:ni_bar", Benchmarks: shiftStreams, Study: "claims.yaml",
			Text:  "All methods transfer to later tasks, and ER, MIR and GSS transfer more to earlier ones than the others do.",
			Rule:  "M = 5,000, runs that were tested on all tasks. A part about FWT holds if the whole 95 % interval over at least three runs is above 0, and fails if it is below 1 point.",
			parts: domainTransfer},
		{Title: "Why blur is hard", Group: Domains, Source: "perf_domain_incremental", Benchmarks: []string{survey.Blur}, Study: "claims.yaml",
			Text: "Accuracy is low with blur because the network, a ResNet, suffers from blurred images.",
			Rule: "ER, M = 5,000. If this were the cause, images that are blurred one by one would be as hard as those of the authors' code, whose filter goes across the images of a task, " +
				"and harder than noise and occlusion.",
			Note: "The filter across images mixes each image with its neighbours in the shuffled task, which have other labels ([deviations](deviations.md)).", parts: blur},
	}
}

// course says what a part about the course of a run counts.
const course = "M = 5,000; of the samples, in the tasks that have old classes, over at least three runs."

// explosion judges how runs of EWC++ end as λ rises.
func explosion(e *evidence, _ string) []Part {
	const what = "EWC++ diverges from some λ on"
	byRate := map[float64][]Lambda{}
	runs := slices.Clone(e.lambda)
	for _, r := range e.study.Runs {
		c := r.Result.Config
		if r.Result.Method.Name != "ewc++" || c.Data.Name != "cifar100" || c.Protocol != config.ProtocolSurvey {
			continue
		}
		if text, ok := c.Text("method.ewc++.lambda"); ok {
			l := Lambda{Rate: c.Optimizer.LR, Diverged: r.Result.Outcome.State == result.Diverged, Path: r.Path}
			if _, err := fmt.Sscan(text, &l.Lambda); err == nil {
				runs = append(runs, l)
			}
		}
	}
	const largest = 1000 // of table:hyper
	for _, l := range runs {
		byRate[l.Rate] = append(byRate[l.Rate], l)
	}
	best := Part{What: what, Verdict: NotRun, P: math.NaN(), SignFlip: math.NaN()}
	for _, rate := range slices.Sorted(maps.Keys(byRate)) {
		list := byRate[rate]
		ended, diverged, least, most := 0, 0, math.Inf(1), 0.0
		var paths []string
		for _, l := range list {
			if l.Diverged {
				diverged++
				least = math.Min(least, l.Lambda)
			} else {
				ended++
				most = math.Max(most, l.Lambda)
			}
			if !slices.Contains(paths, l.Path) {
				paths = append(paths, l.Path)
			}
		}
		if len(list) < best.Runs {
			continue
		}
		best.Runs, best.Paths, best.Verdict = len(list), paths, Undecided
		switch {
		case diverged == 0:
			best.Ours = fmt.Sprintf("at a learning rate of %g all %d runs come to their end, up to λ = %g", rate, ended, most)
			if most >= largest && ended >= Seeds {
				best.Verdict = Fails
			}
		case ended == 0:
			best.Ours = fmt.Sprintf("at a learning rate of %g all %d runs diverge, from λ = %g on", rate, diverged, least)
		default:
			best.Ours = fmt.Sprintf("at a learning rate of %g, %d runs come to their end, up to λ = %g, and %d diverge, from λ = %g on", rate, ended, most, diverged, least)
			if most < least && ended >= Seeds && diverged >= Seeds {
				best.Verdict = Holds
			}
		}
	}
	return []Part{best}
}

// distillation compares forgetting and learning accuracy.
func distillation(e *evidence, b string) (parts []Part) {
	kinds := []struct {
		at string
		of func(result.Metrics) *float64
	}{
		{", forgetting", func(m result.Metrics) *float64 { return m.AverageForgetting }},
		{", learning accuracy", func(m result.Metrics) *float64 { return m.LearningAccuracy }},
	}
	for _, k := range kinds {
		m := sinceLearnt(metricOf(config.ClassifierHead, k.of))
		for _, distilling := range []string{"lwf", "icarl"} {
			for _, other := range []string{"finetune", "ewc++", "er", "mir", "gss", "agem"} {
				parts = append(parts, e.more(of(b, other, "none", 5000), of(b, distilling, "none", 5000), k.at, m, m))
			}
		}
	}
	return parts
}

// transfers are the two kinds.
var transfers = []struct {
	name string
	of   func(result.Metrics) *float64
}{
	{"BWT⁺", func(m result.Metrics) *float64 { return m.BWTPlus }},
	{"FWT", func(m result.Metrics) *float64 { return m.FWT }},
}

// none is the part that a measure of an arm is 0.
func (e *evidence) none(a arm, what string, m measure) Part {
	runs := e.runs(a, m)
	if len(runs) == 0 {
		return decided(what+" of "+a.String()+" is 0", NotRun, "", nil)
	}
	list := values(runs, m)
	v := Undecided
	if mean, half := metric.Interval(list); len(list) >= Seeds {
		v = within(mean, half, Alike)
	}
	return decided(what+" of "+a.String()+" is 0", v, estimateText(list), runs)
}

// unlearnt is the part that the last task is nearly unlearnt at the end.
func (e *evidence) unlearnt(a arm, at string) Part {
	last := func(r *paper.Run) (float64, bool) {
		rows := r.Result.Accuracy
		if len(rows) == 0 || r.Result.Outcome.State != result.Finished {
			return 0, false
		}
		row := rows[len(rows)-1]
		if len(row) == 0 || row[len(row)-1] == nil {
			return 0, false
		}
		return 100 * *row[len(row)-1], true
	}
	what := fmt.Sprintf("%s knows at most %g %% of the last task%s", a, Unlearnt, at)
	runs := e.runs(a, last)
	if len(runs) == 0 {
		return decided(what, NotRun, "", nil)
	}
	list, v := values(runs, last), Undecided
	if mean, half := metric.Interval(list); len(list) >= Seeds {
		switch {
		case mean+half <= Unlearnt:
			v = Holds
		case mean-half > Unlearnt:
			v = Fails
		}
	}
	return decided(what, v, estimateText(list)+" %", runs)
}

func above(a, b *float64) (yes, known bool) {
	if a == nil || b == nil {
		return false, false
	}
	return *a > *b, true
}

// courses are the parts, a method each, that something is so in most tasks with old classes, or in all.
func courses(all bool, is func(result.TaskErrors) (yes, known bool)) func(*evidence, string) []Part {
	return func(e *evidence, b string) (parts []Part) {
		for _, name := range bases {
			a := of(b, name, "none", 5000)
			counts := func(r *paper.Run) (yes, tasks int) {
				if r.Result.ErrorAnalysis == nil {
					return 0, 0
				}
				for _, t := range r.Result.ErrorAnalysis.Tasks {
					if so, known := is(t); known && t.Old > 0 {
						tasks++
						if so {
							yes++
						}
					}
				}
				return yes, tasks
			}
			has := func(r *paper.Run) (float64, bool) { _, tasks := counts(r); return 0, tasks > 1 }
			whole := a
			whole.spec.Protocol = config.ProtocolStandard
			runs := slices.Concat(e.runs(a, has), e.runs(whole, has))
			what := a.String() + ", in most tasks"
			if all {
				what = a.String() + ", in all tasks"
			}
			if len(runs) == 0 {
				parts = append(parts, decided(what, NotRun, "", nil))
				continue
			}
			var words []string
			so := 0
			for _, r := range runs {
				yes, tasks := counts(r)
				words = append(words, fmt.Sprintf("%d of %d", yes, tasks))
				if yes == tasks || !all && 2*yes > tasks {
					so++
				}
			}
			v := Undecided
			switch {
			case len(runs) < Seeds:
			case so == len(runs):
				v = Holds
			case so == 0:
				v = Fails
			}
			parts = append(parts, decided(what, v, strings.Join(words, ", "), runs))
		}
		return parts
	}
}

// lastShare is a share of errors after the last task, in per cent.
func lastShare(of func(result.TaskErrors) *float64) measure {
	return func(r *paper.Run) (float64, bool) {
		a := r.Result.ErrorAnalysis
		if a == nil || len(a.Tasks) == 0 || of(a.Tasks[len(a.Tasks)-1]) == nil {
			return 0, false
		}
		return 100 * *of(a.Tasks[len(a.Tasks)-1]), true
	}
}

// beatsPlain compares ER and MIR with a trick with the best method without one.
func beatsPlain(e *evidence, b string) (parts []Part) {
	for _, m := range large {
		best, most := arm{}, math.Inf(-1)
		for _, name := range plain() {
			a := of(b, name, "none", m)
			if a.spec.Memory == 0 {
				continue // far behind, and best only if nothing else was run
			}
			if mean, _ := metric.Interval(values(e.runs(a, accuracy(a.spec.Classifier)), accuracy(a.spec.Classifier))); mean > most {
				best, most = a, mean
			}
		}
		if best.spec.Method == "" {
			best = of(b, "gdumb", "none", m) // the survey's
		}
		for _, name := range []string{"er", "mir"} {
			for _, trick := range []string{config.ClassifierNCM, "rv"} {
				if b == survey.MiniImageNet && trick == config.ClassifierNCM && m == 10000 {
					continue
				}
				parts = append(parts, e.ahead(of(b, name, trick, m), best, memory(m)))
			}
		}
	}
	return parts
}

// nearOffline says how far MIR with review and the nearest class mean is beyond the middle of MIR and Offline.
func nearOffline(e *evidence, b string) []Part {
	both := of(b, "mir", "rv", 10000)
	both.spec.Classifier = config.ClassifierNCM
	head := accuracy(config.ClassifierHead)
	offline := map[uint64]*paper.Run{}
	for _, r := range e.runs(of(b, "offline", "none", 0), head) {
		offline[r.Seed] = r
	}
	alone, reached, pairs := e.pairs(of(b, "mir", "none", 10000), both, head, accuracy(config.ClassifierNCM))
	var x, y []float64
	var runs []*paper.Run
	for i := range reached {
		top := offline[pairs[2*i].Seed]
		if top == nil {
			continue
		}
		v, _ := head(top)
		x, y = append(x, reached[i]), append(y, (alone[i]+v)/2)
		runs = append(runs, pairs[2*i], pairs[2*i+1], top)
	}
	p := e.compared(both.String()+" > the middle of MIR and Offline, M = 10,000", x, y, runs)
	p.ordered = true
	return []Part{p}
}

// trickTimes compares run times with both memories.
func trickTimes(e *evidence, b string) (parts []Part) {
	cells, err := e.study.Cells(survey.TrickTimes)
	if err != nil {
		panic("findings: " + err.Error()) // the label is a table
	}
	find := func(row string, memory int) *paper.Cell {
		i := slices.IndexFunc(cells, func(c *paper.Cell) bool { return c.Row == row && c.Memory == memory })
		return cells[i]
	}
	for _, trick := range append([]string{"none"}, allTricks...) {
		row, name := strings.ToUpper(trick), of(b, "er", trick, 1000).String()
		if trick == "none" {
			row = "N/A"
		}
		grows := trick == config.ClassifierNCM || trick == "rv"
		what := name + ": time does not depend on the memory"
		if grows {
			what = name + ": time grows with the memory"
		}
		small, big := find(row, 1000), find(row, 10000)
		if small.Ours.N == 0 || big.Ours.N == 0 {
			parts = append(parts, decided(what, NotRun, "", nil))
			continue
		}
		ratio := big.Ours.Mean / small.Ours.Mean
		v := Fails
		if (ratio > Steady) == grows {
			v = Holds
		}
		p := decided(what, v, fmt.Sprintf("× %.2f", ratio), slices.Concat(small.Runs, big.Runs))
		p.Published = fmt.Sprintf("× %.2f", big.Published.Mean/small.Published.Mean)
		parts = append(parts, p)
	}
	return parts
}

// gdumbMemory looks at what GDumb's memory holds at the end.
func gdumbMemory(e *evidence, b string) (parts []Part) {
	for _, m := range sizes {
		a := of(b, "gdumb", "none", m)
		var fair float64
		holds := func(r *paper.Run) (float64, bool) {
			if len(r.Held) == 0 {
				return 0, false
			}
			last := r.Held[len(r.Held)-1]
			all, latest, third := 0, 0, len(last)/3
			for t, n := range last {
				if all += n; t >= len(last)-third {
					latest += n
				}
			}
			fair = 100 * float64(third) / float64(len(last))
			if all == 0 || third == 0 {
				return 0, false
			}
			return 100 * float64(latest) / float64(all), true
		}
		what := "the latest third of the tasks have most of the memory" + memory(m)
		runs := e.runs(a, holds)
		if len(runs) == 0 {
			parts = append(parts, decided(what, NotRun, "", nil))
			continue
		}
		v := Holds
		var words []string
		for _, r := range runs {
			share, _ := holds(r)
			words = append(words, fmt.Sprintf("%.0f %%", share))
			switch {
			case share <= fair:
				v = Fails
			case share <= 50 && v == Holds:
				v = Undecided
			}
		}
		parts = append(parts, decided(what, v, strings.Join(words, ", ")+fmt.Sprintf(" (%.0f %% of the stream)", fair), runs))
	}
	return parts
}

// domainTransfer judges FWT of all methods, and BWT⁺ of replay beside the others.
func domainTransfer(e *evidence, b string) (parts []Part) {
	others := []string{"finetune", "ewc++", "lwf", "agem", "gdumb"}
	forward := onAll(metricOf(config.ClassifierHead, transfers[1].of))
	for _, name := range slices.Concat(replaying, others) {
		a := of(b, name, "none", 5000)
		runs := e.runs(a, forward)
		what := "FWT of " + a.String() + " > 0"
		if len(runs) == 0 {
			parts = append(parts, decided(what, NotRun, "", nil))
			continue
		}
		list, v := values(runs, forward), Undecided
		if mean, half := metric.Interval(list); len(list) >= Seeds {
			switch {
			case mean-half > 0:
				v = Holds
			case mean+half < Alike:
				v = Fails
			}
		}
		parts = append(parts, decided(what, v, estimateText(list), runs))
	}
	backward := onAll(metricOf(config.ClassifierHead, transfers[0].of))
	for _, name := range replaying {
		for _, other := range others {
			parts = append(parts, e.more(of(b, name, "none", 5000), of(b, other, "none", 5000), ", BWT⁺", backward, backward))
		}
	}
	return parts
}

// blur compares both ways to blur, and blur by image with other disturbances.
func blur(e *evidence, b string) []Part {
	across, byImage := of(b, "er", "none", 5000), of(b, "er", "none", 5000)
	across.name = "blur across images"
	byImage.changes, byImage.name = []paper.Change{{Key: "stream.shift.blur", Value: config.BlurPerImage}}, "blur image by image"
	noise, occlusion := of(survey.Noise, "er", "none", 5000), of(survey.Occlusion, "er", "none", 5000)
	noise.name, occlusion.name = "noise", "occlusion"
	return []Part{e.alike(byImage, across, ""), e.ahead(noise, byImage, ""), e.ahead(occlusion, byImage, "")}
}
