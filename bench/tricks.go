package bench

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"ocl"
	"ocl/internal/kernel"
	"ocl/method"
)

// TrickOptions say what [Tricks] measures.
type TrickOptions struct {
	Method   string     // name of the catalogue
	Tricks   [][]string // each list as method.ParseTricks has it
	Memory   int        // M, at least 1; it is full before anything is measured
	Workers  int        // goroutines of a step; 0: the processors Go uses
	Steps    int        // of each turn: those of a task; 0: 250, as the tasks of CIFAR-100 in 20 tasks have
	Rounds   int        // turns of each; 0: 9
	Progress func(MethodProgress)
}

// TricksReport is what [Tricks] measured. A turn is Steps steps and, where tricks work at a task's end, that end.
type TricksReport struct {
	Kernel      string      `json:"kernel"`
	Convolution string      `json:"convolution"`
	Workers     int         `json:"workers"`
	Memory      int         `json:"memory"`
	Method      string      `json:"method"`
	Steps       int         `json:"steps"`
	Rounds      int         `json:"rounds"`
	MS          float64     `json:"ms"` // a step of the method without tricks, median of the turns
	Tricks      []TrickCost `json:"tricks"`
}

// TrickCost is the cost of tricks: turns with them beside turns of the same rounds without. Medians are those of the rounds.
type TrickCost struct {
	Tricks  string  `json:"tricks"`           // such as lb+rv
	MS      float64 `json:"ms"`               // a step
	EndMS   float64 `json:"end_ms,omitempty"` // a task's end, where something happens there
	Ratio   float64 `json:"ratio"`            // of a turn, end included, to one without tricks
	Counted float64 `json:"counted"`          // the same by the arithmetic of their passes
}

// contender is a method with tricks that takes turns.
type contender struct {
	*methodRig
	name        string
	steps, ends []float64 // seconds a turn
	ratios      []float64
}

// Tricks measures a method with and without tricks on random pictures, with its default options and replay batches of 10, in
// tasks after the first. In each round all of them take a turn.
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
		rig, err := newMethodRig(o.Method, tricks, MethodOptions{Memory: o.Memory, Workers: o.Workers})
		if err != nil {
			return nil, err
		}
		c := &contender{methodRig: rig, name: strings.Join(tricks, "+")}
		all = append(all, c)
		if err := rig.fill(ctx, o.Memory, func(p MethodProgress) { o.show(rig.info.With(tricks), p) }); err != nil {
			return nil, fmt.Errorf("bench: %s: %w", rig.info.With(tricks), err)
		}
		if _, _, err := c.turn(ctx, turn); err != nil { // buffers are made
			return nil, fmt.Errorf("bench: %s: %w", rig.info.With(tricks), err)
		}
	}
	begin := time.Now()
	for round := range o.Rounds {
		for _, c := range all {
			steps, end, err := c.turn(ctx, o.Steps)
			if err != nil {
				return nil, fmt.Errorf("bench: %s: %w", c.info.With(c.setup.Tricks), err)
			}
			c.steps, c.ends = append(c.steps, steps.Seconds()), append(c.ends, end.Seconds())
			c.ratios = append(c.ratios, (steps+end).Seconds()/all[0].steps[round])
		}
		spent := time.Since(begin)
		o.show(o.Method, MethodProgress{Filled: -1, Round: round + 1, Left: spent * time.Duration(o.Rounds-round-1) / time.Duration(round+1)})
	}
	rep := &TricksReport{
		Kernel: kernel.Active().Name, Convolution: all[0].net.ConvolutionName(), Workers: o.Workers, Memory: o.Memory,
		Method: o.Method, Steps: o.Steps, Rounds: o.Rounds, MS: 1e3 * median(all[0].steps) / float64(o.Steps),
	}
	plain := all[0].counted(o.Steps)
	for _, c := range all[1:] {
		cost := TrickCost{
			Tricks: c.name, MS: 1e3 * median(c.steps) / float64(o.Steps), Ratio: median(c.ratios), Counted: c.counted(o.Steps) / plain,
		}
		if c.setup.Reviewed() {
			cost.EndMS = 1e3 * median(c.ends)
		}
		rep.Tricks = append(rep.Tricks, cost)
	}
	return rep, nil
}

func (o TrickOptions) show(name string, p MethodProgress) {
	if o.Progress != nil {
		p.Method = name
		o.Progress(p)
	}
}

// turn makes some steps and ends the task where that is work; then another task of the same classes begins.
func (c *contender) turn(ctx context.Context, steps int) (stepping, ending time.Duration, err error) {
	for range steps {
		d, err := c.observe(ctx, 1)
		if err != nil {
			return 0, 0, err
		}
		stepping += d
	}
	if !c.setup.Reviewed() {
		return stepping, 0, nil
	}
	aware := c.learner.(ocl.TaskAware)
	begin := time.Now()
	if err := aware.EndTask(ctx); err != nil {
		return 0, 0, err
	}
	ending = time.Since(begin)
	return stepping, ending, aware.BeginTask(c.tasks[1])
}

// counted is the arithmetic of a turn in forward passes of one image.
func (c *contender) counted(steps int) float64 {
	sum := 0
	for _, p := range c.info.Passes(c.setup, batch) {
		sum += steps * p.Forwards()
	}
	if c.setup.Reviewed() {
		sum += method.Pass{Work: method.Learn, Images: []int{c.setup.Memory}}.Forwards()
	}
	return float64(sum)
}
