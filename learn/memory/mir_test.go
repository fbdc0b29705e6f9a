package memory_test

import (
	"errors"
	"slices"
	"testing"

	"ocl"
	"ocl/learn/memory"
	"ocl/learn/memory/memorytest"
)

func TestMIRContract(t *testing.T) {
	for _, r := range []*memory.MIR{{Size: 1, Candidates: 1}, {Size: 2, Candidates: 5}, {Size: 10, Candidates: 50},
		{Size: 2, Candidates: 5, Always: true}} {
		memorytest.Retriever(t, r, r.Size)
	}
}

// filled is a store whose slots hold the samples of their own numbers.
func filled(n int) *memory.Store {
	m := memorytest.NewStore(n)
	slots := make([]int, n)
	for i := range slots {
		slots[i] = i
	}
	m.Put(memorytest.Batch(0, n), slots)
	return m
}

// scored is a probe whose interference is a function of the sample's number; it keeps the numbers that were asked for.
type scored struct {
	memorytest.Probe
	score func(sample int) float64
	asked []int
	err   error
}

func (s *scored) Interference(dst []float64, b ocl.Batch) error {
	for i := range dst {
		sample := memorytest.Number(b.X.Row(i))
		s.asked = append(s.asked, sample)
		dst[i] = s.score(sample)
	}
	return s.err
}

// TestMIRByHand: of ten candidates, the whole memory, those with the largest increase come first, and of equal ones the
// smaller slot.
func TestMIRByHand(t *testing.T) {
	m, env := filled(10), memorytest.Env(1)
	increase := []float64{0, -3, 2, 5, 2, -1, 5, 2, 0.5, 1}
	env.Probe = &scored{score: func(sample int) float64 { return increase[sample] }}
	got, err := (&memory.MIR{Size: 4, Candidates: 10}).Retrieve([]int{-7}, m, ocl.Batch{}, env)
	if want := []int{-7, 3, 6, 2, 4}; err != nil || !slices.Equal(got, want) {
		t.Errorf("slots %v (%v), want %v", got, err, want)
	}
}

// TestMIRAlways: if all candidates are retrieved, only a retriever with Always calls its probe, once with all of them.
// The retrieved slots are the same.
func TestMIRAlways(t *testing.T) {
	for _, always := range []bool{false, true} {
		m, env := filled(3), memorytest.Env(1)
		p := &scored{score: func(sample int) float64 { return float64(sample) }}
		env.Probe = p
		got, err := (&memory.MIR{Size: 4, Candidates: 10, Always: always}).Retrieve(nil, m, ocl.Batch{}, env)
		want := memory.Sample(nil, 3, 10, memorytest.Env(1).Rand)
		asked := []int(nil)
		if always {
			asked = want
		}
		if err != nil || !slices.Equal(got, want) || !slices.Equal(p.asked, asked) {
			t.Errorf("always %v: slots %v (%v) after a question about %v, want %v after one about %v", always, got, err, p.asked,
				want, asked)
		}
	}
}

// TestMIRCandidates: each of 30 slots is a candidate equally often, 7 at a time, and the best of the candidates is
// replayed.
func TestMIRCandidates(t *testing.T) {
	const n, candidates, trials = 30, 7, 20000
	m, env := filled(n), memorytest.Env(3)
	p := &scored{score: func(sample int) float64 { return float64(sample) }}
	env.Probe = p
	r := &memory.MIR{Size: 1, Candidates: candidates}
	counts := make([]float64, n)
	for range trials {
		p.asked = p.asked[:0]
		got, err := r.Retrieve(nil, m, ocl.Batch{}, env)
		if err != nil || len(p.asked) != candidates || got[0] != slices.Max(p.asked) {
			t.Fatalf("candidates %v, slots %v (%v); want %d candidates and their best", p.asked, got, err, candidates)
		}
		for _, s := range p.asked {
			counts[s]++
		}
	}
	uniform(t, "candidates", counts, float64(n-1)/float64(n-candidates))
}

// TestMIRWithoutChoice: where Candidates is Size, MIR is random retrieval, drawn number for number.
func TestMIRWithoutChoice(t *testing.T) {
	m, a, b := filled(40), memorytest.Env(1), memorytest.Env(1)
	a.Probe = &scored{err: errors.New("asked without a choice")}
	for range 50 {
		got, err := (&memory.MIR{Size: 10, Candidates: 10}).Retrieve(nil, m, ocl.Batch{}, a)
		want, _ := memory.Random{Size: 10}.Retrieve(nil, m, ocl.Batch{}, b)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("slots %v (%v), random retrieval %v", got, err, want)
		}
	}
}
