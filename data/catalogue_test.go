package data

import (
	"slices"
	"strings"
	"testing"
)

func TestCatalogueIsSortedAndComplete(t *testing.T) {
	if !slices.IsSorted(Names()) {
		t.Errorf("names %v are not sorted", Names())
	}
	for _, info := range Catalogue() {
		got, err := Lookup(info.Name)
		if err != nil || got.Name != info.Name || (got.Open == nil) == (got.list == nil) {
			t.Errorf("Lookup(%q): %+v, %v", info.Name, got, err)
		}
		for _, field := range []string{info.Title, info.Source, info.Licence, info.Citation, info.Example, info.Shape} {
			if field == "" {
				t.Errorf("%s: an empty field in %+v", info.Name, info)
			}
		}
	}
}

func TestPreview(t *testing.T) {
	set := openSmall(t, Spec{Name: "glyphs", Size: 16, TrainPerClass: 3, TestPerClass: 1})
	sheet, err := Preview(set, PreviewOptions{Classes: 6, Samples: 5})
	if err != nil {
		t.Fatal(err)
	}
	// Rows of three images below each other, every pixel 3×3 large: the image of class 0 comes first.
	b := sheet.Bounds()
	if (b.Dy()-2*16)%(48+4) != 0 {
		t.Errorf("sheet of %v, want rows of %d", b, 48+4)
	}
	found := 0
	for x := range b.Dx() - 1 {
		r, g, bl, _ := sheet.At(x, 16).RGBA()
		r2, g2, b2, _ := sheet.At(x+1, 17).RGBA()
		p := imageOf(set.Train, 0)
		if uint8(r>>8) == p[0] && uint8(g>>8) == p[256] && uint8(bl>>8) == p[512] && r == r2 && g == g2 && bl == b2 {
			found++
		}
	}
	if found == 0 {
		t.Error("the first pixel of the first image is not on the sheet in its row")
	}
	test, err := Preview(set, PreviewOptions{Test: true})
	if err != nil || test.Bounds().Empty() {
		t.Errorf("test images: %v, %v", test.Bounds(), err)
	}
}

// TestByPath: the path in the example of a data set tells which data set it is.
func TestByPath(t *testing.T) {
	for _, i := range Catalogue() {
		_, rest, needs := strings.Cut(i.Example, "--data-dir ")
		if needs != i.NeedsDir {
			t.Errorf("%s: its example is %q", i.Name, i.Example)
		}
		if len(i.Endings) == 0 { // no files, or files of any name
			continue
		}
		path, _, _ := strings.Cut(rest, " ")
		if got, ok := ByPath("some/folder/" + path + "/"); !ok || got.Name != i.Name {
			t.Errorf("%s holds %q, want %s", path, got.Name, i.Name)
		}
	}
	if got, ok := ByPath("some/folder"); ok {
		t.Errorf("a folder of any name is taken for %s", got.Name)
	}
}
