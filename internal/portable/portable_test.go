package portable

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// draw makes numbers of all kinds: of a range, small ones, any bits, and edges.
type draw struct {
	src   *rand.Rand
	edges []float64
}

func newDraw(seed uint64) *draw {
	edges := []float64{0, math.Copysign(0, -1), 1, -1, 2, 0.5, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64,
		0x1p-1022, -math.MaxFloat64, mostExp, math.Nextafter(mostExp, 800), -708.4, -745.1, -745.2, -746, -800, -801,
		math.Sqrt2, math.Sqrt2 / 2, math.Sqrt2 - 1, math.Sqrt2/2 - 1, 0x1p-54, 0x1p-29, 0x1p53, 0x1p29, math.Pi / 4, math.Pi,
		math.Ln2 / 2, 0x1p-20, 1 + 0x1p-21, 3, 7, 1e9}
	for _, v := range edges[2:] {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			edges = append(edges, math.Nextafter(v, 1e308), math.Nextafter(v, -1e308), -v)
		}
	}
	return &draw{rand.New(rand.NewPCG(seed, 0)), edges}
}

func (d *draw) next(i int) float64 {
	if i < len(d.edges) {
		return d.edges[i]
	}
	switch i % 4 {
	case 0:
		return float64(d.src.Float64()*1500) - 750
	case 1:
		return math.Ldexp(d.src.Float64()-0.5, -d.src.IntN(60))
	case 2:
		return float64(d.src.Float64()*20) - 10
	default:
		return math.Float64frombits(d.src.Uint64())
	}
}

// functions are those of this package in Go, beside those of package math, and the hash of their values.
var functions = []struct {
	name     string
	own, std func(x, y float64) float64
	hash     string
}{
	{"exp", one(exp), one(math.Exp), "ec614d3ff2b04de1"},
	{"Exp", one(Exp), one(math.Exp), "ec614d3ff2b04de1"},
	{"log", one(log), one(math.Log), "b283063b0ea58980"},
	{"Log", one(Log), one(math.Log), "b283063b0ea58980"},
	{"Log1p", one(Log1p), one(math.Log1p), "b9522818687db0cd"},
	{"Cos", one(Cos), one(math.Cos), "70701936f79c1e80"},
	{"sine of Sincos", one(sine(Sincos)), one(sine(math.Sincos)), "f398df3d5d7e8184"},
	{"Pow", Pow, math.Pow, "fb6db31df96ae193"},
	{"Pow to whole numbers", whole(Pow), whole(math.Pow), "230fada90d55afef"},
}

func one(f func(float64) float64) func(x, y float64) float64 {
	return func(x, _ float64) float64 { return f(x) }
}

func whole(f func(x, y float64) float64) func(x, y float64) float64 {
	return func(x, y float64) float64 { return f(1-math.Abs(math.Mod(x, 1)/8), math.Round(math.Mod(y, 10_000))) }
}

func sine(f func(float64) (sin, cos float64)) func(float64) float64 {
	return func(x float64) float64 {
		sin, _ := f(x)
		return sin
	}
}

func bitsOf(v float64) uint64 {
	if math.IsNaN(v) {
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(v)
}

// TestBits: the values are those of package math on amd64.
func TestBits(t *testing.T) {
	for _, f := range functions {
		h, d, other := sha256.New(), newDraw(1), newDraw(2)
		for i := range 200_000 {
			x, y := d.next(i), other.next(i/3)
			if f.name == "Cos" || f.name == "sine of Sincos" {
				x = math.Mod(x, 0x1p29) // beyond which they are not the same everywhere
			}
			v := f.own(x, y)
			h.Write(binary.LittleEndian.AppendUint64(nil, bitsOf(v)))
			if want := f.std(x, y); asOnAMD64 && bitsOf(v) != bitsOf(want) {
				t.Fatalf("%s(%v, %v) is %v, and package math has %v", f.name, x, y, v, want)
			}
		}
		if got := fmt.Sprintf("%x", h.Sum(nil)[:8]); got != f.hash {
			t.Errorf("%s: the hash of the values is %s, want %s", f.name, got, f.hash)
		}
	}
}
