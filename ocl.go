// Package ocl holds the common types of online continual learning: labels, batches, streams and learners.
//
// A [Stream] delivers tasks D_1 … D_T, each training batch once. A [Learner] observes the batches and predicts labels:
//
//	for batch, err := range s.Train(task) {
//		stats, err := l.Observe(ctx, batch)
//	}
//	for batch, err := range s.Test(task) {
//		labels := make([]ocl.Label, batch.Len())
//		err := l.Predict(labels, batch.X)
//	}
//
// Optional interfaces ([TaskAware], [Preparer]) say which supervisory signals a learner uses. The package holds no
// algorithm and no implementation, and knows nothing of networks, data sets or files. Start at package learner for the
// methods, at its interfaces.go for all points where they vary, at package stream for the streams and at package
// experiment for whole runs.
package ocl

import (
	"context"
	"errors"
	"iter"

	"ocl/checkpoint"
	"ocl/nn/tensor"
)

// Label is a class index in [0, StreamInfo.Classes); it is never local to a task.
type Label int32

// Scenario says how the tasks of a stream differ (survey §3.1).
type Scenario string

const (
	// ClassIncremental streams (OCI) bring new classes with every task.
	ClassIncremental Scenario = "class-incremental"
	// DomainIncremental streams (ODI) bring new instances of the same classes with every task.
	DomainIncremental Scenario = "domain-incremental"
)

// TaskInfo describes one task D_i: its 0-based index, the classes that occur in it and its sizes in samples. Tasks need
// not be equally large. Test is the size of the task's test set; where all tasks have one in common it is that one's.
type TaskInfo struct {
	Index   int     `json:"index"`
	Classes []Label `json:"classes"`
	Train   int     `json:"train"`
	Test    int     `json:"test"`
}

// StreamInfo describes a stream.
type StreamInfo struct {
	Name     string
	Scenario Scenario
	Channels int // C
	Height   int // H, pixels
	Width    int // W, pixels
	Classes  int // K: labels lie in [0, Classes)
	Batch    int // b, samples in a full incoming batch
	Tasks    []TaskInfo
	Digest   string      // "sha256:…" of the data behind the stream
	Pixels   PixelValues // [C], by which X is made of 8-bit pixels; nil where the samples are embeddings

	// Embeddings says that a sample is no image, but D numbers that a network has made of one: C is D, H and W are 1,
	// and X is made of [Float16]. Of is the shape [C,H,W] of the images, and By says which network it was; both are
	// zero where they are not known.
	Embeddings bool
	Of         [3]int
	By         string

	CommonTest   bool // there is one test set for all tasks; otherwise each task has its own
	NoBoundaries bool // nobody says where a task begins and ends, so no TaskAware learner can learn it
}

// Encoding is how X is made of the bytes of samples.
func (s StreamInfo) Encoding() Encoding {
	if s.Embeddings {
		return Float16{}
	}
	return s.Pixels
}

// TestSets is the number of test sets: 1 where all tasks share it, otherwise one a task.
func (s StreamInfo) TestSets() int {
	if s.CommonTest {
		return 1
	}
	return len(s.Tasks)
}

// ErrConsumed is what [Stream.Train] yields if the training data of a task were delivered before: a stream is seen
// once.
var ErrConsumed = errors.New("stream: the training data of this task were delivered before. A stream is seen only once")

// Stream is a finite sequence of tasks D_1 … D_T (survey §3.1). One goroutine at a time uses it. A batch that it yields
// is the stream's memory and holds until the next iteration. Iteration ends with the first error.
type Stream interface {
	// Info is the same at any time. Its slices belong to the stream.
	Info() StreamInfo
	// Train delivers the mini-batches of a task once, in an order fixed by the seed; again yields ErrConsumed.
	Train(task int) iter.Seq2[Batch, error]
	// Test delivers the held-out samples of a test set, 0 ≤ set < TestSets of Info, any number of times. Set i is that
	// of task i, or set 0 that of all tasks.
	Test(set int) iter.Seq2[Batch, error]
}

// Seeker is a Stream that can continue in the middle of a task, as a resumed run does.
type Seeker interface {
	// Seek makes the next Train(task) start at the given batch and marks the tasks before it as consumed. A place
	// outside the stream is an error, and a task that was delivered is ErrConsumed; then nothing has changed.
	Seek(task, batch int) error
}

// StepStats counts one call of Observe.
type StepStats struct {
	// Loss is the mean training loss over the rows. With several passes it is the sum of the mean loss of each, and
	// with several iterations the mean over them.
	Loss float64
	// Correct counts the rows of the incoming batch that the network predicted correctly before the first step. It is
	// -1 for a learner that does not predict while it observes (GDumb).
	Correct int
	Samples int // rows of the incoming batch
	Replay  int // rows replayed from memory, over all iterations
}

// Learner is A^CL: ⟨f, (x,y), M⟩ → ⟨f, M⟩ (survey §3.1). One goroutine at a time uses it, and calls do not overlap. The
// interfaces below, and those of package learner, are optional; its interfaces.go has the order of all calls.
type Learner interface {
	// Observe learns from one incoming batch, which belongs to the caller: it is read until Observe returns, and
	// neither kept nor changed. An error that wraps ctx.Err() leaves the learner as it was ([Pausing] has an
	// exception); after any other error the learner is not used again. A loss that is not a finite number is an error
	// that wraps ErrDiverged.
	Observe(ctx context.Context, b Batch) (StepStats, error)
	// Predict writes the predicted label of each row of x [B,C,H,W] to dst, len(dst) == B. It changes nothing: no
	// statistics, no draws, no memory. An error leaves the labels in dst undefined. A network whose outputs are not
	// finite numbers is an error that wraps ErrDiverged.
	Predict(dst []Label, x *tensor.Tensor) error
	// Cost says how large the learner is and what it takes, at any time between two calls: a learner may grow.
	Cost() Cost
	State
}

// Cost is how large a learner is and how much work it does. Floating-point operations are those of passes through
// networks, two for each multiply-add, counted when they are made, and those of the sums of a learner that trains
// nothing. Other work is not counted.
type Cost struct {
	Parameters int   // of all networks that it predicts with
	StepFLOPs  int64 // of the last batch observed, all its steps together; 0 before one since it was made or loaded
	ImageFLOPs int64 // to predict one image
}

// ErrDiverged says that a loss, or a number that a prediction depends on, became NaN or infinite. The run then ends
// with the outcome "diverged".
var ErrDiverged = errors.New("learner: the loss is not a finite number")

// TaskAware learners use the boundaries of tasks. That is a supervisory signal, so reports say which methods use it,
// and a stream with [StreamInfo.NoBoundaries] has no such learner. Each task is BeginTask, its batches, EndTask. A
// batch or a task out of this order is an error.
type TaskAware interface {
	// BeginTask comes before the first batch of a task. The classes that it names may be read until it returns. After
	// an error the learner is not used again.
	BeginTask(TaskInfo) error
	// EndTask comes after the last batch of a task, also of the last task, and may train for long. It checks ctx during
	// that work. After an error that wraps ctx.Err() the learner is whole, and may be saved: EndTask is called again
	// and continues, also after a load, to the same bits. After any other error the learner is not used again.
	EndTask(ctx context.Context) error
}

// Extending learners accept a task whose classes are not all known when it begins, such as a task of a camera:
// BeginTask has the classes known by then, maybe none.
type Extending interface {
	TaskAware
	// ExtendTask adds further classes to the task that has begun, before the first batch that has them. Classes that
	// the task has already change nothing. classes may be read until it returns. After an error the learner is not used
	// again.
	ExtendTask(classes []Label) error
}

// Preparer learners compute something of what they have learned before they can predict, such as class means. The time
// that it takes is measured.
type Preparer interface {
	// Prepare comes between the last batch and the first prediction after it; until then Predict is an error. It
	// changes nothing that a later Observe depends on, and a second Prepare changes nothing at all. It checks ctx
	// during its work. After an error, such as one that wraps ctx.Err(), it may be called again: it starts anew, or
	// continues. Before the first sample it is an error.
	Prepare(ctx context.Context) error
}

// Pausing learners may work for long inside Observe, such as one that consolidates its memory now and then. They check
// ctx during that work too; other learners check it once, before they change anything. When ctx ends, Observe returns
// an error that wraps ctx.Err():
//
//   - If Paused is false, nothing of the batch was learned: the learner is as it was before.
//   - If Paused is true, Observe stopped on its way. The learner is whole: it may be saved, and a learner that loads
//     this state is Paused too. Before the next Observe only SaveState, LoadState, Cost and Paused are called.
//
// In both cases the next Observe gets the same batch again and continues where the last one stopped. Its StepStats are
// those of the whole batch, and all bits are the same as without a pause.
type Pausing interface {
	Learner
	Watched
	// Paused says whether the last Observe stopped on its way. It is false after an Observe without an error.
	Paused() bool
}

// Watched learners report the progress of long work: of Prepare, of EndTask and, if they are [Pausing], of Observe.
type Watched interface {
	// Watch makes long work call f after each of its steps, in the goroutine that does the work; nil ends that. Watch
	// is called between two calls of the learner, and f calls nothing of the learner. In one piece of work, done rises
	// from call to call up to total, which does not change. Work that continues after a pause continues counting.
	// Watching changes no number.
	Watch(f func(done, total int))
}

// State is everything that would change a resumed run if it were lost. A run that saves, loads and continues gives the
// same bits as one that continues. [checkpoint.Parts] makes both methods of one list. LoadState takes a state of the
// same configuration, into a value that is new or has learned other things; after an error the value is not used again.
type State = checkpoint.State
