package data

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRepeats: test images that are training images, and images with two labels, are noted before a run and by a check,
// and nothing else is.
func TestRepeats(t *testing.T) {
	root := photos(t, "train/cat/0.png", "train/cat/1.png", "train/dog/0.png", "train/dog/1.png", "test/cat/5.png",
		"test/dog/6.png")
	spec := Spec{Name: "folder", Dir: root, Size: 8}
	if set := openSmall(t, spec); len(set.Notes) > 0 {
		t.Errorf("notes without repeats: %q", set.Notes)
	}
	copyOf := func(from, to string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(from)))
		if err != nil {
			t.Fatal(err)
		}
		putFile(t, filepath.Join(root, filepath.FromSlash(to)), text)
	}
	copyOf("train/cat/0.png", "test/cat/2.png")
	copyOf("train/dog/0.png", "test/dog/3.png")
	copyOf("train/dog/1.png", "train/cat/7.png")
	copyOf("train/dog/1.png", "train/dog/8.png") // the same label again
	want := []string{
		"2 test images are also training images, such as test/cat/2.png, which is train/cat/0.png. The accuracy counts what was learned by heart",
		"1 image has two labels, such as train/cat/7.png and train/dog/1.png",
	}
	if set := openSmall(t, spec); !slices.Equal(set.Notes, want) {
		t.Errorf("notes %q, wanted %q", set.Notes, want)
	}
	spec.ReadOnly = true
	if set := openSmall(t, spec); !slices.Equal(set.Notes, want) {
		t.Errorf("without a cache: notes %q", set.Notes)
	}
	r, err := Verify(t.Context(), spec)
	if err != nil || !slices.Contains(r.Notes, want[0]) || !slices.Contains(r.Notes, want[1]) {
		t.Errorf("verify: %q (%v)", r.Notes, err)
	}
	few := Spec{Name: "folder", Dir: photos(t, "cat/0.png"), Size: 8, OneClass: true} // in both halves
	if set := openSmall(t, few); len(set.Notes) != 1 {
		t.Errorf("a single image: notes %q", set.Notes)
	}
}

// TestRepeatsInMemory: as TestRepeats, for arrays.
func TestRepeatsInMemory(t *testing.T) {
	set := &Set{C: 1, H: 1, W: 2, Classes: 2,
		Train: Split{Images: Block{[]uint8{1, 2, 3, 4, 1, 2}, 2}, Y: []int32{0, 1, 1}},
		Test:  Split{Images: Block{[]uint8{3, 4, 5, 6}, 2}, Y: []int32{1, 0}}}
	want := "1 test image is also a training image, such as record 0 of x_test, which is record 1 of x_train. The accuracy counts what was learned by heart\n" +
		"1 image has two labels, such as record 0 of x_train and record 2 of x_train"
	sums, err := set.Sums(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(set.repeats(sums, func(at int, test bool) string {
		return fmt.Sprintf("record %d of %s", at, map[bool]string{false: "x_train", true: "x_test"}[test])
	}), "\n"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
