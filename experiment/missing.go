package experiment

import (
	"fmt"

	"ocl/data"
	"ocl/internal/count"
)

// missingImages returns notes about classes without test images, which no mean of accuracies covers, and without training images,
// whose test images are always predicted wrongly. The notes distinguish classes without files from classes whose files cannot
// be read.
func missingImages(set *data.Set) (notes []string) {
	trained, tested := occurring(set.Train.Y, set.Classes), occurring(set.Test.Y, set.Classes)
	untrained, untested := unreadable(set.Train, set.Classes), unreadable(set.Test, set.Classes)
	for _, g := range []struct {
		lacks      func(k int) bool
		what       string
		unread     func(k int) bool // the files are there
		one, those string           // what follows for one class and for more
	}{
		{func(k int) bool { return !trained[k] && !tested[k] }, "image", func(k int) bool { return untrained[k] || untested[k] }, "", ""},
		{func(k int) bool { return trained[k] && !tested[k] }, "test image", func(k int) bool { return untested[k] },
			", so its accuracy is unknown", ", so their accuracy is unknown"},
		{func(k int) bool { return !trained[k] && tested[k] }, "training image", func(k int) bool { return untrained[k] },
			", so its test images are always wrong", ", so their test images are always wrong"},
	} {
		for _, unread := range []bool{false, true} {
			var names []string
			for k := range set.Classes {
				if g.lacks(k) && g.unread(k) == unread {
					names = append(names, named(set, k))
				}
			}
			what := g.what + "s"
			if unread {
				what = "readable " + g.what
			}
			switch n := len(names); {
			case n == 1:
				notes = append(notes, fmt.Sprintf("%s has no %s%s", names[0], what, g.one))
			case n > 1:
				notes = append(notes, fmt.Sprintf("%d classes have no %s%s: %s", n, what, g.those, count.Some(names)))
			}
		}
	}
	return notes
}

// named is class k in a note.
func named(set *data.Set, k int) string {
	if set.ClassNames == nil {
		return set.ClassName(k)
	}
	return fmt.Sprintf("%.40q", set.ClassName(k))
}

// unreadable says of each class whether images of a half are left out because they cannot be read.
func unreadable(half data.Split, classes int) []bool {
	found := make([]bool, classes)
	for k, n := range half.Unreadable {
		found[k] = n > 0
	}
	return found
}

// occurring says of each class whether it has a label.
func occurring(labels []int32, classes int) []bool {
	found := make([]bool, classes)
	for _, k := range labels {
		found[k] = true
	}
	return found
}
