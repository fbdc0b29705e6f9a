package chart

import (
	"math"
	"strings"
	"testing"
)

// TestWidth against the font's own table: units of 1/2048 of the size.
func TestWidth(t *testing.T) {
	for text, units := range map[string]float64{"": 0, "0": 1139, "100": 3 * 1139, "i": 455, "W": 1933,
		"ER": 1366 + 1479} {
		if got, want := width(text, 20.48), units/100; !(math.Abs(got-want) <= 1e-9) {
			t.Errorf("%q is %g wide, want %g", text, got, want)
		}
	}
}

func TestWrapAndCut(t *testing.T) {
	// At 20.48 pixels "0" is 11.39 wide, a space 5.69 and "…" 20.48.
	for _, c := range []struct {
		text string
		room float64
		want string
	}{
		{"00 00 00", 51.3, "00 00|00"}, {"00 00 00", 51.2, "00|00|00"}, {"00000", 44, "00…"}, {"", 10, ""},
		{"  00  ", 50, "00"},
	} {
		if got := strings.Join(wrap(c.text, c.room, 20.48), "|"); got != c.want {
			t.Errorf("%q in %g: %q, want %q", c.text, c.room, got, c.want)
		}
	}
	if got := cut("00 00", 49, 20.48); got != "00…" {
		t.Errorf("cut is %q: no space may stand before the dots", got)
	}
}
