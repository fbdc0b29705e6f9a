package findings

import (
	"fmt"
	"slices"

	"ocl/config"
	"ocl/experiment/result"
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

// Claims are those that are checked, in the order of the page.
func Claims() []Claim {
	return []Claim{
		{Title: "EWC++ explodes with λ", Group: Classes, Source: "perf_class_incremental", Benchmarks: cifar, Study: "lambda.yaml",
			Text: "The regularisation term of EWC++ explodes when λ becomes too large.",
			Rule: "It holds if, at one learning rate, at least three runs with small values of λ come to their end and at least three with larger values diverge. " +
				"It fails if runs with λ up to 1,000, the largest value of table:hyper, all come to their end.",
			parts: explosion},
		{Title: "EWC++ and Finetune", Group: Classes, Source: survey.ClassIncremental, Benchmarks: classStreams, Study: "oci_cifar100.yaml",
			Text: "EWC++ is hardly better than Finetune.", parts: asGood("ewc++", []string{"finetune"}, 5000)},
		{Title: "LwF and small memories", Group: Classes, Source: survey.ClassIncremental, Benchmarks: smallStreams, Study: "oci_cifar100.yaml",
			Text: "LwF, which stores nothing, is as good as replay with 1,000 samples on CIFAR-100, and better on Mini-ImageNet.",
			parts: func(e *evidence, b string) []Part {
				if b == survey.CIFAR100 {
					return asGood("lwf", replaying, 1000)(e, b)
				}
				return leads("lwf", replaying, 1000)(e, b)
			}},
		{Title: "Methods without memory on CORe50", Group: Classes, Source: survey.ClassIncremental, Benchmarks: []string{survey.CORe50NC}, Study: "oci_cifar100.yaml",
			Text: "On CORe50, EWC++ and LwF fail: they are as good as Finetune.",
			parts: func(e *evidence, b string) []Part {
				return slices.Concat(asGood("ewc++", []string{"finetune"}, 5000)(e, b), asGood("lwf", []string{"finetune"}, 5000)(e, b))
			}},
		{Title: "A-GEM and Finetune", Group: Classes, Source: survey.ClassIncremental, Benchmarks: classStreams, Study: "oci_cifar100.yaml",
			Text: "A-GEM is as good as Finetune: using stored samples indirectly is worth little.", parts: asGood("agem", []string{"finetune"}, sizes...)},
		{Title: "iCaRL leads with a small memory", Group: Classes, Source: survey.ClassIncremental, Benchmarks: smallStreams, Study: "oci_cifar100.yaml",
			Text: "With a memory of 1,000, iCaRL is ahead of all other methods.", parts: leads("icarl", plain(), 1000)},
		{Title: "CN-DPM with a small memory", Group: Classes, Source: "conclusion", Benchmarks: smallStreams, Study: "oci_cifar100.yaml",
			Text:  "With a memory of 1,000, CN-DPM comes next after iCaRL.",
			parts: leads(paper.MethodName("CN-DPM"), slices.DeleteFunc(plain(), func(name string) bool { return name == "icarl" }), 1000)},
		{Title: "GDumb leads with larger memories", Group: Classes, Source: survey.ClassIncremental, Benchmarks: smallStreams, Study: "oci_cifar100.yaml",
			Text: "With a memory of 5,000 and 10,000, GDumb is ahead of all other methods.", parts: leads("gdumb", plain(), large...)},
		{Title: "GSS stays below ER", Group: Classes, Source: survey.ClassIncremental, Benchmarks: classStreams, Study: "oci_cifar100.yaml",
			Text: "ER is ahead of GSS at each size of the memory.", parts: leads("er", []string{"gss"}, sizes...)},
		{Title: "MIR and ER", Group: Classes, Source: "tab: comment_method", Benchmarks: classStreams, Study: "oci_cifar100.yaml",
			Text: "With a large memory, MIR is ahead of ER.", parts: leads("mir", []string{"er"}, large...)},
		{Title: "MIR leads on CORe50", Group: Classes, Source: survey.ClassIncremental, Benchmarks: []string{survey.CORe50NC}, Study: "oci_cifar100.yaml",
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
		{Title: "The nearest class mean helps always", Group: Tricks, Source: "performance_tricks", Benchmarks: smallStreams, Study: "oci_cifar100.yaml",
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
			Rule: fmt.Sprintf("Seconds of ER with M = 10,000 as a multiple of those with M = 1,000, of jobs with timing: true in a study; one run of each decides. Growing is more than %g times.", Steady), parts: trickTimes},

		{Title: "Replay leads", Group: Domains, Source: survey.DomainIncremental, Benchmarks: slices.Concat(shiftStreams, []string{survey.CORe50NI}), Study: "odi_mini.yaml",
			Text: "ER, MIR and GSS are ahead of Finetune, EWC++, LwF and A-GEM at each size of the memory.",
			parts: func(e *evidence, b string) (parts []Part) {
				for _, other := range []string{"finetune", "ewc++", "lwf", "agem"} {
					parts = append(parts, behind(other, replaying, sizes...)(e, b)...)
				}
				return parts
			}},
		{Title: "GDumb falls behind", Group: Domains, Source: survey.DomainIncremental, Benchmarks: slices.Concat(shiftStreams, []string{survey.CORe50NI}), Study: "odi_mini.yaml",
			Text: "GDumb falls behind ER, MIR and GSS.", parts: behind("gdumb", replaying, sizes...)},
		{Title: "What GDumb stores", Group: Domains, Source: "perf_domain_incremental", Benchmarks: slices.Concat(shiftStreams, []string{survey.CORe50NI}), Study: "odi_mini.yaml",
			Text: "GDumb falls behind because its greedy memory holds mostly samples of the latest tasks.",
			Rule: "The share of the stored samples that came with the latest third of the tasks (rounded down), at the end. A part holds if it is more than half in each run, and fails if it is at most what that " +
				"third has of the stream. One run decides, as it counts thousands of samples.",
			Note:  "By the rule of the greedy memory one expects the reverse: where all tasks have the same classes, it is balanced soon after it is full, and then refuses what comes later.",
			parts: gdumbMemory},
		{Title: "GDumb with a reservoir", Group: Domains, Source: "perf_domain_incremental", Benchmarks: slices.Concat(shiftStreams, []string{survey.CORe50NI}), Study: "claims_mini.yaml",
			Text: "With reservoir sampling in place of its greedy memory, GDumb does better.",
			parts: func(e *evidence, b string) []Part {
				greedy, reservoir := of(b, "gdumb", "none", 5000), of(b, "gdumb", "none", 5000)
				reservoir.changes, reservoir.name = []paper.Change{{Key: "method.gdumb.update", Value: "reservoir"}}, "GDumb with a reservoir"
				return []Part{e.ahead(reservoir, greedy, memory(5000))}
			}},
		{Title: "LwF falls behind", Group: Domains, Source: survey.DomainIncremental, Benchmarks: slices.Concat(shiftStreams, []string{survey.CORe50NI}), Study: "odi_mini.yaml",
			Text:  "LwF is behind EWC++ and Finetune.",
			Note:  "With blur, the survey's own table has LwF ahead of both.",
			parts: behind("lwf", []string{"ewc++", "finetune"}, 5000)},
		{Title: "Transfer between domains", Group: Domains, Source: "fig:ni_bar", Benchmarks: shiftStreams, Study: "claims_mini.yaml",
			Text:  "All methods transfer to later tasks, and ER, MIR and GSS transfer more to earlier ones than the others do.",
			Rule:  "M = 5,000, runs that were tested on all tasks. A part about FWT holds if the whole 95 % interval over at least three runs is above 0, and fails if it is below 1 point.",
			parts: domainTransfer},
		{Title: "Why blur is hard", Group: Domains, Source: "perf_domain_incremental", Benchmarks: []string{survey.Blur}, Study: "claims_mini.yaml",
			Text: "Accuracy is low with blur because the network, a ResNet, suffers from blurred images.",
			Rule: "ER, M = 5,000. If this were the cause, images that are blurred one by one would be as hard as those of the authors' code, whose filter goes across the images of a task, " +
				"and harder than noise and occlusion.",
			Note: "The filter across images mixes each image with its neighbours in the shuffled task, which have other labels ([deviations](deviations.md)).", parts: blur},
	}
}

// course says what a part about the course of a run counts.
const course = "M = 5,000; of the samples, in the tasks that have old classes, over at least three runs."
