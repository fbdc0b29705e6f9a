package predict

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"ocl/learn/calibrate"
	"ocl/run/metric"
)

// of each kind of learner that is calibrated, by what is left out or by test images
var calibrated = []string{"slda", "ncm", "ranpac", "er", "icarl"}

// Probabilities are what the result says of them, the best guesses stay what the run predicts, and images that look
// like nothing that was learned are unknown more often than those of known classes.
func TestSureness(t *testing.T) {
	t.Parallel()
	for _, method := range calibrated {
		p, res := opened(t, small(method), Options{})
		set := dataOf(t, small(method))
		c, s := res.Calibration, p.Info().Sureness
		if c == nil || s == nil || p.Info().Measure != Probability {
			t.Errorf("%s: the result has %v, the learner %v, by %s", method, c, s, p.Info().Measure)
			continue
		}
		if c.Samples != s.Samples || c.Temperature != s.Temperature || s.Unknown != 0.05 {
			t.Errorf("%s: the result has %+v, the learner %+v", method, c, s)
		}
		e, err := p.Evaluate(t.Context(), set, EvaluateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if want := *res.Metrics.AverageAccuracy; math.Abs(e.Accuracy()-want) > 1e-12 {
			t.Errorf("%s: accuracy %v, the run had %v", method, e.Accuracy(), want)
		}
		if got := e.Reliability.ECE(); c.By == "samples left out" && math.Abs(got-c.ECE) > 1e-9 {
			t.Errorf("%s: ECE %v, the result has %v", method, got, c.ECE)
		}
		images := pixels(t, set)
		noise := make([]uint8, len(images))
		for i := range noise {
			noise[i] = uint8(i*i*7919 + i*31)
		}
		known, err := p.AnswerBatch(images, set.Test.Len(), 3)
		if err != nil {
			t.Fatal(err)
		}
		foreign, err := p.AnswerBatch(noise, set.Test.Len(), 3)
		if err != nil {
			t.Fatal(err)
		}
		unknown, of := 0, [2][]float64{}
		for i, a := range known {
			if a.Unknown != (a.Familiarity <= 0.05) || !(a.Familiarity > 0 && a.Familiarity <= 1) || a.Set != 0 {
				t.Fatalf("%s: %+v", method, a)
			}
			if a.Unknown {
				unknown++
			}
			if a.Guesses[0].Value < a.Guesses[1].Value || a.Guesses[1].Value < a.Guesses[2].Value {
				t.Errorf("%s: %+v", method, a)
			}
			of[0], of[1] = append(of[0], a.Score), append(of[1], foreign[i].Score)
		}
		sorted := slices.Sorted(slices.Values(of[0]))
		if same := slices.Sorted(slices.Values(e.Familiar)); unknown != e.Unknown || !slices.Equal(sorted, same) {
			t.Errorf("%s: %d unknown, and an evaluation finds %d", method, unknown, e.Unknown)
		}
		if a := metric.AUROC(of[0], of[1]); method == "slda" && a < 0.8 {
			t.Errorf("%s: noise is told with AUROC %v", method, a)
		}
	}
}

// With a coverage a set is counted, and the more classes the more is to be covered. Shares that are none are errors,
// and so is a share that so few samples cannot tell.
func TestCoverage(t *testing.T) {
	t.Parallel()
	folder, res := trainedRun(t, small("slda"))
	set := dataOf(t, small("slda"))
	last := 0.0
	for _, coverage := range []float64{0.3, 0.6} {
		p, err := Open(t.Context(), folder, Options{Coverage: coverage})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		n := set.Test.Len()
		all, err := p.AnswerBatch(pixels(t, set), n, p.Info().Guesses)
		if err != nil {
			t.Fatal(err)
		}
		covered, size := 0.0, 0.0
		for i, a := range all {
			size += float64(a.Set) / float64(n)
			for _, g := range a.Guesses[:a.Set] {
				if g.Class == int(set.Test.Y[i]) {
					covered += 1 / float64(n)
				}
			}
		}
		if covered < coverage-0.1 || size <= last {
			t.Errorf("%v: %v are covered by sets of %v", coverage, covered, size)
		}
		last = size
		e, err := p.Evaluate(t.Context(), set, EvaluateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		of := float64(n)
		if e.Images != n || math.Abs(float64(e.Covered)/of-covered) > 1e-9 || math.Abs(float64(e.Named)/of-size) > 1e-9 {
			t.Errorf("%v: of %d images %d are covered by %d classes, want %v and %v", coverage, e.Images, e.Covered, e.Named,
				covered*of, size*of)
		}
	}
	for want, o := range map[string]Options{
		"is no share of images":        {Unknown: 1},
		"is no coverage":               {Coverage: -0.1},
		"are too few to call a share ": {Unknown: 1e-6},
	} {
		if _, err := Open(t.Context(), folder, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
	if res.Calibration.By != "samples left out" {
		t.Errorf("%+v", res.Calibration)
	}
}

// A learner is calibrated by enough samples for a share exactly when the least rank is no more than the share.
func TestCalibratedBy(t *testing.T) {
	for share, want := range map[float64]int{0.05: 19, 0.1: 9, 0.3: 3, 0.001: 999, 0.02: 49} {
		n := CalibratedBy(share)
		c := calibrate.Calibration{Known: make([]float32, n)}
		if fewer := (calibrate.Calibration{Known: make([]float32, n-1)}); n != want || c.Resolution() > share*(1+1e-12) ||
			fewer.Resolution() <= share {
			t.Errorf("%v: %d, want %d", share, n, want)
		}
	}
}

// A learner that nothing calibrates says so, and refuses to call anything unknown.
func TestNotCalibrated(t *testing.T) {
	t.Parallel()
	c := small("er")
	c.Classifiers = []string{"head", "ncm"}
	folder, _ := trainedRun(t, c)
	p, err := Open(t.Context(), folder, Options{Classifier: "ncm"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if i := p.Info(); i.Sureness != nil || i.Measure != Distance || len(i.Notes) != 1 ||
		!strings.Contains(i.Notes[0], "only the first classifier of a run is calibrated") {
		t.Errorf("%+v", i)
	}
	if a, err := p.AnswerBatch(pixels(t, dataOf(t, c))[:p.preparation.Len()], 1, 1); err != nil || a[0].Unknown ||
		a[0].Familiarity != 0 {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := Open(context.Background(), folder, Options{Classifier: "ncm", Unknown: 0.1}); err == nil ||
		!strings.Contains(err.Error(), "cannot say what is unknown") {
		t.Errorf("unknown of a learner that is not calibrated: %v", err)
	}
}
