package trained

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"ocl"
	"ocl/checkpoint"
	"ocl/config"
	"ocl/data"
	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/spelling"
	"ocl/learn/learner"
	"ocl/nn/tensor"
	"ocl/run/build"
	"ocl/run/train"
)

// Opener opens the data of a config: OpenData of package experiment.
type Opener func(ctx context.Context, c config.Config) (*data.Set, error)

// Split makes several classes of one, as [Changed] changes classes. by is a folder of class folders, or a CSV file of
// paths and labels, that says of pictures of the class to which one they belong; those under the name of the class stay
// there. The learner lets go of each of the others under the class, and learns it under its new name. A picture that
// was not learned as the class is an error, where the data of the run are still there to say so. A class that keeps no
// picture goes.
func Split(ctx context.Context, folder, out string, older bool, class, by string, open Opener) (Reclassed, error) {
	return changed(ctx, folder, out, older, func(t *Model, p *Parent) (Reclassed, error) {
		s := splitting{Model: t, open: open}
		r, err := s.split(ctx, p, class, by)
		if err != nil {
			return r, fmt.Errorf("experiment: %s: %w", t.Folder, err)
		}
		return r, t.prepare(ctx)
	})
}

// splitting is a model one of whose classes becomes several.
type splitting struct {
	*Model
	open  Opener
	class int
	set   *data.Set
	fresh []int // classes of set that are new, rising

	learned map[string]int  // how often a picture was learned as the class, by its digest
	tested  map[string]bool // pictures that tested the run as the class
	unsure  error           // why nobody knows these
	notes   []string
}

// picture is a picture of the set with its new class.
type picture struct {
	half   *data.Split
	at     int
	fresh  int // place in splitting.fresh
	digest string
}

func (s *splitting) split(ctx context.Context, p *Parent, class, by string) (r Reclassed, err error) {
	if err := s.named(); err != nil {
		return r, err
	}
	if s.class, err = s.find(class); err != nil {
		return r, err
	}
	class = s.ClassNames[s.class]
	l, err := s.reclassing()
	if err != nil {
		return r, err
	}
	if err := s.read(ctx, p, by); err != nil {
		return r, err
	}
	if s.unsure = s.recall(ctx); ctx.Err() != nil {
		return r, ctx.Err()
	}
	list, err := s.pictures()
	if err != nil {
		return r, err
	}
	if n := l.Samples(ocl.Label(s.class)); s.sums() && int64(len(list)) > n {
		return r, refused("%s are given, and the run has learned %s of %s. Give those that it has learned",
			count.Of(len(list), "picture"), count.Number(n), cause.Shown(class))
	}
	if err := s.grow(); err != nil {
		return r, err
	}
	if err := s.learn(ctx, list); err != nil {
		return r, err
	}
	s.note(list)
	if s.unsure != nil {
		s.notes = append(s.notes, fmt.Sprintf("nobody could check whether the run has learned these pictures as %s, as its data are not what they were: %v",
			cause.Shown(class), s.unsure))
	}
	left := s.Learner.(learner.Reclassing).Samples(ocl.Label(s.class))
	if !s.sums() {
		r.Carried = "The layers before the outputs still carry that the pictures were of one class."
		left = s.left(list)
	}
	if left == 0 {
		if _, err := s.change(train.Change{Operation: train.Remove, Class: class}); err != nil {
			return r, err
		}
		s.notes = append(s.notes, fmt.Sprintf("%s keeps no picture and is gone", cause.Shown(class)))
	}
	s.known.ClassNames, s.Model.tested = s.ClassNames, nil
	r.Notes = s.notes
	return r, nil
}

// sums says whether the learner consists of sums.
func (s *splitting) sums() bool {
	_, is := s.Learner.(learner.Sums)
	return is
}

// reclassing is the learner as one that makes two classes of one.
func (s *splitting) reclassing() (learner.Reclassing, error) {
	l, can := s.Learner.(learner.Reclassing)
	if !can {
		return nil, refused("a learner of %s cannot make two classes of one. Train again with other folders; rename is possible",
			s.Config.Methods[0])
	}
	if err := l.Reclasses(); err != nil {
		return nil, cause.As(err, ErrClasses)
	}
	if s.sums() {
		if err := s.Learner.(learner.Unlearning).Unlearn(ocl.Batch{}); err != nil {
			return nil, cause.As(err, ErrClasses)
		}
	}
	return l, nil
}

// read opens the pictures, and finds the new classes.
func (s *splitting) read(ctx context.Context, p *Parent, by string) (err error) {
	c, image := s.Config.Clone(), s.known.Shape
	if s.known.Embeddings {
		image = s.known.Of
	}
	c.Data = config.Default().Data
	c.Data.Name, c.Data.Dir, c.Data.Seed = "csv", by, s.Config.Data.Seed
	if of, err := os.Stat(by); err != nil {
		return refused("the pictures to split by: %w. Give --by a folder with a folder for each new class, or a CSV file of paths and labels",
			err)
	} else if of.IsDir() {
		c.Data.Name = "folder"
	}
	if c.Data.Size = s.Config.Data.Size; image[0] == 3 && s.Config.Data.Backbone == "" {
		c.Data.Channels = 3
	}
	if s.set, err = s.open(ctx, p.Complete(c)); err != nil {
		return fmt.Errorf("the pictures to split by: %w", err)
	}
	if have := [3]int{s.set.C, s.set.H, s.set.W}; have != s.known.Shape || s.set.Embeddings != s.known.Embeddings {
		return refused("the run has learned %s of %v, and %s has %s of %v. %s", data.Samples(s.known.Embeddings),
			s.known.Shape, by, data.Samples(s.set.Embeddings), have, s.set.Remedy(image[0], image[1], image[2]))
	}
	has := make([]bool, s.set.Classes)
	for _, y := range slices.Concat(s.set.Train.Y, s.set.Test.Y) {
		has[y] = true
	}
	for y, name := range s.set.ClassNames {
		if spelling.Key(name) == spelling.Key(s.ClassNames[s.class]) {
			continue
		}
		if err := s.free(spelling.Of(name), s.class); err != nil {
			return err
		}
		if !has[y] {
			return refused("%s has no picture of %s. Put some there, or remove it", by, cause.Shown(name))
		}
		s.fresh = append(s.fresh, y)
	}
	for i, y := range s.fresh {
		for _, other := range s.fresh[:i] {
			if a, b := s.set.ClassNames[other], s.set.ClassNames[y]; spelling.Key(a) == spelling.Key(b) {
				return refused("%s and %s of %s are one name, as names are compared without case. Give two names, or one folder",
					cause.Shown(a), cause.Shown(b), by)
			}
		}
	}
	if len(s.fresh) == 0 {
		return refused("all pictures of %s are under %s, so nothing is split off. Put those of a new class under its name",
			by, cause.Shown(s.ClassNames[s.class]))
	}
	return nil
}

// recall finds out by the data of the run, and of those that it continues, which pictures were learned as the class.
func (s *splitting) recall(ctx context.Context) error {
	s.learned, s.tested = map[string]int{}, map[string]bool{}
	runs, err := Learned(s.Folder)
	for _, past := range runs {
		if err != nil {
			break
		}
		var set *data.Set
		if set, err = s.open(ctx, past.Config); err == nil && set.Digest != past.Data {
			err = fmt.Errorf("%s are other pictures now", set.Name)
		}
		if err == nil {
			err = s.recallRun(ctx, set, past)
		}
	}
	return err
}

// recallRun is recall by the data of one run.
func (s *splitting) recallRun(ctx context.Context, set *data.Set, past Past) error {
	st, err := build.NewStream(set, past.Config)
	if err != nil {
		return err
	}
	each := func(b ocl.Batch, add func(digest string)) {
		for i, y := range b.Y {
			digest := train.DigestOf(b.Image(i))
			name := train.Called(set.ClassName(int(y)), digest, past.Changes)
			if spelling.Key(name) == spelling.Key(s.ClassNames[s.class]) {
				add(digest)
			}
		}
	}
	for task := st.Start(); task < past.Tasks; task++ {
		for b, err := range st.Train(task) {
			if err = errors.Join(err, ctx.Err()); err != nil {
				return err
			}
			each(b, func(digest string) { s.learned[digest]++ })
		}
	}
	for half := range st.Info().TestSets() {
		for b, err := range st.Test(half) {
			if err = errors.Join(err, ctx.Err()); err != nil {
				return err
			}
			each(b, func(digest string) { s.tested[digest] = true })
		}
	}
	return nil
}

// pictures are those that get a new class: pictures of the set that were learned. One that only tested the run is not
// among them, and one of another class is an error.
func (s *splitting) pictures() (list []picture, err error) {
	var strange []string
	left, unlearned, buf := map[string]int{}, 0, make([]byte, s.set.ImageLen())
	for digest, n := range s.learned {
		left[digest] = n
	}
	for _, half := range []*data.Split{&s.set.Train, &s.set.Test} {
		for i, y := range half.Y {
			fresh, is := slices.BinarySearch(s.fresh, int(y))
			if !is {
				continue
			}
			pixels, err := half.Images.Image(i, buf)
			if err != nil {
				return nil, err
			}
			digest := train.DigestOf(pixels)
			left[digest]--
			switch {
			case s.unsure != nil, left[digest] >= 0:
				list = append(list, picture{half, i, fresh, digest})
			case s.tested[digest] && s.learned[digest] == 0:
				unlearned++
			default:
				strange = append(strange, cmp.Or(s.set.File(*half, i), s.set.ClassNames[y]))
			}
		}
	}
	if n := len(strange); n > 0 {
		return nil, refused("%s of %s: the run has not learned %s as %s. Take %s out: %s", count.Of(n, "picture"), s.set.Name,
			map[bool]string{true: "it", false: "them"}[n == 1], cause.Shown(s.ClassNames[s.class]),
			map[bool]string{true: "it", false: "them"}[n == 1], count.First(3, strange))
	}
	for fresh, y := range s.fresh {
		if !slices.ContainsFunc(list, func(p picture) bool { return p.fresh == fresh }) {
			return nil, refused("the run has learned no picture of %s: those that are given only tested it. Add some that it has learned",
				cause.Shown(s.set.ClassNames[y]))
		}
	}
	if unlearned > 0 {
		s.notes = append(s.notes, fmt.Sprintf("nothing is learned of %s that only tested the run", count.Of(unlearned, "picture")))
	}
	return list, nil
}

// left is how many pictures stay in the class, by what was learned and is stored: at least 1 where nobody knows.
func (s *splitting) left(list []picture) (n int64) {
	if s.unsure != nil {
		return 1
	}
	for _, times := range s.learned {
		n += int64(times)
	}
	return n - int64(len(list))
}

// grow gives the learner an output for each new class, which begins as that of the old one.
func (s *splitting) grow() error {
	c, old := checkpoint.NewContainer(), s.Info.Classes
	if err := s.Learner.SaveState(c.Encoder()); err != nil {
		return err
	}
	engine := s.Net.Info().Engine
	s.ws.Close()
	s.Info.Classes += len(s.fresh)
	if err := s.make(config.Engine{Kernel: engine.Kernel, Convolution: engine.Convolution}, old, 1,
		c.Decoder()); err != nil {
		return err
	}
	s.known.Classes = s.Info.Classes
	s.ClassNames = slices.Clone(s.ClassNames)
	for i, y := range s.fresh {
		s.ClassNames = append(s.ClassNames, spelling.Of(s.set.ClassNames[y]))
		if err := s.Learner.(learner.Reclassing).Split(ocl.Label(s.class), ocl.Label(old+i)); err != nil {
			return err
		}
	}
	if s.known.Pictures != nil {
		s.known.Pictures = s.sketches()
	}
	return nil
}

// sketches know the pictures of all classes, also of the new ones.
func (s *splitting) sketches() []data.Sketch {
	all := slices.Clone(s.known.Pictures)
	for y, given := range s.set.Sketches {
		if _, fresh := slices.BinarySearch(s.fresh, y); fresh {
			all[s.class] = all[s.class].Without(given)
			all = append(all, given)
		} else {
			all[s.class] = all[s.class].Union(given)
		}
	}
	return all
}

// label is the label of a new class.
func (s *splitting) label(fresh int) ocl.Label {
	return ocl.Label(s.Info.Classes - len(s.fresh) + fresh)
}

// learn lets the learner let go of pictures under the old class, and learn them under the new ones, as a task.
func (s *splitting) learn(ctx context.Context, list []picture) error {
	latents := build.Latents(s.Net, s.ws, s.Config)
	task := ocl.TaskInfo{Index: s.known.Tasks, Train: len(list)}
	for i := range s.fresh {
		task.Classes = append(task.Classes, s.label(i))
	}
	aware, tasks := s.Learner.(ocl.TaskAware)
	if tasks {
		if err := aware.BeginTask(task); err != nil {
			return err
		}
		s.known.Tasks++
	}
	for some := range slices.Chunk(list, s.Config.Stream.Batch) {
		b, err := s.batch(some)
		if err == nil {
			b, err = latents.Of(b)
		}
		if err == nil {
			err = s.relearn(ctx, b)
		}
		if err != nil {
			return err
		}
		s.known.Steps++
	}
	if tasks {
		return aware.EndTask(ctx)
	}
	return nil
}

// batch reads pictures, with the labels of their new classes.
func (s *splitting) batch(list []picture) (ocl.Batch, error) {
	b := ocl.Batch{X: tensor.New(len(list), s.set.C, s.set.H, s.set.W), Y: make([]ocl.Label, len(list)),
		Pixels: make([]byte, len(list)*s.set.ImageLen())}
	for i, p := range list {
		pixels, err := p.half.Images.Image(p.at, b.Image(i))
		if err != nil {
			return b, err
		}
		copy(b.Image(i), pixels)
		s.Info.Encoding().Write(b.X.Row(i), b.Image(i))
		b.Y[i] = s.label(p.fresh)
	}
	return b, nil
}

// relearn takes a batch out of the sums, or gives it its new labels in the memory, and observes it.
func (s *splitting) relearn(ctx context.Context, b ocl.Batch) error {
	if s.sums() {
		was := b
		was.Y = slices.Repeat([]ocl.Label{ocl.Label(s.class)}, b.Len())
		if err := s.Learner.(learner.Unlearning).Unlearn(was); err != nil {
			return err
		}
	}
	if m := learner.MemoryOf(s.Learner); m != nil {
		for i, y := range b.Y {
			for _, slot := range m.Same(b.Image(i), ocl.Label(s.class)) {
				if err := s.Learner.(learner.Amending).Relabel(slot, y); err != nil {
					return err
				}
			}
		}
	}
	_, err := s.Learner.Observe(ctx, b)
	return err
}

// note notes what has become of the class.
func (s *splitting) note(list []picture) {
	s.known.Learned = slices.Clone(s.known.Learned)
	s.known.Changes = slices.Clip(s.known.Changes)
	for i := range s.fresh {
		y := int(s.label(i))
		c := train.Change{Operation: train.Split, Class: s.ClassNames[s.class], Into: s.ClassNames[y]}
		for _, p := range list {
			if p.fresh == i {
				c.Pictures = append(c.Pictures, p.digest)
			}
		}
		c.Samples = len(c.Pictures)
		s.known.Learned = append(s.known.Learned, y)
		s.known.Changes = append(s.known.Changes, c)
		s.notes = append(s.notes, fmt.Sprintf("%s of %s %s of %s now", count.Of(c.Samples, "picture"), cause.Shown(c.Class),
			map[bool]string{true: "is", false: "are"}[c.Samples == 1], cause.Shown(c.Into)))
	}
}
