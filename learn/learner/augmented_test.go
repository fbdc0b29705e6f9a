package learner_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/learner/learnertest"
	"ocl/learn/memory"
	"ocl/nn/tensor"
	"ocl/rng"
)

// watching notes what a retriever and an updater are shown, and the slots that are retrieved.
type watching struct {
	memory.Random
	slots [][]int
	shown []ocl.Batch
}

func (w *watching) Retrieve(dst []int, m *memory.Store, b ocl.Batch, env memory.Env) ([]int, error) {
	slots, err := w.Random.Retrieve(dst, m, b, env)
	w.slots = append(w.slots, slices.Clone(slots))
	w.shown = append(w.shown, b.Clone())
	return slots, err
}

func (w *watching) Update(dst []int, m *memory.Store, b ocl.Batch, env memory.Env) ([]int, error) {
	w.shown = append(w.shown, b.Clone())
	return memory.Reservoir{}.Update(dst, m, b, env)
}

// cropped is b with each image shifted and perhaps mirrored by draws of src, pixel by pixel.
func cropped(b ocl.Batch, src *rng.Source) ocl.Batch {
	out := b.Clone()
	h, w := b.X.Shape[2], b.X.Shape[3]
	pad := (max(h, w) + 7) / 8
	for i := range b.Y {
		dy, dx, mirror := src.IntN(2*pad+1)-pad, src.IntN(2*pad+1)-pad, src.IntN(2)
		for p := range out.X.Row(i) {
			plane, y, x := p/(h*w), p/w%h, p%w
			if mirror == 1 {
				x = w - 1 - x
			}
			out.X.Row(i)[p] = 0
			if y+dy >= 0 && y+dy < h && x+dx >= 0 && x+dx < w {
				out.X.Row(i)[p] = b.X.Row(i)[(plane*h+y+dy)*w+x+dx]
			}
		}
	}
	return out
}

// stored is what slots of m hold.
func stored(m *memory.Store, slots []int) ocl.Batch {
	b := ocl.Batch{X: tensor.New(append([]int{len(slots)}, shape[:]...)...), Y: make([]ocl.Label, len(slots))}
	m.Gather(b.X, b.Y, slots)
	return b
}

// TestAugmentsAnewAtEachDraw follows two iterations by hand: each shows the network other crops of the incoming and of
// the replayed images. What chooses and what stores samples sees them as they came, and so memory holds them.
func TestAugmentsAnewAtEachDraw(t *testing.T) {
	batches := made.Batches(1, 2, 5)
	w := &watching{Random: memory.Random{Size: 3}}
	r := perceptron(t, 0.1)
	r.Augment, r.Iterations, r.Retrieve, r.Update = true, 2, w, w
	r.Memory = memory.NewStore(20, shape, nil)
	src := rng.New(1, "replay/augment")
	want := r.Net.Clone()
	step := func(batches ...ocl.Batch) {
		sum := make([]float32, len(want.Params()))
		for _, b := range batches {
			g, _ := gradient(t, want, b)
			for i, v := range g {
				sum[i] += v
			}
		}
		for i, v := range sum {
			want.Params()[i] -= 0.1 * v
		}
		want.Changed()
	}
	learnertest.Observe(t, r, batches[:1]) // nothing is stored yet
	first, second := cropped(batches[0], src), cropped(batches[0], src)
	if slices.Equal(first.X.Data, second.X.Data) {
		t.Fatal("the test draws one crop twice")
	}
	step(first)
	step(second)
	learnertest.Observe(t, r, batches[1:])
	for i := range 2 {
		in := cropped(batches[1], src)
		step(in, cropped(stored(r.Memory, w.slots[i]), src))
	}
	for i, v := range r.Net.Params() {
		if !(math.Abs(float64(v-want.Params()[i])) <= 2e-5) {
			t.Fatalf("parameter %d is %v, want %v", i, v, want.Params()[i])
		}
	}
	if len(w.shown) != 4 { // an update, two retrievals, an update
		t.Fatalf("%d looks at an incoming batch", len(w.shown))
	}
	for i, b := range w.shown {
		if raw := batches[min(i, 1)]; !slices.Equal(b.X.Data, raw.X.Data) || !slices.Equal(b.Y, raw.Y) {
			t.Errorf("look %d: another batch than the one that came", i)
		}
	}
	all := stored(r.Memory, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	if raw := slices.Concat(batches[0].X.Data, batches[1].X.Data); !slices.Equal(all.X.Data, raw) {
		t.Error("memory holds other images than those that came")
	}
}

// TestAugmentedReview: the review shows crops, drawn after those of the steps.
func TestAugmentedReview(t *testing.T) {
	b := made.Batches(1, 1, 5)[0]
	r := perceptron(t, 0.1)
	r.Augment, r.Memory, r.Review = true, memory.NewStore(5, shape, nil), &learner.Review{Batch: 5}
	l := learner.Bounded{Replay: r}
	if err := l.BeginTask(ocl.TaskInfo{}); err != nil {
		t.Fatal(err)
	}
	learnertest.Observe(t, l, []ocl.Batch{b})
	src, order := rng.New(1, "replay/augment"), []int{0, 1, 2, 3, 4}
	cropped(b, src) // the step
	rng.New(1, "review").Shuffle(5, func(i, j int) { order[i], order[j] = order[j], order[i] })
	g, _ := gradient(t, r.Net, cropped(stored(r.Memory, order), src))
	want := slices.Clone(r.Net.Params())
	for i, v := range g {
		want[i] -= 0.01 * v
	}
	if err := l.EndTask(context.Background()); err != nil {
		t.Fatal(err)
	}
	for i, v := range r.Net.Params() {
		if !(math.Abs(float64(v-want[i])) <= 1e-6) {
			t.Fatalf("parameter %d is %v, want %v", i, v, want[i])
		}
	}
}

// TestICaRLAugments: incoming and replayed rows are cropped in one go, the teacher answers for the crops, and memory
// holds what came.
func TestICaRLAugments(t *testing.T) {
	l := icarl(t, 3, 2)
	l.Augment = true
	batches := images.Batches(1, 2, 3)
	begin(t, l, 0, 0, 1, 2)
	learnertest.Observe(t, l, []ocl.Batch{relabelled(batches[0], 0, 1, 2)})
	end(t, l)
	begin(t, l, 1, 3, 4, 5)
	in := relabelled(batches[1], 3, 4, 5)
	teacher := l.Net.Clone()
	src := rng.New(1, "replay/augment")
	cropped(in, src) // the first step
	// Both retrieved rows are of the first batch, in an order that the source of retrieval says.
	slots := memory.Sample(nil, 3, 2, rng.New(1, "memory/retrieve"))
	shape := l.Net.Info().Input
	replay := ocl.Batch{X: tensor.New(2, shape[0], shape[1], shape[2]), Y: make([]ocl.Label, 2)}
	l.Memory.Gather(replay.X, replay.Y, slots)
	if raw := batches[0].X.Row(slots[0]); !slices.Equal(replay.X.Row(0), raw) {
		t.Error("memory holds another image than the one that came")
	}
	both := cropped(ocl.Batch{X: tensor.Of(slices.Concat(in.X.Data, replay.X.Data), 5, shape[0], shape[1], shape[2]),
		Y: slices.Concat(in.Y, replay.Y)}, src)
	targets := tensor.New(5, 6)
	ws := teacher.NewWorkspace(1)
	defer ws.Close()
	answers := teacher.Predict(ws, both.X).Logits
	for i, y := range both.Y {
		for k := range 3 {
			targets.Row(i)[k] = float32(1 / (1 + math.Exp(-float64(answers.Row(i)[k]))))
		}
		if y >= 3 {
			targets.Row(i)[y] = 1
		}
	}
	want, mean := stepped(l.Net, both.X, targets, 0.1)
	stats := learnertest.Observe(t, l, []ocl.Batch{in})[0]
	if !(math.Abs(stats.Loss-mean) <= 1e-6) {
		t.Errorf("loss %v, want %v", stats.Loss, mean)
	}
	for i, v := range l.Net.Params() {
		if !(math.Abs(float64(v-want[i])) <= 1e-6) {
			t.Fatalf("parameter %d is %v, want %v", i, v, want[i])
		}
	}
}
