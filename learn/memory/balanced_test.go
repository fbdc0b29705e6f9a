package memory_test

import (
	"math"
	"testing"

	"ocl"
	"ocl/learn/memory"
	"ocl/learn/memory/memorytest"
	"ocl/rng"
)

func TestBalancedContract(t *testing.T) {
	memorytest.Updaters(t, func() memory.Updater { return &memory.Balanced{} })
}

func TestGreedyAlwaysContract(t *testing.T) { memorytest.Updater(t, &memory.Greedy{Always: true}) }

// skewed are labels of a stream in which class 0 has most samples, and class 2 the fewest.
func skewed(seed uint64) []ocl.Label {
	src, labels := rng.New(seed, "labels"), []ocl.Label{}
	for y, n := range []int{400, 40, 6} {
		for range n {
			labels = append(labels, ocl.Label(y))
		}
	}
	src.Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
	return labels
}

// through passes a stream through an updater.
func through(t *testing.T, u memory.Updater, capacity int, labels []ocl.Label, seed uint64) *memory.Store {
	t.Helper()
	m, env := memorytest.NewStore(capacity), memorytest.Env(seed)
	for from := 0; from < len(labels); from += 10 {
		batch := memorytest.Labelled(from, labels[from:min(from+10, len(labels))])
		slots, err := u.Update(nil, m, batch, env)
		if err != nil {
			t.Fatal(err)
		}
		m.Put(batch, slots)
	}
	return m
}

// TestBalancedKeepsRareClasses: all samples of a rare class stay, the others share the rest, and of a large class every
// sample has the same chance.
func TestBalancedKeepsRareClasses(t *testing.T) {
	var early, late float64
	for seed := range uint64(60) {
		m := through(t, &memory.Balanced{}, 30, skewed(seed), seed)
		counts := m.Counts()
		if counts[2] != 6 || counts[0] != 12 || counts[1] != 12 {
			t.Fatalf("seed %d: %v, want 12, 12 and 6", seed, counts)
		}
		for slot, at := range m.Origins() {
			switch {
			case m.Label(slot) != 0:
			case at < 223:
				early++
			default:
				late++
			}
		}
	}
	if share := early / (early + late); math.Abs(share-0.5) > 0.06 {
		t.Errorf("%.3f of the stored samples of the large class are of the first half of the stream, want about a half", share)
	}
}

// TestAlwaysStoresTheNewest: with Always a batch is in the memory after it came, and no class grows above the others.
func TestAlwaysStoresTheNewest(t *testing.T) {
	labels := skewed(1)
	m := through(t, &memory.Greedy{Always: true}, 30, labels, 1)
	newest := 0
	for _, at := range m.Origins() {
		if int(at) >= len(labels)-5 {
			newest++
		}
	}
	if counts := m.Counts(); newest < 3 || counts[2] != 6 || counts[1] < 11 || counts[0] > 13 {
		t.Errorf("%v, with %d of the last five samples", counts, newest)
	}
}
