package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ocl/internal/count"
	"ocl/run/metric"
	"ocl/run/metric/compare"
	"ocl/run/result"
	"ocl/survey"
	"ocl/survey/paper"
)

// Count is how many cells of each table have which verdict, and had by the former rule. A table that has a page is a
// link to it. The confirmation has a line of its own, and is no part of the sum.
func (p *page) Count() string {
	heads := []string{"cells of", "on"}
	former := paper.FormerVerdicts()
	for _, v := range paper.Verdicts() {
		heads = append(heads, string(v))
		if v == paper.Agrees {
			heads = append(heads, "of these chosen by nearness")
		}
	}
	t := tableOf(append(heads, "all", fmt.Sprintf("by the former rule: %s, %s, %s", former[0], former[1], former[2]))...)
	line := func(first, second string, cells []*paper.Cell) {
		counts, before := paper.CountVerdicts(cells), paper.CountFormer(cells)
		row := []string{first, second}
		for _, v := range paper.Verdicts() {
			row = append(row, strconv.Itoa(counts[v]))
			if v == paper.Agrees {
				row = append(row, strconv.Itoa(paper.CountVerdicts(near(cells))[v]))
			}
		}
		t.row(append(row, strconv.Itoa(counts.Sum()),
			fmt.Sprintf("%d, %d, %d", before[former[0]], before[former[1]], before[former[2]]))...)
	}
	var all []*paper.Cell
	for _, s := range p.sheets() {
		for _, data := range s.columns {
			name := s.label
			if len(s.run()) > 0 {
				name = fmt.Sprintf("[%s](reproduction/%s.md)", name, s.Name)
			}
			line(name, data, of(s.cells, data))
		}
		all = append(all, s.cells...)
	}
	line("all", "", all)
	line("[the confirmation](reproduction/confirmation.md)", survey.CIFAR100, p.confirmation.cells)
	return t.String()
}

// Differing is a row for each cell that differs from the published value, or a sentence if there is none.
func (p *page) Differing() string {
	t := tableOf("cells that differ", "of", "ocl, by seed", "the paper", "notes")
	none := "No cell differs."
	for _, s := range append(p.sheets(), p.confirmation) {
		for _, c := range s.cells {
			if c.Verdict == paper.Differs {
				t.row(c.Name(), s.Title, joined(c.Values), published(c.Published), notes(c))
				none = ""
			}
		}
	}
	return cmp.Or(none, t.String())
}

// ConfirmationCells is a row for each cell of the confirmation that has runs.
func (p *page) ConfirmationCells() string { return values(p.confirmation.run()) }

// Whole says what the cells of the confirmation show together.
func (p *page) Whole() string {
	w := paper.WholeOf(p.confirmation.cells)
	if w == nil {
		return "The table as a whole is judged when all cells have their runs, and none has diverged."
	}
	percent := func(log float64) string { return count.Signed(100*(math.Exp(log)-1), 1) + " %" }
	half := w.Shift.Half(1 - paper.FirstLook)
	equal := "That they are equal within a tenth is not shown."
	if w.Equal {
		equal = "They are equal within a tenth."
	}
	uneven := "That cells differ by more than one shift is not shown"
	if w.Uneven <= paper.FirstLook {
		uneven = "Cells differ by more than one shift"
	}
	return fmt.Sprintf("- **Shift.** The means of %s are %s from the published ones (%.1f %% interval %s to %s). %s\n"+
		"- **Spread.** %s (p = %s). Without chance, the variance of the log ratio between cells is %.5f, and its root %s.\n"+
		"- **Order.** Of %s of methods whose order is decided in the paper, %d have it here, %d have the opposite one, and %d are not decided here.",
		count.Of(w.Cells, "cell"), percent(w.Shift.Mean), 100*(1-2*paper.FirstLook), percent(w.Shift.Mean-half),
		percent(w.Shift.Mean+half), equal, uneven, count.Chance(w.Uneven), w.Between,
		count.Fixed(math.Sqrt(max(0, w.Between)), 3),
		count.Of(w.SameOrder+w.OppositeOrder+w.NoOrder, "pair"), w.SameOrder, w.OppositeOrder, w.NoOrder)
}

// Work is how many runs each table has and what they cost. A run that two tables have counts for the first.
func (p *page) Work() string {
	t := tableOf("runs of", "on", "runs", "core-hours")
	counted := map[*paper.Run]bool{}
	all, tables := 0.0, 0.0
	for _, r := range p.runs {
		all += coreHours(r.Result)
	}
	for _, s := range append(p.sheets(), p.confirmation) {
		n, sum := 0, 0.0
		for _, c := range s.cells {
			for _, r := range c.Runs {
				if !counted[r] {
					counted[r] = true
					n, sum = n+1, sum+coreHours(r.Result)
				}
			}
		}
		tables += sum
		if n > 0 {
			t.row(cmp.Or(s.label, s.Name), strings.Join(s.columns, ", "), strconv.Itoa(n), count.Fixed(sum, 1))
		}
	}
	t.row("others", "", strconv.Itoa(len(p.runs)-len(counted)), count.Fixed(all-tables, 1))
	t.row("all", "", strconv.Itoa(len(p.runs)), count.Fixed(all, 1))
	return t.String()
}

// coreHours are the hours of learning, preparing and testing of a run, times its workers.
func coreHours(r *result.Result) float64 {
	return r.Seconds.All() * float64(r.Provenance.Workers) / 3600
}

// near are the cells whose setting was chosen because it came nearer to the published value.
func near(cells []*paper.Cell) []*paper.Cell {
	return slices.DeleteFunc(slices.Clone(cells), func(c *paper.Cell) bool { return c.Nearness == "" })
}

// accuracies are what a classifier of runs reached in per cent, NaN where it was not measured and for a run that
// diverged.
func accuracies(runs []*paper.Run, classifier string) []float64 {
	var values []float64
	for _, r := range runs {
		m, ok := r.Metrics(classifier)
		if !ok || m.AverageAccuracy == nil || r.Result.Outcome.State != result.Finished {
			values = append(values, none)
			continue
		}
		values = append(values, 100**m.AverageAccuracy)
	}
	return values
}

// Lean says how far the cells with runs lie from the published means.
func (p *page) Lean() string {
	t := tableOf("cells", "number", "above the paper", "ocl less the paper, points: mean", "median")
	add := func(name string, cells []*paper.Cell) {
		var d []float64
		for _, c := range cells {
			if c.Ours.N > 0 {
				d = append(d, c.Difference())
			}
		}
		if len(d) == 0 {
			return
		}
		slices.Sort(d)
		mean, _ := metric.Interval(d)
		above := slices.IndexFunc(d, func(v float64) bool { return v > 0 })
		if above < 0 {
			above = len(d)
		}
		t.row(name, strconv.Itoa(len(d)), strconv.Itoa(len(d)-above), count.Signed(mean, 1),
			count.Signed((d[(len(d)-1)/2]+d[len(d)/2])/2, 1))
	}
	var many, few, others []*paper.Cell
	for _, s := range p.sheets() {
		for _, c := range s.cells {
			switch {
			case c.Spec.Benchmark != survey.CIFAR100:
				others = append(others, c)
			case c.Ours.N < compare.LeastSeeds:
				few = append(few, c)
			default:
				many = append(many, c)
			}
		}
	}
	add("CIFAR-100, three seeds", many)
	add("CIFAR-100, one or two seeds", few)
	add("other data", others)
	var whole, begun []*paper.Cell
	for _, c := range p.confirmation.cells {
		if c.Verdict == paper.NotRun {
			begun = append(begun, c)
		} else {
			whole = append(whole, c)
		}
	}
	add("the confirmation, cells with all of the seeds 4 to 8", whole)
	add("the confirmation, cells with some of them", begun)
	return t.String()
}

// Rounding sets runs of one seed whose kernels differ side by side, and their spread beside that of seeds, of the
// methods without tricks on CIFAR-100.
func (p *page) Rounding() string {
	t := tableOf("method", "pairs of runs", "AVX2 is higher in", "AVX2 less AVX-512, mean", "standard deviation by rounding",
		"by seed, same cells")
	lines := []rounding{{name: "all"}}
	for _, c := range p.sheets()[0].cells {
		if lines[len(lines)-1].name != c.Row {
			lines = append(lines, rounding{name: c.Row})
		}
		lines[0].add(c)
		lines[len(lines)-1].add(c)
	}
	for _, s := range append(lines[1:], lines[0]) {
		if n := float64(s.pairs); n > 0 {
			t.row(s.name, strconv.Itoa(s.pairs), strconv.Itoa(s.higher), count.Signed(s.sum/n, 1),
				count.Fixed(math.Sqrt(s.squares/n/2), 1), count.Fixed(math.Sqrt(s.seeds/float64(s.cells)), 1))
		}
	}
	return t.String()
}

// rounding sums the pairs of runs of cells, in points.
type rounding struct {
	name          string
	pairs, higher int     // higher: AVX2 has the higher accuracy
	sum, squares  float64 // of AVX2 less AVX-512
	cells         int     // with two seeds and more
	seeds         float64 // sum over them of the variance over seeds
}

func (s *rounding) add(c *paper.Cell) {
	before := s.pairs
	for i, r := range c.Others {
		j := slices.IndexFunc(c.Runs, func(first *paper.Run) bool { return first.Seed == r.Seed })
		if j < 0 || c.Runs[j].Kernels() != "avx2 winograd" || r.Kernels() != "avx512 winograd" {
			continue
		}
		d := c.Values[j] - c.OtherValues[i]
		s.pairs, s.sum, s.squares = s.pairs+1, s.sum+d, s.squares+d*d
		if d > 0 {
			s.higher++
		}
	}
	if s.pairs > before && c.Ours.N > 1 {
		e := metric.ErrorOf(c.Ours.Half, c.Ours.N)
		s.cells, s.seeds = s.cells+1, s.seeds+e*e*float64(c.Ours.N)
	}
}

// Times is tab:trick_time: our seconds and the paper's, and both as multiples of ER without a trick.
func (p *page) Times() string {
	cells := p.cells[survey.TrickTimes]
	base := map[int]*paper.Cell{}
	for _, c := range cells {
		if c.Row == "N/A" {
			base[c.Memory] = c
		}
	}
	t := tableOf("trick", "M", "ocl, seconds (runs)", "the paper, seconds", "ocl, times ER alone", "the paper", "results")
	for _, c := range cells {
		ours, ratio := "not run", dash
		if c.Ours.N > 0 {
			ours = fmt.Sprintf("%.0f (%d)", c.Ours.Mean, c.Ours.N)
			if b := base[c.Memory]; b.Ours.N > 0 {
				ratio = fmt.Sprintf("%.2f", c.Ours.Mean/b.Ours.Mean)
			}
		}
		t.row(c.Row, thousands(c.Memory), ours, published(c.Published), ratio,
			fmt.Sprintf("%.2f", c.Published.Mean/base[c.Memory].Published.Mean), p.files(c.Files()))
	}
	return "    " + cells[0].Command() + "\n\n" + t.String()
}
