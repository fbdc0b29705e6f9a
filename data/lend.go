package data

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"

	"ocl/checkpoint"
	"ocl/internal/count"
	"ocl/internal/limit"
)

// lentVersion is the format version of a lent set.
const lentVersion = 1

// lent is a set in a file, for a machine that does not have the files of the set. The images of the two halves have
// sections of their own.
type lent struct {
	Version int     `json:"version"`
	Set     Set     `json:"set"`
	Summed  [2]bool `json:"summed"` // the digest depends on the checksums of the images, as for those of a cache
	// the digest of what the file has; that of the set, or of embeddings one of what they were made of
	Content string `json:"content"`
}

// Names of the sections of a lent set.
const lentSection = "lent/set"

var lentHalves = [2]string{"lent/train", "lent/test"}

// halves are the two splits of a set.
func (s *Set) halves() [2]*Split { return [2]*Split{&s.Train, &s.Test} }

// lentImages are images in memory whose checksums came with them.
type lentImages struct {
	Block
	sums []byte // [N] times the SHA-256
}

// Sum implements summed.
func (l lentImages) Sum(i int) [sha256.Size]byte {
	return [sha256.Size]byte(l.sums[i*sha256.Size : (i+1)*sha256.Size])
}

// Lend writes the whole set, for [Borrow]. A set whose images have more than 4 GiB together is an error.
func Lend(ctx context.Context, w io.Writer, s *Set) error {
	if bytes := int64(s.Train.Len()+s.Test.Len()) * int64(s.ImageLen()); bytes > limit.LentData {
		return fmt.Errorf("data: %s has images of %s, too many to be lent; %s is the limit. Copy the data to the other machines",
			s.Name, count.Bytes(bytes), count.Bytes(limit.LentData))
	}
	l, file := lent{Version: lentVersion, Set: *s}, checkpoint.NewContainer()
	var parts checkpoint.Parts
	for k, half := range l.Set.halves() {
		images := half.Images
		pixels := newBlock(images.Len(), s.ImageLen())
		var sums []byte
		known, summed := images.(summed)
		for i := range images.Len() {
			if err := ctx.Err(); err != nil {
				return err
			}
			image, err := images.Image(i, pixels.at(i))
			if err != nil {
				return err
			}
			copy(pixels.at(i), image)
			if summed {
				sum := known.Sum(i)
				sums = append(sums, sum[:]...)
			}
		}
		if l.Summed[k] = summed; summed {
			half.Images = lentImages{pixels, sums}
		} else {
			half.Images = pixels
		}
		parts = append(parts, checkpoint.Bytes(lentHalves[k]+"/images", &pixels.Pixels),
			checkpoint.Bytes(lentHalves[k]+"/sums", &sums))
	}
	var err error
	if l.Content, err = digest(ctx, &l.Set); err != nil {
		return err
	}
	l.Set.Train.Images, l.Set.Test.Images = nil, nil
	parts = append(checkpoint.Parts{checkpoint.JSON(lentSection, &l)}, parts...)
	err = parts.SaveState(file.Encoder())
	if err == nil {
		_, err = file.WriteTo(w)
	}
	return err
}

// Borrow opens a set from a file of [Lend]. A file that is damaged or has another digest is an error.
func Borrow(ctx context.Context, path, digest string) (*Set, error) {
	file, err := checkpoint.Read(path)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	s, err := borrowed(ctx, file.Decoder())
	if err == nil && s.Digest != digest {
		err = fmt.Errorf("it has the digest %.80q instead of %s", s.Digest, digest)
	}
	if err != nil {
		return nil, fmt.Errorf("data: %s is no lent data set that can be used: %w. Remove it, and start again", path, err)
	}
	return s, nil
}

func borrowed(ctx context.Context, d *checkpoint.Decoder) (*Set, error) {
	var l lent
	if err := (checkpoint.Parts{checkpoint.JSON(lentSection, &l)}).LoadState(d); err != nil {
		return nil, err
	}
	s := &l.Set
	switch {
	case l.Version != lentVersion:
		return nil, fmt.Errorf("it has version %d, and this ocl reads %d", l.Version, lentVersion)
	case s.C < 1 || s.H < 1 || s.W < 1 || s.C > limit.KnownValues || s.H > limit.KnownValues || s.W > limit.KnownValues ||
		s.C*s.H > limit.KnownValues || s.C*s.H*s.W > limit.KnownValues:
		return nil, fmt.Errorf("it has images of %d×%d×%d, more than any data have", s.C, s.H, s.W)
	case s.Classes < 1 || s.Classes > limit.KnownClasses:
		return nil, fmt.Errorf("it has %d classes", s.Classes)
	}
	for k, half := range s.halves() {
		var pixels, sums []byte
		if err := (checkpoint.Parts{checkpoint.Bytes(lentHalves[k]+"/images", &pixels),
			checkpoint.Bytes(lentHalves[k]+"/sums", &sums)}).LoadState(d); err != nil {
			return nil, err
		}
		n := half.Len()
		if len(pixels) != n*s.ImageLen() || l.Summed[k] && len(sums) != n*sha256.Size || !l.Summed[k] && len(sums) > 0 ||
			half.Unreadable != nil && len(half.Unreadable) != s.Classes {
			return nil, errors.New("its images and its labels are not as many")
		}
		half.Images = Block{Pixels: slices.Clip(pixels), Size: s.ImageLen()}
		if l.Summed[k] {
			half.Images = lentImages{half.Images.(Block), sums}
		}
	}
	if err := s.fault(); err != nil {
		return nil, err
	}
	content, err := digest(ctx, s)
	if err == nil && (content != l.Content || content != s.Digest && !s.Embeddings) {
		err = errors.New("its images are not those of its digest")
	}
	return s, err
}
