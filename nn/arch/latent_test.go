package arch

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// TestLatentGolden holds draws of codes, their divergence and the gradients of both to PyTorch
// (nn/internal/wired/testdata/layers.py).
func TestLatentGolden(t *testing.T) {
	text, err := os.ReadFile("../internal/wired/testdata/layers.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Layer      string
		Size       int
		Quantities []struct {
			Name   string
			Stride int
			Values []float64
			Tol    float64
		}
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, c := range cases {
		if c.Layer != "latent" {
			continue
		}
		found++
		got := latent(c.Size)
		for _, q := range c.Quantities {
			for i, want := range q.Values {
				if g := float64(got[q.Name][i*q.Stride]); !(math.Abs(g-want) <= q.Tol) {
					t.Errorf("size %d: %s[%d]: %v, want %v ± %v", c.Size, q.Name, i*q.Stride, g, want, q.Tol)
					break
				}
			}
		}
	}
	if found != 3 {
		t.Errorf("%d cases, want 3", found)
	}
}

// latent computes the case of codes of z values for 3 images.
func latent(z int) map[string][]float32 {
	got, eps := map[string][]float32{}, signed(102, 3*z, 2)
	objective := func(i int) float32 { return float32(math.Sin(1.3*float64(i) + 0.2)) }
	for img, code := 0, signed(100, 3*2*z, 1); img < 3; img++ {
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

// signed is numbers of stream k in [−1,1), times scale, as layers.py draws them.
func signed(key, n int, scale float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		z := (uint64(key)<<32 | uint64(i)) + 0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		v[i] = float32((2*float64((z^z>>31)>>40)/(1<<24) - 1) * scale)
	}
	return v
}
