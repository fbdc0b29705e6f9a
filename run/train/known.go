package train

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"ocl/checkpoint"
	"ocl/data"
	"ocl/internal/limit"
	"ocl/internal/spelling"
	"ocl/run/build"
	"ocl/run/identity"
)

// Known describes the images and the classes of a checkpoint's learner, so that the learner can be used without its
// data.
type Known struct {
	Shape      [3]int   `json:"shape"`                // C, H, W
	Embeddings bool     `json:"embeddings,omitempty"` // as ocl.StreamInfo has it
	Of         [3]int   `json:"of,omitzero"`
	Classes    int      `json:"classes"`
	ClassNames []string `json:"class_names,omitempty"`

	// What the learner has learned to its end, also in the runs before that it continues.
	Tasks   int   `json:"tasks"`
	Steps   int   `json:"steps,omitempty"`
	Learned []int `json:"learned,omitempty"` // classes, rising

	// Gone are the classes, rising, that were removed or merged into others, which keep their numbers; and Changes is what
	// was done to classes, in that order.
	Gone    []int    `json:"gone,omitempty"`
	Changes []Change `json:"changes,omitempty"`

	// Pictures [Classes] know the pictures of each class again; nil where the data are none of a person's own.
	Pictures []data.Sketch `json:"pictures,omitempty"`
}

// What can be done to a class.
const (
	Rename = "rename" // Class is called Into
	Merge  = "merge"  // Class becomes the class Into
	Remove = "remove"
	Split  = "split" // Pictures of Class become the new class Into
)

// Change is something that was done to a class.
type Change struct {
	Operation string `json:"operation"`
	Class     string `json:"class"`
	Into      string `json:"into,omitempty"`
	Samples   int    `json:"samples,omitempty"` // of a split, that are of the class Into now
	// Pictures are the SHA-256 of their bytes as the learner sees them, in hexadecimal digits.
	Pictures []string `json:"pictures,omitempty"`
}

// DigestOf is the digest of a picture in [Change.Pictures].
func DigestOf(pixels []byte) string {
	sum := sha256.Sum256(pixels)
	return hex.EncodeToString(sum[:])
}

// Called is the name of a picture's class after some changes; "" is none, as the class was removed.
func Called(name, digest string, changes []Change) string {
	for _, c := range changes {
		if spelling.Key(c.Class) == spelling.Key(name) &&
			(c.Operation != Split || slices.Contains(c.Pictures, digest)) {
			name = c.Into
		}
	}
	return name
}

// WasSplit says whether some changes have split a class.
func WasSplit(name string, changes []Change) bool {
	for _, c := range changes {
		if spelling.Key(c.Class) != spelling.Key(name) {
			continue
		}
		if c.Operation == Split {
			return true
		}
		name = c.Into
	}
	return false
}

// knownSection is the name of its section in a checkpoint.
const knownSection = "stream"

// learn adds classes to those that were learned.
func (s *Known) learn(classes ...int) {
	s.Learned = append(s.Learned, classes...)
	slices.Sort(s.Learned)
	s.Learned = slices.Compact(s.Learned)
}

// readKnown reads it from a checkpoint.
func readKnown(d *checkpoint.Decoder) (s Known, err error) {
	if err := (checkpoint.Parts{checkpoint.JSON(knownSection, &s)}).LoadState(d); err != nil {
		return s, err
	}
	possible := s.Tasks >= 0 && s.Steps >= 0 && (len(s.ClassNames) == 0 || len(s.ClassNames) == s.Classes)
	for _, n := range append(s.Shape[:], s.Classes) {
		possible = possible && n >= 1 && n <= limit.KnownSide
	}
	if s.Of != [3]int{} {
		for _, n := range s.Of {
			possible = possible && s.Embeddings && n >= 1 && n <= limit.KnownSide
		}
	}
	for _, list := range [][]int{s.Learned, s.Gone} {
		for i, k := range list {
			possible = possible && k >= 0 && k < s.Classes && (i == 0 || k > list[i-1])
		}
	}
	possible = possible && (s.Pictures == nil || len(s.Pictures) == s.Classes) &&
		!slices.ContainsFunc(s.Pictures, func(k data.Sketch) bool { return !k.Valid() })
	if !possible {
		return s, fmt.Errorf("checkpoint: section %s says images of %v, %d classes, of which %d have names and %.80s were learned, %d tasks and %d steps. Use a file that ocl wrote",
			knownSection, s.Shape, s.Classes, len(s.ClassNames), fmt.Sprint(s.Learned), s.Tasks, s.Steps)
	}
	return s, nil
}

// Saved describes the run of a checkpoint.
type Saved struct {
	Identity identity.Identity
	At       Position
	Known    Known
}

// ReadSaved reads all of a checkpoint but the measurements and the learner, and checks it.
func ReadSaved(d *checkpoint.Decoder) (s Saved, err error) {
	if s.Identity, err = ReadIdentity(d); err != nil {
		return s, err
	}
	if err := s.At.parts().LoadState(d); err != nil {
		return s, err
	}
	if err := build.Schema().Validate(s.Identity.Config); err != nil {
		return s, err
	}
	s.Known, err = readKnown(d)
	return s, err
}
