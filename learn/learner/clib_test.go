package learner

import (
	"math"
	"slices"
	"testing"

	"ocl"
	"ocl/learn/loss"
	"ocl/learn/memory"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/rng"
	"ocl/run/metric"
)

// clibTest is a CLIB on a small perceptron with a memory for 12 samples, and some batches.
func clibTest(t *testing.T, every, iterations int) (*Replay, *CLIB, []ocl.Batch) {
	t.Helper()
	net, err := arch.MLP(arch.Config{Channels: 1, Height: 2, Width: 3, Classes: 4, Hidden: []int{5}},
		rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	ws := net.NewWorkspace(1)
	t.Cleanup(ws.Close)
	shape := [3]int{1, 2, 3}
	r := &Replay{Net: net, WS: ws, Opt: optim.SGD{LR: 0.5}.New(), Memory: memory.NewStore(12, shape, nil),
		Retrieve: memory.Random{Size: 3, Whole: true}, Iterations: iterations, Seed: 1}
	c := NewCLIB(r, every, false)
	src, values := rng.New(1, "batches"), ocl.NewPixelValues(1, nil, nil)
	var batches []ocl.Batch
	for range 14 {
		pixels, y := make([]byte, 2*6), []ocl.Label{ocl.Label(src.IntN(4)), ocl.Label(src.IntN(4))}
		for i := range pixels {
			pixels[i] = byte(src.IntN(256))
		}
		batches = append(batches, ocl.NewBatch(shape, pixels, y, values))
	}
	return r, c, batches
}

// clibLosses are the losses of all samples of a memory, by their place in the stream.
func clibLosses(t *testing.T, net *nn.Network, m *memory.Store) map[int64]float64 {
	t.Helper()
	ws := net.NewWorkspace(1)
	defer ws.Close()
	losses := map[int64]float64{}
	for slot, place := range m.Origins() {
		var b memory.Buffer
		x := b.Gather(m, []int{slot})
		one := make([]float64, 1)
		if err := (loss.CrossEntropy{}).Rows(one, loss.Input{Logits: net.Predict(ws, x.X).Logits, Y: x.Y}); err != nil {
			t.Fatal(err)
		}
		losses[place] = one[0]
	}
	return losses
}

// spy keeps the places in the stream of the samples that were drawn, and H as it is before a memory changes.
type spy struct {
	memory.Retriever
	memory.Updater
	kept  *memory.Important
	drawn [][]int64
	h     map[int64]float64 // by place
	then  map[int64]float64 // losses before the memory changes
	look  func(*memory.Store) map[int64]float64
}

func (s *spy) Retrieve(dst []int, m *memory.Store, b ocl.Batch, env memory.Env) ([]int, error) {
	slots, err := s.Retriever.Retrieve(dst, m, b, env)
	var places []int64
	for _, slot := range slots {
		places = append(places, m.Origins()[slot])
	}
	s.drawn = append(s.drawn, places)
	return slots, err
}

func (s *spy) Update(dst []int, m *memory.Store, b ocl.Batch, env memory.Env) ([]int, error) {
	s.h, s.then = map[int64]float64{}, s.look(m)
	for slot, place := range m.Origins() {
		s.h[place] = s.kept.H[slot]
	}
	return s.Updater.Update(dst, m, b, env)
}

// TestCLIBByHand follows the importance of each sample from the losses before and after each step.
func TestCLIBByHand(t *testing.T) {
	for _, every := range []int{1, 3} {
		r, c, batches := clibTest(t, every, 1)
		s := &spy{Retriever: r.Retrieve, Updater: r.Update, kept: c.kept,
			look: func(m *memory.Store) map[int64]float64 { return clibLosses(t, r.Net, m) }}
		r.Retrieve, r.Update = s, s
		h, before := map[int64]float64{}, map[int64]float64{}
		var drawn []int64
		changed := 0
		for i, b := range batches {
			if _, err := r.Observe(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			if len(s.drawn) > 0 {
				drawn = append(drawn, s.drawn[0]...)
				s.drawn = nil
			}
			if i > 0 && i%every == 0 { // the first batch finds nothing stored
				sum, both := 0.0, 0
				for place, now := range s.then {
					if then, was := before[place]; was {
						sum, both = sum+then-now, both+1
					}
				}
				slices.Sort(drawn)
				drawn = slices.Compact(drawn)
				drawn = slices.DeleteFunc(drawn, func(p int64) bool { _, stored := s.then[p]; return !stored })
				if both > 0 {
					for _, place := range drawn {
						h[place] += 0.1 * (sum/float64(both)/float64(len(drawn)) - h[place])
						changed++
					}
				}
				before, drawn = s.then, nil
			}
			for place, want := range h {
				if got, stored := s.h[place]; stored && !(math.Abs(got-want) <= 1e-9) {
					t.Fatalf("every %d, batch %d: sample %d has the importance %v, want %v", every, i, place, got, want)
				}
			}
			for slot, place := range r.Memory.Origins() { // newcomers have what the memory gives them
				if _, known := h[place]; !known {
					h[place] = c.kept.H[slot]
				}
			}
		}
		if changed < 12 {
			t.Errorf("every %d: %d importances were looked at", every, changed)
		}
	}
}

// TestCLIBRate: ten drops at a rate, ten at the lower one, and the one at which the loss fell faster stays.
func TestCLIBRate(t *testing.T) {
	even := []float64{1, 2, 1, 2, 1, 2, 1, 2, 1, 2}
	for name, c := range map[string]struct {
		low  float64 // more than at the rate
		want float64
	}{"the same": {0, 1}, "lower is better": {1, 0.95}, "higher is better": {-1, 1 / 0.95},
		// a standard error of 0.2357 and 18 degrees of freedom, where 1.7341 is the least
		"just not": {0.4086, 1}, "just": {0.4088, 0.95}, "just higher": {-0.4088, 1 / 0.95}} {
		s := schedule{scale: 1}
		for i, drop := range slices.Concat(even, even) {
			want := 1.0
			if i >= 10 {
				drop += c.low
				want = 0.95
			}
			if s.now() != want {
				t.Fatalf("%s: step %d has the rate %v, want %v", name, i+1, s.now(), want)
			}
			s.add(drop)
		}
		if s.now() != c.want || len(s.drops) > 0 {
			t.Errorf("%s: then the rate is %v, want %v", name, s.now(), c.want)
		}
	}
	still := schedule{scale: 1}
	for range 20 {
		still.add(1)
	}
	if still.now() != 1 {
		t.Errorf("drops that are all the same have the rate %v", still.now())
	}
	for freedom := 9.0; freedom <= 18; freedom += 0.25 {
		if p := metric.Tail(rare(freedom), freedom); !(math.Abs(p-0.05) <= 2e-5) {
			t.Errorf("with %v degrees of freedom %v is above with %v", freedom, rare(freedom), p)
		}
	}
}

// TestCLIBSteps: the optimiser has the rates of the schedule, and with Fixed its own.
func TestCLIBSteps(t *testing.T) {
	r, _, batches := clibTest(t, 1, 5)
	rates := map[float64]bool{}
	for _, b := range batches {
		if _, err := r.Observe(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		rates[r.Opt.LR()] = true
	}
	if len(rates) < 2 {
		t.Errorf("rates %v, want several", rates)
	}
	for rate := range rates {
		if n := math.Log(rate/0.5) / math.Log(0.95); math.Abs(n-math.Round(n)) > 1e-9 {
			t.Errorf("the rate %v is none of 0.5 and powers of 0.95", rate)
		}
	}
	fixed, c, _ := clibTest(t, 1, 5)
	c.Fixed = true
	for _, b := range batches {
		if _, err := fixed.Observe(t.Context(), b); err != nil || fixed.Opt.LR() != 0.5 {
			t.Fatalf("fixed: the rate is %v (%v)", fixed.Opt.LR(), err)
		}
	}
}
