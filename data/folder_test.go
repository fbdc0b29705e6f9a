package data

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"ocl/internal/limit"
)

// square is an image file of one grey.
func square(t *testing.T, name string, level uint8, w, h int) []byte {
	t.Helper()
	img := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.Gray{level}, color.Black})
	var out bytes.Buffer
	var err error
	switch strings.ToLower(filepath.Ext(name)) {
	case ".png":
		err = png.Encode(&out, img)
	case ".gif":
		err = gif.Encode(&out, img, nil)
	case ".bmp":
		err = bmp.Encode(&out, img)
	case ".tif":
		err = tiff.Encode(&out, img, nil)
	default:
		err = jpeg.Encode(&out, img, &jpeg.Options{Quality: 100})
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// photos writes image files below a new folder, whose levels are 10, 20, … in the order of the names, and makes a
// folder for caches. Names that end with a slash are empty folders; those of other files have the text "no image".
func photos(t *testing.T, names ...string) string {
	t.Helper()
	t.Setenv("OCL_CACHE", t.TempDir())
	root := t.TempDir()
	for i, name := range names {
		at := filepath.Join(root, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			at = filepath.Join(at, "x")
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		text := []byte("no image")
		switch strings.ToLower(filepath.Ext(name)) {
		case ".png", ".gif", ".bmp", ".tif", ".jpg", ".jpeg":
			text = square(t, name, uint8(10*(i+1)), 20+i, 30)
		case "":
			if strings.HasSuffix(name, "/") {
				continue
			}
		}
		if err := os.WriteFile(at, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// levels says of each image of a half its class and its level, rounded to tens, such as "cat 20".
func levels(t *testing.T, set *Set, s Split) []string {
	t.Helper()
	list := []string{}
	buf := make([]uint8, set.ImageLen())
	for i := range s.Len() {
		pixels, err := s.Images.Image(i, buf)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s %d", set.ClassName(int(s.Y[i])), (int(pixels[len(pixels)/2])+5)/10*10))
	}
	return list
}

// TestFolderWithHalves: class names are the sorted names of the folders; formats, nested folders and endings in
// capitals are read, and images are of the wanted size.
func TestFolderWithHalves(t *testing.T) {
	for _, half := range []string{"test", "val", "Validation"} {
		root := photos(t, "train/dog/a.png", "train/dog/old/b.GIF", "train/cat/c.jpeg", half+"/cat/d.TIF", half+"/dog/e.bmp")
		set := openSmall(t, Spec{Name: "folder", Dir: root, Size: 8})
		if set.C != 3 || set.H != 8 || set.W != 8 || !slices.Equal(set.ClassNames, []string{"cat", "dog"}) ||
			len(set.Notes) != 0 {
			t.Errorf("%s: %d×%d×%d, classes %q, notes %q", half, set.C, set.H, set.W, set.ClassNames, set.Notes)
		}
		if got, want := levels(t, set, set.Train), []string{"cat 30", "dog 10", "dog 20"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q for training, want %q", half, got, want)
		}
		if got, want := levels(t, set, set.Test), []string{"cat 40", "dog 50"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q for testing, want %q", half, got, want)
		}
	}
	root := photos(t, "a/1.png", "b/1.png", "b/2.png", "b/3.png")
	if set := openSmall(t, Spec{Name: "folder", Dir: root}); set.H != 64 {
		t.Errorf("%d pixels where nobody says", set.H)
	}
}

// TestFolderSplit: without halves a fifth of each class is for testing, the same with the same data seed, also where
// the classes lie in a folder called train.
func TestFolderSplit(t *testing.T) {
	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprintf("x/%d.png", i))
	}
	for i := range 5 {
		names = append(names, fmt.Sprintf("y/%d.png", i))
	}
	root := photos(t, names...)
	open := func(dir string, seed uint64) *Set {
		return openSmall(t, Spec{Name: "folder", Dir: dir, Size: 8, Seed: seed})
	}
	set, again, other := open(root, 4), open(root, 4), open(root, 5)
	test := levels(t, set, set.Test)
	if set.Train.Len() != 12 || len(test) != 3 || test[0][0] != 'x' || test[1][0] != 'x' || test[2][0] != 'y' {
		t.Errorf("%d for training, %q for testing", set.Train.Len(), test)
	}
	if set.Digest != again.Digest || set.Digest == other.Digest {
		t.Error("the split is not a function of the data seed")
	}
	if want := "a fifth of each class is for testing, 3 of 15 images, drawn with data.seed 4"; !slices.Contains(set.Notes,
		want) {
		t.Errorf("notes %q", set.Notes)
	}
	for i, name := range names {
		names[i] = "train/" + name
	}
	if same := open(photos(t, names...), 4); same.Digest != set.Digest {
		t.Error("the folder train alone gives another set")
	}
}

// TestFolderNotes: what is left out is said.
func TestFolderNotes(t *testing.T) {
	root := photos(t, "train/cat/a.png", "train/cat/Thumbs.db", "train/cat/.hidden.png", "train/cat/.git/b.png",
		"train/dog/c.png", "train/eel/",
		"train/stray.png", "test/cat/d.png", "val/cat/e.png", "other/cat/f.png", "list.txt",
		"train/cat/g.HEIC", "train/cat/h.heif", "train/dog/i.avif")
	set := openSmall(t, Spec{Name: "folder", Dir: root, Size: 8})
	want := []string{
		"folders beside train are not used: other",
		"folders without images are no classes: train/eel",
		"the folder val is not used, as there is test",
		"3 hidden or non-image files left out, such as list.txt",
		"1 image outside the class folders left out",
		"2 HEIC images left out, as HEIC is not read. Convert with `magick mogrify -format jpg FILE...`",
		"1 AVIF image left out, as AVIF is not read. Convert with `magick mogrify -format jpg FILE...`",
	}
	slices.Sort(want)
	if got := slices.Sorted(slices.Values(set.Notes)); !slices.Equal(got, want) {
		t.Errorf("notes\n%q, want\n%q", got, want)
	}
	if got := levels(t, set, set.Train); len(got) != 2 {
		t.Errorf("%q for training", got)
	}
	_, err := Open(t.Context(), Spec{Name: "folder", Dir: photos(t, "cat/1.heic", "cat/2.heic", "dog/1.heic")})
	if err == nil || !strings.Contains(err.Error(),
		"found 0 folders with images, but at least two classes are needed. 3 HEIC images left out, as HEIC is not read. Convert with") {
		t.Errorf("HEIC alone: %v", err)
	}
}

// TestOneClass: a person's own images may be of one class where the spec says so, in a folder and in a list.
func TestOneClass(t *testing.T) {
	root := photos(t, "cat/1.png", "cat/2.png", "cat/3.png")
	list := filepath.Join(root, "list.csv")
	if err := os.WriteFile(list, []byte("path,label\ncat/1.png,cat\ncat/2.png,cat\ncat/3.png,cat\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, spec := range []Spec{{Name: "folder", Dir: root, Size: 8}, {Name: "csv", Dir: list, Size: 8}} {
		if _, err := Open(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "at least two") {
			t.Errorf("%s of one class: %v", spec.Name, err)
		}
		spec.OneClass = true
		set, err := Open(t.Context(), spec)
		if err != nil || set.Classes != 1 || set.Train.Len() != 2 || set.Test.Len() != 1 {
			t.Errorf("%s of one class: %+v, %v", spec.Name, set, err)
		}
	}
	_, err := Open(t.Context(), Spec{Name: "folder", Dir: photos(t), OneClass: true})
	if err == nil || !strings.Contains(err.Error(), "found 0 folders with images, but at least one class is needed") {
		t.Errorf("no class: %v", err)
	}
}

// TestFolderFaults: each error says what is wrong and what to do.
func TestFolderFaults(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
	}{
		{nil, "found 0 folders with images, but at least two classes are needed. Use --data-dir"},
		{[]string{"cat/a.png", "dog/"}, "found 1 folder with images"},
		{[]string{"a.png", "b.png"}, "the images lie in the folder itself. Move those of each class into a folder"},
		{[]string{"train/a/1.png", "train/b/1.png", "test/a/1.png", "test/c/1.png", "test/d/1.png"},
			"classes of the test half have no training images: c, d. Add training images"},
		{[]string{"train/a/1.png", "train/b/1.png", "test/"},
			"the folder for testing has no class folders with images. Fill it, or remove it"},
		{[]string{"train/a/1.png", "train/b/1.png", "test/1.png"}, "the folder for testing has no class folders with images"},
		{[]string{"a/1.png", "test/1.png"}, "no class has three images. Add images"},
		{[]string{"test/a/1.png", "test/b/1.png"}, "there is a folder test of class folders, but none called train"},
		{[]string{"train/a/1.png", "training/b/1.png"}, "both train and training are here"},
		{[]string{"train/a/1.png", "train/b/1.png", "bus/1.png"},
			"train has folders like a training half, but beside it are no test and no val, but bus"},
	} {
		_, err := Open(t.Context(), Spec{Name: "folder", Dir: photos(t, c.names...), Size: 8})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want it to say %q", c.names, err, c.want)
		}
	}
	root := photos(t, "a/1.png")
	for dir, want := range map[string]string{
		"":                                "no folder is given. Use --data-dir",
		filepath.Join(root, "absent"):     "absent: no such file or directory. Use --data-dir",
		filepath.Join(root, "a", "1.png"): "1.png: this is a file. Use --data-dir with a folder",
	} {
		if runtime.GOOS == "windows" {
			want = strings.Replace(want, "no such file or directory", "The system cannot find the file specified.", 1)
		}
		if _, err := Open(t.Context(), Spec{Name: "folder", Dir: dir}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want it to say %q", dir, err, want)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Open(ctx, Spec{Name: "folder", Dir: root}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

// TestFolderUnreadable: an image that cannot be read is an error that names it, or is left out and named.
func TestFolderUnreadable(t *testing.T) {
	root := photos(t, "a/1.png", "a/2.png", "a/3.png", "b/1.png", "b/2.png", "b/3.png")
	harm := map[string][]byte{
		"zero.png": {}, "magic.jpg": []byte("GIF? no"), "cut.png": square(t, "x.png", 9, 40, 40)[:60],
		"bomb.png": append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\xea\x60\x00\x00\xea\x60\x08\x02\x00\x00\x00"),
			make([]byte, 20)...),
	}
	for name, text := range harm {
		at := filepath.Join(root, "a", name)
		if err := os.WriteFile(at, text, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), Spec{Name: "folder", Dir: root, Size: 8})
		if err == nil || !strings.Contains(err.Error(), "1 of 7 images cannot be decoded: ") ||
			!strings.Contains(err.Error(), "a/"+name) {
			t.Errorf("%s: %v", name, err)
		}
		set, err := Open(t.Context(), Spec{Name: "folder", Dir: root, Size: 8, SkipUnreadable: true})
		if err != nil {
			t.Errorf("%s, skipped: %v", name, err)
			continue
		}
		if n := set.Train.Len() + set.Test.Len(); n != 6 || !set.Incomplete {
			t.Errorf("%s, skipped: %d images, incomplete %v", name, n, set.Incomplete)
		}
		if !slices.ContainsFunc(set.Notes, func(s string) bool {
			return strings.HasPrefix(s, "1 unreadable image left out: a/"+name)
		}) {
			t.Errorf("%s, skipped: notes %q", name, set.Notes)
		}
		os.Remove(at)
	}
}

// TestFolderUnreadableClass: what a note says of the halves counts the images that are there, each half knows which
// classes lost images, and a half without any readable image says so.
func TestFolderUnreadableClass(t *testing.T) {
	root := photos(t, "train/a/1.png", "train/a/2.png", "train/b/1.png", "train/b/2.png", "test/a/1.png", "test/b/1.png",
		"test/b/2.png")
	harm := func(names ...string) {
		for _, name := range names {
			putFile(t, filepath.Join(root, filepath.FromSlash(name)), []byte("no image"))
		}
	}
	spec := Spec{Name: "folder", Dir: root, Size: 8, SkipUnreadable: true}
	harm("train/b/1.png", "train/b/2.png", "test/b/2.png")
	set, err := Open(t.Context(), spec)
	if err != nil || !slices.Equal(set.Train.Unreadable, []int{0, 2}) || !slices.Equal(set.Test.Unreadable, []int{0, 1}) {
		t.Errorf("%v: %v and %v unreadable", err, set.Train.Unreadable, set.Test.Unreadable)
	}
	harm("test/a/1.png", "test/b/1.png")
	const want = ": there is no readable image for testing. `ocl data verify` lists what is wrong with each"
	if _, err := Open(t.Context(), spec); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}

	root = photos(t, "a/1.png", "a/2.png", "a/3.png", "b/1.png", "b/2.png", "b/3.png")
	spec.Dir = root
	harm("a/1.png", "a/2.png", "a/3.png")
	note := "a fifth of each class is for testing, 1 of 3 images, drawn with data.seed 0 before unreadable images were left out"
	if set, err = Open(t.Context(), spec); err != nil || !slices.Contains(set.Notes, note) {
		t.Errorf("%v: notes %q, want %q", err, set.Notes, note)
	}
}

// TestFolderHasLimits: more images than the limit are an error, wherever they lie below the class folders.
func TestFolderHasLimits(t *testing.T) {
	root := photos(t, "cat/1.png", "cat/old/2.png", "dog/3.png", "outside.png")
	for most, want := range map[int]string{3: "",
		2: root + ": the class folders have more than 2 images, which is the limit. Use a part of them"} {
		walked := &tree{ctx: t.Context(), root: root, most: most}
		if _, _, err := walked.halves(false, &reading{}); fmt.Sprint(err) != cmp.Or(want, "<nil>") {
			t.Errorf("with a limit of %d: %v", most, err)
		}
	}
}

// TestFolderEnds: neither very deep folders nor few links that lead to very many folders keep a walk from its end.
func TestFolderEnds(t *testing.T) {
	root := photos(t, "cat/1.png", "dog/2.png")
	deep := strings.Repeat("d/", limit.SetDepth)
	if err := os.MkdirAll(filepath.Join(root, "cat", deep), 0o755); err != nil {
		t.Fatal(err)
	}
	want := root + ": a folder lies more than 100 folders deep. Move its images further up"
	if _, err := listOwn(t.Context(), Spec{Name: folderName, Dir: root}); err == nil || err.Error() != want {
		t.Errorf("the error is %v, not %s", err, want)
	}
	root = photos(t, "cat/1.png", "dog/2.png")
	outside := t.TempDir()
	for i := range 20 { // 2²⁰ ways from the first to the last
		at := filepath.Join(outside, fmt.Sprint(i))
		if err := os.Mkdir(at, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b"} {
			if err := os.Symlink(filepath.Join(outside, fmt.Sprint(i+1)), filepath.Join(at, name)); err != nil {
				t.Skip(err)
			}
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(outside, "20"), 0o755),
		os.Symlink(filepath.Join(outside, "0"), filepath.Join(root, "cat", "many"))); err != nil {
		t.Fatal(err)
	}
	want = root + ": there are more than 200,000 folders, which is the limit"
	walked := &tree{ctx: t.Context(), root: root, most: 10, folders: limit.SetFolders - 1000} // all of them take seconds
	if _, _, err := walked.halves(false, &reading{}); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("the error is %v, not %s", err, want)
	}
}

// TestFolderLinks: class folders and images may be links; a link to a folder above has no end and is refused, one that
// leads nowhere is an image that cannot be read.
func TestFolderLinks(t *testing.T) {
	elsewhere := photos(t, "x/1.png", "x/2.png", "x/3.png", "y/4.png", "z/5.png")
	link := func(root, to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Skipf("this system makes no links: %v", err)
		}
	}
	root := t.TempDir()
	link(root, filepath.Join(elsewhere, "x"), "cat")
	link(root, filepath.Join(elsewhere, "y"), "dog")
	link(filepath.Join(elsewhere, "y"), filepath.Join(elsewhere, "z", "5.png"), "linked.png")
	set := openSmall(t, Spec{Name: "folder", Dir: root, Size: 8})
	if got := slices.Sorted(slices.Values(append(levels(t, set, set.Train),
		levels(t, set, set.Test)...))); !slices.Equal(got, []string{"cat 10", "cat 20", "cat 30", "dog 40", "dog 50"}) {
		t.Errorf("images %q", got)
	}
	link(filepath.Join(elsewhere, "y"), filepath.Join(elsewhere, "nowhere.png"), "broken.png")
	if _, err := Open(t.Context(), Spec{Name: "folder", Dir: root, Size: 8}); err == nil ||
		!strings.Contains(err.Error(), "dog/broken.png") {
		t.Errorf("a link that leads nowhere: %v", err)
	}
	if set, err := Open(t.Context(), Spec{Name: "folder", Dir: root, Size: 8, SkipUnreadable: true}); err != nil ||
		!strings.Contains(strings.Join(set.Notes, " "), "links that lead nowhere are left out: dog/broken.png") {
		t.Errorf("a link that leads nowhere, skipped: %v", err)
	}
	link(filepath.Join(elsewhere, "x"), root, "round")
	if _, err := Open(t.Context(), Spec{Name: "folder", Dir: root, Size: 8}); err == nil ||
		!strings.Contains(err.Error(), "cat/round: this is a link to a folder in which it lies. Remove the link") {
		t.Errorf("a ring: %v", err)
	}
}

// TestFolderForbidden: a folder and an image that must not be read are named.
func TestFolderForbidden(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("this user may read everything")
	}
	root := photos(t, "a/1.png", "a/2.png", "a/3.png", "b/1.png")
	for _, name := range []string{"a/1.png", "b"} {
		at := filepath.Join(root, name)
		if err := os.Chmod(at, 0); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), Spec{Name: "folder", Dir: root})
		if err == nil || !strings.Contains(err.Error(), name+": permission denied") {
			t.Errorf("%s: %v", name, err)
		}
		os.Chmod(at, 0o755)
	}
}

// TestFolderNamesReachNoTerminal: names of folders and files are shown without control characters.
func TestFolderNamesReachNoTerminal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such names on this system")
	}
	const evil = "\x1b[2J"
	_, err := Open(t.Context(), Spec{Name: "folder", Dir: photos(t, "a/1.png", evil+"/1.png")})
	if err == nil || !strings.Contains(err.Error(), "has a name that cannot be printed. Rename it") {
		t.Errorf("got %v", err)
	}
	plainMessage(t, err)
	set := openSmall(t, Spec{Name: "folder", Dir: photos(t, "a/1.png", "b/1.png", "b/2.png", "b/3.png", "b/"+evil),
		Size: 8})
	plainMessage(t, errors.New(strings.Join(set.Notes, " ")))
}

// TestWhole: what cannot be learned can be examined: one class, no class, and images that are too few for a test half.
// What can be learned is read as without.
func TestWhole(t *testing.T) {
	list := photos(t, "a.png", "b.png")
	putFile(t, filepath.Join(list, "list.csv"), []byte("path,label,split\na.png,cat,train\nb.png,cat,train\n"))
	for name, c := range map[string]struct {
		dir   string
		train int
		names string
	}{
		"one class":     {photos(t, "cat/0.png", "cat/1.png"), 2, "cat"},
		"two of two":    {photos(t, "cat/0.png", "cat/1.png", "dog/2.png"), 3, "cat dog"},
		"no class":      {photos(t, "0.png", "1.png"), 2, "FOLDER"},
		"train alone":   {photos(t, "train/cat/0.png"), 1, "cat"},
		"list":          {filepath.Join(list, "list.csv"), 2, "cat"},
		"can be halved": {photos(t, "pets/cat/0.png", "pets/cat/1.png", "pets/cat/2.png", "pets/dog/3.png"), 3, "cat dog"},
	} {
		set, err := Open(t.Context(), Spec{Name: "folder", Dir: c.dir, Size: 8, Whole: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		names := strings.ReplaceAll(strings.Join(set.ClassNames, " "), filepath.Base(c.dir), "FOLDER")
		if want := name == "can be halved"; set.Train.Len() != c.train || names != c.names || (set.Test.Len() > 0) != want ||
			set.Divided != want {
			t.Errorf("%s: %d and %d images of %q", name, set.Train.Len(), set.Test.Len(), set.ClassNames)
		}
	}
	if _, err := Open(t.Context(), Spec{Name: "folder", Dir: photos(t, "cat/"), Size: 8, Whole: true}); err == nil {
		t.Error("a folder without images is opened")
	}
}
