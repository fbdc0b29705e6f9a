package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"ocl"
	"ocl/internal/count"
	"ocl/learn/calibrate"
	"ocl/learn/learner"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

const (
	// batch is the number of images that are learned or left out at once.
	batch = 1024
	// fitted is the largest number of images to which the temperature is fitted.
	fitted = 10_000
	// leastAccuracy is the share of labels that must be found by the other images, or none is called wrong.
	leastAccuracy = 0.5
	// likeness is the share of the images of two classes, taken for the other, from which on the classes look alike.
	likeness = 0.1
	// pixelSide is the side of images whose pixels are features.
	pixelSide = 8
)

// labels finds labels that are probably wrong. Linear discriminant analysis learns all images, and each is then
// predicted without itself. Of the probabilities that a temperature makes of these scores, a label is suspect where
// another class is more probable, and the least probable label comes first.
func (e *exam) labels(ctx context.Context) error {
	f := e.found
	f.Features = "pixels"
	if e.features.Embeddings {
		f.Features = "embeddings"
		if e.features.By != "" {
			f.Features = e.features.By
		}
	}
	if !e.judgeable() {
		f.Notes = append(f.Notes, notLooked)
		return nil
	}
	scores, err := e.leaveOut(ctx)
	if err != nil {
		return fmt.Errorf("doctor: %s: %w", e.set.Name, err)
	}
	k := e.set.Classes
	var rows []int // images that could be left out
	for i := range f.Images {
		if s := scores[i*k]; s == s {
			rows = append(rows, i)
		}
	}
	p, err := e.probabilities(scores, rows)
	if errors.Is(err, calibrate.ErrFew) {
		f.Notes = append(f.Notes, notLooked)
		return nil
	}
	if err != nil {
		return fmt.Errorf("doctor: %s: %w", e.set.Name, err)
	}
	right := 0
	for _, i := range rows {
		if best(p[i*k:][:k], nil) == e.label(i) {
			right++
		}
	}
	f.Looked, f.Accuracy = true, float64(right)/float64(len(rows))
	if f.Accuracy < leastAccuracy {
		f.Looked = false
		f.Notes = append(f.Notes, fmt.Sprintf("%s find the label of %s %% of the images, too few to call labels wrong: NOT LOOKED FOR%s",
			f.Features, count.Percent(f.Accuracy),
			map[bool]string{true: ". Give a pretrained network with --backbone"}[e.features == e.set && !e.set.Embeddings]))
		return nil
	}
	e.suspects(p, rows)
	return nil
}

// notLooked is said where labels cannot be judged by other images.
const notLooked = "wrong labels need two classes of at least three images, and ten images of these: NOT LOOKED FOR"

// judgeable says whether two classes have images by which others can be judged.
func (e *exam) judgeable() bool {
	counts, classes := make([]int, e.set.Classes), 0
	for i := range e.found.Images {
		if counts[e.label(i)]++; counts[e.label(i)] == 3 {
			classes++
		}
	}
	return classes >= 2
}

// leaveOut are the scores [n,K] of each image without itself; NaN where there are none.
func (e *exam) leaveOut(ctx context.Context) ([]float32, error) {
	width := e.width()
	net, err := arch.Linear(arch.Config{Channels: width, Height: 1, Width: 1, Classes: e.set.Classes},
		rng.New(0, "network/init"))
	if err != nil {
		return nil, err
	}
	ws := net.NewWorkspace(runtime.GOMAXPROCS(0))
	defer ws.Close()
	l := learner.NewSLDA(net, ws)
	scores := make([]float32, e.found.Images*e.set.Classes)
	for _, pass := range []struct {
		what string
		do   func(b ocl.Batch, lo int) error
	}{
		{"images learned", func(b ocl.Batch, _ int) error { _, err := l.Observe(ctx, b); return err }},
		{"labels compared", func(b ocl.Batch, lo int) error {
			some, err := l.LeaveOut(ctx, b)
			for i, v := range some {
				scores[lo*e.set.Classes+i] = float32(v)
			}
			return err
		}},
	} {
		for lo := 0; lo < e.found.Images; lo += batch {
			b, err := e.batch(lo, min(lo+batch, e.found.Images), width)
			if err == nil {
				err = pass.do(b, lo)
			}
			if err = errors.Join(err, ctx.Err()); err != nil {
				return nil, err
			}
			e.progress(e.set.Name+": "+pass.what, min(lo+batch, e.found.Images), e.found.Images)
		}
		if err := l.Prepare(ctx); err != nil {
			return nil, err
		}
	}
	return scores, nil
}

// width is the number of features of an image.
func (e *exam) width() int {
	if e.features.Embeddings {
		return e.features.C
	}
	return e.features.C * pixelSide * pixelSide
}

// batch has the features of the images from lo to before hi.
func (e *exam) batch(lo, hi, width int) (ocl.Batch, error) {
	b := ocl.Batch{X: tensor.New(hi-lo, width, 1, 1)}
	buf := make([]uint8, e.features.ImageLen())
	for i := lo; i < hi; i++ {
		pixels, err := e.pixels(e.features, i, buf)
		if err != nil {
			return b, err
		}
		b.Y = append(b.Y, ocl.Label(e.label(i)))
		row := b.X.Row(i - lo)
		if e.features.Embeddings {
			ocl.Float16{}.Write(row, pixels)
			continue
		}
		plane := e.features.H * e.features.W
		for c := range e.features.C {
			for j, v := range shrunk(pixels[c*plane:][:plane], 1, e.features.H, e.features.W, pixelSide, pixelSide) {
				row[c*pixelSide*pixelSide+j] = float32(v / 255)
			}
		}
	}
	return b, nil
}

// probabilities makes probabilities [n,K] of the scores of rows, in their place.
func (e *exam) probabilities(scores []float32, rows []int) ([]float32, error) {
	k := e.set.Classes
	var of calibrate.Samples
	each := max(1, (len(rows)+fitted-1)/fitted)
	for at := 0; at < len(rows); at += each {
		for _, v := range scores[rows[at]*k:][:k] {
			of.Scores = append(of.Scores, float64(v))
		}
		of.Labels, of.Known = append(of.Labels, e.label(rows[at])), append(of.Known, 0)
	}
	c, err := calibrate.Fit(of)
	if err != nil {
		return nil, err
	}
	one := make([]float64, k)
	for _, i := range rows {
		row := scores[i*k:][:k]
		for j, v := range row {
			one[j] = float64(v)
		}
		c.Probabilities(one, one)
		for j, v := range one {
			row[j] = float32(v)
		}
	}
	return scores, nil
}

// best is the most probable class of those that are at least as probable as least says, −1 for none. Nil allows all.
func best(p []float32, least []float64) int {
	at := -1
	for k, v := range p {
		if (least == nil || float64(v) >= least[k]) && (at < 0 || v > p[at]) {
			at = k
		}
	}
	return at
}

// suspects adds the wrong labels, the estimate of their share, and the classes that look alike.
func (e *exam) suspects(p []float32, rows []int) {
	k := e.set.Classes
	least, counts := make([]float64, k), make([]int, k) // the mean probability of the images with the label
	for _, i := range rows {
		y := e.label(i)
		least[y] += float64(p[i*k+y])
		counts[y]++
	}
	for y := range least {
		if counts[y] == 0 {
			least[y] = math.Inf(1)
		} else {
			least[y] /= float64(counts[y])
		}
	}
	taken := make([]int, k*k) // for which class the images of each are taken
	counted, wrong := make([]int, k), make([]int, k)
	var list []Finding
	for _, i := range rows {
		y, row := e.label(i), p[i*k:][:k]
		sure := best(row, least)
		if sure >= 0 {
			counted[y]++
		}
		if sure >= 0 && sure != y {
			wrong[y]++
		}
		_, disputed := e.disputed[i]
		if disputed {
			e.disputed[i] = sure
		}
		top := best(row, nil)
		taken[y*k+top]++
		if top == y || disputed { // the copies speak for each other
			continue
		}
		m := e.image(i)
		m.Move = sure >= 0 && sure != y && e.features.Embeddings
		list = append(list, Finding{Kind: WrongLabel, Images: []Image{m}, Suggested: e.set.ClassName(top),
			Probability: float64(row[y]), Sure: m.Move})
	}
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Compare(a.Probability, b.Probability)
	})
	byPixels := !e.features.Embeddings
	if byPixels {
		list = e.beyondChance(p, rows, list)
	}
	e.found.List = append(e.found.List, list...)
	for y := range counts {
		if counted[y] > 0 && !byPixels {
			e.found.WrongShare += float64(counts[y]) / float64(len(rows)) * float64(wrong[y]) / float64(counted[y])
		}
	}
	var alike []Finding
	for a := range k {
		for b := range a {
			share := float64(taken[a*k+b]+taken[b*k+a]) / float64(max(1, counts[a]+counts[b]))
			if share >= likeness {
				alike = append(alike, Finding{Kind: Alike, Images: []Image{}, Probability: share,
					Classes: []string{e.set.ClassName(b), e.set.ClassName(a)}})
			}
		}
	}
	slices.SortStableFunc(alike, func(a, b Finding) int { return cmp.Compare(b.Probability, a.Probability) })
	e.found.List = append(e.found.List, alike...)
}

// beyondChance is the beginning of a list of suspects, the least probable label first, that has at least twice as many
// as there would be if all labels were right. By pixels most labels of little probability are right, as those of hard
// images: of probabilities p that are calibrated, the labels below t are expected to be the sum of all p below t. What
// the labels exceed that by, at most, is the estimate of the wrong ones, which is too low where there are many.
func (e *exam) beyondChance(p []float32, rows []int, list []Finding) []Finding {
	const perOctave, octaves = 8, 64
	bin := func(v float64) int { return min(max(int(perOctave*(octaves+math.Log2(v))), 0), perOctave*octaves) }
	expected := make([]float64, perOctave*octaves+1) // the sum of all p up to the end of each bin
	k := e.set.Classes
	for _, i := range rows {
		for _, v := range p[i*k:][:k] {
			expected[bin(float64(v))] += float64(v)
		}
	}
	for b := range expected[1:] {
		expected[b+1] += expected[b]
	}
	n, most := 0, 0.0
	for i, one := range list {
		chance := expected[bin(one.Probability)]
		if most = max(most, float64(i+1)-chance); float64(i+1) >= 2*chance {
			n = i + 1
		}
	}
	e.found.WrongShare = most / float64(len(rows))
	if left := len(list) - n; left > 0 {
		e.found.Notes = append(e.found.Notes, fmt.Sprintf("%s more have labels that look wrong by pixels, as many would if all labels were right, and are not listed. A pretrained network (--backbone) judges better",
			count.Of(left, "image")))
	}
	return list[:n]
}
