package metric

import (
	"math"
	"testing"
)

// TestAUROC: the worked example, both ends, and none.
func TestAUROC(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{3, 1}, []float64{2, 1}, 0.625},
		{[]float64{3, 4}, []float64{2, 1}, 1},
		{[]float64{0}, []float64{2, 1}, 0},
		{[]float64{1}, []float64{1, 1, 1}, 0.5},
	} {
		if got := AUROC(c.a, c.b); got != c.want {
			t.Errorf("%v and %v: %v, want %v", c.a, c.b, got, c.want)
		}
	}
	if !math.IsNaN(AUROC(nil, []float64{1})) {
		t.Error("of none it is a number")
	}
}
