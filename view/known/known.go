// Package known gives reports the methods and tricks of this program. A report depends on files alone and knows none of
// them by name, so whoever writes one hands them over. Start at [Methods].
package known

import (
	"slices"

	"ocl/learn/method"
	"ocl/view/report"
)

// looks are methods in the order of their colours and dashes, which they have in reports for ever. The bounds have
// looks of their own. Methods that came after the survey, and those of other modules, have one that follows from their
// names, but for clib, which would look like er-ace.
var looks = []string{"agem", "er", "ewc++", "gdumb", "gss", "icarl", "lwf", "mir", "cndpm", "ncm", "slda", "ranpac",
	"clib"}

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
	k := report.Known{Name: i.Name, Look: 1 + slices.Index(looks, i.Name)}
	switch {
	case i.Baseline:
		k.Bound = report.LowerBound
	case i.Offline:
		k.Bound = report.UpperBound
	}
	return k
}

// Tricks are the names of all tricks in the order of their marks in reports: the first ones as they were when tricks
// got marks, then what came later.
func Tricks() []string {
	names := []string{"rv", "ncm", "lb", "ss", "kdc", "kdc*", "mi"}
	for _, t := range method.Tricks() {
		if !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
	}
	return names
}
