package data

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"

	"ocl/internal/count"
)

// repeats finds images that are there several times, by sums of their pixels, and says what matters of them: that test
// images are training images too, and that one image has several labels. The images that are read come in two lists,
// those for training first.
type repeats struct {
	noun  string           // of samples
	name  func(int) string // of an image
	first map[uint64]one   // of each sum
	leaks [3]int           // how many, and the first pair
	mixed [3]int
}

// one is an image that was seen.
type one struct {
	at    int
	label int32
	test  bool
	mixed bool // another one with the same sum has another label
}

func newRepeats(noun string, name func(int) string) *repeats {
	return &repeats{noun: noun, name: name, first: map[uint64]one{}}
}

// add looks at image at.
func (r *repeats) add(sum uint64, at int, label int32, test bool) {
	before, there := r.first[sum]
	if !there {
		r.first[sum] = one{at: at, label: label, test: test}
		return
	}
	found := func(what *[3]int) {
		if what[0]++; what[0] == 1 {
			what[1], what[2] = at, before.at
		}
	}
	if test && !before.test {
		found(&r.leaks)
	}
	if label != before.label && !before.mixed {
		found(&r.mixed)
		before.mixed = true
		r.first[sum] = before
	}
}

// notes are a sentence for each kind.
func (r *repeats) notes() (list []string) {
	if n := r.leaks[0]; n > 0 {
		verb := "are also training " + r.noun + "s"
		if n == 1 {
			verb = "is also a training " + r.noun
		}
		list = append(list, fmt.Sprintf("%s %s, such as %s, which is %s. The accuracy counts what was learned by heart",
			count.Of(n, "test "+r.noun), verb, r.name(r.leaks[1]), r.name(r.leaks[2])))
	}
	if n := r.mixed[0]; n > 0 {
		verb := map[bool]string{true: "has", false: "have"}[n == 1]
		list = append(list, fmt.Sprintf("%s %s two labels, such as %s and %s", count.Of(n, r.noun), verb, r.name(r.mixed[2]),
			r.name(r.mixed[1])))
	}
	return list
}

// repeats are the notes on images of a listing that are there several times. Nothing is read, as their sums are known.
func (l *listing) repeats(images Images, without map[int]bool) []string {
	known, ok := images.(summed)
	if !ok || !l.own {
		return nil
	}
	r := newRepeats("image", l.pictures.fileName)
	for _, test := range []bool{false, true} {
		for i, e := range l.entries {
			if e.test == test && !without[i] {
				sum := known.Sum(i)
				r.add(binary.LittleEndian.Uint64(sum[:]), i, e.label, test)
			}
		}
	}
	return r.notes()
}

// repeats are the notes on samples in memory that are there several times, in the arrays called train and test.
func (s *Set) repeats(train, test string) []string {
	n := s.Train.Len()
	r := newRepeats(map[bool]string{true: "embedding", false: "image"}[s.Embeddings], func(i int) string {
		if i < n {
			return fmt.Sprintf("record %d of %s", i, train)
		}
		return fmt.Sprintf("record %d of %s", i-n, test)
	})
	seed := maphash.MakeSeed()
	for half, split := range []Split{s.Train, s.Test} {
		block := split.Images.(Block)
		for i, y := range split.Y {
			r.add(maphash.Bytes(seed, block.at(i)), half*n+i, y, half == 1)
		}
	}
	return r.notes()
}
