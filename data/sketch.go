package data

import (
	"encoding/binary"
	"slices"
)

// sketchSize is the number of pictures that a sketch knows. A class of so many or fewer is known whole; of a larger
// one, a share is off by at most 18 points 19 times in 20.
const sketchSize = 32

// Sketch knows some pictures of a class again, whatever the class is called: it has the least of the numbers that the
// sums of its pictures begin with, rising, at most 32 of them (a bottom-k sketch; Cohen and Kaplan 2007).
type Sketch []uint32

// sketches are those of all classes, of which sums has the pictures of both halves, as [Set.Sums].
func (s *Set) sketches(sums []Sum) []Sketch {
	all := make([]Sketch, s.Classes)
	for i, sum := range sums {
		y := s.label(i)
		all[y] = append(all[y], binary.BigEndian.Uint32(sum[:]))
	}
	for y := range all {
		all[y] = all[y].Union(nil)
	}
	return all
}

// Union is the sketch of the pictures of both.
func (s Sketch) Union(with Sketch) Sketch {
	all := slices.Concat(s, with)
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.Clip(all[:min(sketchSize, len(all))])
}

// Without is the sketch of the pictures of s that another one does not have.
func (s Sketch) Without(of Sketch) Sketch {
	return slices.DeleteFunc(slices.Clone(s), func(v uint32) bool {
		_, is := slices.BinarySearch(of, v)
		return is
	})
}

// In says how many pictures of s could be known in another sketch, and how many of them are.
func (s Sketch) In(of Sketch) (known, looked int) {
	for _, v := range s {
		if len(of) == sketchSize && v > of[sketchSize-1] {
			break // it knows no more
		}
		looked++
		if _, is := slices.BinarySearch(of, v); is {
			known++
		}
	}
	return known, looked
}

// Valid says whether s is rising and no longer than a sketch is, as one from a file may not be.
func (s Sketch) Valid() bool {
	for i := 1; i < len(s); i++ {
		if s[i] <= s[i-1] {
			return false
		}
	}
	return len(s) <= sketchSize
}
