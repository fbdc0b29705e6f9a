// Package learnertest is the contract of ocl.Learner as tests: one call to [Run] for each method. It knows no learner
// by name.
package learnertest

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/learner"
	"ocl/nn"
	"ocl/nn/tensor"
	"ocl/rng"
)

// Case is a learner under test. New builds a fresh one; two calls with one seed build the same.
type Case struct {
	Shape    [3]int // C, H, W
	Classes  int
	Capacity int // most samples in memory; 0 means none
	Steps    int // batches that a test observes; 0 is 6
	New      func(t *testing.T, seed uint64) ocl.Learner
	// Late says that the learner has no network to predict with before it has learned some batches, that its memory may be
	// empty after a batch, and that it shows its predictions alone (it is no learner.Open).
	Late bool
	// Drawless says that the learner draws nothing, so that all seeds give the same bits.
	Drawless bool
	// Heir builds the learner for so many classes, at least Classes, with a network that inherits from one of Classes
	// ([nn.Network.Inherit]). nil leaves out that a learner can grow.
	Heir func(t *testing.T, seed uint64, classes int) ocl.Learner
	// Vary builds the learner with one declared hyperparameter changed, by the hyperparameter's name.
	Vary map[string]func(t *testing.T, seed uint64) ocl.Learner
}

// Batches returns n batches of size b of made-up images in [0,1], each class a different blurred pattern plus noise, in
// the order of two tasks that share the classes between them.
func (c Case) Batches(seed uint64, n, b int) []ocl.Batch {
	src := rng.New(seed, "learnertest/batches")
	batches := make([]ocl.Batch, n)
	for i := range batches {
		size := c.Shape[0] * c.Shape[1] * c.Shape[2]
		pixels, y := make([]byte, b*size), make([]ocl.Label, b)
		task := 2 * i / n
		half := (c.Classes + 1) / 2
		for j := range y {
			y[j] = ocl.Label(min(task*half+src.IntN(half), c.Classes-1))
			pattern := rng.New(uint64(y[j]), "learnertest/pattern")
			for k := range size {
				pixels[j*size+k] = byte(256 * (0.7*pattern.Float64() + 0.3*src.Float64()))
			}
		}
		batches[i] = ocl.NewBatch(c.Shape, pixels, y, ocl.NewPixelValues(c.Shape[0], nil, nil))
	}
	return batches
}

// Learn feeds batches [lo, hi) of all, made by Batches, to a learner and fails the test on an error. A learner that
// uses task boundaries is told where the two tasks begin and end.
func (c Case) Learn(t *testing.T, l ocl.Learner, all []ocl.Batch, lo, hi int) []ocl.StepStats {
	t.Helper()
	var stats []ocl.StepStats
	for i := lo; i < hi; i++ {
		c.begin(t, l, i, len(all))
		stats = append(stats, Observe(t, l, all[i:i+1])...)
		c.end(t, l, i, len(all))
	}
	return stats
}

// learned is a learner that has learned the first batches.
func (c Case) learned(t *testing.T, seed uint64) ocl.Learner {
	t.Helper()
	l := c.New(t, seed)
	c.Learn(t, l, c.Batches(1, c.Steps, 5), 0, c.Steps)
	return l
}

// taskOf is the task of batch i of n.
func taskOf(i, n int) int { return 2 * i / n }

// begin is called before batch i of n. If a task begins there, it calls BeginTask on a learner that uses boundaries.
func (c Case) begin(t *testing.T, l ocl.Learner, i, n int) {
	t.Helper()
	if i == 0 || taskOf(i, n) != taskOf(i-1, n) {
		beginTask(t, l, c.task(taskOf(i, n)))
	}
}

// beginTask tells a learner that uses boundaries of a task, endTask of its end.
func beginTask(t *testing.T, l ocl.Learner, task ocl.TaskInfo) {
	t.Helper()
	if aware, ok := l.(ocl.TaskAware); ok {
		if err := aware.BeginTask(task); err != nil {
			t.Fatalf("task %d: %v", task.Index, err)
		}
	}
}

func endTask(t *testing.T, l ocl.Learner) {
	t.Helper()
	if aware, ok := l.(ocl.TaskAware); ok {
		if err := aware.EndTask(context.Background()); err != nil {
			t.Fatalf("the end of a task: %v", err)
		}
	}
}

// end is called after batch i of n, and calls EndTask likewise.
func (c Case) end(t *testing.T, l ocl.Learner, i, n int) {
	t.Helper()
	if i == n-1 || taskOf(i, n) != taskOf(i+1, n) {
		endTask(t, l)
	}
}

// task describes one of the two tasks of Batches.
func (c Case) task(i int) ocl.TaskInfo {
	info := ocl.TaskInfo{Index: i}
	half := (c.Classes + 1) / 2
	for k := i * half; k < min((i+1)*half, c.Classes); k++ {
		info.Classes = append(info.Classes, ocl.Label(k))
	}
	return info
}

// Run checks the contract.
func Run(t *testing.T, c Case) {
	if c.Steps == 0 {
		c.Steps = 6
	}
	t.Run("same seed, same bits", c.repeats)
	t.Run("another seed, other bits", c.seeds)
	t.Run("a batch is neither kept nor changed", c.leavesBatch)
	t.Run("predict changes no state", c.predictIsPure)
	t.Run("predicts any number of rows, each by itself", c.predictRows)
	t.Run("shows what it predicts by", c.open)
	t.Run("does not predict by numbers that are none", c.diverged)
	t.Run("the capacity is never exceeded", c.capacity)
	t.Run("says where in the stream its samples were", c.origins)
	t.Run("honours ctx", c.cancelled)
	t.Run("says what it costs", c.costs)
	if l, ok := c.New(t, 1).(learner.Amending); ok && learner.MemoryOf(l) != nil {
		t.Run("lets go of what it stores", c.amends)
	}
	if _, ok := c.New(t, 1).(learner.Reclassing); ok {
		t.Run("makes one class of two, and lets go of one", c.reclasses)
	}
	if _, ok := c.New(t, 1).(learner.Weighted); ok {
		t.Run("takes weights of before", c.weighs)
	}
	if _, ok := c.New(t, 1).(ocl.Watched); ok {
		t.Run("tells how far long work is", c.watched)
	}
	if _, ok := c.New(t, 1).(ocl.Pausing); ok {
		t.Run("pause, save, load, go on equals no pause", c.pauses)
	}
	if _, ok := c.New(t, 1).(ocl.TaskAware); ok {
		t.Run("refuses boundaries that it is not told of", c.boundaries)
	}
	if _, ok := c.New(t, 1).(ocl.Extending); ok {
		t.Run("takes further classes of a task", c.extends)
	}
	if _, ok := c.New(t, 1).(ocl.Preparer); ok {
		t.Run("prepares", c.prepares)
	}
	t.Run("copes with one sample a batch", c.single)
	t.Run("copes with a batch of another size", c.sizes)
	t.Run("save, load, continue equals continue", c.resumes)
	t.Run("loading refuses another configuration", c.refuses)
	if c.Heir != nil {
		t.Run("grows by new classes", c.grows)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Vary)) {
		t.Run("hyperparameter "+name+" changes something", func(t *testing.T) { c.varies(t, c.Vary[name]) })
	}
}

// Observe feeds batches to a learner and fails the test on an error.
func Observe(t *testing.T, l ocl.Learner, batches []ocl.Batch) []ocl.StepStats {
	t.Helper()
	stats := make([]ocl.StepStats, len(batches))
	for i, b := range batches {
		var err error
		if stats[i], err = l.Observe(context.Background(), b); err != nil {
			t.Fatalf("batch %d: %v", i, err)
		}
	}
	return stats
}

// State is all that a learner saves.
func State(t *testing.T, s ocl.State) *checkpoint.Container {
	t.Helper()
	c := checkpoint.NewContainer()
	if err := s.SaveState(c.Encoder()); err != nil {
		t.Fatal(err)
	}
	return c
}

// Predict returns the labels predicted for x, after preparing a learner that wants to be.
func Predict(t *testing.T, l ocl.Learner, x *tensor.Tensor) []ocl.Label {
	t.Helper()
	prepare(t, l)
	dst := make([]ocl.Label, x.Dim(0))
	if err := l.Predict(dst, x); err != nil {
		t.Fatal(err)
	}
	return dst
}

// load loads a state.
func load(t *testing.T, l ocl.Learner, state *checkpoint.Container) {
	t.Helper()
	if err := l.LoadState(state.Decoder()); err != nil {
		t.Fatal(err)
	}
}

func prepare(t *testing.T, l ocl.Learner) {
	t.Helper()
	if p, ok := l.(ocl.Preparer); ok {
		if err := p.Prepare(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// CheckSame fails the test unless two states are equal bit for bit; it names the sections that differ.
func CheckSame(t *testing.T, what string, got, want *checkpoint.Container) {
	t.Helper()
	if got.Equal(want) {
		return
	}
	for _, name := range want.Names() {
		a, err := got.Decoder().Bytes(name)
		b, _ := want.Decoder().Bytes(name)
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: section %s differs", what, name)
		}
	}
	t.Errorf("%s: states differ", what)
}

// throughFile writes a state as the bytes of a checkpoint file and reads it back.
func throughFile(t *testing.T, state *checkpoint.Container) *checkpoint.Container {
	t.Helper()
	var file bytes.Buffer
	if _, err := state.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	saved, err := checkpoint.Parse(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

func (c Case) repeats(t *testing.T) {
	a, b := c.New(t, 1), c.New(t, 1)
	batches := c.Batches(1, c.Steps, 5)
	sa, sb := c.Learn(t, a, batches, 0, c.Steps), c.Learn(t, b, batches, 0, c.Steps)
	CheckSame(t, "second learner", State(t, b), State(t, a))
	if !slices.Equal(sa, sb) {
		t.Errorf("stats %v and %v", sa, sb)
	}
}

func (c Case) seeds(t *testing.T) {
	if State(t, c.learned(t, 1)).Equal(State(t, c.learned(t, 2))) != c.Drawless {
		t.Error("seeds 1 and 2 lead to the same state, or to others though nothing is drawn; want the seed to matter unless the case is Drawless")
	}
}

// wipe overwrites a batch that was observed.
func wipe(b ocl.Batch) {
	for k := range b.X.Data {
		b.X.Data[k], b.Pixels[k] = -1e6, 99
	}
	clear(b.Y)
}

func (c Case) leavesBatch(t *testing.T) {
	kept, wiped := c.New(t, 1), c.New(t, 1)
	batches := c.Batches(1, c.Steps, 5)
	copies := make([]ocl.Batch, c.Steps)
	for i, b := range batches {
		copies[i] = b.Clone()
		c.Learn(t, kept, batches, i, i+1)
		if was := copies[i]; !slices.Equal(b.X.Data, was.X.Data) || !slices.Equal(b.X.Shape, was.X.Shape) ||
			!slices.Equal(b.Y, was.Y) || !slices.Equal(b.Pixels, was.Pixels) {
			t.Fatalf("batch %d was changed", i)
		}
		// Streams reuse the memory of a batch. So overwrite it after Observe: a learner must have kept no reference to it.
		c.Learn(t, wiped, copies, i, i+1)
		wipe(copies[i])
	}
	CheckSame(t, "learner whose batches were overwritten", State(t, wiped), State(t, kept))
}

func (c Case) predictIsPure(t *testing.T) {
	a, b := c.New(t, 1), c.New(t, 1)
	batches := c.Batches(1, c.Steps, 5)
	test := c.Batches(2, 1, 23)[0].X
	c.Learn(t, a, batches, 0, 3)
	c.Learn(t, b, batches, 0, 3)
	prepare(t, a)
	before, image := State(t, a), test.Clone()
	first := Predict(t, a, test)
	CheckSame(t, "after Predict", State(t, a), before)
	if second := Predict(t, a, test); !slices.Equal(first, second) {
		t.Errorf("predictions %v, then %v", first, second)
	}
	if !slices.Equal(test.Data, image.Data) {
		t.Error("Predict changed its images")
	}
	c.Learn(t, a, batches, 3, c.Steps)
	c.Learn(t, b, batches, 3, c.Steps)
	CheckSame(t, "after Predict and further steps", State(t, a), State(t, b))
}

func (c Case) predictRows(t *testing.T) {
	l := c.learned(t, 1)
	x := c.Batches(2, 1, 37)[0].X
	all := Predict(t, l, x)
	for i, y := range all {
		if y < 0 || int(y) >= c.Classes {
			t.Errorf("row %d: label %d, want one in [0, %d)", i, y, c.Classes)
		}
	}
	for _, cut := range []int{1, 10, 36} {
		parts := append(Predict(t, l, x.Rows(0, cut)), Predict(t, l, x.Rows(cut, 37))...)
		if !slices.Equal(parts, all) {
			t.Errorf("cut at %d: %v, want %v", cut, parts, all)
		}
	}
	if err := l.Predict(make([]ocl.Label, 3), x); err == nil {
		t.Error("room for 3 of 37 labels: no error")
	}
	if got := Predict(t, l, x.Rows(0, 0)); len(got) != 0 {
		t.Errorf("no rows: %v", got)
	}
}

// open checks a learner.Open, as every learner with a memory is: Decide on the outputs of the network must give the
// labels that Predict gives, and Parts must return the parts that predict.
func (c Case) open(t *testing.T) {
	l, ok := c.New(t, 1).(learner.Open)
	if !ok {
		if c.Capacity > 0 && !c.Late {
			t.Error("a learner with a memory is no learner.Open; want one, so that class means can be taken of the memory")
		}
		return
	}
	c.Learn(t, l, c.Batches(1, c.Steps, 5), 0, c.Steps)
	x := c.Batches(2, 1, 37)[0].X
	want := Predict(t, l, x)
	p := l.Parts()
	got := make([]ocl.Label, 37)
	out := p.Net.Predict(p.WS, x)
	if err := l.Decide(got, out); err != nil || !slices.Equal(got, want) {
		t.Errorf("decides %v (%v), predicts %v", got, err, want)
	}
	for i, label := range want {
		if row := out.Logits.Row(i); p.ByLogits && row[label] < slices.Max(row) {
			t.Errorf("row %d: class %d is predicted, and it has not the largest logit", i, label)
		}
	}
	if (p.Memory != nil) != (c.Capacity > 0) {
		t.Errorf("a memory is shown: %v", p.Memory != nil)
	}
}

// diverged sets one parameter of a learner.Open, or all of them, to NaN or infinity, as a last step that diverges does.
// Then Predict and Decide must fail.
func (c Case) diverged(t *testing.T) {
	for name, v := range map[string]float64{"NaN": math.NaN(), "an infinity": math.Inf(1)} {
		for _, all := range []bool{false, true} {
			l, ok := c.learned(t, 1).(learner.Open)
			if !ok {
				return
			}
			prepare(t, l)
			p := l.Parts()
			if p.Means != nil && p.Net.Info().Layers[0].Kind == nn.FlattenLayer {
				return // class means of the images themselves, which depend on no parameter
			}
			params := p.Net.Params()
			if !all {
				params = params[:1] // of the first layer: all images go through it
			}
			for i := range params {
				params[i] = float32(v)
			}
			p.Net.Changed()
			x := c.images(l)
			if err := l.Predict(make([]ocl.Label, 7), x); !errors.Is(err, ocl.ErrDiverged) {
				t.Errorf("%s in the network, in all of it %v: it predicts with the error %v, want ocl.ErrDiverged", name, all, err)
			}
			if err := l.Decide(make([]ocl.Label, 7), p.Net.Predict(p.WS, x)); !errors.Is(err, ocl.ErrDiverged) {
				t.Errorf("%s in the network, in all of it %v: it decides with the error %v, want ocl.ErrDiverged", name, all, err)
			}
		}
	}
}

func (c Case) cancelled(t *testing.T) {
	l := c.New(t, 1)
	batches := c.Batches(1, 2, 5)
	c.Learn(t, l, batches, 0, 1)
	before := State(t, l)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := l.Observe(ctx, batches[1]); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v, want one that wraps context.Canceled", err)
	}
	CheckSame(t, "after a cancelled batch", State(t, l), before)
}

// boundaries checks a learner that uses the boundaries of tasks. It must refuse a batch before the first task has
// begun, and a task before the previous one has ended. A state saved between BeginTask and the first batch must be
// usable.
func (c Case) boundaries(t *testing.T) {
	batches := c.Batches(1, c.Steps, 5)
	l := c.New(t, 1)
	before := State(t, l)
	if _, err := l.Observe(context.Background(), batches[0]); err == nil || !strings.Contains(err.Error(), "BeginTask") {
		t.Errorf("a batch before any task: error %v, want one that names BeginTask", err)
	}
	l = c.New(t, 1)
	load(t, l, before)
	if _, err := l.Observe(context.Background(), batches[0]); err == nil {
		t.Error("a batch before any task, loaded: no error")
	}
	l = c.New(t, 1)
	aware := l.(ocl.TaskAware)
	c.begin(t, l, 0, c.Steps)
	loaded := c.New(t, 2)
	load(t, loaded, throughFile(t, State(t, l)))
	if err := aware.BeginTask(c.task(1)); err == nil || !strings.Contains(err.Error(), "EndTask") {
		t.Errorf("a task in the middle of another: error %v, want one that names EndTask", err)
	}
	twin := c.New(t, 1)
	c.begin(t, twin, 0, c.Steps)
	Observe(t, twin, batches[:1])
	Observe(t, loaded, batches[:1])
	CheckSame(t, "loaded before the first batch of a task", State(t, loaded), State(t, twin))
}

// extends checks that a task whose classes are told one by one, before the first batch that has them, some twice, ends
// as one that began with all of them, and that a task may begin without any.
func (c Case) extends(t *testing.T) {
	batches := c.Batches(1, c.Steps, 5)
	l, twin := c.New(t, 1), c.New(t, 1)
	for i := range batches {
		task := c.task(taskOf(i, c.Steps))
		if i == 0 || taskOf(i-1, c.Steps) != task.Index {
			begun := task
			begun.Classes = nil
			beginTask(t, l, begun)
			for k := range task.Classes {
				if err := l.(ocl.Extending).ExtendTask(task.Classes[max(0, k-1) : k+1]); err != nil {
					t.Fatal(err)
				}
			}
		}
		Observe(t, l, batches[i:i+1])
		c.end(t, l, i, c.Steps)
	}
	c.Learn(t, twin, batches, 0, c.Steps)
	CheckSame(t, "classes told one by one", State(t, l), State(t, twin))
}

// prepares checks a Preparer. It is an error to prepare without stored samples, and to predict before Prepare. A
// cancelled Prepare can be repeated, and a second Prepare changes nothing. A prepared learner can predict after a load
// without another Prepare.
func (c Case) prepares(t *testing.T) {
	l := c.New(t, 1)
	p := l.(ocl.Preparer)
	test := c.Batches(2, 1, 23)[0].X
	dst := make([]ocl.Label, 23)
	if err := p.Prepare(context.Background()); err == nil {
		t.Error("prepared before any batch; want an error")
	}
	if err := l.Predict(dst, test); err == nil {
		t.Error("predicted before any batch; want an error")
	}
	batches := c.Batches(1, c.Steps, 5)
	l, twin := c.New(t, 1), c.New(t, 1)
	p = l.(ocl.Preparer)
	c.Learn(t, l, batches, 0, c.Steps-1)
	prepare(t, l)
	c.Learn(t, l, batches, c.Steps-1, c.Steps)
	c.Learn(t, twin, batches, 0, c.Steps)
	if err := l.Predict(dst, test); err == nil {
		t.Error("predicted by what was prepared before the last batch; want an error")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Prepare(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v, want one that wraps context.Canceled", err)
	}
	prepare(t, l)
	prepare(t, twin)
	CheckSame(t, "prepared once before and cancelled once", State(t, l), State(t, twin))
	want := Predict(t, twin, test)
	CheckSame(t, "prepared twice", State(t, twin), State(t, l))
	loaded := c.New(t, 2)
	load(t, loaded, State(t, l))
	if err := loaded.Predict(dst, test); err != nil || !slices.Equal(dst, want) {
		t.Errorf("loaded: predictions %v (%v), want %v", dst, err, want)
	}
}

func (c Case) single(t *testing.T) {
	l := c.New(t, 1)
	for i, s := range c.Learn(t, l, c.Batches(1, c.Steps, 1), 0, c.Steps) {
		if s.Samples != 1 || s.Correct < -1 || s.Correct > 1 {
			t.Errorf("step %d: %+v, want 1 sample and 0 or 1 correct, or -1", i, s)
		}
	}
}

func (c Case) sizes(t *testing.T) {
	l := c.New(t, 1)
	sizes := []int{5, 2, 9, 1}
	batches := c.Batches(1, len(sizes), 9)
	for i, n := range sizes {
		batches[i] = batches[i].Rows(0, n)
	}
	for i, s := range c.Learn(t, l, batches, 0, len(sizes)) {
		if s.Samples != sizes[i] {
			t.Errorf("%d samples counted, want %d", s.Samples, sizes[i])
		}
	}
}

// resumes stops in the middle of a task, passes the state through the bytes of a file, and goes on with a fresh learner
// and with one that has already learned something else.
func (c Case) resumes(t *testing.T) {
	whole := c.New(t, 1)
	batches := c.Batches(1, 2*c.Steps, 5)
	cut := c.Steps + 1
	c.Learn(t, whole, batches, 0, cut)
	saved := throughFile(t, State(t, whole))
	want := c.Learn(t, whole, batches, cut, 2*c.Steps)
	test := c.Batches(2, 1, 23)[0].X
	labels := Predict(t, whole, test)

	used := c.New(t, 1)
	c.Learn(t, used, c.Batches(3, 2*c.Steps, 5), 0, 2*c.Steps)
	for name, l := range map[string]ocl.Learner{"fresh": c.New(t, 1), "used": used} {
		load(t, l, saved)
		CheckSame(t, name+" learner, just loaded", State(t, l), saved)
		if got := c.Learn(t, l, batches, cut, 2*c.Steps); !slices.Equal(got, want) {
			t.Errorf("%s learner: stats %v, want %v", name, got, want)
		}
		if got := Predict(t, l, test); !slices.Equal(got, labels) {
			t.Errorf("%s learner: predictions %v, want %v", name, got, labels)
		}
		CheckSame(t, name+" learner, at the end", State(t, l), State(t, whole))
	}
}

func (c Case) refuses(t *testing.T) {
	if err := c.New(t, 1).LoadState(checkpoint.NewContainer().Decoder()); err == nil {
		t.Error("an empty state was loaded; want an error")
	}
}

// varies checks that each declared hyperparameter changes a loss or a label. A state that merely records the value does
// not count as a change.
func (c Case) varies(t *testing.T, build func(*testing.T, uint64) ocl.Learner) {
	a, b := c.New(t, 1), build(t, 1)
	batches := c.Batches(1, c.Steps, 5)
	losses := slices.Equal(c.Learn(t, a, batches, 0, c.Steps), c.Learn(t, b, batches, 0, c.Steps))
	test := c.Batches(2, 1, 200)[0].X
	if losses && slices.Equal(Predict(t, a, test), Predict(t, b, test)) {
		t.Error("all losses and predictions are the same")
	}
}
