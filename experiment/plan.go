package experiment

import (
	"ocl/data"
	"ocl/nn"
	"ocl/stream"
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
		rc := runConfig(x.config, j)
		st, err := newStream(x.set, rc)
		if err != nil {
			return nil, err
		}
		net, err := newNetwork(st.Info(), rc)
		if err != nil {
			return nil, err
		}
		if rc.Eval == "" {
			rc.Eval = defaultEval(st.Info().Scenario)
		}
		plans = append(plans, newPlan(st, net, x.set, rc))
	}
	return plans, nil
}

// newPlan counts the steps and tests of one run.
func newPlan(st *stream.Tasks, net *nn.Network, set *data.Set, c Config) Plan {
	p := Plan{FLOPsPerImage: net.FLOPs()}
	tasks := st.Info().Tasks
	for t := range tasks {
		p.Steps += st.Batches(t)
		switch c.Eval {
		case EvalAll:
			p.TestSamples += len(tasks) * tasks[t].Test
		case EvalFinal:
			p.TestSamples += tasks[t].Test
		default:
			p.TestSamples += (len(tasks) - t) * tasks[t].Test
		}
	}
	rows := int64(c.Stream.Batch)
	if infoOf(c.Methods[0]).UsesMemory {
		rows += int64(c.Replay.Batch)
	}
	// Forward, and backward with respect to weights and to inputs: three times the work of a prediction.
	p.FLOPsPerStep = 3 * net.FLOPs() * rows * int64(c.Replay.Iterations)
	image := int64(set.ImageLen())
	parameters := int64(len(net.Params()))
	p.MemoryBytes = baseBytes + int64(len(set.Train.X)+len(set.Test.X)) + int64(c.Memory)*image*4 +
		parameters*4*parameterCopies + activationBytes(net, c)
	return p
}

const (
	baseBytes       = 30 << 20 // the program and the Go runtime
	parameterCopies = 8        // parameters, gradients, packed weights, a checkpoint in the making
	testBatch       = 200      // rows of an evaluation's batch
)

// activationBytes estimates what a workspace holds for the largest pass, from the work: an activation takes part in
// some hundreds of multiply-adds forward, as in the survey's network.
func activationBytes(net *nn.Network, c Config) int64 {
	rows := int64(max(c.Stream.Batch+c.Replay.Batch, testBatch/10))
	return net.FLOPs() / 200 * 4 * rows * 4
}
