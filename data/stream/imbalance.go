package stream

import (
	"fmt"
	"math"
	"slices"

	"ocl/data"
	"ocl/internal/count"
	"ocl/internal/portable"
	"ocl/rng"
)

// pool lists the training images that the stream has, in the order of the data set. With LongTail the classes, in an
// order drawn by the source "stream/long-tail", have n, …, n·ρ images: the k-th of K has n·ρ^(k/(K-1)), n being the
// images of the largest class, as in long-tailed benchmarks. Which images of a class stay comes from the same source.
func (o Options) pool(set *data.Set) []int32 {
	list := all(set.Train)
	if o.LongTail == 0 && len(o.ClassCounts) == 0 {
		return list
	}
	lists := byClass(set.Classes, set.Train.Y, list)
	src := rng.New(o.Seed, "stream/long-tail")
	counts := o.ClassCounts
	if len(counts) == 0 {
		most := len(slices.MaxFunc(lists, func(a, b []int32) int { return len(a) - len(b) }))
		counts = make([]int, set.Classes)
		for k, class := range src.Perm(set.Classes) {
			rank := float64(k) / float64(max(set.Classes-1, 1))
			counts[class] = max(1, int(math.Round(float64(most)*portable.Pow(o.LongTail, rank))))
		}
	}
	var kept []int32
	for class, of := range lists {
		src.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
		kept = append(kept, of[:min(counts[class], len(of))]...)
	}
	slices.Sort(kept)
	return kept
}

// checkPool checks ClassCounts against the data.
func (o Options) checkPool(set *data.Set) error {
	if n := len(o.ClassCounts); n > 0 && n != set.Classes {
		return fmt.Errorf("stream.class_counts: the list has %s for %s. Give one for each class", count.Of(n, "number"),
			count.Of(set.Classes, "class"))
	}
	if len(o.ClassCounts) == 0 {
		return nil
	}
	for class, of := range byClass(set.Classes, set.Train.Y, all(set.Train)) {
		// the entry of a class without images does not matter
		if n := o.ClassCounts[class]; len(of) > 0 && (n < 1 || n > len(of)) {
			return fmt.Errorf("stream.class_counts: class %d has %s, but %d are asked for. Use %s", class,
				count.Of(len(of), "image"), n, count.Range(1, len(of)))
		}
	}
	return nil
}

// blur moves a share of the training images of each task to its neighbours (blurry boundaries): half of them to the
// task before and half to the task after, all to the only neighbour of the first and the last task. The images are
// drawn by the source "stream/blurry/i" of the seed. The classes of a task are then all that occur in it, its own ones
// first.
func (o Options) blur(shares []taskImages, set *data.Set) {
	if o.Blurry == 0 || len(shares) < 2 {
		return
	}
	moved := make([][]int32, len(shares))
	for t := range shares {
		s := &shares[t]
		rng.New(o.Seed, fmt.Sprintf("stream/blurry/%d", t)).Shuffle(len(s.train),
			func(i, j int) { s.train[i], s.train[j] = s.train[j], s.train[i] })
		n := int(math.Round(o.Blurry * float64(len(s.train))))
		for i, image := range s.train[:n] {
			to := t + 1
			if to == len(shares) || t > 0 && i%2 == 0 {
				to = t - 1
			}
			moved[to] = append(moved[to], image)
		}
		s.train = s.train[n:]
	}
	for t := range shares {
		s := &shares[t]
		for _, image := range moved[t] {
			if class := int(set.Train.Y[image]); !slices.Contains(s.classes, class) {
				s.classes = append(slices.Clip(s.classes), class)
			}
		}
		s.train = append(s.train, moved[t]...)
		if o.Kind != shifted.Name {
			slices.Sort(s.train)
		}
	}
}
