package experiment

import (
	"fmt"
	"strings"

	"ocl/data"
	"ocl/internal/count"
)

// missingImages returns notes about classes without test images, which no mean of accuracies covers, and without
// training images, whose test images are always predicted wrongly. The notes distinguish classes without files from
// classes whose files cannot be read.
func missingImages(set *data.Set) (notes []string) {
	trained, tested := occurring(set.Train.Y, set.Classes), occurring(set.Test.Y, set.Classes)
	unread := func(half data.Split, k int) bool { return half.Unreadable != nil && half.Unreadable[k] > 0 }
	type lack struct {
		what   string
		unread bool // the files are there
	}
	lacking := map[lack][]string{} // names of classes
	for k := range set.Classes {
		untrained, untested := unread(set.Train, k), unread(set.Test, k)
		var of lack
		switch {
		case !trained[k] && !tested[k]:
			of = lack{"image", untrained || untested}
		case !tested[k]:
			of = lack{"test image", untested}
		case !trained[k]:
			of = lack{"training image", untrained}
		default:
			continue
		}
		lacking[of] = append(lacking[of], named(set, k))
	}
	for _, g := range []struct{ what, so string }{
		{"image", ""}, {"test image", ", so %s accuracy is unknown"},
		{"training image", ", so %s test images are always wrong"},
	} {
		for _, unread := range []bool{false, true} {
			names, what := lacking[lack{g.what, unread}], g.what+"s"
			if unread {
				what = "readable " + g.what
			}
			so := func(whose string) string { return strings.Replace(g.so, "%s", whose, 1) }
			switch n := len(names); {
			case n == 1:
				notes = append(notes, fmt.Sprintf("%s has no %s%s", names[0], what, so("its")))
			case n > 1:
				notes = append(notes, fmt.Sprintf("%d classes have no %s%s: %s", n, what, so("their"), count.Some(names)))
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

// occurring says of each class whether it has a label.
func occurring(labels []int32, classes int) []bool {
	found := make([]bool, classes)
	for _, k := range labels {
		found[k] = true
	}
	return found
}
