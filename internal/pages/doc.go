// Package pages gives tests slices that end or begin at a protected page, where a read or a write beyond is a fault and
// not a silent use of a neighbour's memory. Vector code knows no bounds; this is how its tests see that it keeps them.
package pages

// Edge is the end of a slice that lies at a protected page.
type Edge int

const (
	End   Edge = iota // the page behind the slice is protected
	Start             // the page before it
)

// Edges lists both.
var Edges = []Edge{End, Start}

func (e Edge) String() string { return [...]string{"end", "start"}[e] }
