package train

import (
	"slices"

	"ocl"
	"ocl/config"
	"ocl/learn/method"
	"ocl/nn"
	"ocl/run/build"
	"ocl/run/result"
)

// Plan says what a run will do, for progress and --dry-run.
type Plan struct {
	Steps         int // learner steps in all
	StepsDone     int // when resumed
	TestSamples   int // samples predicted in all evaluations
	TestsDone     int // of them when resumed
	Tested        int // test images of all tasks
	Classes       int // of all tasks
	FLOPsPerStep  int64
	FLOPsPerPause int64   // of long work inside a step, which FLOPsPerStep spreads over all steps; 0 for most methods
	FLOPsPerImage int64   // of a prediction
	PrepareFLOPs  []int64 // between the last step and the evaluation of each task
	MidTaskFLOPs  []int64 // before each evaluation in the middle of each task
	MidTask       int     // evaluations in the middle of tasks
	RowsForward   float64 // through networks, for each incoming sample; 0 where it does not learn step by step
	RowsBackward  float64
	NetworkBytes  int64   // parameters of the network with all copies that are kept beside it, and sums
	Foreseen      int     // samples predicted before they are learned, and for a probe; not among TestSamples
	ForeseeFLOPs  float64 // of what is prepared for that, and of the fit of a probe
	MemoryBytes   int64   // estimated peak
	Needs         []Need  // what makes most of the peak
	// CheckpointBytes is about how long a checkpoint is. A run has two of them while it is at work, and none when it has
	// ended, unless it keeps them.
	CheckpointBytes int64
	// Experts is the most networks that a learner makes while it learns; 0 of other methods. FLOPsPerStep and
	// FLOPsPerImage are then means over the run with so many.
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
	if n := len(p.MidTaskFLOPs); n > 0 {
		all += float64(p.MidTask) * float64(p.MidTaskFLOPs[n/2]) // they grow with what is stored
	}
	return all + float64(p.Foreseen)*float64(p.FLOPsPerImage) + p.ForeseeFLOPs
}

// Brief is the plan as the events of the run have it.
func (p Plan) Brief() result.Plan {
	return result.Plan{Steps: p.Steps, FLOPs: p.FLOPs(), StepFLOPs: p.FLOPsPerStep, ImageFLOPs: p.FLOPsPerImage,
		PrepareFLOPs: orNone(p.PrepareFLOPs), BetweenFLOPs: orNone(p.MidTaskFLOPs)}
}

// Left returns the work that remains, given what f says is done.
func (p Plan) Left(f Found) float64 {
	if f.Ended() {
		return 0
	}
	left := p.FLOPs() * (1 - min(1, float64(f.Step)/float64(max(p.Steps, 1))))
	// the last evaluation
	return max(left, float64(p.TestSamples)/float64(max(len(p.PrepareFLOPs), 1))*float64(p.FLOPsPerImage))
}

// Network has the facts about a network that a plan needs.
type Network struct {
	FLOPs  int64 // to predict an image
	Frozen int64 // of them, those of stages that do not learn
	Latent bool  // activations of these stages are learned and stored
	Stored int   // bytes of a stored sample
	Params int
	// numbers in the features of a sample
	Features int
	Memory   nn.Footprint
}

// work is the arithmetic of passes over so many samples, which are worth so many forward passes of one through the
// layers that learn.
func (n Network) work(forwards, samples int) int64 {
	work := (n.FLOPs - n.Frozen) * int64(forwards)
	if !n.Latent {
		work += n.Frozen * int64(samples)
	}
	return work
}

// NewPlan counts the steps, tests and work of a run with the config c on the stream st. before is how many samples its
// memory was offered before it, and data how many bytes the images of its data set take.
func NewPlan(c config.Config, st build.Stream, net Network, before int, data int64) Plan {
	info, s := build.Method(c.Methods[0]), build.Setup(c)
	p := Plan{FLOPsPerImage: net.FLOPs}
	of := st.Info()
	s.Shape, s.Classes = [3]int{of.Channels, of.Height, of.Width}, of.Classes
	var solved method.Solution
	if info.Solves != nil {
		solved = info.Solves(s)
	}
	n := len(of.Tasks)
	p.PrepareFLOPs, p.MidTaskFLOPs = make([]int64, n), make([]int64, n)
	seen, tested := before, 0 // samples of the tasks so far
	classes := map[ocl.Label]bool{}
	for t, task := range of.Tasks {
		p.Tasks, p.TaskNames = append(p.Tasks, st.Original(t)+1), append(p.TaskNames, st.TaskName(st.Original(t)))
		from := p.Steps
		p.Steps += st.Batches(t)
		seen += task.Train
		tested += task.Test
		if of.CommonTest {
			tested = task.Test
		}
		for _, k := range task.Classes {
			classes[k] = true
		}
		p.Tested, p.Classes = tested, len(classes)
		if t < st.Start() {
			continue
		}
		stored := min(seen, c.Memory)
		prepare := int64(solved.Prepare)
		if info.Prepared != nil {
			images := info.Prepared(stored, s)
			prepare = net.work(3*images, images)
		}
		if c.EvalEvery > 0 {
			n := p.Steps/c.EvalEvery - from/c.EvalEvery
			p.MidTask += n
			p.TestSamples += n * tested
			p.MidTaskFLOPs[t] = prepare
		}
		if looks := len(aheads(c)); looks > 0 {
			each := float64(prepare)
			if c.Classifiers[0] == config.ClassifierNCM {
				each += float64(net.work(stored, stored))
			}
			p.Foreseen += looks * task.Train
			p.ForeseeFLOPs += each * float64(st.Batches(t))
		}
		if evaluatedAfter(c.Eval, t, n) {
			for _, set := range testSets(of, c.Eval, t) {
				p.TestSamples += of.Tasks[set].Test
			}
			p.PrepareFLOPs[t] = prepare
			if slices.Contains(c.Classifiers, config.ClassifierNCM) {
				p.PrepareFLOPs[t] += net.work(stored, stored)
			}
		}
		if s.Reviewed() {
			p.PrepareFLOPs[t] += net.work(3*stored, stored)
		}
	}
	if c.EvalProbe > 0 {
		images := probedImages(c, of)
		p.Foreseen += images + p.Tested
		p.ForeseeFLOPs += probeIterations * 6 * float64(images) * float64(net.Features) * float64(of.Classes)
	}
	if info.OwnNetworks {
		samples := 0
		for t := range n {
			samples += st.Batches(t) * of.Batch // nearly: a last batch may be smaller
		}
		g := info.Grows(s, samples, of.Batch)
		net.Params = g.Parameters
		p.Experts, p.FLOPsPerImage = g.Experts, int64(g.Image)
		p.FLOPsPerStep = int64(g.Learn / float64(max(1, p.Steps)))
		p.FLOPsPerPause = int64(g.Learn / float64(max(1, g.Experts)))
	}
	if info.Solves != nil {
		p.NetworkBytes += 8 * int64(solved.Numbers)
		p.RowsForward = float64(min(1, len(solved.Hidden)))
		p.FLOPsPerStep = int64(float64(of.Batch) * (solved.Step + float64(net.FLOPs)*float64(len(solved.Hidden))))
	}
	p.NetworkBytes += 4 * int64(net.Params) * int64(1+info.Copies(s, of.Batch))
	if passes := info.StepPasses(s, of.Batch); !info.Deferred && len(passes) > 0 {
		forward, backward := method.Rows(passes)
		p.RowsForward, p.RowsBackward = float64(forward)/float64(of.Batch), float64(backward)/float64(of.Batch)
		for _, pass := range passes {
			forwards, samples := pass.Forwards(), 0
			for _, n := range pass.Images {
				samples += n
			}
			if pass.Work == method.Score { // by two networks
				samples *= 2
			}
			p.FLOPsPerStep += net.work(forwards, samples)
		}
	}
	if net.Latent {
		p.FLOPsPerStep += net.Frozen * int64(of.Batch)
	}
	image := int64(of.Channels * of.Height * of.Width)
	p.Needs = needs(c, net, p.Experts > 0, of, data+st.MemoryBytes(), min(seen, c.Memory))
	p.CheckpointBytes = int64(min(seen, c.Memory)) * int64(net.Stored)
	if info.Solves != nil {
		head := int64(of.Classes) * image * 4
		if h := solved.Hidden; h != nil {
			head = int64(of.Classes) * int64(h[len(h)-1]) * 4
		}
		p.CheckpointBytes += int64(solved.Numbers)*8 + head
		p.MemoryBytes = estimatedSolved(p.Needs, solved, head, image)
	} else {
		p.MemoryBytes = estimated(p.Needs, net, p.Experts, float64(image))
		p.CheckpointBytes += int64(net.Params) * 4 * savedCopies
	}
	return p
}

// probeIterations is about how many iterations the fit of a probe takes.
const probeIterations = 150

// probedImages is the most training images that a probe is fitted to.
func probedImages(c config.Config, of ocl.StreamInfo) (images int) {
	for _, t := range of.Tasks {
		images += t.Train
	}
	return min(images, c.EvalProbe*of.Classes)
}

// evaluatedAfter says whether there is an evaluation after task t of so many.
func evaluatedAfter(eval string, t, tasks int) bool { return eval != config.EvalFinal || t == tasks-1 }

// savedCopies is the vectors of the length of the parameters in a checkpoint: the parameters, and a teacher's or a
// Fisher matrix.
const savedCopies = 2
