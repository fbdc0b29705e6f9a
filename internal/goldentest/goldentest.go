// Package goldentest is shared by tests that hold numbers to those of PyTorch: it draws what their scripts draw, and
// compares with what these computed.
package goldentest

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"ocl/internal/input"
)

// Hash is splitmix64's output for number i of a stream.
func Hash(stream, i int) uint64 {
	z := uint64(stream)<<32 | uint64(i)
	z += 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// Uniform is number i of a stream, in [0,1).
func Uniform(stream, i int) float64 { return float64(Hash(stream, i)>>40) / (1 << 24) }

// Signed is the first n numbers of a stream in [−1,1), times scale.
func Signed(stream, n int, scale float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32((2*Uniform(stream, i) - 1) * scale)
	}
	return v
}

// Read reads a JSON file into values, each of which takes the fields that it has.
func Read(t testing.TB, name string, values ...any) {
	t.Helper()
	b, err := input.ReadFile(name, input.Want{Most: 1 << 26})
	for _, v := range values {
		err = errors.Join(err, json.Unmarshal(b, v))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Values are values of the reference, and how far a float32 run may be from each.
type Values struct {
	Tol    float64
	Values []float64
}

// Check compares all values.
func (g Values) Check(t testing.TB, what string, got []float64) {
	t.Helper()
	if len(got) != len(g.Values) || len(got) == 0 {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(g.Values))
	}
	worst := 0.0
	for i, want := range g.Values {
		d := math.Abs(got[i] - want)
		worst = max(worst, d)
		if !(d <= g.Tol) {
			t.Fatalf("%s: value %d is %v, want %v ± %.2g", what, i, got[i], want, g.Tol)
		}
	}
	t.Logf("%s: at most %.2g from the reference, tolerance %.2g", what, worst, g.Tol)
}

// Every stride-th of the values.
func Every(stride int, v []float32) []float64 {
	var out []float64
	for i := 0; i < len(v); i += stride {
		out = append(out, float64(v[i]))
	}
	return out
}

// Layer is a case of the layers that only CN-DPM's experts have (nn/internal/wired/testdata/layers.json).
type Layer struct {
	Layer      string
	Size       int
	Quantities []struct {
		Name string
		Size int
		Values
		Stride int
		Sum    float64
	}
}

// Check compares all quantities: every Stride-th value, and the sum of all.
func (l Layer) Check(t testing.TB, got map[string][]float32) {
	t.Helper()
	for _, q := range l.Quantities {
		v := got[q.Name]
		if len(v) != q.Size {
			t.Errorf("%s: %d values, want %d", q.Name, len(v), q.Size)
			continue
		}
		sum := 0.0
		for _, x := range v {
			sum += float64(x)
		}
		if tol := math.Sqrt(float64(q.Size)) * q.Tol; !(math.Abs(sum-q.Sum) <= tol) {
			t.Errorf("%s: the sum is %v, want %v ± %v", q.Name, sum, q.Sum, tol)
		}
		q.Check(t, q.Name, Every(q.Stride, v))
	}
}
