package learner

import (
	"fmt"
	"math"
	"slices"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/calibrate"
	"ocl/nn/tensor"
)

// MostKept is the largest number of samples that a learner of sums keeps, to find out by them how sure it may be. To
// leave one out costs as much as a thousandth of a classifier.
const MostKept = 512

// keptBytes and keptOfClass are the most bytes of these samples, and the most samples of a class.
const (
	keptBytes   = 4 << 20
	keptOfClass = 100
)

// kept has some samples of a learner of sums: their features, or their values where these are fewer. Of each class it
// has those with the least marks, at most an equal share. So it is the same for any order of the samples, and draws
// nothing. It has a sample once, and counts how often it came: all of these are left out together.
type kept struct {
	labels []ocl.Label // rising
	times  []int64     // at least 1
	marks  []uint64    // of each sample, rising within a class; not saved
	rows   []float32   // [n,width]
}

// mostKept is how many samples of a width there may be.
func mostKept(width int) int { return max(1, min(MostKept, keptBytes/(4*width))) }

// shareKept is how many of them each of so many classes has.
func shareKept(width, classes int) int { return min(keptOfClass, mostKept(width)/classes) }

// mark is a hash of a vector.
func mark(x []float32) uint64 {
	h := uint64(14695981039346656037) // FNV-1a of words
	for _, v := range x {
		h = (h ^ uint64(math.Float32bits(v))) * 1099511628211
	}
	h ^= h >> 32
	return h * 0x9e3779b97f4a7c15
}

// of are the places of a class.
func (k *kept) of(y ocl.Label) (first, last int) {
	first, _ = slices.BinarySearch(k.labels, y)
	last, _ = slices.BinarySearch(k.labels, y+1)
	return first, last
}

// add takes a sample that came so often, if its class has room or a sample with a larger mark. classes is how many
// classes share.
func (k *kept) add(y ocl.Label, x []float32, times int64, classes int) {
	width := len(x)
	share := shareKept(width, classes)
	m := mark(x)
	first, last := k.of(y)
	at, found := slices.BinarySearch(k.marks[first:last], m)
	if found {
		k.times[first+at] += times
	}
	if found || at >= share {
		return
	}
	if last-first >= share {
		k.drop(first+share-1, last, width)
	}
	at += first
	k.labels, k.marks = slices.Insert(k.labels, at, y), slices.Insert(k.marks, at, m)
	k.times = slices.Insert(k.times, at, times)
	k.rows = slices.Insert(k.rows, at*width, x...)
}

// shrink leaves each class its share.
func (k *kept) shrink(classes, width int) {
	share := shareKept(width, classes)
	for last := len(k.labels); last > 0; {
		first, _ := k.of(k.labels[last-1])
		if last-first > share {
			k.drop(first+share, last, width)
		}
		last = first
	}
}

// drop lets go of the samples from first to last, without last.
func (k *kept) drop(first, last, width int) {
	k.labels, k.marks = slices.Delete(k.labels, first, last), slices.Delete(k.marks, first, last)
	k.times = slices.Delete(k.times, first, last)
	k.rows = slices.Delete(k.rows, first*width, last*width)
}

// nearKept is the largest distance, as a share of its length, between a sample and what was kept of it: other kernels
// may have made its features.
const nearKept = 1e-3

// remove lets go of a sample with a label, if it is there, once.
func (k *kept) remove(y ocl.Label, x []float32) {
	width := len(x)
	first, last := k.of(y)
	nearest, least := -1, nearKept*nearKept*squareOf(x)
	for i := first; i < last; i++ {
		distance := 0.0
		for j, v := range k.rows[i*width:][:width] {
			d := float64(v) - float64(x[j])
			distance += float64(d * d)
		}
		if distance <= least {
			nearest, least = i, distance
		}
	}
	switch {
	case nearest < 0:
	case k.times[nearest] > 1:
		k.times[nearest]--
	default:
		k.drop(nearest, nearest+1, width)
	}
}

func squareOf(x []float32) (sum float64) {
	for _, v := range x {
		sum += float64(float64(v) * float64(v))
	}
	return sum
}

// part is what is kept, as a state has it. One of ocl before 0.2.0 has none.
func (k *kept) part(s *solved) checkpoint.Part {
	there := len(k.labels) > 0
	return checkpoint.Either(&there, "kept/classes", checkpoint.Parts{
		checkpoint.Int32List("kept/classes", &k.labels), checkpoint.List("kept/samples", &k.rows),
		checkpoint.List("kept/times", &k.times),
		checkpoint.Then(func() error {
			width := s.keptWidth()
			if len(k.rows) != len(k.labels)*width || len(k.times) != len(k.labels) ||
				slices.ContainsFunc(k.times, func(n int64) bool { return n < 1 }) ||
				!slices.IsSorted(k.labels) || len(k.labels) > mostKept(width) {
				return fmt.Errorf("learner: %s: the state keeps %d numbers of %d samples, so it belongs to another configuration. Use the one it was saved with",
					s.name, len(k.rows), len(k.labels))
			}
			k.marks = k.marks[:0]
			for i, y := range k.labels {
				x := k.rows[i*width:][:width]
				if _, known := slices.BinarySearch(s.labels, y); !known || squareOf(x)-squareOf(x) != 0 {
					return fmt.Errorf("learner: %s: the state keeps a sample of class %d, which it does not know, or one with a value that is no number. Use a file that ocl wrote",
						s.name, y)
				}
				m := mark(x)
				if i > 0 && k.labels[i-1] == y && k.marks[i-1] >= m {
					return fmt.Errorf("learner: %s: the state keeps samples in another order than its own. Use a file that ocl wrote",
						s.name)
				}
				k.marks = append(k.marks, m)
			}
			return nil
		}),
	}, checkpoint.Parts{checkpoint.Then(func() error { *k = kept{}; return nil })})
}

// Kept implements [Calibrated].
func (s *solved) Kept() checkpoint.Part { return s.kept.part(s) }

// keptWidth is the number of values that are kept of a sample.
func (s *solved) keptWidth() int {
	info := s.net.Info()
	shape := info.Input
	if info.Latent != [3]int{} {
		shape = info.Latent
	}
	return min(info.FeatureDim, shape[0]*shape[1]*shape[2])
}

// keep takes what is wanted of a batch with the features x [B,D], whose classes have their places.
func (s *solved) keep(b ocl.Batch, x *tensor.Tensor) {
	x = s.keptOf(b, x)
	classes := len(s.labels)
	s.kept.shrink(classes, x.RowLen())
	for i, y := range b.Y {
		s.kept.add(y, x.Row(i), 1, classes)
	}
	if len(s.kept.labels) >= calibrate.Least {
		s.fitted = nil
	}
}

// keptOf are the rows of a batch with the features x [B,D] as they are kept.
func (s *solved) keptOf(b ocl.Batch, x *tensor.Tensor) *tensor.Tensor {
	if x.RowLen() <= s.keptWidth() {
		return x
	}
	return &tensor.Tensor{Shape: []int{b.Len(), b.X.RowLen()}, Data: b.X.Data}
}
