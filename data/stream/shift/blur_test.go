package shift

import (
	"math"
	"testing"

	"ocl/internal/goldentest"
)

// TestBlurIsThatOfScipyAndScikitImage compares with testdata/golden.py, for each image alone and across images.
func TestBlurIsThatOfScipyAndScikitImage(t *testing.T) {
	var cases []struct {
		Sigma      float64
		Images     int
		Shape      [3]int
		CrossImage bool `json:"cross_image"`
		Values     []float32
	}
	goldentest.Read(t, "testdata/blur.json", &cases)
	across := 0
	for _, c := range cases {
		if c.CrossImage {
			across++
		}
		task := made(c.Shape, c.Images)
		got := exact(t, task, []Step{{"blur", c.Sigma}}, Options{CrossImage: c.CrossImage})
		if len(c.Values) != c.Images*task.size() {
			t.Fatalf("σ %v: the file has %d values, want %d", c.Sigma, len(c.Values), c.Images*task.size())
		}
		for i := range c.Images {
			for p, v := range got[i] {
				if want := c.Values[i*task.size()+p]; !(math.Abs(float64(v-want)) <= 1e-6) {
					t.Fatalf("σ %v across %v: image %d, value %d is %v, want %v", c.Sigma, c.CrossImage, i, p, v, want)
				}
			}
		}
	}
	if len(cases) < 13 || across < 3 {
		t.Errorf("%d cases, %d of them across images; there were 13 and 3 when the test was written", len(cases), across)
	}
}

// TestBlurOfOneColourChangesNothing also has white images and a strength, 0.88, whose float32 weights add up to more
// than 1.
func TestBlurOfOneColourChangesNothing(t *testing.T) {
	task := made([3]int{1, 5, 5}, 12)
	for _, colour := range []uint8{0, 1, 127, 254, 255} {
		task.At = func(_ int, buf []uint8) ([]uint8, error) {
			for p := range buf {
				buf[p] = colour
			}
			return buf, nil
		}
		for _, sigma := range append(Strengths("blur"), 0.88, 100) {
			for i, v := range apply(t, task, []Step{{"blur", sigma}}, Options{CrossImage: true})[6] {
				if v != colour {
					t.Fatalf("σ %v: byte %d of colour %d is %d", sigma, i, colour, v)
				}
			}
		}
	}
}

// TestBlurRadius compares the radius with that of scipy, ⌊4σ+½⌋.
func TestBlurRadius(t *testing.T) {
	for sigma, want := range map[float64]int{1e-200: 0, 0.124: 0, 0.125: 1, 0.28: 1, 0.56: 2, 0.83: 3, 1.11: 4, 1.39: 6,
		1.67: 7, 1.94: 8, 2.22: 9, 2.5: 10} {
		weights := gaussian(sigma)
		sum := float64(weights[0])
		for _, w := range weights[1:] {
			sum += 2 * float64(w)
		}
		if len(weights)-1 != want || !(math.Abs(sum-1) <= 1e-6) {
			t.Errorf("σ %v: radius %d, sum %v; want %d and 1", sigma, len(weights)-1, sum, want)
		}
	}
}

// TestBlurAcrossImagesHidesLabels compares the weight of an image in its own blurred image with what the survey's code
// gives, which falls below a half from the fourth task on.
func TestBlurAcrossImagesHidesLabels(t *testing.T) {
	for i, want := range []float64{1, 0.997, 0.709, 0.481, 0.359, 0.287, 0.239, 0.206, 0.180, 0.160} {
		if own := float64(gaussian(Strengths("blur")[i])[0]); !(math.Abs(own-want) <= 0.0006) {
			t.Errorf("task %d: the own weight is %v, want %v", i+1, own, want)
		}
	}
}
