package data

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"ocl/data/internal/cache"
	"ocl/internal/count"
)

// Report has the findings of [Verify].
type Report struct {
	Images int      // that were checked
	Faults []error  // what is wrong with files, images, counts and the cache, each in one line
	Notes  []string // what is worth knowing and is no fault, a sentence each
	Digest string   // of the set; "" if a fault keeps it from being known
}

// Verify checks all files and images of the data set that spec names, whatever part of it spec asks for, and reports
// all faults that it can find and not only the first. Image files are decoded again, without their cache; a cache that
// exists is then compared with them. Other data sets are read as [Open] does, which checks all of them. With
// SkipUnreadable a file that is there and cannot be read is a note, and the digest is that of the others.
//
// Counts and images decide: a digest that is not known is a note. The error is not about the data: spec names no data
// set, or ctx has ended.
func Verify(ctx context.Context, spec Spec) (Report, error) {
	info, err := Lookup(spec.Name)
	if err != nil {
		return Report{}, err
	}
	spec.TrainPerClass, spec.TestPerClass, spec.Channels = 0, 0, 0
	if err := info.check(spec); err != nil {
		return Report{}, fmt.Errorf("data: %s: %w", spec.Name, err)
	}
	r := &Report{}
	if info.list != nil {
		r.readFiles(ctx, info, spec)
	} else if set, err := info.opened(ctx, spec); err != nil {
		r.fault(err)
	} else {
		r.Images = set.Train.Len() + set.Test.Len()
		r.hold(ctx, info, set)
	}
	if ctx.Err() != nil {
		return Report{}, fmt.Errorf("data: %s: the check was stopped: %w", spec.Name, ctx.Err())
	}
	return *r, nil
}

// fault adds an error, or those that it joins.
func (r *Report) fault(err error) {
	// of errors.Join, and not of fmt.Errorf
	if many, ok := err.(interface{ Unwrap() []error }); ok && strings.Contains(err.Error(), "\n") {
		r.Faults = append(r.Faults, many.Unwrap()...)
	} else {
		r.Faults = append(r.Faults, err)
	}
}

// note adds a sentence.
func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// hold compares the counts and the digest of a set that could be read with the published ones.
func (r *Report) hold(ctx context.Context, info Info, set *Set) {
	r.Notes = append(r.Notes, set.Notes...)
	for _, half := range []struct {
		name      string
		has, want int
	}{{"training", set.Train.Len(), info.Train}, {"test", set.Test.Len(), info.Test}} {
		if half.want > 0 && half.has != half.want && !set.Incomplete {
			r.fault(fmt.Errorf("the %s half has %s instead of %s. Get the files again", half.name, count.Of(half.has, "image"),
				count.Number(half.want)))
		}
	}
	var err error
	if r.Digest, err = digest(ctx, set); err != nil {
		r.fault(err)
		return
	}
	switch {
	case slices.Contains(info.KnownDigests, r.Digest):
		r.note("the digest is that of the official files")
	case len(info.KnownDigests) == 0 && (info.Classes == 0 || info.Draws): // no official files, or several sets of them
	case len(info.KnownDigests) == 0:
		r.note("the program knows no digest of the official files, so only counts and images were checked")
	case info.Size > 0 && set.H != info.Size:
		r.note("the digest of the official files is known for images of %d pixels only. Leave data.size out to compare it",
			info.Size)
	default:
		r.note("the digest is not that of the official files: the images may be theirs in another order, or encoded anew. Streams of them differ from those of the official files")
	}
}

// readFiles decodes every image file, and then checks the cache.
func (r *Report) readFiles(ctx context.Context, info Info, spec Spec) {
	l, err := info.list(ctx, spec)
	if err != nil {
		r.fault(err)
		return
	}
	p := l.pictures
	n := p.images()
	d := decoded{sums: make([][sha256.Size]byte, n), errs: make([]error, n)}
	err = cache.Each(ctx, n, 0, 3*p.side*p.side, spec.progress(p.set+": images decoded"), func(i int, buf []uint8) error {
		if d.errs[i] = p.decode(ctx, i, buf); d.errs[i] == nil {
			d.sums[i] = sha256.Sum256(buf)
		}
		return nil
	})
	if err != nil {
		return // ctx has ended
	}
	r.Images = n
	var dropped []cache.Fault
	for i, err := range d.errs {
		switch {
		case err == nil:
		case spec.SkipUnreadable && p.there(i):
			dropped = append(dropped, cache.Fault{Image: i, Message: err.Error()})
		default:
			r.fault(err)
		}
	}
	if len(r.Faults) == 0 {
		if set, err := l.halved(ctx, d, dropped); err != nil {
			r.fault(err)
		} else {
			r.hold(ctx, info, set)
		}
	}
	r.holdCache(ctx, p, spec, d)
}

// holdCache compares the cache of the files, if there is one, with what was decoded just now.
func (r *Report) holdCache(ctx context.Context, p pictures, spec Spec, d decoded) {
	key, err := p.key(ctx)
	if err != nil {
		return // a file is missing, which is reported, so there is no cache of these files
	}
	spec.SkipUnreadable = true // a cache without them is no fault of the cache
	images, err := cache.Find(p.cached(ctx, key, spec))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.note("there is no cache of the decoded images yet: the first run makes it")
		return
	case err != nil:
		r.note("%v. The next run makes the cache again", err)
		return
	}
	defer images.Close()
	r.note("the cache of the decoded images was checked: %s", images.Path())
	before := len(r.Faults)
	for _, err := range images.Verify(ctx, spec.progress(p.set+": cached images checked")) {
		r.fault(err)
	}
	if len(r.Faults) > before {
		return
	}
	left := map[int]bool{}
	for _, f := range images.Faults() {
		left[f.Image] = true
	}
	for i := range d.sums {
		if d.errs[i] == nil && !left[i] && images.Sum(i) != d.sums[i] {
			r.fault(fmt.Errorf("%s: the file shows another image than the cache has. Run `ocl data cache clean %s`", p.name(i),
				p.set))
		}
	}
}

// decoded has the facts about image files that were decoded and not kept.
type decoded struct {
	sums [][sha256.Size]byte
	errs []error
}

func (d decoded) Len() int                    { return len(d.sums) }
func (d decoded) Sum(i int) [sha256.Size]byte { return d.sums[i] }

// Image is an error: the pixels were not kept.
func (d decoded) Image(i int, _ []uint8) ([]uint8, error) {
	return nil, fmt.Errorf("image %d was checked and not kept", i)
}
