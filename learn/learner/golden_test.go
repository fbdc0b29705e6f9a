package learner

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"testing"

	"ocl"
)

// What tests against PyTorch share, those of package learner_test too. The scripts in testdata draw the same numbers.

// GoldenValues are values of the reference and how far a float32 run may be from them.
type GoldenValues struct {
	Tol    float64
	Values []float64
}

func (g GoldenValues) Check(t *testing.T, what string, got []float64) {
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

// ReadGolden reads a file of testdata into values, each of which takes the fields that it has.
func ReadGolden(t *testing.T, name string, values ...any) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	for _, v := range values {
		err = errors.Join(err, json.Unmarshal(b, v))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Every stride-th of the values.
func Every(stride int, v []float32) []float64 {
	var out []float64
	for i := 0; i < len(v); i += stride {
		out = append(out, float64(v[i]))
	}
	return out
}

// Hash is splitmix64's output for number i of a stream, U01 the same in [0,1).
func Hash(stream, i int) uint64 {
	z := uint64(stream)<<32 | uint64(i)
	z += 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

func U01(stream, i int) float64 { return float64(Hash(stream, i)>>40) / (1 << 24) }

// CheckPredictions compares where the reference is sure.
func CheckPredictions(t *testing.T, what string, got []ocl.Label, want []int) {
	t.Helper()
	for i, y := range want {
		if y >= 0 && got[i] != ocl.Label(y) {
			t.Errorf("%s: image %d: class %d, want %d", what, i, got[i], y)
		}
	}
}
