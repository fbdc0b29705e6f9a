package data

import (
	"context"
	"crypto/sha256"
	"fmt"

	"ocl/internal/count"
)

// Sum is the SHA-256 of the pixels of an image, or of an embedding. Copies have the same one.
type Sum = [sha256.Size]byte

// Sums are those of all images, which are counted through both halves, those for training first. Images whose sums a
// cache knows are not read.
func (s *Set) Sums(ctx context.Context) ([]Sum, error) {
	sums := make([]Sum, 0, s.Train.Len()+s.Test.Len())
	buf := make([]uint8, s.ImageLen())
	for _, half := range s.halves() {
		known, summed := half.Images.(summed)
		for i := range half.Len() {
			if summed {
				sums = append(sums, known.Sum(i))
				continue
			}
			pixels, err := half.Images.Image(i, buf)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return nil, err
			}
			sums = append(sums, sha256.Sum256(pixels))
		}
	}
	return sums, nil
}

// label is that of image i of both halves.
func (s *Set) label(i int) int32 {
	if n := s.Train.Len(); i >= n {
		return s.Test.Y[i-n]
	}
	return s.Train.Y[i]
}

// Copies are the places of images that are there several times, by their sums: a rising list for each such image, in
// the order of the first places.
func Copies(sums []Sum) (groups [][]int) {
	places := map[Sum][]int{}
	for i, sum := range sums {
		places[sum] = append(places[sum], i)
	}
	for i, sum := range sums {
		if group := places[sum]; len(group) > 1 && group[0] == i {
			groups = append(groups, group)
		}
	}
	return groups
}

// repeats are sentences on copies that matter: test images that are training images too, and images with several
// labels. sums are those of the training images, and of the test images where these are others. name is that of an
// image.
func (s *Set) repeats(sums []Sum, name func(at int, test bool) string) (list []string) {
	n := s.Train.Len()
	named := func(i int) string {
		if i < n {
			return name(i, false)
		}
		return name(i-n, true)
	}
	var leaks, mixed [][2]int // a copy, and the first place of its image
	for _, group := range Copies(sums) {
		first, before := group[0], len(mixed)
		for _, i := range group[1:] {
			if first < n && i >= n {
				leaks = append(leaks, [2]int{i, first})
			}
			if s.label(i) != s.label(first) && len(mixed) == before {
				mixed = append(mixed, [2]int{i, first})
			}
		}
	}
	noun := map[bool]string{true: "embedding", false: "image"}[s.Embeddings]
	if len(leaks) > 0 {
		verb := "are also training " + noun + "s"
		if len(leaks) == 1 {
			verb = "is also a training " + noun
		}
		list = append(list, fmt.Sprintf("%s %s, such as %s, which is %s. The accuracy counts what was learned by heart",
			count.Of(len(leaks), "test "+noun), verb, named(leaks[0][0]), named(leaks[0][1])))
	}
	if len(mixed) > 0 {
		verb := map[bool]string{true: "has", false: "have"}[len(mixed) == 1]
		list = append(list, fmt.Sprintf("%s %s two labels, such as %s and %s", count.Of(len(mixed), noun), verb,
			named(mixed[0][1]), named(mixed[0][0])))
	}
	return list
}
