package data

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"math"
)

// digest is the SHA-256 of all of the decoded set that a stream can depend on: the four extents C, H, W, K, then for
// Train and Test the number of images, the labels and the pixels, all numbers as little-endian uint32. So a folder, an
// archive and an .npz file of the same images in the same order have one digest.
//
// A set with domains goes on with the word "domain", their number (a stream may have a task for each) and, for both
// halves, how many indices there are and the indices; one with strengths with "strength" and, for both halves, how many
// there are and their bits. A set without them ends before. Names of classes and domains are left out: no stream splits
// by them.
func digest(s *Set) string {
	h := sha256.New()
	word := func(v int) { writeWord(h, uint32(v)) }
	for _, v := range []int{s.C, s.H, s.W, s.Classes} {
		word(v)
	}
	halves := []Split{s.Train, s.Test}
	for _, p := range halves {
		word(p.Len())
		for _, y := range p.Y {
			word(int(y))
		}
		h.Write(p.X)
	}
	if s.Train.Domain != nil || s.Test.Domain != nil {
		h.Write([]byte("domain"))
		word(len(s.Domains))
		for _, p := range halves {
			word(len(p.Domain))
			for _, d := range p.Domain {
				word(int(d))
			}
		}
	}
	if s.Train.Strength != nil || s.Test.Strength != nil {
		h.Write([]byte("strength"))
		for _, p := range halves {
			word(len(p.Strength))
			for _, v := range p.Strength {
				writeWord(h, math.Float32bits(v))
			}
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func writeWord(w io.Writer, v uint32) {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], v)
	_, _ = w.Write(b[:]) // a hash never fails
}
