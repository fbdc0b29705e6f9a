package data

import "crypto/sha256"

// Images are the images of a split, which may be larger than memory. Any number of goroutines may use them.
type Images interface {
	Len() int
	// Image returns image i as uint8 [C,H,W], flattened: a view that nobody changes, or buf with the image in it. len(buf)
	// is C·H·W. An image that cannot be read is an error that names its file.
	Image(i int, buf []uint8) ([]uint8, error)
}

// Block is images in memory: uint8 [N,C,H,W].
type Block struct {
	Pixels []uint8
	Size   int // C·H·W
}

// Len is the number N of images.
func (b Block) Len() int { return len(b.Pixels) / b.Size }

// Image is a view of image i.
func (b Block) Image(i int, _ []uint8) ([]uint8, error) { return b.at(i), nil }

func (b Block) at(i int) []uint8 { return b.Pixels[i*b.Size : (i+1)*b.Size : (i+1)*b.Size] }

// newBlock has room for n images.
func newBlock(n, size int) Block { return Block{make([]uint8, n*size), size} }

// summed are images whose checksums are known without reading them.
type summed interface {
	Images
	Sum(i int) [sha256.Size]byte // SHA-256 of the pixels
}

// part selects images of another source, in a given order.
type part struct {
	of Images
	at []int32
}

func (p part) Len() int                                  { return len(p.at) }
func (p part) Image(i int, buf []uint8) ([]uint8, error) { return p.of.Image(int(p.at[i]), buf) }

// summedPart is a part of images that are summed.
type summedPart struct{ part }

func (p summedPart) Sum(i int) [sha256.Size]byte { return p.of.(summed).Sum(int(p.at[i])) }

// take returns the part of a split at the given places, in that order.
func (s Split) take(at []int32) Split {
	return Split{Images: taken(s.Images, at), Y: pick(s.Y, at), Domain: pick(s.Domain, at), Strength: pick(s.Strength, at),
		Task: pick(s.Task, at), Unreadable: s.Unreadable, Files: pick(s.Files, at)}
}

// taken is some of the images of a source.
func taken(from Images, at []int32) Images {
	switch whole := from.(type) {
	case Block:
		b := newBlock(len(at), whole.Size) // a copy, so that the others take no memory
		for i, k := range at {
			copy(b.at(i), whole.at(int(k)))
		}
		return b
	case summed:
		return summedPart{part{whole, at}}
	}
	return part{from, at} // of another module
}

func pick[T any](from []T, at []int32) []T {
	if from == nil {
		return nil
	}
	list := make([]T, len(at))
	for i, k := range at {
		list[i] = from[k]
	}
	return list
}
