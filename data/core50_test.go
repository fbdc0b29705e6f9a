package data

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// frame is a PNG file, side×side, of one colour.
func frame(t *testing.T, side int, c color.Color) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, side, side))
	for y := range side {
		for x := range side {
			img.Set(x, y, c)
		}
	}
	var buf bytes.Buffer
	if err := png.Encode(&buf, img); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// someFrames are frames of three training and two test sessions, out of order. Object 2 is absent from testing.
var someFrames = []string{
	"s11/o10/C_11_10_004.png", "s1/o2/C_01_02_299.png", "s1/o10/C_01_10_000.png", "s1/o2/C_01_02_004.png",
	"s2/o50/C_02_50_100.png", "s10/o50/C_10_50_001.png", "s3/o10/C_03_10_007.png",
}

// core50Tree writes frames below a folder, the first of them with red 10, the next with 20 and so on, and gives tests a
// cache of their own.
func core50Tree(t *testing.T, root string, frames ...string) string {
	t.Helper()
	t.Setenv("OCL_CACHE", t.TempDir())
	for i, name := range frames {
		putFile(t, filepath.Join(root, filepath.FromSlash(name)), frame(t, 128, color.RGBA{uint8(10 * (i + 1)), 0, 200, 255}))
	}
	return root
}

func putFile(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, b, 0o644)); err != nil {
		t.Fatal(err)
	}
}

// TestCORe50Subset: the frames that are present come in the order of the official lists, with label and session, and
// the notes say which are absent.
func TestCORe50Subset(t *testing.T) {
	dir := t.TempDir()
	core50Tree(t, filepath.Join(dir, "core50_128x128"), someFrames...)
	set, err := Open(t.Context(), Spec{Name: "core50", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if set.C != 3 || set.H != 128 || set.W != 128 || set.Classes != 50 || len(set.Domains) != 11 || !set.Incomplete ||
		set.ClassName(9) != "mobile_phone5" {
		t.Errorf("%d×%d×%d, %d classes, %d domains, incomplete %v, class 9 is %s", set.C, set.H, set.W, set.Classes,
			len(set.Domains), set.Incomplete, set.ClassName(9))
	}
	for _, c := range []struct {
		half           Split
		labels, domain []int32
		red            []uint8
	}{
		{set.Train, []int32{9, 1, 1, 49, 9}, []int32{0, 0, 0, 1, 10}, []uint8{30, 40, 20, 50, 10}},
		{set.Test, []int32{9, 49}, []int32{2, 9}, []uint8{70, 60}},
	} {
		if !slices.Equal(c.half.Y, c.labels) || !slices.Equal(c.half.Domain, c.domain) {
			t.Errorf("labels %v, domains %v, want %v, %v", c.half.Y, c.half.Domain, c.labels, c.domain)
		}
		buf := make([]uint8, set.ImageLen())
		for i, want := range c.red {
			if pixels, err := c.half.Images.Image(i, buf); err != nil || pixels[0] != want || pixels[2*128*128] != 200 {
				t.Errorf("image %d: red %d, blue %d, %v, want %d, 200", i, pixels[0], pixels[2*128*128], err, want)
			}
		}
	}
	if len(set.Notes) != 1 {
		t.Fatalf("notes %q", set.Notes)
	}
	for _, want := range []string{
		"core50: the folder holds 7 of 164,866 frames; no frame of 6 of 11 sessions (4, 5, 6, 7, 8, 9); ",
		"; no frame of 47 of 50 objects (1, 3, ", "; only training frames of 1 of 50 objects (2)",
	} {
		if !strings.Contains(set.Notes[0], want) {
			t.Errorf("note %q, want it to say %q", set.Notes[0], want)
		}
	}
}

// TestCORe50HalfAnObject: a note names an object once, with what it lacks, so that the numbers are those of the notes
// on classes.
func TestCORe50HalfAnObject(t *testing.T) {
	dir := core50Tree(t, t.TempDir(), "s1/o2/C_01_02_004.png", "s3/o2/C_03_02_000.png", "s1/o4/C_01_04_004.png",
		"s3/o5/C_03_05_000.png")
	set, err := Open(t.Context(), Spec{Name: "core50", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"; no frame of 47 of 50 objects (1, 3, 6, ",
		"; only training frames of 1 of 50 objects (4)", "; only test frames of 1 of 50 objects (5)"} {
		if !strings.Contains(set.Notes[0], want) {
			t.Errorf("note %q, want it to say %q", set.Notes[0], want)
		}
	}
}

// TestCORe50Orders: labels and domains count from 0, where objects and sessions count from 1.
func TestCORe50Orders(t *testing.T) {
	o := core50Orders()
	if len(o.Classes) != 10 || len(o.Domains) != 10 || !slices.Equal(o.TaskClasses, []int{10, 5, 5, 5, 5, 5, 5, 5, 5}) {
		t.Fatalf("%d and %d orders, tasks of %v classes", len(o.Classes), len(o.Domains), o.TaskClasses)
	}
	if want := []int{10, 3, 1, 8, 0, 5, 4, 7}; !slices.Equal(o.Domains[0], want) {
		t.Errorf("order 0 of the domains is %v, want %v", o.Domains[0], want)
	}
	if want := []int{0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 29, 34}; !slices.Equal(o.Classes[0][:12], want) {
		t.Errorf("order 0 of the classes begins with %v, want %v", o.Classes[0][:12], want)
	}
}

// TestCORe50FromEveryPlace: the frames are found in all folders that Info names.
func TestCORe50FromEveryPlace(t *testing.T) {
	dir := t.TempDir()
	root := core50Tree(t, filepath.Join(dir, "core50", "core50_128x128"), someFrames...)
	other := core50Tree(t, filepath.Join(t.TempDir(), "core50"), someFrames...)
	digest := ""
	for _, dir := range []string{root, filepath.Dir(root), dir, other, filepath.Dir(other)} {
		set, err := Open(t.Context(), Spec{Name: "core50", Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if digest == "" {
			digest = set.Digest
		}
		if set.Digest != digest {
			t.Errorf("%s: digest %s, want %s", dir, set.Digest, digest)
		}
	}
}

// TestCORe50Size: frames are resized to another side.
func TestCORe50Size(t *testing.T) {
	dir := core50Tree(t, t.TempDir(), someFrames...)
	set, err := Open(t.Context(), Spec{Name: "core50", Dir: dir, Size: 16})
	if err != nil {
		t.Fatal(err)
	}
	pixels, err := set.Train.Images.Image(0, make([]uint8, set.ImageLen()))
	if err != nil || set.H != 16 || pixels[0] != 30 || pixels[2*16*16] != 200 {
		t.Errorf("%d pixels, the first is %d, %v", set.H, pixels[0], err)
	}
}

// TestCORe50Strays: images that the official set does not have are not used, and said.
func TestCORe50Strays(t *testing.T) {
	dir := core50Tree(t, t.TempDir(), append(slices.Clone(someFrames), "s1/o2/C_01_02_003.png",
		"s1/o2/C_01_03_100.png")...)
	putFile(t, filepath.Join(dir, "s1", "o2", "Thumbs.db"), nil)
	set, err := Open(t.Context(), Spec{Name: "core50", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	const want = "core50: 2 images left out, besides the published frames, such as s1/o2/C_01_02_003.png"
	if set.Train.Len() != 5 || len(set.Notes) != 2 || set.Notes[1] != want {
		t.Errorf("%d images for training, notes %q, want %q", set.Train.Len(), set.Notes, want)
	}
}

// TestCORe50WrongPlace: where nothing can be read, the message says what was found and what to do.
func TestCORe50WrongPlace(t *testing.T) {
	t.Setenv("OCL_CACHE", t.TempDir())
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	putFile(t, at("packed/core50/core50_128x128.zip"), nil)
	putFile(t, at("empty/s1/x"), nil)
	putFile(t, at("file/s1/o1"), nil)
	putFile(t, at("other/notes.txt"), nil)
	core50Tree(t, at("train"), someFrames[:5]...)
	core50Tree(t, at("test"), someFrames[5:]...)
	for _, c := range []struct{ dir, want string }{
		{"", "no folder is given. Use --data-dir with the folder core50_128x128"},
		{at("nowhere"), "Use --data-dir with the folder core50_128x128"},
		{at("other/notes.txt"), "this is a file. Use --data-dir with the folder core50_128x128, which has to be unpacked"},
		{at("other"), "there are no frames here, such as s1/o1/C_01_01_000.png in core50_128x128. The folder holds notes.txt. Check --data-dir"},
		{at("packed"), "the images are still packed in core50_128x128.zip. Unpack this file"},
		{at("empty"), "there are no frames here"},
		{at("file"), "it is a file, not a folder. Make the folder readable"},
		{at("train"), "there is no image for testing"},
		{at("test"), "there is no image for training"},
	} {
		if _, err := Open(t.Context(), Spec{Name: "core50", Dir: c.dir}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want it to say %q", c.dir, err, c.want)
		}
	}
}

// TestRealCORe50 opens the real frames where OCL_DATA has them, with the published lists beside them.
func TestRealCORe50(t *testing.T) {
	dir := filepath.Join(os.Getenv("OCL_DATA"), "core50")
	if os.Getenv("OCL_DATA") == "" || !exists(dir) {
		t.Skip("OCL_DATA has no folder core50, so no real frames are read")
	}
	t.Setenv("OCL_CACHE", t.TempDir())
	set, err := Open(t.Context(), Spec{Name: "core50", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	n := set.Train.Len() + set.Test.Len()
	if set.Incomplete != (n < 164866) || set.Incomplete != (len(set.Notes) > 0) || n < 90 {
		t.Errorf("%d images, incomplete %v, notes %q", n, set.Incomplete, set.Notes)
	}
}
