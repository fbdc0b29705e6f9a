package data

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestFolderNamesOfHalves: halves are found under the names that people give them, also twice as deep, and the half
// that says its classes is for testing.
func TestFolderNamesOfHalves(t *testing.T) {
	for _, c := range [][2]string{
		{"training_set", "test_set"}, {"train_set", "dev"}, {"seg_train", "seg_test"},
		{"seg_train/seg_train", "seg_test/seg_test"}, {"Train", "Test"},
		{"TRAINING", "TESTING"}, {"train-images", "eval"}, {"Training Data", "Validation Data"}, {"trainset", "valset"},
		{"train2017", "val2017"}, {"training", "evaluation"},
	} {
		root := photos(t, c[0]+"/dog/a.png", c[0]+"/cat/b.png", c[1]+"/cat/c.png", "__MACOSX/train/cat/._a.png", ".DS_Store",
			"desktop.ini")
		set, err := Open(t.Context(), Spec{Name: "folder", Dir: root, Size: 8})
		if err != nil || !slices.Equal(set.ClassNames, []string{"cat", "dog"}) || set.Train.Len() != 2 ||
			set.Test.Len() != 1 || len(set.Notes) > 0 {
			t.Errorf("%q: %+v, %v", c, set, err)
		}
	}
	root := photos(t, "train/dog/a.png", "train/cat/b.png", "test/1.png", "val/cat/c.png")
	set := openSmall(t, Spec{Name: "folder", Dir: root, Size: 8})
	if want := []string{"the folder test is not used, as its images are in no class folders"}; set.Test.Len() != 1 ||
		!slices.Equal(set.Notes, want) {
		t.Errorf("a test half without labels: %d images, notes %q", set.Test.Len(), set.Notes)
	}
}

// TestFolderWithoutClassFolders: halves without class folders are no classes, but a class may have the name of a half.
func TestFolderWithoutClassFolders(t *testing.T) {
	for _, c := range []struct {
		names   []string
		classes []string // or
		fault   string
	}{
		{[]string{"train/1.png", "train/2.png", "train/3.png", "test1/1.png"}, nil,
			"train has images and no class folders. Move those of each class into train/CLASS"},
		{[]string{"train/1.png"}, nil, "train has images and no class folders"},
		{[]string{"val/1.png", "dev/1.png"}, nil, "dev has images and no class folders"},
		{[]string{"train/1.png", "train/2.png", "train/3.png", "bus/1.png", "car/1.png"}, []string{"bus", "car", "train"},
			""},
		{[]string{"val/1.png", "val/2.png", "val/3.png", "training/1.png", "dog/1.png"}, []string{"dog", "training", "val"},
			""},
	} {
		set, err := Open(t.Context(), Spec{Name: "folder", Dir: photos(t, c.names...), Size: 8})
		if c.fault == "" && (err != nil || !slices.Equal(set.ClassNames, c.classes)) || c.fault != "" &&
			(err == nil || !strings.Contains(err.Error(), c.fault)) {
			t.Errorf("%q: %v", c.names, err)
		}
	}
}

// TestFolderOneLevelTooHigh: data sets do not become classes, and nested folders of classes go on to work.
func TestFolderOneLevelTooHigh(t *testing.T) {
	const photosOf, moreOf = "photos/cat/1.png photos/cat/2.png photos/dog/1.png photos/dog/2.png",
		"more/owl/1.png more/owl/2.png"
	for _, c := range []struct{ names, right, classes string }{
		{photosOf + " " + moreOf, "photos", ""},
		{photosOf + " " + moreOf + " ocl", "photos", ""},
		{photosOf + " photos/cat/3.png", "", "cat dog"},                                     // all lies in it
		{"a/cat/1.png a/dog/1.png b/dog/1.png b/owl/1.png", "a", ""},                        // sets that share classes
		{"a/cat/1.png a/dog/1.png b/owl/1.png b/fox/1.png runs/x/experiment.yaml", "a", ""}, // beside results
		{"a/train/cat/1.png a/train/dog/1.png a/test/cat/1.png b/x/2.png", "a", ""},
		{"cat/mon/1.png cat/tue/2.png cat/tue/3.png dog/mon/1.png dog/tue/2.png", "", "cat dog"}, // days
		{"cat/persian/1.png cat/siamese/1.png cat/siamese/2.png dog/poodle/1.png", "", "cat dog"},
		{"cat/persian/1.png cat/siamese/1.png cat/siamese/2.png dog/poodle/1.png other/x/1.png other/y/1.png notes/a.xml README",
			"", "cat dog other"},
		{"cat/images/1.png cat/images/2.png cat/images/3.png dog/images/1.png", "", "cat dog"},
		{"photos/cat/1.png photos/dog/1.png photos/0.png dog/1.png dog/2.png dog/3.png", "", "dog photos"},
	} {
		root := photos(t, strings.Fields(c.names)...)
		set, err := Open(t.Context(), Spec{Name: "folder", Dir: root, Size: 8})
		switch {
		case c.right == "" && (err != nil || strings.Join(set.ClassNames, " ") != c.classes):
			t.Errorf("%s: %v", c.names, err)
		case c.right != "" && (err == nil || !strings.Contains(err.Error(),
			"looks like a data set and not like a class. Choose one, and give the same words to other commands: "+
				"`ocl data info folder --data-dir "+root+" data.reading=folders`, `ocl data info folder --data-dir "+
				filepath.Join(root, c.right)+"`")):
			t.Errorf("%s: %v, wanted %s", c.names, err, c.right)
		}
	}
}

// TestFolderEndings: an image is known by all endings of its kind, or by its first bytes where the ending tells
// nothing. What is not read is said as such.
func TestFolderEndings(t *testing.T) {
	root := photos(t, "cat/x.png", "dog/x.png", "dog/y.png")
	jpg, png := square(t, "a.jpg", 50, 9, 9), square(t, "a.png", 60, 9, 9)
	for name, text := range map[string][]byte{
		"cat/1.jfif": jpg, "cat/2.JPE": jpg, "cat/3.pjpeg": jpg, "cat/4": png, "dog/5.jpg_large": jpg,
		"dog/6": square(t, "a.bmp", 70, 9, 9), "dog/7.JPG~": jpg,
		"dog/BMI": []byte("BM is a word"), "dog/notes.txt": jpg, "dog/8.dng": []byte("II*\x00 raw"),
		"dog/9": []byte("P5\n9 9\n255\n"), "cat/10.Ppm": []byte("P6 9 9 255\n"),
		"cat/11": []byte("\x00\x00\x00\x0cJXL \r\n\x87\n"), "cat/12.jp2": nil,
	} {
		putFile(t, filepath.Join(root, filepath.FromSlash(name)), text)
	}
	set := openSmall(t, Spec{Name: "folder", Dir: root, Size: 8})
	if n := set.Train.Len() + set.Test.Len(); n != 3+7 {
		t.Errorf("%d images", n)
	}
	all := strings.Join(set.Notes, "\n")
	for _, want := range []string{
		"2 hidden or non-image files left out, such as dog/BMI",
		"1 DNG image left out, as DNG is not read. Convert with `magick mogrify -format jpg FILE...`",
		"1 PGM image left out", "1 PPM image left out, as PPM is not read. Convert with `magick mogrify -format png FILE...`",
		"1 JPEG XL image left out", "1 JPEG 2000 image left out",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no note says %q:\n%s", want, all)
		}
	}
	_, err := Open(t.Context(), Spec{Name: "folder", Dir: photos(t, "cat/a.xyz", "dog/b.xyz")})
	if err == nil || !strings.Contains(err.Error(), "found 0 folders with images") ||
		!strings.Contains(err.Error(), "Files such as cat/a.xyz are no images that can be read") {
		t.Errorf("no image: %v", err)
	}
}

// TestFolderSpellings: é in two spellings of Unicode is one class, in both halves.
func TestFolderSpellings(t *testing.T) {
	const one, two = "caf\u00e9", "cafe\u0301"
	root := photos(t, "bar/1.png", one+"/1.png", one+"/2.png", two+"/3.png")
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 3 {
		t.Skip("NOT RUN: this file system keeps one spelling of é, so two folders cannot differ in it")
	}
	set := openSmall(t, Spec{Name: "folder", Dir: root, Size: 8})
	note := "the class " + one + " is written in two spellings of Unicode, which look alike"
	if !slices.Equal(set.ClassNames, []string{"bar", one}) || set.Train.Len()+set.Test.Len() != 4 ||
		!slices.Contains(set.Notes, note) {
		t.Errorf("classes %+q, notes %q", set.ClassNames, set.Notes)
	}
	set = openSmall(t, Spec{Name: "folder", Dir: photos(t, "train/bar/1.png", "train/"+two+"/1.png", "test/"+one+"/2.png"),
		Size: 8})
	if set.Classes != 2 || set.Test.Len() != 1 {
		t.Errorf("halves: %d classes, %d test images", set.Classes, set.Test.Len())
	}
}

// TestFolderDanglingLink: a class folder that is a link to nowhere is an error, or is left out and named.
func TestFolderDanglingLink(t *testing.T) {
	root := photos(t, "cat/1.png", "cat/2.png", "cat/3.png", "dog/1.png")
	if err := os.Symlink("nowhere", filepath.Join(root, "owl")); err != nil {
		t.Skipf("NOT RUN: this system makes no links: %v", err)
	}
	want := "the link owl leads nowhere (no such file or directory). Correct or remove it"
	if runtime.GOOS == "windows" {
		want = "the link owl leads nowhere"
	}
	if _, err := Open(t.Context(), Spec{Name: "folder", Dir: root, Size: 8}); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Error(err)
	}
	set, err := Open(t.Context(), Spec{Name: "folder", Dir: root, Size: 8, SkipUnreadable: true})
	if err != nil || set.Classes != 2 || !slices.Contains(set.Notes, "links that lead nowhere are left out: owl") {
		t.Errorf("skipped: %v", err)
	}
}

// TestTinyImageNet: its folders are read as they were published: labels of val from their list, test without labels
// not, names of words.txt.
func TestTinyImageNet(t *testing.T) {
	const a, b = "n01443537", "n01629819"
	names := []string{"train/" + a + "/images/1.png", "train/" + a + "/images/2.png", "train/" + b + "/images/1.png",
		"val/images/val_0.png", "val/images/val_1.png",
		"test/images/test_0.png", "wnids.txt"}
	make := func(annotations, words string) (*Set, error) {
		root := photos(t, names...)
		for name, text := range map[string]string{"val/" + valAnnotations: annotations, "words.txt": words} {
			if text != "" {
				putFile(t, filepath.Join(root, filepath.FromSlash(name)), []byte(text))
			}
		}
		return Open(t.Context(), Spec{Name: "folder", Dir: root, Size: 8})
	}
	lines := "val_0.png\t" + b + "\t0\t0\t1\t1\nval_1.png\t" + a + "\t0\t0\t1\t1\r\n"
	set, err := make(lines, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := levels(t, set, set.Test); !slices.Equal(got, []string{a + " 50", b + " 40"}) || set.Train.Len() != 3 {
		t.Errorf("test images %q", got)
	}
	if !slices.Contains(set.Notes, "the folder test is not used, as its images are in no class folders") {
		t.Errorf("notes %q", set.Notes)
	}
	set, err = make(lines, a+"\tgoldfish, Carassius auratus\n"+b+"\tsalamander\nn00000000\tother\n")
	if err != nil || !slices.Equal(set.ClassNames, []string{"goldfish", "salamander"}) {
		t.Errorf("with words.txt: %v", err)
	}
	for annotations, want := range map[string]string{
		"val_0.png " + a + "\n":   "val_annotations.txt: line 1 is \"val_0.png n01443537\" instead of a file, a tab and a class",
		"val_9.png\t" + a + "\n":  "line 1 has the image \"val_9.png\", which is not in the folder images",
		"val_0.png\tn09999999\n":  "classes of the test half have no training images: n09999999",
		"val_0.png\t\x1b[2J\t0\n": "line 1 is",
	} {
		if _, err := make(annotations, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", annotations, err)
		} else {
			plainMessage(t, errors.New(fmt.Sprint(err)))
		}
	}
}
