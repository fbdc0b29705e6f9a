package cli

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"io/fs"
	"slices"

	"ocl/data"
	"ocl/data/embed"
	"ocl/data/sheet"
	"ocl/predict"
	"ocl/run/experiment"
	"ocl/run/result"
)

// examples are the images of a report: of data that are open, or that are found on this machine.
type examples struct {
	dir    string      // where the data lie; "" where they lay, or in the folder of the data sets
	stderr io.Writer   // for the progress of opening data
	quiet  bool        // which is not shown then
	sets   []*data.Set // that are open
	closed bool        // no others are opened
}

// of is a [report.Examples].
func (e *examples) of(ctx context.Context, r *result.Result, classes []int, each, side int) ([][]image.Image, error) {
	set, err := e.set(ctx, r)
	if err != nil {
		return nil, err
	}
	return sheet.Examples(set, classes, each, side)
}

// mistakenImages bounds the test images of a class that are predicted to find misclassified ones.
const mistakenImages = 200

// mistaken is a [report.Mistaken]: the learner that the run has kept predicts the test images again, as no file says
// which were taken wrong.
func (e *examples) mistaken(ctx context.Context, r *result.Result, folder, classifier string, pairs [][2]int, each,
	side int) ([][]image.Image, error) {
	set, err := e.set(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case r.Config.Stream.Shift.Kind != "":
		return nil, errors.New("the run disturbed its images, and these are not disturbed")
	case folder == "":
		return nil, errors.New("the learner of the run is not at hand")
	}
	if len(r.Config.Classifiers) < 2 { // the only one, whatever the report calls it
		classifier = ""
	}
	p, err := predict.Open(ctx, folder, predict.Options{Classifier: classifier})
	if err != nil {
		return nil, errors.New("the learner of the run is not at hand, as with --keep-checkpoint=false")
	}
	defer p.Close()
	info := p.Info()
	if info.DataDigest != r.Provenance.DataDigest || info.Steps != r.Outcome.Step || info.Embeddings ||
		[3]int{info.C, info.H, info.W} != [3]int{set.C, set.H, set.W} {
		return nil, errors.New("the learner that the folder of the run has is not that of the result, or does not take images")
	}
	places := map[int][]int32{}
	for i, y := range set.Test.Y {
		if k := int(y); len(places[k]) < mistakenImages {
			places[k] = append(places[k], int32(i))
		}
	}
	taken := map[int][]int{} // what the images of a class are predicted as
	var out [][]image.Image
	for _, pair := range pairs {
		k := pair[0]
		if taken[k] == nil {
			if taken[k], err = predicted(ctx, p, set, places[k]); err != nil {
				return nil, err
			}
		}
		var wrong []int32
		for i, as := range taken[k] {
			if as == pair[1] && len(wrong) < each {
				wrong = append(wrong, places[k][i])
			}
		}
		images, err := sheet.Images(set, wrong, side)
		if err != nil {
			return nil, err
		}
		out = append(out, images)
	}
	return out, nil
}

// predicted are the classes that test images are predicted as.
func predicted(ctx context.Context, p *predict.Predictor, set *data.Set, at []int32) (classes []int, err error) {
	for part := range slices.Chunk(at, 32) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		images, err := set.Take(set.Test, part)
		if err != nil {
			return nil, err
		}
		guesses := make([]predict.Guess, len(part))
		if err := p.PredictBatch(guesses, slices.Concat(images...), 1); err != nil {
			return nil, err
		}
		for _, g := range guesses {
			classes = append(classes, g.Class)
		}
	}
	return classes, nil
}

// set is the open data of a run.
func (e *examples) set(ctx context.Context, r *result.Result) (*data.Set, error) {
	if r.Config.Parent.Run != "" {
		return nil, errors.New("images of these classes are not shown, as a run that learns on numbers its classes anew")
	}
	for _, set := range e.sets {
		if !set.Embeddings && digestFor(r, set) == r.Provenance.DataDigest {
			return set, nil
		}
	}
	if e.closed {
		return nil, errors.New("`ocl report` shows images of these classes; this report was written when runs were stopped")
	}
	return e.open(ctx, r)
}

// open opens the images of a run.
func (e *examples) open(ctx context.Context, r *result.Result) (*data.Set, error) {
	c := r.Config
	info, err := data.Lookup(c.Data.Name)
	if err != nil {
		return nil, fmt.Errorf("images of these classes are not shown, as this program does not know the data %s",
			c.Data.Name)
	}
	if dir := dataFolder(e.dir, r); dir != "" {
		c.Data.Dir = dir
	}
	if r.Stream.Embeddings && c.Data.BackboneDigest != "" { // the images that they were made of
		if c.Data.Size == 0 && info.Cached() {
			c.Data.Size = r.Stream.Of[1]
		}
		c.Data.Backbone, c.Data.BackboneDigest = "", ""
	}
	show := newOpening(e.stderr, e.quiet)
	set, err := experiment.OpenData(ctx, c, experiment.Options{Progress: show.work})
	show.end()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case info.NeedsDir && c.Data.Dir == "", errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the data are not at hand. `ocl report --data-dir DIR` shows images of these classes, and so does %s=DIR in the environment",
			dataVariable)
	case err != nil:
		return nil, fmt.Errorf("images of these classes are not shown: %w", err)
	case set.Embeddings:
		return nil, errors.New("the data are embeddings, so there are no images to show")
	case digestFor(r, set) != r.Provenance.DataDigest:
		return nil, errors.New("images of these classes are not shown, as the data found here are not those of the run: their digest differs. `ocl report --data-dir DIR` takes others")
	}
	e.sets = append(e.sets, set)
	return set, nil
}

// digestFor is the digest that a run on a set has recorded; of a run on embeddings that of the embeddings of the set.
func digestFor(r *result.Result, set *data.Set) string {
	if r.Stream.Embeddings && !set.Embeddings {
		return embed.Digest(r.Config.Data.BackboneDigest, set.Digest, [3]int{set.C, set.H, set.W})
	}
	return set.Digest
}
