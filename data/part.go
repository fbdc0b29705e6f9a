package data

import (
	"fmt"
	"slices"

	"ocl/internal/count"
	"ocl/rng"
)

// reduce keeps as many images of each class as spec asks for. They are drawn by the source "data/part/train" or
// "data/part/test" of the data seed, and stay in the order of the data set.
func (s *Set) reduce(spec Spec) {
	for _, half := range []struct {
		name     string
		split    *Split
		perClass int
	}{{"train", &s.Train, spec.TrainPerClass}, {"test", &s.Test, spec.TestPerClass}} {
		if half.perClass == 0 {
			continue
		}
		before := half.split.Len()
		at := drawn(half.split.Y, s.Classes, half.perClass, rng.New(spec.Seed, "data/part/"+half.name))
		if len(at) == before {
			continue
		}
		*half.split = half.split.take(at)
		s.Notes = append(s.Notes, fmt.Sprintf("a part: %s of %s of the %s half, at most %d of each class",
			count.Number(len(at)), count.Of(before, "image"), half.name, half.perClass))
	}
}

// drawn are the places of at most n images of each class, in order.
func drawn(labels []int32, classes, n int, src *rng.Source) []int32 {
	var at []int32
	for _, of := range placesByClass(labels, classes) {
		src.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
		at = append(at, of[:min(n, len(of))]...)
	}
	slices.Sort(at)
	return at
}

// placesByClass lists the images of each class.
func placesByClass(labels []int32, classes int) [][]int32 {
	lists := make([][]int32, classes)
	for i, y := range labels {
		lists[y] = append(lists[y], int32(i))
	}
	return lists
}

// divide splits images into a training and a test half, share of each class for testing: at least one image of each
// class stays for training. The images are drawn by the source "data/split" of the data seed.
func divide(labels []int32, classes int, share float64, seed uint64) (train, test []int32) {
	src := rng.New(seed, "data/split")
	for _, of := range placesByClass(labels, classes) {
		src.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
		n := min(int(float64(share*float64(len(of)))+0.5), max(len(of)-1, 0))
		test, train = append(test, of[:n]...), append(train, of[n:]...)
	}
	slices.Sort(train)
	slices.Sort(test)
	return train, test
}

// grow makes three equal channels of one, if channels is 3. It comes after reduce, so that a part of images in memory
// is all that stays there.
func (s *Set) grow(channels int) {
	if channels != 3 || s.C == 3 {
		return
	}
	size := s.ImageLen()
	s.C, s.Tripled = 3, true
	s.Train.Images, s.Test.Images = tripled{s.Train.Images, size}, tripled{s.Test.Images, size}
}

// tripled are grey images as three equal channels.
type tripled struct {
	Images
	size int // of the grey image
}

// Image is image i, always in buf.
func (t tripled) Image(i int, buf []uint8) ([]uint8, error) {
	grey, err := t.Images.Image(i, buf[:t.size])
	if err != nil {
		return nil, err
	}
	for c := range 3 {
		copy(buf[c*t.size:(c+1)*t.size], grey)
	}
	return buf, nil
}
