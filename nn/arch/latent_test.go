package arch

import (
	"math"
	"testing"

	"ocl/internal/goldentest"
)

// TestLatentGolden holds draws of codes, their divergence and the gradients of both to PyTorch
// (nn/internal/wired/testdata/layers.py).
func TestLatentGolden(t *testing.T) {
	var cases []goldentest.Layer
	goldentest.Read(t, "../internal/wired/testdata/layers.json", &cases)
	found := 0
	for _, c := range cases {
		if c.Layer != "latent" {
			continue
		}
		found++
		c.Check(t, latent(c.Size))
	}
	if found != 3 {
		t.Errorf("%d cases, want 3", found)
	}
}

// latent computes the case of codes of z values for 3 images.
func latent(z int) map[string][]float32 {
	got, eps := map[string][]float32{}, goldentest.Signed(102, 3*z, 2)
	objective := func(i int) float32 { return float32(math.Sin(1.3*float64(i) + 0.2)) }
	for img, code := 0, goldentest.Signed(100, 3*2*z, 1); img < 3; img++ {
		mean, lv, e := code[img*2*z:][:z], code[img*2*z+z:][:z], eps[img*z:][:z]
		for i := range lv {
			lv[i] *= 4
		}
		draw, sd, dz, d := make([]float32, z), make([]float32, z), make([]float32, z), make([]float32, 2*z)
		deviations(sd, lv)
		reparameterise(draw, mean, sd, e)
		got["out0"], got["out1"] = append(got["out0"], draw...), append(got["out1"], float32(normalKL(mean, lv)))
		for i := range dz {
			dz[i] = objective(img*z + i)
		}
		reparameteriseGradient(d[:z], d[z:], dz, sd, e)
		normalKLGradient(d[:z], d[z:], mean, lv, float64(objective(img)))
		for i := range lv {
			d[z+i] *= 4
		}
		got["input_grad0"] = append(got["input_grad0"], d...)
	}
	return got
}
