package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"ocl/checkpoint"
	"ocl/learn/learner/learnertest"
	"ocl/learn/memory"
	"ocl/learn/memory/memorytest"
	"ocl/nn/tensor"
)

// carrying is a memory of 4 slots, with numbers as carry says.
func carrying(carry func(*memory.Store)) *memory.Store {
	m := memorytest.NewStore(4)
	carry(m)
	return m
}

// outputs carries those of so many classes, fixed so many numbers.
func outputs(k int) func(*memory.Store) { return func(m *memory.Store) { m.CarryOutputs(k) } }
func fixed(n int) func(*memory.Store)   { return func(m *memory.Store) { m.Carry(n) } }

// carried are the numbers of all slots, and how many of each slot were given.
func carried(m *memory.Store) (numbers []float32, valid []int) {
	var b memory.Buffer
	slots := make([]int, m.Len())
	for i := range slots {
		slots[i] = i
	}
	b.Gather(m, slots)
	return slices.Clone(b.Floats.Data), slices.Clone(b.Valid)
}

// TestFloatsStayWithTheirSamples, are replaced with them, and are copies.
func TestFloatsStayWithTheirSamples(t *testing.T) {
	m := carrying(outputs(3))
	rows := tensor.Of([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 4, 3)
	m.PutWith(memorytest.Batch(0, 4), []int{0, 1, -1, 0}, rows)
	clear(rows.Data)
	check := func(want []float32, wantValid ...int) {
		t.Helper()
		if got, valid := carried(m); !slices.Equal(got, want) || !slices.Equal(valid, wantValid) {
			t.Errorf("%v, of which %v are valid; want %v and %v", got, valid, want, wantValid)
		}
	}
	check([]float32{10, 11, 12, 4, 5, 6}, 3, 3)
	m.PutWith(memorytest.Batch(4, 2), []int{0, 2}, tensor.Of([]float32{1, 2, 3, 4}, 2, 2)) // of a network with two outputs
	check([]float32{1, 2, 0, 4, 5, 6, 3, 4, 0}, 2, 3, 2)
	if got, want := m.Bytes(), int64(3*(6+4+4*3+4)); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
	m.PutWith(memorytest.Batch(6, 0), nil, nil)
	m.Clear()
	check(nil)
	m.PutWith(memorytest.Batch(6, 1), []int{0}, tensor.Of([]float32{8}, 1, 1))
	check([]float32{8, 0, 0}, 1)
	if err := m.LoadState(save(t, m).Decoder()); err != nil { // the emptied slots are not saved
		t.Error(err)
	}
	check([]float32{8, 0, 0}, 1)
	if m := carrying(fixed(5)); m.Floats() != 5 || memorytest.NewStore(4).Floats() != 0 {
		t.Errorf("%d and %d numbers a slot", m.Floats(), memorytest.NewStore(4).Floats())
	}
}

// TestFloatsPanic: what does not fit is a bug.
func TestFloatsPanic(t *testing.T) {
	one := memorytest.Batch(0, 1)
	for name, c := range map[string]struct {
		do   func()
		want string
	}{
		"none given": {func() { carrying(fixed(2)).Put(one, []int{0}) }, "without the 2 numbers"},
		"none kept": {func() { memorytest.NewStore(4).PutWith(one, []int{0}, tensor.New(1, 2)) },
			"[1 2] for 1 samples and slots with 0"},
		"too few": {func() { carrying(fixed(2)).PutWith(one, []int{0}, tensor.New(1, 1)) },
			"[1 1] for 1 samples and slots with 2"},
		"too many":   {func() { carrying(outputs(2)).PutWith(one, []int{0}, tensor.New(1, 3)) }, "[1 3] for 1 samples"},
		"other rows": {func() { carrying(outputs(2)).PutWith(one, []int{0}, tensor.New(2, 2)) }, "[2 2] for 1 samples"},
		"late": {func() {
			m := memorytest.NewStore(4)
			m.Put(one, []int{0})
			m.Carry(1)
		}, "before the first sample"},
		"nothing": {func() { memorytest.NewStore(4).Carry(0) }, "at least 1"},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, c.want) {
					t.Errorf("%s: panics with %q, want %q", name, got, c.want)
				}
			}()
			c.do()
		}()
	}
}

// stateOf is a state of a memory with three samples.
func stateOf(t testing.TB, carry func(*memory.Store)) *checkpoint.Container {
	m := carrying(carry)
	var rows *tensor.Tensor
	if f := m.Floats(); f > 0 {
		rows = tensor.New(3, f)
		for i := range rows.Data {
			rows.Data[i] = float32(i + 1)
		}
	}
	m.PutWith(memorytest.Batch(0, 3), []int{0, 1, 2}, rows)
	c := checkpoint.NewContainer()
	if err := m.SaveState(c.Encoder()); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestFloatsAreSaved: what is loaded is saved as the same. Outputs grow by classes; everything else that differs is
// refused. Without numbers there is no further section.
func TestFloatsAreSaved(t *testing.T) {
	none := func(*memory.Store) {}
	for _, name := range stateOf(t, none).Names() {
		if strings.Contains(name, "floats") {
			t.Errorf("a memory without numbers has the section %s", name)
		}
	}
	for name, c := range map[string]struct {
		saved, by func(*memory.Store)
		want      string // "" is that it is loaded
	}{
		"the same":         {fixed(2), fixed(2), ""},
		"the same outputs": {outputs(2), outputs(2), ""},
		"more outputs":     {outputs(2), outputs(5), ""},
		"fewer outputs":    {outputs(5), outputs(2), "carries 5 numbers with each sample, but this memory carries 2"},
		"more":             {fixed(2), fixed(5), "carries 2 numbers with each sample, but this memory carries 5"},
		"another kind":     {fixed(2), outputs(5), "carries 2 numbers"},
		"none saved":       {none, fixed(2), "carries 0 numbers with each sample, but this memory carries 2"},
		"none carried":     {fixed(2), none, "carries 2 numbers with each sample, but this memory carries 0"},
	} {
		saved, m := stateOf(t, c.saved), carrying(c.by)
		if f := m.Floats(); f > 0 { // what is loaded replaces it
			m.PutWith(memorytest.Batch(0, 1), []int{0}, tensor.Of(slices.Repeat([]float32{9}, f), 1, f))
		}
		err := m.LoadState(saved.Decoder())
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want %q", name, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		was := carrying(c.saved)
		if err := was.LoadState(saved.Decoder()); err != nil || !save(t, was).Equal(saved) {
			t.Errorf("%s: saved as another state (%v)", name, err)
		}
		numbers, valid := carried(was)
		got, gotValid := carried(m)
		if !slices.Equal(gotValid, valid) {
			t.Errorf("%s: %v are valid, want %v", name, gotValid, valid)
		}
		for slot := range 3 {
			row := got[slot*m.Floats():][:m.Floats()]
			if want := numbers[slot*was.Floats():][:was.Floats()]; !slices.Equal(row[:was.Floats()], want) ||
				slices.ContainsFunc(row[was.Floats():], func(v float32) bool { return v != 0 }) {
				t.Errorf("%s: slot %d carries %v, want %v and zeros", name, slot, row, want)
			}
		}
	}
}

// FuzzFloats: a changed state is refused with a message that can be read, or is loaded and saved as the same.
func FuzzFloats(f *testing.F) {
	states := []*checkpoint.Container{stateOf(f, fixed(3)), stateOf(f, outputs(3)), stateOf(f, func(*memory.Store) {})}
	for _, b := range []string{"\x00", "\x01\x05\x08\x03\x01", "\x00\x05\x07\x03\x0e", "\x01\x06\x09\x04\x00",
		"\x02\x01\x00"} {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		kind := int(b[0]) % 3
		state := learnertest.Changed(states[kind], b[1:])
		m := carrying([]func(*memory.Store){fixed(3), outputs(3), func(*memory.Store) {}}[kind])
		if err := m.LoadState(state.Decoder()); err != nil {
			if strings.ContainsFunc(err.Error(), unicode.IsControl) {
				t.Errorf("a message with a control character: %q", err)
			}
			return
		}
		carried(m)
		if kind == 1 { // as it would be with fewer classes
			if size, err := state.Decoder().Bytes("floats/size"); err == nil && size[0] != 3 {
				return
			}
		}
		again := save(t, m)
		for _, name := range again.Names() {
			got, _ := again.Decoder().Bytes(name)
			if want, err := state.Decoder().Bytes(name); err != nil || !slices.Equal(got, want) {
				t.Errorf("section %s is loaded and saved as something else", name)
			}
		}
	})
}
