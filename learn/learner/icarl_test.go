package learner_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

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

// icarl is iCaRL on the small residual network, with an output for each of 6 classes.
func icarl(t *testing.T, capacity, replay int) *learner.ICaRL {
	t.Helper()
	r := residual(t)
	return &learner.ICaRL{
		Net: r.Net, WS: r.WS, Opt: optim.SGD{LR: 0.1}.New(), Seed: 1,
		Memory: memory.NewStore(capacity, [3]int{3, 32, 32}, nil), ReplayBatch: replay,
	}
}

// images are the batches of the residual network's contract.
var images = learnertest.Case{Shape: [3]int{3, 32, 32}, Classes: 6}

func begin(t *testing.T, l ocl.TaskAware, index int, classes ...ocl.Label) {
	t.Helper()
	if err := l.BeginTask(ocl.TaskInfo{Index: index, Classes: classes}); err != nil {
		t.Fatal(err)
	}
}

func end(t *testing.T, l ocl.TaskAware) {
	t.Helper()
	if err := l.EndTask(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// relabelled is a batch with other labels.
func relabelled(b ocl.Batch, labels ...ocl.Label) ocl.Batch {
	y := make([]ocl.Label, b.Len())
	for i := range y {
		y[i] = labels[i%len(labels)]
	}
	return ocl.Batch{X: b.X, Y: y, Pixels: b.Pixels}
}

// stepped is the parameters after one step along the gradient of the mean over rows of BCE, found apart from the
// learner.
func stepped(net *nn.Network, x, targets *tensor.Tensor, lr float64) ([]float32, float64) {
	net = net.Clone()
	ws := net.NewWorkspace(1)
	defer ws.Close()
	clear(net.Grads())
	logits := net.Forward(ws, x, nn.Train)
	d := tensor.New(x.Dim(0), net.Info().Classes)
	mean := loss.BCE(d, logits, targets)
	ws.Backward(d)
	optim.SGD{LR: lr}.New().Step(net, nil)
	return net.Params(), mean
}

// TestICaRLTargets: in the second task old outputs are trained on the teacher in evaluation mode (or, if so set, by the
// batch's statistics), for incoming and replayed rows alike; new outputs on the labels, which are none of theirs for
// replayed rows (docs/deviations.md: iCaRL).
func TestICaRLTargets(t *testing.T) {
	t.Run("evaluation", func(t *testing.T) { testICaRLTargets(t, false, nn.Eval) })
	t.Run("training", func(t *testing.T) { testICaRLTargets(t, true, nn.BatchOnly) })
}

func testICaRLTargets(t *testing.T, training bool, mode nn.Mode) {
	l := icarl(t, 3, 3)
	l.Teacher.Training = training
	batches := images.Batches(1, 3, 3)
	begin(t, l, 0, 5, 2)
	learnertest.Observe(t, l, []ocl.Batch{relabelled(batches[0], 5, 2, 5)}) // fills slots 0 to 2, in order
	end(t, l)
	teacher := l.Net.Clone()
	ws := teacher.NewWorkspace(1)
	defer ws.Close()

	begin(t, l, 1, 0, 3)
	in := relabelled(batches[1], 3, 0, 3)
	// All three slots are replayed, in an order that is drawn.
	order := memory.Sample(nil, 3, 3, rng.New(1, "memory/retrieve"))
	x := tensor.New(6, 3, 32, 32)
	at := copy(x.Data, in.X.Data)
	for _, slot := range order {
		at += copy(x.Data[at:], batches[0].X.Row(slot))
	}
	targets := tensor.New(6, 4)
	soft := teacher.Forward(ws, x, mode)
	for i := range 6 {
		row := targets.Row(i)
		for k := range 2 {
			row[k] = float32(loss.Sigmoid(float64(soft.Row(i)[k])))
		}
		if i < 3 {
			row[map[ocl.Label]int{0: 2, 3: 3}[in.Y[i]]] = 1
		}
	}
	want, mean := stepped(l.Net, x, targets, 0.1)
	stats := learnertest.Observe(t, l, []ocl.Batch{in})[0]
	if stats.Replay != 3 || stats.Loss != mean || !slices.Equal(l.Net.Params(), want) {
		t.Errorf("%d rows replayed at loss %v, want 3 at %v, and a step along the gradient of the definition", stats.Replay,
			stats.Loss, mean)
	}
}

// TestICaRLReplaysEarlierTasksOnly: a slot that was written in the current task is not replayed before the next one,
// and fewer rows than ReplayBatch are replayed where no more slots are left.
func TestICaRLReplaysEarlierTasksOnly(t *testing.T) {
	l := icarl(t, 6, 4)
	batches := images.Batches(1, 30, 5)
	begin(t, l, 0, 0, 1)
	for _, b := range batches[:2] {
		learnertest.Observe(t, l, []ocl.Batch{relabelled(b, 0, 1)})
	}
	end(t, l)
	begin(t, l, 1, 2, 3)
	for i, b := range batches[2:] {
		old := 0
		for y, n := range l.Memory.Counts() {
			if y < 2 {
				old += n
			}
		}
		stats := learnertest.Observe(t, l, []ocl.Batch{relabelled(b, 2, 3)})[0]
		if stats.Replay != min(old, 4) {
			t.Fatalf("step %d: %d rows replayed, want %d: the memory holds %d of the first task", i, stats.Replay, min(old, 4),
				old)
		}
	}
	if n := l.Memory.Counts(); n[0]+n[1] > 3 {
		t.Fatalf("the memory still holds %v; the test wants most slots written in the second task", n)
	}
}

// TestICaRLWhereClassesRepeat: in a domain-incremental stream the columns of the task's classes are trained on labels,
// for replayed rows too, and the other seen columns on the teacher (docs/deviations.md: old and new when classes
// repeat).
func TestICaRLWhereClassesRepeat(t *testing.T) {
	l := icarl(t, 2, 2)
	batches := images.Batches(1, 3, 2)
	begin(t, l, 0, 0, 1, 2)
	learnertest.Observe(t, l, []ocl.Batch{relabelled(batches[0], 0, 2)})
	end(t, l)
	teacher := l.Net.Clone()
	ws := teacher.NewWorkspace(1)
	defer ws.Close()
	begin(t, l, 1, 2, 1) // class 0 stays away
	in := relabelled(batches[1], 1, 2)
	order := memory.Sample(nil, 2, 2, rng.New(1, "memory/retrieve"))
	x, y := tensor.New(4, 3, 32, 32), slices.Clone(in.Y)
	at := copy(x.Data, in.X.Data)
	for _, slot := range order {
		at += copy(x.Data[at:], batches[0].X.Row(slot))
		y = append(y, []ocl.Label{0, 2}[slot])
	}
	targets, soft := tensor.New(4, 3), teacher.Predict(ws, x).Logits
	for i, label := range y {
		row := targets.Row(i)
		if label > 0 {
			row[label] = 1
		}
		row[0] = float32(loss.Sigmoid(float64(soft.Row(i)[0])))
	}
	want, mean := stepped(l.Net, x, targets, 0.1)
	stats := learnertest.Observe(t, l, []ocl.Batch{in})[0]
	if stats.Loss != mean || !slices.Equal(l.Net.Params(), want) {
		t.Errorf("loss %v, want %v and a step along the gradient of the definition", stats.Loss, mean)
	}
	for task := 2; task < 9; task++ { // the survey's authors' code crashes where the label lists grow
		end(t, l)
		begin(t, l, task, 2, 1, 0)
		learnertest.Observe(t, l, []ocl.Batch{relabelled(batches[2], 1, 0)})
	}
	learnertest.Predict(t, l, batches[0].X)
}

// TestICaRLNeverAsksItsTeacherWhereAllClassesReturn: two learners whose teachers answer differently do the same where
// every class occurs in every task, and not where a class stays away (the page of iCaRL says so).
func TestICaRLNeverAsksItsTeacherWhereAllClassesReturn(t *testing.T) {
	for _, second := range [][]ocl.Label{{0, 1}, {1}} {
		var states []*checkpoint.Container
		for _, training := range []bool{false, true} {
			l := icarl(t, 10, 4)
			l.Teacher.Training = training
			batches := images.Batches(1, 4, 5)
			begin(t, l, 0, 0, 1)
			learnertest.Observe(t, l, []ocl.Batch{relabelled(batches[0], 0, 1), relabelled(batches[1], 0, 1)})
			end(t, l)
			begin(t, l, 1, second...)
			for _, b := range batches[2:] {
				if stats := learnertest.Observe(t, l, []ocl.Batch{relabelled(b, second...)}); stats[0].Replay == 0 {
					t.Fatal("nothing is replayed")
				}
			}
			states = append(states, learnertest.State(t, l))
		}
		if same := states[0].Equal(states[1]); same != (len(second) == 2) {
			t.Errorf("classes %v in the second task: the same with both teachers: %v", second, same)
		}
	}
}

// TestICaRLRefuses: a batch before its task, and a label of another task, are errors.
func TestICaRLRefuses(t *testing.T) {
	b := images.Batches(1, 1, 4)[0]
	l := icarl(t, 5, 2)
	if _, err := l.Observe(context.Background(), b); err == nil || !strings.Contains(err.Error(), "Call BeginTask") {
		t.Errorf("a batch without a task: error %v", err)
	}
	begin(t, l, 0, 1, 2)
	if _, err := l.Observe(context.Background(), relabelled(b, 2, 3)); err == nil ||
		!strings.Contains(err.Error(), "row 1 has label 3") {
		t.Errorf("a label of another task: error %v", err)
	}
	end(t, l)
	if err := l.BeginTask(ocl.TaskInfo{Classes: []ocl.Label{6}}); err == nil || !strings.Contains(err.Error(), "class 6") {
		t.Errorf("class 6 of 6: error %v", err)
	}
}

// clouds returns a store with images that NCM can classify.
func clouds(t *testing.T, net *nn.Network, labels ...ocl.Label) *memory.Store {
	t.Helper()
	in := net.Info().Input
	m := memory.NewStore(len(labels), in, nil)
	pixels, slots := make([]byte, len(labels)*in[0]*in[1]*in[2]), make([]int, len(labels))
	src := rng.New(1, "clouds")
	for i := range pixels {
		pixels[i] = byte(src.IntN(256))
	}
	for i := range slots {
		slots[i] = i
	}
	m.Put(ocl.NewBatch(in, pixels, labels, ocl.NewPixelValues(in[0], nil, nil)), slots)
	return m
}

// TestNCM compares means and predictions with the definition in float64; duplicating the memory changes nothing, and a
// class without a sample is not predicted.
func TestNCM(t *testing.T) {
	for name, net := range map[string]*nn.Network{"mlp": perceptron(t, 0.1).Net, "resnet18": residual(t).Net} {
		ws := net.NewWorkspace(1)
		defer ws.Close()
		labels := []ocl.Label{3, 1, 1, 3, 5, 1}
		m := clouds(t, net, labels...)
		in := net.Info().Input
		x, y := tensor.New(6, in[0], in[1], in[2]), make([]ocl.Label, 6)
		m.Gather(x, y, []int{0, 1, 2, 3, 4, 5})
		net.Forward(ws, x, nn.Eval)
		unit := func(v []float64) []float64 {
			sum := 0.0
			for _, a := range v {
				sum += a * a
			}
			for i := range v {
				v[i] /= math.Sqrt(sum)
			}
			return v
		}
		features := func(row []float32) []float64 {
			v := make([]float64, len(row))
			for i, a := range row {
				v[i] = float64(a)
			}
			return unit(v)
		}
		means := map[ocl.Label][]float64{}
		for i, label := range labels {
			if means[label] == nil {
				means[label] = make([]float64, net.Info().FeatureDim)
			}
			for k, a := range features(ws.Features().Row(i)) {
				means[label][k] += a
			}
		}
		for _, v := range means {
			unit(v)
		}
		test := tensor.New(40, in[0], in[1], in[2])
		src := rng.New(2, "clouds")
		for i := range test.Data {
			test.Data[i] = float32(src.Float64())
		}
		net.Forward(ws, test, nn.Eval)
		want := make([]ocl.Label, 40)
		found := map[ocl.Label]bool{}
		for i := range want {
			f, nearest := features(ws.Features().Row(i)), math.Inf(1)
			for _, label := range []ocl.Label{1, 3, 5} {
				d := 0.0
				for k, a := range f {
					d += (a - means[label][k]) * (a - means[label][k])
				}
				if d < nearest {
					nearest, want[i] = d, label
				}
			}
			found[want[i]] = true
		}
		if len(found) < 2 {
			t.Fatalf("%s: only %v are predicted; the test wants several classes", name, found)
		}
		twice := memory.NewStore(12, in, nil)
		twice.Put(rounded(x, y...), []int{0, 1, 2, 3, 4, 5})
		twice.Put(rounded(x, y...), []int{6, 7, 8, 9, 10, 11})
		got := make([]ocl.Label, 40)
		for what, m := range map[string]*memory.Store{"once": m, "twice": twice} {
			var ncm learner.NCM
			if err := ncm.Fit(context.Background(), net, ws, m); err != nil {
				t.Fatal(err)
			}
			if err := ncm.Classify(got, net.Predict(ws, test).Features); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, each sample %s: %v, want %v", name, what, got, want)
			}
		}
	}
}

// TestNCMManySamples: a memory larger than a batch of features gives the same means whatever the workers.
func TestNCMManySamples(t *testing.T) {
	net, err := arch.MLP(arch.Config{Channels: 3, Height: 5, Width: 4, Classes: 6, Hidden: []int{16}},
		rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	labels := make([]ocl.Label, 450)
	for i := range labels {
		labels[i] = ocl.Label(i * i % 6)
	}
	m := clouds(t, net, labels...)
	test := made.Batches(2, 1, 300)[0].X
	var got [2][]ocl.Label
	for i := range got {
		ws := net.NewWorkspace(1 + 2*i)
		defer ws.Close()
		var ncm learner.NCM
		if err := ncm.Fit(context.Background(), net, ws, m); err != nil {
			t.Fatal(err)
		}
		got[i] = make([]ocl.Label, 300)
		if err := ncm.Classify(got[i], net.Predict(ws, test).Features); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got[0], got[1]) {
		t.Error("one and three workers predict differently")
	}
}
