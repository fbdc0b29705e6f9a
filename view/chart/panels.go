package chart

// Panels are line charts beside and below each other, with the same axes.
type Panels struct {
	YLabel string
	Panels []Panel
}

// Panel is one of them.
type Panel struct {
	Title string
	Lines *Lines
}

// Label is the label of the y axis, which all panels share.
func (p *Panels) Label() string {
	if len(p.Panels) == 0 {
		return p.YLabel
	}
	return p.Panels[0].Lines.From(p.YLabel)
}

// Whole are the panels with the axis of a chart.
func (p *Panels) Whole(as *Lines) *Panels {
	whole := &Panels{YLabel: p.YLabel}
	for _, one := range p.Panels {
		lines := *one.Lines
		lines.YMin, lines.YMax, lines.step = as.YMin, as.YMax, as.step
		whole.Panels = append(whole.Panels, Panel{one.Title, &lines})
	}
	return whole
}

// panelGap is between panels, in pixels.
const panelGap = 24.0

// columns is the number of panels beside each other in so many pixels.
func (p *Panels) columns(width float64) int {
	n := len(p.Panels)
	switch {
	case width < 600 || n == 1:
		return 1
	case width < 900 || n == 2 || n == 4:
		return 2
	}
	return 3
}

func (p *Panels) layout(d *Drawing, l Layout, b box) float64 {
	columns := p.columns(l.Width)
	wide := (b.x1 - b.x0 - panelGap*float64(columns-1)) / float64(columns)
	l.Width, l.Height = wide, min(0.62*wide, 0.75*l.Height)+2*l.Font
	top, bottom, labelled := b.y0, b.y0, true
	if p.YLabel != "" {
		d.add(Mark{Role: Tick, Points: []Point{{b.x0, b.y0 + l.Font}}, Text: p.Label()})
		top += 1.9 * l.Font
	}
	for i := range p.Panels {
		if i%columns == 0 && i > 0 {
			top = bottom + panelGap
		}
		at := b.x0 + float64(i%columns)*(wide+panelGap)
		d.add(Mark{Role: Heading, Points: []Point{{at, top + l.Font}}, Text: cut(p.Panels[i].Title, certain*wide, l.Font)})
		bottom = max(bottom, p.Panels[i].Lines.layout(d, l, box{at, top, at + wide, top + l.Height}))
		labelled = labelled && d.Labelled
	}
	d.Labelled = labelled
	return bottom
}
