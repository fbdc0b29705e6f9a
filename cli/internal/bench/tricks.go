package bench

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/method"
	"ocl/nn/tensor"
)

// tested is the number of test images for each step of a turn where tricks work at a task's end: a task of CIFAR-100 in
// 20 has 250 steps, and after it the test sets of 10.5 tasks are evaluated on average, 500 images each.
const tested = 21

// TrickOptions say what [Tricks] measures.
type TrickOptions struct {
	Method   string     // name of the catalogue
	Tricks   [][]string // each list as method.ParseTricks has it
	Memory   int        // M, at least 1; it is full before anything is measured
	Workers  int        // goroutines of a step; 0: the processors Go uses
	Steps    int        // of each turn: those of a task; 0: 250, as the tasks of CIFAR-100 in 20 tasks have
	Rounds   int        // turns of each; 0: 9
	Progress func(MethodProgress)
	// Base is as in MethodOptions.
	Base func(name string) method.Setup
}

// TricksReport is what [Tricks] measured. A turn is Steps steps and, where tricks work at a task's end, that end with
// its evaluation. Medians are those of the rounds.
type TricksReport struct {
	Kernel      string      `json:"kernel"`
	Convolution string      `json:"convolution"`
	Workers     int         `json:"workers"`
	Memory      int         `json:"memory"`
	Method      string      `json:"method"`
	Steps       int         `json:"steps"`
	Rounds      int         `json:"rounds"`
	MS          float64     `json:"ms"`               // a step of the method without tricks
	EndMS       float64     `json:"end_ms,omitempty"` // its evaluation at a task's end, where a trick's turns have one
	Tricks      []TrickCost `json:"tricks"`
}

// TrickCost is the cost of tricks: turns with them beside turns of the same rounds without.
type TrickCost struct {
	Tricks  string  `json:"tricks"`           // such as lb+rv
	MS      float64 `json:"ms"`               // a step
	EndMS   float64 `json:"end_ms,omitempty"` // a task's end with its evaluation, where the tricks work there
	Ratio   float64 `json:"ratio"`            // of a turn to one without tricks, with an evaluation too if this one has
	Counted float64 `json:"counted"`          // the same by the arithmetic of their passes
}

// contender is a method with tricks that takes turns.
type contender struct {
	*methodRig
	name        string
	ncm         *learner.NCM // nil without the trick
	labels      [evaluated]ocl.Label
	steps, ends []float64 // seconds a turn
	ratios      []float64
}

// atEnd tells whether the tricks work at a task's end.
func (c *contender) atEnd() bool { return c.setup.Reviewed() || c.setup.Classified() }

// Tricks measures a method with and without tricks on random images, with its default options and replay batches of 10,
// in tasks after the first. In each round all of them take a turn.
func Tricks(ctx context.Context, o TrickOptions) (*TricksReport, error) {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Steps == 0 {
		o.Steps = 250
	}
	if o.Rounds == 0 {
		o.Rounds = 9
	}
	var all []*contender
	defer func() {
		for _, c := range all {
			c.close()
		}
	}()
	for _, tricks := range append([][]string{nil}, o.Tricks...) {
		rig, err := newMethodRig(o.Method, tricks, MethodOptions{Memory: o.Memory, Workers: o.Workers, Base: o.Base})
		if err != nil {
			return nil, err
		}
		c := &contender{methodRig: rig, name: strings.Join(tricks, "+")}
		all = append(all, c)
		if rig.setup.Classified() {
			c.ncm = &learner.NCM{}
		}
		if err := rig.fill(ctx, o.Memory, func(p MethodProgress) { o.show(rig.info.With(tricks), p) }); err != nil {
			return nil, fmt.Errorf("bench: %s: %w", rig.info.With(tricks), err)
		}
	}
	plain := all[0]
	ending := slices.ContainsFunc(all, (*contender).atEnd)
	for _, c := range all {
		if _, _, err := c.turn(ctx, turn, ending && c == plain); err != nil { // buffers are made
			return nil, fmt.Errorf("bench: %s: %w", c.info.With(c.setup.Tricks), err)
		}
	}
	begin := time.Now()
	for round := range o.Rounds {
		for _, c := range all {
			steps, end, err := c.turn(ctx, o.Steps, ending && c == plain)
			if err != nil {
				return nil, fmt.Errorf("bench: %s: %w", c.info.With(c.setup.Tricks), err)
			}
			c.steps, c.ends = append(c.steps, steps.Seconds()), append(c.ends, end.Seconds())
			beside := plain.steps[round]
			if c.atEnd() {
				beside += plain.ends[round]
			}
			c.ratios = append(c.ratios, (steps+end).Seconds()/beside)
		}
		spent := time.Since(begin)
		o.show(o.Method, MethodProgress{Filled: -1, Round: round + 1,
			Left: spent * time.Duration(o.Rounds-round-1) / time.Duration(round+1)})
	}
	rep := &TricksReport{
		Kernel: all[0].net.Info().Engine.Kernel, Convolution: all[0].net.ConvolutionsUsed(), Workers: o.Workers,
		Memory: o.Memory,
		Method: o.Method, Steps: o.Steps, Rounds: o.Rounds, MS: 1e3 * median(plain.steps) / float64(o.Steps),
		EndMS: 1e3 * median(plain.ends),
	}
	for _, c := range all[1:] {
		rep.Tricks = append(rep.Tricks, TrickCost{
			Tricks: c.name, MS: 1e3 * median(c.steps) / float64(o.Steps), EndMS: 1e3 * median(c.ends), Ratio: median(c.ratios),
			Counted: c.counted(o.Steps, c.atEnd()) / plain.counted(o.Steps, c.atEnd()),
		})
	}
	return rep, nil
}

func (o TrickOptions) show(name string, p MethodProgress) {
	if o.Progress != nil {
		p.Method = name
		o.Progress(p)
	}
}

// turn makes some steps and, where the tricks work at a task's end or it is asked for, ends the task and evaluates;
// then another task of the same classes begins.
func (c *contender) turn(ctx context.Context, steps int, evaluated bool) (stepping, ending time.Duration, err error) {
	for range steps {
		d, err := c.observe(ctx, 1)
		if err != nil {
			return 0, 0, err
		}
		stepping += d
	}
	if !evaluated && !c.atEnd() {
		return stepping, 0, nil
	}
	begin := time.Now()
	aware, bounded := c.learner.(ocl.TaskAware)
	if bounded {
		if err := aware.EndTask(ctx); err != nil {
			return 0, 0, err
		}
	}
	if err := c.evaluate(ctx, steps*tested); err != nil {
		return 0, 0, err
	}
	ending = time.Since(begin)
	if bounded {
		err = aware.BeginTask(c.tasks[1])
	}
	return stepping, ending, err
}

// evaluate finds the class means if they predict, and predicts n images.
func (c *contender) evaluate(ctx context.Context, n int) error {
	if c.ncm != nil {
		p := c.learner.(learner.Open).Parts()
		if err := c.ncm.Fit(ctx, p.Net, p.WS, p.Memory); err != nil {
			return err
		}
	}
	for ; n > 0; n -= evaluated {
		x := c.batchOf(min(n, evaluated))
		if err := c.predict(c.labels[:x.Dim(0)], x); err != nil {
			return err
		}
	}
	return nil
}

func (c *contender) predict(dst []ocl.Label, x *tensor.Tensor) error {
	if c.ncm == nil {
		return c.learner.Predict(dst, x)
	}
	p := c.learner.(learner.Open).Parts()
	return c.ncm.Classify(dst, p.Net.Predict(p.WS, x).Features)
}

// counted is the arithmetic of a turn in forward passes of one image, with or without a task's end and its evaluation.
func (c *contender) counted(steps int, ended bool) float64 {
	sum := 0
	for _, p := range c.info.StepPasses(c.setup, batch) {
		sum += steps * p.Forwards()
	}
	memory := []int{c.setup.Memory}
	if c.setup.Reviewed() {
		sum += method.Pass{Work: method.Learn, Images: memory}.Forwards()
	}
	if c.ncm != nil {
		sum += method.Pass{Work: method.Predict, Images: memory}.Forwards()
	}
	if ended {
		sum += steps * tested
	}
	return float64(sum)
}
