package experiment

import (
	"fmt"
	"strings"

	"ocl/data"
)

// mostNamed is the largest number of classes that a note names.
const mostNamed = 5

// untested says which classes have no test images, "" if there are none. Their accuracy is not in any mean, which a
// person may not expect.
func untested(set *data.Set) string {
	tested := make([]bool, set.Classes)
	for _, k := range set.Test.Y {
		tested[k] = true
	}
	var names []string
	for k, ok := range tested {
		switch {
		case ok:
		case set.ClassNames != nil:
			names = append(names, fmt.Sprintf("%.40q", set.ClassName(k)))
		default:
			names = append(names, set.ClassName(k))
		}
	}
	n := len(names)
	switch {
	case n == 0:
		return ""
	case n == 1:
		return names[0] + " has no test images, so its accuracy is unknown"
	case n > mostNamed:
		names = append(names[:mostNamed-1], fmt.Sprintf("%s and %d more", names[mostNamed-1], n-mostNamed))
	}
	return fmt.Sprintf("%d classes have no test images, so their accuracy is unknown: %s", n, strings.Join(names, ", "))
}
