package data

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/bmp"

	"ocl/data/internal/picture"
)

// withPictures adds the data set "pictures" to the catalogue for a test: 6 image files of 4×4 in dir, of 2 classes, the
// last two for testing. It returns the folder.
func withPictures(t *testing.T, changes ...func(*Info)) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("OCL_CACHE", filepath.Join(t.TempDir(), "caches"))
	var names []string
	for i := range 6 {
		name := fmt.Sprintf("%d.bmp", i)
		names = append(names, name)
		writeBMP(t, filepath.Join(dir, name), uint8(40*i))
	}
	info := Info{
		Name: "pictures", Classes: 2, Train: 4, Test: 2, NeedsDir: true,
		list: func(_ context.Context, spec Spec) (*listing, error) {
			l := &listing{set: &Set{Name: "pictures", Classes: 2},
				pictures: pictures{set: "pictures", root: spec.Dir, files: names, side: 4, fit: picture.Crop}}
			for i := range names {
				l.entries = append(l.entries, entry{test: i >= 4, label: int32(i % 2)})
			}
			return l, nil
		},
	}
	for _, change := range changes {
		change(&info)
	}
	Restore(t)
	catalogue.Register("data", info)
	return dir
}

func writeBMP(t *testing.T, name string, grey uint8) {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, 4, 4))
	for i := range m.Pix {
		m.Pix[i] = grey + uint8(i)
	}
	var b bytes.Buffer
	if err := bmp.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// verified is the report on a data set; want are parts of its faults, one for each of them, in order.
func verified(t *testing.T, spec Spec, want ...string) Report {
	t.Helper()
	r, err := Verify(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Faults) != len(want) {
		t.Fatalf("faults %v, want %d", r.Faults, len(want))
	}
	for i, f := range r.Faults {
		if !strings.Contains(f.Error(), want[i]) || strings.Contains(f.Error(), "\n") {
			t.Errorf("fault %q, want one line with %q", f, want[i])
		}
	}
	return r
}

// hasNote says whether a note has such a part.
func (r Report) hasNote(part string) bool {
	return slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, part) })
}

// Files without fault have the digest that opening them gives, before there is a cache and with one, and no cache is
// made.
func TestVerifyGoodPictures(t *testing.T) {
	spec := Spec{Name: "pictures", Dir: withPictures(t), TrainPerClass: 1}
	first := verified(t, spec)
	if first.Images != 6 || !first.hasNote("there is no cache of the decoded images yet") {
		t.Errorf("%d images, notes %q", first.Images, first.Notes)
	}
	if _, err := os.Stat(os.Getenv("OCL_CACHE")); err == nil {
		t.Error("checking the files has made a cache")
	}
	set, err := Open(context.Background(), Spec{Name: "pictures", Dir: spec.Dir})
	if err != nil {
		t.Fatal(err)
	}
	second := verified(t, spec)
	if first.Digest != set.Digest || second.Digest != set.Digest {
		t.Errorf("digests %s and %s, want %s", first.Digest, second.Digest, set.Digest)
	}
	if !second.hasNote("was checked: " + os.Getenv("OCL_CACHE")) {
		t.Errorf("notes %q", second.Notes)
	}
}

// Every image that cannot be read is a fault, not only the first.
func TestVerifyNamesEveryBadPicture(t *testing.T) {
	spec := Spec{Name: "pictures", Dir: withPictures(t)}
	for name, text := range map[string]string{"1.bmp": "", "4.bmp": "GIF89a"} {
		if err := os.WriteFile(filepath.Join(spec.Dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(spec.Dir, "5.bmp")); err != nil {
		t.Fatal(err)
	}
	if r := verified(t, spec, "1.bmp: ", "4.bmp: ", "5.bmp: "); r.Digest != "" || r.Images != 6 {
		t.Errorf("%d images with the digest %s", r.Images, r.Digest)
	}
}

// With SkipUnreadable a file that cannot be read is a note, and the digest is that of the set without it. A file that
// is not there stays a fault.
func TestVerifyLeavesOutBadPictures(t *testing.T) {
	spec := Spec{Name: "pictures", Dir: withPictures(t), SkipUnreadable: true}
	bad := filepath.Join(spec.Dir, "1.bmp")
	if err := os.WriteFile(bad, []byte("GIF89a"), 0o644); err != nil {
		t.Fatal(err)
	}
	set, err := Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if r := verified(t, spec); r.Digest != set.Digest || r.Images != 6 ||
		!r.hasNote("1 unreadable image left out: 1.bmp") {
		t.Errorf("%d images, digest %s, want 6 and %s; notes %q", r.Images, r.Digest, set.Digest, r.Notes)
	}
	if err := os.Remove(bad); err != nil {
		t.Fatal(err)
	}
	verified(t, spec, "1.bmp: ")
}

// A note says of published files whether their digest is the official one, as far as this can be known.
func TestVerifyTellsOfTheDigest(t *testing.T) {
	set := tinySet()
	for _, c := range []struct {
		info Info
		want string
	}{
		{Info{Classes: 2}, "the program knows no digest of the official files"},
		{Info{Classes: 2, KnownDigests: []string{digestOf(t, set)}}, "the digest is that of the official files"},
		{Info{Classes: 2, KnownDigests: []string{"sha256:0"}}, "the digest is not that of the official files"},
		{Info{Classes: 2, KnownDigests: []string{"sha256:0"}, Size: 99},
			"known for images of 99 pixels only. Leave data.size out"},
		{Info{}, ""}, {Info{Classes: 2, Draws: true}, ""},
	} {
		r := &Report{}
		if r.hold(context.Background(), c.info, set); c.want == "" && len(r.Notes) > 0 || c.want != "" && !r.hasNote(c.want) {
			t.Errorf("notes %q, want %q", r.Notes, c.want)
		}
	}
}

// A cache with a changed pixel is a fault; so is one whose file shows another image than before, with the size and the
// time that it had. A cache whose header is damaged is a note, as it is made again without asking.
func TestVerifyHoldsTheCacheAgainstTheFiles(t *testing.T) {
	spec := Spec{Name: "pictures", Dir: withPictures(t)}
	open := func() string {
		t.Helper()
		if _, err := Open(context.Background(), spec); err != nil {
			t.Fatal(err)
		}
		found, err := filepath.Glob(filepath.Join(os.Getenv("OCL_CACHE"), "*.images"))
		if err != nil || len(found) != 1 {
			t.Fatalf("caches %v (%v), want one", found, err)
		}
		return found[0]
	}
	cached := open()
	text, err := os.ReadFile(cached)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(at int, b byte) {
		t.Helper()
		harmed := slices.Clone(text)
		harmed[at] ^= b
		// A new file under the old name: the images that are open keep theirs.
		if err := errors.Join(os.WriteFile(cached+".new", harmed, 0o644), os.Rename(cached+".new", cached)); err != nil {
			t.Fatal(err)
		}
	}
	const pixels = 48 // where they begin
	changed(pixels+2*48+5, 1)
	verified(t, spec, "image 2: its SHA-256 is ")
	changed(8, 1) // the version
	if r := verified(t, spec); !r.hasNote("format version 3") || !r.hasNote("The next run makes the cache again") {
		t.Errorf("notes %q", r.Notes)
	}
	changed(0, 0)

	name := filepath.Join(spec.Dir, "3.bmp")
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(filepath.Join(spec.Dir, "2.bmp"))
	if err != nil || int64(len(other)) != info.Size() {
		t.Fatalf("the images have %d and %d bytes (%v), want equally many", len(other), info.Size(), err)
	}
	if err := errors.Join(os.WriteFile(name, other, 0o644), os.Chtimes(name, info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
	verified(t, spec, "3.bmp: the file shows another image than the cache has. Run `ocl data cache clean pictures`")
}

// Counts decide: a data set with fewer images than were published has a fault, unless it says itself that images are
// absent.
func TestVerifyHoldsTheCounts(t *testing.T) {
	incomplete := false
	spec := Spec{Name: "pictures", Dir: withPictures(t, func(i *Info) {
		list := i.list
		i.Train, i.Test, i.list = 5, 1, func(ctx context.Context, spec Spec) (*listing, error) {
			l, err := list(ctx, spec)
			if incomplete {
				l.set.Incomplete, l.set.Notes = true, []string{"some images are absent"}
			}
			return l, err
		}
	})}
	verified(t, spec, "the training half has 4 images instead of 5", "the test half has 2 images instead of 1")
	incomplete = true
	if r := verified(t, spec); !r.hasNote("some images are absent") {
		t.Errorf("notes %q", r.Notes)
	}
}

// The faults of both files of CIFAR-100 are reported.
func TestVerifyCIFAR(t *testing.T) {
	dir := writeFolder(t, t.TempDir(), map[string][]byte{"train.bin": {1}, "test.bin": nil})
	verified(t, Spec{Name: "cifar100", Dir: dir}, "train.bin: the file is truncated", "test.bin: the file is truncated")
}

// What is not about the data is an error and no report.
func TestVerifyRefuses(t *testing.T) {
	dir := withPictures(t)
	stopped, stop := context.WithCancel(context.Background())
	stop()
	if r, err := Verify(stopped, Spec{Name: "pictures", Dir: dir}); !errors.Is(err, context.Canceled) || r.Images != 0 {
		t.Errorf("%+v (%v)", r, err)
	}
	for want, spec := range map[string]Spec{"unknown data set": {Name: "picture"},
		"data.size: 4 is out of range": {Name: "glyphs", Size: 4}} {
		if _, err := Verify(context.Background(), spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// An image that is wrong is one fault although two errors are in it.
func TestVerifySplitsJoinedErrorsOnly(t *testing.T) {
	r := &Report{}
	r.fault(fmt.Errorf("a: %w: %w", errors.New("b"), errors.New("c")))
	r.fault(errors.Join(errors.New("d"), errors.New("e")))
	if len(r.Faults) != 3 {
		t.Errorf("faults %v, want 3", r.Faults)
	}
}
