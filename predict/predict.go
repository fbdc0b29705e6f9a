// Package predict uses a trained learner without its data: it labels images, and measures the learner on any data set
// with the same classes. It knows nothing of training; package trained restores the learner from the checkpoint of its
// run. Start at [Open]:
//
//	p, err := predict.Open(ctx, "runs/mine", predict.Options{}) // the folder of a run that ocl run --out made
//	defer p.Close()
//	best := make([]predict.Guess, 3)
//	err = p.PredictFile(ctx, best, file) // the bytes of a JPEG or PNG file of any size
//	fmt.Println(best[0].Name, best[0].Value)
//
// A [Predictor] may be used by any number of goroutines. [Predictor.Evaluate] measures it on a data set.
//
// docs/stability.md promises the names of this package. What an image is predicted as does not change: it is what the
// run predicted, bit for bit where the machine has the kernels of the run.
package predict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"

	"ocl"
	"ocl/config"
	"ocl/data"
	"ocl/data/embed"
	"ocl/internal/lifecycle"
	"ocl/learn/learner"
	"ocl/nn/tensor"
	"ocl/run/build"
	"ocl/run/trained"
)

// Options say what predicts, and how much may work at the same time. No prediction depends on the latter.
type Options struct {
	Classifier string // one of those of the run, "head" or "ncm"; "" is the first of them
	Workers    int    // goroutines that share the work of one call; 0 is 1
	Older      bool   // take the newest checkpoint that can be read, if the newest one cannot; Info.Older records it
	Backbone   string // where the pretrained network of the run lies on this machine; "" is where the run had it
	AtOnce     int    // calls that work at the same time, further ones wait; 0 is as many as processors have room for
	// Unknown is the share of images of known classes that may be called unknown, in (0,1); 0 is 0.05. Coverage is the
	// share of them whose class is to be in [Answer.Set], in (0,1); 0 counts no set.
	Unknown, Coverage float64
}

// Measure says how to read the Value of a [Guess].
type Measure string

const (
	// Probability is in [0,1]. More is better. With Info.Sureness it is calibrated: of guesses with 0.8, about 80 % are
	// right. Without it is the softmax over the logits of all classes.
	Probability Measure = "probability"
	// Distance is that of the features, scaled to length 1, from the mean of the class, in [0,2]. Less is better. It is
	// what iCaRL and the classifier ncm predict by, where nothing calibrates them.
	Distance Measure = "distance"
)

// Guess is a class that an image may have.
type Guess struct {
	Class int
	Name  string  // "" where the data of the run have no names
	Value float64 // see Info.Measure
}

// Info describes a trained learner. Its lists are not changed.
type Info struct {
	Folder     string // of the run
	Checkpoint string // the file that was read
	Digest     string // "sha256:…" of that file
	Older      bool   // there are newer ones, which could not be read
	Config     config.Config
	DataDigest string // of the data of the run, as [data.Set] has it
	Tasks      int    // that the learner has learned
	Steps      int    // of the learner when the checkpoint was written, those before its run too
	C, H, W    int    // shape of an image: channels and pixels
	// Embeddings says that the network that made the embeddings which the learner knows is not at hand. In place of an
	// image it then takes an embedding, C numbers in float16, and no image file.
	Embeddings bool
	Classes    int // K
	ClassNames []string
	Learned    []ocl.Label // the classes of its tasks, rising; nil where no file says them
	Classifier string      // that predicts, one of Config.Classifiers
	Measure    Measure
	Guesses    int // the most that there are for an image: K, or the classes that have a mean
	Sureness   *Sureness
	Notes      []string // what a person should know, such as a damaged checkpoint that was passed over

	gone []ocl.Label // classes that were removed or merged into others, rising
}

// Predictor predicts by a learner that does not change. Any number of goroutines may use it; one of several networks
// (CN-DPM) predicts for one of them at a time. A call allocates nothing once the buffers exist, but for what decoding
// an image file and a learner of several networks take.
type Predictor struct {
	info        Info
	model       Model
	trained     *trained.Model // what Model.Scores belongs to
	preparation data.Preparation
	size        int          // bytes of an image
	input       [3]int       // what the learner takes: an image, or an embedding [D,1,1]
	by          ocl.Encoding // of that
	maker       *embed.Maker // of the embeddings; nil where the learner takes images

	slots *lifecycle.Pool[*slot]
	end   lifecycle.End
}

// ErrClassifier is wrapped by the error of [Open] about a classifier that the run does not have.
var ErrClassifier = trained.ErrClassifier

// ErrClosed is the error of each call after [Predictor.Close].
var ErrClosed = errors.New("predict: the predictor was closed. Open another one")

// Open restores the learner of a run from its newest checkpoint. run is the folder of a run, or of an
// experiment that has one run. Some learners train for a while before they can predict; that ends when ctx does. A
// folder without a task that was learned to its end is an error.
func Open(ctx context.Context, run string, o Options) (*Predictor, error) {
	workers := max(1, o.Workers)
	atOnce := o.AtOnce
	if atOnce < 1 {
		atOnce = max(1, runtime.GOMAXPROCS(0)/workers)
	}
	t, err := trained.Open(ctx, run, trained.Options{Workers: max(workers, atOnce), Older: o.Older})
	if err != nil {
		return nil, err
	}
	scored, _ := t.Learner.(learner.Scored)
	kept := false
	defer func() {
		if !kept {
			t.Close()
		}
	}()
	if _, open := t.Learner.(learner.Open); !open && scored == nil {
		return nil, fmt.Errorf("predict: %s: %s shows its predicted classes, but no scores. Use a run of another method",
			t.Folder, t.Config.Methods[0])
	}
	if scored != nil { // it is used by one call at a time
		workers, atOnce = max(workers, atOnce), 1
		image := tensor.New(1, t.Info.Channels, t.Info.Height, t.Info.Width)
		if err := scored.Scores(make([]float64, t.Info.Classes), image); err != nil {
			return nil, fmt.Errorf("predict: %s: %w", t.Folder, err)
		}
	}
	if o.Classifier != "" {
		if err := t.Choose(ctx, o.Classifier); err != nil {
			return nil, err
		}
	}
	sure, why, err := t.Calibration(ctx)
	if err != nil {
		return nil, err
	}
	p := &Predictor{model: Model{Net: t.Net, Means: t.Means(), Names: t.ClassNames, Calibration: sure}, by: t.Info.Encoding(),
		input: [3]int{t.Info.Channels, t.Info.Height, t.Info.Width}}
	shape, err := p.see(t, o.Backbone)
	if err != nil {
		return nil, fmt.Errorf("predict: %s: %w", t.Folder, err)
	}
	p.info = Info{
		Folder: t.Folder, Checkpoint: t.Checkpoint, Digest: t.Digest, Older: t.Older, Config: t.Config,
		DataDigest: t.Info.Digest, Tasks: t.Tasks, Steps: t.Steps,
		C: shape[0], H: shape[1], W: shape[2], Embeddings: t.Info.Embeddings && p.maker == nil, Classes: t.Info.Classes,
		ClassNames: t.ClassNames,
		Learned:    t.Learned, Classifier: t.Classifier(), Measure: Probability, Guesses: t.Info.Classes, Notes: t.Notes,
		gone: t.Gone(),
	}
	if p.model.Means != nil && sure == nil {
		p.info.Measure = Distance
	}
	if p.model.Means != nil {
		p.info.Guesses = len(p.model.Means.Classes())
	}
	if err := p.sure(o, why); err != nil {
		return nil, err
	}
	if p.maker != nil {
		if err := p.maker.CheckMemory(atOnce, workers, embeddedAtOnce); err != nil {
			return nil, fmt.Errorf("predict: %s: %w. Use fewer --workers, such as 1", t.Folder, err)
		}
	}
	var slots []*slot
	for _, ws := range p.model.Net.Readers(atOnce, workers) {
		slots = append(slots, p.newSlot(ws, workers))
	}
	p.slots = lifecycle.NewPool(slots)
	if scored != nil {
		p.model.Scores, p.trained, kept = scored.Scores, t, true
	}
	return p, nil
}

// see finds out which images the learner takes, of which shape, and how they are made of image files.
func (p *Predictor) see(t *trained.Model, file string) (shape [3]int, err error) {
	shape = p.input
	// embeddings of a file
	if of := t.Info.Of; t.Info.Embeddings && (of == [3]int{} || file == "" && t.Config.Data.Backbone == "") {
		if file != "" {
			return shape, errors.New("the run was trained on embeddings of a file, and does not say which network made them. Leave out --backbone")
		}
		p.size = p.by.Bytes(shape[0])
		return shape, nil
	}
	spec := build.Data(t.Config)
	if t.Info.Embeddings {
		shape = t.Info.Of
		c := t.Config
		c.Data.Backbone = cmp.Or(file, trained.Located(c.Data.Backbone, t.Folder))
		net, err := build.Backbone(c)
		if err != nil {
			if file == "" {
				err = fmt.Errorf("%w. If the file has moved, say where it is with --backbone FILE", err)
			}
			return shape, err
		}
		spec = embed.Wanted(spec, net)
		if p.maker, err = embed.New(net, shape); err != nil {
			return shape, err
		}
		if d := p.maker.Dim(); d != p.input[0] {
			return shape, fmt.Errorf("data.backbone: %s makes embeddings of %d numbers, and the learner takes %d. Use a checkpoint that ocl wrote",
				c.Data.Backbone, d, p.input[0])
		}
	} else if file != "" {
		return shape, errors.New("the run has no pretrained network. Leave out --backbone")
	}
	p.preparation, err = data.NewPreparation(spec, shape[0], shape[1], shape[2])
	p.size = p.preparation.Len()
	return shape, err
}

// Info describes the learner.
func (p *Predictor) Info() Info { return p.info }

// Prepare makes of an image file of any size the image that the learner knows, uint8 [C,H,W], exactly as its data set
// does: see [data.Preparation].
func (p *Predictor) Prepare(ctx context.Context, dst []uint8, file []byte) error {
	if p.info.Embeddings {
		if digest := p.info.Config.Data.BackboneDigest; digest != "" {
			return fmt.Errorf("predict: %s: the learner knows embeddings of the network %s. Say where its file is, with --backbone FILE",
				p.info.Folder, digest)
		}
		return fmt.Errorf("predict: %s: the learner knows embeddings, and the run does not say which network made them. Use `ocl eval` with a file of embeddings, or a run with --backbone",
			p.info.Folder)
	}
	if err := p.checkImages(1, len(dst), p.size); err != nil {
		return err
	}
	if err := p.preparation.Decode(ctx, file, dst); err != nil {
		return fmt.Errorf("predict: %w", err)
	}
	return nil
}

// PredictBatch fills dst [N,top] with the top best guesses for each of the images, uint8 [N,C,H,W], the best first.
// They do not depend on the other images.
func (p *Predictor) PredictBatch(dst []Guess, images []uint8, top int) error {
	if top < 1 || top > p.info.Guesses || len(dst)%top != 0 {
		return fmt.Errorf("predict: room for %d guesses, %d of each image. Ask for 1 to %d of each, and give room for all",
			len(dst), top, p.info.Guesses)
	}
	return p.predictBatch(dst, nil, images, top, false)
}

// predictBatch is PredictBatch, where images may be embeddings already.
func (p *Predictor) predictBatch(dst []Guess, familiar []float64, images []uint8, top int, embedded bool) error {
	size := p.size
	if embedded {
		size = p.by.Bytes(p.input[0])
	}
	if err := p.checkImages(len(dst)/top, len(images), size); err != nil {
		return err
	}
	s, ok := p.slots.Take()
	if !ok {
		return ErrClosed
	}
	defer p.slots.Give(s)
	return p.predict(s, dst, familiar, images, top, embedded)
}

// PredictFile fills dst with the len(dst) best guesses for the bytes of an image file, the best first. Decoding the
// file ends early when ctx does.
func (p *Predictor) PredictFile(ctx context.Context, dst []Guess, file []byte) error {
	if len(dst) < 1 || len(dst) > p.info.Guesses {
		return p.PredictBatch(dst, nil, len(dst)) // which says so
	}
	s, ok := p.slots.Take()
	if !ok {
		return ErrClosed
	}
	defer p.slots.Give(s)
	if err := p.Prepare(ctx, s.image, file); err != nil {
		return err
	}
	return p.predict(s, dst, nil, s.image, len(dst), false)
}

func (p *Predictor) checkImages(n, bytes, size int) error {
	if bytes != n*size {
		return fmt.Errorf("predict: %d bytes for %d images of %d×%d×%d. Give %d bytes for each image", bytes, n, p.info.C,
			p.info.H, p.info.W, size)
	}
	return nil
}

// Close ends the predictor when the calls that are at work have ended, and returns then. Calls that wait for them
// return [ErrClosed]. Closing twice is harmless.
func (p *Predictor) Close() {
	_ = p.end.Do(func() error {
		p.slots.Close()
		for _, s := range p.slots.All() {
			s.ws.Close()
			if s.desk != nil {
				s.desk.Close()
			}
		}
		if p.trained != nil {
			p.trained.Close()
		}
		return nil
	})
}
