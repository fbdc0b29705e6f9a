package experiment

import (
	"path/filepath"
	"slices"

	"ocl/data"
	"ocl/experiment/result"
	"ocl/method"
	"ocl/nn"
)

// Plans says what an experiment is going to do, a plan for each of [Jobs], without learning or writing anything. It
// opens the data, so whatever is wrong with them is found too.
func Plans(c Config, o Options) ([]Plan, error) {
	x, err := open(c, o)
	if err != nil {
		return nil, err
	}
	var plans []Plan
	for _, j := range Jobs(x.config) {
		p, err := x.plan(j)
		if err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	return plans, nil
}

// plan builds the stream and the network of a job and drops them, so it also finds what does not fit together.
func (x *experimentRun) plan(j Job) (Plan, error) {
	c := runConfig(x.config, j)
	st, err := newStream(x.set, c)
	if err != nil {
		return Plan{}, err
	}
	if err := infoOf(j.Method).CheckStream(st.Info(), j.Tricks...); err != nil {
		return Plan{}, err
	}
	net, err := newNetwork(st.Info(), c)
	if err != nil {
		return Plan{}, err
	}
	if c.Eval == "" {
		c.Eval = defaultEval(st.Info().Scenario)
	}
	return newPlan(st, net, x.set, c), nil
}

// plansByMethod plans the first job of each method with its tricks, by [Job.Name]. Other seeds may deal classes of unequal size into other tasks and so
// take a step more or less.
func (x *experimentRun) plansByMethod(jobs []Job) (map[string]Plan, error) {
	plans := map[string]Plan{}
	for _, j := range jobs {
		if _, known := plans[j.Name()]; known {
			continue
		}
		p, err := x.plan(j)
		if err != nil {
			return nil, err
		}
		plans[j.Name()] = p
	}
	return plans, nil
}

// costs estimates the work that is left of each job, in floating-point operations: none of a run that ended, and of an
// interrupted one what comes after its result. A checkpoint without result is not read for this.
func (x *experimentRun) costs(jobs []Job, plans map[string]Plan) []float64 {
	costs := make([]float64, len(jobs))
	for i, j := range jobs {
		p := plans[j.Name()]
		costs[i] = p.FLOPs()
		if x.Out == "" {
			continue
		}
		r, err := result.Read(filepath.Join(x.Out, j.Folder, ResultFile))
		switch {
		case err != nil: // whatever is wrong with it is told when the run begins
		case r.Outcome.State == result.Interrupted:
			costs[i] *= 1 - min(1, float64(r.Outcome.Step)/float64(max(p.Steps, 1)))
		default:
			costs[i] = 0
		}
	}
	return costs
}

// FLOPs is the work of the whole run, preparations and tests included.
func (p Plan) FLOPs() float64 {
	all := float64(p.Steps)*float64(p.FLOPsPerStep) + float64(p.TestSamples)*float64(p.FLOPsPerImage)
	for _, v := range p.PrepareFLOPs {
		all += float64(v)
	}
	return all
}

// newPlan counts the steps and tests of one run.
func newPlan(st view, net *nn.Network, set *data.Set, c Config) Plan {
	p := Plan{FLOPsPerImage: net.FLOPs()}
	info := infoOf(c.Methods[0])
	setup := c.setup()
	tasks := st.Info().Tasks
	p.PrepareFLOPs = make([]int64, len(tasks))
	seen := 0
	for t := range tasks {
		p.Steps += st.Batches(t)
		rows := 0 // evaluations that test task t
		switch c.Eval {
		case EvalAll:
			rows = len(tasks) - st.Start()
		case EvalFinal:
			rows = 1
		default:
			rows = len(tasks) - max(t, st.Start())
		}
		p.TestSamples += rows * tasks[t].Test
		seen += tasks[t].Train
		if t >= st.Start() && (c.Eval != EvalFinal || t == len(tasks)-1) {
			stored := min(seen, c.Memory)
			images := info.Prepared(stored, method.Setup{Options: c.Method[info.Name]})
			p.PrepareFLOPs[t] = 3 * net.FLOPs() * int64(images)
			if slices.Contains(c.Classifiers, ClassifierNCM) {
				p.PrepareFLOPs[t] += net.FLOPs() * int64(stored)
			}
		}
		if t >= st.Start() && setup.Reviewed() {
			p.PrepareFLOPs[t] += 3 * net.FLOPs() * int64(min(seen, c.Memory))
		}
	}
	if !info.Deferred {
		for _, pass := range info.Passes(setup, st.Info().Batch) {
			p.FLOPsPerStep += net.FLOPs() * int64(pass.Forwards())
		}
	}
	image := int64(set.ImageLen())
	parameters := int64(len(net.Params()))
	p.MemoryBytes = baseBytes + int64(len(set.Train.X)+len(set.Test.X)) + int64(c.Memory)*image +
		parameters*4*parameterCopies + activationBytes(net, st.Info().Batch+c.Replay.Batch)
	return p
}

const (
	baseBytes       = 30 << 20 // the program and the Go runtime
	parameterCopies = 8        // parameters, gradients, packed weights, a checkpoint in the making
	testBatch       = 200      // rows of an evaluation's batch
)

// activationBytes estimates what a workspace holds for the largest pass, from the work: an activation takes part in
// some hundreds of multiply-adds forward, as in the survey's network.
func activationBytes(net *nn.Network, rows int) int64 {
	return net.FLOPs() / 200 * 4 * int64(max(rows, testBatch/10)) * 4
}
