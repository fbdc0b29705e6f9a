package report

import (
	"fmt"
	"math"

	"ocl/config"
	"ocl/internal/count"
	"ocl/run/metric"
	"ocl/run/result"
)

// percents prints an estimate of a fraction in per cent: "17.5 ± 0.4".
func percents(e metric.Estimate) string {
	if e.N == 0 {
		return "not measured"
	}
	return count.PlusMinus(e.Mean, e.Half, count.Percent)
}

// counted are the runs behind a row's numbers: the finished ones, or, where none finished, what the others measured.
func (g *row) counted() []*run {
	if len(g.finished) > 0 {
		return g.finished
	}
	return g.runs
}

// over is the estimate over the row's counted runs. What a run did not measure another one of its seed may have.
func (g *row) over(f func(*run) float64) metric.Estimate {
	return overRuns(g.counted(), func(r *run) float64 {
		if v := f(r); !math.IsNaN(v) {
			return v
		}
		return f(g.moreOf(r))
	})
}

// moreOf is the run of a counted run's seed that measured most.
func (g *row) moreOf(r *run) *run {
	for _, o := range g.more {
		if o.seed == r.seed && o.measures() > r.measures() {
			r = o
		}
	}
	return r
}

func overRuns(runs []*run, f func(*run) float64) metric.Estimate {
	var v []float64
	for _, r := range runs {
		v = append(v, f(r))
	}
	return metric.EstimateOf(v)
}

// followed are the runs, one of a seed, that were evaluated after each task: they say how a run went on, and what it
// forgot. Without one it is all that are counted.
func (g *row) followed() (runs []*run) {
	for _, r := range g.counted() {
		if r.Config.Eval == config.EvalFinal {
			r = g.moreOf(r)
		}
		if r.Config.Eval != config.EvalFinal {
			runs = append(runs, r)
		}
	}
	if len(runs) == 0 {
		return g.counted()
	}
	return runs
}

// partly says of which rows only some runs were measured in that way: "2 of 4 runs of ER." It begins with a space.
func (s *setting) partly(measured func(*row) []*run) string {
	var parts []string
	for _, g := range s.rows {
		if n, all := len(measured(g)), len(g.counted()); n > 0 && n < all {
			parts = append(parts, fmt.Sprintf("%d of %s of %s", n, count.Of(all, "run"), g.Short))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " Not all runs measured this: the figure shows " + count.And(parts) + "."
}

// timed are the counted runs whose times can be compared: those that measured the same as most others.
func (g *row) timed() (runs []*run) {
	of := map[string][]*run{}
	for _, r := range g.counted() {
		what := r.id.Measured().String()
		if of[what] = append(of[what], r); len(of[what]) > len(runs) {
			runs = of[what]
		}
	}
	return runs
}

// seconds is the estimate of a time over the timed runs.
func (g *row) seconds(f func(*run) float64) metric.Estimate { return overRuns(g.timed(), f) }

// text prints an estimate with how many runs measured it, where these are not all.
func (g *row) text(e metric.Estimate) string { return percents(e) + g.fewer(e) }

// fewer says how many runs measured something, where these are not all.
func (g *row) fewer(e metric.Estimate) string {
	if n := len(g.counted()); e.N > 0 && e.N < n {
		return fmt.Sprintf(" (%d of %s)", e.N, count.Of(n, "run"))
	}
	return ""
}

// metricOf is the estimate of one recorded metric.
func (g *row) metricOf(f func(result.Metrics) *float64) metric.Estimate {
	return g.over(func(r *run) float64 { return orNaN(f(r.Metrics)) })
}

func orNaN(p *float64) float64 {
	if p == nil {
		return math.NaN()
	}
	return *p
}

// at is a[i][j], NaN where the matrix has no such entry.
func at(m [][]*float64, i, j int) float64 {
	if i < 0 || j < 0 || i >= len(m) || j >= len(m[i]) {
		return math.NaN()
	}
	return orNaN(m[i][j])
}

// afterTask is the average accuracy of a run after task i (0-based), NaN where a task it covers was not evaluated.
func (r *run) afterTask(i int) float64 {
	if i < 0 || i >= len(r.Accuracy) {
		return math.NaN()
	}
	return metric.AverageAccuracy(r.matrix, i)
}

// lastRow is the index of the last evaluated row of the matrix, -1 if none was.
func (r *run) lastRow() int {
	for i := len(r.Accuracy) - 1; i >= 0; i-- {
		for _, v := range r.Accuracy[i] {
			if v != nil {
				return i
			}
		}
	}
	return -1
}

// forgotten is the forgetting of task j at the end of the run: the best accuracy on it before the last task minus the
// accuracy after the last task, in [-1,1], a term of metric.AverageForgetting. It is NaN for the last task, which
// cannot be forgotten yet, if an accuracy since the task was learned was not evaluated, and with one common test set.
func (r *run) forgotten(j int) float64 {
	last := r.lastRow()
	if j >= last || r.Stream.CommonTest {
		return math.NaN()
	}
	best := math.Inf(-1)
	for l := range last {
		v := at(r.Accuracy, l, j)
		if math.IsNaN(v) && l >= j {
			return v
		}
		if v > best {
			best = v
		}
	}
	return best - at(r.Accuracy, last, j)
}

// seconds is the run time of a run, NaN for one of another program.
func (r *run) seconds() float64 {
	if r.Foreign != nil {
		return math.NaN()
	}
	return r.Seconds.All()
}

// shared says that other runs used the machine at the same time.
func (r *run) shared() bool { return r.Provenance.Concurrency > 1 }

// meanMatrix is the entry-wise mean of a matrix over some runs, rows × cols, NaN where no run has the entry.
func meanMatrix(runs []*run, rows, cols int, of func(*run) [][]float64) [][]float64 {
	var matrices [][][]float64
	for _, r := range runs {
		matrices = append(matrices, of(r))
	}
	out := make([][]float64, rows)
	for i := range out {
		for j := range cols {
			var values []float64
			for _, m := range matrices {
				if i < len(m) && j < len(m[i]) {
					values = append(values, m[i][j])
				}
			}
			out[i] = append(out[i], metric.EstimateOf(values).Mean)
		}
	}
	return out
}
