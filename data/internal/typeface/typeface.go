// Package typeface has the typefaces that the program carries. Package data draws with them, and package gofonts brings
// them.
package typeface

// Typeface is a name and the bytes of a TrueType file.
type Typeface struct {
	Name string
	TTF  []byte
}

// All are the typefaces, in their order; none where the program does not carry them. An init function sets it, and
// nothing later.
var All []Typeface
