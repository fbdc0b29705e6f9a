package memory_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/memory"
	"ocl/learn/memory/memorytest"
)

// stateful is an updater with scores of its own; makers builds each kind.
type stateful interface {
	memory.Updater
	ocl.State
}

var makers = map[string]func() stateful{
	"subset: batch":  func() stateful { return &memory.GSS{Size: 4} },
	"subset: sample": func() stateful { return &memory.GSS{Size: 4, PerSample: true} },
	"gate: batch":    func() stateful { return &memory.GSSBatch{Size: 3} },
}

func TestGSSContract(t *testing.T) {
	for name, build := range makers {
		t.Run(name, func(t *testing.T) {
			memorytest.Updaters(t, func() memory.Updater { return build() })
		})
	}
}

// feed passes batches of size b to the memory, their samples numbered from first on.
func feed(t *testing.T, m *memory.Store, u memory.Updater, env memory.Env, first, batches, b int) (slots []int) {
	t.Helper()
	for i := range batches {
		batch := memorytest.Batch(first+i*b, b)
		var err error
		if slots, err = u.Update(slots[:0], m, batch, env); err != nil {
			t.Fatal(err)
		}
		m.Put(batch, slots)
	}
	return slots
}

// scoresOf is what an updater saves.
func scoresOf(t *testing.T, u ocl.State) []float64 {
	t.Helper()
	c := checkpoint.NewContainer()
	if err := u.SaveState(c.Encoder()); err != nil {
		t.Fatal(err)
	}
	var s []float64
	if err := (checkpoint.Parts{checkpoint.List("scores", &s)}).LoadState(c.Decoder()); err != nil {
		t.Fatal(err)
	}
	return s
}

// cosined is a probe with cosines by the numbers of two samples, or of the first samples of two groups.
type cosined struct {
	memorytest.Probe
	cosine func(a, b int) float64
	refs   []int // numbers of the reference samples of all questions
	asked  int
}

func (c *cosined) Cosines(dst []float64, a, b memory.Groups) error {
	c.asked++
	for j := range b.Len() {
		c.refs = append(c.refs, memorytest.Number(b.X.Row(j)))
	}
	for i := range a.Count() {
		for j := range b.Count() {
			dst[i*b.Count()+j] = c.cosine(memorytest.Number(a.X.Row(i*a.Size)), memorytest.Number(b.X.Row(j*b.Size)))
		}
	}
	return nil
}

// TestGSSScores: a score is the largest cosine plus 1; samples of the first batch meet an empty memory and have cosine
// 0.1. With a subset for each sample the second already meets the first.
func TestGSSScores(t *testing.T) {
	p := &cosined{cosine: func(a, b int) float64 { return -1 / float64(1+a+b) }}
	for name, want := range map[string][]float64{
		"subset: batch":  {1.1, 1.1, 1 - 1./4, 1 - 1./5},
		"subset: sample": {1.1, 1 - 1./2, 1 - 1./4, 1 - 1./6},
		"gate: batch":    {0.1, 0.1, -1. / 3, -1. / 4},
	} {
		m, u, env := memorytest.NewStore(4), makers[name](), memorytest.Env(1)
		env.Probe = p
		feed(t, m, u, env, 0, 2, 2)
		got := scoresOf(t, u)
		if len(got) != 4 {
			t.Fatalf("%s: scores %v, want 4 of them", name, got)
		}
		for i := range want {
			if !(math.Abs(got[i]-want[i]) <= 1e-12) {
				t.Errorf("%s: scores %v, want %v", name, got, want)
				break
			}
		}
	}
}

// full is a memory of the samples 0, 1, …, each offered alone, with a probe that gives sample i the score that it
// names.
func full(t *testing.T, u memory.Updater, cosines []float64) (*memory.Store, memory.Env, *cosined) {
	t.Helper()
	m, env := memorytest.NewStore(len(cosines)), memorytest.Env(1)
	p := &cosined{cosine: func(a, _ int) float64 { return cosines[a] }}
	env.Probe = p
	feed(t, m, u, env, 0, len(cosines), 1)
	return m, env, p
}

// TestGSSReplaces counts which slot of a full memory a new sample with score c replaces: slot i with probability
// C_i/Σ_j C_j · C_i/(C_i + c), and otherwise none. With c ≥ 1 it replaces none.
func TestGSSReplaces(t *testing.T) {
	const trials = 40000
	cosines := []float64{0, -0.9, -0.5, 0.5, 1}
	scores := []float64{1.1, 0.1, 0.5, 1.5, 2} // the first sample met an empty memory
	for _, perSample := range []bool{false, true} {
		for _, c := range []float64{0.05, 0.4, 0.999} {
			u := &memory.GSS{Size: 2, PerSample: perSample}
			m, env, p := full(t, u, cosines)
			saved := checkpoint.NewContainer()
			if err := u.SaveState(saved.Encoder()); err != nil {
				t.Fatal(err)
			}
			p.cosine = func(int, int) float64 { return c - 1 }
			counts := make([]float64, len(scores)+1)
			slots := []int{}
			for range trials {
				if err := u.LoadState(saved.Decoder()); err != nil {
					t.Fatal(err)
				}
				var err error
				if slots, err = u.Update(slots[:0], m, memorytest.Batch(99, 1), env); err != nil {
					t.Fatal(err)
				}
				if slots[0] < 0 {
					slots[0] = len(scores)
				} else if got := scoresOf(t, u)[slots[0]]; got != c-1+1 {
					t.Fatalf("slot %d has score %v after the replacement, want %v", slots[0], got, c)
				}
				counts[slots[0]]++
			}
			want := make([]float64, len(counts))
			want[len(scores)] = trials
			for i, s := range scores {
				want[i] = trials * s / 5.2 * s / (s + c)
				want[len(scores)] -= want[i]
			}
			matches(t, counts, want)
		}
		u := &memory.GSS{Size: 2, PerSample: perSample}
		m, env, p := full(t, u, cosines)
		p.cosine = func(int, int) float64 { return 0 }
		for range 100 {
			if slots := feed(t, m, u, env, 50, 1, 3); !slices.Equal(slots, []int{-1, -1, -1}) {
				t.Fatalf("a cosine of 0: slots %v, want none", slots)
			}
		}
	}
}

// matches fails the test unless counts are drawn with the wanted expectations: χ² with a false alarm in 10⁶, seeds
// fixed.
func matches(t *testing.T, counts, want []float64) {
	t.Helper()
	chi := 0.0
	for i := range counts {
		chi += (counts[i] - want[i]) * (counts[i] - want[i]) / want[i]
	}
	if limit := (distuv.ChiSquared{K: float64(len(counts) - 1)}).Quantile(1 - 1e-6); !(chi <= limit) {
		t.Errorf("χ² %.1f, want at most %.1f; counts %.0f, want %.0f", chi, limit, counts, want)
	}
}

// TestGSSSubset: one subset of n stored samples for a batch, or one for each of its rows, uniform over the memory.
func TestGSSSubset(t *testing.T) {
	const stored, n, b, trials = 20, 4, 5, 3000
	for _, perSample := range []bool{false, true} {
		u := &memory.GSS{Size: n, PerSample: perSample}
		m, env, p := full(t, u, make([]float64, stored))
		p.asked = 0
		counts := make([]float64, stored)
		questions := 1
		if perSample {
			questions = b
		}
		for range trials {
			p.refs = p.refs[:0]
			if _, err := u.Update(nil, m, memorytest.Batch(0, b), env); err != nil { // nothing is put: cosine 0
				t.Fatal(err)
			}
			if len(p.refs) != n*questions {
				t.Fatalf("per sample %v: %d references, want %d", perSample, len(p.refs), n*questions)
			}
			for _, s := range p.refs {
				counts[s]++
			}
		}
		if p.asked != trials*questions {
			t.Errorf("per sample %v: %d questions, want %d", perSample, p.asked, trials*questions)
		}
		uniform(t, "subset", counts, float64(stored-1)/float64(stored-n))
	}
}

// TestGSSSampleMeetsEarlierRows: with a subset for each sample, a row is compared with what the rows before it left.
func TestGSSSampleMeetsEarlierRows(t *testing.T) {
	u := &memory.GSS{Size: 10, PerSample: true}
	m, env, p := full(t, u, []float64{1, 1, 1})
	// The first row comes in (its cosine is −1, its score 0 beats all), the second meets it.
	p.cosine = func(int, int) float64 { return -1 }
	p.refs = p.refs[:0]
	slots, err := u.Update(nil, m, memorytest.Batch(10, 2), env)
	if err != nil || slots[0] < 0 {
		t.Fatalf("slots %v (%v); want the first row to come in", slots, err)
	}
	first, second := slices.Sorted(slices.Values(p.refs[:3])), slices.Sorted(slices.Values(p.refs[3:]))
	want := []int{0, 1, 2}
	want[slots[0]] = 10
	slices.Sort(want)
	if !slices.Equal(first, []int{0, 1, 2}) || !slices.Equal(second, want) {
		t.Errorf("references %v, then %v; want all stored, then %v", first, second, want)
	}
}

// TestGSSBatchGate: the gradient of the whole batch decides whether any of its rows comes in, and slots are drawn in
// proportion to the scaled scores.
func TestGSSBatchGate(t *testing.T) {
	cosines := []float64{0, -0.9, -0.5, 0.5, 1}
	scores := []float64{0.1, -0.9, -0.5, 0.5, 1}
	u := &memory.GSSBatch{Size: 3}
	m, env, p := full(t, u, cosines)
	p.cosine = func(int, int) float64 { return 0 }
	for range 100 {
		if slots := feed(t, m, u, env, 50, 1, 2); !slices.Equal(slots, []int{-1, -1}) {
			t.Fatalf("a batch of cosine 0: slots %v, want none", slots)
		}
	}
	const trials, c = 40000, -0.25
	p.cosine = func(int, int) float64 { return c }
	saved := checkpoint.NewContainer()
	if err := u.SaveState(saved.Encoder()); err != nil {
		t.Fatal(err)
	}
	counts := make([]float64, 5)
	for range trials {
		if err := u.LoadState(saved.Decoder()); err != nil {
			t.Fatal(err)
		}
		slots, err := u.Update(nil, m, memorytest.Batch(99, 1), env)
		if err != nil {
			t.Fatal(err)
		}
		if slots[0] < 0 {
			slots[0] = 1 // the least score is never drawn: count those who stay out there
		}
		counts[slots[0]]++
	}
	total := 0.0
	for _, s := range scores {
		total += s + 0.9
	}
	want := make([]float64, 5)
	want[1] = trials
	for i, s := range scores {
		if i != 1 {
			want[i] = trials * (s + 0.9) / total * (s + 1) / (s + 1 + c + 1)
			want[1] -= want[i]
		}
	}
	matches(t, counts, want)

	// Ten rows find four slots of positive weight, all different.
	slots, err := u.Update(nil, m, memorytest.Batch(90, 10), env)
	if err != nil || len(slots) != 10 {
		t.Fatalf("slots %v (%v), want 10", slots, err)
	}
	for i, s := range slots {
		if s == 1 || i >= 4 && s != -1 || s >= 0 && slices.Contains(slots[:i], s) {
			t.Errorf("slots %v: want different ones for the first four rows at most, and never slot 1", slots)
		}
	}
}

// TestGSSState: scores survive, and another store is refused.
func TestGSSState(t *testing.T) {
	for name, build := range makers {
		m, u, env := memorytest.NewStore(6), build(), memorytest.Env(1)
		feed(t, m, u, env, 0, 3, 3)
		c := checkpoint.NewContainer()
		if err := u.SaveState(c.Encoder()); err != nil {
			t.Fatal(err)
		}
		back := build()
		if err := back.LoadState(c.Decoder()); err != nil || !slices.Equal(scoresOf(t, u), scoresOf(t, back)) {
			t.Errorf("%s: scores %v, loaded %v (%v)", name, scoresOf(t, u), scoresOf(t, back), err)
		}
		if err := build().LoadState(checkpoint.NewContainer().Decoder()); err == nil {
			t.Errorf("%s: an empty state was loaded", name)
		}
		if _, err := back.Update(nil, memorytest.NewStore(6), memorytest.Batch(0, 2), env); err == nil {
			t.Errorf("%s: six scores for an empty store: no error", name)
		}
	}
}

// TestScoresFollowTheirSamples: when a sample is removed, its score goes and the others stay with their samples.
func TestScoresFollowTheirSamples(t *testing.T) {
	for name, build := range makers {
		for _, slot := range []int{0, 3, 7} {
			m, u := memorytest.NewStore(8), build()
			for range 4 {
				b := memorytest.Batch(m.Seen(), 3)
				slots, err := u.Update(nil, m, b, memorytest.Env(1))
				if err != nil {
					t.Fatal(err)
				}
				m.Put(b, slots)
			}
			of := map[int64]float64{}
			for i, place := range m.Origins() {
				of[place] = scoresOf(t, u)[i]
			}
			m.Remove(slot)
			u.(memory.Remover).Removed(slot, 7)
			scores := scoresOf(t, u)
			for i, place := range m.Origins() {
				if len(scores) != 7 || scores[i] != of[place] {
					t.Errorf("%s: after slot %d was removed the scores %v are not those of %v", name, slot, scores, m.Origins())
				}
			}
		}
	}
}
