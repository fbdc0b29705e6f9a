// Package pages gives tests slices that end or begin at a protected page. A read or write beyond the slice is then a
// fault, instead of silently using other memory. Vector code checks no bounds, and with these slices its tests find
// out-of-bounds accesses.
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
