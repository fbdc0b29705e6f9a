package learner_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/learn/augment"
	"ocl/learn/learner"
	"ocl/learn/learner/learnertest"
	"ocl/learn/loss"
	"ocl/learn/memory"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/tensor"
	"ocl/rng"
)

// replaying is ER on the residual network.
func replaying(t *testing.T, capacity int) *learner.Replay {
	t.Helper()
	r := residual(t)
	r.Memory, r.Retrieve = memory.NewStore(capacity, residualCase.Shape, nil), memory.Random{Size: 4}
	return r
}

// TestTeacherIsInEvaluationMode: distilling moves no running statistic that plain steps would not, whatever the teacher
// saw, and a step's loss is that of the teacher's logits by running statistics, for the incoming and the replayed batch
// alike; with Training by each batch's own.
func TestTeacherIsInEvaluationMode(t *testing.T) {
	for _, c := range []struct {
		root, training bool
	}{{false, false}, {true, false}, {false, true}, {true, true}} {
		r := replaying(t, 12)
		r.Classes, r.Teacher, r.Criterion = &learner.Classes{}, &learner.Teacher{Training: c.training},
			loss.Distilled{Root: c.root}
		l := learner.Bounded{Replay: r}
		batches := residualCase.Batches(1, 8, 5)
		residualCase.Learn(t, l, batches, 0, 4)
		teacher := r.Net.Clone()
		residualCase.Learn(t, l, batches, 4, 6)
		before, retrieved := r.Net.Clone(), &recorder{Retriever: r.Retrieve}
		r.Retrieve = retrieved
		stored := memory.NewStore(12, residualCase.Shape, nil)
		if err := stored.LoadState(learnertest.State(t, r.Memory).Decoder()); err != nil {
			t.Fatal(err)
		}
		got := residualCase.Learn(t, l, batches, 6, 7)[0]
		replayed := ocl.Batch{X: tensor.New(4, 3, 32, 32), Y: make([]ocl.Label, 4)}
		stored.Gather(replayed.X, replayed.Y, retrieved.slots)
		weight := 0.5 // three new classes and three old ones
		if c.root {
			weight = math.Sqrt(0.5)
		}
		want, mode := 0.0, nn.Eval
		if c.training {
			mode = nn.BatchOnly
		}
		ws := before.NewWorkspace(1)
		for _, b := range []ocl.Batch{batches[6], replayed} {
			target := teacher.Forward(ws, b.X, mode).Clone()
			z := before.Forward(ws, b.X, nn.BatchOnly)
			d := tensor.New(b.Len(), 6)
			ce, err := loss.CrossEntropy{}.Eval(d, loss.Input{Logits: z, Y: b.Y})
			if err != nil {
				t.Fatal(err)
			}
			want += weight*ce + (1-weight)*loss.Distillation{T: 2}.AddTo(d, z, target, 1)
		}
		ws.Close()
		if !(math.Abs(got.Loss-want) <= 1e-5) {
			t.Errorf("%+v: loss %v, want %v", c, got.Loss, want)
		}
	}
}

// TestReviewOfNothing changes nothing.
func TestReviewOfNothing(t *testing.T) {
	r := replaying(t, 0)
	r.Review = &learner.Review{}
	l := learner.Bounded{Replay: r}
	if err := l.BeginTask(ocl.TaskInfo{}); err != nil {
		t.Fatal(err)
	}
	learnertest.Observe(t, l, residualCase.Batches(1, 2, 5))
	before := r.Net.Clone()
	if err := l.EndTask(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(before.Params(), r.Net.Params()) || !slices.Equal(before.Running(), r.Net.Running()) {
		t.Error("the review of an empty memory changed the network")
	}
}

// stopping is a context that ends after so many looks at it.
type stopping struct {
	context.Context
	left int
}

func (s *stopping) Err() error {
	if s.left--; s.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestReviewIsInterrupted in the middle, saved, loaded by another learner and gone on with, which ends as if it had not
// been; so does the same learner when it goes on by itself. ER, A-GEM, EWC++ and iCaRL.
func TestReviewIsInterrupted(t *testing.T) {
	for name, build := range map[string]func() ocl.Learner{
		"er": func() ocl.Learner {
			r := replaying(t, 11)
			r.Classes, r.Teacher, r.Criterion = &learner.Classes{}, &learner.Teacher{}, loss.Distilled{}
			r.Review = &learner.Review{Batch: 4}
			return learner.Bounded{Replay: r}
		},
		"agem": func() ocl.Learner {
			r := replaying(t, 11)
			r.Review = &learner.Review{Batch: 4}
			return learner.NewAGEM(r)
		},
		"ewc++": func() ocl.Learner {
			r := replaying(t, 11)
			r.Classes, r.Teacher, r.Criterion = &learner.Classes{}, &learner.Teacher{}, loss.Distilled{}
			r.Review = &learner.Review{Batch: 4}
			return learner.NewEWC(r, learner.EWCOptions{Lambda: 1, Alpha: 0.9, Every: 2})
		},
		"icarl": func() ocl.Learner {
			r := residual(t)
			return &learner.ICaRL{Net: r.Net, WS: r.WS, Opt: r.Opt, Memory: memory.NewStore(11, residualCase.Shape, nil),
				ReplayBatch: 4, Seed: 1, Review: &learner.Review{Batch: 4}}
		},
	} {
		batches := residualCase.Batches(1, 8, 5)
		upTo := func(l ocl.Learner) ocl.TaskAware { // without the end of the first task
			residualCase.Learn(t, l, batches, 0, 3)
			learnertest.Observe(t, l, batches[3:4])
			return l.(ocl.TaskAware)
		}
		whole, cut := build(), build()
		if err := upTo(whole).EndTask(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := upTo(cut).EndTask(&stopping{context.Background(), 2}); !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: error %v, want one that wraps context.Canceled", name, err)
		}
		saved := learnertest.State(t, cut)
		loaded := build()
		if err := loaded.LoadState(saved.Decoder()); err != nil {
			t.Fatal(err)
		}
		learnertest.CheckSame(t, name+", loaded", learnertest.State(t, loaded), saved)
		if learnertest.State(t, whole).Equal(saved) {
			t.Errorf("%s: cut after two of three steps and yet whole", name)
		}
		for what, l := range map[string]ocl.Learner{"loaded": loaded, "gone on": cut} {
			var told [][2]int
			l.(ocl.Watched).Watch(func(done, total int) { told = append(told, [2]int{done, total}) })
			if err := l.(ocl.TaskAware).EndTask(context.Background()); err != nil {
				t.Fatal(err)
			}
			learnertest.CheckSame(t, name+", "+what+" and ended", learnertest.State(t, l), learnertest.State(t, whole))
			if !slices.Equal(told, [][2]int{{3, 3}}) {
				t.Errorf("%s, %s: it tells %v, want the last of three steps", name, what, told)
			}
		}
	}
}

// TestICaRLReview: the softmax goes over the outputs of the classes seen, each class by its own output; the weights of
// other outputs move by weight decay alone, here none.
func TestICaRLReview(t *testing.T) {
	r := residual(t)
	l := &learner.ICaRL{Net: r.Net, WS: r.WS, Opt: r.Opt, Memory: memory.NewStore(12, residualCase.Shape, nil),
		ReplayBatch: 4, Seed: 1,
		Review: &learner.Review{Batch: 12}}
	if err := l.BeginTask(ocl.TaskInfo{Classes: []ocl.Label{5, 1}}); err != nil { // outputs 0 and 1
		t.Fatal(err)
	}
	b := residualCase.Batches(1, 1, 5)[0]
	for i := range b.Y {
		b.Y[i] = []ocl.Label{5, 1}[i%2]
	}
	learnertest.Observe(t, l, []ocl.Batch{b})
	before := r.Net.Clone()
	if err := l.EndTask(context.Background()); err != nil {
		t.Fatal(err)
	}
	ws := before.NewWorkspace(1)
	defer ws.Close()
	x, y, d := tensor.New(5, 3, 32, 32), make([]ocl.Label, 5), tensor.New(5, 6)
	order := []int{0, 1, 2, 3, 4}
	rng.New(1, "review").Shuffle(5, func(i, j int) { order[i], order[j] = order[j], order[i] })
	l.Memory.Gather(x, y, order)
	z := before.Forward(ws, x, nn.Train)
	for i, label := range y { // by hand: a softmax over two columns
		a, c := math.Exp(float64(z.Row(i)[0])), math.Exp(float64(z.Row(i)[1]))
		p := [2]float64{a / (a + c), c / (a + c)}
		p[map[ocl.Label]int{5: 0, 1: 1}[label]]--
		d.Row(i)[0], d.Row(i)[1] = float32(p[0]/5), float32(p[1]/5)
	}
	clear(before.Grads())
	ws.Backward(d)
	optim.SGD{LR: 0.01}.New().Step(before, ws)
	for i, v := range r.Net.Params() {
		if want := before.Params()[i]; !(math.Abs(float64(v-want)) <= 1e-6) {
			t.Fatalf("parameter %d is %v, want %v", i, v, want)
		}
	}
}

// TestTricksWorkers: no number of workers moves a bit of a run with teacher and review.
func TestTricksWorkers(t *testing.T) {
	run := func(workers int) string {
		r := replaying(t, 11)
		ws := r.Net.NewWorkspace(workers)
		defer ws.Close()
		r.WS = ws
		r.Classes, r.Teacher, r.Criterion = &learner.Classes{}, &learner.Teacher{},
			loss.Distilled{Labels: loss.Separated{}, Root: true}
		r.Review = &learner.Review{Batch: 4}
		stats := residualCase.Learn(t, learner.Bounded{Replay: r}, residualCase.Batches(1, 6, 5), 0, 6)
		return fmt.Sprint(stats, r.Net.Params(), r.Net.Running())
	}
	if run(1) != run(3) {
		t.Error("3 workers lead to other numbers than one")
	}
}

// embedding is a learner of somebody else that embeds a Replay and forwards nothing.
type embedding struct{ *learner.Replay }

// TestUntoldIsRefused: a Replay whose fields need the boundaries of tasks refuses batches before BeginTask, and the
// error says what to do. So do a Replay within another learner, and a Review without memory.
func TestUntoldIsRefused(t *testing.T) {
	batches := residualCase.Batches(1, 2, 5)
	for name, c := range map[string]struct {
		build func(*learner.Replay) ocl.Learner
		want  string
	}{
		"review": {func(r *learner.Replay) ocl.Learner { r.Review = &learner.Review{}; return r }, "the Review of a Replay"},
		"teacher": {func(r *learner.Replay) ocl.Learner {
			r.Teacher, r.Classes, r.Criterion = &learner.Teacher{}, &learner.Classes{}, loss.Distilled{}
			return r
		}, "the Teacher of a Replay"},
		"classes": {func(r *learner.Replay) ocl.Learner { r.Classes = &learner.Classes{}; return r },
			"the Classes of a Replay"},
		"embedded": {func(r *learner.Replay) ocl.Learner {
			r.Review = &learner.Review{}
			return embedding{r}
		}, "the Review of a Replay"},
		"bounded": {func(r *learner.Replay) ocl.Learner {
			r.Review = &learner.Review{}
			return learner.Bounded{Replay: r}
		}, "the Review of a Replay"},
		"agem":  {func(r *learner.Replay) ocl.Learner { return learner.NewAGEM(r) }, "A-GEM"},
		"ewc++": {func(r *learner.Replay) ocl.Learner { return learner.NewEWC(r, learner.EWCOptions{Every: 1}) }, "EWC++"},
		"lwf":   {func(r *learner.Replay) ocl.Learner { return learner.NewLwF(r, false) }, "the Teacher of a Replay"},
	} {
		r := replaying(t, 11)
		l := c.build(r)
		before := r.Net.Clone()
		_, err := l.Observe(context.Background(), batches[0])
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "learner.Bounded") {
			t.Errorf("%s: error %v, want one that names %q and learner.Bounded", name, err, c.want)
		}
		if !slices.Equal(before.Params(), r.Net.Params()) || r.Memory.Len() > 0 {
			t.Errorf("%s: it has learned all the same", name)
		}
	}
	r := residual(t)
	r.Review = &learner.Review{}
	l := learner.Bounded{Replay: r}
	if err := l.BeginTask(ocl.TaskInfo{}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Observe(context.Background(), batches[0]); err == nil || !strings.Contains(err.Error(), "Set Memory") {
		t.Errorf("a review of no memory: error %v", err)
	}
}

// TestMeanTeaches: a step's loss is that of the mean network's logits by running statistics, for augmented images and
// for those as they came, of the incoming and of the replayed batch; and the running statistics of the mean are means.
func TestMeanTeaches(t *testing.T) {
	r := replaying(t, 12)
	r.Mean = &learner.Mean{Momentum: 0.75, Teaches: true}
	r.Criterion = loss.MeanDistilled{Weight: 3, T: 4}
	r.Augment, r.Transform = true, &augment.Flip{P: 1}
	batches := residualCase.Batches(1, 8, 5)
	mean := r.Net.Clone()
	for i := range 4 {
		residualCase.Learn(t, r, batches, i, i+1)
		for _, pair := range [][2][]float32{{mean.Params(), r.Net.Params()}, {mean.Running(), r.Net.Running()}} {
			for k, v := range pair[1] {
				pair[0][k] = float32(0.75*pair[0][k]) + float32(0.25*v)
			}
		}
		mean.Changed()
	}
	before, retrieved := r.Net.Clone(), &recorder{Retriever: r.Retrieve}
	r.Retrieve = retrieved
	stored := memory.NewStore(12, residualCase.Shape, nil)
	if err := stored.LoadState(learnertest.State(t, r.Memory).Decoder()); err != nil {
		t.Fatal(err)
	}
	got := residualCase.Learn(t, r, batches, 4, 5)[0]
	replayed := ocl.Batch{X: tensor.New(4, 3, 32, 32), Y: make([]ocl.Label, 4)}
	stored.Gather(replayed.X, replayed.Y, retrieved.slots)
	want := 0.0
	ws := before.NewWorkspace(1)
	defer ws.Close()
	for _, b := range []ocl.Batch{batches[4], replayed} {
		mirrored := b.X.Clone()
		(&augment.Flip{P: 1}).Apply(mirrored, rng.New(1, "any"))
		target := mean.Predict(ws, mirrored).Logits.Clone()
		d := tensor.New(b.Len(), 6)
		z := before.Forward(ws, mirrored, nn.BatchOnly)
		ce, err := loss.CrossEntropy{}.Eval(d, loss.Input{Logits: z, Y: b.Y})
		if err != nil {
			t.Fatal(err)
		}
		want += ce + float64(1.5*loss.Distillation{T: 4}.AddTo(d, z, target, 1))
		want += float64(1.5 * loss.Distillation{T: 4}.AddTo(d, before.Forward(ws, b.X, nn.BatchOnly), target, 1))
	}
	if !(math.Abs(got.Loss-want) <= 1e-4) || got.Replay != 4 {
		t.Errorf("%+v, want the loss %v of 4 replayed rows", got, want)
	}
}
