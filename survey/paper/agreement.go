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
	pl := panelOf(b.label, "all tables")
	s := &chart.Scatter{XLabel: "the survey, %", YLabel: "ocl, %", Equal: true}
	for _, t := range compared {
		look := report.LookOf(report.Known{Name: shortNames[t.label], Look: t.look})
		before := len(s.Points)
		for _, c := range p.Cells(t.label) {
			if c.Repeat != "" || c.Ours.N == 0 || c.Row == bestRow || math.IsNaN(c.Published.Mean) ||
				c.Spec.Method == "offline" {
				continue
			}
			ours, theirs := plusMinus(c.Ours, oneDecimal), count.PlusMinus(c.Published.Mean, c.Published.Interval, oneDecimal)
			tip := fmt.Sprintf("%s: %s. ocl %s, the survey %s", shortNames[t.label], c.Name(), ours, theirs)
			if c.Verdict != NoVerdict {
				tip += ": " + string(c.Verdict)
			}
			spot := chart.Spot{Group: shortNames[t.label], Tip: tip, Look: look, X: c.Published.Mean, Y: c.Ours.Mean,
				Half: c.Ours.Half, Wide: c.Published.Interval}
			if c.Ours.N < decisive {
				spot.Half = math.NaN() // such an interval is mostly longer than the axis
			}
			if c.Verdict == Differs {
				spot.Label = c.Name()
			}
			s.Points = append(s.Points, spot)
			pl.point(shortNames[t.label]+": "+c.Name(), accuracy.name, "", c.Ours, c.Published.Mean, c.Published.Interval)
		}
		if len(s.Points) > before {
			s.Groups = append(s.Groups, chart.Group{Name: shortNames[t.label], Look: look})
			pl.series = append(pl.series, chart.Series{Label: shortNames[t.label], Look: look, Width: 2})
		}
	}
	pl.Alt = fmt.Sprintf("Scatter plot of the average accuracy in %s, the survey's values to the right and those of ocl upwards; the dashed line is where both are equal.",
		count.Of(len(s.Points), "cell"))
	if pl.chart = s; len(s.Points) == 0 {
		pl.Missing = "Nothing was run that the survey has an accuracy of."
	}
	return []*panel{pl}
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
