package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"slices"
	"sync"

	"ocl"
	"ocl/config"
	"ocl/data"
	"ocl/data/embed"
	"ocl/internal/count"
	"ocl/internal/lifecycle"
	"ocl/predict"
	"ocl/run/build"
	"ocl/run/train"
)

// Trainer is a learner whose caller cuts the batches and says when predictions use what was learned. A [Learner] is a
// queue around one; a program that keeps its images itself, such as a server with a journal, uses it alone.
//
//	t, err := live.NewTrainer(live.Options{Method: "er", Memory: 2000})
//	cat, err := t.AddClass("cat")
//	stats, err := t.Observe(ctx, pixels, []ocl.Label{cat, cat}) // two images, one step
//	err = t.Publish(ctx, 1)
//	answer, err := t.Predict(3, [][]byte{image})                // answer.Version is 1
//
// One goroutine at a time calls what changes a Trainer: AddClass, Rename, MergeClasses, RemoveClass, Observe, Boundary,
// Publish, Relabel, Forget, Unlearn, Unlearns, Reclasses, Carries, Stores, Amendable, SaveState, LoadState, Weights,
// SetWeights and Digest. Any number of goroutines call Predict, See, PredictSeen, Features, Draw, Export, Stats, Err,
// Classes, Named, Gone, Shape, Measure and Close meanwhile. What it
// learns is a function of those calls in their order: neither time, nor the number of processors, nor how often it was
// published and saved moves a bit.
//
// Images have places: the first that was observed has place 0. A method that stores images says by its places which it
// has, see [Trainer.Relabel] and [Trainer.Forget].
//
// After an error that wraps [ocl.ErrDiverged] or is about a panic nothing more is learned until [Trainer.LoadState].
// Predictions go on with what was published.
type Trainer struct {
	process     Process
	config      config.Config
	inputs      inputs
	embedder    *embedder // nil: the learner takes the images themselves
	preparation data.Preparation
	stream      ocl.StreamInfo // of what the learner takes; its Classes are those of the first head
	notes       []string
	waiting     []Waiting
	easels      sync.Pool
	thread      *thread     // nil: that of the caller learns
	learns      *embed.Desk // makes the embeddings of what is learned; nil without embedder
	embedded    []byte      // those of a batch

	working sync.Mutex // held while the learner changes, and while it ends
	core    *core
	end     lifecycle.End

	mu    sync.Mutex
	err   error    // that has ended learning
	names []string // of all classes, those without an output that is in use too
	// as they were when their classes were added, by which weights of before are known; nil where they are names
	born  []string
	gone  []ocl.Label // merged into others or removed, rising
	class map[string]ocl.Label
	room  int // outputs that the head has, or will have when all classes are in use
	stats Stats

	publisher publisher
}

// Waiting is an image that waited to be learned when a [Learner] was saved, or the end of a task that did.
type Waiting struct {
	Boundary bool
	Pixels   []byte // uint8 [C,H,W]; nil of a boundary
	Label    ocl.Label
}

// NewTrainer makes a trainer that knows no class. A panic in a method or network of another module is an error too.
func NewTrainer(o Options) (*Trainer, error) {
	return built(func() (*Trainer, error) { return fresh(o) })
}

// built makes a trainer, also where that panics.
func built(build func() (*Trainer, error)) (t *Trainer, err error) {
	err = train.Caught(func() (err error) {
		t, err = build()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("live: %w", err)
	}
	return t, nil
}

// fresh is NewTrainer without the beginning of its errors.
func fresh(o Options) (*Trainer, error) {
	p, err := o.Process.complete()
	if err != nil {
		return nil, err
	}
	c, front, err := o.config()
	if err != nil {
		return nil, err
	}
	channels, capacity := cmp.Or(o.Channels, 3), cmp.Or(o.Capacity, defaultCapacity)
	if channels != 1 && channels != 3 {
		return nil, fmt.Errorf("option Channels is %d. Use 3, or 1 for grey images", o.Channels)
	}
	if err := checkCapacity(capacity); err != nil {
		return nil, err
	}
	if err := checkMethod(c); err != nil {
		return nil, err
	}
	of := inputs{image: [3]int{channels, c.Data.Size, c.Data.Size}}
	var e *embedder
	if front != nil {
		of.features = front.Info().Features
		if e, err = newEmbedder(front, of.image, p); err != nil {
			return nil, err
		}
	}
	if err := p.checkBounds(c, of, capacity); err != nil {
		return nil, err
	}
	k, err := newCore(c, of, capacity, 0, p)
	if err != nil {
		return nil, err
	}
	return around(k, e, p, naming{}, nil)
}

// around makes a trainer of a core that knows classes of these names. It closes the core after an error.
func around(k *core, e *embedder, p Process, names naming, notes []string) (*Trainer, error) {
	image := k.inputs.image
	spec := build.Data(k.config)
	if e != nil {
		spec = embed.Wanted(spec, e.net)
	}
	preparation, err := data.NewPreparation(spec, image[0], image[1], image[2])
	bytes, parameters, wrong := held(k.config, p, k.inputs, k.stream.Classes)
	if err = errors.Join(err, wrong); err != nil {
		k.close()
		return nil, err
	}
	t := &Trainer{process: p, config: k.config, inputs: k.inputs, embedder: e, learns: e.newDesk(),
		preparation: preparation, stream: k.stream, notes: notes, core: k, stats: Stats{Parameters: parameters, Bytes: bytes}}
	if e != nil {
		t.notes = slices.Concat(notes, e.net.Info().Notes())
		t.process.opened = frozenFile{p.Backbone, e.net}
	}
	t.easels.New = func() any { return preparation.Easel() }
	t.call(names)
	t.publisher.begin(t)
	t.publisher.stale = k.learned()
	if p.Nice > 0 {
		t.thread = newThread(p.Nice)
	}
	t.count(ocl.StepStats{Correct: -1})
	return t, nil
}

// count sets the stats of a step, while nobody else uses the core.
func (t *Trainer) count(s ocl.StepStats) {
	k := t.core
	t.mu.Lock()
	defer t.mu.Unlock()
	of := &t.stats
	of.Classes, of.Capacity, of.Batches, of.Images, of.Tasks = k.classes, k.stream.Classes, k.batches, k.images, k.tasks
	if s.Samples > 0 {
		of.Loss, of.Correct = s.Loss, s.Correct
	}
	if m := k.parts().Memory; m != nil {
		of.Stored = m.Len()
	}
}

// Stats say how far the trainer is. Nothing waits in a trainer.
func (t *Trainer) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stats
}

// Shape is the shape of the images: C, H, W. Where a pretrained network makes embeddings, it is the shape of its
// images.
func (t *Trainer) Shape() (c, h, w int) {
	return t.inputs.image[0], t.inputs.image[1], t.inputs.image[2]
}

// Measure says how to read the values of guesses: as probabilities, or as distances of a method that predicts by class
// means.
func (t *Trainer) Measure() predict.Measure {
	t.publisher.mu.Lock()
	defer t.publisher.mu.Unlock()
	return t.publisher.measure
}

// Notes are sentences for a person about the file or run that was opened, such as that this machine has other kernels,
// and about the pretrained network.
func (t *Trainer) Notes() []string { return slices.Clone(t.notes) }

// Waiting are the images that waited to be learned in the file that was opened, and the ends of tasks, in their order.
// They are not learned.
func (t *Trainer) Waiting() []Waiting { return slices.Clone(t.waiting) }

// Config is the config of a run that would learn as the trainer does.
func (t *Trainer) Config() config.Config {
	c := t.config.Clone()
	c.Data.Backbone = t.process.Backbone
	return c
}

// Process are the options of the process, with their defaults. A trainer that is opened with them does not read the
// pretrained network again.
func (t *Trainer) Process() Process { return t.process }

// Place is the place that the next image gets that is observed, 0 or more. A trainer of a run goes on with the places
// of the run, if its method stores images.
func (t *Trainer) Place() int64 { return t.core.place() }

// Err is the error that has ended learning, such as one that wraps [ocl.ErrDiverged] or is about a panic; nil where
// learning goes on.
func (t *Trainer) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// Draw makes dst, uint8 [C,H,W], the image as the network sees images, as `ocl predict` does it. img may have any size.
func (t *Trainer) Draw(dst []byte, img image.Image) error {
	err := t.checkPixels(dst)
	if err == nil {
		err = t.draw(dst, img)
	}
	if err != nil {
		return fmt.Errorf("live: draw: %w", err)
	}
	return nil
}

// Decode makes dst, uint8 [C,H,W], the image of a JPEG, PNG, GIF, WebP, BMP or TIFF file as the network sees images, as
// `ocl predict` does it. It ends early when ctx does. The errors are those of the file, and do not name it.
func (t *Trainer) Decode(ctx context.Context, file, dst []byte) error {
	if err := t.checkPixels(dst); err != nil {
		return fmt.Errorf("live: decode: %w", err)
	}
	return t.preparation.Decode(ctx, file, dst)
}

func (t *Trainer) draw(dst []byte, img image.Image) error {
	e := t.easels.Get().(*data.Easel)
	defer t.easels.Put(e)
	return e.Draw(dst, img)
}

// checkPixels refuses pixels that are not an image.
func (t *Trainer) checkPixels(pixels []byte) error {
	if t == nil || !t.made() {
		return errZero
	}
	if c, h, w := t.Shape(); len(pixels) != c*h*w {
		return fmt.Errorf("there are %d bytes for an image of %d×%d×%d. Give %d", len(pixels), c, h, w, c*h*w)
	}
	return nil
}

// made says that a function of this package made the trainer.
func (t *Trainer) made() bool { return t.publisher.slots != nil }

// Close ends the trainer after the change and the predictions that are at work, and returns then. Nothing is saved. Any
// goroutine may call it, and more than once. Other calls then return [ErrClosed].
func (t *Trainer) Close() error {
	if !t.made() {
		return fmt.Errorf("live: close: %w", errZero)
	}
	return t.end.Do(func() error {
		t.working.Lock()
		defer t.working.Unlock()
		t.publisher.close()
		t.core.close()
		if t.learns != nil {
			t.learns.Close()
		}
		t.thread.close()
		return nil
	})
}

// change does what changes the trainer, in the goroutine that learns, and says what it does for errors. A panic ends
// learning.
func (t *Trainer) change(what string, f func() error) error {
	err := t.usable()
	if err == nil {
		err = t.run(f)
	}
	if err != nil {
		return fmt.Errorf("live: %s: %w", what, err)
	}
	return nil
}

// run does f in the goroutine that learns. A panic is an error, and ends learning.
func (t *Trainer) run(f func() error) error {
	t.working.Lock()
	defer t.working.Unlock()
	if t.end.Begun() {
		return ErrClosed
	}
	return t.thread.do(func() (err error) {
		if panicked := train.Caught(func() error { err = f(); return nil }); panicked != nil {
			return t.ended(panicked)
		}
		return err
	})
}

// usable is the error of a trainer that does not learn any more.
func (t *Trainer) usable() error {
	switch {
	case !t.made():
		return errZero
	case t.end.Begun():
		return ErrClosed
	}
	if err := t.Err(); err != nil {
		return fmt.Errorf("learning has ended: %w. Load a state of before", err)
	}
	return nil
}

// ended notes the error that ends learning: what the core is after it is not known.
func (t *Trainer) ended(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
	return err
}

// Observe learns a batch of images, uint8 [len(y),C,H,W], in one step. Classes must have been added. Predictions do not
// change before the next Publish. ctx is looked at before the step, so a batch is learned as a whole or not at all.
// After an error that is about the arguments nothing has changed; any other one ends learning, see [Trainer]. So does a
// step that makes weights that are not finite, whose error wraps [ocl.ErrDiverged]: no such weights are published or
// saved.
func (t *Trainer) Observe(ctx context.Context, pixels []byte, y []ocl.Label) (stats ocl.StepStats, err error) {
	err = t.change("observe", func() error {
		if err := t.checkBatch(ctx, pixels, y); err != nil {
			return err
		}
		stats, err = t.observe(pixels, y)
		return err
	})
	return stats, err
}

// checkBatch refuses what is no batch.
func (t *Trainer) checkBatch(ctx context.Context, pixels []byte, y []ocl.Label) error {
	if ctx == nil {
		return errContext
	}
	c, h, w := t.Shape()
	switch {
	case len(y) == 0:
		return errors.New("there is no image. Give at least one")
	case len(pixels) != len(y)*c*h*w:
		return fmt.Errorf("there are %d bytes for %s of %d×%d×%d. Give %d", len(pixels), count.Of(len(y), "image"), c, h, w,
			len(y)*c*h*w)
	}
	for _, label := range y {
		if err := t.checkClass(label); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// checkClass refuses the label of a class that was not added.
func (t *Trainer) checkClass(y ocl.Label) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.names); y < 0 || int(y) >= n {
		return fmt.Errorf("label %d is none of %s. Add the class first", y, count.Of(n, "class"))
	}
	return nil
}

// observe learns a batch. Of classes that are new to the head the outputs come into use.
func (t *Trainer) observe(pixels []byte, y []ocl.Label) (ocl.StepStats, error) {
	if err := t.activate(slices.Max(y)); err != nil {
		return ocl.StepStats{}, err
	}
	b, err := t.batch(pixels, y)
	if err != nil {
		return ocl.StepStats{}, t.ended(err)
	}
	stats, err := t.core.observe(context.Background(), b)
	if err == nil {
		err = t.core.finite()
	}
	if err != nil {
		return stats, t.ended(err)
	}
	t.publisher.stale = true
	t.publisher.probe(b)
	t.count(stats)
	return stats, nil
}

// batch makes the learner's batch of images, uint8 [B,C,H,W]: embeddings where there is a pretrained network. It fails
// if no embedding can be made of an image. The batch holds until the next call.
func (t *Trainer) batch(pixels []byte, y []ocl.Label) (b ocl.Batch, err error) {
	if t.learns != nil {
		n := len(y) * t.stream.Encoding().Bytes(t.inputs.features)
		t.embedded = slices.Grow(t.embedded[:0], n)[:n]
		if err := t.learns.Embed(t.embedded, pixels); err != nil {
			return b, err
		}
		pixels = t.embedded
	}
	return ocl.NewBatch(t.inputs.shape(), pixels, y, t.stream.Encoding()), nil
}

// Boundary ends a task. A method that uses tasks then does what it does at their end, such as a review of the memory,
// which may take long; the next image begins another task. Other methods ignore it. After an error that wraps that of
// ctx it can be called again and goes on.
func (t *Trainer) Boundary(ctx context.Context) error {
	return t.change("boundary", func() error {
		if ctx == nil {
			return errContext
		}
		return t.boundary(ctx)
	})
}

func (t *Trainer) boundary(ctx context.Context) error {
	if err := t.core.boundary(ctx); err != nil {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return err
		}
		return t.ended(err)
	}
	if err := t.core.finite(); err != nil {
		return t.ended(err)
	}
	t.publisher.stale = t.core.learned()
	t.count(ocl.StepStats{})
	return nil
}
