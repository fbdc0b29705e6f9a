package data

import (
	"slices"
	"testing"
)

// TestGlyphDomains: the domains change no image and no label, are about equally large, and follow from what was drawn.
func TestGlyphDomains(t *testing.T) {
	open := func(domains string) *Set {
		return openSmall(t, Spec{Name: "glyphs", Size: 8, TrainPerClass: 40, TestPerClass: 5, Domains: domains})
	}
	font := open("")
	if named := open("font"); named.Digest != font.Digest {
		t.Error("font is not the default")
	}
	for _, name := range []string{"noise", "rotation"} {
		set := open(name)
		if set.Digest == font.Digest {
			t.Errorf("%s: the domains are no part of the digest", name)
		}
		if !slices.Equal(pixelsOf(set.Train), pixelsOf(font.Train)) ||
			!slices.Equal(pixelsOf(set.Test), pixelsOf(font.Test)) ||
			!slices.Equal(set.Train.Y, font.Train.Y) || !slices.Equal(set.Train.Strength, font.Train.Strength) {
			t.Errorf("%s: the images are others", name)
		}
		if len(set.Domains) != 10 || len(slices.Compact(slices.Sorted(slices.Values(set.Domains)))) != 10 {
			t.Errorf("%s: domains %q", name, set.Domains)
		}
		n := make([]int, 10)
		for _, d := range set.Train.Domain {
			n[d]++
		}
		if slices.Min(n) < 340 || slices.Max(n) > 460 { // of 4,000; a standard deviation is 19
			t.Errorf("%s: %v images in the domains", name, n)
		}
		if name == "noise" {
			for i, d := range set.Train.Domain {
				if s := set.Train.Strength[i]; s < float32(d)/10-0.01 || s > float32(d+1)/10+0.01 {
					t.Fatalf("an image of strength %v is in the domain %q", s, set.Domains[d])
				}
			}
		}
	}
}

// TestTurnsAreClockwise: a stroke that is turned by a positive angle leans to the right, and the ends of the domains
// are those that their names say.
func TestTurnsAreClockwise(t *testing.T) {
	outlines, err := glyphOutlines()
	if err != nil {
		t.Fatal(err)
	}
	class := slices.Index([]rune(glyphClasses), '1') // an upright stroke with little else
	p := newPainter(32)
	lean := map[bool]float64{}
	for i := range uint64(300) {
		for c := range p.plane {
			clear(p.plane[c])
		}
		turn := p.character(&outlines[0][class], colour{255 << 6, 255 << 6, 255 << 6}, newDice("test", i))
		if turn > -5146 && turn < 5146 {
			continue
		}
		n, sx, sy, sxy := 0.0, 0.0, 0.0, 0.0
		for at, v := range p.plane[0] {
			w, x, y := float64(v), float64(at%32), float64(at/32)
			n, sx, sy, sxy = n+w, sx+w*x, sy+w*y, sxy+w*x*y
		}
		lean[turn > 0] += sxy/n - sx/n*sy/n
	}
	if !(lean[true] < 0 && lean[false] > lean[true]) {
		t.Errorf("x and y of pixels go together by %v where the turn is positive, by %v where it is negative", lean[true],
			lean[false])
	}
	d := glyphDomainsOf("rotation")
	for _, c := range []struct{ turn, want int }{{-glyphTurn, 0}, {-7740, 0}, {-7739, 1}, {-1, 4}, {0, 5}, {7738, 8},
		{7739, 9}, {glyphTurn, 9}} {
		if got := d.of(0, 0, c.turn); got != c.want {
			t.Errorf("a turn of %d is in domain %d, want %d", c.turn, got, c.want)
		}
	}
}
