// Package train runs one job: it trains a learner on a stream, evaluates it, saves checkpoints, resumes from them and
// makes the result. It knows no method by name and no data set. Start at [Run]; the loop over the stream is in loop.go.
package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"ocl"
	"ocl/checkpoint"
	"ocl/data"
	"ocl/internal/origin"
	"ocl/learn/learner"
	"ocl/nn"
	"ocl/nn/weights"
	"ocl/run/build"
	"ocl/run/result"
)

// Spec is all that a run needs. What its numbers depend on are the job, the stream, the weights and the parent.
type Spec struct {
	Job        Job
	Plan       Plan
	Stream     build.Stream
	ClassNames []string       // of all labels; nil where the data have none
	Pictures   []data.Sketch  // of all labels; nil where they are none of a person's own
	Notes      []string       // of the data, for the result
	Tuning     *result.Tuning // how the settings were chosen, for the result; nil is nothing
	Parent     *Parent        // the run whose learner is trained further; nil is a new learner
	Weights    *weights.Start // what the network starts from besides drawn weights; nil is nothing
	NoWeights  error          // why the weights are absent: only a run that has a checkpoint can do without them

	RunIn
	SaveEvery      time.Duration // between checkpoints in the middle of a task; 0 is never
	KeepCheckpoint bool          // after the run has ended

	Program  string // version, revision and command line of the program, for the result
	Revision string
	Command  []string

	// For tests: WrapLearner replaces the learner, and SaveSteps saves after every so many steps and waits until it is
	// written.
	WrapLearner func(ocl.Learner, *nn.Network) ocl.Learner
	SaveSteps   int
}

// RunIn is the folder of a run, and what the run may use there.
type RunIn struct {
	Folder     string // it is made if it is missing. "" writes nothing
	Locked     bool   // the caller has locked it
	Workers    int    // goroutines of the run; at least 1
	Concurrent int    // runs that are at work at once, this one included; 0 is 1
	// Timed says that the run time is wanted, and that the caller lets no other job of the study be at work on the
	// machine.
	Timed  bool
	Events Events
}

// Parent is the run whose learner another run trains further.
type Parent struct {
	result.Parent       // what the result says of it
	Known         Known // what its learner knows
	State         checkpoint.Loaded
}

// PanicError is a panic: a bug of ocl or of a module that has registered something, reported with the place where it
// happened.
type PanicError struct {
	Value any
	Stack []byte
}

// Panicked is the error about a panic, for who recovered its value.
func Panicked(value any) *PanicError {
	switch v := value.(type) {
	case *checkpoint.Panic: // of the goroutine that wrote
		return &PanicError{Value: v, Stack: v.Stack}
	case *origin.Panic: // of a worker
		return &PanicError{Value: v.Value, Stack: v.Stack}
	}
	return &PanicError{Value: value, Stack: debug.Stack()}
}

func (e *PanicError) Error() string {
	modules := build.Modules()
	if f, theirs := origin.InStack(e.Stack, slices.Sorted(maps.Keys(modules))); theirs {
		return fmt.Sprintf("panic: %v, in %s of the module %s %s (%s). Please correct it there, or report it there with the config",
			e.Value, f.Function, f.Module, modules[f.Module], f.Place)
	}
	return fmt.Sprintf("panic: %v. This is a bug in ocl; please report it with the config", e.Value)
}

// run is one job while it runs: its parts, and the loop over the stream. It belongs to one goroutine.
type run struct {
	Spec

	net     *nn.Network
	ws      *nn.Workspace
	learner ocl.Learner
	latents *learner.Latents
	tests   evaluator

	at    Position
	found record

	lock      *Lock
	journal   *journal
	snapshots *snapshots
	begun     bool // Events.Begin was called; what fails before has no step
}

// Run runs a job to its end, or keeps the result that its folder has. If another process or call has the folder locked,
// the error wraps [ErrBusy]. It adds method and seed to errors and panics, and task and step once the run has begun. A
// run whose loss is no longer a finite number has a result with the outcome "diverged"; when ctx ends, the run saves
// its state, and the outcome is "interrupted".
func Run(ctx context.Context, s Spec) (res *result.Result, err error) {
	r := &run{Spec: s}
	r.Concurrent = max(1, s.Concurrent)
	err = Caught(func() (err error) {
		res, err = r.whole(ctx)
		return err
	})
	if p := new(PanicError); errors.As(err, &p) {
		res = nil
	}
	err = errors.Join(err, Caught(func() error { r.close(); return nil }))
	if err != nil {
		err = r.vanished(err)
		at := ""
		if r.begun {
			at = fmt.Sprintf(" task %d, step %d:", r.taskNumber(), r.at.Step)
		}
		err = fmt.Errorf("experiment: %s, seed %d:%s %w", r.Job.Name(), r.Job.Seed, at, err)
	}
	if r.Events.End != nil {
		err = errors.Join(err, Caught(func() error { r.Events.End(r.Job, res, err); return nil }))
	}
	return res, err
}

// ErrVanished is wrapped by errors about a folder that was removed or moved while it was in use.
var ErrVanished = errors.New("the folder has vanished")

// Vanished is the error about a folder that was removed or moved while it was in use, nil if it is still there.
func Vanished(folder string) error {
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w: it was removed or moved while a run was at work in it. Put it back, or run again", folder,
			ErrVanished)
	}
	return nil
}

// vanished replaces an error about a file by that of the folder of the run, if this is the reason.
func (r *run) vanished(err error) error {
	if r.begun && r.Folder != "" && errors.Is(err, fs.ErrNotExist) {
		if gone := Vanished(r.Folder); gone != nil {
			return gone
		}
	}
	return err
}

// taskNumber is the number in the whole stream, from 1, of the task under way, or of the last one at the end.
func (r *run) taskNumber() int {
	return r.Stream.Original(min(r.at.Task, len(r.Stream.Info().Tasks)-1)) + 1
}

// Caught calls f and turns a panic into an error with the stack.
func Caught(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = Panicked(v)
		}
	}()
	return f()
}

// whole is the run from its parts to its result.
func (r *run) whole(ctx context.Context) (*result.Result, error) {
	if err := r.build(); err != nil {
		return nil, err
	}
	if r.Folder != "" {
		kept, err := r.openFolder()
		if err != nil {
			return nil, err
		}
		if kept != nil {
			r.at.Step, r.Plan.Kept = r.Plan.Steps, true
			r.begin()
			r.note(fmt.Sprintf("%s is already %s; its result is kept", r.Job.Folder, kept.Outcome.State))
			return kept, nil
		}
	} else if err := r.inherit(); err != nil {
		return nil, err
	}
	r.begin()
	return r.conclude(r.loop(ctx))
}

// build wires the parts of the run from its config. Random choices come from sources named after their use.
func (r *run) build() (err error) {
	c, info := r.Job.Config, r.Stream.Info()
	inherited := 0
	if r.Parent != nil {
		inherited = r.Parent.Classes
	}
	if r.net, err = build.NewNetwork(info, c, inherited); err != nil {
		return err
	}
	if r.Weights != nil { // which replace those that were drawn
		r.Weights.Into(r.net, !build.Method(r.Job.Method).OwnOutputs)
	}
	r.ws = r.net.NewWorkspace(r.Workers)
	if r.learner, err = build.NewLearner(r.net, r.ws, info, c); err != nil {
		return err
	}
	r.latents = build.Latents(r.net, r.ws, c)
	if r.WrapLearner != nil {
		r.learner = r.WrapLearner(r.learner, r.net)
	}
	if r.tests, err = newEvaluator(c, r.Stream, r.learner, r.before().Learned); err != nil {
		return err
	}
	r.tests.tested = r.Events.Tested
	r.found = newRecord(len(c.Classifiers), info)
	r.found.Incoming = newIncoming(c, len(info.Tasks))
	r.found.Concurrent, r.found.Timed = r.Concurrent, r.Timed
	r.found.Started = time.Now().UTC().Format(time.RFC3339)
	r.at.Task = r.Stream.Start()
	if w, ok := r.learner.(ocl.Watched); ok {
		w.Watch(r.Events.Working)
	}
	return nil
}

// countConcurrent notes the most runs that were at work with this one so far, in this process and in earlier ones.
func (r *run) countConcurrent() {
	r.found.Concurrent = max(r.found.Concurrent, r.Concurrent)
	r.found.Timed = r.found.Timed && r.Timed && r.found.Concurrent == 1
}

// close ends what is under way. What matters was reported and synced with the last save.
func (r *run) close() {
	if r.ws != nil {
		defer r.ws.Close()
	}
	defer r.lock.Unlock()
	defer func() { _ = r.journal.close() }()
	if r.snapshots != nil {
		_ = r.snapshots.Wait()
	}
}

func (r *run) begin() {
	r.begun = true
	c, info := r.Job.Config, r.Stream.Info()
	r.Plan.StepsDone, r.Plan.TestsDone = r.at.Step, r.found.tested(info)
	r.Plan.Evaluating = r.at.Phase > midTask && evaluatedAfter(c.Eval, r.at.Task, len(info.Tasks))
	if r.Events.Begin != nil {
		r.Events.Begin(r.Job, info, r.Plan)
	}
}

func (r *run) note(text string) {
	if r.Events.Note != nil {
		r.Events.Note(text)
	}
}

// inherit gives the learner of a new run the state of its parent's.
func (r *run) inherit() error {
	p := r.Parent
	if p == nil {
		return nil
	}
	if err := r.learner.LoadState(p.State.Decoder().Sub("learner")); err != nil {
		return fmt.Errorf("%s: %w", p.State.Path, err)
	}
	if m := learner.MemoryOf(r.learner); m != nil {
		r.found.Inherited = int64(m.Seen())
	}
	return nil
}

// before returns the tasks, steps and classes that the learner had learned before this run.
func (r *run) before() Known {
	if r.Parent == nil {
		return Known{}
	}
	return r.Parent.Known
}
