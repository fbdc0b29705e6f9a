package train

import (
	"fmt"
	"strings"

	"ocl"
	"ocl/config"
	"ocl/run/identity"
	"ocl/run/result"
)

// Job is one run of an experiment: one method with its tricks, one seed.
type Job struct {
	Index, Total int
	Method       string
	Tricks       []string // names; nil means none
	Seed         uint64
	Config       config.Config // of this run alone, resolved: running it again gives the same run
	// Identity is everything that the numbers of the run depend on: its config without places, the digest of the data, the
	// numbers version, the kernel set and the algorithm of convolutions. Key is its hash, 64 hexadecimal digits.
	Identity identity.Identity
	Key      string
	Folder   string // the name of its folder in the experiment's, such as "er-m5000-s3-1f2e3d4c"
}

// Name is the method with its tricks, such as "er+lb+ncm".
func (j Job) Name() string { return strings.Join(append([]string{j.Method}, j.Tricks...), "+") }

// String names the run for people: "er s3".
func (j Job) String() string { return fmt.Sprintf("%s s%d", j.Name(), j.Seed) }

// Events are the observers of a run; nil fields do nothing, and no observer can change the run. The goroutine of the
// run calls them in order and waits for them. Simultaneous runs call theirs at the same time, so observers must lock
// what they share. A run that is kept because it had finished before calls only Begin, Note and End.
type Events struct {
	Begin        func(Job, ocl.StreamInfo, Plan)
	TaskBegin    func(ocl.TaskInfo)
	StepBegin    func() // the images of the batch are there
	StepEnd      func(step int, s ocl.StepStats)
	Working      func(done, total int) // long work in one piece; only of learners that are ocl.Watched
	Tested       func(done, total int) // samples of the evaluation under way, 0 of them when it begins
	Evaluated    func(Evaluated)
	Checkpointed func(path string)                // the file is safe on the disk
	End          func(Job, *result.Result, error) // the result is nil if there is none
	Note         func(text string)                // a note for the user: a damaged checkpoint was skipped, …
}

// Tee are observers that tell both of each event, first a.
func Tee(a, b Events) Events {
	return Events{Begin: both3(a.Begin, b.Begin), TaskBegin: both1(a.TaskBegin, b.TaskBegin),
		StepBegin: both0(a.StepBegin, b.StepBegin), StepEnd: both2(a.StepEnd, b.StepEnd),
		Working: both2(a.Working, b.Working), Tested: both2(a.Tested, b.Tested), Evaluated: both1(a.Evaluated, b.Evaluated),
		Checkpointed: both1(a.Checkpointed, b.Checkpointed), End: both3(a.End, b.End), Note: both1(a.Note, b.Note)}
}

func both0(f, g func()) func() {
	if f == nil {
		return g
	} else if g == nil {
		return f
	}
	return func() { f(); g() }
}

func both1[A any](f, g func(A)) func(A) {
	if f == nil {
		return g
	} else if g == nil {
		return f
	}
	return func(a A) { f(a); g(a) }
}

func both2[A, B any](f, g func(A, B)) func(A, B) {
	if f == nil {
		return g
	} else if g == nil {
		return f
	}
	return func(a A, b B) { f(a, b); g(a, b) }
}

func both3[A, B, C any](f, g func(A, B, C)) func(A, B, C) {
	if f == nil {
		return g
	} else if g == nil {
		return f
	}
	return func(a A, b B, c C) { f(a, b, c); g(a, b, c) }
}

// Evaluated holds the results of an evaluation, for observers.
type Evaluated struct {
	Task     int        // the task that was just learned, or is being learned
	Step     int        // learner steps taken
	MidTask  bool       // in the middle of the task (Config.EvalEvery), and not at its end
	Accuracy []*float64 // by test set, nil where not evaluated
}
