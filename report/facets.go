package report

import (
	"slices"
	"strings"

	"ocl/internal/count"
	"ocl/report/chart"
)

// maxLines is how many lines a panel may have, without the bounds.
const maxLines = 5

// maxTold is how many lines a figure may have so that each point says its value on hover: with more, the page would be too large.
const maxTold = 14

// facet is something in which rows differ, and a panel can be for each value of it.
type facet int

const (
	byMemory facet = iota
	byTricks
	byMethod
)

// facets are the ways to share the lines of a crowded figure among panels, those first that compare most.
var facets = [][]facet{{byMemory}, {byTricks}, {byTricks, byMemory}, {byMethod}, {byMethod, byMemory}, {byMethod, byTricks}}

// value is the row's value of a facet in words.
func (g *row) facet(f facet) string {
	switch f {
	case byMemory:
		if g.memory < 0 {
			return "no memory"
		}
		return "memory " + count.Number(g.memory)
	case byTricks:
		if list := g.tricks(); len(list) > 0 {
			return strings.ToUpper(strings.Join(list, " + "))
		}
		return "no trick"
	}
	return g.methodTitle()
}

// labelWithout names a row in a panel whose title says some of it.
func (g *row) labelWithout(said []facet) string {
	var parts []string
	if !slices.Contains(said, byMethod) {
		parts = append(parts, g.methodTitle())
	}
	if list := g.tricks(); len(list) > 0 && !slices.Contains(said, byTricks) {
		parts = append(parts, strings.ToUpper(strings.Join(list, " + ")))
	}
	label := strings.Join(parts, " + ")
	if slices.Contains(said, byMethod) && label == "" {
		label = "plain"
	}
	if g.memory >= 0 && len(g.setting.memories) > 1 && !slices.Contains(said, byMemory) {
		label += " " + count.Short(g.memory)
	}
	if g.mark != "" {
		label += ", " + g.mark
	}
	return label
}

// split shares the lines of a figure among panels if there are more than fit one; drawn are the rows of its lines. Each panel has the bounds.
func (f *figure) split(drawn []*row) {
	var bounds, rest []int
	for i, g := range drawn {
		if g.bound == NoBound {
			rest = append(rest, i)
		} else {
			bounds = append(bounds, i)
		}
	}
	if len(rest) <= maxLines || len(bounds) > maxLines {
		return
	}
	var best map[string][]int
	var said []facet
	var titles []string
	most := len(rest) + 1
	for _, by := range facets {
		panels, names := map[string][]int{}, []string{}
		for _, i := range rest {
			var parts []string
			for _, f := range by {
				parts = append(parts, drawn[i].facet(f))
			}
			name := strings.Join(parts, ", ")
			if panels[name] == nil {
				names = append(names, name)
			}
			panels[name] = append(panels[name], i)
		}
		crowd := 0
		for _, list := range panels {
			crowd = max(crowd, len(list))
		}
		if crowd < most {
			best, said, titles, most = panels, by, names, crowd
		}
		if crowd <= maxLines {
			break
		}
	}
	if len(titles) < 2 {
		return
	}
	f.Panels = &chart.Panels{YLabel: f.Lines.YLabel}
	for _, title := range titles {
		lines := *f.Lines
		lines.YLabel, lines.Series = "", nil
		lines.Sparse = lines.Sparse || len(f.Lines.Series) > maxTold
		for _, i := range slices.Concat(best[title], bounds) {
			series := f.Lines.Series[i]
			series.Name = series.Label
			if drawn[i].bound == NoBound {
				series.Label = drawn[i].labelWithout(said)
			}
			if len(series.Single) > fewSeeds {
				series.Plain = true // there is no room for more than the interval
			}
			lines.Series = append(lines.Series, series)
		}
		f.Panels.Panels = append(f.Panels.Panels, chart.Panel{Title: title, Lines: &lines})
	}
}

// splitByRow gives each row a panel with its lines of new and of old classes, if one panel would have more lines than fit.
func (f *figure) splitByRow() {
	if len(f.Lines.Series) <= maxLines {
		return
	}
	f.Panels = &chart.Panels{YLabel: f.Lines.YLabel}
	for i, series := range f.Lines.Series {
		if g := f.rows[i]; i == 0 || f.rows[i-1] != g {
			lines := *f.Lines
			lines.YLabel, lines.Series, lines.Sparse = "", nil, len(f.Lines.Series) > maxTold
			f.Panels.Panels = append(f.Panels.Panels, chart.Panel{Title: g.Short, Lines: &lines})
		}
		series.Name = series.Label
		if series.Label = newClasses; series.Hollow {
			series.Label = oldClasses
		}
		lines := f.Panels.Panels[len(f.Panels.Panels)-1].Lines
		lines.Series = append(lines.Series, series)
	}
}
