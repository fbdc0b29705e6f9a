package memory_test

import (
	"maps"
	"math"
	"slices"
	"testing"

	"ocl"
	"ocl/learn/memory"
	"ocl/learn/memory/memorytest"
	"ocl/rng"
)

func TestGreedyContract(t *testing.T) { memorytest.Updater(t, &memory.Greedy{}) }

// offer passes samples with the given labels through a Greedy, b at a time; pixels are the samples' numbers.
func offer(t *testing.T, g *memory.Greedy, m *memory.Store, env memory.Env, labels []ocl.Label, b int) {
	t.Helper()
	for from := 0; from < len(labels); from += b {
		batch := memorytest.Labelled(from, labels[from:min(from+b, len(labels))])
		slots, err := g.Update(nil, m, batch, env)
		if err != nil {
			t.Fatal(err)
		}
		m.Put(batch, slots)
	}
}

// TestGreedyIsBalanced: at each task's end, once every class seen has offered at least ⌈M/|Y|⌉ samples, class counts
// differ by at most one, and the memory is full. Whatever the memory, the sizes of tasks and of batches.
func TestGreedyIsBalanced(t *testing.T) {
	for _, capacity := range []int{1, 3, 7, 20, 50, 64} {
		for _, batch := range []int{1, 10} {
			g, m, env := &memory.Greedy{}, memorytest.NewStore(capacity), memorytest.Env(uint64(capacity))
			src := rng.New(uint64(capacity), "labels")
			for task := range 5 {
				classes := 3 * (task + 1)
				var labels []ocl.Label
				for y := 3 * task; y < classes; y++ {
					for range (capacity + classes - 1) / classes { // ⌈M/|Y|⌉ of a new class are enough
						labels = append(labels, ocl.Label(y))
					}
				}
				src.Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
				offer(t, g, m, env, labels, batch)
				counts := m.Counts()
				least, most := math.MaxInt, 0
				for y := range classes {
					least, most = min(least, counts[ocl.Label(y)]), max(most, counts[ocl.Label(y)])
				}
				if most-least > 1 || m.Len() != capacity {
					t.Errorf("capacity %d, batches of %d, task %d: %d samples of classes %v", capacity, batch, task+1, m.Len(), counts)
				}
			}
		}
	}
}

// TestGreedyByHand: a class below its share is stored, one at its share is not, and the share k/|Y| is no whole number.
func TestGreedyByHand(t *testing.T) {
	g, m, env := &memory.Greedy{}, memorytest.NewStore(4), memorytest.Env(1)
	for _, step := range []struct {
		y    ocl.Label
		want map[ocl.Label]int
	}{
		{0, map[ocl.Label]int{0: 1}},
		{0, map[ocl.Label]int{0: 2}},
		{0, map[ocl.Label]int{0: 3}},
		{0, map[ocl.Label]int{0: 4}},
		{0, map[ocl.Label]int{0: 4}},             // at its share of 4
		{5, map[ocl.Label]int{0: 3, 5: 1}},       // new
		{0, map[ocl.Label]int{0: 3, 5: 1}},       // above its share of 2
		{5, map[ocl.Label]int{0: 2, 5: 2}},       // below it
		{5, map[ocl.Label]int{0: 2, 5: 2}},       // at it
		{9, nil},                                 // new: one of the two larger classes gives way
		{9, map[ocl.Label]int{0: 1, 5: 1, 9: 2}}, // 1 < 4/3, so that a rounded share of 1 would refuse it
	} {
		offer(t, g, m, env, []ocl.Label{step.y}, 1)
		if step.want != nil && !maps.Equal(m.Counts(), step.want) {
			t.Fatalf("after a sample of class %d: %v, want %v", step.y, m.Counts(), step.want)
		}
	}
}

// TestGreedyTies: of several largest classes each is as likely to give way, and each of its samples
// (docs/deviations.md: GDumb sampler).
func TestGreedyTies(t *testing.T) {
	env := memorytest.Env(1)
	gone := make([]float64, 12)
	for range 4000 {
		m := memorytest.NewStore(12)
		var labels []ocl.Label
		for i := range 12 {
			labels = append(labels, ocl.Label(i%3))
		}
		g := &memory.Greedy{}
		offer(t, g, m, env, labels, 10)
		slots, err := g.Update(nil, m, memorytest.Labelled(12, []ocl.Label{7}), env)
		if err != nil {
			t.Fatal(err)
		}
		gone[slots[0]]++
	}
	uniform(t, "the sample that gives way", gone, 1)
}

// TestGreedyWithinABatch: a batch gives what its samples give one by one.
func TestGreedyWithinABatch(t *testing.T) {
	src := rng.New(3, "labels")
	labels := make([]ocl.Label, 400)
	for i := range labels {
		labels[i] = ocl.Label(src.IntN(1 + i/40))
	}
	var want []int
	for _, batch := range []int{1, 7, 400} {
		g, m := &memory.Greedy{}, memorytest.NewStore(30)
		offer(t, g, m, memorytest.Env(5), labels, batch)
		var stored []int
		for slot := range m.Len() {
			stored = append(stored, memorytest.Number(image(m, slot)))
		}
		if batch == 1 {
			want = stored
		} else if !slices.Equal(stored, want) {
			t.Errorf("batches of %d lead to another memory than single samples", batch)
		}
	}
}
