// Package shift changes the images of a task as the survey's NonStationary-MiniImageNet does: it adds noise, covers a
// square, or blurs. A stream that shifts each task more than the one before is domain-incremental. The package computes
// pixels of pixels; it knows nothing of data sets, streams or learners. Start at [Apply].
//
// Transforms compute in float32 (noise adds in float64). Each image depends only on the pixels, the steps, the seed and
// its index, never on the order of the images or the number of workers; only the blur across images also depends on the
// neighbours. The bits are the same on every machine: each product that is added to something is rounded by an explicit
// conversion first, because Go may otherwise fuse both into one operation, and logarithms and exponentials are computed
// here, because those of package math differ between machines.
package shift

import (
	"context"
	"fmt"
	"runtime"
	"sync"
)

// Step is one transform with its strength in one task.
type Step struct {
	Kind string // of the catalogue: "noise", "occlusion" or "blur"
	// 0 changes nothing. 1 is noise of deviation 0.1, a square with the image's shorter side, or a blur of 1 pixel
	Strength float64
}

// Halves of a task, for Options.Half.
const (
	Train = "train"
	Test  = "test"
)

// Options say how the steps are applied. Seed, Task and Half name the random sources. Noise and the places of PerImage
// come from "shift/noise/HALF/INDEX" and "shift/occlusion/HALF/image/INDEX", with the image's index in the data set: an
// image that occurs in several tasks has the same noise in each, times the strength. The common place of the squares
// comes from "shift/occlusion/HALF/task/TASK".
type Options struct {
	PerImage   bool // occlusion: each image has its own place; otherwise all images of the task's half share one
	CrossImage bool // blur: also across neighbouring images, as in the survey's published rows
	Seed       uint64
	Task       int    // 0-based
	Half       string // Train or Test
}

// Task is one half of a task: N images of shape [C,H,W], in the order of the task. The order matters only to the blur
// across images.
type Task struct {
	Shape [3]int
	N     int
	// At returns the C·H·W bytes of image i, 0 to N-1. It may write them into buf, which has that length, or return
	// memory of its own, which Apply does not change. Several goroutines call it at once, and some images are asked for
	// more than once.
	At func(i int, buf []uint8) ([]uint8, error)
	// Index returns the index of image i in the data set.
	Index func(i int) int
}

// Apply returns the C·H·W bytes of each image of t after steps of different kinds, in the order given. They are rounded
// to 8 bits once, after all steps, so the error is at most 1/510. A step of strength 0 is left out: it leaves each
// pixel as it is, bit for bit. The work is split among GOMAXPROCS goroutines.
//
// Apply allocates the result, a few images for each goroutine, and for the blur across images another 2·radius+1 in
// float32. It returns an error if At fails, and the cause of ctx if ctx ends.
func Apply(ctx context.Context, t Task, steps []Step, o Options) ([][]uint8, error) {
	out, all := make([][]uint8, t.N), make([]uint8, t.N*t.size())
	for i := range out {
		out[i] = all[i*t.size() : (i+1)*t.size() : (i+1)*t.size()]
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var team sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), t.N)
	for w := range workers {
		team.Go(func() {
			if err := t.apply(ctx, out, steps, o, w*t.N/workers, (w+1)*t.N/workers); err != nil {
				cancel(err)
			}
		})
	}
	team.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return out, nil
}

// apply writes the images from to to-1 into out.
func (t Task) apply(ctx context.Context, out [][]uint8, steps []Step, o Options, from, to int) error {
	read := t.reader(steps, o, from)
	x := make([]float32, t.size())
	for i := from; i < to; i++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := read(x, i); err != nil {
			return err
		}
		for p, v := range x {
			out[i][p] = uint8(float32(v*255) + 0.5) // nearest byte, a half upwards
		}
	}
	return nil
}

// size is the number of values of an image.
func (t Task) size() int { return t.Shape[0] * t.Shape[1] * t.Shape[2] }

// transform changes the image x [C,H,W], which has this index in the data set. It may have memory of its own, so one
// goroutine uses it.
type transform func(x []float32, index int)

// reader returns a function that writes image i, in [0,1], after valid steps into x. One goroutine calls it, the first
// time for the image from and then never for an earlier one.
func (t Task) reader(steps []Step, o Options, from int) func(x []float32, i int) error {
	buf := make([]uint8, t.size())
	read := func(x []float32, i int) error {
		pixels, err := t.At(i, buf)
		if err != nil {
			return fmt.Errorf("shift: image %d: %w", t.Index(i), err)
		}
		if len(pixels) != len(x) {
			return fmt.Errorf("shift: image %d has %d bytes, but the shape %v has %d. Make Task.Shape that of the images",
				t.Index(i), len(pixels), t.Shape, len(x))
		}
		for p, v := range pixels {
			x[p] = float32(v) / 255
		}
		return nil
	}
	for _, s := range steps {
		if s.Strength == 0 {
			continue
		}
		k := lookup(s.Kind)
		before, change := read, k.make(s.Strength, t.Shape, o)
		read = func(x []float32, i int) error {
			err := before(x, i)
			if err == nil {
				change(x, t.Index(i))
			}
			return err
		}
		if k.across == nil {
			continue
		}
		if weights := k.across(s.Strength, o); weights != nil {
			read = newWindow(weights, t, from, read).at
		}
	}
	return read
}
