package learner_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/learner"
	"ocl/learn/learner/learnertest"
	"ocl/learn/loss"
	"ocl/learn/memory"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

// dark uses all that a stepper of another module can: two draws, a view of the incoming batch with noise from a source
// of its own, outputs that the memory carries, the classes seen, and states of its own and of its criteria.
type dark struct {
	view  memory.Buffer
	steps int64 // of all batches
	far   *far
}

var _ ocl.State = (*dark)(nil)

func (s *dark) Gradient(r *learner.Replay, _ ocl.Batch) (ocl.StepStats, error) {
	a, err := r.Draw()
	if err != nil {
		return ocl.StepStats{}, err
	}
	b, err := r.Draw()
	if err != nil {
		return ocl.StepStats{}, err
	}
	s.steps++
	s.far.weight = 1 / float64(s.steps)
	a.Criterion = s.far
	in := r.Incoming()
	view := in.View(&s.view)
	for i := range view.X.Data {
		view.X.Data[i] += 0.1 * r.Rand("noise").Float32()
	}
	stats, err := r.Accumulate(in, view, a, b)
	if err != nil {
		return stats, err
	}
	r.Keep(r.Passes()[0].Outputs)
	return stats, nil
}

func (s *dark) SaveState(e *checkpoint.Encoder) error { return s.parts().SaveState(e) }
func (s *dark) LoadState(d *checkpoint.Decoder) error { return s.parts().LoadState(d) }
func (s *dark) parts() checkpoint.Parts {
	return checkpoint.Parts{checkpoint.Values("steps", &s.steps)}
}

// far is the squared distance from the stored outputs.
type far struct{ weight float64 }

func (c *far) Eval(d *tensor.Tensor, in loss.Input) (float64, error) {
	clear(d.Data)
	sum, n := 0.0, 0
	for i, valid := range in.Valid {
		n += valid
		for k, v := range in.Stored.Row(i)[:valid] {
			difference := float64(in.Logits.Row(i)[k] - v)
			sum += float64(difference * difference)
			d.Row(i)[k] = float32(difference)
		}
	}
	scale := c.weight / float64(max(n, 1))
	for i := range d.Data {
		d.Data[i] *= float32(2 * scale)
	}
	return float64(sum * scale), nil
}

// unseen is cross entropy over the classes of the batch and those that were never observed; of replayed rows over all.
// It counts the classes seen in its state.
type unseen struct{ most int }

func (c *unseen) Eval(d *tensor.Tensor, in loss.Input) (float64, error) {
	if in.Seen == nil || in.Role == 0 {
		return 0, errors.New("the learner does not say which classes were seen, or where rows come from")
	}
	if !in.Role.Has(loss.Incoming) {
		return loss.CrossEntropy{}.Eval(d, in)
	}
	if !in.Role.Has(loss.View) {
		c.most = max(c.most, len(in.Seen))
	}
	in.New = nil
	for k := range in.Logits.Dim(1) {
		if y := ocl.Label(k); slices.Contains(in.Y, y) || !slices.Contains(in.Seen, y) {
			in.New = append(in.New, y)
		}
	}
	return loss.Separated{}.Eval(d, in)
}

func (c *unseen) SaveState(e *checkpoint.Encoder) error { return c.parts().SaveState(e) }
func (c *unseen) LoadState(d *checkpoint.Decoder) error { return c.parts().LoadState(d) }
func (c *unseen) parts() checkpoint.Parts {
	return checkpoint.Parts{checkpoint.Values("most", &c.most)}
}

// newDark builds such a learner for so many classes, with a network that inherits from one for fewer, if any.
func newDark(t *testing.T, seed uint64, classes, inherited int) *learner.Replay {
	t.Helper()
	net, err := arch.MLP(arch.Config{Channels: 3, Height: 5, Width: 4, Classes: classes, Hidden: []int{16}},
		rng.New(seed, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	if inherited > 0 {
		net.Inherit(inherited)
	}
	r := learnerOf(t, net, 0.1)
	r.Opt, r.Seed = optim.SGD{LR: 0.1, Momentum: 0.5}.New(), seed
	r.Memory = memory.NewStore(12, shape, nil)
	r.Memory.CarryOutputs(classes)
	r.Step, r.Criterion, r.Seen = &dark{far: &far{}}, &unseen{}, &learner.Seen{}
	return r
}

// TestSeamContract: a method that somebody else writes with all that there is for that is a learner like those of the
// catalogue.
func TestSeamContract(t *testing.T) {
	c := made
	c.Capacity = 12
	c.New = func(t *testing.T, seed uint64) ocl.Learner { return newDark(t, seed, 6, 0) }
	c.Heir = func(t *testing.T, seed uint64, classes int) ocl.Learner { return newDark(t, seed, classes, 6) }
	learnertest.Run(t, c)
}

// TestSeamIsSaved: the sections of all that a method of somebody else adds, and nothing of it where it is not used.
func TestSeamIsSaved(t *testing.T) {
	r := newDark(t, 1, 6, 0)
	made.Learn(t, r, made.Batches(1, 6, 5), 0, 4)
	names := learnertest.State(t, r).Names()
	further := []string{
		"criterion/most", "memory/floats/data", "memory/floats/size", "memory/floats/valid", "rng/names", "rng/step/noise",
		"seen/classes", "step/steps",
	}
	plain := []string{
		"memory/labels", "memory/origins", "memory/pixels", "memory/size", "net/params", "net/running", "opt/m",
		"rng/retrieve", "rng/update", "steps",
	}
	want := slices.Sorted(slices.Values(slices.Concat(further, plain)))
	if slices.Sort(names); !slices.Equal(names, want) {
		t.Errorf("sections %q, want %q", names, want)
	}
	er := newDark(t, 1, 6, 0)
	er.Memory, er.Step, er.Criterion, er.Seen = memory.NewStore(12, shape, nil), nil, nil, nil
	made.Learn(t, er, made.Batches(1, 6, 5), 0, 4)
	names = learnertest.State(t, er).Names()
	if slices.Sort(names); !slices.Equal(names, plain) {
		t.Errorf("sections of ER %q, want %q", names, plain)
	}
}

// FuzzSeam: a changed state of such a learner is refused with a message that can be read, or the learner is whole.
func FuzzSeam(f *testing.F) {
	for _, b := range []string{"", "\x0b\x01\x00", "\x0c\x05\x08\x03\x01", "\x0d\x05\x07\x03\x0e", "\x0e\x06\x09\x04\x00",
		"\x0f\x01\x00", "\x10\x05\x00"} {
		f.Add([]byte(b))
	}
	batches := made.Batches(1, 6, 5)
	var saved *checkpoint.Container
	f.Fuzz(func(t *testing.T, b []byte) {
		if saved == nil {
			l := newDark(t, 1, 6, 0)
			made.Learn(t, l, batches, 0, 4)
			saved = learnertest.State(t, l)
		}
		state, l := learnertest.Changed(saved, b), newDark(t, 2, 6, 0)
		if err := l.LoadState(state.Decoder()); err != nil {
			if strings.ContainsFunc(err.Error(), unicode.IsControl) {
				t.Errorf("a message with a control character: %q", err)
			}
			return
		}
		again := learnertest.State(t, l)
		for _, name := range again.Names() {
			got, _ := again.Decoder().Bytes(name)
			want, err := state.Decoder().Bytes(name)
			if grown := name == "memory/floats/data" || name == "memory/floats/size"; !grown &&
				(err != nil || !slices.Equal(got, want)) {
				t.Errorf("section %s is loaded and saved as something else", name)
			}
		}
		for _, b := range batches[4:] {
			if _, err := l.Observe(context.Background(), b); err != nil {
				return
			}
		}
	})
}

// TestPassesSayWhereRowsComeFrom: roles, slots and what slots carry, alone and joined.
func TestPassesSayWhereRowsComeFrom(t *testing.T) {
	r := newDark(t, 1, 6, 0)
	batches := made.Batches(1, 3, 5)
	learnertest.Observe(t, r, batches[:2])
	var joined memory.Buffer
	asked := false
	r.Step = stepFunc(func(r *learner.Replay, b ocl.Batch) (ocl.StepStats, error) {
		in, view := r.Incoming(), r.Incoming().View(&memory.Buffer{})
		if in.Role != loss.Incoming || in.X != b.X || view.Role != loss.Incoming|loss.View || view.X == b.X ||
			!slices.Equal(view.X.Data, b.X.Data) {
			t.Errorf("the incoming batch has the role %v, a view of it %v", in.Role, view.Role)
		}
		p, err := r.Draw()
		if err != nil || p.Role != loss.Replayed || p.Len() != 10 {
			t.Fatalf("drawn: role %v, %d rows (%v)", p.Role, p.Len(), err)
		}
		if again, err := r.Draw(); err != nil || again.X == p.X || &again.Slots[0] == &p.Slots[0] {
			t.Fatalf("a second draw is in the room of the first (%v)", err)
		}
		one := tensor.New(1, 3, 5, 4)
		for i, slot := range p.Slots {
			y := make([]ocl.Label, 1)
			r.Memory.Gather(one, y, []int{slot})
			if !slices.Equal(one.Data, p.X.Row(i)) || y[0] != p.Y[i] || p.Valid[i] != 6 {
				t.Errorf("row %d is not the sample of slot %d, or has %d of 6 numbers", i, slot, p.Valid[i])
			}
		}
		both := learner.Join(&joined, learner.Pass{}, in, p)
		wantSlots := append([]int{-1, -1, -1, -1, -1}, p.Slots...)
		if both.Role != loss.Joined || !slices.Equal(both.Slots, wantSlots) ||
			!slices.Equal(both.Y, slices.Concat(in.Y, p.Y)) ||
			!slices.Equal(both.X.Data, slices.Concat(in.X.Data, p.X.Data)) ||
			!slices.Equal(both.Valid[:6], []int{0, 0, 0, 0, 0, 6}) ||
			!slices.Equal(both.Stored.Data, slices.Concat(make([]float32, 5*6), p.Stored.Data)) {
			t.Errorf("joined: %+v", both)
		}
		asked = true
		stats, err := r.Accumulate(view, both, both.View(&memory.Buffer{}))
		if stats.Replay != 10 || stats.Correct != r.Passes()[1].Correct || r.Passes()[0].Correct != 0 ||
			r.Passes()[2].Correct != 0 {
			t.Errorf("%+v; want 10 rows replayed, and rows of views not counted", stats)
		}
		r.Keep(tensor.New(5, 6))
		return stats, err
	})
	learnertest.Observe(t, r, batches[2:])
	if !asked {
		t.Error("the stepper was not asked")
	}
}

// TestViewsAreNotCounted: rows of a view are not counted as predicted correctly, even if they are.
func TestViewsAreNotCounted(t *testing.T) {
	r := perceptron(t, 0.1)
	b := made.Batches(1, 1, 5)[0]
	b.Y = learnertest.Predict(t, r, b.X)
	r.Step = stepFunc(func(r *learner.Replay, b ocl.Batch) (ocl.StepStats, error) {
		in := r.Incoming()
		stats, err := r.Accumulate(in.View(&memory.Buffer{}), in)
		if p := r.Passes(); stats.Correct != 5 || p[0].Correct != 0 || p[1].Correct != 5 {
			t.Errorf("%+v; %d rows of the view and %d of the batch are counted, want 0 and 5", stats, p[0].Correct, p[1].Correct)
		}
		return stats, err
	})
	if s := learnertest.Observe(t, r, []ocl.Batch{b})[0]; s.Correct != 5 {
		t.Errorf("%+v, want 5 correct", s)
	}
}

// TestJoinAgain: a buffer that was used before gives rows without numbers zeros.
func TestJoinAgain(t *testing.T) {
	var dst memory.Buffer
	b := made.Batches(1, 1, 2)[0]
	in := learner.Pass{Batch: b, Role: loss.Incoming}
	of := learner.Pass{Batch: b, Role: loss.Replayed, Slots: []int{3, 4}, Stored: tensor.Of([]float32{1, 2, 3, 4}, 2, 2),
		Valid: []int{2, 1}}
	learner.Join(&dst, of, in)
	got := learner.Join(&dst, in, of)
	if want := []float32{0, 0, 0, 0, 1, 2, 3, 4}; !slices.Equal(got.Stored.Data, want) ||
		!slices.Equal(got.Valid, []int{0, 0, 2, 1}) || !slices.Equal(got.Slots, []int{-1, -1, 3, 4}) {
		t.Errorf("numbers %v, valid %v, slots %v; want %v", got.Stored.Data, got.Valid, got.Slots, want)
	}
}

// stepFunc is a stepper, and criterionFunc a criterion.
type (
	stepFunc      func(r *learner.Replay, b ocl.Batch) (ocl.StepStats, error)
	criterionFunc func(d *tensor.Tensor, in loss.Input) (float64, error)
)

func (f stepFunc) Gradient(r *learner.Replay, b ocl.Batch) (ocl.StepStats, error) { return f(r, b) }
func (f criterionFunc) Eval(d *tensor.Tensor, in loss.Input) (float64, error)     { return f(d, in) }

// TestFaultyCriteria: a criterion of somebody else that does what it may not ends the learner with an error that names
// it and the step, before the network has moved.
func TestFaultyCriteria(t *testing.T) {
	good := loss.CrossEntropy{}
	for name, c := range map[string]struct {
		eval     criterionFunc
		want     string
		diverged bool
	}{
		"NaN": {func(*tensor.Tensor, loss.Input) (float64, error) { return math.NaN(), nil }, "NaN of learner_test",
			true},
		"infinite": {func(*tensor.Tensor, loss.Input) (float64, error) { return math.Inf(1), nil }, "+Inf of learner_test",
			true},
		"its error": {func(*tensor.Tensor, loss.Input) (float64, error) { return 0, errors.New("no luck") }, "no luck",
			false},
		"NaN in both": {func(d *tensor.Tensor, in loss.Input) (float64, error) {
			d.Data[3] = float32(math.NaN())
			return math.NaN(), nil
		}, "NaN of learner_test", true},
		"NaN in the gradient": {func(d *tensor.Tensor, in loss.Input) (float64, error) {
			d.Data[3] = float32(math.NaN())
			return 1, nil
		}, "the gradient has a value that is none", true},
		"another shape": {func(d *tensor.Tensor, in loss.Input) (float64, error) {
			d.Resize(2, 3)
			return 1, nil
		}, "a gradient of shape [2 3] of its own. Write into the one that is given, of shape [5 6]", false},
		"as many numbers in another shape": {func(d *tensor.Tensor, in loss.Input) (float64, error) {
			d.Resize(6, 5)
			return 1, nil
		}, "a gradient of shape [6 5] of its own. Write into the one that is given, of shape [5 6]", false},
		"another memory": {func(d *tensor.Tensor, in loss.Input) (float64, error) {
			*d = *tensor.New(5, 6)
			return 1, nil
		}, "a gradient of shape [5 6] of its own", false},
		"labels": {func(d *tensor.Tensor, in loss.Input) (float64, error) {
			in.Y[1] = (in.Y[1] + 1) % 6
			return good.Eval(d, in)
		}, "changed the labels", false},
		"outputs": {func(d *tensor.Tensor, in loss.Input) (float64, error) {
			return good.Eval(in.Logits, in)
		}, "changed the labels, slots or outputs", false},
	} {
		r := perceptron(t, 0.1)
		r.Criterion = criterionFunc(func(d *tensor.Tensor, in loss.Input) (float64, error) {
			if len(in.Y) == 5 {
				return c.eval(d, in)
			}
			return good.Eval(d, in)
		})
		learnertest.Observe(t, r, made.Batches(1, 1, 4))
		before := slices.Clone(r.Net.Params())
		_, err := r.Observe(context.Background(), made.Batches(1, 1, 5)[0])
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "learner_test.criterionFunc") ||
			!strings.Contains(err.Error(), "step 2") || errors.Is(err, ocl.ErrDiverged) != c.diverged {
			t.Errorf("%s: error %v, want %q, the criterion and step 2", name, err, c.want)
		}
		if !slices.Equal(r.Net.Params(), before) {
			t.Errorf("%s: the network has moved", name)
		}
	}
}

// together is Summed as one loss over both passes.
type together struct {
	all   learner.TogetherLoss // loss
	after func(p []learner.Pass, d []*tensor.Tensor, sum float64) float64
}

func (s *together) Gradient(r *learner.Replay, _ ocl.Batch) (ocl.StepStats, error) {
	p, err := r.Draw()
	if err != nil {
		return ocl.StepStats{}, err
	}
	if s.all == nil {
		s.all = s.loss
	}
	return r.AccumulateTogether(s.all, r.Incoming(), p)
}

func (s *together) loss(p []learner.Pass, d []*tensor.Tensor) (sum float64, err error) {
	for i := range p {
		if p[i].Len() == 0 {
			continue
		}
		mean, err := loss.CrossEntropy{}.Eval(d[i], loss.Input{Logits: p[i].Outputs, Y: p[i].Y})
		if err != nil {
			return 0, err
		}
		sum += mean
	}
	if s.after != nil {
		sum = s.after(p, d, sum)
	}
	return sum, nil
}

// TestTogether: a sum over the passes as one loss is ER, bit for bit, for any number of workers.
func TestTogether(t *testing.T) {
	batches := residualCase.Batches(1, 4, 5)
	for _, workers := range []int{1, 2} {
		var stats [2][]ocl.StepStats
		var params [2][]float32
		for i, step := range []learner.Stepper{learner.Summed{}, &together{}} {
			r := residual(t)
			r.WS = r.Net.NewWorkspace(workers)
			t.Cleanup(r.WS.Close)
			r.Memory, r.Step = memory.NewStore(12, residualCase.Shape, nil), step
			stats[i] = learnertest.Observe(t, r, batches)
			params[i] = r.Net.Params()
		}
		if !slices.Equal(stats[0], stats[1]) || !slices.Equal(params[0], params[1]) {
			t.Errorf("%d workers: one loss gives %v, one a pass %v, or another network", workers, stats[1], stats[0])
		}
	}
}

// TestFaultyTogether: a loss over several passes that does what it may not is an error that names its stepper and the
// step.
func TestFaultyTogether(t *testing.T) {
	for name, c := range map[string]struct {
		after    func(p []learner.Pass, d []*tensor.Tensor, sum float64) float64
		want     string
		diverged bool
	}{
		"NaN": {func(_ []learner.Pass, _ []*tensor.Tensor, _ float64) float64 { return math.NaN() },
			"NaN of *learner_test.together", true},
		"another shape": {func(_ []learner.Pass, d []*tensor.Tensor, sum float64) float64 {
			d[1].Resize(3, 6)
			return sum
		}, "a gradient of shape [3 6] of its own", false},
		"labels": {func(p []learner.Pass, _ []*tensor.Tensor, sum float64) float64 {
			p[1].Y[0] = (p[1].Y[0] + 1) % 6
			return sum
		}, "changed the labels", false},
		"slots": {func(p []learner.Pass, _ []*tensor.Tensor, sum float64) float64 {
			p[1].Slots[2]++
			return sum
		}, "changed the labels, slots", false},
		"outputs": {func(p []learner.Pass, _ []*tensor.Tensor, sum float64) float64 {
			p[0].Outputs.Data[0]++
			return sum
		}, "slots or outputs", false},
	} {
		r := perceptron(t, 0.1)
		r.Memory = memory.NewStore(12, shape, nil)
		step := &together{}
		r.Step = step
		batches := made.Batches(1, 2, 5)
		learnertest.Observe(t, r, batches[:1])
		step.after = c.after
		_, err := r.Observe(context.Background(), batches[1])
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "*learner_test.together") ||
			!strings.Contains(err.Error(), "step 2") || errors.Is(err, ocl.ErrDiverged) != c.diverged {
			t.Errorf("%s: error %v, want %q, the stepper and step 2", name, err, c.want)
		}
	}
}

// TestProjection: outputs of no class count no right predictions, and predict none but by class means.
func TestProjection(t *testing.T) {
	net, err := arch.MLP(arch.Config{Channels: 3, Height: 5, Width: 4, Classes: 6, Hidden: []int{16},
		Head: nn.Head{Kind: nn.ProjectionHead, Out: 7}}, rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	r := learnerOf(t, net, 0.1)
	r.Memory, r.Criterion = memory.NewStore(12, shape, nil),
		criterionFunc(func(d *tensor.Tensor, in loss.Input) (float64, error) {
			clear(d.Data)
			return 1, nil
		})
	batches := made.Batches(1, 3, 5)
	if s := learnertest.Observe(t, r, batches[:2])[1]; s.Correct != -1 || s.Loss != 2 || s.Replay != 5 {
		t.Errorf("%+v; want -1 correct, a loss of 2 and 5 replayed", s)
	}
	if err := r.Predict(make([]ocl.Label, 5), batches[0].X); err == nil ||
		!strings.Contains(err.Error(), "Use learner.Nearest") {
		t.Errorf("predicts by a projection: error %v", err)
	}
	for _, y := range learnertest.Predict(t, &learner.Nearest{Replay: r}, batches[0].X) {
		if y < 0 || y >= 6 {
			t.Errorf("label %d by class means", y)
		}
	}
	r.Step = stepFunc(func(r *learner.Replay, _ ocl.Batch) (ocl.StepStats, error) {
		in := r.Incoming()
		in.Criterion = loss.CrossEntropy{}
		return r.Accumulate(in)
	})
	const want = "step 3: loss.CrossEntropy learns from an output a class, and a projection head has none"
	if _, err := r.Observe(context.Background(), batches[2]); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("learns by a projection as by classes: error %v, want %q", err, want)
	}
}

// TestFaultyKeep: what a stepper keeps must be what the memory carries.
func TestFaultyKeep(t *testing.T) {
	for name, c := range map[string]struct {
		carry func(*memory.Store)
		keep  *tensor.Tensor
		want  string
	}{
		"nothing kept": {func(m *memory.Store) { m.Carry(3) }, nil,
			"carries 3 numbers with each sample, but learner_test.stepFunc keeps none"},
		"nothing carried": {func(m *memory.Store) {}, tensor.New(5, 3), "keeps numbers, but the memory carries none"},
		"another shape": {func(m *memory.Store) { m.Carry(3) }, tensor.New(5, 2),
			"keeps numbers of shape [5 2] for 5 rows. Keep 3 of each row"},
		"another number": {func(m *memory.Store) { m.Carry(3) }, tensor.New(4, 3),
			"keeps numbers of shape [4 3] for 5 rows"},
		"right": {func(m *memory.Store) { m.Carry(3) }, tensor.New(5, 3), ""},
	} {
		r := perceptron(t, 0.1)
		r.Memory = memory.NewStore(12, shape, nil)
		c.carry(r.Memory)
		r.Step = stepFunc(func(r *learner.Replay, b ocl.Batch) (ocl.StepStats, error) {
			if c.keep != nil {
				r.Keep(c.keep)
			}
			return learner.Summed{}.Gradient(r, b)
		})
		_, err := r.Observe(context.Background(), made.Batches(1, 1, 5)[0])
		if c.want == "" != (err == nil) || err != nil &&
			(!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "step 1")) {
			t.Errorf("%s: error %v, want %q in step 1", name, err, c.want)
		}
	}
}

// TestChangedBatch: a stepper that changes the incoming batch is found before the memory stores it.
func TestChangedBatch(t *testing.T) {
	for name, change := range map[string]func(ocl.Batch){
		"a label": func(b ocl.Batch) { b.Y[0]++ }, "a pixel": func(b ocl.Batch) { b.Pixels[3]++ },
	} {
		r := perceptron(t, 0.1)
		r.Memory = memory.NewStore(12, shape, nil)
		r.Step = stepFunc(func(r *learner.Replay, b ocl.Batch) (ocl.StepStats, error) {
			change(b)
			return learner.Summed{}.Gradient(r, b)
		})
		const want = "step 1: the stepper learner_test.stepFunc changed labels or pixels of the incoming batch"
		_, err := r.Observe(context.Background(), made.Batches(1, 1, 5)[0])
		if err == nil || !strings.Contains(err.Error(), want) || r.Memory.Len() > 0 {
			t.Errorf("%s: error %v with %d samples stored, want %q", name, err, r.Memory.Len(), want)
		}
	}
}

// TestKeepIsOfOneBatch: what was kept for a batch is not stored with the next one.
func TestKeepIsOfOneBatch(t *testing.T) {
	r := perceptron(t, 0.1)
	r.Memory = memory.NewStore(12, shape, nil)
	r.Memory.Carry(3)
	keep := true
	r.Step = stepFunc(func(r *learner.Replay, b ocl.Batch) (ocl.StepStats, error) {
		if keep {
			r.Keep(tensor.New(5, 3))
		}
		return learner.Summed{}.Gradient(r, b)
	})
	batches := made.Batches(1, 2, 5)
	learnertest.Observe(t, r, batches[:1])
	keep = false
	if _, err := r.Observe(context.Background(), batches[1]); err == nil || !strings.Contains(err.Error(), "step 2") ||
		!strings.Contains(err.Error(), "keeps none") {
		t.Errorf("error %v, want that nothing is kept in step 2", err)
	}
}

// TestSkipStep: the network stays as it is, also by weight decay and momentum, and the batch is observed and stored.
func TestSkipStep(t *testing.T) {
	r := perceptron(t, 0.1)
	r.Opt = optim.SGD{LR: 0.1, Momentum: 0.9, WeightDecay: 0.1}.New()
	r.Memory, r.Seen = memory.NewStore(12, shape, nil), &learner.Seen{}
	learnertest.Observe(t, r, made.Batches(1, 1, 5))
	before := slices.Clone(r.Net.Params())
	r.Step = stepFunc(func(*learner.Replay, ocl.Batch) (ocl.StepStats, error) {
		return ocl.StepStats{Correct: -1}, learner.SkipStep
	})
	b := made.Batches(2, 2, 5)[1]
	if s := learnertest.Observe(t, r, []ocl.Batch{b})[0]; s.Correct != -1 || s.Loss != 0 {
		t.Errorf("%+v", s)
	}
	if !slices.Equal(r.Net.Params(), before) || r.Memory.Len() != 10 || !slices.Contains(r.Seen.Classes(), b.Y[0]) {
		t.Errorf("the network has moved, or %d samples are stored, or %v were seen", r.Memory.Len(), r.Seen.Classes())
	}
}

// slotsFunc retrieves and updates by a function of the number of filled slots.
type slotsFunc func(filled int) []int

func (f slotsFunc) Update(dst []int, m *memory.Store, _ ocl.Batch, _ memory.Env) ([]int, error) {
	return append(dst, f(m.Len())...), nil
}

func (f slotsFunc) Retrieve(dst []int, m *memory.Store, _ ocl.Batch, _ memory.Env) ([]int, error) {
	return append(dst, f(m.Len())...), nil
}

// TestWrongSlots: what an updater or a retriever returns is held against the memory, and the error names it.
func TestWrongSlots(t *testing.T) {
	const name = "learner_test.slotsFunc."
	for want, choose := range map[string]slotsFunc{
		"step 1: " + name +
			"Update returned 0 slots for 5 rows. Append one for each row, -1 to drop it": func(int) []int { return nil },
		"step 1: " + name + "Update returned the slot 3 for row 1. Return -1, or a slot from 0 to 1": func(n int) []int {
			return []int{n,
				3, -1, -1, -1}
		},
		"step 1: " + name + "Update returned the slot -7 for row 0. Return -1, or a slot from 0 to 0": func(int) []int {
			return []int{-7,
				0, 0, 0, 0}
		},
		"step 2: " + name + "Update returned the slot 6 for row 4. Return -1, or a slot from 0 to 5": func(n int) []int {
			return [][]int{0: {0,
				1, 2, 3, 4}, 5: {5, 0, 1, 2, 6}}[n]
		},
		"step 3: " + name + "Retrieve returned the slot 2. Return slots from 0 to 1": func(n int) []int {
			return []int{0,
				n}
		},
		"step 3: " + name +
			"Retrieve returned the slot -1. Return slots from 0 to 1": func(int) []int { return []int{-1} },
		"step 3: " + name + "Retrieve returned 3 slots, but 2 are filled. Return none twice": func(int) []int {
			return []int{0,
				1, 0}
		},
	} {
		r := perceptron(t, 0.1)
		r.Memory = memory.NewStore(6, shape, nil)
		if strings.Contains(want, "Update") {
			r.Update = choose
		} else {
			r.Update, r.Retrieve = slotsFunc(func(n int) []int { return []int{min(n, 1), -1, -1, -1, 0} }),
				slotsFunc(func(n int) []int {
					if n < 2 {
						return nil
					}
					return choose(n)
				})
		}
		var err error
		for _, b := range made.Batches(1, 3, 5) {
			if _, err = r.Observe(context.Background(), b); err != nil {
				break
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %s", err, want)
		}
	}
}

// TestSeenIsBeforeTheBatch, in every iteration, and rises.
func TestSeenIsBeforeTheBatch(t *testing.T) {
	r := perceptron(t, 0.1)
	r.Seen, r.Iterations = &learner.Seen{}, 2
	var got []string
	r.Criterion = criterionFunc(func(d *tensor.Tensor, in loss.Input) (float64, error) {
		got = append(got, fmt.Sprint(in.Seen, in.Seen == nil))
		if cap(in.Seen) > len(in.Seen) || cap(in.Y) > len(in.Y) {
			t.Errorf("a criterion that appends to %v or %v changes what others read", in.Seen, in.Y)
		}
		return loss.CrossEntropy{}.Eval(d, in)
	})
	for _, y := range []ocl.Label{4, 1, 4} {
		b := made.Batches(1, 1, 1)[0]
		b.Y = append(make([]ocl.Label, 0, 9), y)
		learnertest.Observe(t, r, []ocl.Batch{b})
	}
	if want := []string{"[] false", "[] false", "[4] false", "[4] false", "[1 4] false", "[1 4] false"}; !slices.Equal(got,
		want) {
		t.Errorf("seen %q, want %q", got, want)
	}
}

// TestSeenOfActiveClasses: a learner loads the classes seen of a network that has more active classes than its own had
// before.
func TestSeenOfActiveClasses(t *testing.T) {
	few, more := perceptron(t, 0.1), perceptron(t, 0.1)
	few.Seen, more.Seen = &learner.Seen{}, &learner.Seen{}
	few.Net.SetActive(1)
	more.Net.SetActive(4)
	b := made.Batches(1, 1, 2)[0]
	copy(b.Y, []ocl.Label{0, 3})
	learnertest.Observe(t, more, []ocl.Batch{b})
	if err := few.LoadState(learnertest.State(t, more).Decoder()); err != nil || !slices.Equal(few.Seen.Classes(), b.Y) {
		t.Errorf("%v were seen: %v", few.Seen.Classes(), err)
	}
}

// TestNamedSources: a source of a stepper is that of its name, and a load goes back to where it was, also to before its
// first draw.
func TestNamedSources(t *testing.T) {
	r := perceptron(t, 0.1)
	fresh := learnertest.State(t, r)
	want := rng.New(r.Seed, "step/a")
	var numbers []uint64
	for range 4 {
		numbers = append(numbers, want.Uint64())
	}
	draw := func(name string, want ...uint64) {
		t.Helper()
		for _, n := range want {
			if got := r.Rand(name).Uint64(); got != n {
				t.Errorf("source %s drew %d, want %d", name, got, n)
			}
		}
	}
	draw("a", numbers[:2]...)
	draw("b/c", rng.New(r.Seed, "step/b/c").Uint64())
	saved := learnertest.State(t, r)
	draw("a", numbers[2:]...)
	for range 2 { // into one with these sources and another, and into a new one
		r.Rand("z").Uint64()
		if err := r.LoadState(saved.Decoder()); err != nil {
			t.Fatal(err)
		}
		learnertest.CheckSame(t, "loaded", learnertest.State(t, r), saved)
		draw("a", numbers[2:]...)
		draw("z", rng.New(r.Seed, "step/z").Uint64())
		r = perceptron(t, 0.1)
	}
	if err := r.LoadState(saved.Decoder()); err != nil {
		t.Fatal(err)
	}
	if err := r.LoadState(fresh.Decoder()); err != nil {
		t.Fatal(err)
	}
	draw("a", numbers...)
	func() {
		defer func() {
			if got := fmt.Sprint(recover()); !strings.Contains(got, "has several lines") {
				t.Errorf("a name of two lines: panic %q", got)
			}
		}()
		r.Rand("a\nb")
	}()
	names := "b\na"
	bad := checkpoint.NewContainer()
	for _, name := range saved.Names() {
		b, _ := saved.Decoder().Bytes(name)
		if name == "rng/names" {
			b = []byte(names)
		}
		bad.Encoder().Bytes(name, b)
	}
	if err := r.LoadState(bad.Decoder()); err == nil || !strings.Contains(err.Error(), "not in order") {
		t.Errorf("names out of order: error %v", err)
	}
}
