package cli

import (
	"fmt"
	"strings"

	"ocl/internal/count"
)

const (
	// mostCurves is how many methods have a line; a terminal has few.
	mostCurves = 12
	// longestMethod is how many characters of the name of a method are shown beside its line.
	longestMethod = 24
	// longestCurve is how many characters a line of bars has at most; with more tasks than these, tasks share one.
	longestCurve = 40
	// shortestCurve is how many it has at least; where the terminal is narrower, the last value must do.
	shortestCurve = 5
)

// bars are the heights of a bar, which begins at 0.
var bars = []rune("▁▂▃▄▅▆▇█")

// curve is the accuracy of a method over tasks, a mean over its runs.
type curve struct {
	name  string
	tasks int
	runs  []*shownRun
}

// at is the mean after task t (0-based) over the runs that have one, and how many these are.
func (c curve) at(t int) (mean float64, n int) {
	for _, r := range c.runs {
		if t < len(r.After) && r.After[t] != nil {
			mean += *r.After[t]
			n++
		}
	}
	return mean / float64(max(n, 1)), n
}

// last is the last task (0-based) with a value, -1 for none.
func (c curve) last() int {
	for t := c.tasks - 1; t >= 0; t-- {
		if _, n := c.at(t); n > 0 {
			return t
		}
	}
	return -1
}

// bars draws the values as bars that begin at 0 and end at top, so many cells wide. What has no value yet is a blank.
func (c curve) bars(cells int, top float64) string {
	line := make([]rune, cells)
	for i := range line {
		line[i] = ' '
		for t := i * c.tasks / cells; t < (i+1)*c.tasks/cells; t++ { // of several the last one
			if v, n := c.at(t); n > 0 {
				line[i] = bars[max(0, min(len(bars)-1, int(v/max(top, 1e-9)*float64(len(bars)))))]
			}
		}
	}
	return string(line)
}

// curves are a line for each method, in the order in which they began: bars of its accuracy over tasks, all of one
// scale, and its last value.
func (p *runsView) curves(width int) (lines []string) {
	var all []*curve
	of := map[string]*curve{}
	for _, r := range p.runs {
		if r.method == "" {
			continue
		}
		c := of[r.method]
		if c == nil {
			c = &curve{name: r.method}
			of[r.method], all = c, append(all, c)
		}
		c.runs, c.tasks = append(c.runs, r), max(c.tasks, r.Progress.Tasks, len(r.After))
	}
	top, names, most, more := 0.0, 0, 0, 0
	kept := all[:0]
	for _, c := range all {
		if c.last() < 0 {
			continue
		}
		if len(kept) == mostCurves {
			more++
			continue
		}
		if name := []rune(c.name); len(name) > longestMethod {
			c.name = string(name[:longestMethod-1]) + "…"
		}
		kept, names, most = append(kept, c), max(names, columns(c.name)), max(most, c.tasks)
		for t := range c.tasks {
			v, _ := c.at(t)
			top = max(top, v)
		}
	}
	longest := len("100.0 %")
	room := min(longestCurve, width-names-longest-4)
	if room < -2 { // not even a name and a value fit
		return nil
	}
	for _, c := range kept {
		value, n := c.at(c.last())
		text := fmt.Sprintf("%*s", longest, percent(value))
		name := c.name + strings.Repeat(" ", names-columns(c.name))
		if room < shortestCurve {
			lines = append(lines, name+"  "+text)
			continue
		}
		cells := min(c.tasks, room)
		after := ""
		if last := c.last(); last < c.tasks-1 {
			after = fmt.Sprintf("after task %d of %d", last+1, c.tasks)
		}
		if n < len(c.runs) {
			after = strings.TrimSpace(fmt.Sprintf("%s  %d of %s", after, n, count.Of(len(c.runs), "run")))
		}
		lines = append(lines, fit([]part{{name, 0}, {c.bars(cells, top) + strings.Repeat(" ", min(most, room)-cells), 0},
			{text, 0}, {after, 1}}, width))
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %s more", count.Of(more, "method")))
	}
	return lines
}
