package data

import (
	"fmt"

	"ocl/data/internal/typeface"
)

// glyphDomains says which domain an image of the glyphs is in. No image depends on it: the same images are sorted in
// another way.
type glyphDomains struct {
	names []string
	// of is the domain of an image by what was drawn for it: the typeface, the strength in [0, 255], and the tangent of
	// half the angle by which the character is turned clockwise, in 1/65536.
	of func(font, strength, turn int) int
}

// glyphTurns are the ends of the domains of rotation but the last one, as painter.character draws turns. The
// distribution of the turns is a triangle, so that domains of equal width would be of unequal size; these are its
// tenths.
var glyphTurns = [...]struct {
	turn    int // below it
	degrees string
}{
	{-7739, "-13.5°"}, {-5146, "-9°"}, {-3156, "-5.5°"}, {-1478, "-2.6°"}, {0, "0°"}, {1478, "2.6°"}, {3156, "5.5°"},
	{5146, "9°"}, {7739, "13.5°"},
}

// glyphDomainsOf are the domains by name: font (also ""), noise or rotation.
func glyphDomainsOf(name string) glyphDomains {
	var d glyphDomains
	switch name {
	case "", "font":
		d.of = func(font, _, _ int) int { return font }
		for _, f := range typeface.All {
			d.names = append(d.names, f.Name)
		}
	case "noise":
		const parts = 10
		d.of = func(_, strength, _ int) int { return strength * parts / 256 }
		for i := range parts {
			d.names = append(d.names, fmt.Sprintf("strength %.1f to %.1f", float64(i)/parts, float64(i+1)/parts))
		}
	case "rotation":
		d.of = func(_, _, turn int) int {
			for i, end := range glyphTurns {
				if turn < end.turn {
					return i
				}
			}
			return len(glyphTurns)
		}
		from := "-24°"
		for _, end := range glyphTurns {
			d.names = append(d.names, fmt.Sprintf("turned %s to %s", from, end.degrees))
			from = end.degrees
		}
		d.names = append(d.names, fmt.Sprintf("turned %s to 24°", from))
	default:
		panic("data: unknown domains of the glyphs: " + name)
	}
	return d
}
