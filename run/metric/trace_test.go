package metric_test

import (
	"math"
	"testing"

	"ocl/run/metric"
)

// TestTraceByHand: three tasks and six evaluations, worked out by hand.
func TestTraceByHand(t *testing.T) {
	trace := metric.Trace{
		{Task: 0, Accuracy: []float64{0.5}},
		{Task: 0, Ended: true, Accuracy: []float64{0.9}},
		{Task: 1, Accuracy: []float64{0.3, 0.4}},
		{Task: 1, Ended: true, Accuracy: []float64{0.6, 0.8}},
		{Task: 2, Accuracy: []float64{0.4, 0.2, 0.5}},
		{Task: 2, Ended: true, Accuracy: []float64{0.5, 0.6, 0.7}},
	}
	for name, c := range map[string][2]float64{
		"min-ACC":     {metric.MinAccuracy(trace), (0.3 + 0.2) / 2},
		"WC-ACC":      {metric.WorstCaseAccuracy(trace), 0.7/3 + 2.0/3*0.25},
		"drop in two": {metric.LargestDrop(trace, 2), (0.6 + 0.6 + 0) / 3},
		"drop in six": {metric.LargestDrop(trace, 6), (0.6 + 0.6 + 0) / 3},
		"gap":         {metric.StabilityGap(trace), ((0.9 - 0.3) + ((0.6+0.8)/2 - (0.4+0.2)/2)) / 2},
	} {
		if math.Abs(c[0]-c[1]) > 1e-12 {
			t.Errorf("%s is %v, want %v", name, c[0], c[1])
		}
	}
	for what, other := range map[string]metric.Trace{
		"none": nil, "one task": trace[:2],
		"no evaluation between": {trace[1], trace[3], trace[5]}, "without an end": trace[:5],
	} {
		for name, of := range map[string]func(metric.Trace) float64{"min-ACC": metric.MinAccuracy,
			"WC-ACC": metric.WorstCaseAccuracy, "gap": metric.StabilityGap,
			"drop": func(t metric.Trace) float64 { return metric.LargestDrop(t, 10) }} {
			if v := of(other); !math.IsNaN(v) {
				t.Errorf("%s, %s: %v, want NaN", what, name, v)
			}
		}
	}
	trace[4].Accuracy[1] = math.NaN()
	if v := metric.MinAccuracy(trace); !math.IsNaN(v) {
		t.Errorf("min-ACC of an accuracy that was not evaluated: %v", v)
	}
}

// TestMeasuresByHand: three tasks of two samples a batch, worked out by hand.
func TestMeasuresByHand(t *testing.T) {
	nan := math.NaN()
	cumulative := [][]float64{{0.9}, {0.6, 0.5}, {0.7, 0.4, 0.3}}
	for name, c := range map[string][2]float64{
		// task 0 was best at first, task 1 right after it
		"cumulative forgetting": {metric.CumulativeForgetting(cumulative), ((0.9 - 0.7) + (0.5 - 0.4)) / 2},
		"nothing forgotten":     {metric.CumulativeForgetting([][]float64{{0.5}, {0.6, 0.5}}), 0},
		"retention":             {metric.Retention([]float64{0.2, 0.6, 0.9}), 0.4},
		"held out":              {metric.HeldOut([]int{3, 0, 1}, []float64{0.5, nan, 0.9}), (3*0.5 + 0.9) / 4},
		"online":                {metric.OnlineAccuracy([]int{1, 3, 2}, []int{4, 6, 6}), 6.0 / 16},
		"near future":           {metric.NearFutureAccuracy([]int{0, 3}, []int{2, 6}), 3.0 / 8},
		"probed":                {metric.ProbedAccuracy(3, 4), 0.75},
	} {
		if !(math.Abs(c[0]-c[1]) <= 1e-12) {
			t.Errorf("%s is %v, want %v", name, c[0], c[1])
		}
	}
	for name, v := range map[string]float64{
		"cumulative forgetting of one task":           metric.CumulativeForgetting(cumulative[:1]),
		"cumulative forgetting where a row was not":   metric.CumulativeForgetting([][]float64{{0.9}, {}, {0.7, 0.4, 0.3}}),
		"cumulative forgetting where an entry is NaN": metric.CumulativeForgetting([][]float64{{nan}, {0.5, 0.5}}),
		"retention of one period":                     metric.Retention([]float64{0.5}),
		"retention of one that was not evaluated":     metric.Retention([]float64{nan, 0.5, 0.5}),
		"held-out samples of an empty period":         metric.HeldOut([]int{0}, []float64{1}),
		"held-out samples of a class without a test":  metric.HeldOut([]int{1, 1}, []float64{1, nan}),
		"online without samples":                      metric.OnlineAccuracy(nil, nil),
		"probed without samples":                      metric.ProbedAccuracy(0, 0),
	} {
		if !math.IsNaN(v) {
			t.Errorf("%s: %v, want NaN", name, v)
		}
	}
}
