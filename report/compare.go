package report

import (
	"fmt"
	"math"
	"strconv"

	"ocl/metric"
)

// maxCompared is the number of rows of a setting up to which every two are compared. Of more rows, each is compared with the one that has
// the highest accuracy: the family of tests would be so large that nothing could be found.
const maxCompared = 10

// pairing is two rows of a setting that ran with the same seeds, and how far their average accuracies are apart.
type pairing struct {
	first, second *row
	metric.Comparison
	adjusted, flipped float64 // P and SignFlip by Holm's method
}

// significance is the level of the tests.
const significance = 0.05

// accuracies are those of the finished runs of a row, by seed.
func (g *row) accuracies() map[uint64]float64 {
	found := map[uint64]float64{}
	for _, r := range g.finished {
		if v := orNaN(r.Metrics.AverageAccuracy); !math.IsNaN(v) {
			found[r.seed] = v
		}
	}
	return found
}

// pairings compare rows of the setting over the seeds that two of them have, at least two. What other programs measured is in no test: nobody
// knows whether their seeds mean the same.
func (s *setting) pairings() []pairing {
	var rows []*row
	best := -1
	for _, g := range s.rows {
		if g.foreign() || len(g.accuracies()) < 2 {
			continue
		}
		rows = append(rows, g)
		if mean := g.accuracyEnd().mean; best < 0 || mean > rows[best].accuracyEnd().mean {
			best = len(rows) - 1
		}
	}
	var all []pairing
	for i, a := range rows {
		for k, b := range rows[i+1:] {
			if len(rows) > maxCompared && i != best && i+1+k != best {
				continue
			}
			if p, ok := pairOf(a, b); ok {
				all = append(all, p)
			}
		}
	}
	var p, flips []float64
	for _, x := range all {
		p, flips = append(p, x.P), append(flips, x.SignFlip)
	}
	p, flips = metric.Holm(p), metric.Holm(flips)
	for i := range all {
		all[i].adjusted, all[i].flipped = p[i], flips[i]
	}
	return all
}

// accuracyEnd is the estimate of the average accuracy of a row.
func (g *row) accuracyEnd() estimate {
	return g.over(func(r *run) float64 { return orNaN(r.Metrics.AverageAccuracy) })
}

// pairOf compares two rows, the one with the higher mean first; ok is false for fewer than two seeds in common.
func pairOf(a, b *row) (p pairing, ok bool) {
	first, second := a.accuracies(), b.accuracies()
	var x, y []float64
	for _, r := range a.finished { // by seed
		if v, there := first[r.seed]; there && len(x) < metric.MaxPairs {
			if w, there := second[r.seed]; there {
				x, y = append(x, v), append(y, w)
			}
		}
	}
	if len(x) < 2 {
		return p, false
	}
	if p = (pairing{first: a, second: b, Comparison: metric.Paired(x, y)}); p.Mean < 0 {
		p = pairing{first: b, second: a, Comparison: metric.Paired(y, x)}
	}
	return p, true
}

// verdict says what the paired t-test says after Holm's correction.
func (p pairing) verdict() string {
	if p.adjusted < significance {
		return "first is higher"
	}
	return "undecided"
}

// comparisonLead is the table of all comparisons, nil without one.
func (st *study) comparisonLead() (string, *table) {
	t := &table{ID: "comparison", Title: "Average accuracy of rows that ran with the same seeds, compared in pairs"}
	several := len(st.settings) > 1
	if several {
		t.Head = append(t.Head, textCol("stream", "stream"))
	}
	t.Head = append(t.Head, textCol("first", "first"), textCol("second", "second"), numCol("difference, points", "difference"), hidden("half_width_95"),
		numCol("seeds", "seeds"), hidden("t"), hidden("p"), numCol("p of t-test", "p_holm"), hidden("p_sign_flip"),
		numCol("p of sign flips", "p_sign_flip_holm"), textCol("by t-test", "verdict"))
	thinned := false
	for _, s := range st.settings {
		for _, p := range s.pairings() {
			var line []cell
			if several {
				line = append(line, textCell(s.Name))
			}
			text := percent(p.Mean)
			if !math.IsNaN(p.Half) {
				text += " ± " + percent(p.Half)
			}
			t.Rows = append(t.Rows, append(line, cell{Text: p.first.Label, Raw: p.first.Label, Mark: p.first.style.Class},
				cell{Text: p.second.Label, Raw: p.second.Label, Mark: p.second.style.Class},
				numCell(text, p.Mean), numCell("", p.Half), textCell(strconv.Itoa(p.N)), numCell("", finite(p.T)), chanceCell(p.P), chanceCell(p.adjusted),
				chanceCell(p.SignFlip), chanceCell(p.flipped), textCell(p.verdict())))
		}
		compared := 0
		for _, g := range s.rows {
			if !g.foreign() && len(g.accuracies()) > 1 {
				compared++
			}
		}
		thinned = thinned || compared > maxCompared
	}
	if len(t.Rows) == 0 {
		return "", nil
	}
	text := "Differences of the average accuracy, first minus second, over the seeds that both have: mean ± 95 % interval, the paired t-test and the exact sign-flip test, " +
		"which assumes no distribution but cannot give less than 2/2ⁿ for n seeds. Both p have Holm's correction over all pairs of a stream; the CSV file also has them without it. “Undecided” is a p of the t-test of 0.05 or more."
	if thinned {
		text += fmt.Sprintf(" A stream has more than %d such rows, so each is compared only with the one that has the highest accuracy, and the table is in files of its own.", maxCompared)
	}
	t.Apart = thinned
	return text, t
}

// finite is v, or NaN where it is infinite, as of differences that are all the same.
func finite(v float64) float64 {
	if math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}

// chanceCell prints a probability.
func chanceCell(p float64) cell {
	switch {
	case math.IsNaN(p):
		return cell{Text: unmeasured}
	case p < 0.001:
		return numCell("< 0.001", p)
	}
	return numCell(strconv.FormatFloat(p, 'f', 3, 64), p)
}
