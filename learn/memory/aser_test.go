package memory_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"ocl"
	"ocl/learn/memory"
	"ocl/learn/memory/memorytest"
	"ocl/nn/tensor"
	"ocl/rng"
)

func TestASERContract(t *testing.T) {
	for _, extremes := range []bool{false, true} {
		r := &memory.ASER{Shapley: memory.Shapley{K: 3, PerClass: 2}, Size: 6, Extremes: extremes}
		memorytest.Retriever(t, r, r.Size)
	}
	memorytest.Updater(t, &memory.Valued{Shapley: memory.Shapley{K: 3, PerClass: 2}})
}

// TestShapleyByDefinition compares the values with the mean, over all orders of six samples, of what each adds to the
// share of right ones among the K nearest.
func TestShapleyByDefinition(t *testing.T) {
	src := rng.New(1, "points")
	for range 20 {
		k := 1 + src.IntN(8) // more than there are, too
		features, labels, point := tensor.New(6, 2), make([]ocl.Label, 6), []float32{src.Float32(), src.Float32()}
		for i := range features.Data {
			features.Data[i] = src.Float32()
		}
		for i := range labels {
			labels[i] = ocl.Label(src.IntN(2))
		}
		share := func(set []int) float64 {
			near := slices.Clone(set)
			slices.SortFunc(near, func(a, b int) int {
				distance := func(i int) float64 {
					return math.Hypot(float64(features.Row(i)[0]-point[0]), float64(features.Row(i)[1]-point[1]))
				}
				return cmp.Compare(distance(a), distance(b))
			})
			right := 0.0
			for _, i := range near[:min(k, len(near))] {
				if labels[i] == 1 {
					right++
				}
			}
			return right / float64(k)
		}
		want := make([]float64, 6)
		var order func(set, left []int)
		order = func(set, left []int) {
			for i, next := range left {
				grown := append(slices.Clone(set), next)
				rest := slices.Concat(left[:i], left[i+1:])
				orders := 1.0 // of the set so far and of those that come later
				for n := 2; n <= len(rest); n++ {
					orders *= float64(n)
				}
				want[next] += (share(grown) - share(set)) * orders / 720
				order(grown, rest)
			}
		}
		order(nil, []int{0, 1, 2, 3, 4, 5})
		got := memory.ShapleyOf(k, features, labels, point, 1)
		for i, v := range want {
			if !(math.Abs(got[i]-v) <= 1e-12) {
				t.Fatalf("K = %d: values %v, want %v", k, got, want)
			}
		}
	}
}

// stood has the features of a test: of sample n the n-th of a list.
type stood struct {
	memorytest.Probe
	at []float32
}

// Features implements [memory.Probe].
func (s stood) Features(dst *tensor.Tensor, b ocl.Batch) error {
	dst.Resize(b.Len(), 1)
	for i := range b.Len() {
		dst.Data[i] = s.at[memorytest.Number(b.X.Row(i))]
	}
	return nil
}

// TestASERByHand: all of a full memory is judged, by the incoming batch alone, which lies at 10.1. Among the nearest
// first, right are the second, the fourth and the last, so for K = 1 the values are −37/60, 23/60, −7/60, 13/60, −1/30
// and 1/6. The sample of the least is retrieved.
func TestASERByHand(t *testing.T) {
	m := memorytest.NewStore(6)
	m.Put(memorytest.Labelled(0, []ocl.Label{0, 0, 0, 1, 1, 1}), []int{0, 1, 2, 3, 4, 5})
	probe := stood{at: []float32{0, 1, 9.9, 20, 21, 10.5, 10.1, 10.1}}
	values := memory.ShapleyOf(1, tensor.Of(probe.at[:6], 6, 1), []ocl.Label{0, 0, 0, 1, 1, 1}, []float32{10.1}, 1)
	for slot, want := range []float64{-1.0 / 30, -7.0 / 60, -37.0 / 60, 13.0 / 60, 1.0 / 6, 23.0 / 60} {
		if !(math.Abs(values[slot]-want) <= 1e-12) {
			t.Fatalf("values %v; that of slot %d should be %v", values, slot, want)
		}
	}
	for _, extremes := range []bool{false, true} {
		r := &memory.ASER{Shapley: memory.Shapley{K: 1, PerClass: 3}, Size: 3, Extremes: extremes}
		env := memorytest.Env(1)
		env.Probe = probe
		got, err := r.Retrieve(nil, m, memorytest.Labelled(6, []ocl.Label{1, 1}), env)
		if err != nil || !slices.Equal(got, []int{2, 1, 0}) {
			t.Errorf("extremes %v: slots %v (%v), want 2, 1 and 0", extremes, got, err)
		}
	}
}

// TestValuedByHand: incoming samples that lie among stored ones of their class are stored more often than one that lies
// among the other class, in place of stored ones that do, which go more often than any others.
func TestValuedByHand(t *testing.T) {
	labels := []ocl.Label{0, 0, 0, 0, 1, 1, 1, 1}
	// slots 3 and 7 lie in the middle of the other class
	probe := stood{at: []float32{0, 0.1, 0.2, 10.15, 10, 10.1, 10.2, 0.15, 0.12, 10.12, 10.13}}
	var gone [8]int
	var stored [3]int
	for seed := range uint64(300) {
		m := memorytest.NewStore(8)
		m.Put(memorytest.Labelled(0, labels), []int{0, 1, 2, 3, 4, 5, 6, 7})
		env := memorytest.Env(seed)
		env.Probe = probe
		u := &memory.Valued{Shapley: memory.Shapley{K: 1, PerClass: 2}}
		slots, err := u.Update(nil, m, memorytest.Labelled(8, []ocl.Label{0, 1, 0}), env) // the last is a 0 among 1
		if err != nil || len(slots) != 3 {
			t.Fatal(slots, err)
		}
		seen := map[int]bool{}
		for row, slot := range slots {
			if slot < 0 {
				continue
			}
			if seen[slot] {
				t.Fatalf("seed %d: slots %v: one twice", seed, slots)
			}
			seen[slot] = true
			stored[row]++
			gone[slot]++
		}
	}
	for slot, n := range gone {
		if slot != 3 && slot != 7 && n >= min(gone[3], gone[7]) {
			t.Errorf("slots gave way so often: %v; want 3 and 7 most", gone)
		}
	}
	if stored[2] >= min(stored[0], stored[1]) {
		t.Errorf("rows were stored so often: %v; want the last the least", stored)
	}
}

// TestValuedFills: while there is room every sample is stored, also where a batch is larger than the room.
func TestValuedFills(t *testing.T) {
	u, m, env := &memory.Valued{Shapley: memory.Shapley{K: 1, PerClass: 1}}, memorytest.NewStore(3), memorytest.Env(1)
	slots, err := u.Update(nil, m, memorytest.Batch(0, 5), env)
	if err != nil || !slices.Equal(slots, []int{0, 1, 2, -1, -1}) {
		t.Errorf("slots %v (%v)", slots, err)
	}
}
