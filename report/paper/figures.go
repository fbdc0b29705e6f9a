package paper

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"ocl/metric"
	"ocl/report/chart"
	"ocl/survey"
)

// notDrawn says why a panel is empty, and how to fill it.
func notDrawn(spec Spec, eval string) string {
	c := Cell{Spec: spec, Known: true}
	return "Not run. `" + strings.Replace(c.Command(), "--eval final", eval, 1) + "` makes some of its runs."
}

// curves builds a line chart of accuracy over tasks for each stream and memory.
func (p *paper) curves(b figureBuilder) (*figure, error) {
	f := &figure{Label: b.label, Text: b.text}
	for _, stream := range b.streams {
		for _, m := range b.memories {
			name := stream
			if len(b.streams) == 1 {
				name = ""
			}
			pl := panelOf(b.label, name, memoryName(b.memories, m))
			p.curvePanel(pl, stream, m)
			f.Panels = append(f.Panels, pl)
		}
	}
	where := b.streams[0]
	if len(b.streams) > 1 {
		where = "new classes"
	}
	f.Title = leader(f.Panels, "Average accuracy after each task, "+where)
	return f, nil
}

// leader is a title that says which candidate is ahead at the end of the first panel that has one.
func leader(panels []*panel, otherwise string) string {
	for _, pl := range panels {
		best, top := "", math.Inf(-1)
		for _, s := range pl.series {
			if _, y, ok := s.End(); ok && y > top && s.Label != "Finetune" && s.Label != "Offline" {
				best, top = s.Label, y
			}
		}
		if best != "" {
			return fmt.Sprintf("%s: of the methods with a curve %s ends highest, at %.1f %% (%s)", otherwise, best, top, pl.Name)
		}
	}
	return otherwise
}

func (p *paper) curvePanel(pl *panel, stream string, m int) {
	lines := &chart.Lines{XLabel: "tasks learned", YLabel: "average accuracy, %", XMin: 1, XMax: 1, Sparse: true, Say: sayPercent}
	pl.Alt = "Line chart of the average accuracy after each task, " + stream + "."
	for _, name := range rowsOf(stream) {
		spec, ok := plainSpec(name, stream, m)
		if !ok {
			continue
		}
		runs, _ := p.study.Find(spec, everyTask)
		if len(runs) == 0 {
			continue
		}
		look := lookOf(name)
		s := chart.Series{Label: name, Look: look, Width: 2}
		for i := range runs[0].Result.Stream.Tasks {
			e := over(runs, func(r *Run) float64 { return 100 * metric.AverageAccuracy(matrixOf(r), i) })
			s.Y, s.Half = append(s.Y, e.Mean), append(s.Half, e.Half)
			pl.point(name, "average accuracy", strconv.Itoa(i+1), e, math.NaN(), math.NaN())
		}
		lines.XMax = max(lines.XMax, len(s.Y))
		pl.add(lines, s)
	}
	spec, _ := plainSpec("ER", stream, m)
	pl.finish(lines, 0, 100, notDrawn(spec, "--eval seen"))
}

// add adds a line and its words.
func (pl *panel) add(lines *chart.Lines, s chart.Series) {
	lines.Series = append(lines.Series, s)
	pl.series = append(pl.series, s)
	if i, y, ok := s.End(); ok {
		pl.Alt += fmt.Sprintf(" %s ends at %.3g (%d).", s.Label, y, lines.X(&s, i))
	}
}

// finish makes the chart of a panel, or says why it has none.
func (pl *panel) finish(lines *chart.Lines, floor, ceiling float64, missing string) {
	if len(lines.Series) == 0 {
		pl.Missing = missing
		return
	}
	lines.Scale(floor, ceiling, 0)
	pl.chart = lines
}

// over is the estimate of a value over runs.
func over(runs []*Run, value func(*Run) float64) Estimate {
	var v []float64
	for _, r := range runs {
		v = append(v, value(r))
	}
	return estimateOf(v)
}

func sayPercent(y, half float64) string {
	return Estimate{y, half, 1}.plusMinus(oneDecimal) + " %"
}

// errorPanels are the four panels of the error analysis: two values of each method after each task.
var errorPanels = []struct {
	name, unit string
	of         func(r *Run, task int) (filled, hollow *float64)
	words      [2]string
}{
	{"error ratios", "share of errors, %", func(r *Run, t int) (a, b *float64) {
		e := r.Result.ErrorAnalysis.Tasks[t]
		return e.OldAsNewOfErrors, e.NewAsOldOfErrors
	}, [2]string{"er(o,n)", "er(n,o)"}},
	{"mean logits", "mean logit", func(r *Run, t int) (a, b *float64) {
		if l := r.Result.ErrorAnalysis.Tasks[t].Logits; l != nil {
			return l.NewOwn, l.OldOwn
		}
		return nil, nil
	}, [2]string{"new", "old"}},
	{"mean bias of the head", "mean bias", func(r *Run, t int) (a, b *float64) {
		if h := r.Result.ErrorAnalysis.Tasks[t].Head; h != nil {
			return h.NewBias, h.OldBias
		}
		return nil, nil
	}, [2]string{"new", "old"}},
	{"mean weight of the head", "mean weight", func(r *Run, t int) (a, b *float64) {
		if h := r.Result.ErrorAnalysis.Tasks[t].Head; h != nil {
			return h.NewWeight, h.OldWeight
		}
		return nil, nil
	}, [2]string{"new", "old"}},
}

// errorCurves builds fig:trick_motivation.
func (p *paper) errorCurves(b figureBuilder) (*figure, error) {
	f := &figure{Label: b.label, Text: b.text, Title: "Error ratios, logits and the head on CIFAR-100, for new and for old classes"}
	for k, part := range errorPanels {
		pl := panelOf(b.label, part.name)
		lines := &chart.Lines{XLabel: "tasks learned", YLabel: part.unit, XMin: 1, XMax: 1, Sparse: true, Say: sayNumber}
		pl.Alt = "Line chart: " + part.name + " after each task, for new and for old classes."
		scale, ceiling := 1.0, math.Inf(1)
		if k == 0 {
			scale, ceiling = 100, 100
		}
		var spec Spec
		for _, name := range []string{"A-GEM", "ER", "MIR"} {
			spec, _ = specOf(survey.ErrorAnalysis, survey.Value{Row: name, Memory: 5000})
			runs, _ := p.study.Find(spec, func(r *Run) bool { return r.Result.ErrorAnalysis != nil && len(r.Result.ErrorAnalysis.Tasks) > 1 })
			look := lookOf(name)
			for side, word := range part.words {
				s := chart.Series{Label: name + ", " + word, Look: look, Width: 2, Hollow: side == 1}
				found := false
				for t := range tasksOf(runs) {
					e := over(runs, func(r *Run) float64 {
						if t >= len(r.Result.ErrorAnalysis.Tasks) {
							return math.NaN()
						}
						filled, hollow := part.of(r, t)
						if side == 1 {
							filled = hollow
						}
						if filled == nil {
							return math.NaN()
						}
						return scale * *filled
					})
					found = found || e.N > 0
					s.Y, s.Half = append(s.Y, e.Mean), append(s.Half, e.Half)
					pl.point(s.Label, part.name, strconv.Itoa(t+1), e, math.NaN(), math.NaN())
				}
				if found {
					lines.XMax = max(lines.XMax, len(s.Y))
					pl.add(lines, s)
				}
			}
		}
		pl.finish(lines, math.Inf(-1), ceiling, notDrawn(spec, "--eval seen"))
		f.Panels = append(f.Panels, pl)
	}
	return f, nil
}

// tasksOf is the number of tasks of some runs, 0 without one.
func tasksOf(runs []*Run) int {
	if len(runs) == 0 {
		return 0
	}
	return len(runs[0].Result.ErrorAnalysis.Tasks)
}

func sayNumber(y, half float64) string {
	return Estimate{y, half, 1}.plusMinus(func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) })
}
