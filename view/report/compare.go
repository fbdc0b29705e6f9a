package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ocl/internal/count"
	"ocl/run/metric/compare"
	"ocl/run/result"
)

// maxCompared is the number of rows of a setting up to which the page has a table of every two. Of more rows it has
// those of the most accurate row with so many others, below the triangle of all. The correction is over all pairs in
// both cases, and the files have them all.
const maxCompared = 10

// pairing is two rows of a setting, and how far their average accuracies are apart over the seeds that both have.
type pairing struct {
	first, second *row
	compare.Comparison
}

// values are the average accuracies of the finished runs of a row, with the repeats of their seeds.
func (g *row) values() []compare.Value {
	var found []compare.Value
	for _, r := range slices.Concat(g.finished, g.repeats) {
		if v := orNaN(r.Metrics.AverageAccuracy); r.Outcome.State == result.Finished && !math.IsNaN(v) {
			found = append(found, compare.Value{Seed: r.seed, Engine: r.engine(), Value: v, Step: r.OneImage()})
		}
	}
	return found
}

// compared returns the rows of the setting with at least two accuracies. Results of other programs are in no test,
// because it is unknown whether their seeds mean the same.
func (s *setting) compared() (rows []*row) {
	for _, g := range s.rows {
		if !g.foreign() && len(g.finished) > 1 {
			rows = append(rows, g)
		}
	}
	return rows
}

// pairings compare every two of these rows, the one with the higher mean over the common seeds first. The headline and
// the table read them.
func (s *setting) pairings() []pairing {
	if s.pairs == nil {
		rows := s.compared()
		var arms [][]compare.Value
		for _, g := range rows {
			arms = append(arms, g.values())
		}
		s.pairs = []pairing{}
		for _, p := range compare.All(arms) {
			pair := pairing{rows[p.First], rows[p.Second], p.Comparison}
			if p.Mean < 0 {
				pair = pairing{rows[p.Second], rows[p.First], p.Reversed()}
			}
			s.pairs = append(s.pairs, pair)
		}
	}
	return s.pairs
}

// with are the pairings of one row, those with the most accurate other ones first.
func (s *setting) with(g *row) []pairing {
	list := slices.DeleteFunc(slices.Clone(s.pairings()), func(p pairing) bool { return p.first != g && p.second != g })
	slices.SortStableFunc(list, func(a, b pairing) int {
		return cmp.Compare(b.other(g).finalAccuracy().Mean, a.other(g).finalAccuracy().Mean)
	})
	return list
}

// other is the row that g is compared with.
func (p pairing) other(g *row) *row {
	if p.first == g {
		return p.second
	}
	return p.first
}

// comparisonLead is the table of all comparisons, nil without one.
func (st *study) comparisonLead() (string, *table) {
	t := &table{ID: "comparison", Title: "Average accuracy of rows that ran with the same seeds, compared in pairs"}
	several := len(st.settings) > 1
	if several {
		t.Head = append(t.Head, textCol("stream", "stream"))
	}
	t.Head = append(t.Head, textCol("first", "first"), textCol("second", "second"),
		numCol("difference, points", "difference"), hidden("half_width_95"),
		numCol("seeds", "seeds"), hidden("seeds_with_other_kernels"), column{Text: "kernels", Name: "kernels", Hidden: true},
		hidden("t"), hidden("p"),
		numCol("p of t-test", "p_holm"), hidden("p_sign_flip"), numCol("p of sign flips", "p_sign_flip_holm"),
		textCol("by t-test", "verdict"))
	var few [][]cell
	thinned := false
	for _, s := range st.settings {
		lines := func(pairs []pairing) (rows [][]cell) {
			for _, p := range pairs {
				if p.N()+p.Others < 2 {
					continue
				}
				var line []cell
				if several {
					line = append(line, textCell(s.Name))
				}
				rows = append(rows, append(line, p.cells()...))
			}
			return rows
		}
		all := lines(s.pairings())
		t.Rows = append(t.Rows, all...)
		if rows := s.compared(); len(rows) > maxCompared {
			thinned = true
			all = lines(s.with(mostAccurate(rows)))
			all = all[:min(len(all), maxCompared)]
		}
		few = append(few, all...)
	}
	if len(t.Rows) == 0 {
		return "", nil
	}
	text := "Differences of the average accuracy, first minus second, over the seeds that both have with the same kernels: mean ± 95 % interval, paired t-test and sign-flip test. " +
		"The sign-flip test assumes no distribution, but cannot give less than 2/2ⁿ for n seeds. Both p have Holm's correction over all pairs of a stream. The CSV file also has them without it. " +
		"A p of the t-test below 0.05 decides. There is no verdict below three seeds, nor where the differences vary less than the rounding to one test image."
	if thinned {
		t.Few = few
		text += fmt.Sprintf(" If a stream has more than %d such rows, the table compares the most accurate one with the next %d. The files have all pairs.",
			maxCompared, maxCompared)
	}
	return text, t
}

// cells are the line of a comparison in the table.
func (p pairing) cells() []cell {
	var engines []string
	for _, e := range p.Engines {
		engines = append(engines, e.String())
	}
	verdict := string(p.Verdict)
	if p.Reason != "" && p.Reason != compare.NotSignificant {
		verdict += ": " + string(p.Reason)
	}
	return []cell{
		{Text: p.first.Label, Raw: p.first.Label, Mark: p.first.style.Class},
		{Text: p.second.Label, Raw: p.second.Label, Mark: p.second.style.Class},
		numCell(count.PlusMinus(p.Mean, p.Half, count.Percent), p.Mean), numCell("", p.Half), textCell(strconv.Itoa(p.N())),
		textCell(strconv.Itoa(p.Others)), textCell(strings.Join(engines, "; ")),
		numCell("", p.T), chanceCell(p.P), chanceCell(p.Holm), chanceCell(p.SignFlip), chanceCell(p.SignFlipHolm),
		textCell(verdict),
	}
}

// chance is the probability that decides, in words.
func (p pairing) chance() string {
	text := count.Chance(p.Holm)
	if strings.HasPrefix(text, "<") {
		return "p " + text
	}
	return "p = " + text
}

// chanceCell prints a probability.
func chanceCell(p float64) cell { return numCell(count.Chance(p), p) }
