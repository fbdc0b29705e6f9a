package predict

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"ocl/data"
	"ocl/internal/count"
	"ocl/internal/spelling"
	"ocl/run/metric"
	"ocl/run/train"
)

// Halves of a data set that [Predictor.Evaluate] can measure on.
const (
	Test  = "test"
	Train = "train"
	All   = "all"
)

// EvaluateOptions say what is measured. The zero value is the test images of the classes that were learned.
type EvaluateOptions struct {
	Half     string                // Test, Train or All; "" is Test
	Unseen   bool                  // also the images of classes that the learner has not learned yet
	Changes  []train.Change        // made to classes since the data were learned
	Seen     map[string]bool       // digests of images to leave out, to which those measured are added; nil is none
	Progress func(done, total int) // images; may be nil
}

// Evaluation has the results of [Predictor.Evaluate]. Its classes are those of the learner, in the learner's order.
type Evaluation struct {
	Data, Digest, Half string
	Images, Correct    int
	LeftOut            int              // images of classes that were not learned yet
	Confusion          metric.Confusion // [class][predicted]
	// Reliability counts the images by the probability of their best guess; zero where values are distances.
	Reliability metric.Reliability
	Unknown     int       // images of known classes that are called unknown; 0 without Info.Sureness
	Familiar    []float64 // the familiarity of each image, in their order; nil without Info.Sureness
	// With a Coverage: of how many images the right class is in the set, and how many classes all sets have together.
	Covered, Named int
	Notes          []string
}

// Accuracy is the share of the images that were predicted right, NaN without images. A class with more images counts
// for more.
func (e *Evaluation) Accuracy() float64 { return share(e.Correct, e.Images) }

// ClassAccuracy is the mean of the accuracies of the classes that have images, each of which counts the same. It is NaN
// without images.
func (e *Evaluation) ClassAccuracy() float64 {
	sum, classes := 0.0, 0
	for k := range e.Confusion {
		if images, _, accuracy := e.Class(k); images > 0 {
			sum, classes = sum+accuracy, classes+1
		}
	}
	if classes == 0 {
		return math.NaN()
	}
	return sum / float64(classes)
}

// Class is the number of images of class k, how many of them were predicted right, and their share, NaN without images.
func (e *Evaluation) Class(k int) (images, correct int, accuracy float64) {
	for _, n := range e.Confusion[k] {
		images += n
	}
	correct = e.Confusion[k][k]
	return images, correct, share(correct, images)
}

func share(part, all int) float64 {
	if all == 0 {
		return math.NaN()
	}
	return float64(part) / float64(all)
}

// Check is an error that wraps [ErrUnfit] if Evaluate would find nothing to measure, or a class that it cannot,
// whatever the shape of the images is: they may become embeddings later.
func (p *Predictor) Check(set *data.Set, o EvaluateOptions) error {
	o.Seen = nil
	_, _, err := p.plan(set, o, false)
	return err
}

// plan is an evaluation before any image is predicted, and the images to predict. With final the images are those that
// the learner sees, so that they have their digests.
func (p *Predictor) plan(set *data.Set, o EvaluateOptions, final bool) (*Evaluation, []sample, error) {
	to, notes, err := p.info.match(set, o.Changes, o.Unseen)
	if err != nil {
		return nil, nil, err
	}
	e := &Evaluation{Data: set.Name, Digest: set.Digest, Half: o.Half, Confusion: metric.NewConfusion(p.info.Classes),
		Notes: notes}
	if e.Half == "" {
		e.Half = Test
	}
	samples, err := e.choose(set, to, p.info, o, final)
	return e, samples, err
}

// Evaluate measures the learner on a data set whose images have its shape. Classes are matched by name where the run
// and the set have names, else by number with a note. Images of classes that the learner does not know are left out.
// Data that do not fit are an error that wraps [ErrUnfit]. It ends when ctx does.
func (p *Predictor) Evaluate(ctx context.Context, set *data.Set, o EvaluateOptions) (*Evaluation, error) {
	if err := p.info.checkShape(set); err != nil {
		return nil, err
	}
	e, samples, err := p.plan(set, o, true)
	if err != nil {
		return nil, err
	}
	if kinds := p.info.Config.Stream.Shift.Kind; kinds != "" {
		e.Notes = append(e.Notes, fmt.Sprintf("the run disturbed its images (%s), and these are not disturbed", kinds))
	}
	if p.info.Config.Data.Name == set.Name && e.Half != Test {
		e.Notes = append(e.Notes, "the learner may have been trained on some of these images")
	}
	return e, p.count(ctx, e, samples, set, o.Progress)
}

// sample is an image of a half and its class of the learner.
type sample struct {
	from  data.Images
	at    int
	class int
}

// choose lists the images to measure on.
func (e *Evaluation) choose(set *data.Set, to []int, i Info, o EvaluateOptions, final bool) ([]sample, error) {
	halves := map[string][]data.Split{Test: {set.Test}, Train: {set.Train}, All: {set.Train, set.Test}}[e.Half]
	if halves == nil {
		return nil, fmt.Errorf("predict: %.40q is no half of a data set. Use test, train or all", e.Half)
	}
	learned := make([]bool, i.Classes)
	for k := range learned {
		learned[k] = o.Unseen || i.Learned == nil
	}
	for _, k := range i.Learned {
		learned[k] = true
	}
	var samples []sample
	removed, unsure := 0, 0
	out, buf := map[int32]bool{}, make([]byte, set.ImageLen())
	for _, half := range halves {
		for at, y := range half.Y {
			class, digest := to[y], ""
			split := final && set.ClassNames != nil && train.WasSplit(set.ClassNames[y], o.Changes)
			if split || o.Seen != nil {
				pixels, err := half.Images.Image(at, buf)
				if err != nil {
					return nil, fmt.Errorf("predict: %w", err)
				}
				digest = train.DigestOf(pixels)
			}
			if split { // only pictures that the split had have a name
				name := train.Called(set.ClassNames[y], digest, o.Changes)
				if name == train.Called(set.ClassNames[y], "", o.Changes) {
					unsure++
					continue
				}
				class = spelling.Match([]string{name}, i.ClassNames)[0]
			}
			switch {
			case o.Seen[digest]:
			case class < 0 && set.ClassNames != nil && train.Called(set.ClassNames[y], digest, o.Changes) == "":
				removed++
			case class < 0 || !learned[class]:
				out[y] = true
				e.LeftOut++
			default:
				samples = append(samples, sample{half.Images, at, class})
				if o.Seen != nil {
					o.Seen[digest] = true
				}
			}
		}
	}
	if e.LeftOut > 0 {
		e.Notes = append(e.Notes, fmt.Sprintf("%s of %s that the learner has not learned are left out",
			count.Of(e.LeftOut, "image"), count.Of(len(out), "class")))
	}
	if removed > 0 {
		e.Notes = append(e.Notes, fmt.Sprintf("left out: %s of classes that were removed", count.Of(removed, "image")))
	}
	if unsure > 0 {
		e.Notes = append(e.Notes, fmt.Sprintf("left out: %s of classes that were split, as nobody has said to which of the new ones they belong",
			count.Of(unsure, "image")))
	}
	e.LeftOut += removed + unsure
	if len(samples) == 0 && len(o.Seen) == 0 {
		return nil, unfit("%s has no image of a class that the learner has learned. Use other data, or another half",
			set.Name)
	}
	return samples, nil
}

// count predicts the samples, in parts that the slots share, and counts what they are predicted as.
func (p *Predictor) count(ctx context.Context, e *Evaluation, samples []sample, set *data.Set,
	progress func(done, total int)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		mu   sync.Mutex
		errs error
		next atomic.Int64
		wg   sync.WaitGroup
	)
	step := part * max(1, p.slots.All()[0].ws.Workers())
	parts := slices.Collect(slices.Chunk(samples, step))
	confidence, right := make([]float64, len(samples)), make([]bool, len(samples))
	e.Familiar = p.room(len(samples))
	top := 1
	if s := p.info.Sureness; s != nil && s.Coverage > 0 {
		top = p.info.Guesses
	}
	keep := func(from int, these []sample, guesses []Guess, familiar []float64, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			errs = errors.Join(errs, err)
			cancel()
			return
		}
		answers := p.answers(guesses, familiar, len(these))
		copy(e.Familiar[min(from, len(e.Familiar)):], familiar)
		for i, s := range these {
			a := answers[i]
			if a.Unknown {
				e.Unknown++
			}
			best := a.Guesses[0]
			confidence[from+i], right[from+i] = best.Value, best.Class == s.class
			e.Confusion.Add(s.class, best.Class)
			if best.Class == s.class {
				e.Correct++
			}
			e.Named += a.Set
			if slices.ContainsFunc(a.Guesses[:a.Set], func(g Guess) bool { return g.Class == s.class }) {
				e.Covered++
			}
		}
		e.Images += len(these)
		if progress != nil {
			progress(e.Images, len(samples))
		}
	}
	for range p.slots.All() {
		wg.Go(func() {
			buf, guesses, room := make([]uint8, step*set.ImageLen()), make([]Guess, step*top), p.room(step)
			for i := next.Add(1) - 1; i < int64(len(parts)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				these, familiar := parts[i], room
				if room != nil {
					familiar = room[:len(parts[i])]
				}
				some := guesses[:len(these)*top]
				err := p.predictSamples(some, familiar, buf, these, set)
				keep(int(i)*step, these, some, familiar, err)
			}
		})
	}
	wg.Wait()
	if errs == nil && e.Images == len(samples) && p.info.Measure == Probability {
		for i, c := range confidence { // in their order, so that the sums are those of any number of goroutines
			e.Reliability.Add(c, right[i])
		}
	}
	if errs == nil && e.Images < len(samples) {
		errs = fmt.Errorf("predict: stopped after %s of %s: %w. Evaluate again for the whole result", count.Number(e.Images),
			count.Of(len(samples), "image"), context.Cause(ctx))
	}
	return errs
}

// predictSamples reads images and predicts them.
func (p *Predictor) predictSamples(dst []Guess, familiar []float64, buf []uint8, these []sample, set *data.Set) error {
	size := set.ImageLen()
	for i, s := range these {
		to := buf[i*size : (i+1)*size]
		image, err := s.from.Image(s.at, to)
		if err != nil {
			return fmt.Errorf("predict: %w", err)
		}
		copy(to, image)
	}
	return p.predictBatch(dst, familiar, buf[:len(these)*size], len(dst)/len(these), set.Embeddings)
}
