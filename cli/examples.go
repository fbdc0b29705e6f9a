package cli

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"io/fs"

	"ocl/data"
	"ocl/data/embed"
	"ocl/data/sheet"
	"ocl/experiment"
	"ocl/experiment/result"
)

// examples are the images of a report: of data that are open, or that are found on this machine.
type examples struct {
	dir    string      // where the data lie; "" where they lay, or in the folder of the data sets
	stderr io.Writer   // for the progress of opening data
	sets   []*data.Set // that are open
	closed bool        // no others are opened
}

// of is a [report.Examples].
func (e *examples) of(ctx context.Context, r *result.Result, classes []int, each, side int) ([][]image.Image, error) {
	if r.Config.Parent.Run != "" {
		return nil, errors.New("images of these classes are not shown, as a run that learns on numbers its classes anew")
	}
	for _, set := range e.sets {
		if !set.Embeddings && digestFor(r, set) == r.Provenance.DataDigest {
			return sheet.Examples(set, classes, each, side)
		}
	}
	if e.closed {
		return nil, errors.New("`ocl report` shows images of these classes; this report was written when runs were stopped")
	}
	set, err := e.open(ctx, r)
	if err != nil {
		return nil, err
	}
	return sheet.Examples(set, classes, each, side)
}

// open opens the images of a run.
func (e *examples) open(ctx context.Context, r *result.Result) (*data.Set, error) {
	c := r.Config
	info, err := data.Lookup(c.Data.Name)
	if err != nil {
		return nil, fmt.Errorf("images of these classes are not shown, as this program does not know the data %s", c.Data.Name)
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
	show := newOpening(e.stderr)
	set, err := experiment.OpenData(ctx, c, experiment.Options{Progress: show.work})
	show.end()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case info.NeedsDir && c.Data.Dir == "", errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the data are not at hand. `ocl report --data-dir DIR` shows images of these classes, and so does %s=DIR in the environment", dataVariable)
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
