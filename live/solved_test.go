package live_test

import (
	"context"
	"image"
	"image/color"
	"testing"

	"ocl/live"
)

// TestSolved: learners without gradient learn images that come one at a time, grow by new classes beyond the capacity,
// and never predict the outputs of classes that are not there.
func TestSolved(t *testing.T) {
	grey := func(v uint8) image.Image {
		m := image.NewGray(image.Rect(0, 0, 8, 8))
		for i := range m.Pix {
			m.Pix[i] = v
		}
		m.SetGray(int(v)%8, 1, color.Gray{Y: 255 - v})
		return m
	}
	for _, method := range []string{"ncm", "slda", "ranpac"} {
		set := []string(nil)
		if method == "ranpac" {
			set = []string{"method.ranpac.projection=20", "method.ranpac.ridge=1"}
		}
		l, err := live.New(live.Options{Method: method, Size: 8, Capacity: 2, Set: set})
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		names := []string{"dark", "middle", "light"}
		for range 4 {
			for i, name := range names {
				if err := l.Learn(context.Background(), grey(uint8(20+100*i)), name); err != nil {
					t.Fatalf("%s: %v", method, err)
				}
			}
		}
		if err := l.Flush(context.Background()); err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		for i, name := range names {
			guesses, err := l.Predict(grey(uint8(20+100*i)), 1)
			if err != nil || guesses[0].Name != name {
				t.Errorf("%s: %v (%v), want %s", method, guesses, err, name)
			}
		}
		if err := l.Close(); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
}
