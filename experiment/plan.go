package experiment

import (
	"slices"

	"ocl/config"
)

// Plan is what a run is going to do, for progress and --dry-run.
type Plan struct {
	Steps         int // learner steps in all
	StepsDone     int // when resumed
	TestSamples   int // samples predicted in all evaluations
	TestsDone     int // of them when resumed
	FLOPsPerStep  int64
	FLOPsPerPause int64   // of long work inside a step, which FLOPsPerStep spreads over all steps; 0 for most methods
	FLOPsPerImage int64   // of a prediction
	PrepareFLOPs  []int64 // between the last step and the evaluation of each task
	BetweenFLOPs  []int64 // before each evaluation in the middle of each task
	Between       int     // evaluations in the middle of tasks
	MemoryBytes   int64   // estimated peak
	// CheckpointBytes is about how long a checkpoint is. A run has two of them while it is at work, and none when it has
	// ended, unless it keeps them.
	CheckpointBytes int64
	// Experts is the most networks that a learner makes while it learns; 0 of other methods. FLOPsPerStep and FLOPsPerImage are
	// then means over the run with so many.
	Experts int
	// Tasks are the numbers of the tasks that are learned, in the whole stream and from 1: a protocol or absent images may
	// leave out others, which keep theirs.
	Tasks []int
	// TaskNames are their names, "" for one without.
	TaskNames []string

	Kept bool // the run has ended before, and its result is kept
	// Evaluating says that a resumed run goes on at the evaluation after a task, whose steps are done.
	Evaluating bool
}

// FLOPs is the work of the whole run, preparations and tests included.
func (p Plan) FLOPs() float64 {
	all := float64(p.Steps)*float64(p.FLOPsPerStep) + float64(p.TestSamples)*float64(p.FLOPsPerImage)
	for _, v := range p.PrepareFLOPs {
		all += float64(v)
	}
	if n := len(p.BetweenFLOPs); n > 0 {
		all += float64(p.Between) * float64(p.BetweenFLOPs[n/2]) // they grow with what is stored
	}
	return all
}

// Left is the work of the run that what is found of it leaves to do.
func (p Plan) Left(f Found) float64 {
	if f.Ended() {
		return 0
	}
	left := p.FLOPs() * (1 - min(1, float64(f.Step)/float64(max(p.Steps, 1))))
	return max(left, float64(p.TestSamples)/float64(max(len(p.PrepareFLOPs), 1))*float64(p.FLOPsPerImage)) // the last evaluation
}

// Plan says what a job is going to do, without learning or writing anything.
func (x *Experiment) Plan(j Job) (Plan, error) {
	st, err := x.newStream(j.Config)
	if err != nil {
		return Plan{}, err
	}
	return x.newPlan(st, j), nil
}

// newPlan counts the steps and tests of one run.
func (x *Experiment) newPlan(st view, j Job) Plan {
	c, info, s := j.Config, infoOf(j.Method), setup(j.Config)
	known := x.network[info.OwnNetworks]
	p := Plan{FLOPsPerImage: known.flops}
	of := st.Info()
	n := len(of.Tasks)
	p.PrepareFLOPs, p.BetweenFLOPs = make([]int64, n), make([]int64, n)
	seen, tested := x.seenBefore(), 0 // samples of the tasks so far
	for t, task := range of.Tasks {
		p.Tasks, p.TaskNames = append(p.Tasks, st.Original(t)+1), append(p.TaskNames, st.TaskName(st.Original(t)))
		from := p.Steps
		p.Steps += st.Batches(t)
		seen += task.Train
		tested += task.Test
		if of.CommonTest {
			tested = task.Test
		}
		if t < st.Start() {
			continue
		}
		stored := min(seen, c.Memory)
		prepare := 3 * known.flops * int64(info.Prepared(stored, s))
		if c.EvalEvery > 0 {
			n := p.Steps/c.EvalEvery - from/c.EvalEvery
			p.Between += n
			p.TestSamples += n * tested
			p.BetweenFLOPs[t] = prepare
		}
		if evaluatedAfter(c.Eval, t, n) {
			p.TestSamples += evaluatedSamples(st, c.Eval, t)
			p.PrepareFLOPs[t] = prepare
			if slices.Contains(c.Classifiers, config.ClassifierNCM) {
				p.PrepareFLOPs[t] += known.flops * int64(stored)
			}
		}
		if s.Reviewed() {
			p.PrepareFLOPs[t] += 3 * known.flops * int64(stored)
		}
	}
	if s.Shape, s.Classes = [3]int{of.Channels, of.Height, of.Width}, of.Classes; info.OwnNetworks {
		samples := 0
		for t := range n {
			samples += st.Batches(t) * of.Batch // nearly: a last batch may be smaller
		}
		g, _ := info.Grows(s, samples, of.Batch)
		known.params = g.Parameters
		p.Experts, p.FLOPsPerImage = g.Experts, int64(g.Image)
		p.FLOPsPerStep = int64(g.Learn / float64(max(1, p.Steps)))
		p.FLOPsPerPause = int64(g.Learn / float64(max(1, g.Experts)))
	}
	if !info.Deferred {
		for _, pass := range info.Passes(s, of.Batch) {
			p.FLOPsPerStep += known.flops * int64(pass.Forwards())
		}
	}
	p.MemoryBytes = baseBytes + x.set.Train.MemoryBytes() + x.set.Test.MemoryBytes() + st.MemoryBytes() + 3*int64(c.Memory)*int64(x.set.ImageLen())
	if p.Experts > 0 {
		p.MemoryBytes += x.expertBytes(known, p.Experts)
	} else {
		p.MemoryBytes += networkBytes(known, of.Batch+c.Replay.Batch)
	}
	p.CheckpointBytes = int64(min(seen, c.Memory))*int64(x.set.ImageLen()) + int64(known.params)*4*savedCopies
	return p
}

// evaluatedAfter says whether there is an evaluation after task t of so many.
func evaluatedAfter(eval string, t, tasks int) bool { return eval != config.EvalFinal || t == tasks-1 }

// evaluatedSamples is the number of test samples of the evaluation after task t.
func evaluatedSamples(st view, eval string, t int) int {
	samples := 0
	for _, set := range testSets(st.Info(), eval, t) {
		samples += st.Info().Tasks[set].Test
	}
	return samples
}

const (
	baseBytes       = 30 << 20 // the program and the Go runtime
	parameterCopies = 10       // parameters, gradients, packed weights, a checkpoint in the making and one being written
	testBatch       = 200      // rows of an evaluation's batch
	savedCopies     = 2        // vectors of the length of the parameters in a checkpoint: the parameters, and a teacher's or a Fisher matrix
)

// networkBytes estimates what a network takes, with what a step of so many rows needs.
func networkBytes(f facts, rows int) int64 {
	return int64(f.params)*4*parameterCopies + activationBytes(f.flops, rows)
}

// expertBytes estimates what so many experts take: their parameters and gradients, two checkpoints, and the maps of the images
// that go through all of them together.
func (x *Experiment) expertBytes(f facts, experts int) int64 {
	const copies, images, floatsOfPixel = 5, 20, 20
	return int64(f.params)*4*copies + int64(experts)*images*int64(x.set.ImageLen())*floatsOfPixel
}

// activationBytes estimates what a workspace holds for the largest pass, from the work: an activation takes part in
// some hundreds of multiply-adds forward, as in the survey's network.
func activationBytes(flops int64, rows int) int64 {
	return flops / 200 * 4 * int64(max(rows, testBatch/10)) * 4
}

// costs estimates the work that is left of each job, in floating-point operations: none for a run that has ended, and
// what comes after the last step that is known for one that was interrupted. With another
// seed, classes of unequal size may be in other tasks, which makes a step more or less; all seeds are taken to cost the
// same.
func (x *Experiment) costs(jobs []Job) ([]float64, error) {
	plans := map[string]Plan{}
	costs := make([]float64, len(jobs))
	for i, j := range jobs {
		p, known := plans[j.Name()]
		if !known {
			var err error
			if p, err = x.Plan(j); err != nil {
				return nil, err
			}
			plans[j.Name()] = p
		}
		costs[i] = p.FLOPs()
		if x.opts.Out == "" {
			continue
		}
		if f, err := x.Found(j); err == nil { // whatever is wrong with it is told when the run begins
			costs[i] = p.Left(f)
		}
	}
	return costs, nil
}
