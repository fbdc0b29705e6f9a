package paper

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"ocl/config"
	"ocl/internal/count"
	"ocl/run/result"
	"ocl/survey"
	"ocl/view/chart"
	"ocl/view/report"
)

// quantity is what the bars of a panel show.
type quantity struct {
	name, unit string
	say        func(float64) string
	of         func(*Run) *float64 // nil where it was not measured
	scale      float64
	eval       string // the flag that measures it
}

var (
	accuracy = quantity{"average accuracy", " %", oneDecimal,
		func(r *Run) *float64 { return r.Result.Metrics.AverageAccuracy }, 100, "--eval final"}
	forgetting = quantity{"average forgetting", " points", oneDecimal,
		func(r *Run) *float64 { return r.Result.Metrics.AverageForgetting }, 100, "--eval seen"}
	backward = quantity{"backward transfer (BWT⁺)", " points", oneDecimal,
		func(r *Run) *float64 { return r.Result.Metrics.BWTPlus }, 100, "--eval seen"}
	forward = quantity{"forward transfer (FWT)", " points", oneDecimal,
		func(r *Run) *float64 { return r.Result.Metrics.FWT }, 100, "--eval all"}
	runTime = quantity{"run time", "", count.Duration, func(r *Run) *float64 { v := r.Seconds(); return &v }, 1,
		"--eval final"}
)

// bars builds a panel of bars, one for each method, for each stream and quantity.
func (p *paper) bars(b figureBuilder) (panels []*panel) {
	for _, stream := range b.streams {
		for _, q := range b.quantities {
			pl := panelOf(b.label, stream, q.name)
			p.barPanel(pl, stream, b.memories[0], q)
			panels = append(panels, pl)
		}
	}
	return panels
}

// barPanel fills a panel.
func (p *paper) barPanel(pl *panel, stream string, memory int, q quantity) {
	bars := &chart.Bars{Parts: []string{q.name}, Say: func(v float64) string { return q.say(v) + q.unit }}
	pl.Alt = fmt.Sprintf("Bar chart of the %s of each method, %s.", q.name, stream)
	published := survey.Read(tableOf(stream))
	for _, name := range rowsOf(stream) {
		spec, ok := plainSpec(name, stream, memory)
		if !ok {
			continue
		}
		runs, _ := p.Find(spec, func(r *Run) bool { return r.Result.Outcome.State == result.Finished && q.of(r) != nil })
		if len(runs) == 0 {
			continue
		}
		e := over(runs, func(r *Run) float64 { return q.scale * *q.of(r) })
		look := lookOf(name)
		text := plusMinus(e, q.say) + q.unit + ", " + runsText(e.N, 0)
		if q.name == runTime.name && slices.ContainsFunc(runs, func(r *Run) bool { return !r.Result.Provenance.Timed }) {
			text += ", not timed"
		}
		v, found := survey.Find(published, name, stream, spec.Memory)
		found = found && q.name == accuracy.name
		var marks []float64
		said := text
		if found && p.beside {
			marks = []float64{v.Mean}
			said += "; the survey " + count.PlusMinus(v.Mean, v.Interval, oneDecimal)
		}
		if !found {
			v.Mean, v.Interval = math.NaN(), math.NaN()
		}
		pl.point(name, q.name, "", e, v.Mean, v.Interval)
		bars.Bars = append(bars.Bars, chart.Stack{Label: name, Look: look, Parts: []float64{e.Mean}, Text: text,
			Marks: marks})
		pl.Alt += " " + name + " " + said + "."
	}
	if pl.chart = bars; len(bars.Bars) == 0 {
		spec, _ := plainSpec("ER", stream, memory)
		pl.Missing = notDrawn(spec, q.eval)
		if benchmark(stream).Kind == config.KindDomains && (q.name == forward.name || q.name == backward.name) {
			pl.Missing = "not defined: all tasks share one test set"
		}
	}
}

// memoryGroups are how the three sizes of the memory are drawn.
func memoryGroups() []chart.Group {
	var groups []chart.Group
	for i, m := range memories {
		groups = append(groups, chart.Group{Name: "M = " + count.Short(m),
			Look: report.LookOf(report.Known{Name: count.Short(m), Look: []int{1, 2, 6}[i]})})
	}
	return groups
}

// trickBars builds the figures of the tricks: a panel for each method, with a row for each trick and a bar for each
// memory. Beside the paper, lines across the bars are the published values.
func (p *paper) trickBars(b figureBuilder) (panels []*panel) {
	label := survey.TricksCIFAR100
	if b.label == figTricksMini {
		label = survey.TricksMiniImage
	}
	cells := p.Cells(label)
	for _, name := range []string{"A-GEM", "ER", "MIR"} {
		pl := panelOf(b.label, name)
		p.trickPanel(pl, cells, name)
		panels = append(panels, pl)
	}
	return panels
}

// trickPanel fills the panel of a method.
func (p *paper) trickPanel(pl *panel, cells []*Cell, name string) {
	look := lookOf(name)
	c := &chart.Compare{Groups: memoryGroups(), Unit: "%", Bars: true}
	pl.Alt = "Comparison of the average accuracy of " + name + " with each trick."
	var spec Spec
	rows, measured := map[string]int{}, 0
	for _, cell := range cells {
		if cell.Column != name || cell.Row == bestRow {
			continue
		}
		spec = cell.Spec
		if p.beside && cell.Ours.N == 0 {
			continue
		}
		at, there := rows[cell.Row]
		if !there {
			at = len(c.Rows)
			rows[cell.Row] = at
			none := valueOfChart(math.NaN(), math.NaN())
			c.Rows = append(c.Rows, chart.Row{Label: trickName(cell.Row), Look: look, Values: []chart.Value{none, none, none},
				Marks: []float64{math.NaN(), math.NaN(), math.NaN()}})
		}
		side := slices.Index(memories, cell.Memory)
		c.Rows[at].Values[side] = valueOfChart(cell.Ours.Mean, cell.Ours.Half)
		if p.beside {
			c.Rows[at].Marks[side] = cell.Published.Mean
		}
		pl.point(name+" + "+cell.Row, "average accuracy", strconv.Itoa(cell.Memory), cell.Ours, cell.Published.Mean,
			cell.Published.Interval)
		if cell.Ours.N == 0 {
			continue
		}
		measured++
		pl.Alt += fmt.Sprintf(" %s, M = %s: %s %%", trickName(cell.Row), count.Short(cell.Memory),
			plusMinus(cell.Ours, oneDecimal))
		if p.beside {
			pl.Alt += ", the survey " + count.PlusMinus(cell.Published.Mean, cell.Published.Interval, oneDecimal)
		}
		pl.Alt += "."
	}
	if pl.chart = c; measured == 0 {
		pl.Missing = notDrawn(spec, "--eval final")
	}
}

// trickName is the row of a trick in words: the survey calls the one without a trick N/A or NA.
func trickName(row string) string {
	if row == "N/A" || row == "NA" {
		return "no trick"
	}
	return row
}

// valueOfChart is a mean with half of its interval as charts have it.
func valueOfChart(mean, half float64) chart.Value {
	return chart.Value{At: mean, Low: mean - half, High: mean + half}
}
