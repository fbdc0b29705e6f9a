package findings

import (
	"fmt"
	"slices"

	"ocl/config"
	"ocl/survey"
)

// domainClaims are those about methods where the tasks have the same classes.
func domainClaims() []Claim {
	list := []Claim{
		{Title: "Replay leads", Source: survey.DomainIncremental, Benchmarks: domainStreams, Study: domainStudy,
			Text: "ER, MIR and GSS are ahead of Finetune, EWC++, LwF and A-GEM at each size of the memory.",
			parts: on([]string{"finetune", "ewc++", "lwf", "agem"},
				func(name, b string) []question { return behind(name, replaying, sizes...)(b) })},
		{Title: "Methods that replay are alike", Source: "perf_domain_incremental", Benchmarks: domainStreams,
			Study: domainStudy,
			Text:  "ER, MIR and GSS are comparable at each size of the memory.",
			Note:  "On CORe50-NI, the survey's own table has MIR ahead by 2 to 8 points.",
			parts: all(asGood("er", []string{"mir", "gss"}, sizes...), asGood("mir", []string{"gss"}, sizes...))},
		{Title: "GDumb falls behind", Source: survey.DomainIncremental, Benchmarks: domainStreams, Study: domainStudy,
			Text: "GDumb falls behind ER, MIR and GSS.", parts: behind("gdumb", replaying, sizes...)},
		{Title: "CN-DPM falls behind", Source: "perf_domain_incremental", Benchmarks: domainStreams, Study: domainStudy,
			Text: "CN-DPM falls behind all other methods.",
			Note: "With blur, the survey's own table has it level with Finetune.",
			parts: behind("cndpm", slices.DeleteFunc(slices.Concat([]string{"finetune"}, methods),
				func(name string) bool { return name == "icarl" || name == "cndpm" }), 1000)},
		{Title: "What GDumb stores", Source: "perf_domain_incremental", Benchmarks: domainStreams, Study: domainStudy,
			Text: "GDumb falls behind because its greedy memory holds mostly samples of the latest tasks.",
			Rule: "The share of the stored samples that came with the latest third of the tasks (rounded down), at the end: more than half.",
			Note: "By the rule of the greedy memory one expects the reverse: where all tasks have the same classes, it is balanced soon after it is full, and then refuses what comes later.",
			parts: func(b string) (list []question) {
				for _, m := range sizes {
					a := of(b, "gdumb", "none", m)
					list = append(list, question{what: "the latest third of the tasks have most of the memory" + memory(a),
						terms: []term{{a, latest()}}, rule: each,
						text: wholePercent, so: func(v float64) bool { return v > 50 }})
				}
				return list
			}},
		{Title: "GDumb with a reservoir", Source: "perf_domain_incremental", Benchmarks: domainStreams, Study: claimStudy,
			Text: "With reservoir sampling in place of its greedy memory, GDumb does better.",
			parts: func(b string) []question {
				greedy := of(b, "gdumb", "none", 5000)
				return []question{ahead(greedy.with(changed("method.gdumb.update", "reservoir")).named("GDumb with a reservoir"),
					greedy)}
			}},
		{Title: "LwF falls behind", Source: survey.DomainIncremental, Benchmarks: domainStreams, Study: domainStudy,
			Text:  "LwF is behind EWC++ and Finetune.",
			Note:  "With blur, the survey's own table has LwF ahead of both.",
			parts: behind("lwf", []string{"ewc++", "finetune"}, 0)},
		{Title: "Transfer between domains", Source: "fig:ni_bar", Benchmarks: shiftStreams, Study: claimStudy,
			Text: "All methods transfer to later tasks. ER, MIR and GSS also transfer to earlier ones, more than the others do.",
			Rule: fmt.Sprintf("M = 5,000, runs that were tested on all tasks. FWT is an accuracy, so it is never below 0, and guessing among the 100 classes gives 1 %%: here transfer is more than %g %%. "+
				"Backward transfer is not clipped, in points.", Guessed),
			parts: domainTransfer},
		{Title: "Blur is the hardest", Source: "perf_domain_incremental", Benchmarks: []string{survey.Blur},
			Study: domainStudy,
			Text:  "All methods, and Offline, are worse with blur than with noise and occlusion.", Rule: "M = 5,000.",
			parts: on([]string{"finetune", "offline", "ewc++", "lwf", "er", "mir", "gss", "agem", "gdumb"},
				func(name, b string) (list []question) {
					for _, other := range []string{survey.Noise, survey.Occlusion} {
						x, y := of(other, name, "none", 5000), of(b, name, "none", 5000)
						q := ahead(x, y)
						q.what = fmt.Sprintf("%s: %s > %s", x, other, b)
						list = append(list, q)
					}
					return list
				})},
		{Title: "Why blur is hard", Source: "perf_domain_incremental", Benchmarks: []string{survey.Blur}, Study: claimStudy,
			Text: "Accuracy is low with blur because the network, a ResNet, suffers from blurred images.",
			Rule: "ER, M = 5,000. If this were the cause, images that are blurred one by one would be as hard as those of the authors' code, whose filter goes across the images of a task, " +
				"and harder than noise and occlusion.",
			Note:  "The filter across images mixes each image with its neighbours in the shuffled task, which have other labels ([deviations](deviations.md)).",
			parts: blur},
	}
	for i := range list {
		list[i].Group = Domains
	}
	return list
}

// domainTransfer asks about FWT of all methods, BWT of those that replay, and whether it is above that of the others.
func domainTransfer(b string) (list []question) {
	others := []string{"finetune", "ewc++", "lwf", "agem", "gdumb"}
	for _, name := range slices.Concat(replaying, others) {
		a := of(b, name, "none", 5000)
		list = append(list, question{what: fmt.Sprintf("FWT of %s > %g %%", a, Guessed), terms: []term{{a, forward()}},
			limit: Guessed, text: percent})
	}
	for _, name := range replaying {
		a := of(b, name, "none", 5000)
		list = append(list, question{what: "BWT of " + a.String() + " > 0", terms: []term{{a, backward()}}, text: points})
		for _, other := range others {
			list = append(list, more(a, of(b, other, "none", 5000), backward(), "BWT"))
		}
	}
	return list
}

// blur compares both ways to blur, and blur by image with other disturbances.
func blur(b string) []question {
	across := of(b, "er", "none", 5000)
	byImage := across.with(changed("stream.shift.blur", config.BlurPerImage)).named("blur image by image")
	noise, occlusion := of(survey.Noise, "er", "none", 5000).named("noise"),
		of(survey.Occlusion, "er", "none", 5000).named("occlusion")
	return []question{alike(byImage, across.named("blur across images")), ahead(noise, byImage), ahead(occlusion, byImage)}
}
