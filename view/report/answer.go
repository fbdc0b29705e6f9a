package report

import (
	"fmt"
	"slices"

	"ocl/internal/count"
	"ocl/run/metric"
	"ocl/run/metric/compare"
	"ocl/run/result"
)

// finalAccuracy is the estimate that the answer is about.
func (g *row) finalAccuracy() metric.Estimate { return g.metricOf(averageAccuracy) }

// titled is the title of a figure, with the name of the setting where the report has several.
func (s *setting) titled(text string) string {
	if s.slug == "" {
		return text
	}
	return text + ", " + s.Name
}

// mostAccurate is the row with the highest average accuracy: of those that finished, if any did, and bounds last. It is
// nil if none was measured.
func mostAccurate(rows []*row) (best *row) {
	better := func(a, b *row) bool {
		if (len(a.finished) > 0) != (len(b.finished) > 0) {
			return len(a.finished) > 0
		}
		if (a.bound == NoBound) != (b.bound == NoBound) {
			return a.bound == NoBound
		}
		return a.finalAccuracy().Mean > b.finalAccuracy().Mean
	}
	for _, g := range rows {
		if g.finalAccuracy().N > 0 && (best == nil || better(g, best)) {
			best = g
		}
	}
	return best
}

// answer is the sentence that the report opens with: the most accurate row, and which others the comparison does not
// tell from it.
func (s *setting) answer() string {
	best := mostAccurate(s.rows)
	if best == nil {
		return "Nothing was measured on " + s.Name + ": no run reached its first evaluation."
	}
	e := best.finalAccuracy()
	if len(best.finished) == 0 {
		r := best.runs[0]
		return fmt.Sprintf("No run on %s has finished. %s was %s after %s, at %s %%.", s.Name, best.prose(), r.Outcome.State,
			count.Of(r.lastRow()+1, "task"), percents(e))
	}
	has := "has an average accuracy of"
	if len(s.rows) > 1 {
		has = "has the highest average accuracy:"
	}
	where := "On " + s.Name
	if s.isRunning() {
		where = "Of the runs on " + s.Name + " that have ended"
	}
	return fmt.Sprintf("%s, %s %s %s %% (%s).", where, best.prose(), has, percents(e), count.Of(e.N, "run")) +
		s.doubts(best)
}

// isRunning says whether a run is still at work.
func (s *setting) isRunning() bool {
	return slices.ContainsFunc(s.rows, func(g *row) bool {
		return slices.ContainsFunc(g.runs, func(r *run) bool { return r.Outcome.State == result.Running })
	})
}

// doubts names the rows that the best one is not better than by the table of comparisons, upper bounds apart; "" if
// there are none.
func (s *setting) doubts(best *row) string {
	var undecided, ahead []string
	for _, p := range s.with(best) {
		switch other := p.other(best); {
		case other.bound == UpperBound:
		case p.Verdict == compare.Undecided:
			undecided = append(undecided, other.Short)
		case p.first == other:
			ahead = append(ahead, other.Short)
		}
	}
	text := ""
	if len(undecided) > 0 {
		text = fmt.Sprintf(" These runs do not show whether %s is better than %s.", best.Short, count.Some(undecided))
	}
	if len(ahead) > 0 {
		text += fmt.Sprintf(" Over the seeds that both have, %s is less accurate than %s.", best.Short, count.Some(ahead))
	}
	return text
}

// outcomeText says how a row's runs ended.
func (g *row) outcomeText() string {
	if g.foreign() {
		return "foreign"
	}
	n := map[string]int{}
	for _, r := range g.runs {
		n[r.Outcome.State]++
	}
	if n[result.Finished] == len(g.runs) {
		return "finished"
	}
	var parts []string
	for _, s := range []string{result.Finished, result.Running, result.Interrupted, result.Diverged} {
		if n[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[s], s))
		}
	}
	return count.And(parts)
}
