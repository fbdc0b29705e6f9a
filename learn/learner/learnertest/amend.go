package learnertest

import (
	"bytes"
	"slices"
	"testing"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/learner"
)

// amends checks a learner that can let go of what it stores ([learner.Amending]). It removes samples in the middle of a
// task and, after the end of it, all but one, and changes labels. No byte of a removed one is then in the state, the
// others are where they were in the stream, and a learner that loaded the state goes on to the same bits. One that
// refuses to let go, because a part of it cannot follow, changes nothing.
func (c Case) amends(t *testing.T) {
	all := c.Batches(1, 2*c.Steps, 5)
	l, twin := c.New(t, 1), c.New(t, 1)
	half := c.Steps + 1 // within the second task
	c.Learn(t, l, all, 0, half)
	prepare(t, l)
	m := learner.MemoryOf(l)
	before := State(t, l)
	if err := l.(learner.Amending).Remove([]int{0}); err != nil {
		CheckSame(t, "it refused to let go", State(t, l), before)
		return
	}
	c.remove(t, l, nil)
	for _, image := range c.remove(t, l, slices.Compact([]int{0, m.Len() / 2, m.Len() - 1})) {
		if where := holds(State(t, l), image); where != "" {
			t.Errorf("section %s has the bytes of an image that was removed", where)
		}
	}
	if m.Len() > 0 {
		y := all[half-1].Y[0]
		if err := l.(learner.Amending).Relabel(0, y); err != nil || m.Label(0) != y {
			t.Errorf("relabelled: %v, label %d, want %d", err, m.Label(0), y)
		}
	}
	places, first := m.Origins(), m.Seen()
	if first != half*5 || slices.ContainsFunc(places, func(p int64) bool { return p < 0 || p >= int64(first) }) {
		t.Errorf("%d were seen of %d, with places %v", first, half*5, places)
	}
	load(t, twin, throughFile(t, State(t, l)))
	CheckSame(t, "loaded after samples were removed", State(t, twin), State(t, l))
	c.Learn(t, l, all, half, 2*c.Steps)
	c.Learn(t, twin, all, half, 2*c.Steps)
	CheckSame(t, "learned on after samples were removed", State(t, twin), State(t, l))
	if m.Len() == 0 || m.Len() > c.Capacity {
		t.Errorf("%d of %d samples are stored at the end", m.Len(), c.Capacity)
	}
	var most []int
	for slot := range m.Len() - 1 {
		most = append(most, slot)
	}
	c.remove(t, l, most)
	if m.Len() != 1 {
		t.Errorf("%d samples are stored, want 1", m.Len())
	}
	c.remove(t, l, []int{0})
	c.learnThird(t, l, all[:c.Steps], 0)
	Predict(t, l, c.images(l))
}

// remove removes samples, and returns what the memory had stored of them.
func (c Case) remove(t *testing.T, l ocl.Learner, slots []int) (images [][]byte) {
	t.Helper()
	m := learner.MemoryOf(l)
	all, before := c.stored(t, l), m.Len()
	for _, slot := range slots {
		images = append(images, all[slot])
	}
	if err := l.(learner.Amending).Remove(slots); err != nil {
		t.Fatal(err)
	}
	if m.Len() != before-len(slots) {
		t.Fatalf("%d of %d samples are stored after %d were removed", m.Len(), before, len(slots))
	}
	return images
}

// holds is the section of a state that has these bytes; "" is none.
func holds(state *checkpoint.Container, b []byte) string {
	for _, name := range state.Names() {
		if all, err := state.Decoder().Bytes(name); err == nil && bytes.Contains(all, b) {
			return name
		}
	}
	return ""
}

// weighs checks that a learner takes the weights of another one of its kind, from what [learner.Weighted] lists and
// from a whole state, and keeps what it stores.
func (c Case) weighs(t *testing.T) {
	all := c.Batches(1, c.Steps, 5)
	l, other := c.New(t, 1), c.New(t, 1)
	c.Learn(t, l, all, 0, c.Steps)
	c.Learn(t, other, all, 0, c.Steps-1)
	weights := State(t, other.(learner.Weighted).Weights())
	if learner.MemoryOf(other) != nil {
		for slot, image := range c.stored(t, other) {
			if where := holds(weights, image); where != "" {
				t.Errorf("section %s of the weights has the bytes of the image in slot %d", where, slot)
			}
		}
	}
	for name, from := range map[string]*checkpoint.Container{"weights": weights, "a whole state": State(t, other)} {
		loaded := c.New(t, 1)
		load(t, loaded, State(t, l))
		if err := loaded.(learner.Weighted).Weights().LoadState(from.Decoder()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		CheckSame(t, name+", loaded", State(t, loaded.(learner.Weighted).Weights()), weights)
		if m, was := learner.MemoryOf(loaded), learner.MemoryOf(l); m != nil {
			CheckSame(t, name+": the memory", State(t, m), State(t, was))
		}
		c.learnThird(t, loaded, all[:1], 0)
	}
}

// stored is what the memory of a learner stores of each sample.
func (c Case) stored(t *testing.T, l ocl.Learner) (images [][]byte) {
	t.Helper()
	m := learner.MemoryOf(l)
	all, err := State(t, m).Decoder().Bytes("pixels")
	if err != nil {
		t.Fatal(err)
	}
	if m.Len() == 0 {
		return nil
	}
	return slices.Collect(slices.Chunk(slices.Clone(all), len(all)/m.Len()))
}
