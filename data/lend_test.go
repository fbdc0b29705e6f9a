package data

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"ocl/checkpoint"
)

// lendFile is the file of a lent set.
func lendFile(t testing.TB, s *Set) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Lend(context.Background(), &b, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// whole is a set without its images, and all of their bytes.
func whole(t *testing.T, s *Set) (Set, [][]byte) {
	t.Helper()
	plain, all := *s, make([][]byte, 2)
	for k, half := range plain.halves() {
		for i := range half.Len() {
			b, err := half.Images.Image(i, make([]byte, s.ImageLen()))
			if err != nil {
				t.Fatal(err)
			}
			all[k] = append(all[k], b...)
		}
		half.Images = nil
	}
	return plain, all
}

// TestLentSetIsTheSame lends sets in memory, of a cache, of grey images in three channels and of embeddings.
func TestLentSetIsTheSame(t *testing.T) {
	t.Setenv("OCL_CACHE", t.TempDir())
	tiny := tinySet()
	tiny.Name, tiny.Tasks, tiny.TaskNames, tiny.Notes, tiny.Orders = "tiny", 2, []string{"x", "y"}, []string{"a note"},
		Orders{Classes: [][]int{{1, 0}}, TaskClasses: []int{1, 1}}
	tiny.Train.Task = []int32{0, 1}
	tiny.Digest = digestOf(t, tiny)
	made := &Set{Name: "made", C: 1, H: 1, W: 1, Embeddings: true, Of: [3]int{3, 8, 8}, By: "net", ByDigest: "sha256:0a",
		Classes: 2, Digest: "of what they were made of",
		Train: Split{Images: Block{[]uint8{1, 2, 3, 4}, 2}, Y: []int32{0, 1}},
		Test:  Split{Images: Block{[]uint8{5, 6}, 2}, Y: []int32{1}}}
	dir := t.TempDir()
	for _, class := range []string{"a", "b"} {
		for _, name := range []string{"1.png", "2.png", "3.png"} {
			putFile(t, filepath.Join(dir, class, name), square(t, name, uint8(len(class)+int(name[0])), 9, 9))
		}
	}
	cached, err := Open(context.Background(), Spec{Name: "folder", Dir: dir, Size: 8})
	if err != nil {
		t.Fatal(err)
	}
	if _, is := cached.Train.Images.(summed); !is {
		t.Fatal("the images of the folder are in no cache")
	}
	grey, err := Open(context.Background(), Spec{Name: "glyphs", TrainPerClass: 2, TestPerClass: 1, Channels: 3})
	if err != nil {
		t.Fatal(err)
	}
	cached.Root, cached.Train.Files, cached.Test.Files = "", nil, nil // another machine has none
	for _, s := range []*Set{tiny, made, cached, grey} {
		path := filepath.Join(t.TempDir(), "lent")
		if err := os.WriteFile(path, lendFile(t, s), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Borrow(context.Background(), path, s.Digest)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		want, wantBytes := whole(t, s)
		have, haveBytes := whole(t, got)
		if !reflect.DeepEqual(want, have) || !reflect.DeepEqual(wantBytes, haveBytes) {
			t.Errorf("%s became\n%+v\ninstead of\n%+v", s.Name, have, want)
		}
		if !s.Embeddings && digestOf(t, got) != s.Digest {
			t.Errorf("%s: the digest of the borrowed images is another one", s.Name)
		}
		if n := len(wantBytes[0]) + len(wantBytes[1]); got.Train.MemoryBytes()+got.Test.MemoryBytes() != int64(n) {
			t.Errorf("%s: %d bytes of memory, %d of images", s.Name, got.Train.MemoryBytes()+got.Test.MemoryBytes(), n)
		}
		if _, err := Borrow(context.Background(), path, "sha256:other"); err == nil ||
			!strings.Contains(err.Error(), "instead of sha256:other") {
			t.Errorf("%s as another set: %v", s.Name, err)
		}
	}
}

// TestLentSetThatIsWrong changes what the file says.
func TestLentSetThatIsWrong(t *testing.T) {
	for name, change := range map[string]func(*lent, map[string]*[]byte){
		"version":    func(l *lent, _ map[string]*[]byte) { l.Version = 2 },
		"shape":      func(l *lent, _ map[string]*[]byte) { l.Set.W = 1 << 40 },
		"classes":    func(l *lent, _ map[string]*[]byte) { l.Set.Classes = 0 },
		"labels":     func(l *lent, _ map[string]*[]byte) { l.Set.Train.Y[0] = 7 },
		"fewer":      func(_ *lent, p map[string]*[]byte) { *p["lent/test/images"] = nil },
		"pixel":      func(_ *lent, p map[string]*[]byte) { (*p["lent/train/images"])[0]++ },
		"sums":       func(_ *lent, p map[string]*[]byte) { *p["lent/train/sums"] = make([]byte, 32) },
		"no sums":    func(l *lent, _ map[string]*[]byte) { l.Summed[0] = true },
		"content":    func(l *lent, _ map[string]*[]byte) { l.Content = "sha256:0a" },
		"its digest": func(l *lent, _ map[string]*[]byte) { l.Set.Digest = "sha256:0a" },
	} {
		s := tinySet()
		s.Digest = digestOf(t, s)
		file, err := checkpoint.Parse(lendFile(t, s))
		if err != nil {
			t.Fatal(err)
		}
		var l lent
		parts, sections := checkpoint.Parts{checkpoint.JSON(lentSection, &l)}, map[string]*[]byte{}
		for _, half := range lentHalves {
			for _, section := range []string{half + "/images", half + "/sums"} {
				sections[section] = new([]byte)
				parts = append(parts, checkpoint.Bytes(section, sections[section]))
			}
		}
		if err := parts.LoadState(file.Decoder()); err != nil {
			t.Fatal(err)
		}
		change(&l, sections)
		wrong := checkpoint.NewContainer()
		if err := parts.SaveState(wrong.Encoder()); err != nil {
			t.Fatal(err)
		}
		if _, err := borrowed(context.Background(), wrong.Decoder()); err == nil {
			t.Errorf("%s: it is opened", name)
		}
	}
}

// FuzzBorrow reads the fuzzer's bytes as a lent set.
func FuzzBorrow(f *testing.F) {
	s := tinySet()
	s.Digest = "sha256:0a"
	f.Add(lendFile(f, s))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := checkpoint.Parse(b)
		if err != nil {
			return
		}
		if s, err := borrowed(context.Background(), file.Decoder()); err == nil && s.Train.Images.Len() != s.Train.Len() {
			t.Error("it has another number of images than of labels")
		}
	})
}
