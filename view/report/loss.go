package report

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"ocl/internal/count"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/run/metric"
	"ocl/run/result"
	"ocl/view/chart"
)

// A run is cut into at most so many equal parts as its events are read, however long it was. The figure has at most so
// many parts of a row and of all rows together, and each part has the mean of this many recorded losses or more, but
// the parts are not fewer than the last number.
const (
	lossParts     = 240
	maxLossPoints = 60
	maxLossAll    = 600
	lossesInPart  = 4
	leastLosses   = 12
)

// losses are the recorded losses of a run in equal parts of its steps: their sums and how many there are.
type losses struct {
	sum []float64
	n   []int
	all int
}

// lossesOf reads the events beside the result of a run, up to so many steps. Without events, with those of another run
// and with damaged ones there are none: no number of a result depends on them.
func lossesOf(r *run, steps int) (l losses) {
	parts := min(steps, lossParts)
	if parts < 1 || r.folder == r.file || r.file == "" {
		return l
	}
	f, _, err := input.Open(filepath.Join(filepath.Dir(r.file), "events.jsonl"), input.Want{Most: limit.Events})
	if err != nil {
		return l
	}
	defer f.Close()
	l = losses{sum: make([]float64, parts), n: make([]int, parts)}
	for e, err := range result.Events(f) {
		switch {
		case err != nil || e.Event == result.EventRun && e.Key != r.Key && r.Key != "":
			return losses{}
		case e.Event == result.EventStep && e.Loss != nil && e.Step >= 1 && e.Step <= steps:
			at := (e.Step - 1) * parts / steps
			l.sum[at] += *e.Loss
			l.n[at]++
			l.all++
		}
	}
	if !slices.ContainsFunc(l.sum, func(v float64) bool { return v != 0 }) { // a method without steps
		return losses{}
	}
	return l
}

// mean is the mean loss in a part of so many; NaN where none was recorded.
func (l losses) mean(part, parts int) float64 {
	sum, n := 0.0, 0
	for at := part * len(l.n) / parts; at < (part+1)*len(l.n)/parts; at++ {
		sum += l.sum[at]
		n += l.n[at]
	}
	return sum / float64(n) // NaN for none
}

// lossFigure is the training loss over the learner steps, of the rows whose runs have recorded it; nil where none has.
func (s *setting) lossFigure() *figure {
	f := &figure{ID: s.id("loss"), Lines: &chart.Lines{XLabel: "learner steps", YLabel: "training loss", Say: plainText}}
	f.Data = &table{ID: f.ID, Head: headed(numCol("step", "step"), numCol("training loss", "loss"),
		numCol("± 95 %", "half_width_95"), numCol("runs", "runs"))}
	most := min(maxLossPoints, max(maxLossAll/len(s.rows), leastLosses))
	wide, single := 0, false // steps in the widest part, and whether a point is one loss
	var without, bounds []string
	cut := ""
	for _, g := range s.rows {
		runs, steps, recorded := g.counted(), 0, 0
		for _, r := range runs {
			steps = max(steps, r.Outcome.Step)
		}
		var of []losses
		for _, r := range runs {
			l := lossesOf(r, steps)
			of, recorded = append(of, l), max(recorded, l.all)
		}
		if recorded == 0 {
			without = append(without, g.Short)
			continue
		}
		parts := min(most, max(recorded/lossesInPart, leastLosses), steps, lossParts)
		se := chart.Series{Label: g.Short, Look: g.style, Width: g.width, Seeds: seedsOf(runs),
			Single: make([][]float64, len(runs))}
		for part := range parts {
			var values []float64
			for _, l := range of {
				values = append(values, l.mean(part, parts))
			}
			e := metric.EstimateOf(values)
			if e.N == 0 {
				continue
			}
			x := (part + 1) * steps / parts
			se.X, se.Y, se.Half = append(se.X, x), append(se.Y, e.Mean), append(se.Half, interval(e)/100)
			for k, v := range values {
				se.Single[k] = append(se.Single[k], v)
			}
			f.Data.Rows = append(f.Data.Rows, append(g.head(), textCell(fmt.Sprint(x)),
				numCell(count.Significant(e.Mean), e.Mean), numCell(plainHalf(e), e.Half), textCell(fmt.Sprint(e.N))))
		}
		if len(runs) == 1 {
			se.Single = nil
		}
		if g.bound == UpperBound && len(f.Lines.Series) > 0 && steps > 2*f.Lines.XMax {
			bounds = append(bounds, g.Short)
			continue
		}
		wide, single = max(wide, (steps+parts-1)/parts), single || recorded <= parts
		f.Lines.Series, f.rows, f.Lines.XMax = append(f.Lines.Series, se), append(f.rows, g), max(f.Lines.XMax, steps)
		f.Lines.Sparse = f.Lines.Sparse || len(se.X) > 20
	}
	if len(f.Lines.Series) == 0 {
		return nil
	}
	floor := 0.0
	for _, se := range f.Lines.Series {
		for _, run := range append([][]float64{se.Y}, se.Single...) {
			for _, v := range run {
				if v < 0 {
					floor = math.Inf(-1)
				}
			}
		}
	}
	if f.Lines.Scale(floor, math.Inf(1), 0) {
		cut = intervalsCut
	}
	f.split(f.rows)
	f.Title = s.titled("Training loss over the steps")
	f.Caption = fmt.Sprintf("Loss of the learner's steps, as the events of the runs recorded it. It is smoothed: each point is the mean of the recorded losses of at most %s before it. ",
		count.Of(wide, "step"))
	if wide == 1 || single {
		f.Caption = "Loss of the learner's steps, as the events of the runs recorded it, which is not of each step. "
	}
	f.Caption += "Methods whose losses have other terms cannot be compared by them. " + upper(s.measured()) + cut
	if len(bounds) > 0 {
		f.Caption += " " + count.And(bounds) + ": more steps than the figure has; the CSV file has them."
	}
	if len(without) > 0 {
		f.Caption += " " + count.And(without) + ": no loss, or none was recorded."
	}
	f.Alt = s.alt(f, "Training loss over the learner steps")
	return f
}

// plainHalf is the half width of an interval of what is no share.
func plainHalf(e metric.Estimate) string {
	if math.IsNaN(e.Half) {
		return "1 run"
	}
	return count.Significant(e.Half)
}
