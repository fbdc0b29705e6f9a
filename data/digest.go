package data

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
)

// digest is the SHA-256 of all of the decoded set that a stream can depend on: the four extents C, H, W, K, then for
// Train and Test the number of images, the labels and the pixels, all numbers as little-endian uint32. So a folder, an
// archive and an .npz file of the same images in the same order have one digest.
//
// Images of a cache are not read: in place of the pixels of a half stand the word "sums" and the SHA-256 of each image,
// which the cache knows. So one set has two digests, one in a cache and one in memory.
//
// A set with domains goes on with the word "domain", their number (a stream may have a task for each) and, for both
// halves, how many indices there are and the indices; one with strengths with "strength" and, for both halves, how many
// there are and their bits; one with tasks with "task", their number and, for both halves, how many indices there are
// and the indices. A set of embeddings goes on with "float16". A set without them ends before. Names of classes and
// domains are left out: no stream splits by them.
func digest(ctx context.Context, s *Set) (string, error) {
	h := sha256.New()
	word := func(v int) { h.Write(binary.LittleEndian.AppendUint32(nil, uint32(v))) }
	for _, v := range []int{s.C, s.H, s.W, s.Classes} {
		word(v)
	}
	halves := []Split{s.Train, s.Test}
	for _, p := range halves {
		word(p.Len())
		for _, y := range p.Y {
			word(int(y))
		}
		if err := writePixels(ctx, h, p.Images, s.ImageLen()); err != nil {
			return "", err
		}
	}
	column := func(name string, of func(Split) []int32, number ...int) {
		if of(s.Train) == nil && of(s.Test) == nil {
			return
		}
		h.Write([]byte(name))
		for _, n := range number {
			word(n)
		}
		for _, p := range halves {
			word(len(of(p)))
			for _, v := range of(p) {
				word(int(v))
			}
		}
	}
	column("domain", func(p Split) []int32 { return p.Domain }, len(s.Domains))
	column("strength", func(p Split) (list []int32) {
		for _, v := range p.Strength {
			list = append(list, int32(math.Float32bits(v)))
		}
		return list
	})
	column("task", func(p Split) []int32 { return p.Task }, s.Tasks)
	if s.Embeddings {
		h.Write([]byte("float16"))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// writePixels adds the images of a half, or the sums of those whose sums are known.
func writePixels(ctx context.Context, h io.Writer, images Images, size int) error {
	if known, ok := images.(summed); ok {
		_, _ = io.WriteString(h, "sums")
		for i := range known.Len() {
			sum := known.Sum(i)
			_, _ = h.Write(sum[:])
		}
		return nil
	}
	buf := make([]uint8, size)
	for i := range images.Len() {
		if err := ctx.Err(); err != nil {
			return err
		}
		pixels, err := images.Image(i, buf)
		if err != nil {
			return err
		}
		if len(pixels) != size { // of a set of another module
			return fmt.Errorf("image %d has %d bytes instead of %d. Let Images return C·H·W bytes for each image", i,
				len(pixels), size)
		}
		_, _ = h.Write(pixels)
	}
	return nil
}
