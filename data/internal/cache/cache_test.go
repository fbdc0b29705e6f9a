package cache

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A second Open decodes nothing and gives the same bits; so does reading where nothing can be mapped.
func TestReopened(t *testing.T) {
	s, calls := small(t, 100)
	m := mustOpen(t, s)
	wantImages(t, m)
	if calls.Load() != 100 || m.Note() != "" || len(m.Faults()) != 0 {
		t.Errorf("%d calls, note %q, faults %v", calls.Load(), m.Note(), m.Faults())
	}
	s.Decode = func(int, []uint8) error { return errors.New("called again") }
	again := mustOpen(t, s)
	wantImages(t, again)
	if (runtime.GOOS == "linux" || runtime.GOOS == "darwin" || runtime.GOOS == "windows") && again.data == nil {
		t.Error("the file is not mapped")
	}
	for i := range 100 {
		if again.Sum(i) != sumOf(drawn(i)) {
			t.Fatalf("the sum of image %d is %x", i, again.Sum(i))
		}
	}
	if errs := again.Verify(context.Background(), nil); errs != nil {
		t.Error(errs)
	}
	wantImages(t, unmapped(t, s))
	other := s
	other.Key += "2"
	if _, err := Open(context.Background(), other); err == nil || !strings.Contains(err.Error(), "called again") {
		t.Errorf("another key: error %v, want it built", err)
	}
}

// Images that may not be written have the sums, the faults and the pixels of those in a file, which is used where there is one.
func TestReadOnly(t *testing.T) {
	s, calls := small(t, 50)
	draw := s.Decode
	s.Decode = func(i int, dst []uint8) error {
		if i == 7 {
			return errors.New("no image")
		}
		return draw(i, dst)
	}
	s.ReadOnly = true
	if _, err := Open(t.Context(), s); err == nil || !strings.Contains(err.Error(), "data: cache: small: 1 of 50 images cannot be decoded: no image") {
		t.Errorf("an image that cannot be decoded: %v", err)
	}
	s.Skip = true
	m := mustOpen(t, s)
	if _, err := os.Stat(s.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of the caches is there: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ended, s); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	s.ReadOnly = false
	filed := mustOpen(t, s)
	if !slices.Equal(m.Faults(), filed.Faults()) {
		t.Errorf("faults %v, in a file %v", m.Faults(), filed.Faults())
	}
	buf := slices.Repeat([]uint8{9}, 30) // what was in it must not show
	for i := range 50 {
		got, err := m.Image(i, buf)
		want, other := filed.Image(i, nil)
		if (err == nil) != (other == nil) || !bytes.Equal(got, want) || m.Sum(i) != filed.Sum(i) {
			t.Errorf("image %d is %v (%v), in a file %v (%v)", i, got, err, want, other)
		}
	}
	before := calls.Load()
	s.ReadOnly = true
	again := mustOpen(t, s)
	if got, err := again.Image(3, nil); err != nil || !bytes.Equal(got, drawn(3)) || again.Path() != filed.Path() || calls.Load() != before {
		t.Errorf("with a file: %v, %v of %q, decoded %d times", got, err, again.Path(), calls.Load()-before)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if _, err := m.Image(3, nil); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// unmapped opens a cache as on a system without mapping.
func unmapped(t *testing.T, s Spec) *Images {
	t.Helper()
	m := mustOpen(t, s)
	f, err := os.Open(m.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m.file = f
	return m
}

// Workers and the order in which they finish change no byte of the file. A decoder that leaves bytes out leaves zeros.
func TestFileIsAFunctionOfTheSpec(t *testing.T) {
	var files [][]byte
	for _, workers := range []int{1, 2, 7} {
		s, _ := small(t, 64)
		s.Workers, s.Skip = workers, true
		s.Decode = func(i int, dst []uint8) error {
			time.Sleep(time.Duration((i*7919+workers*31)%5) * 100 * time.Microsecond)
			draw(i, dst[:len(dst)-i%20])
			if i%3 == 1 {
				return errors.New("refused")
			}
			return nil
		}
		m := mustOpen(t, s)
		b, err := os.ReadFile(m.path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, b)
	}
	if !bytes.Equal(files[0], files[1]) || !bytes.Equal(files[0], files[2]) {
		t.Error("the files differ")
	}
}

// One changed pixel is an error about that image alone, each time, and Verify lists all of them.
func TestDamagedPixel(t *testing.T) {
	s, calls := small(t, 50)
	mustOpen(t, s).Close()
	change(t, only(t, s.Dir), func(b []byte) []byte {
		b[pixelsAt+7*30+29] ^= 1
		b[pixelsAt+40*30] ^= 0x80
		return b
	})
	for _, m := range []*Images{mustOpen(t, s), unmapped(t, s)} {
		for range 2 {
			for i := range 50 {
				got, err := m.Image(i, nil)
				if i != 7 && i != 40 {
					if err != nil || !bytes.Equal(got, drawn(i)) {
						t.Errorf("image %d: %v (%v)", i, got, err)
					}
					continue
				}
				for _, part := range []string{m.path, fmt.Sprintf("image %d: ", i), "Run `ocl data cache clean`"} {
					if !errors.Is(err, ErrDamaged) || got != nil || !strings.Contains(err.Error(), part) {
						t.Errorf("image %d: %v, error %v; want %s", i, got, err, part)
					}
				}
			}
		}
		errs := m.Verify(context.Background(), nil)
		if len(errs) != 2 || !strings.Contains(errs[0].Error(), "image 7:") || !strings.Contains(errs[1].Error(), "image 40:") {
			t.Errorf("Verify found %v, want images 7 and 40", errs)
		}
	}
	if calls.Load() != 50 {
		t.Errorf("%d calls of Decode, want 50: pixels are not built again unasked", calls.Load())
	}
}

// An image that was right when it was first used, and that Verify finds changed later, is no longer given out.
func TestVerifyForgetsWhatWasRight(t *testing.T) {
	s, _ := small(t, 5)
	m := unmapped(t, s)
	wantImages(t, m)
	f, err := os.OpenFile(m.path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteAt([]byte{99}, pixelsAt+3*30+9)
	f.Close()
	if errs := m.Verify(context.Background(), nil); len(errs) != 1 || !errors.Is(errs[0], ErrDamaged) {
		t.Errorf("Verify found %v, want one image", errs)
	}
	if _, err := m.Image(3, nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("error %v, want ErrDamaged", err)
	}
}

// A file whose header, index or size is wrong is built again, and the note says why. A second Open has no note.
func TestUnfitFileIsBuiltAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(b []byte) []byte
		note   string
	}{
		"empty":          {func([]byte) []byte { return nil }, "it has 0 bytes"},
		"magic":          {func(b []byte) []byte { b[3] = 'x'; return b }, `it starts with "OCLxMGS\n"`},
		"version":        {func(b []byte) []byte { b[8]++; return b }, "it has format version 2, but this ocl reads 1"},
		"header length":  {func(b []byte) []byte { b[15] = 0xff; return b }, "its header has 4,2"},
		"length by one":  {func(b []byte) []byte { b[12]++; return b }, "the header is not the JSON"},
		"sum":            {func(b []byte) []byte { b[20]++; return b }, "the SHA-256 of its header and index"},
		"index":          {func(b []byte) []byte { b[pixelsAt+50*30+3]++; return b }, "the SHA-256 of its header and index"},
		"header":         {func(b []byte) []byte { return bytes.Replace(b, []byte("a test"), []byte("a pest"), 1) }, "the SHA-256 of its header and index"},
		"number":         {func(b []byte) []byte { return bytes.Replace(b, []byte(`"images":50`), []byte(`"images":51`), 1) }, "51 images of [2 3 5] take"},
		"cut":            {func(b []byte) []byte { return b[:len(b)-1] }, "the header is not the JSON"},
		"cut in pixels":  {func(b []byte) []byte { return b[:pixelsAt+900] }, "the header is not the JSON"},
		"one byte more":  {func(b []byte) []byte { return append(b, '}') }, "the header is not the JSON"},
		"all zero":       {func(b []byte) []byte { clear(b); return b }, `it starts with "\x00`},
		"another's file": {func([]byte) []byte { return []byte("a file of somebody") }, "it has 18 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			s, calls := small(t, 50)
			mustOpen(t, s).Close()
			change(t, only(t, s.Dir), tt.change)
			m := mustOpen(t, s)
			if calls.Load() != 100 || !strings.Contains(m.Note(), only(t, s.Dir)) || !strings.Contains(m.Note(), tt.note) || !strings.HasSuffix(m.Note(), ". It was built again") {
				t.Errorf("%d calls of Decode, note %q, want 100 and %q", calls.Load(), m.Note(), tt.note)
			}
			wantImages(t, m)
			if again := mustOpen(t, s); again.Note() != "" || calls.Load() != 100 {
				t.Errorf("%d calls and note %q when it is opened again", calls.Load(), again.Note())
			}
		})
	}
}

// A key that forgets the shape or the number does not give wrong images.
func TestFileOfAnotherShapeIsBuiltAgain(t *testing.T) {
	s, calls := small(t, 50)
	mustOpen(t, s).Close()
	s.N = 49
	m := mustOpen(t, s)
	if m.Len() != 49 || calls.Load() != 99 {
		t.Errorf("%d images after %d calls", m.Len(), calls.Load())
	}
	m.Close()
	s.Shape = [3]int{5, 3, 2}
	if m := mustOpen(t, s); calls.Load() != 148 || !strings.Contains(m.Note(), "it has 49 images of [2 3 5], but 49 of [5 3 2] are wanted") {
		t.Errorf("%d calls, note %q", calls.Load(), m.Note())
	}
}

// What is no regular file, is left alone.
func TestFolderInThePlaceOfTheFile(t *testing.T) {
	s, calls := small(t, 5)
	path := filepath.Join(s.Dir, keyOf(s.Key)+fileSuffix)
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), s); err == nil || !strings.Contains(err.Error(), path+" is not a file. Remove it") || calls.Load() != 0 {
		t.Errorf("error %v after %d calls", err, calls.Load())
	}
}

// Images that Decode refuses are left out or fail the build, as Skip says; if all are refused, the build fails.
func TestFaults(t *testing.T) {
	s, calls := small(t, 30)
	decode := s.Decode
	s.Decode = func(i int, dst []uint8) error {
		if err := decode(i, dst); i%3 != 1 {
			return err
		}
		return fmt.Errorf("file %d:\n\x1b[31mbad marker", i)
	}
	_, err := Open(context.Background(), s)
	if want := "data: cache: small: 10 of 30 images cannot be decoded: file 1: \ufffd[31mbad marker; file 4:"; err == nil || !strings.HasPrefix(err.Error(), want) ||
		!strings.Contains(err.Error(), "; file 13: \ufffd[31mbad marker; and 5 more. Mend") {
		t.Errorf("error %v\nwant  %s", err, want)
	}
	wantEmpty(t, s.Dir)
	s.Skip = true
	for range 2 { // built, and opened
		m := mustOpen(t, s)
		if len(m.Faults()) != 10 || m.Faults()[2] != (Fault{7, "file 7: \ufffd[31mbad marker"}) || calls.Load() != 60 {
			t.Errorf("faults %v after %d calls", m.Faults(), calls.Load())
		}
		for i := range 30 {
			got, err := m.Image(i, nil)
			if out := i%3 == 1; out != (err != nil) || out && (m.Sum(i) != [32]byte{} || !strings.Contains(err.Error(), fmt.Sprintf("image %d was left out: file %d:", i, i))) ||
				!out && !bytes.Equal(got, drawn(i)) {
				t.Errorf("image %d: %v, error %v", i, got, err)
			}
		}
		if errs := m.Verify(context.Background(), nil); errs != nil {
			t.Error(errs)
		}
		m.Close()
	}
	s.Skip, s.Decode = false, decode // who wants all images does not get a file without some
	if m := mustOpen(t, s); len(m.Faults()) != 0 || !strings.Contains(m.Note(), "it lacks 10 of 30 images") {
		t.Errorf("faults %v, note %q", m.Faults(), m.Note())
	}
	s.Skip, s.Key = true, "none"
	s.Decode = func(int, []uint8) error { return errors.New("none") }
	if _, err := Open(context.Background(), s); err == nil || !strings.Contains(err.Error(), "30 of 30 images cannot be decoded") {
		t.Errorf("no image at all: error %v", err)
	}
}

// Shapes and numbers that no file can have are refused before anything is made.
func TestImpossibleSpecs(t *testing.T) {
	for _, change := range []func(*Spec){
		func(s *Spec) { s.N = 0 }, func(s *Spec) { s.N = -1 }, func(s *Spec) { s.N = int(^uint(0) >> 1) }, func(s *Spec) { s.Shape[1] = 0 },
		func(s *Spec) { s.Shape = [3]int{1 << 15, 1 << 15, 2} }, func(s *Spec) { s.Shape[2] = -5 }, func(s *Spec) { s.Decode = nil },
	} {
		s, calls := small(t, 5)
		change(&s)
		if _, err := Open(context.Background(), s); err == nil || !strings.HasPrefix(err.Error(), "data: cache: small: ") || calls.Load() != 0 {
			t.Errorf("%d images of %v: error %v", s.N, s.Shape, err)
		}
		wantEmpty(t, s.Dir)
	}
}

// When ctx ends, building stops after the images at work, and nothing is left.
func TestCancelLeavesNothing(t *testing.T) {
	s, calls := small(t, 100000)
	ctx, cancel := context.WithCancel(context.Background())
	decode := s.Decode
	s.Decode = func(i int, dst []uint8) error {
		if i == 50 {
			cancel()
		}
		return decode(i, dst)
	}
	_, err := Open(ctx, s)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want context.Canceled", err)
	}
	for _, part := range []string{"building small in " + s.Dir, "takes 7 MB", "$OCL_CACHE"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
	if n := calls.Load(); n > 50+1+2*4 {
		t.Errorf("%d calls of Decode by 4 workers after the end at image 50", n)
	}
	wantEmpty(t, s.Dir)
}

// The calls of Progress come one at a time, grow, and go from 0 to all.
func TestProgress(t *testing.T) {
	s, _ := small(t, 60)
	decode := s.Decode
	s.Decode = func(i int, dst []uint8) error {
		time.Sleep(50 * time.Millisecond)
		return decode(i, dst)
	}
	var seen []int
	s.Progress = func(done, total int) {
		if total != 60 {
			t.Errorf("a total of %d", total)
		}
		seen = append(seen, done) // the race detector sees two at a time
	}
	m := mustOpen(t, s)
	if len(seen) < 3 || len(seen) > 60 || seen[0] != 0 || seen[len(seen)-1] != 60 || !slices.IsSorted(seen) {
		t.Errorf("progress %v, want a few numbers from 0 to 60", seen)
	}
	seen = nil
	m.Verify(context.Background(), s.Progress)
	if seen[0] != 0 || seen[len(seen)-1] != 60 {
		t.Errorf("progress of Verify %v", seen)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if errs := m.Verify(ended, nil); len(errs) != 1 || !errors.Is(errs[0], context.Canceled) {
		t.Errorf("Verify with an ended ctx: %v", errs)
	}
}

// Images are used by many goroutines at once, and a use after the first allocates nothing.
func TestImageIsConcurrent(t *testing.T) {
	s, _ := small(t, 500)
	m := mustOpen(t, s)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 500 {
				if got, err := m.Image(i, nil); err != nil || binary.LittleEndian.Uint32(got) != uint32(i) {
					t.Errorf("image %d: %v (%v)", i, got, err)
				}
			}
		})
	}
	group.Wait()
	for name, m := range map[string]*Images{"checked": m, "first use": mustOpen(t, s), "read": unmapped(t, s)} {
		i, buf := 0, make([]uint8, 30)
		if n := testing.AllocsPerRun(400, func() { m.Image(i, buf); i++ }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestImageOutOfRangePanics(t *testing.T) {
	s, _ := small(t, 5)
	m := mustOpen(t, s)
	for _, i := range []int{-1, 5} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("image %d of 5: no panic", i)
				}
			}()
			m.Image(i, nil)
		}()
	}
}

func TestClosed(t *testing.T) {
	s, _ := small(t, 5)
	for _, m := range []*Images{mustOpen(t, s), unmapped(t, s)} {
		wantImages(t, m)
		if err := errors.Join(m.Close(), m.Close()); err != nil {
			t.Error(err)
		}
		if _, err := m.Image(1, nil); !errors.Is(err, os.ErrClosed) {
			t.Errorf("error %v, want os.ErrClosed", err)
		}
	}
}

func TestDir(t *testing.T) {
	t.Setenv(Folder, "")
	base, err := os.UserCacheDir()
	if dir, is := Dir(); (err == nil) != (is == nil) || err == nil && dir != filepath.Join(base, "ocl") {
		t.Errorf("%s (%v), want ocl in %s (%v)", dir, is, base, err)
	}
	want := t.TempDir()
	t.Setenv(Folder, want)
	s, _ := small(t, 3)
	s.Dir = ""
	if m := mustOpen(t, s); filepath.Dir(m.path) != want {
		t.Errorf("the cache is %s, want it in %s", m.path, want)
	}
	if all, err := List(""); len(all) != 1 || err != nil {
		t.Errorf("listed %v (%v)", all, err)
	}
}
