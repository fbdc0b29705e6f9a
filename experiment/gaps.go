package experiment

import (
	"fmt"
	"slices"
	"strings"

	"ocl/data"
)

// mostNamed is the largest number of classes that a note names.
const mostNamed = 5

// gaps says which classes lack test images, whose accuracy is in no mean, and which lack training images, whose test
// images are always wrong. A person may expect neither.
func gaps(set *data.Set) (notes []string) {
	trained, tested := occurring(set.Train.Y, set.Classes), occurring(set.Test.Y, set.Classes)
	var untested, untrained, absent []string
	for k := range set.Classes {
		name := set.ClassName(k)
		if set.ClassNames != nil {
			name = fmt.Sprintf("%.40q", name)
		}
		switch {
		case !trained[k] && !tested[k]:
			absent = append(absent, name)
		case !tested[k]:
			untested = append(untested, name)
		case !trained[k]:
			untrained = append(untrained, name)
		}
	}
	for _, g := range []struct {
		names     []string
		one, many string
	}{
		{absent, "has no images", "have no images"},
		{untested, "has no test images, so its accuracy is unknown", "have no test images, so their accuracy is unknown"},
		{untrained, "has no training images, so its test images are always wrong", "have no training images, so their test images are always wrong"},
	} {
		if n := len(g.names); n == 1 {
			notes = append(notes, g.names[0]+" "+g.one)
		} else if n > 1 {
			notes = append(notes, fmt.Sprintf("%d classes %s: %s", n, g.many, some(g.names)))
		}
	}
	return notes
}

// occurring says of each class whether it has a label.
func occurring(labels []int32, classes int) []bool {
	found := make([]bool, classes)
	for _, k := range labels {
		found[k] = true
	}
	return found
}

// some are the first names of a list, and how many more there are.
func some(names []string) string {
	if n := len(names); n > mostNamed {
		names = append(slices.Clone(names[:mostNamed-1]), fmt.Sprintf("%s and %d more", names[mostNamed-1], n-mostNamed))
	}
	return strings.Join(names, ", ")
}
