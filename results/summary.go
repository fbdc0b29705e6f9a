package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ocl/internal/count"
	"ocl/report"
	"ocl/report/chart"
	"ocl/report/findings"
	"ocl/report/paper"
	"ocl/survey"
)

// RunCount is the number of committed results, and Hours the core-hours that they took.
func (p *page) RunCount() int { return len(p.runs) }

// Hours are the seconds of all committed results times the cores of each, in hours.
func (p *page) Hours() string {
	sum := 0.0
	for _, r := range p.runs {
		sum += (r.Seconds.Train + r.Seconds.Prepare + r.Seconds.Test) * float64(max(1, r.Provenance.Workers))
	}
	return fmt.Sprintf("%.0f", sum/3600)
}

// Differing is an entry of a list for each table with cells that differ, which it names; the confirmation is one of them.
func (p *page) Differing() string {
	var lines []string
	for _, s := range append(p.sheets(), p.confirmation) {
		var names []string
		for _, c := range s.cells {
			if c.Verdict == paper.Differs {
				note := ""
				if c.Note != "" {
					note = "; " + c.Note
				}
				names = append(names, fmt.Sprintf("%s (%s; paper %s%s)", nameOf(c), joined(c.Values, "%.1f"), published(c.Published), note))
			}
		}
		if len(names) > 0 {
			lines = append(lines, "- **Differs**, "+s.title+": "+strings.Join(names, "; ")+".")
		}
	}
	if lines == nil {
		return "- No cell differs by these rules."
	}
	return strings.Join(lines, "\n")
}

// Lost is an entry of a list for each table with cells that agreed by the former rule and do not by this one.
func (p *page) Lost() string {
	var lines []string
	for _, s := range p.sheets() {
		var cells []*paper.Cell
		for _, c := range s.cells {
			if c.Former == paper.Agrees && c.Verdict != paper.Agrees {
				cells = append(cells, c)
			}
		}
		if len(cells) > 0 {
			lines = append(lines, fmt.Sprintf("- **No longer agrees**, %s (%d cells): %s.", s.title, len(cells), byMethod(cells)))
		}
	}
	return strings.Join(lines, "\n")
}

// FormerNear is how many cells that agreed by the former rule had a setting that was chosen by nearness, of how many.
func (p *page) FormerNear() string {
	var cells []*paper.Cell
	for _, s := range p.sheets() {
		cells = append(cells, s.cells...)
	}
	return fmt.Sprintf("%d of %d", paper.CountFormer(near(cells))[paper.Agrees], paper.CountFormer(cells)[paper.Agrees])
}

// byMethod names cells, those of a method together.
func byMethod(cells []*paper.Cell) string {
	of := map[string][]*paper.Cell{}
	var order []string
	for _, c := range cells {
		if of[c.Spec.Method] == nil {
			order = append(order, c.Spec.Method)
		}
		of[c.Spec.Method] = append(of[c.Spec.Method], c)
	}
	for i, method := range order {
		order[i] = shortened(of[method])
	}
	return strings.Join(order, "; ")
}

// FailingClaims is an entry of a list for each claim that fails, with the parts that do.
func (p *page) FailingClaims() string {
	var lines []string
	for _, f := range withVerdict(p.claims, findings.Fails) {
		var parts []string
		for _, part := range f.Parts {
			if part.Verdict == findings.Fails {
				parts = append(parts, part.What+": "+part.Ours)
			}
		}
		lines = append(lines, fmt.Sprintf("- **Fails**: [%s](findings.md#%s) (%s): %s", f.Claim.Title, anchor(f.Claim.Title), f.Benchmark, strings.Join(parts, "; ")))
	}
	if lines == nil {
		return "- No claim fails."
	}
	return strings.Join(lines, "\n")
}

// ClaimSum says how many claims have which verdict.
func (p *page) ClaimSum() string {
	var words []string
	for _, v := range findings.Verdicts() {
		n := len(withVerdict(p.claims, v))
		words = append(words, fmt.Sprintf("%d %s", n, plural(v, n)))
	}
	return fmt.Sprintf("%s, of %d claims and data sets", listed(words), len(p.claims))
}

// Shown is what our results show of the first part of a claim that has any.
func (p *page) Shown(claim string) (string, error) {
	for _, f := range p.claims {
		for _, part := range f.Parts {
			if f.Claim.Title == claim && part.Ours != "" {
				return fmt.Sprintf("%s (%s, %s)", part.Ours, f.Benchmark, count.Of(part.Seeds, "seed")), nil
			}
		}
	}
	return "", fmt.Errorf("no result bears on the claim %q", claim)
}

// Confirmation says how many cells of the confirmation have all their runs, and how many of those have which verdict.
func (p *page) Confirmation() string {
	counts := paper.CountVerdicts(p.confirmation.cells)
	done := counts.Sum() - counts[paper.NotRun]
	if done == 0 {
		return fmt.Sprintf("None of its %d cells has all of its runs yet", counts.Sum())
	}
	var words []string
	for _, v := range paper.Verdicts() {
		if v != paper.NotRun {
			words = append(words, fmt.Sprintf("%d %s", counts[v], v))
		}
	}
	return fmt.Sprintf("%d of its %d cells have all of their runs: %s. Of those that agree, the setting of %d was chosen by nearness", done, counts.Sum(), listed(words),
		paper.CountVerdicts(near(p.confirmation.cells))[paper.Agrees])
}

// ConfirmationCells is a row for each cell of the confirmation that has runs.
func (p *page) ConfirmationCells() string {
	run, _ := p.confirmation.run()
	if len(run) == 0 {
		return "No run of it is here yet."
	}
	return values(run)
}

// Replicates is a row for each method with repeats: how far rounding moves an accuracy beside how far seeds do.
func (p *page) Replicates() string {
	t := tableOf("method", "pairs of runs", "standard deviation by rounding, points", "by seed, same cells")
	for _, r := range p.study.Replicates() {
		name := "all"
		if r.Method != "" {
			name = title(r.Method)
		}
		t.row(name, fmt.Sprint(r.Pairs), fmt.Sprintf("%.1f", r.Rounding), joined([]float64{r.Seeds}, "%.1f"))
	}
	return t.String()
}

// Rounding is Replicates of one method as a sentence has it, or of all methods for "".
func (p *page) Rounding(name string) (string, error) {
	for _, r := range p.study.Replicates() {
		if r.Method == name {
			return fmt.Sprintf("%.1f points by rounding and %.1f by seed (%d pairs of runs)", r.Rounding, r.Seeds, r.Pairs), nil
		}
	}
	return "", fmt.Errorf("no repeats of %q are committed", name)
}

// Repeats are the accuracies of runs of one seed on CIFAR-100 with different kernels, by the short name of the runs.
func (p *page) Repeats(name string, memory int, seed uint64) (string, error) {
	spec, by := specOf(name, memory), map[string]string{}
	for _, c := range p.cells[survey.ClassIncremental] {
		if c.Spec != spec {
			continue
		}
		for i, r := range slices.Concat(c.Runs, c.Others) {
			if r.Seed == seed {
				by[r.Kernels()] = fmt.Sprintf("%.1f", slices.Concat(c.Values, c.OtherValues)[i])
			}
		}
	}
	if len(by) < 2 {
		return "", fmt.Errorf("%s with a memory of %d and seed %d has no repeats", name, memory, seed)
	}
	var values []string
	for _, kernels := range slices.Sorted(maps.Keys(by)) {
		values = append(values, by[kernels])
	}
	return listed(values), nil
}

// OtherKernels are the accuracies of the repeats of a cell of table:nc on CIFAR-100 that do not count.
func (p *page) OtherKernels(name string, memory int) (string, error) {
	for _, c := range p.cells[survey.ClassIncremental] {
		if c.Spec == specOf(name, memory) && len(c.OtherValues) > 0 {
			return joined(c.OtherValues, "%.1f"), nil
		}
	}
	return "", fmt.Errorf("%s with a memory of %d has no repeats", name, memory)
}

// Pages is an entry of a list for each table with runs: its page and its cells.
func (p *page) Pages() string {
	var lines []string
	for _, s := range p.sheets() {
		if run, _ := s.run(); len(run) > 0 {
			lines = append(lines, fmt.Sprintf("- [%s](reproduction/%s.md) ([CSV](reproduction/%s.csv)): %d of %d cells", s.title, s.name, s.name, len(run), len(s.cells)))
		}
	}
	if run, _ := p.confirmation.run(); len(run) > 0 {
		lines = append(lines, fmt.Sprintf("- [The confirmation](reproduction/confirmation.md): %d of %d cells", len(run), len(p.confirmation.cells)))
	}
	return strings.Join(lines, "\n")
}

// agreementChart sets every cell with runs against the published value, with both intervals, in one colour for each table.
func agreementChart(p *page) []byte {
	c := &chart.Scatter{XLabel: "the survey, %", YLabel: "ocl, %", Equal: true}
	n := 0
	for _, s := range p.sheets() {
		run, _ := s.run()
		if len(run) == 0 {
			continue
		}
		look := report.LookOf(report.Known{Name: s.name, Look: s.look})
		c.Groups = append(c.Groups, chart.Side{Name: s.short, Look: look})
		for _, cell := range run {
			if cell.Spec.Method == "offline" { // it would take half of the figure
				continue
			}
			v := valueOf(cell.Ours)
			spot := chart.Spot{Group: s.short, Tip: s.title + ": " + nameOf(cell), Look: look, X: cell.Published.Mean, Y: v.At, Half: v.High - v.At, Wide: cell.Published.Interval}
			if cell.Verdict == paper.Differs {
				spot.Label = nameOf(cell)
			}
			c.Points = append(c.Points, spot)
			n++
		}
	}
	title := "Average accuracy of ocl against the survey's"
	l := chart.Layout{Width: 720, Height: 700, Font: 13, Title: title, Alone: true}
	return chart.Draw(c, l).Adaptive(title, fmt.Sprintf("%d cells of the survey's tables, without Offline. The dashed line is where both are equal. Lines are 95 %% intervals; a mean of fewer than %d seeds has none.",
		n, leastSeeds))
}
