package paper

import (
	"fmt"
	"math"

	"ocl/internal/count"
	"ocl/survey"
	"ocl/view/chart"
	"ocl/view/report"
)

// compared are the tables whose cells are accuracies in per cent, each with the number of its look in the scatter plot
// of all of them.
var compared = []struct {
	label string
	look  int
}{{survey.ClassIncremental, 2}, {survey.DomainIncremental, 8}, {survey.TricksCIFAR100, 1}, {survey.TricksMiniImage, 6}}

// agreement sets each cell that was measured against the published value, in one panel.
func (p *paper) agreement(b figureBuilder) []*panel {
	var parts []Part
	for _, t := range compared {
		parts = append(parts, Part{Name: shortNames[t.label], Look: t.look, Cells: p.Cells(t.label)})
	}
	pl := panelOf(b.label, "all tables")
	s, cells := Scatter(parts)
	for i, c := range cells {
		pl.point(s.Points[i].Group+": "+c.FullName(), accuracy.name, "", c.Ours, c.Published.Mean, c.Published.Interval)
	}
	for _, g := range s.Groups {
		pl.series = append(pl.series, chart.Series{Label: g.Name, Look: g.Look, Width: 2})
	}
	pl.Alt = fmt.Sprintf("Scatter plot of the average accuracy in %s, the survey's values to the right and those of ocl upwards; the dashed line is where both are equal.",
		count.Of(len(cells), "cell"))
	if pl.chart = s; len(cells) == 0 {
		pl.Missing = "Nothing was run that the survey has an accuracy of."
	}
	return []*panel{pl}
}

// Part is some of the survey's cells, which have a colour of their own in a scatter plot.
type Part struct {
	Name  string // in the legend
	Look  int    // a number of [report.Known]
	Cells []*Cell
}

// Scatter sets the average accuracy of cells with runs against the published one, with both intervals, and returns the
// cell of each point. A mean of fewer than three runs has no interval of ours, as it would be longer than the axis.
// Cells that differ have their names. Left out are cells that another table has first, "Best OCI", cells without a
// published value, and Offline, whose accuracy would take half of the figure.
func Scatter(parts []Part) (*chart.Scatter, []*Cell) {
	s := &chart.Scatter{XLabel: "the survey, %", YLabel: "ocl, %", Equal: true}
	var cells []*Cell
	for _, part := range parts {
		look := report.LookOf(report.Known{Name: part.Name, Look: part.Look})
		before := len(cells)
		for _, c := range part.Cells {
			if c.Repeat != "" || c.Ours.N == 0 || c.Row == bestRow || math.IsNaN(c.Published.Mean) ||
				c.Spec.Method == "offline" {
				continue
			}
			ours, theirs := plusMinus(c.Ours, oneDecimal), count.PlusMinus(c.Published.Mean, c.Published.Interval, oneDecimal)
			tip := fmt.Sprintf("%s. ocl %s, the survey %s", c.FullName(), ours, theirs)
			if c.Verdict != NoVerdict {
				tip += ": " + string(c.Verdict)
			}
			spot := chart.Spot{Group: part.Name, Tip: tip, Look: look, X: c.Published.Mean, Y: c.Ours.Mean,
				Half: c.Ours.Half, Wide: c.Published.Interval}
			if c.Ours.N < decisive {
				spot.Half = math.NaN()
			}
			if c.Verdict == Differs {
				spot.Label = c.Name()
			}
			s.Points, cells = append(s.Points, spot), append(cells, c)
		}
		if len(cells) > before {
			s.Groups = append(s.Groups, chart.Group{Name: part.Name, Look: look})
		}
	}
	return s, cells
}

// scatter is the panel of the agreement for the page, once for a wide and once for a narrow one. A legend outside names
// its groups.
func (pl *panel) scatter() string {
	s := *pl.chart.(*chart.Scatter)
	s.Groups = nil
	wide := chart.Layout{Width: 720, Height: 560, Font: 13}
	narrow := chart.Layout{Width: 328, Height: 330, Font: 12}
	return chart.Draw(&s, wide).Inline("wide", pl.ID+"-wide", pl.Name, pl.Alt) + chart.Draw(&s, narrow).Inline("narrow",
		pl.ID+"-narrow", pl.Name, pl.Alt)
}
