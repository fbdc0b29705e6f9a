package report

import (
	"slices"
	"strings"

	"ocl/internal/count"
	"ocl/view/chart"
)

// maxLines bounds the lines of a panel, without the bounds.
const maxLines = 5

// maxAlone bounds the lines that stay in one panel if each would have a panel of its own otherwise.
const maxAlone = 12

// maxTold bounds the lines of a figure whose points say their values on hover. With more lines the page would be too
// large.
const maxTold = 14

// facet is something in which rows differ, and a panel can be for each value of it: one of these, or a key of the
// config.
type facet string

const (
	byMemory facet = "memory"
	byTricks facet = "tricks"
	byMethod facet = "methods"
)

// facets are the ways to share the lines of a crowded figure among panels, those first that compare most. Those by
// other settings follow.
var facets = [][]facet{{byMemory}, {byTricks}, {byTricks, byMemory}, {byMethod}, {byMethod, byMemory},
	{byMethod, byTricks}}

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
	case byMethod:
		return g.methodTitle()
	}
	for _, s := range g.marks {
		if facet(s.key) == f {
			return s.words
		}
	}
	return "other rows"
}

// ways are facets, and further ones by the settings in which rows of the same method differ.
func ways(drawn []*row) [][]facet {
	list := slices.Clone(facets)
	for _, g := range drawn {
		for _, s := range g.marks {
			for _, way := range [][]facet{{facet(s.key)}, {facet(s.key), byMemory}, {facet(s.key), byMethod}} {
				if !slices.ContainsFunc(list, func(other []facet) bool { return slices.Equal(way, other) }) {
					list = append(list, way)
				}
			}
		}
	}
	return list
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
	if words := wordsOf(g.marks, said...); words != "" {
		label += ", " + words
	}
	return strings.TrimPrefix(label, "plain, ")
}

// split shares the lines of a figure among panels if there are more than fit one; drawn are the rows of its lines. Each
// panel has the bounds.
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
	for _, by := range ways(drawn) {
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
		if crowd == 1 && len(rest) <= maxAlone {
			continue // lines in one panel compare better than one in each
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
	// one method
	alone := !slices.ContainsFunc(rest, func(i int) bool { return drawn[i].methodTitle() != drawn[rest[0]].methodTitle() })
	f.Panels = &chart.Panels{YLabel: f.Lines.YLabel}
	for _, title := range titles {
		lines := *f.Lines
		lines.YLabel, lines.Series = "", nil
		lines.Sparse = lines.Sparse || len(f.Lines.Series) > maxTold
		for _, i := range slices.Concat(best[title], bounds) {
			series := f.Lines.Series[i]
			series.Name = series.Label
			if g := drawn[i]; g.bound == NoBound && alone && len(g.marks) > 0 {
				series.Label = g.labelWithout(append(slices.Clone(said), byMethod))
			} else if g.bound == NoBound {
				series.Label = g.labelWithout(said)
			}
			if len(series.Single) > fewSeeds {
				series.Plain = true // there is no room for more than the interval
			}
			lines.Series = append(lines.Series, series)
		}
		f.Panels.Panels = append(f.Panels.Panels, chart.Panel{Title: title, Lines: &lines})
	}
}

// splitByRow gives each row a panel with its lines of new and of old classes, if one panel would have more lines than
// fit.
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
