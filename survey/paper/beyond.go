package paper

import (
	"fmt"
	"math"
	"strconv"

	"ocl/internal/count"
	"ocl/run/result"
	"ocl/view/chart"
)

// timeAccuracy builds a scatter plot of run time and accuracy for each stream.
func (p *paper) timeAccuracy(b figureBuilder) (panels []*panel) {
	for _, stream := range b.streams {
		pl := panelOf(b.label, stream)
		s := &chart.Scatter{XLabel: "seconds of a run", YLabel: "average accuracy, %"}
		pl.Alt = "Scatter plot of run time and average accuracy, " + stream + "."
		for _, name := range rowsOf(stream) {
			if name == "Offline" { // it takes so long that all others would stand at the edge
				continue
			}
			seen := map[Spec]bool{}
			for _, m := range b.memories {
				spec, ok := plainSpec(name, stream, m)
				if !ok || seen[spec] {
					continue
				}
				seen[spec] = true
				runs, _ := p.Find(spec, func(r *Run) bool {
					return r.Result.Outcome.State == result.Finished && r.Result.Provenance.Concurrency == 1 && accuracy.of(r) != nil
				})
				if len(runs) == 0 {
					continue
				}
				x, y := over(runs, (*Run).Seconds), over(runs, func(r *Run) float64 { return 100 * *accuracy.of(r) })
				look := lookOf(name)
				label := name
				if spec.Memory > 0 {
					label += " " + count.Short(spec.Memory)
				}
				s.Points = append(s.Points, chart.Spot{Label: label,
					Tip: label + ": " + plusMinus(y, oneDecimal) + " %, " + count.Duration(x.Mean), Look: look, X: x.Mean, Y: y.Mean,
					Half: y.Half})
				pl.point(label, "average accuracy", count.Exact(x.Mean), y, math.NaN(), math.NaN())
				pl.Alt += fmt.Sprintf(" %s: %.1f %% in %.0f s.", label, y.Mean, x.Mean)
			}
		}
		if pl.chart = s; len(s.Points) == 0 {
			spec, _ := plainSpec("ER", stream, 5000)
			pl.Missing = notDrawn(spec, "--eval final")
		}
		panels = append(panels, pl)
	}
	return panels
}

// memoryHeat builds a heat map of what the memory holds for each method that chooses by itself what it stores.
func (p *paper) memoryHeat(b figureBuilder) (panels []*panel) {
	for _, stream := range b.streams {
		for _, name := range []string{"ER", "GSS", "GDumb"} {
			pl := panelOf(b.label, stream, name)
			spec, ok := plainSpec(name, stream, b.memories[0])
			if !ok {
				continue
			}
			runs, _ := p.Find(spec, func(r *Run) bool { return len(r.Held) > 0 && r.Result.Outcome.State == result.Finished })
			pl.heat(runs)
			if len(runs) == 0 {
				pl.Missing = notDrawn(spec, "--eval final")
			}
			panels = append(panels, pl)
		}
	}
	return panels
}

// heat fills a panel with the shares of the tasks in the memory.
func (pl *panel) heat(runs []*Run) {
	if len(runs) == 0 {
		return
	}
	h := &chart.Heat{RowLabel: "after task", ColLabel: "from task"}
	for i, t := range runs[0].Result.Stream.Tasks {
		h.Rows, h.Cols = append(h.Rows, strconv.Itoa(t.Index+1)), append(h.Cols, strconv.Itoa(t.Index+1))
		line := make([]float64, len(runs[0].Result.Stream.Tasks))
		for j := range line {
			e := over(runs, func(r *Run) float64 { return r.share(i, j) })
			line[j] = e.Mean
			if e.N > 0 {
				pl.point("from task "+strconv.Itoa(j+1), "share of the memory", strconv.Itoa(i+1), e, math.NaN(), math.NaN())
			}
		}
		h.V = append(h.V, line)
	}
	last := h.V[len(h.V)-1]
	pl.chart = h
	pl.Alt = fmt.Sprintf("Heat map of the share of the memory from each task after each task. At the end the first task has %.0f %%, the last %.0f %%.",
		100*last[0], 100*last[len(last)-1])
}

// share is the share of the stored samples after task i that came with task j, NaN before task j.
func (r *Run) share(i, j int) float64 {
	if i >= len(r.Held) || j > i {
		return math.NaN()
	}
	sum := 0
	for _, n := range r.Held[i] {
		sum += n
	}
	if sum == 0 {
		return math.NaN()
	}
	return float64(r.Held[i][j]) / float64(sum)
}
