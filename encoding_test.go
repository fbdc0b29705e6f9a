package ocl_test

import (
	"math"
	"slices"
	"testing"

	"ocl"
	"ocl/learn/memory"
	"ocl/nn/tensor"
)

// TestFloat16: every number of half precision comes back as it was, others as the nearest one, and what is too large is
// told.
func TestFloat16(t *testing.T) {
	by := ocl.Float16{}
	for bits := range 1 << 16 {
		stored := []byte{byte(bits), byte(bits >> 8)}
		var v [1]float32
		by.Write(v[:], stored)
		if v[0] != v[0] {
			continue
		}
		again := make([]byte, 2)
		if finite := by.Put(again, v[:]); !slices.Equal(again, stored) || finite != !math.IsInf(float64(v[0]), 0) {
			t.Fatalf("%#04x is %v and becomes %x, finite %v", bits, v[0], again, finite)
		}
	}
	stored := make([]byte, by.Bytes(2))
	if !by.Put(stored, []float32{1 + 1.0/4096, 65519}) || by.Put(stored, []float32{1, 65520}) {
		t.Errorf("%x", stored)
	}
	var v [1]float32
	by.Put(stored, []float32{1 + 1.0/4096, 0})
	if by.Write(v[:], stored); v[0] != 1 {
		t.Errorf("%v instead of 1", v[0])
	}
}

// TestCodes: each value comes back with an error of half a step at most, the smallest and the largest exactly, and a
// sample of one value as it was. What is no number is told.
func TestCodes(t *testing.T) {
	by := ocl.Codes{}
	for _, values := range [][]float32{
		{0, 0.1, 0.25, 3.5, 1, 0, 2.999},
		{-7.25, 1e-3, 812.5, 4},
		{-3e38, 3e38, 0, 1e38},
		{1.5, 1.5, 1.5},
		{0, 0},
		{-0.125},
	} {
		stored := make([]byte, by.Bytes(len(values)))
		if len(stored) != len(values)+8 || !by.Put(stored, values) {
			t.Fatalf("%v: %x", values, stored)
		}
		got := make([]float32, len(values))
		by.Write(got, stored)
		low, high := slices.Min(values), slices.Max(values)
		half := (float64(high) - float64(low)) / 255 / 2
		for i, v := range values {
			bound := half*(1+1e-6) + math.Abs(float64(v))*1e-7
			if (v == low || v == high) && got[i] != v || !(math.Abs(float64(got[i])-float64(v)) <= bound) {
				t.Errorf("%v of %v comes back as %v", v, values, got[i])
			}
		}
		again := make([]byte, len(stored))
		if by.Put(again, got); !slices.Equal(again, stored) {
			t.Errorf("%v: stored twice it is %x and %x", values, stored, again)
		}
	}
	for _, v := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		if by.Put(make([]byte, 10), []float32{1, v}) {
			t.Errorf("%v is stored", v)
		}
	}
}

// TestBatchOfEmbeddings: rows, copies and a memory have the embeddings of a batch.
func TestBatchOfEmbeddings(t *testing.T) {
	by, shape := ocl.Float16{}, [3]int{3, 1, 1}
	values := []float32{1, 2, 3, -4, 5, -6}
	stored := make([]byte, by.Bytes(len(values)))
	by.Put(stored, values)
	b := ocl.NewBatch(shape, stored, []ocl.Label{0, 1}, by)
	if !slices.Equal(b.X.Data, values) {
		t.Errorf("%v", b.X.Data)
	}
	if part := b.Rows(1, 2); !slices.Equal(part.Pixels, stored[6:]) || !slices.Equal(part.Image(0), stored[6:]) {
		t.Errorf("row 1 has the bytes %x", part.Pixels)
	}
	m := memory.NewStore(2, shape, by)
	m.Put(b, []int{0, 1})
	x, y := tensor.New(2, 3, 1, 1), make([]ocl.Label, 2)
	m.Gather(x, y, []int{1, 0})
	if want := []float32{-4, 5, -6, 1, 2, 3}; !slices.Equal(x.Data, want) || m.Bytes() != 2*(6+4) {
		t.Errorf("%v, and %d bytes", x.Data, m.Bytes())
	}
	codes := ocl.Codes{} // whose samples have a head each
	stored = make([]byte, 2*codes.Bytes(3))
	for i := range 2 {
		codes.Put(stored[i*codes.Bytes(3):], values[3*i:3*i+3])
	}
	m = memory.NewStore(2, shape, codes)
	m.Put(ocl.NewBatch(shape, stored, []ocl.Label{0, 1}, codes), []int{0, 1})
	if m.Gather(x, y, []int{1, 0}); x.Data[1] != 5 || x.Data[2] != -6 || x.Data[3] != 1 || m.Bytes() != 2*(11+4) {
		t.Errorf("%v, and %d bytes", x.Data, m.Bytes())
	}
}
