package paper

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ocl/config"
	"ocl/experiment/result"
	"ocl/report"
	"ocl/report/chart"
	"ocl/survey"
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
	accuracy   = quantity{"average accuracy", " %", oneDecimal, func(r *Run) *float64 { return r.Result.Metrics.AverageAccuracy }, 100, "--eval final"}
	forgetting = quantity{"average forgetting", " points", oneDecimal, func(r *Run) *float64 { return r.Result.Metrics.AverageForgetting }, 100, "--eval seen"}
	backward   = quantity{"backward transfer (BWT⁺)", " points", oneDecimal, func(r *Run) *float64 { return r.Result.Metrics.BWTPlus }, 100, "--eval seen"}
	forward    = quantity{"forward transfer (FWT)", " points", oneDecimal, func(r *Run) *float64 { return r.Result.Metrics.FWT }, 100, "--eval all"}
	runTime    = quantity{"run time", "", duration, func(r *Run) *float64 { v := r.Seconds(); return &v }, 1, "--eval final"}
)

// bars builds a panel of bars, one for each method, for each stream and quantity.
func (p *paper) bars(b figureBuilder) (*figure, error) {
	f := &figure{Label: b.label, Text: b.text}
	top, where, value := "", "", math.Inf(-1)
	for _, stream := range b.streams {
		for _, q := range b.quantities {
			pl := panelOf(b.label, stream, q.name)
			best, mean := p.barPanel(pl, stream, b.memories[0], q)
			if q.name == accuracy.name && top == "" && best != "" {
				top, where, value = best, stream, mean
			}
			f.Panels = append(f.Panels, pl)
		}
	}
	f.Title = "What each method reaches and costs"
	if top != "" {
		f.Title += fmt.Sprintf(": %s is most accurate, %.1f %% (%s)", top, value, where)
	}
	return f, nil
}

// barPanel fills a panel and returns the candidate with the highest mean.
func (p *paper) barPanel(pl *panel, stream string, memory int, q quantity) (best string, top float64) {
	bars := &chart.Bars{Parts: []string{q.name}, Say: func(v float64) string { return q.say(v) + q.unit }}
	pl.Alt = fmt.Sprintf("Bar chart of the %s of each method, %s.", q.name, stream)
	top = math.Inf(-1)
	published, _ := survey.Read(survey.ClassIncremental)
	if slices.Contains(newDomains, stream) {
		published, _ = survey.Read(survey.DomainIncremental)
	}
	for _, name := range rowsOf(stream) {
		spec, ok := plainSpec(name, stream, memory)
		if !ok {
			continue
		}
		runs, _ := p.study.Find(spec, func(r *Run) bool { return r.Result.Outcome.State == result.Finished && q.of(r) != nil })
		if len(runs) == 0 {
			continue
		}
		e := over(runs, func(r *Run) float64 { return q.scale * *q.of(r) })
		look := lookOf(name)
		text := e.plusMinus(q.say) + q.unit + ", " + runsText(e.N, 0)
		if q.name == runTime.name && slices.ContainsFunc(runs, func(r *Run) bool { return !r.Result.Provenance.Timed }) {
			text += ", not timed"
		}
		v, found := survey.Find(published, name, stream, spec.Memory)
		found = found && q.name == accuracy.name
		if found && p.beside {
			text += fmt.Sprintf("; paper %s", Estimate{v.Mean, v.Interval, 1}.plusMinus(oneDecimal))
		}
		if !found {
			v.Mean, v.Interval = math.NaN(), math.NaN()
		}
		pl.point(name, q.name, "", e, v.Mean, v.Interval)
		bars.Bars = append(bars.Bars, chart.Stack{Label: name, Look: look, Parts: []float64{e.Mean}, Text: text})
		pl.Alt += " " + name + " " + text + "."
		if e.Mean > top && name != "Finetune" && name != "Offline" {
			best, top = name, e.Mean
		}
	}
	if pl.chart = bars; len(bars.Bars) == 0 {
		spec, _ := plainSpec("ER", stream, memory)
		pl.Missing = notDrawn(spec, q.eval)
		if benchmark(stream).Kind == config.KindDomains && (q.name == forward.name || q.name == backward.name) {
			pl.Missing = "not defined: all tasks share one test set"
		}
	}
	return best, top
}

// memoryLooks are how the three sizes of the memory are drawn.
func memorySides() []chart.Side {
	var sides []chart.Side
	for i, m := range memories {
		sides = append(sides, chart.Side{Name: "M = " + kilo(m), Look: report.LookOf(report.Known{Name: kilo(m), Look: []int{1, 2, 6}[i]})})
	}
	return sides
}

// trickBars builds the figures of the tricks: a panel for each method, with a row for each trick and a bar for each memory. Beside the
// paper, a row is a trick at one memory, and its second value the published one.
func (p *paper) trickBars(b figureBuilder) (*figure, error) {
	label, where := survey.TricksCIFAR100, "CIFAR-100"
	if b.label == figTricksMini {
		label, where = survey.TricksMiniImage, "Mini-ImageNet"
	}
	cells, err := p.study.Cells(label)
	if err != nil {
		return nil, err
	}
	f := &figure{Label: b.label, Text: b.text, Title: "Average accuracy with each trick on " + where}
	top := math.Inf(-1)
	for _, name := range []string{"A-GEM", "ER", "MIR"} {
		pl := panelOf(b.label, name)
		best := p.trickPanel(pl, cells, name)
		if best != nil && best.Ours.Mean > top {
			top = best.Ours.Mean
			f.Title = fmt.Sprintf("On %s, %s with %s reaches most, %.1f %% (M = %s)", where, best.Column, best.Row, top, kilo(best.Memory))
		}
		f.Panels = append(f.Panels, pl)
	}
	return f, nil
}

// trickPanel fills the panel of a method and returns its best cell with a trick.
func (p *paper) trickPanel(pl *panel, cells []*Cell, name string) (best *Cell) {
	look := lookOf(name)
	c := &chart.Compare{Sides: memorySides(), Unit: "%", Bars: true}
	if p.beside {
		c.Bars, c.Sides = false, []chart.Side{{Name: "ocl", Look: look}, {Name: "the survey", Look: look}}
	}
	pl.Alt = "Comparison of the average accuracy of " + name + " with each trick."
	var spec Spec
	rows, measured := map[string]int{}, 0
	for _, cell := range cells {
		if cell.Column != name || cell.Row == bestRow {
			continue
		}
		spec = cell.Spec
		if p.beside {
			if cell.Ours.N == 0 {
				continue
			}
			c.Rows = append(c.Rows, chart.Row{Label: cell.Row + " " + kilo(cell.Memory), Look: look, Values: []chart.Value{cell.Ours.value(), Estimate{cell.Published.Mean, cell.Published.Interval, 1}.value()}})
		} else {
			at, there := rows[cell.Row]
			if !there {
				at = len(c.Rows)
				rows[cell.Row] = at
				none := Estimate{math.NaN(), math.NaN(), 0}.value()
				c.Rows = append(c.Rows, chart.Row{Label: cell.Row, Look: look, Values: []chart.Value{none, none, none}})
			}
			c.Rows[at].Values[slices.Index(memories, cell.Memory)] = cell.Ours.value()
		}
		pl.point(name+" + "+cell.Row, "average accuracy", strconv.Itoa(cell.Memory), cell.Ours, cell.Published.Mean, cell.Published.Interval)
		if cell.Ours.N == 0 {
			continue
		}
		measured++
		pl.Alt += fmt.Sprintf(" %s, M = %s: %s %%.", cell.Row, kilo(cell.Memory), cell.Ours.plusMinus(oneDecimal))
		if plain := strings.HasPrefix(cell.Row, "N") && cell.Row != "NCM"; !plain && (best == nil || cell.Ours.Mean > best.Ours.Mean) {
			best = cell
		}
	}
	if pl.chart = c; measured == 0 {
		pl.Missing = notDrawn(spec, "--eval final")
	}
	return best
}

// value is an estimate as charts have it.
func (e Estimate) value() chart.Value {
	return chart.Value{At: e.Mean, Low: e.Mean - e.Half, High: e.Mean + e.Half}
}
