package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/loss"
	"ocl/learn/method"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

const (
	// methodSize is the side of the images in pixels that methods are measured on: those of CIFAR-100.
	methodSize = 32
	// turn is how many steps a method and its passes make each before the other's turn.
	turn = 5
	// supply is the number of batches of random images that are shown again and again.
	supply = 20
)

// MethodOptions say what [Methods] measures.
type MethodOptions struct {
	Methods []string // names of the catalogue, of methods that do not make their networks themselves
	// Base has the settings of a method besides its network, its optimiser and its memory, such as options and
	// ReplayBatch. Nil is the defaults with replay batches of 10.
	Base     func(name string) method.Setup
	Memory   int           // M of the methods that have one, at least 1; it is filled before anything is measured
	Workers  int           // goroutines of a step; 0: the processors Go uses
	Rounds   int           // rounds of each method; 0: as many as fit into Budget, at least three
	Budget   time.Duration // wall time of the rounds of each method when Rounds is 0
	Progress func(MethodProgress)
}

// MethodProgress says how far a measurement is.
type MethodProgress struct {
	Method string
	Filled int           // samples in memory while it fills; -1 afterwards
	Round  int           // rounds that are done
	Left   time.Duration // of the method's rounds
}

// MethodsReport is what [Methods] measured.
type MethodsReport struct {
	Kernel      string       `json:"kernel"`
	Convolution string       `json:"convolution"` // algorithm, one of nn.Convolutions
	Workers     int          `json:"workers"`
	PeakGFLOPS  float64      `json:"peak_gflops"` // of all workers together, median over the whole measurement
	Memory      int          `json:"memory"`
	Methods     []MethodCost `json:"methods"`
}

// MethodCost is the cost of a step: of all that a method does with an incoming batch of 10 (of 128 where it learns
// offline; a batch of its training where it learns when it prepares), beside the passes it cannot do without, made by
// the engine alone with an update of the parameters. Both are medians of turns about. A method that trains no network
// has no passes.
//
// Ratio is its time for an incoming sample divided by that of ER with its defaults, which takes a turn in each round;
// Counted is the same by the arithmetic of the passes. Both are 0 where the step is not one with an incoming batch.
type MethodCost struct {
	Method   string   `json:"method"`
	MS       float64  `json:"ms"`
	PassesMS float64  `json:"passes_ms"`
	Overhead float64  `json:"overhead"` // MS/PassesMS - 1
	Passes   []string `json:"passes"`   // such as "learn 10 + 10", see [method.Pass]
	StoreMS  float64  `json:"store_ms,omitempty"`
	Ratio    float64  `json:"ratio,omitempty"`
	Counted  float64  `json:"counted,omitempty"`
}

// Methods measures one method after the other on random images, with its default options and replay batches of 10, in
// the second of two tasks. When ctx ends early it returns what was measured with ctx's error.
func Methods(ctx context.Context, o MethodOptions) (*MethodsReport, error) {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	rep := &MethodsReport{Workers: o.Workers, Memory: o.Memory}
	m := &measured{}
	plain := o
	plain.Base = nil
	er, err := newMethodRig("er", nil, plain)
	if err == nil {
		defer er.close()
		err = er.fill(ctx, o.Memory, func(MethodProgress) {})
	}
	if err != nil {
		return nil, fmt.Errorf("bench: er: %w", err)
	}
	// the line above the table is of ER, as another method may have a network without such convolutions
	rep.Kernel, rep.Convolution = er.net.Info().Engine.Kernel, er.net.ConvolutionsUsed()
	for _, name := range o.Methods {
		r, err := newMethodRig(name, nil, o)
		if err != nil {
			return nil, err
		}
		cost, err := r.measure(ctx, o, m, er)
		r.close()
		if err == nil {
			rep.Methods = append(rep.Methods, cost)
			continue
		}
		if ctx.Err() != nil && len(m.peak) > 0 {
			rep.PeakGFLOPS = median(m.peak)
			return rep, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("bench: %s: %w", name, err)
	}
	rep.PeakGFLOPS = median(m.peak)
	return rep, nil
}

// methodRig is a learner with random batches, and a network of its own for the passes alone.
type methodRig struct {
	info    method.Info
	setup   method.Setup
	learner ocl.Learner
	batches [2][]ocl.Batch // of each task
	next    int
	tasks   [2]ocl.TaskInfo

	net       *nn.Network // of the passes
	ahead     *nn.Network
	ws        *nn.Workspace
	beside    *nn.Workspace // of passes that only predict, with a teacher's packed weights
	opt       optim.Optimizer
	images    map[int]*tensor.Tensor // by their number
	gradients []float32

	whole, alone, store []float64 // seconds
}

func newMethodRig(name string, tricks []string, o MethodOptions) (*methodRig, error) {
	info, err := method.Lookup(name)
	if err != nil {
		return nil, err
	}
	if info.OwnNetworks {
		return nil, fmt.Errorf("%s trains networks of its own in pauses, and not step by step. Leave it out; docs/benchmarks.md has the time of its pauses",
			name)
	}
	r := &methodRig{info: info, images: map[int]*tensor.Tensor{}}
	if r.setup = (method.Setup{ReplayBatch: batch, Iterations: 1}); o.Base != nil {
		r.setup = o.Base(name)
	}
	r.setup.Opt, r.setup.Memory, r.setup.Shape = optim.SGD{LR: rate}, o.Memory, [3]int{3, methodSize, methodSize}
	r.setup.Classes, r.setup.Seed, r.setup.InitSeed, r.setup.Tricks = classes, 1, 1, tricks
	network := func() (*nn.Network, error) {
		c := arch.Config{Channels: 3, Height: methodSize, Width: methodSize, Classes: classes, NF: width}
		src := rng.New(1, "bench/network")
		if info.Head != nil {
			c.Head = info.Head(r.setup)
		}
		if info.Solves == nil {
			return arch.ResNet18(c, src)
		}
		of := info.Solves(r.setup)
		if c.Hidden, c.Waves = of.Hidden, of.Waves; c.Hidden == nil {
			return arch.Linear(c, src)
		}
		return arch.MLP(c, src)
	}
	if r.net, err = network(); err != nil {
		return nil, err
	}
	own, err := network()
	if err != nil {
		return nil, err
	}
	r.ahead = r.net.Clone()
	r.ws = r.net.NewWorkspace(o.Workers)
	r.beside = r.ws.Beside()
	r.opt = optim.SGD{LR: rate}.New()
	r.setup.Net, r.setup.WS = own, own.NewWorkspace(o.Workers)
	if r.learner, err = info.New(r.setup); err != nil {
		r.close()
		return nil, err
	}
	size := batch
	if info.Offline {
		size = info.Defaults()[method.Batch].(int)
	}
	src, values := rng.New(1, "bench/images"), ocl.NewPixelValues(3, nil, nil)
	for t := range r.tasks {
		r.tasks[t].Index = t
		for k := range classes / 2 {
			r.tasks[t].Classes = append(r.tasks[t].Classes, ocl.Label(t*classes/2+k))
		}
		for range supply {
			pixels, y := make([]byte, size*3*methodSize*methodSize), make([]ocl.Label, size)
			for i := range pixels {
				pixels[i] = byte(src.IntN(256))
			}
			for i := range y {
				y[i] = r.tasks[t].Classes[src.IntN(classes/2)]
			}
			r.batches[t] = append(r.batches[t], ocl.NewBatch(r.setup.Shape, pixels, y, values))
		}
	}
	return r, nil
}

func (r *methodRig) close() {
	r.setup.WS.Close()
	r.ws.Close()
}

// measure fills the memory in the first task and takes turns in the second, beside er.
func (r *methodRig) measure(ctx context.Context, o MethodOptions, m *measured, er *methodRig) (MethodCost, error) {
	cost := MethodCost{Method: r.info.Name}
	show := func(p MethodProgress) {
		if o.Progress != nil {
			p.Method = r.info.Name
			o.Progress(p)
		}
	}
	if err := r.fill(ctx, o.Memory, show); err != nil {
		return cost, err
	}
	size := r.batches[1][0].Len()
	passes := r.info.StepPasses(r.setup, size)
	for _, p := range passes {
		cost.Passes = append(cost.Passes, p.String())
	}
	if err := r.turn(ctx, passes); err != nil { // buffers are made
		return cost, err
	}
	r.whole, r.alone, r.store = r.whole[:0], r.alone[:0], r.store[:0]
	var ratios []float64
	if _, err := inRounds(o.Rounds, o.Budget, func(round int,
		left time.Duration) {
		show(MethodProgress{Filled: -1, Round: round, Left: left})
	}, func() error {
		m.peak = append(m.peak, fmaPeak(o.Workers))
		beside := 0.0
		for range turn {
			d, err := er.observe(ctx, 1)
			if err != nil {
				return err
			}
			beside += d.Seconds()
		}
		before := len(r.whole)
		if err := r.turn(ctx, passes); err != nil {
			return err
		}
		own := 0.0
		for _, d := range r.whole[before:] {
			own += d
		}
		ratios = append(ratios, own/float64(size)/(beside/batch))
		return nil
	}); err != nil {
		return cost, err
	}
	if cost.MS = 1e3 * median(r.whole); len(passes) > 0 {
		cost.PassesMS = 1e3 * median(r.alone)
		cost.Overhead = cost.MS/cost.PassesMS - 1
	}
	if !r.info.Deferred {
		cost.Ratio = median(ratios)
		work := func(passes []method.Pass, size int) float64 {
			sum := 0
			for _, p := range passes {
				sum += p.Forwards()
			}
			return float64(sum) / float64(size)
		}
		cost.Counted = work(passes, size) / work(er.info.StepPasses(er.setup, batch), batch)
	}
	if len(r.store) > 0 {
		cost.StoreMS = 1e3 * median(r.store)
	}
	return cost, nil
}

// fill shows the batches of the first task until the memory is full, and begins the second task.
func (r *methodRig) fill(ctx context.Context, size int, show func(MethodProgress)) error {
	aware, _ := r.learner.(ocl.TaskAware)
	if aware != nil {
		if err := aware.BeginTask(r.tasks[0]); err != nil {
			return err
		}
	}
	for full := false; !full; {
		if _, err := r.observe(ctx, 0); err != nil {
			return err
		}
		stored := 0
		if r.info.UsesMemory {
			stored = learner.MemoryOf(r.learner).Len()
			show(MethodProgress{Filled: stored})
		}
		full = !r.info.UsesMemory || stored >= size
	}
	if aware == nil {
		return nil
	}
	if err := aware.EndTask(ctx); err != nil {
		return err
	}
	return aware.BeginTask(r.tasks[1])
}

// observe shows the next batch of a task and says how long that took.
func (r *methodRig) observe(ctx context.Context, task int) (time.Duration, error) {
	b := r.batches[task][r.next%supply]
	r.next++
	begin := time.Now()
	_, err := r.learner.Observe(ctx, b)
	return time.Since(begin), err
}

// turn makes some steps of the method and as many of its passes alone.
func (r *methodRig) turn(ctx context.Context, passes []method.Pass) error {
	for range turn {
		d, err := r.observe(ctx, 1)
		if err != nil {
			return err
		}
		if r.info.Deferred {
			r.store = append(r.store, d.Seconds())
		} else {
			r.whole = append(r.whole, d.Seconds())
		}
	}
	if r.info.Deferred {
		if err := r.train(ctx); err != nil {
			return err
		}
	}
	for range turn {
		if len(passes) == 0 {
			break
		}
		begin := time.Now()
		for _, p := range passes {
			r.pass(p)
		}
		r.opt.Step(r.net, r.ws)
		r.alone = append(r.alone, time.Since(begin).Seconds())
	}
	return nil
}

// train makes the first steps of the training before an evaluation; the first of them, which draws a new network, is
// not counted.
func (r *methodRig) train(ctx context.Context) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	var last time.Time
	steps := 0
	r.learner.(ocl.Watched).Watch(func(done, total int) {
		now := time.Now()
		if done > 1 {
			r.whole = append(r.whole, now.Sub(last).Seconds())
			steps++
		}
		if last = now; steps == turn {
			cancel()
		}
	})
	err := r.learner.(ocl.Preparer).Prepare(inner)
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		return nil
	}
	return err
}

// pass does the work of a pass on random images.
func (r *methodRig) pass(p method.Pass) {
	var list []*tensor.Tensor
	for _, n := range p.Images {
		list = append(list, r.batchOf(n))
	}
	switch p.Work {
	case method.Learn:
		r.net.ZeroGrads()
		_ = r.net.Accumulate(r.ws, nn.Accumulation{Batches: list, Loss: r.loss}) // the loss knows no errors
	case method.Measure:
		for _, x := range list {
			for from := 0; from < x.Dim(0); from += evaluated {
				r.net.Predict(r.ws, x.Rows(from, min(from+evaluated, x.Dim(0))))
			}
		}
	case method.Predict:
		for _, x := range list {
			r.ahead.Predict(r.beside, x)
		}
	case method.Score:
		for _, x := range list {
			r.ahead.Changed() // its weights are to be packed
			r.net.ForwardPair(r.ws, r.ahead, x, nn.BatchOnly)
		}
	case method.Gradients:
		sum := 0
		for _, n := range p.Images {
			sum += n
		}
		x := r.batchOf(sum)
		d := tensor.New(sum, classes)
		if err := r.loss(0, r.net.Forward(r.ws, x, nn.Eval), d); err != nil {
			panic(err)
		}
		if need := sum * len(r.net.Params()); len(r.gradients) < need {
			r.gradients = make([]float32, need)
		}
		r.ws.BackwardPerSample(d, r.gradients[:sum*len(r.net.Params())])
	}
}

// batchOf is n images of the second task.
func (r *methodRig) batchOf(n int) *tensor.Tensor {
	if r.images[n] == nil {
		x := tensor.New(n, 3, methodSize, methodSize)
		for i := range n {
			b := r.batches[1][i/r.batches[1][0].Len()%supply]
			copy(x.Row(i), b.X.Row(i%b.Len()))
		}
		r.images[n] = x
	}
	return r.images[n]
}

// loss is the cross entropy with the labels 0, 1, ….
func (r *methodRig) loss(_ int, logits, d *tensor.Tensor) error {
	labels := make([]ocl.Label, logits.Dim(0))
	for i := range labels {
		labels[i] = ocl.Label(i % classes)
	}
	_, err := loss.CrossEntropy{}.Eval(d, loss.Input{Logits: logits, Y: labels})
	return err
}
