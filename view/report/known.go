package report

import (
	"slices"
	"strings"

	"ocl/view/chart"
)

// Known is a method that the caller knows. Known methods keep their place and their look from report to report.
type Known struct {
	Name  string // in results
	Bound Bound
	Look  int // number of its look, from 1; 0 is the one that follows from its name. Bounds have looks of their own
}

// Bound says whether a method is a candidate, or a lower or upper bound for the candidates.
type Bound int

const (
	NoBound    Bound = iota
	LowerBound       // it does nothing about what is measured; others are compared with it
	UpperBound       // it may do what no candidate may
)

// catalogue is the known methods of a report, and then those that it met in results, in that order.
type catalogue []Known

// newCatalogue is the known methods.
func newCatalogue(known []Known) catalogue { return slices.Clone(known) }

// add appends a method unless it is known. One that another program ran has the first look that no method has; one of
// ocl that this program does not have looks as in the program that has it.
func (c *catalogue) add(name string, foreign bool) {
	if c.place(name) >= 0 {
		return
	}
	k := Known{Name: name}
	if foreign {
		k.Look = c.free()
	}
	*c = append(*c, k)
}

// free is the first look that no method has.
func (c catalogue) free() int {
	n := 1
	for slices.ContainsFunc(c, func(k Known) bool { return k.Look == n }) {
		n++
	}
	return n
}

// place is the position of a method, -1 if it has none.
func (c catalogue) place(name string) int {
	plain := plainName(name)
	return slices.IndexFunc(c, func(k Known) bool { return plainName(k.Name) == plain })
}

// bound says whether a method is a bound.
func (c catalogue) bound(name string) Bound {
	if i := c.place(name); i >= 0 {
		return c[i].Bound
	}
	return NoBound
}

// look is how a method of the catalogue is drawn. More candidates than looks share them.
func (c catalogue) look(name string) chart.Look {
	k := c[c.place(name)]
	if k.Bound != NoBound {
		return boundLooks[k.Bound]
	}
	if k.Look == 0 {
		return lookOfName(k.Name)
	}
	return candidateLooks[(k.Look-1)%len(candidateLooks)]
}

// LookOf is how reports draw a known method.
func LookOf(k Known) chart.Look { return newCatalogue([]Known{k}).look(k.Name) }

// plainName is a method's name as the catalogue compares it and files have it: ewc++, EWC-pp and ewcpp are one.
func plainName(method string) string {
	s := strings.ReplaceAll(strings.ToLower(method), "++", "pp")
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}
