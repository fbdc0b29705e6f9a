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
