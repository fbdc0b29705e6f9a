// Package known gives reports the methods of this program. A report depends on files alone and knows no method by name,
// so whoever writes one hands them over. Start at [Methods].
package known

import (
	"ocl/method"
	"ocl/report"
)

// Methods are those of the catalogue, in its order.
func Methods() []report.Known {
	var known []report.Known
	for _, i := range method.Catalogue() {
		known = append(known, Method(i))
	}
	return known
}

// Method is one method as reports draw it.
func Method(i method.Info) report.Known {
	k := report.Known{Name: i.Name, Look: i.Look}
	switch {
	case i.Baseline:
		k.Bound = report.LowerBound
	case i.Offline:
		k.Bound = report.UpperBound
	}
	return k
}
