package data

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	_ "ocl/data/gofonts"
)

// TestGlyphsAreTheSameEverywhere pins images of both splits and three sizes. If it fails on one machine only, the
// drawing depends on the machine; if it fails everywhere, the data set has changed, and with it every number measured
// on it: that is a [NUMBERS] entry of the changelog, and every run that is under way cannot go on.
func TestGlyphsAreTheSameEverywhere(t *testing.T) {
	for _, c := range []struct {
		size int
		want string
	}{
		{32, "b426fc78314e1426ea56a66233d39416a3abc08bbe732d71ce129f1e867e3078"},
		{9, "3447023267b283c8e6f94ca1d8f2e63db403059f3f9c1168b0b828ba6b80f4d0"},
		{84, "ecdb2af68c8aaa0a8eb2a3ab887531746b97808ce9c1b44315f9bc154cbb2fc8"},
	} {
		if set := openSmall(t, Spec{Name: "glyphs", Size: c.size, TrainPerClass: 2,
			TestPerClass: 1}); set.Digest != "sha256:"+c.want {
			t.Errorf("%d pixels: %s, want %s", c.size, set.Digest, c.want)
		}
	}
}

func openSmall(t *testing.T, spec Spec) *Set {
	t.Helper()
	set, err := Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestGlyphsShape(t *testing.T) {
	set := openSmall(t, Spec{Name: "glyphs", TrainPerClass: 3, TestPerClass: 2})
	if set.C != 3 || set.H != 32 || set.W != 32 || set.Classes != 100 || len(set.ClassNames) != 100 ||
		len(set.Domains) != 10 {
		t.Errorf("%d×%d×%d, %d classes, %d names, %d domains", set.C, set.H, set.W, set.Classes, len(set.ClassNames),
			len(set.Domains))
	}
	if n := utf8.RuneCountInString(glyphClasses); n != 100 {
		t.Errorf("%d characters, want 100", n)
	}
	names := slices.Clone(set.ClassNames)
	slices.Sort(names)
	if n := len(slices.Compact(names)); n != 100 {
		t.Errorf("%d different characters, want 100", n)
	}
	for _, s := range []Split{set.Train, set.Test} {
		checkSplit(t, set, s)
		count := make([]int, 100)
		for i, y := range s.Y {
			count[y]++
			if s.Domain[i] < 0 || s.Domain[i] > 9 || !(s.Strength[i] >= 0 && s.Strength[i] <= 1) {
				t.Errorf("image %d: font %d, strength %v", i, s.Domain[i], s.Strength[i])
			}
		}
		if slices.Min(count) != slices.Max(count) {
			t.Errorf("between %d and %d images per class, want equally many", slices.Min(count), slices.Max(count))
		}
	}
	if slices.Equal(imageOf(set.Train, 0), imageOf(set.Test, 0)) {
		t.Error("the first training and test images are the same")
	}
}

// TestMoreGlyphsKeepTheFirst asks for more images, and for the same scenes at another size.
func TestMoreGlyphsKeepTheFirst(t *testing.T) {
	few := openSmall(t, Spec{Name: "glyphs", TrainPerClass: 1, TestPerClass: 1})
	many := openSmall(t, Spec{Name: "glyphs", TrainPerClass: 3, TestPerClass: 1})
	if !slices.Equal(pixelsOf(few.Train), pixelsOf(many.Train)[:len(pixelsOf(few.Train))]) {
		t.Error("asking for more images changed the first ones")
	}
	large := openSmall(t, Spec{Name: "glyphs", Size: 64, TrainPerClass: 1, TestPerClass: 1})
	if !slices.Equal(few.Train.Domain, large.Train.Domain) || !slices.Equal(few.Train.Strength, large.Train.Strength) {
		t.Error("the size changed fonts or strengths")
	}
	worst := 0.0
	for i := range few.Train.Len() {
		worst = max(worst, meanDifference(imageOf(few.Train, i), imageOf(large.Train, i)))
	}
	if !(worst <= 8) { // two different scenes differ by some 60 levels
		t.Errorf("the same scene at 32 and 64 pixels differs by %.1f levels on average over blocks, want at most 8", worst)
	}
}

// meanDifference compares an image of 32×32 with one of 64×64 by their means over 8×8 blocks of the former.
func meanDifference(a, b []uint8) float64 {
	block := func(p []uint8, side, c, y, x int) float64 {
		n, sum := side/4, 0
		for i := range n {
			for j := range n {
				sum += int(p[c*side*side+(y*n+i)*side+x*n+j])
			}
		}
		return float64(sum) / float64(n*n)
	}
	total := 0.0
	for c := range 3 {
		for y := range 4 {
			for x := range 4 {
				total += max(block(a, 32, c, y, x)-block(b, 64, c, y, x), block(b, 64, c, y, x)-block(a, 32, c, y, x))
			}
		}
	}
	return total / 48
}

// TestBadSpecs: what a data set cannot give is refused before it is read.
func TestBadSpecs(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Name: "glyphs", Size: 7}, "data.size: 7 is out of range. Use data.size from 8 to 512"},
		{Spec{Name: "glyphs", Size: 513}, "size: 513"},
		{Spec{Name: "glyphs", TrainPerClass: -1}, "train_per_class: -1"},
		{Spec{Name: "glyphs", TestPerClass: 10001}, "test_per_class: 10001"},
		{Spec{Name: "glyphs", Size: 512, TrainPerClass: 10000}, "more than the limit of 17,179,869,184"},
		{Spec{Name: "glyphs", Channels: 2}, "data.channels: 2 is not possible. Use data.channels=3"},
		{Spec{Name: "npz", TrainPerClass: -1}, "data.train_per_class: -1 is out of range. Use 1 or more"},
		{Spec{Name: "glyphs", Domains: "size"}, `data.domains: "size" is unknown. Use one of font, noise, rotation`},
		{Spec{Name: "npz", Domains: "font"}, "data.domains: the images have no domains to choose from"},
		{Spec{Name: "runes"}, `unknown data set "runes". `},
	} {
		if _, err := Open(t.Context(), c.spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want it to say %q", c.spec, err, c.want)
		}
	}
}

func TestRasterCoversExactly(t *testing.T) {
	r := newRaster(4)
	square := []point{{64, 128}, {640, 128}, {640, 896}, {64, 896}} // x 0.25 to 2.5, y 0.5 to 3.5
	hole := []point{{256, 256}, {256, 768}, {512, 768}, {512, 256}} // x 1 to 2, y 1 to 3, the other way round
	same := affine{xx: 1 << 16, yy: 1 << 16}
	r.draw([][]point{square, hole}, same)
	want := []int{
		768, 1024, 512, 0,
		1536, 0, 1024, 0,
		1536, 0, 1024, 0,
		768, 1024, 512, 0,
	}
	if !slices.Equal(r.cover, want) {
		t.Errorf("cover %v, want %v", r.cover, want)
	}
	r.draw([][]point{square, square}, same) // overlapping contours count once
	if r.cover[5] != fullCover {
		t.Errorf("cover %d of a pixel inside two contours, want %d", r.cover[5], fullCover)
	}
}
