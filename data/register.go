package data

import (
	"cmp"
	"fmt"
	"slices"

	"ocl/internal/origin"
)

// Register adds a data set to the catalogue, for the whole program. Call it from an init function or at the start of
// main, before anything reads the catalogue. Results of runs record the module that calls Register, with its version.
//
// An entry without a name or without Open, with a name that is taken or has other characters than letters, digits and
// single hyphens, is a bug and panics.
func Register(info Info) { catalogue.Register("data", info) }

// fault is what is wrong with an entry.
func (i *Info) fault() error {
	if err := origin.CheckName(i.Name); err != nil {
		return err
	}
	if i.Open == nil && i.list == nil {
		return fmt.Errorf("%s: there is no Open. Set it to the function that reads the images", i.Name)
	}
	i.Title = cmp.Or(i.Title, i.Name)
	return nil
}

// Origin is the module that registered the data set, and its version; both are "" for those of this module.
func (i Info) Origin() (module, version string) { return i.origin.Module, i.origin.Version }

// fault is what is wrong with a set that a registered Open has made.
func (s *Set) fault() error {
	if s == nil {
		return fmt.Errorf("its Open returned no set and no error. Return one of them")
	}
	if s.Embeddings && (s.C < 1 || s.H != 1 || s.W != 1) {
		return fmt.Errorf("its Open returned embeddings of %d×%d×%d. Set C to the numbers of an embedding, and H and W to 1",
			s.C, s.H, s.W)
	}
	if !s.Embeddings && s.C != 1 && s.C != 3 || s.H < 1 || s.W < 1 || s.Classes < 1 || len(s.ClassNames) > 0 &&
		len(s.ClassNames) != s.Classes {
		return fmt.Errorf("its Open returned images of %d×%d×%d, %d classes and %d names of classes. Return 1 or 3 channels, at least one pixel and class, and a name for each class or none",
			s.C, s.H, s.W, s.Classes, len(s.ClassNames))
	}
	if s.Sketches != nil && (len(s.Sketches) != s.Classes ||
		slices.ContainsFunc(s.Sketches, func(k Sketch) bool { return !k.Valid() })) {
		return fmt.Errorf("its Open returned sketches that are none of %d classes. Return none", s.Classes)
	}
	seen := make([]bool, s.Classes)
	for _, half := range []struct {
		name string
		of   *Split
	}{{"Train", &s.Train}, {"Test", &s.Test}} {
		n := len(half.of.Y)
		if b, is := half.of.Images.(Block); is && b.Size != s.ImageLen() {
			return fmt.Errorf("its Open returned a block in %s whose Size is %d, but an image has %d bytes. Set Size to Set.ImageLen",
				half.name, b.Size, s.ImageLen())
		}
		if half.of.Images == nil || half.of.Images.Len() != n {
			return fmt.Errorf("its Open returned %d labels in %s and another number of images. Return a label for each image", n,
				half.name)
		}
		if s := half.of.Strength; s != nil && len(s) != n {
			return fmt.Errorf("its Open returned %d images in %s, but %d strengths. Return one for each image or none", n,
				half.name, len(s))
		}
		for _, list := range []struct {
			what string
			of   []int32
			most int
		}{{"domain", half.of.Domain, len(s.Domains)}, {"task", half.of.Task, s.Tasks}} {
			if list.of != nil && len(list.of) != n {
				return fmt.Errorf("its Open returned %d images in %s, but %d of their %ss. Return one for each image or none", n,
					half.name, len(list.of), list.what)
			}
			for i, v := range list.of {
				if v < 0 || int(v) >= list.most {
					return fmt.Errorf("its Open returned the %s %d for image %d of %s, but the set says that there are %d. Count from 0, and set Domains and Tasks",
						list.what, v, i, half.name, list.most)
				}
			}
		}
		for i, y := range half.of.Y {
			if y < 0 || int(y) >= s.Classes {
				return fmt.Errorf("its Open returned the label %d for image %d of %s, but there are %d classes. Return labels from 0 to %d",
					y, i, half.name, s.Classes, s.Classes-1)
			}
			seen[y] = seen[y] || half.name == "Train"
		}
	}
	if k := slices.Index(seen, false); k >= 0 {
		return fmt.Errorf("its Open returned no training image of class %d. Leave the class out", k)
	}
	return nil
}
