package chart

import "testing"

func TestContrastIsWCAG(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want float64
	}{{"#000000", "#FFFFFF", 21}, {"#777777", "#FFFFFF", 4.48}, {"#0000FF", "#FFFFFF", 8.59}, {"#FF0000", "#FF0000", 1}} {
		if got := Contrast(ParseHex(c.a), ParseHex(c.b)); !(got-c.want <= 0.01 && c.want-got <= 0.01) {
			t.Errorf("contrast of %s and %s is %.3f, want %.2f", c.a, c.b, got, c.want)
		}
	}
}

func TestHeatScaleIsMonotonic(t *testing.T) {
	for _, dark := range []bool{false, true} {
		for i := 1; i < HeatSteps; i++ {
			a, b := luminance(HeatColor(i-1, dark)), luminance(HeatColor(i, dark))
			if dark && !(b > a) || !dark && !(b < a) {
				t.Errorf("dark %v: step %d has luminance %.3f after %.3f", dark, i, b, a)
			}
		}
	}
	if HeatStep(-1) != 0 || HeatStep(0.5) != 10 || HeatStep(2) != HeatSteps-1 {
		t.Error("HeatStep does not clamp")
	}
}
