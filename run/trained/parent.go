package trained

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ocl"
	"ocl/config"
	"ocl/data"
	"ocl/internal/count"
	"ocl/nn"
	"ocl/run/build"
	"ocl/run/result"
	"ocl/run/train"
)

// Parent is the run whose learner another run continues.
type Parent struct {
	train.Parent
	Folder string // absolute
	Config config.Config
	Notes  []string // for the person, such as a damaged checkpoint that was passed over
}

// LearnOn is the config of a run that continues the learner of another run, with its memory and all its state. folder
// is that of the other run, the parent, or of an experiment that has one run. The config is the parent's, but data,
// stream, protocol and evaluation are those of [config.Default]; only the batch and the normalisation stay. Set Data
// and Stream, and run it. Of the other keys only those with [config.Key].Anew may be changed: the learner has the rest.
//
// Classes are known by their names. Those that the parent has keep their index, and new ones get the next indices; the
// head of the network grows by as many outputs. It is an error if the parent is at work, has diverged, or was stopped
// within a task, or if its newest checkpoint cannot be read, unless older takes the newest that can.
func LearnOn(folder string, older bool) (config.Config, error) {
	folder, err := runFolder(folder) // OpenParent speaks of a key of the config
	if err != nil {
		return config.Config{}, fmt.Errorf("experiment: %w", err)
	}
	p, err := OpenParent(config.Parent{Run: folder}, older)
	if err != nil {
		return config.Config{}, fmt.Errorf("experiment: %w", err)
	}
	c, d := p.Config.Clone(), config.Default()
	d.Stream.Batch, d.Stream.Mean, d.Stream.Std = c.Stream.Batch, c.Stream.Mean, c.Stream.Std
	c.Network.Init, c.Network.InitDigest = "", "" // the parent has started from them
	c.Data, c.Stream, c.Protocol, c.Eval, c.EvalEvery, c.EvalSample = d.Data, d.Stream, d.Protocol, d.Eval,
		d.EvalEvery, d.EvalSample
	c.EvalOnline, c.EvalAhead, c.EvalProbe = d.EvalOnline, d.EvalAhead, d.EvalProbe
	if (nn.Engine{Kernel: c.Engine.Kernel, Convolution: c.Engine.Convolution}).Check() != nil {
		c.Engine = config.Engine{} // another machine's
	}
	c.Parent = config.Parent{Run: p.Folder, Checkpoint: p.Checkpoint}
	return c, nil
}

// OpenParent reads the checkpoint that a run continues from; nil is no parent. Without a digest in c, it is the newest
// of the run, or with older the newest that can be read.
func OpenParent(c config.Parent, older bool) (*Parent, error) {
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
	defer lock.Unlock() // once its checkpoint and its result are read
	p := &Parent{}
	from, err := choose(folder, c.Checkpoint, older)
	if err != nil {
		return nil, err
	}
	if p.Folder, err = filepath.Abs(folder); err != nil {
		return nil, err
	}
	p.State, p.Older, p.Notes = from.Loaded, from.older, from.notes()
	p.Checkpoint = digestOf(p.State.File)
	if err := p.read(from.saved); err != nil {
		return nil, fmt.Errorf("%s: %w", p.State.Path, err)
	}
	return p, nil
}

// idle refuses a run that is at work, and locks it: until unlock, the run cannot start. The lock is shared, so several
// children can read the parent at the same time.
func idle(folder string) (*train.Lock, error) {
	if _, err := os.Stat(filepath.Join(folder, train.LockFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // locking would create the file
	}
	lock, err := train.LockFolder(folder, train.LockFile, train.Together)
	if errors.Is(err, train.ErrBusy) {
		return nil, fmt.Errorf("%s: the run is still at work. Learn on when it has ended: %w", folder, train.ErrBusy)
	}
	return lock, nil // a folder that cannot be written cannot be locked, and no process can work in it
}

// read takes from the checkpoint what the run and its learner are.
func (p *Parent) read(s train.Saved) error {
	resume := fmt.Sprintf("Continue it with `ocl run --resume %s`", p.Folder)
	res, err := result.Read(filepath.Join(p.Folder, train.ResultFile))
	switch {
	case err == nil && res.Outcome.State == result.Diverged:
		return errors.New("the run has diverged, so its network cannot be used. " + runAgain)
	case !s.At.BetweenTasks():
		return fmt.Errorf("the run was stopped within task %d. %s", s.At.Task+1, resume)
	case s.At.Step == 0: // the first task may be a later one than task 0
		return fmt.Errorf("the run has not learned a task to its end. %s", resume)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.Notes = append(p.Notes, fmt.Sprintf("nobody can say whether the parent has ended or diverged: %v", err))
	}
	p.Config, p.Known = s.Identity.Config, s.Known
	p.Run, p.Key = filepath.Base(p.Folder), s.Identity.Key()
	p.Tasks, p.Steps, p.Classes = p.Known.Tasks, p.Known.Steps, p.Known.Classes
	return nil
}

// Complete fills in what a config leaves to its parent: the checkpoint, the side of images that can have any, and where
// the pretrained network lies.
func (p *Parent) Complete(c config.Config) config.Config {
	c.Parent = config.Parent{Run: p.Folder, Checkpoint: p.Checkpoint}
	image := p.Known.Shape
	if p.Known.Embeddings {
		image = p.Known.Of
		c.Data.Backbone, c.Data.BackboneDigest = cmp.Or(c.Data.Backbone, Located(p.Config.Data.Backbone, p.Folder)),
			p.Config.Data.BackboneDigest
	}
	side := image[1]
	info, err := data.Lookup(c.Data.Name)
	if err == nil && c.Data.Size == 0 && side == image[2] && side != info.Size && info.MinSize <= side &&
		side <= info.MaxSize {
		c.Data.Size = side
	}
	return c
}

// FewClasses makes one task of two or three classes that are learned on, if nobody says how many tasks. A stream of its
// own has at least two tasks; here the parent has learned the first ones, and a task of one class teaches only that
// class.
func FewClasses(set *data.Set, asked config.Stream, s *config.Stream) {
	if openTasks(asked) && set.DefaultTasks == 0 && set.Classes < 4 && chosenTasks(*s) {
		s.Tasks, s.TaskClasses = 1, nil
	}
}

// FewImages makes batches no larger than the images that are learned on.
func FewImages(set *data.Set, s *config.Stream) { s.Batch = min(s.Batch, set.Train.Len()) }

// Fits refuses a run that would not continue the learner of its parent, but another one.
func (p *Parent) Fits(jobs []train.Job, set *data.Set) error {
	if len(jobs) != 1 {
		return fmt.Errorf("parent.run: one run continues a parent, but the config has %d. Give one method, one trick and --runs 1",
			len(jobs))
	}
	if d := config.Kept(p.Config, jobs[0].Config); d != "" {
		return fmt.Errorf("parent.run: a run keeps the learner of its parent, but %s, with the parent's value first. Remove the setting, "+
			"or start without a parent", d)
	}
	if set.Embeddings != p.Known.Embeddings {
		return fmt.Errorf("parent.run: the parent has learned %s, and %s has %s. Use the same",
			data.Samples(p.Known.Embeddings), set.Name, data.Samples(set.Embeddings))
	}
	if set.ByDigest != "" && p.Config.Data.BackboneDigest == "" {
		return fmt.Errorf("parent.run: the parent does not say which network made its embeddings, and %s says %s. If both are of the same network, write the file again without __metadata__",
			set.Name, set.ByDigest)
	}
	if have, want := [3]int{set.C, set.H, set.W}, p.Known.Shape; have != want && set.Embeddings {
		return fmt.Errorf("parent.run: the parent has learned embeddings of %d numbers, but those of %s have %d. Use embeddings of the same network",
			want[0], set.Name, have[0])
	} else if have != want {
		return fmt.Errorf("parent.run: the parent has learned images of %d×%d×%d, but those of %s are %d×%d×%d. %s", want[0],
			want[1], want[2], set.Name, have[0], have[1], have[2], set.Remedy(want[0], want[1], want[2]))
	}
	return nil
}

// StreamNotes say what a person may not expect of a stream with the config c after the parent: how many new classes it
// has, and in how many tasks, and that it does not measure what the parent's other classes lose. asked is the config
// before the data chose what it leaves open.
func (p *Parent) StreamNotes(info ocl.StreamInfo, c, asked config.Config) (notes []string) {
	fresh, old, tasks := map[ocl.Label]bool{}, map[int]bool{}, 0
	for _, k := range p.Known.Learned {
		old[k] = true
	}
	for _, t := range info.Tasks {
		before := len(fresh)
		for _, k := range t.Classes {
			if int(k) >= p.Classes {
				fresh[k] = true
			}
			delete(old, int(k))
		}
		if len(fresh) > before {
			tasks++
		}
	}
	if len(fresh) > 0 {
		note := count.Of(len(fresh), "new class")
		if !build.Method(c.Methods[0]).Offline { // which is shown all tasks at once
			note += " in " + count.Of(tasks, "task")
			if openTasks(asked.Stream) && chosenTasks(c.Stream) && tasks > 1 && c.Protocol == config.ProtocolStandard {
				note += "; --tasks 1 learns them together"
			}
		}
		notes = append(notes, note)
	}
	if len(old) > 0 {
		data := p.Config.Data.Name
		if dir := p.Config.Data.Dir; dir != "" {
			if strings.Contains(dir, " ") {
				dir = strconv.Quote(dir)
			}
			data += " --data-dir " + dir
		}
		notes = append(notes, fmt.Sprintf("%s of the parent %s not in this stream, and its accuracy says nothing of them. "+
			"Afterwards, measure what is forgotten with `ocl eval RUN --data %s`", count.Of(len(old), "class"),
			map[bool]string{true: "is", false: "are"}[len(old) == 1], data))
	}
	return notes
}

// openTasks says whether a config leaves it open how many tasks there are.
func openTasks(asked config.Stream) bool { return asked.Tasks == 0 && len(asked.TaskClasses) == 0 }

// chosenTasks says whether it is then chosen here, and not by the data.
func chosenTasks(s config.Stream) bool {
	return s.Kind == config.KindClasses && s.ClassOrder.Name != config.OrderOfficial
}

// Past is a run that has learned something of what a learner knows.
type Past struct {
	Folder  string
	Config  config.Config  // with paths from here
	Data    string         // digest
	Tasks   int            // that it has learned
	Changes []train.Change // made to classes since, in that order
}

// Learned lists the runs that have learned, and not only changed classes: the run in a folder and those that it
// continues, the newest first. It needs the checkpoints of all of them; after an error it has those that it found.
func Learned(folder string) (list []Past, err error) {
	var changes []train.Change
	for first := true; ; first = false {
		got, err := choose(folder, "", true)
		if err != nil {
			return list, err
		}
		made, known, before := got.saved.Identity, got.saved.Known, train.Known{}
		if first {
			changes = known.Changes
		}
		c, next := made.Config.Clone(), ""
		if c.Parent.Run != "" {
			next = Located(c.Parent.Run, folder)
			parent, err := choose(next, c.Parent.Checkpoint, false)
			if err != nil {
				return list, err
			}
			before = parent.saved.Known
		}
		if len(known.Changes) == len(before.Changes) {
			c.Data.Dir, c.Data.Backbone = Located(c.Data.Dir, folder), Located(c.Data.Backbone, folder)
			list = append(list, Past{folder, c, made.Data, known.Tasks - before.Tasks, changes[len(known.Changes):]})
		}
		if next == "" {
			return list, nil
		}
		folder = next
	}
}
