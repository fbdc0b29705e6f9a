// Package learner holds the learners: what they do with an incoming batch, and how they predict. A learner consists
// of a network, an optimiser, a memory and a criterion. It knows nothing of data sets, streams, metrics, clocks or
// files, so it cannot see a test set. Start at [Replay].
//
// Most methods are a Replay: a struct whose fields are the lines of the survey's algorithm, so that a method which
// changes one line fills one field. This is MIR:
//
//	mir := &learner.Replay{
//		Net: net, WS: net.NewWorkspace(1), Opt: optim.SGD{LR: 0.1}.New(),
//		Memory:   memory.NewStore(1000, [3]int{3, 32, 32}, nil),
//		Retrieve: &memory.MIR{Size: 10, Candidates: 50},
//		Seed:     1,
//	}
//	stats, err := mir.Observe(ctx, batch) // each batch once, as it comes
//	err = mir.Predict(labels, images)
//
// A method that changes the step itself implements [Stepper]. It gets the Replay, draws from its memory, and adds up
// gradients of one or several [Pass] values.
//
// # Where methods vary
//
// At these interfaces one method differs from another. The caller of a learner finds out by a type assertion which of
// them it implements; the packages that ask are in brackets. A learner must have [ocl.Learner] and may have
//
//   - [ocl.TaskAware]: it is told where tasks begin and end (train, live); [ocl.Extending]: and of classes that come
//     later (live)
//   - [ocl.Preparer]: it computes something before the first prediction after a batch (train, trained, live)
//   - [ocl.Watched]: it reports the progress of long work; [ocl.Pausing]: and can stop inside Observe (both train)
//   - [Open]: it shows the network and the rule that it predicts by (train, predict, live); [Scored]: it shows a score
//     for each class (trained, predict)
//   - [Storing]: it is not Open and shows its memory ([MemoryOf]); [Mixture]: it shows the experts that it makes
//     (train)
//   - [Weighted]: it separates what it has learned from what it stores (live)
//   - [Amending]: it removes and relabels stored samples; [Unlearning]: it takes away what it has learned of a sample
//     (both live)
//   - [Reclassing]: it makes one class of two and two of one, and lets go of a class
//   - [Ordered]: its outputs have another order than the classes (trained, live)
//   - [Calibrated]: it says how sure its answers may be (trained, live)
//   - [Sums]: it consists of sums, which may have no sample, and drops what Prepare has computed (live)
//
// The parts of a learner are values of its fields:
//
//   - [Stepper]: the gradient of one step; [TogetherLoss]: one loss over several of its passes
//   - [loss.Criterion]: the loss of one pass, and its gradient
//   - [memory.Retriever] and [memory.Updater]: which samples are replayed, and which are stored; both may ask a
//     [memory.Probe] about the network
//   - [memory.Remover]: a part that keeps something by memory slot, and is told of each sample that is removed
//   - [optim.Optimizer]: the step along the gradient, made by [optim.Settings]
//   - [LatentEncoding]: the bytes of activations, where a memory stores these in the place of images
//   - [ocl.State]: a part whose numbers change a run; the learner saves and loads it below its own name
//
// # When each is called
//
// The calls of one task, in order. On the right is the interface of the call, or when it is made:
//
//	BeginTask                            TaskAware
//	for each batch:
//		ExtendTask                       Extending, before a class that the task had not
//		Observe                          Learner; of a Replay:
//			Iterations times:
//				Stepper.Gradient
//					Draw:       Retriever.Retrieve, unless the memory is empty; it may ask the Probe
//					Accumulate: Criterion.Eval, once for each pass
//				Optimizer.Step           unless the error is SkipStep
//			Updater.Update               which may ask the Probe
//	EndTask                              TaskAware
//	Prepare                              Preparer, here or between two batches
//	Predict, or Decide, or Scores        any number of times
//
// Between any two calls of the learner a caller may save the state, ask for Cost, Parts and Weights, and remove,
// relabel or unlearn samples. A learner that is Paused is an exception: see [ocl.Pausing].
//
// # Rules for all
//
// Goroutines. One goroutine at a time calls a learner, and the learner calls its parts in that goroutine. Only
// [loss.Criterion] is called by several goroutines at once. A method may use other goroutines while it runs (those of
// its workspace); none of them uses an argument after that.
//
// Ownership. Arguments belong to the caller, and may be read until the method returns. Only those named dst or d, and
// the gradients of the network in [Stepper], may be written. Who keeps something copies it. The parts of a learner
// belong to it: nobody else calls or changes them after the first call. Package live is an exception: between two
// calls it adds classes to the network of an [Open] learner, and drops its class means.
//
// Random numbers. A part draws only from the source that it is given: Rand of [memory.Env], or [Replay.Rand].
//
// Errors. An error that wraps ctx.Err() leaves the learner whole, and the same call continues. After an error of a call
// that is said to change nothing then, the learner is as it was. After any other error of Observe, BeginTask,
// ExtendTask, EndTask or LoadState it may be half changed: nobody uses it any more, and a caller who goes on loads the
// last saved state into a new one. A label out of range or a loss that is no number is an error. A tensor of a wrong
// shape is a mistake in the program, and panics.
package learner

import (
	"context"
	"errors"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/memory"
	"ocl/nn"
	"ocl/nn/tensor"
)

// Stepper is ModelUpdate (line 4 of the survey's algorithm) without the step of the optimiser: it makes passes and
// leaves the direction of the step in the network's gradients. The [Replay] calls it in the goroutine of Observe.
//
// A Stepper takes its passes from [Replay.Incoming] and [Replay.Draw], and runs them by [Replay.Accumulate],
// [Replay.AccumulateApart] or [Replay.AccumulateTogether]. This is ER:
//
//	replayed, err := r.Draw()
//	if err != nil {
//		return ocl.StepStats{}, err
//	}
//	return r.Accumulate(r.Incoming(), replayed)
//
// It may write Net.Grads and what it owns itself. It must not change the parameters, the memory, or b; where nothing is
// augmented, Observe returns an error that names it if the labels or pixels of the batch changed. It draws random
// numbers from [Replay.Rand] only. One with a state that changes the numbers of a run implements [ocl.State] too, and
// [memory.Remover] if that state is kept by memory slot. A Stepper that is the learner around the Replay, as [EWC] is,
// saves its state itself.
type Stepper interface {
	// Gradient adds the direction of one step to Net.Grads, which are 0 before. One that writes there takes Grads anew: a
	// slice of an earlier step may hold other values, and what is added to it may be lost. It is called Iterations times
	// for each batch. b is the batch of [Replay.Incoming], augmented if Augment is set; it and all passes hold until
	// Gradient returns. Of the stats Gradient fills Loss, Correct (rows of b that the network predicted correctly, -1 if
	// it does not predict by its outputs) and Replay (rows replayed), as Accumulate does.
	//
	// With an error that wraps [SkipStep] the optimiser makes no step, and the batch counts as learned. After any other
	// error Observe returns it, and the learner is not used any more.
	Gradient(r *Replay, b ocl.Batch) (ocl.StepStats, error)
}

// SkipStep is the error of a [Stepper] that wants no step of the optimiser, not even by momentum or weight decay, such
// as one that learns from the memory alone while that is empty. The batch is stored as after any step.
var SkipStep = errors.New("learner: no step of the optimiser") //nolint:staticcheck,revive // a signal, as fs.SkipDir is

// TogetherLoss is one loss over several passes of [Replay.AccumulateTogether]. It returns the loss, and writes the
// gradient of the outputs of pass i, p[i].Outputs [B_i,K], to d[i], which begins as zeros; d[i] is nil for a pass
// without rows. It changes nothing else, and must not run the network. It is called once in a step, in the goroutine of
// Gradient. Its error is that of AccumulateTogether, and the gradients of the network are then as they were.
type TogetherLoss func(p []Pass, d []*tensor.Tensor) (float64, error)

// Open learners show what they predict with. Then one pass over the test images is enough for an evaluation to find
// what the learner predicts, what another classifier predicts (survey §trick_detail), and why (§error_ana).
type Open interface {
	ocl.Learner
	// Parts are the learner's own, and not copies. The caller may run the network forward by the workspace and read
	// the memory, until the next call that changes the learner, and must change none of them.
	Parts() Parts
	// Decide is Predict for images that have already gone through the network, with batch norm by its running
	// statistics. It reads only the outputs that its rule needs, and has the preconditions of Predict, such as Prepare.
	// It changes nothing but dst. An output that it reads and that is not a finite number is an error that wraps
	// [ocl.ErrDiverged].
	Decide(dst []ocl.Label, o nn.Outputs) error
}

// Storing learners are not [Open], but show the samples that they store, as [Parts] does.
type Storing interface {
	ocl.Learner
	Stored() *memory.Store // nil without memory
}

// Mixture learners make experts, which are networks, as they learn. Reports describe these.
type Mixture interface {
	ocl.Learner
	// Experts describes the experts whose first training has ended, in the order in which they were made.
	Experts() []Expert
	// Reconstructions are some of the images [N,C,H,W] that expert k was made of, and what it makes of them. It changes
	// nothing.
	Reconstructions(k int) (images, decoded *tensor.Tensor)
}

// Expert describes one expert of a [Mixture].
type Expert struct {
	Step       int     // batches observed when its training began, the one under way included
	Stored     int     // samples it was made of
	Count      float64 // 1, those, and its responsibilities since
	Parameters int
}

// Parts are the parts by which an [Open] learner predicts.
type Parts struct {
	Net      *nn.Network
	WS       *nn.Workspace
	Memory   *memory.Store // nil without memory
	ByLogits bool          // Decide is the class of the largest logit, and logit k is that of class k
	Means    *NCM          // Decide is the class of the nearest of these means; nil is another rule
}

// Ordered learners have the outputs of their network in another order than the classes.
type Ordered interface {
	ocl.Learner
	Order() []ocl.Label // the class of each output that is in use
}

// Sums are learners that consist of sums over samples, and predict by what Prepare computes from them.
type Sums interface {
	ocl.Learner
	Empty() bool // no sample is in the sums
	Unprepare()  // drops what Prepare has computed, as Observe does, so that the state says nothing of it
}

// Calibrated learners find out, by samples that they have learned, how sure their answers may be.
type Calibrated interface {
	ocl.Learner
	// Calibrate returns the calibration of what Prepare has computed, which comes before it. It is computed once, and
	// its scores are of the outputs of the network. It changes no prediction. An error wraps [calibrate.ErrFew] where too
	// few samples are left to say anything, and ctx.Err() where ctx has ended; another call goes on then.
	Calibrate(ctx context.Context) (*Calibration, error)
	// Kept is a view of the samples by which it calibrates. They are in its state and not in its weights: loading weights
	// drops those that it has, as they are of other sums. Unlearning a sample takes it out of them.
	Kept() checkpoint.Part
}

// Scored learners have several networks, so they are not [Open], but give each class a score.
type Scored interface {
	ocl.Learner
	// Scores writes log p(y|x) + c(x) to dst [B,K], for each row of x [B,C,H,W] and each of the K classes; c(x) is the
	// same for all classes of a row. Predict predicts the class of the highest score. Scores changes nothing but dst,
	// which an error leaves undefined. It is an error before the learner has learned enough to have scores.
	Scores(dst []float64, x *tensor.Tensor) error
}

// Weighted learners say which parts of their state are what they have learned, without the samples that they store: the
// network and the sums of its optimiser, or the sums of a learner that trains nothing. What a learner keeps of earlier
// tasks, such as a teacher, is not among them.
type Weighted interface {
	ocl.Learner
	// Weights are views of the learner, which the caller saves or loads at once, between two other calls. A section has
	// the name that it has in the whole state, so the weights can also be loaded from one. Loading keeps the memory as
	// it is. After an error of loading, the learner is not used any more.
	Weights() checkpoint.Parts
}

// Amending learners can remove samples that they store, and change the labels of these. What they have learned of a
// sample stays in the network: see [Unlearning]. The calls come between two calls of Observe, also where ctx has ended
// an EndTask that will continue. Class means of an earlier Prepare become stale.
//
// A learner that contains a [Replay] has both methods from it. One that keeps more by slot, or by the label of a stored
// sample, has its own around them.
type Amending interface {
	ocl.Learner
	// Remove removes the samples in slots from the memory, with all that the learner keeps of them by slot. Slots are
	// filled and rise. A memory that was full has room then, and the next samples fill it. It is an error, and nothing
	// changes, if a part of the learner is an [ocl.State] and no [memory.Remover], so that it cannot follow.
	Remove(slots []int) error
	// Relabel gives the sample in a filled slot the label y, an active class. For a learner that uses tasks, and knows
	// of none that has y, it is the error [ErrNoTask]: tell it of the class first, by BeginTask or ExtendTask. After an
	// error nothing has changed.
	Relabel(slot int, y ocl.Label) error
}

// ErrNoTask says that a learner that uses tasks knows of none with a class.
var ErrNoTask = errors.New("learner: no task has had the class. Tell the learner of it first")

// Unlearning learners consist of sums over samples, so what was learned of a sample can be subtracted again. An
// [Amending] learner removes what it stores; an Unlearning one what it has learned.
type Unlearning interface {
	ocl.Learner
	// Unlearn subtracts what Observe has added for the images [B,C,H,W] of b with the labels of b, in any order and
	// whatever was observed since. Then the learner is one that never observed them, up to the rounding of its sums,
	// and a class without samples is predicted no more. Prepare comes before the next prediction.
	//
	// More samples of a class than were observed are an error that wraps [ErrNotLearned]; whether it was these samples
	// that were observed, nobody can see. If the settings of the learner make it no sum, the error wraps [ErrNoSums],
	// also for an empty batch, which otherwise changes nothing. After an error nothing has changed.
	Unlearn(b ocl.Batch) error
}

var (
	// ErrNotLearned says that a sample cannot be unlearned, because it was not observed.
	ErrNotLearned = errors.New("a sample was not learned")
	// ErrNoSums says that what a learner has learned depends on the order of the samples, so that none can be
	// unlearned.
	ErrNoSums = errors.New("what was learned is no sum over samples")
)

// Reclassing learners make one class of two and two of one, and let go of a class. The calls come between two calls of
// Observe, also where ctx has ended an EndTask that will continue. Prepare comes before the next prediction. A class
// that has gone is predicted no more, and the caller lets the learner observe no sample of it: a class that comes again
// has another number. Samples that are kept for [Calibrated] follow their class.
type Reclassing interface {
	ocl.Learner
	// Merge makes samples of the class from samples of into, those that were learned and those that are stored, and from
	// goes. [Sums] then are those of a learner that had observed all of them as into, up to rounding. A network has the
	// mean of both outputs, and its layers before carry that both were told apart. A class without samples changes
	// nothing. After an error nothing has changed.
	Merge(from, into ocl.Label) error
	// Split begins the class into, which was never observed, as a copy of from: of a network its output, and where tasks
	// had from they had into too. [Sums] have nothing to copy. What samples of from belong to into is said by Unlearn or
	// Relabel, and by Observe. After an error nothing has changed.
	Split(from, into ocl.Label) error
	// RemoveClass removes a class and its stored samples. What the others are computed by may carry its samples: layers of
	// a network, or sums of products. After an error nothing has changed.
	RemoveClass(y ocl.Label) error
	// Reclasses is nil where these calls are possible, and otherwise says why they are not.
	Reclasses() error
	// Samples is how many samples of a class are in the sums, or, where the learner has none, in the memory.
	Samples(y ocl.Label) int64
	// Carries is a sentence on what stays of samples of a class that was removed; "" is nothing.
	Carries() string
}

// LatentEncoding says how the activations of a sample are stored: [ocl.Float16] or [ocl.Codes]. It has no state, and
// any goroutine may use it.
type LatentEncoding interface {
	ocl.Encoding
	// Put writes the values of a sample to stored, which has Bytes(len(values)) bytes, and says whether all that is
	// stored are finite numbers. If not, stored is undefined, and the sample must not be kept.
	Put(stored []byte, values []float32) (finite bool)
}
