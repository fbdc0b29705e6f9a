// Package gofonts brings the ten typefaces, 1.6 MB, of which the built-in data set glyphs is drawn. Package experiment
// imports it. A program that opens glyphs with package data alone imports it too, for its effect:
//
//	import _ "ocl/data/gofonts"
package gofonts

import (
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gobolditalic"
	"golang.org/x/image/font/gofont/goitalic"
	"golang.org/x/image/font/gofont/gomedium"
	"golang.org/x/image/font/gofont/gomediumitalic"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/gomonobold"
	"golang.org/x/image/font/gofont/gomonobolditalic"
	"golang.org/x/image/font/gofont/gomonoitalic"
	"golang.org/x/image/font/gofont/goregular"

	"ocl/data/internal/typeface"
)

// The typefaces are the domains of glyphs where nobody asks for others, so their order matters. The small capitals are
// left out: their a is an A.
func init() {
	typeface.All = []typeface.Typeface{
		{Name: "regular", TTF: goregular.TTF}, {Name: "italic", TTF: goitalic.TTF},
		{Name: "medium", TTF: gomedium.TTF}, {Name: "medium italic", TTF: gomediumitalic.TTF},
		{Name: "bold", TTF: gobold.TTF}, {Name: "bold italic", TTF: gobolditalic.TTF},
		{Name: "mono", TTF: gomono.TTF}, {Name: "mono italic", TTF: gomonoitalic.TTF},
		{Name: "mono bold", TTF: gomonobold.TTF}, {Name: "mono bold italic", TTF: gomonobolditalic.TTF},
	}
}
