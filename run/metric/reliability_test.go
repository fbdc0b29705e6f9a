package metric

import (
	"math"
	"testing"
)

// TestReliability: the worked example of the docstring, both ends, and a mean of bins by their answers.
func TestReliability(t *testing.T) {
	var r Reliability
	if !math.IsNaN(r.ECE()) {
		t.Errorf("without answers %v", r.ECE())
	}
	for i := range 4 {
		r.Add(0.9, i < 2)
	}
	if e := r.ECE(); math.Abs(e-0.4) > 1e-12 {
		t.Errorf("ECE %v, want 0.4", e)
	}
	if j := r.Joined(10); len(j) != 1 || j[0].N != 4 {
		t.Errorf("four answers: %+v", j)
	}
	r.Add(0, false)
	r.Add(1, true)
	r.Add(1, true)
	r.Add(1, true)
	if e := r.ECE(); math.Abs(e-0.2) > 1e-12 || r[0].N != 1 || r[ReliabilityBins-1].N != 3 {
		t.Errorf("ECE %v, want 0.2; %+v", e, r)
	}
	if j := r.Joined(3); len(j) != 2 || j[0].N != 5 || j[1].N != 3 || j[1].Confidence != 3 {
		t.Errorf("joined: %+v", j)
	}
	if none := (&Reliability{}).Joined(1); none != nil {
		t.Errorf("of none %+v", none)
	}
}
