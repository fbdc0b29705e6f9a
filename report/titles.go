package report

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"ocl/experiment/result"
	"ocl/internal/count"
)

// finalAccuracy is the estimate that the answer is about.
func (g *row) finalAccuracy() estimate { return g.metricOf(averageAccuracy) }

// best is the row with the highest average accuracy among those that finished, bounds last; nil if none was measured.
func (s *setting) best() *row {
	var best *row
	better := func(a, b *row) bool {
		if (len(a.finished) > 0) != (len(b.finished) > 0) {
			return len(a.finished) > 0
		}
		if (a.bound == NoBound) != (b.bound == NoBound) {
			return a.bound == NoBound
		}
		return a.finalAccuracy().mean > b.finalAccuracy().mean
	}
	for _, g := range s.rows {
		if g.finalAccuracy().n > 0 && (best == nil || better(g, best)) {
			best = g
		}
	}
	return best
}

// other is the row that best is compared with: a lower bound, if there is one with the same settings, or else the weakest
// other; nil if there is none.
func (s *setting) other(best *row) *row {
	var bound, worst *row
	for _, g := range s.rows {
		if g == best || len(g.finished) == 0 || g.finalAccuracy().n == 0 {
			continue
		}
		if g.bound == LowerBound && (bound == nil || g.special == best.special) {
			bound = g
		}
		if worst == nil || g.finalAccuracy().mean < worst.finalAccuracy().mean {
			worst = g
		}
	}
	return cmp.Or(bound, worst)
}

// answer is the sentence the report opens with.
func (s *setting) answer() string {
	best := s.best()
	where := fmt.Sprintf("%s of %s", count.Of(s.tasks(), "task"), orUnknown(s.stream.Name))
	var what []string
	if s.stream.Protocol != "" {
		what = append(what, s.stream.Protocol+" protocol")
	}
	if s.detail != "" {
		what = append(what, s.detail)
	}
	if len(what) > 0 {
		where += " (" + strings.Join(what, ", ") + ")"
	}
	if best == nil {
		return fmt.Sprintf("Nothing was measured on the %s: no run reached its first evaluation.", where)
	}
	e := best.finalAccuracy()
	if len(best.finished) == 0 {
		r := best.runs[0]
		return fmt.Sprintf("No run on the %s has finished. %s was %s after %s, at %s %%.", where, best.prose(), r.Outcome.State, count.Of(r.lastRow()+1, "task"), e.text(""))
	}
	text := fmt.Sprintf("After %s, %s classifies %s %% of the test images of all tasks correctly", where, best.prose(), e.text(""))
	if e.n > 1 {
		text += fmt.Sprintf(" (mean of %d runs)", e.n)
	} else {
		text += " (1 run)"
	}
	if o := s.other(best); o != nil {
		oe := o.finalAccuracy()
		switch {
		case oe.mean > 0 && e.mean/oe.mean >= 1.15:
			text += fmt.Sprintf(", %s times as many as %s (%s %%)", ratio(e.mean/oe.mean), o.Label, oe.text(""))
		case percent(e.mean) == percent(oe.mean):
			text += fmt.Sprintf(", as many as %s (%s %%)", o.Label, oe.text(""))
		case e.mean < oe.mean:
			text += fmt.Sprintf(", fewer than %s (%s %%)", o.Label, oe.text(""))
		default:
			text += fmt.Sprintf("; %s reaches %s %%", o.Label, oe.text(""))
		}
	} else if f := best.metricOf(averageForgetting); f.n > 0 {
		if gains(f.mean) {
			text += fmt.Sprintf(", and has gained %s on earlier tasks", points(-f.mean))
		} else {
			text += fmt.Sprintf(", and has forgotten %s on earlier tasks", points(math.Abs(f.mean)))
		}
	}
	text += "."
	return text + s.doubts(best)
}

func (s *setting) anyFinished() bool {
	for _, g := range s.rows {
		if len(g.finished) > 0 {
			return true
		}
	}
	return false
}

// ratio prints a factor with as many digits as people read: "1.3", "4.7", "12".
func ratio(v float64) string {
	if v >= 9.95 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

func (s *setting) accuracyTitle() string {
	best := s.best()
	if best == nil {
		return "No accuracy was measured"
	}
	if o := s.other(best); o != nil {
		return fmt.Sprintf("%s ends at %s %%, %s at %s %%", best.Short, percent(best.finalAccuracy().mean), o.Short, percent(o.finalAccuracy().mean))
	}
	first := best.over(func(r *run) float64 { return r.afterTask(0) })
	last := best.over(func(r *run) float64 { return r.afterTask(r.lastRow()) })
	if first.n == 0 || first.n < last.n {
		return fmt.Sprintf("%s ends at %s %%", best.Short, percent(best.finalAccuracy().mean))
	}
	after := best.counted()[0].lastRow() + 1
	if after == 1 {
		return fmt.Sprintf("%s reaches %s %% after one task", best.Short, percent(first.mean))
	}
	return fmt.Sprintf("%s %s after %d tasks", best.Short, change(first.mean, last.mean, " after one task"), after)
}

// change says in words how one fraction follows another, by what is printed of them: "falls from 61.2 to 19.6 %". Since
// is put behind the first, where it then has its own sign of the unit.
func change(from, to float64, since string) string {
	a, b := percent(from), percent(to)
	verb := "falls"
	switch {
	case a == b:
		return fmt.Sprintf("stays at %s %%", b)
	case to > from:
		verb = "rises"
	}
	if since != "" {
		a += " %" + since
	}
	return fmt.Sprintf("%s from %s to %s %%", verb, a, b)
}

// gains says whether a forgetting, as it is printed, is an improvement.
func gains(forgetting float64) bool { return math.Round(100*forgetting) < 0 }

// forgets puts a forgetting into words; below zero nothing is forgotten.
func forgets(v float64) string {
	if gains(v) {
		return "gains " + points(-v) + " on earlier tasks"
	}
	return "forgets " + points(math.Abs(v)) + " on earlier tasks"
}

func (s *setting) forgettingTitle() string {
	var most, least *row
	f := func(g *row) float64 { return g.metricOf(averageForgetting).mean }
	for _, g := range s.rows {
		if math.IsNaN(f(g)) || len(g.finished) == 0 && s.anyFinished() {
			continue
		}
		if most == nil || f(g) > f(most) {
			most = g
		}
		if least == nil || f(g) < f(least) {
			least = g
		}
	}
	switch {
	case most == nil:
		return "No forgetting was measured"
	case most == least:
		return fmt.Sprintf("%s %s", most.Short, forgets(f(most)))
	case gains(f(least)) == gains(f(most)):
		return fmt.Sprintf("%s %s, %s %s", most.Short, forgets(f(most)), least.Short, points(math.Abs(f(least))))
	}
	return fmt.Sprintf("%s %s, %s %s", most.Short, forgets(f(most)), least.Short, forgets(f(least)))
}

func (g *row) matrixTitle(v [][]float64) string {
	last := -1
	for i := range v {
		for _, x := range v[i] {
			if !math.IsNaN(x) {
				last = i
			}
		}
	}
	if last < 0 {
		return g.Short + ": nothing was evaluated"
	}
	end := v[last]
	if len(end) <= last || last == 0 {
		return fmt.Sprintf("%s ends at %s %%", g.Short, percent(end[0]))
	}
	first, start := end[0], v[0][0]
	newest := end[last]
	name := g.setting.taskNames()
	if !math.IsNaN(start) {
		return fmt.Sprintf("%s: task %s %s; the newest task has %s %%", g.Short, name[0], change(start, first, ""), percent(newest))
	}
	return fmt.Sprintf("%s ends with %s %% on task %s and %s %% on task %s", g.Short, percent(first), name[0], percent(newest), name[last])
}

func (g *row) classTitle(v []float64) string {
	best, known, low := -1, 0, 0
	for c, x := range v {
		if math.IsNaN(x) {
			continue
		}
		known++
		if x < 0.01 {
			low++
		}
		if best < 0 || x > v[best] {
			best = c
		}
	}
	return fmt.Sprintf("%s: %s of %d below 1 %%; the best is %s with %s %%", g.Short, count.Of(low, "class"), known, g.className(best), percent(v[best]))
}

func (g *row) memoryTitle(v [][]float64) string {
	last := -1
	for i := range v {
		if !math.IsNaN(v[i][0]) {
			last = i
		}
	}
	names := g.setting.taskNames()
	if g.emptyAfter(len(v) - 1) {
		return g.Short + ": at the end the memory is empty"
	}
	if last < 0 {
		return g.Short + ": the memory's contents by task"
	}
	if last == 0 {
		return fmt.Sprintf("%s stores task %s only", g.Short, names[0])
	}
	return fmt.Sprintf("%s: at the end task %s holds %s %% of the memory, task %s %s %%", g.Short, names[0], percent(v[last][0]), names[last], percent(v[last][last]))
}

// inheritedTitle is memoryTitle for a row whose runs have a parent.
func (g *row) inheritedTitle(v [][]float64) string {
	last := -1
	for i := range v {
		if !math.IsNaN(rest(v[i])) {
			last = i
		}
	}
	if last < 0 {
		return g.Short + ": the memory's contents by task"
	}
	return fmt.Sprintf("%s: at the end samples from before the run hold %s %% of the memory, task %s %s %%", g.Short,
		percent(rest(v[last])), g.setting.taskNames()[last], percent(v[last][last]))
}

func (s *setting) timeTitle() string {
	var slow, fast *row
	t := func(g *row) float64 { return g.seconds((*run).seconds).mean }
	for _, g := range s.rows {
		if len(g.finished) == 0 || g.foreign() {
			continue
		}
		if slow == nil || t(g) > t(slow) {
			slow = g
		}
		if fast == nil || t(g) < t(fast) {
			fast = g
		}
	}
	switch {
	case slow == nil:
		return "Time until the runs stopped"
	case slow == fast || t(fast) <= 0:
		return fmt.Sprintf("One run of %s takes %s", slow.Short, duration(t(slow)))
	case ratio(t(slow)/t(fast)) == "1.0":
		return fmt.Sprintf("One run of %s takes %s, about as long as one of %s", slow.Short, duration(t(slow)), fast.Short)
	}
	return fmt.Sprintf("One run of %s takes %s, %s times as long as one of %s", slow.Short, duration(t(slow)), ratio(t(slow)/t(fast)), fast.Short)
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
	for _, s := range []string{result.Finished, result.Interrupted, result.Diverged} {
		if n[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[s], s))
		}
	}
	return andList(parts)
}
