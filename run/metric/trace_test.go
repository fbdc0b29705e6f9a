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
