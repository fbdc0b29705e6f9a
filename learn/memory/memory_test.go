package memory_test

import (
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/memory"
	"ocl/learn/memory/memorytest"
	"ocl/nn/tensor"
)

func TestReservoirContract(t *testing.T) { memorytest.Updater(t, memory.Reservoir{}) }

func TestRandomContract(t *testing.T) {
	for _, size := range []int{1, 2, 10} {
		memorytest.Retriever(t, memory.Random{Size: size}, size)
	}
}

// uniform fails the test where counts are not those of equally likely cells: χ² with a false alarm in 10⁶ (the seed is
// fixed, so it never alarms unless the code changes). scale corrects for cells that exclude each other.
func uniform(t *testing.T, what string, counts []float64, scale float64) {
	t.Helper()
	total := 0.0
	for _, c := range counts {
		total += c
	}
	want := total / float64(len(counts))
	chi := 0.0
	for _, c := range counts {
		chi += (c - want) * (c - want) / want
	}
	chi *= scale
	limit := distuv.ChiSquared{K: float64(len(counts) - 1)}.Quantile(1 - 1e-6)
	if !(chi <= limit) {
		t.Errorf("%s: χ² %.1f with %d cells, want at most %.1f; counts %v", what, chi, len(counts), limit, counts)
	}
}

// TestReservoirIsUniform: each of 60 samples is in a memory of 12 with probability 1/5, whatever its place in the
// stream and in its batch. Of N cells n are hit in a trial, so the variance is that of independent cells times
// (N−n)/(N−1).
func TestReservoirIsUniform(t *testing.T) {
	const n, capacity, trials = 60, 12, 4000
	counts := make([]float64, n)
	env := memorytest.Env(1)
	var slots []int
	for range trials {
		m := memorytest.NewStore(capacity)
		for first := 0; first < n; first += 10 {
			b := memorytest.Batch(first, 10)
			var err error
			if slots, err = (memory.Reservoir{}).Update(slots[:0], m, b, env); err != nil {
				t.Fatal(err)
			}
			m.Put(b, slots)
		}
		for _, sample := range memorytest.Samples(t, m) {
			counts[sample]++
		}
	}
	uniform(t, "reservoir", counts, float64(n-1)/float64(n-capacity))
}

// TestReservoirCountsWithinABatch: the sample j of a batch is drawn from {0, …, n+j}, not from {0, …, n} (the authors'
// code; docs/deviations.md: reservoir). With capacity 1 and one batch of 40, each sample stays with probability 1/40;
// one n for the whole batch would favour the last.
func TestReservoirCountsWithinABatch(t *testing.T) {
	const n, trials = 40, 20000
	counts := make([]float64, n)
	env := memorytest.Env(2)
	b := memorytest.Batch(0, n)
	for range trials {
		m := memorytest.NewStore(1)
		for i := range 2 { // the first sample fills the slot
			part := b.Rows(0, 1)
			if i == 1 {
				part = b.Rows(1, n)
			}
			slots, err := memory.Reservoir{}.Update(nil, m, part, env)
			if err != nil {
				t.Fatal(err)
			}
			m.Put(part, slots)
		}
		counts[memorytest.Samples(t, m)[0]]++
	}
	uniform(t, "reservoir of one", counts, 1)
}

// TestRandomIsUniform: each of 30 slots is retrieved equally often, 7 at a time.
func TestRandomIsUniform(t *testing.T) {
	const n, size, trials = 30, 7, 20000
	m := memorytest.NewStore(n)
	slots := make([]int, n)
	for i := range slots {
		slots[i] = i
	}
	m.Put(memorytest.Batch(0, n), slots)
	counts := make([]float64, n)
	env := memorytest.Env(1)
	for range trials {
		var err error
		if slots, err = (memory.Random{Size: size}).Retrieve(slots[:0], m, ocl.Batch{}, env); err != nil {
			t.Fatal(err)
		}
		for _, s := range slots {
			counts[s]++
		}
	}
	uniform(t, "random retrieval", counts, float64(n-1)/float64(n-size))
}

func TestStoreCountsAndClasses(t *testing.T) {
	m := memorytest.NewStore(10)
	m.Put(memorytest.Batch(0, 9), []int{0, 1, -1, 2, 3, 4, 5, 6, 0})
	// Slots hold 8 (label 1), 1, 3, 4, 5, 6, 7 (label 0).
	if got := memorytest.Samples(t, m); !slices.Equal(got, []int{8, 1, 3, 4, 5, 6, 7}) {
		t.Fatalf("samples %v", got)
	}
	if m.Len() != 7 || m.Seen() != 9 || m.Cap() != 10 || m.Bytes() != 7*(6+4) {
		t.Errorf("len %d, seen %d, cap %d, %d bytes", m.Len(), m.Seen(), m.Cap(), m.Bytes())
	}
	if counts := m.Counts(); counts[1] != 2 || counts[2] != 0 || counts[0] != 1 || len(counts) != 6 {
		t.Errorf("counts %v", counts)
	}
}

func TestPutRefusesSlots(t *testing.T) {
	for _, slots := range [][]int{{-2, 0}, {1, 0}, {0, 3}, {0}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("slots %v of an empty store: no panic", slots)
				}
			}()
			memorytest.NewStore(2).Put(memorytest.Batch(0, 2), slots)
		}()
	}
}

// made is a batch of images whose pixels count on from first.
func made(shape [3]int, first byte, y ...ocl.Label) ocl.Batch {
	pixels := make([]byte, len(y)*shape[0]*shape[1]*shape[2])
	for i := range pixels {
		pixels[i] = first + byte(i%251) // no two rows are alike
	}
	return ocl.NewBatch(shape, pixels, y, ocl.NewPixelValues(shape[0], nil, nil))
}

// image is the image in a slot, as a network sees it.
func image(m *memory.Store, slot int) []float32 {
	shape := m.Shape()
	x := tensor.New(1, shape[0], shape[1], shape[2])
	m.Gather(x, make([]ocl.Label, 1), []int{slot})
	return x.Data
}

// TestStoreKeepsImages: what comes out is what went in, as the values of the memory show it.
func TestStoreKeepsImages(t *testing.T) {
	shape := [3]int{2, 16, 8}
	for name, values := range map[string]ocl.PixelValues{"fractions": nil,
		"normalised": ocl.NewPixelValues(2, []float64{0.4, 0.5}, []float64{0.27, 0.3})} {
		m, b := memory.NewStore(3, shape, values), made(shape, 3, 5, 6, 7)
		if values != nil {
			b = ocl.NewBatch(shape, b.Pixels, b.Y, values)
		}
		m.Put(b, []int{0, 1, 0})
		b2 := b.Clone()
		for i := range b.Pixels {
			b.Pixels[i], b.X.Data[i] = 9, 9
		}
		for slot, row := range []int{2, 1} {
			if !slices.Equal(image(m, slot), b2.X.Row(row)) || m.Label(slot) != b2.Y[row] {
				t.Errorf("%s: slot %d holds another image than that of row %d", name, slot, row)
			}
		}
	}
}

// TestStoreState: a saved state stays as it is while images are replaced; a store that has loaded it goes on growing;
// and stores of another capacity or shape refuse it.
func TestStoreState(t *testing.T) {
	shape := [3]int{3, 16, 8}
	const capacity = 70 // more than a block
	m := memory.NewStore(capacity, shape, nil)
	b := made(shape, 0, 4, 1, 0, 2)
	m.Put(b, []int{0, 1, -1, 2})
	saved, want := save(t, m), save(t, m)
	m.Put(made(shape, 99, 1, 1, 1), []int{0, 1, 2})
	back := memory.NewStore(capacity, shape, nil)
	back.Put(b, []int{0, 1, 2, 3})
	if err := back.LoadState(saved.Decoder()); err != nil || !saved.Equal(want) || !save(t, back).Equal(want) ||
		back.Len() != 3 || back.Seen() != 4 {
		t.Errorf("the loaded store is another one than the saved (%v)", err)
	}
	for back.Len() < capacity {
		back.Put(b, []int{back.Len(), 0, -1, -1})
	}
	if !slices.Equal(image(back, capacity-1), b.X.Row(0)) || !slices.Equal(image(back, 2), b.X.Row(3)) ||
		back.Label(2) != 2 {
		t.Error("after loading, slots are mixed up")
	}
	for _, other := range []*memory.Store{memory.NewStore(6, shape, nil),
		memory.NewStore(capacity, [3]int{3, 8, 8}, nil)} {
		if err := other.LoadState(want.Decoder()); err == nil {
			t.Errorf("loaded into capacity %d and shape %v", other.Cap(), other.Shape())
		}
	}
}

// TestStoreKeepsOrigins: they are counted over all samples that were offered, and a loaded store goes on counting.
func TestStoreKeepsOrigins(t *testing.T) {
	m := memorytest.NewStore(4)
	check := func(m *memory.Store, want ...int64) {
		t.Helper()
		if got := m.Origins(); !slices.Equal(got, want) {
			t.Errorf("origins %v, want %v", got, want)
		}
	}
	check(m)
	m.Put(memorytest.Batch(0, 5), []int{0, -1, 1, 2, -1})
	check(m, 0, 2, 3)
	m.Put(memorytest.Batch(5, 4), []int{1, 3, -1, 1}) // the last row stays
	check(m, 0, 8, 3, 6)
	got := m.Origins()
	got[0] = 99
	check(m, 0, 8, 3, 6)

	back := memorytest.NewStore(4)
	back.Put(memorytest.Batch(0, 1), []int{0})
	if err := back.LoadState(save(t, m).Decoder()); err != nil {
		t.Fatal(err)
	}
	check(back, 0, 8, 3, 6)
	back.Put(memorytest.Batch(9, 2), []int{-1, 0})
	check(back, 10, 8, 3, 6)
}

// TestStoreRefusesOrigins: as many as samples, each of a sample that was seen.
func TestStoreRefusesOrigins(t *testing.T) {
	m := memorytest.NewStore(4)
	m.Put(memorytest.Batch(0, 3), []int{0, -1, 1})
	for _, c := range []struct {
		origins []int64
		want    string
	}{
		{[]int64{0}, "1 origins of 2 samples"}, {[]int64{0, 1, 2}, "3 origins of 2 samples"}, {nil, "0 origins of 2 samples"},
		{[]int64{0, 3}, "sample 3 of the stream, but only 3 were seen"}, {[]int64{-1, 2}, "sample -1 of the stream"},
	} {
		changed := checkpoint.NewContainer()
		for _, name := range save(t, m).Names() {
			if b, _ := save(t, m).Decoder().Bytes(name); name != memory.OriginsSection {
				changed.Encoder().Bytes(name, b)
			}
		}
		if err := (checkpoint.Parts{checkpoint.List(memory.OriginsSection,
			&c.origins)}).SaveState(changed.Encoder()); err != nil {
			t.Fatal(err)
		}
		if err := memorytest.NewStore(4).LoadState(changed.Decoder()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("origins %v: error %v, want %q", c.origins, err, c.want)
		}
	}
}

func save(t *testing.T, m *memory.Store) *checkpoint.Container {
	t.Helper()
	c := checkpoint.NewContainer()
	if err := m.SaveState(c.Encoder()); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestClear: an emptied memory takes new samples, and counts what it has seen.
func TestClear(t *testing.T) {
	m := memorytest.NewStore(3)
	m.Put(memorytest.Batch(0, 2), []int{0, 1})
	m.Clear()
	if m.Len() != 0 || m.Bytes() != 0 || m.Seen() != 2 || len(m.Counts()) != 0 {
		t.Errorf("%d samples in %d bytes, %d seen", m.Len(), m.Bytes(), m.Seen())
	}
	m.Put(memorytest.Batch(2, 3), []int{0, 1, 2})
	if places := m.Origins(); !slices.Equal(places, []int64{2, 3, 4}) ||
		!slices.Equal(memorytest.Samples(t, m), []int{2, 3, 4}) {
		t.Errorf("origins %v", places)
	}
}
