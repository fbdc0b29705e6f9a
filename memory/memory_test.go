package memory_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"ocl"
	"ocl/checkpoint"
	"ocl/memory"
	"ocl/memory/memorytest"
	"ocl/tensor"
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
		m := memory.NewStore(capacity, memorytest.Shape)
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
		m := memory.NewStore(1, memorytest.Shape)
		for i := range 2 { // the first sample fills the slot
			part := ocl.Batch{X: b.X.Rows(0, 1), Y: b.Y[:1]}
			if i == 1 {
				part = ocl.Batch{X: b.X.Rows(1, n), Y: b.Y[1:]}
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
	m := memory.NewStore(n, memorytest.Shape)
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
	m := memory.NewStore(10, memorytest.Shape)
	m.Put(memorytest.Batch(0, 9), []int{0, 1, -1, 2, 3, 4, 5, 6, 0})
	// Slots hold 8 (label 1), 1, 3, 4, 5, 6, 7 (label 0).
	if got := memorytest.Samples(t, m); !slices.Equal(got, []int{8, 1, 3, 4, 5, 6, 7}) {
		t.Fatalf("samples %v", got)
	}
	if m.Len() != 7 || m.Seen() != 9 || m.Cap() != 10 || m.Bytes() != 7*4+6+6*6*4 { // sample 1 is of whole pixels
		t.Errorf("len %d, seen %d, cap %d, %d bytes", m.Len(), m.Seen(), m.Cap(), m.Bytes())
	}
	counts, by := m.Counts(), m.ByClass()
	if counts[1] != 2 || counts[2] != 0 || counts[0] != 1 || len(counts) != 6 {
		t.Errorf("counts %v", counts)
	}
	if !slices.Equal(by[1], []int{0, 1}) || !slices.Equal(by[0], []int{6}) || len(by) != 6 {
		t.Errorf("by class %v", by)
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
			memory.NewStore(2, memorytest.Shape).Put(memorytest.Batch(0, 2), slots)
		}()
	}
}

// TestStoreKeepsBits puts images of 8-bit pixels, of other values and of both into the same slots, with and without
// normalised pixels: what comes out has the bits of what went in, and takes a byte a value where it can.
func TestStoreKeepsBits(t *testing.T) {
	normalised := make([][256]float32, 2)
	for c := range normalised {
		for k := range normalised[c] {
			normalised[c][k] = float32((float64(k)/255 - 0.4 - 0.1*float64(c)) / 0.27)
		}
	}
	for name, table := range map[string][][256]float32{"fractions": nil, "normalised": normalised} {
		shape := [3]int{2, 16, 8}
		m := memory.NewStore(3, shape)
		value := func(c, k int) float32 { return float32(k) / 255 }
		if table != nil {
			m.SetPixels(table)
			value = func(c, k int) float32 { return table[c][k] }
		}
		pixels, others := tensor.New(1, 2, 16, 8), tensor.New(1, 2, 16, 8)
		for i := range pixels.Data {
			pixels.Data[i] = value(i/128, (i*7)%256)
		}
		copy(others.Data, pixels.Data)
		others.Data[255] = math.Nextafter32(others.Data[255], 9)
		zero := tensor.New(1, 2, 16, 8)
		for i := range zero.Data {
			zero.Data[i] = float32(math.Copysign(0, -1))
		}
		for i, c := range []struct {
			x     *tensor.Tensor
			slot  int
			bytes int64
		}{{pixels, 0, 260}, {others, 1, 260 + 1028}, {others, 0, 2 * 1028}, {zero, 2, 3 * 1028}, {pixels, 1, 260 + 2*1028}, {pixels, 0, 2*260 + 1028}, {pixels, 2, 3 * 260}} {
			m.Put(ocl.Batch{X: c.x, Y: []ocl.Label{5}}, []int{c.slot})
			x, y := tensor.New(1, 2, 16, 8), make([]ocl.Label, 1)
			m.Gather(x, y, []int{c.slot})
			if !sameBits(x.Data, c.x.Data) || y[0] != 5 {
				t.Errorf("%s: put %d: other bits", name, i)
			}
			if m.Bytes() != c.bytes {
				t.Errorf("%s: put %d: %d bytes, want %d", name, i, m.Bytes(), c.bytes)
			}
		}
	}
}

// TestStoreState saves and loads bytes, floats, and values that a careless rule would take for bytes.
func TestStoreState(t *testing.T) {
	for name, c := range map[string]struct {
		value func(i int) float32
		bytes bool
	}{
		"8-bit images": {func(i int) float32 { return float32(i%251) / 255 }, true}, // 251: no two rows alike
		"floats":       {func(i int) float32 { return float32(i) / 999 }, false},
		"a neighbour":  {func(i int) float32 { return math.Nextafter32(float32(i%256)/255, 2) }, false},
		"beyond 1":     {func(i int) float32 { return float32(i) / 255 }, false},
		"negative":     {func(i int) float32 { return float32(-i%256) / 255 }, false},
		"not a number": {func(int) float32 { return float32(math.NaN()) }, false},
	} {
		shape := [3]int{3, 16, 8}
		m := memory.NewStore(5, shape)
		b := ocl.Batch{X: tensor.New(4, 3, 16, 8), Y: []ocl.Label{4, 1, 0, 2}}
		for i := range b.X.Data {
			b.X.Data[i] = c.value(i)
		}
		m.Put(b, []int{0, 1, -1, 2})
		saved := save(t, m)
		if got := slices.Contains(saved.Names(), "pixels"); got != c.bytes {
			t.Errorf("%s: saved as bytes: %v, want %v", name, got, c.bytes)
		}
		back := memory.NewStore(5, shape)
		back.Put(b, []int{0, 1, 2, 3})
		if err := back.LoadState(saved.Decoder()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if back.Len() != 3 || back.Seen() != 4 || !save(t, back).Equal(saved) {
			t.Errorf("%s: the loaded store differs", name)
		}
		back.Put(b, []int{3, 4, 0, -1}) // it goes on growing
		x, y := tensor.New(2, 3, 16, 8), make([]ocl.Label, 2)
		back.Gather(x, y, []int{0, 4})
		if !sameBits(x.Row(0), b.X.Row(2)) || !sameBits(x.Row(1), b.X.Row(1)) || y[0] != 0 || y[1] != 1 {
			t.Errorf("%s: after loading, slots are mixed up", name)
		}
		again := memory.NewStore(5, shape)
		if err := again.LoadState(saved.Decoder()); err != nil || !save(t, again).Equal(save(t, m)) {
			t.Errorf("%s: what was loaded and then written to is no longer what was saved (%v)", name, err)
		}
		for _, other := range []*memory.Store{memory.NewStore(6, shape), memory.NewStore(5, [3]int{3, 8, 8})} {
			if err := other.LoadState(saved.Decoder()); err == nil {
				t.Errorf("%s: loaded into capacity %d and shape %v", name, other.Cap(), other.Shape())
			}
		}
	}
}

// TestStoreKeepsOrigins: they are counted over all samples that were offered, and a loaded store goes on counting.
func TestStoreKeepsOrigins(t *testing.T) {
	m := memory.NewStore(4, memorytest.Shape)
	check := func(m *memory.Store, want ...int64) {
		t.Helper()
		if got, known := m.Origins(); !known || !slices.Equal(got, want) {
			t.Errorf("origins %v (known %v), want %v", got, known, want)
		}
	}
	check(m)
	m.Put(memorytest.Batch(0, 5), []int{0, -1, 1, 2, -1})
	check(m, 0, 2, 3)
	m.Put(memorytest.Batch(5, 4), []int{1, 3, -1, 1}) // the last row stays
	check(m, 0, 8, 3, 6)
	got, _ := m.Origins()
	got[0] = 99
	check(m, 0, 8, 3, 6)

	back := memory.NewStore(4, memorytest.Shape)
	back.Put(memorytest.Batch(0, 1), []int{0})
	if err := back.LoadState(save(t, m).Decoder()); err != nil {
		t.Fatal(err)
	}
	check(back, 0, 8, 3, 6)
	back.Put(memorytest.Batch(9, 2), []int{-1, 0})
	check(back, 10, 8, 3, 6)
}

// TestStoreWithoutOrigins loads the state of a store from before there were origins. They are unknown from then on,
// also for new samples, and the state is saved again as it was.
func TestStoreWithoutOrigins(t *testing.T) {
	m := memory.NewStore(4, memorytest.Shape)
	m.Put(memorytest.Batch(0, 3), []int{0, 1, 2})
	older := checkpoint.NewContainer()
	for _, name := range save(t, m).Names() {
		if b, _ := save(t, m).Decoder().Bytes(name); name != memory.OriginsSection {
			older.Encoder().Bytes(name, b)
		}
	}
	for name, back := range map[string]*memory.Store{"fresh": memory.NewStore(4, memorytest.Shape), "used": m} {
		if err := back.LoadState(older.Decoder()); err != nil {
			t.Fatal(err)
		}
		if !save(t, back).Equal(older) {
			t.Errorf("%s: it is saved as something else", name)
		}
		back.Put(memorytest.Batch(3, 2), []int{3, 0})
		if origins, known := back.Origins(); known || len(origins) > 0 {
			t.Errorf("%s: origins %v are known: %v", name, origins, known)
		}
		if got := memorytest.Samples(t, back); !slices.Equal(got, []int{4, 1, 2, 3}) {
			t.Errorf("%s: samples %v", name, got)
		}
	}
}

// TestStoreRefusesOrigins: as many as samples, each of a sample that was seen.
func TestStoreRefusesOrigins(t *testing.T) {
	m := memory.NewStore(4, memorytest.Shape)
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
		changed.Encoder().Int64s(memory.OriginsSection, c.origins...)
		if err := memory.NewStore(4, memorytest.Shape).LoadState(changed.Decoder()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("origins %v: error %v, want %q", c.origins, err, c.want)
		}
	}
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

func save(t *testing.T, m *memory.Store) *checkpoint.Container {
	t.Helper()
	c := checkpoint.NewContainer()
	if err := m.SaveState(c.Encoder()); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestClear: an emptied memory takes new samples, counts what it has seen, and leaves a state that was saved before as it was.
func TestClear(t *testing.T) {
	m := memory.NewStore(3, [3]int{1, 1, 2})
	put := func(v float32, y ocl.Label) {
		m.Put(ocl.Batch{X: &tensor.Tensor{Shape: []int{1, 1, 1, 2}, Data: []float32{v, 0.2}}, Y: []ocl.Label{y}}, []int{m.Len()})
	}
	put(0.2, 4) // 51/255 is a pixel, and so is 0.2
	put(0.123, 5)
	saved := checkpoint.NewContainer()
	if err := m.SaveState(saved.Encoder()); err != nil {
		t.Fatal(err)
	}
	m.Clear()
	if m.Len() != 0 || m.Bytes() != 0 || m.Seen() != 2 || len(m.Counts()) != 0 {
		t.Errorf("%d samples in %d bytes, %d seen", m.Len(), m.Bytes(), m.Seen())
	}
	for y := range ocl.Label(3) {
		put(0.6, y)
	}
	if places, known := m.Origins(); !known || !slices.Equal(places, []int64{2, 3, 4}) || m.Bytes() != 3*(2+4) {
		t.Errorf("origins %v (%v), %d bytes", places, known, m.Bytes())
	}
	old := memory.NewStore(3, [3]int{1, 1, 2})
	if err := old.LoadState(saved.Decoder()); err != nil {
		t.Fatal(err)
	}
	x, y := tensor.New(2, 1, 1, 2), make([]ocl.Label, 2)
	old.Gather(x, y, []int{0, 1})
	if !slices.Equal(x.Data, []float32{0.2, 0.2, 0.123, 0.2}) || !slices.Equal(y, []ocl.Label{4, 5}) {
		t.Errorf("saved before: %v of %v", x.Data, y)
	}
}
