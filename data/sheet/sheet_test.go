package sheet

import (
	"strings"
	"testing"

	"ocl/data"
	_ "ocl/data/gofonts"
)

func open(t *testing.T, spec data.Spec) *data.Set {
	t.Helper()
	set, err := data.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestClasses(t *testing.T) {
	set := open(t, data.Spec{Name: "glyphs", Size: 16, TrainPerClass: 3, TestPerClass: 1})
	sheet, err := Classes(set, Options{Classes: 6, Samples: 5})
	if err != nil {
		t.Fatal(err)
	}
	// Rows of three images below each other, every pixel 3×3 large: the image of class 0 comes first.
	b := sheet.Bounds()
	if (b.Dy()-2*16)%(48+4) != 0 {
		t.Errorf("sheet of %v, want rows of %d", b, 48+4)
	}
	p, err := set.Train.Images.Image(0, make([]uint8, set.ImageLen()))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for x := range b.Dx() - 1 {
		r, g, bl, _ := sheet.At(x, 16).RGBA()
		r2, g2, b2, _ := sheet.At(x+1, 17).RGBA()
		if uint8(r>>8) == p[0] && uint8(g>>8) == p[256] && uint8(bl>>8) == p[512] && r == r2 && g == g2 && bl == b2 {
			found++
		}
	}
	if found == 0 {
		t.Error("the first pixel of the first image is not on the sheet in its row")
	}
	test, err := Classes(set, Options{Test: true})
	if err != nil || test.Bounds().Empty() {
		t.Errorf("test images: %v, %v", test.Bounds(), err)
	}
}

func TestEmbeddings(t *testing.T) {
	set := open(t, data.Spec{Name: "glyphs", Size: 8, TrainPerClass: 1, TestPerClass: 1})
	set.Embeddings = true
	if _, err := Classes(set, Options{}); err == nil || !strings.Contains(err.Error(), "the data are embeddings") {
		t.Errorf("a sheet of embeddings: %v", err)
	}
}
