package paper

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ocl/internal/count"
	"ocl/run/metric"
	"ocl/run/result"
	"ocl/survey"
	"ocl/view/chart"
)

// notDrawn says why a panel is empty, and how to fill it.
func notDrawn(spec Spec, eval string) string {
	c := Cell{Spec: spec, Known: true}
	return "Not run. `" + strings.Replace(c.Command(), "--eval final", eval, 1) + "` makes some of its runs."
}

// curves builds a line chart of accuracy over tasks for each stream and memory.
func (p *paper) curves(b figureBuilder) (panels []*panel) {
	for _, stream := range b.streams {
		for _, m := range b.memories {
			name := stream
			if len(b.streams) == 1 {
				name = ""
			}
			pl := panelOf(b.label, name, memoryName(b.memories, m))
			pl.Alt = "Line chart of the average accuracy after each task, " + stream + "."
			lines := &chart.Lines{XLabel: "tasks learned", YLabel: "average accuracy, %", XMin: 1, XMax: 1}
			p.lines(pl, lines, stream, m, "average accuracy", everyTask, "--eval seen", upToTasks,
				func(r *Run, task int) float64 {
					return metric.AverageAccuracy(result.MatrixOf(r.Result.Accuracy, r.Result.Stream.CommonTest), task-1)
				})
			panels = append(panels, pl)
		}
	}
	return panels
}

// everyTask is the need of a curve: a run that ended and was tested after its first task.
func everyTask(r *Run) bool {
	rows := r.Result.Accuracy
	return r.Result.Outcome.State == result.Finished && len(rows) > 0 && len(rows[0]) > 0 && rows[0][0] != nil
}

// upToTasks are the tasks of runs, counted from 1.
func upToTasks(runs []*Run) (tasks []int) {
	for i := range runs[0].Result.Stream.Tasks {
		tasks = append(tasks, i+1)
	}
	return tasks
}

// anytime builds a line chart of the accuracy within tasks for each stream that has such evaluations.
func (p *paper) anytime(b figureBuilder) (panels []*panel) {
	for _, stream := range b.streams {
		pl := panelOf(b.label, stream)
		pl.Alt = "Line chart of the accuracy on the tasks seen so far within tasks, " + stream + "."
		p.lines(pl, &chart.Lines{XLabel: "learner steps", YLabel: "accuracy on the tasks seen, %"}, stream, b.memories[0],
			"accuracy on the tasks seen",
			func(r *Run) bool { return len(r.Result.Evaluations) > 0 }, "eval_every=50", steps,
			func(r *Run, step int) float64 { return r.Result.Anytime(step) })
		panels = append(panels, pl)
	}
	return panels
}

// steps are those after which runs were evaluated in the middle of a task.
func steps(runs []*Run) (all []int) {
	for _, r := range runs {
		all = append(all, r.Result.AnytimeSteps()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// lines fills a panel with a line for each method of a stream, of its runs that have what is needed: a fraction at each
// of some places. If there are none, the panel says with which flag they would be measured.
func (p *paper) lines(pl *panel, lines *chart.Lines, stream string, memory int, quantity string, need Need, flag string,
	places func([]*Run) []int, value func(r *Run, x int) float64) {
	lines.Sparse, lines.Say = true, sayPercent
	for _, name := range rowsOf(stream) {
		spec, ok := plainSpec(name, stream, memory)
		if !ok {
			continue
		}
		runs, _ := p.Find(spec, need)
		if len(runs) == 0 {
			continue
		}
		s := chart.Series{Label: name, Look: lookOf(name), Width: 2}
		for _, x := range places(runs) {
			e := over(runs, func(r *Run) float64 { return 100 * value(r, x) })
			s.X, s.Y, s.Half = append(s.X, x), append(s.Y, e.Mean), append(s.Half, e.Half)
			pl.point(name, quantity, strconv.Itoa(x), e, math.NaN(), math.NaN())
			lines.XMax = max(lines.XMax, x)
		}
		pl.add(lines, s)
	}
	spec, _ := plainSpec("ER", stream, memory)
	pl.finish(lines, 0, 100, notDrawn(spec, flag))
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
func over(runs []*Run, value func(*Run) float64) metric.Estimate {
	var v []float64
	for _, r := range runs {
		v = append(v, value(r))
	}
	return metric.EstimateOf(v)
}

func sayPercent(y, half float64) string { return count.PlusMinus(y, half, oneDecimal) + " %" }

// errorPanels are the four panels of the error analysis: two values of each method after each task.
var errorPanels = []struct {
	name, unit     string
	filled, hollow string // of result.ErrorNumbers
	words          [2]string
}{
	{"error ratios", "share of errors, %", "errors_old_as_new_of_errors", "errors_new_as_old_of_errors",
		[2]string{"old taken for new, er(o,n)", "new taken for old, er(n,o)"}},
	{"mean logits", "mean logit", "logits_new_own", "logits_old_own", [2]string{"new", "old"}},
	{"mean bias of the head", "mean bias", "head_new_bias", "head_old_bias", [2]string{"new", "old"}},
	{"mean weight of the head", "mean weight", "head_new_weight", "head_old_weight", [2]string{"new", "old"}},
}

// errorCurves builds fig:trick_motivation.
func (p *paper) errorCurves(b figureBuilder) (panels []*panel) {
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
			runs, _ := p.Find(spec, func(r *Run) bool {
				return r.Result.ErrorAnalysis != nil &&
					len(r.Result.ErrorAnalysis.Tasks) > 1
			})
			if len(runs) == 0 {
				continue
			}
			for side, key := range []string{part.filled, part.hollow} {
				s := chart.Series{Label: name + ", " + part.words[side], Look: lookOf(name), Width: 2, Hollow: side == 1}
				of := result.ErrorOf(key)
				for t := range runs[0].Result.ErrorAnalysis.Tasks {
					e := over(runs, func(r *Run) float64 {
						if tasks := r.Result.ErrorAnalysis.Tasks; t < len(tasks) {
							if v := of(&tasks[t]); v != nil {
								return scale * *v
							}
						}
						return math.NaN()
					})
					s.Y, s.Half = append(s.Y, e.Mean), append(s.Half, e.Half)
					pl.point(s.Label, part.name, strconv.Itoa(t+1), e, math.NaN(), math.NaN())
				}
				if _, _, found := s.End(); found {
					lines.XMax = max(lines.XMax, len(s.Y))
					pl.add(lines, s)
				}
			}
		}
		pl.finish(lines, math.Inf(-1), ceiling, notDrawn(spec, "--eval seen"))
		panels = append(panels, pl)
	}
	return panels
}

func sayNumber(y, half float64) string { return count.PlusMinus(y, half, count.Significant) }
