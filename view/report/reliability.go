package report

import (
	"fmt"
	"math"
	"strings"

	"ocl/internal/count"
	"ocl/run/metric"
	"ocl/run/result"
	"ocl/view/chart"
)

// ReliabilityCaption says how to read a chart of [Reliability].
const ReliabilityCaption = "Test images by the probability of their best class, in fifteenths: the share of them that is predicted right. On the straight line the probabilities are right; below it the learner is surer than it should be. Parts of fewer than ten images are drawn together with the next."

// fewImages of a part say nothing alone.
const fewImages = 10

// Reliability is a chart of how often answers of a probability are right.
func Reliability(r metric.Reliability) *chart.Lines {
	l := trusted()
	l.Series = append(l.Series, reliabilitySeries(r))
	l.Series[1].Label, l.Series[1].Width = "the learner", 2
	l.Series[1].Look = chart.Look{Class: "head", Light: "#1f5fa8", Dark: "#7db4f0"}
	l.Scale(0, 100, 100)
	return l
}

// trusted is the chart without learners.
func trusted() *chart.Lines {
	l := &chart.Lines{XLabel: "probability of the best class, %", YLabel: "share that is right, %", XMax: 100,
		Percent: true, Say: func(y, _ float64) string { return count.Fixed(y, 1) }}
	l.Series = []chart.Series{{Label: "as said", Width: 1, X: []int{0, 100}, Y: []float64{0, 100},
		Half: []float64{math.NaN(), math.NaN()},
		Look: chart.Look{Class: "plain", Light: "#767676", Dark: "#9a9a9a", Dash: []float64{4, 3}}}}
	return l
}

// reliabilitySeries has the bins with answers.
func reliabilitySeries(r metric.Reliability) (s chart.Series) {
	for _, b := range r.Joined(fewImages) {
		n := float64(b.N)
		s.X = append(s.X, int(math.Round(100*b.Confidence/n)))
		s.Y, s.Half = append(s.Y, 100*float64(b.Right)/n), append(s.Half, math.NaN())
	}
	return s
}

// reliabilityOf adds up the test images of the runs that measured them; ok is false if none did.
func (g *row) reliabilityOf() (all metric.Reliability, ok bool) {
	for _, r := range g.counted() {
		if r.Calibration == nil {
			continue
		}
		ok = true
		for _, b := range r.Calibration.Bins {
			to := &all[b.Bin]
			to.N += b.N
			to.Confidence += b.Confidence * float64(b.N)
			to.Right += int(math.Round(b.Accuracy * float64(b.N)))
		}
	}
	return all, ok
}

// reliability is the section of a setting: how far probabilities can be trusted, and what is unknown.
func (s *setting) reliability() []block {
	f := &figure{ID: s.id("reliability"), Title: s.titled("How far probabilities can be trusted"), Lines: trusted(),
		Caption: ReliabilityCaption + " After the last task. " + s.measured()}
	f.Data = &table{ID: f.ID, Head: headed(numCol("probability from", "low"), numCol("to", "high"), numCol("images", "images"),
		numCol("mean probability", "confidence"), numCol("accuracy", "accuracy"))}
	t := &table{ID: s.id("calibration"), Title: s.titled("What probabilities are worth after the last task"),
		Head: headed(numCol("calibration error, points", "ece"), numCol("without calibration", "ece_before"),
			textCol("calibrated by", "by"), numCol("runs", "runs"))}
	var words []string
	for _, g := range s.rows {
		r, ok := g.reliabilityOf()
		if !ok {
			continue
		}
		se := reliabilitySeries(r)
		se.Label, se.Look, se.Width = g.Short, g.style, g.width
		f.Lines.Series, f.rows = append(f.Lines.Series, se), append(f.rows, g)
		for i, b := range r {
			if n := float64(b.N); b.N > 0 {
				f.Data.Rows = append(f.Data.Rows, append(g.head(), numCell(count.Fixed(float64(i)/15, 2), float64(i)/15),
					numCell(count.Fixed(float64(i+1)/15, 2), float64(i+1)/15), numCell(count.Number(b.N), n),
					numCell(count.Fixed(b.Confidence/n, 3), b.Confidence/n),
					numCell(count.Fixed(float64(b.Right)/n, 3), float64(b.Right)/n)))
			}
		}
		over := func(of func(*result.Calibration) *float64) metric.Estimate {
			return g.over(func(r *run) float64 {
				if r.Calibration == nil || of(r.Calibration) == nil {
					return math.NaN()
				}
				return *of(r.Calibration)
			})
		}
		ece := over(func(c *result.Calibration) *float64 { return &c.ECE })
		before := over(func(c *result.Calibration) *float64 { return c.Before })
		by := ""
		for _, r := range g.counted() {
			if r.Calibration != nil {
				by = r.Calibration.By
			}
		}
		t.Rows = append(t.Rows, append(g.head(), numCell(points(ece.Mean), ece.Mean), numCell(points(before.Mean), before.Mean),
			textCell(by), textCell(fmt.Sprint(ece.N))))
		words = append(words, fmt.Sprintf("%s %s points", g.Short, points(ece.Mean)))
	}
	if len(words) == 0 {
		return nil
	}
	f.Lines.Scale(0, 100, 100)
	f.Alt = "Line chart of the accuracy by probability. Calibration errors: " + strings.Join(words, ", ") + "."
	return []block{{Figure: f}, {Table: t}}
}

// points is a share in hundredths, a dash where it was not measured.
func points(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return count.Fixed(100*v, 1)
}
