package experiment

import (
	"errors"
	"fmt"
	"path/filepath"

	"ocl"
	"ocl/checkpoint"
	"ocl/config"
	"ocl/data"
	"ocl/experiment/result"
	"ocl/internal/count"
	"ocl/learner"
	"ocl/nn"
)

// parent is the run whose learner an experiment continues.
type parent struct {
	result.Parent // what the result says of it
	folder        string
	config        config.Config
	known         shown
	state         checkpoint.Loaded
	notes         []string
}

// LearnOn is the config of a run that continues the learner of another run, with its memory and all its state. folder is
// that of the other run, the parent, or of an experiment that has one run. The config is the parent's, but data, stream,
// protocol and evaluation are those of [config.Default]; only the batch and the normalisation stay. Set Data and Stream,
// and [Run] it. Of the other keys only those with [config.Key].Anew may be changed: the learner has the rest.
//
// Classes are known by their names. Those that the parent has keep their index, and new ones get the next indices; the
// head of the network grows by as many outputs. It is an error if the parent is at work, has diverged, or was stopped
// within a task.
func LearnOn(folder string) (config.Config, error) {
	p, err := openParent(config.Parent{Run: folder})
	if err != nil {
		return config.Config{}, fmt.Errorf("experiment: %w", err)
	}
	c, d := p.config.Clone(), config.Default()
	d.Stream.Batch, d.Stream.Mean, d.Stream.Std = c.Stream.Batch, c.Stream.Mean, c.Stream.Std
	c.Network.Init, c.Network.InitDigest = "", "" // the parent has started from them
	c.Data, c.Stream, c.Protocol, c.Eval, c.EvalEvery = d.Data, d.Stream, d.Protocol, d.Eval, d.EvalEvery
	if (nn.Engine{Kernel: c.Engine.Kernel, Convolution: c.Engine.Convolution}).Check() != nil {
		c.Engine = config.Engine{} // another machine's
	}
	c.Parent = config.Parent{Run: p.folder, Checkpoint: p.Checkpoint}
	return c, nil
}

// openParent reads the checkpoint that a run continues from; nil is no parent.
func openParent(c config.Parent) (*parent, error) {
	if c.Run == "" {
		return nil, nil
	}
	folder, err := runFolder(c.Run)
	if err != nil {
		return nil, fmt.Errorf("the run to learn on from (parent.run): %w", err)
	}
	lock, err := idle(folder)
	if err != nil {
		return nil, err
	}
	defer lock.unlock() // once its checkpoint and its result are read
	p := &parent{}
	if p.state, err = newest(folder); err != nil {
		return nil, err
	}
	if p.folder, err = filepath.Abs(folder); err != nil {
		return nil, err
	}
	for _, skipped := range p.state.Skipped {
		p.notes = append(p.notes, fmt.Sprintf("%v. Learning on from the checkpoint before it, %s", skipped, filepath.Base(p.state.Path)))
	}
	p.Checkpoint = digestOf(p.state.File)
	if c.Checkpoint != "" && c.Checkpoint != p.Checkpoint {
		return nil, fmt.Errorf("%s has the digest %s, but parent.checkpoint is %s. Give the run that has this checkpoint, or remove parent.checkpoint",
			p.state.Path, p.Checkpoint, quoted(c.Checkpoint))
	}
	if err := p.read(); err != nil {
		return nil, fmt.Errorf("%s: %w", p.state.Path, err)
	}
	return p, nil
}

// idle refuses a run that is at work. Until its lock is released the run cannot begin to work, and others may learn on from
// it too.
func idle(folder string) (*folderLock, error) {
	if !exists(filepath.Join(folder, LockFile)) {
		return nil, nil // locking would make the file
	}
	lock, err := lockFolder(folder, LockFile, together)
	if errors.Is(err, ErrBusy) {
		return nil, fmt.Errorf("%s: the run is still at work. Learn on when it has ended: %w", folder, ErrBusy)
	}
	return lock, nil // none on a folder that may not be written, which is nobody's
}

// read takes from the checkpoint what the run and its learner are.
func (p *parent) read() error {
	s, err := readSaved(p.folder, p.state.Decoder())
	if err != nil {
		return err
	}
	resume := fmt.Sprintf("Continue it with `ocl run --resume %s`", p.folder)
	res, err := result.Read(filepath.Join(p.folder, ResultFile))
	switch {
	case err == nil && res.Outcome.State == result.Diverged:
		return errors.New("the run has diverged, so its network is worth nothing. Run it again, with a smaller --lr")
	case s.at.phase != waiting || s.at.batch > 0:
		return fmt.Errorf("the run was stopped within task %d. %s", s.at.task+1, resume)
	case s.at.step == 0: // the first task may be a later one than task 0
		return fmt.Errorf("the run has not learned a task to its end. %s", resume)
	}
	p.config, p.known = s.made.Config, s.known
	p.Run, p.Key = filepath.Base(p.folder), s.made.Key()
	p.Tasks, p.Steps, p.Classes = p.known.Tasks, p.known.Steps, p.known.Classes
	return nil
}

// settle fills in what a config leaves to its parent: the checkpoint, and the side of images that can have any.
func (p *parent) settle(c config.Config) config.Config {
	c.Parent = config.Parent{Run: p.folder, Checkpoint: p.Checkpoint}
	side := p.known.Shape[1]
	info, err := data.Lookup(c.Data.Name)
	if err == nil && c.Data.Size == 0 && side == p.known.Shape[2] && side != info.Size && info.MinSize <= side && side <= info.MaxSize {
		c.Data.Size = side
	}
	return c
}

// fewClasses makes one task of two or three classes that are learned on, if nobody says how many tasks. A stream of its own
// has at least two tasks; here the parent has learned the first ones, and a task of one class teaches only that class.
func fewClasses(set *data.Set, asked config.Stream, s *config.Stream) {
	open := asked.Tasks == 0 && len(asked.TaskClasses) == 0 && set.DefaultTasks == 0
	if open && set.Classes < 4 && s.Kind == config.KindClasses && s.ClassOrder.Name != config.OrderOfficial {
		s.Tasks, s.TaskClasses = 1, nil
	}
}

// fits refuses a run that would not continue the learner of its parent, but another one.
func (p *parent) fits(jobs []Job, set *data.Set) error {
	if len(jobs) != 1 {
		return fmt.Errorf("parent.run: one run continues a parent, but the config has %d. Give one method, one trick and --runs 1", len(jobs))
	}
	if d := config.Kept(p.config, jobs[0].Config); d != "" {
		return fmt.Errorf("parent.run: a run keeps the learner of its parent, but %s, with the parent's value first. Remove the setting, "+
			"or start without a parent", d)
	}
	if have, want := [3]int{set.C, set.H, set.W}, p.known.Shape; have != want {
		return fmt.Errorf("parent.run: the parent has learned images of %d×%d×%d, but those of %s are %d×%d×%d. %s", want[0], want[1], want[2], set.Name, have[0], have[1], have[2], set.Remedy(want[0], want[1], want[2]))
	}
	return nil
}

// noteNew says how many new classes the stream has, and in how many tasks, because a person who adds some classes may not
// expect several tasks. asked is the config before the data chose what it leaves open.
func (x *Experiment) noteNew(asked config.Config) error {
	st, err := x.newStream(x.jobs[0].Config)
	if err != nil {
		return err
	}
	classes, tasks := map[ocl.Label]bool{}, 0
	for _, t := range st.Info().Tasks {
		before := len(classes)
		for _, k := range t.Classes {
			if int(k) >= x.parent.Classes {
				classes[k] = true
			}
		}
		if len(classes) > before {
			tasks++
		}
	}
	if len(classes) == 0 {
		return nil
	}
	note := count.Of(len(classes), "new class")
	s := x.config.Stream
	chosen := asked.Stream.Tasks == 0 && len(asked.Stream.TaskClasses) == 0 && s.Kind == config.KindClasses && s.ClassOrder.Name != config.OrderOfficial
	if !infoOf(x.jobs[0].Method).Offline { // which is shown all tasks at once
		note += " in " + count.Of(tasks, "task")
		if chosen && tasks > 1 && x.config.Protocol == config.ProtocolStandard {
			note += "; --tasks 1 learns them together"
		}
	}
	x.notes = append(x.notes, note)
	return nil
}

// noteOld says that the run does not measure what the parent's other classes lose, because its accuracy says nothing of them.
func (x *Experiment) noteOld() error {
	st, err := x.newStream(x.jobs[0].Config)
	if err != nil {
		return err
	}
	old := map[int]bool{}
	for _, k := range x.parent.known.Learned {
		old[k] = true
	}
	for _, t := range st.Info().Tasks {
		for _, k := range t.Classes {
			delete(old, int(k))
		}
	}
	if len(old) > 0 {
		x.notes = append(x.notes, fmt.Sprintf("%s of the parent %s not in this stream, and its accuracy says nothing of them. "+
			"Afterwards, measure what is forgotten with `ocl eval RUN --data %s`", count.Of(len(old), "class"),
			map[bool]string{true: "is", false: "are"}[len(old) == 1], x.parent.config.Data.Name))
	}
	return nil
}

// inherit gives the learner of a new run the state of its parent's.
func (r *run) inherit() error {
	p := r.x.parent
	if p == nil {
		return nil
	}
	if err := r.learner.LoadState(p.state.Decoder().Sub("learner")); err != nil {
		return fmt.Errorf("%s: %w", p.state.Path, err)
	}
	if m := learner.MemoryOf(r.learner); m != nil {
		r.found.inherited = int64(m.Seen())
	}
	return nil
}

// before is what the learner has done before this run.
func (x *Experiment) before() shown {
	if x.parent == nil {
		return shown{}
	}
	return x.parent.known
}

// seenBefore estimates how many samples the memory was offered before this run.
func (x *Experiment) seenBefore() int {
	if x.parent == nil {
		return 0
	}
	return x.parent.Steps * x.parent.config.Stream.Batch
}

// told is a task as its learner is told of it, whose tasks are counted from the first of all parents.
func (r *run) told(task ocl.TaskInfo) ocl.TaskInfo {
	task.Index += r.x.before().Tasks
	return task
}
