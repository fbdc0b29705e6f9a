package cache

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ocl/internal/fuzztest"
)

// small is a spec of n images 2×3×5, and gives the caches a folder of their own. Each pixel depends on the image and on
// the place. calls counts the calls of Decode.
func small(t testing.TB, n int) (s Spec, calls *atomic.Int64) {
	calls = new(atomic.Int64)
	t.Setenv(Folder, filepath.Join(t.TempDir(), "caches"))
	return Spec{Name: "small", Source: "a test", Key: "small", Shape: [3]int{2, 3, 5}, N: n,
		Decode: func(i int, dst []uint8) error {
			calls.Add(1)
			draw(i, dst)
			return nil
		}}, calls
}

// folder is that of the caches.
func folder() string { return os.Getenv(Folder) }

// draw writes an image that no other index has.
func draw(i int, dst []uint8) {
	for k := range dst {
		dst[k] = uint8(i*7 + k)
	}
	binary.LittleEndian.PutUint32(dst, uint32(i))
}

// drawn is image i of small.
func drawn(i int) []uint8 {
	dst := make([]uint8, 30)
	draw(i, dst)
	return dst
}

func mustOpen(t testing.TB, s Spec) *Images {
	t.Helper()
	m, err := Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// wantImages compares all images of small with what draw writes.
func wantImages(t *testing.T, m *Images) {
	t.Helper()
	var buf []uint8
	for i := range m.Len() {
		got, err := m.Image(i, buf)
		if err != nil || !bytes.Equal(got, drawn(i)) {
			t.Fatalf("image %d is %v (%v), want %v", i, got, err, drawn(i))
		}
		buf = got
	}
}

// wantFiles wants these files in a folder besides the lock.
func wantFiles(t testing.TB, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.Name() != ".lock" {
			names = append(names, e.Name())
		}
	}
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("%s holds %v\nwant %v", dir, names, want)
	}
}

// change changes bytes of a file in its place.
func change(t testing.TB, path string, f func(b []byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, f(b), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A second Open decodes nothing and gives the same bits; another key is another file.
func TestReopened(t *testing.T) {
	s, calls := small(t, 100)
	wantImages(t, mustOpen(t, s))
	m := mustOpen(t, s)
	wantImages(t, m)
	if errs := m.Verify(t.Context(), nil); len(errs) != 0 || calls.Load() != 100 || len(m.Faults()) != 0 ||
		!bytes.Equal(sumOf(drawn(7)), m.index[7*32:8*32]) {
		t.Errorf("%v, %d calls, faults %v", errs, calls.Load(), m.Faults())
	}
	wantFiles(t, folder(), fileOf("small"))
	s.Key = "other"
	mustOpen(t, s)
	wantFiles(t, folder(), fileOf("small"), fileOf("other"))
	if err := errors.Join(m.Close(), m.Close()); err != nil {
		t.Error(err)
	}
	if _, err := m.Image(1, nil); !strings.Contains(fmt.Sprint(err), "file already closed") {
		t.Errorf("after Close: %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("image -1: no panic")
		}
	}()
	m.Image(-1, nil)
}

// Images are used by many goroutines at once, and a use allocates nothing.
func TestImageIsConcurrent(t *testing.T) {
	s, _ := small(t, 500)
	m := mustOpen(t, s)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { wantImages(t, m) })
	}
	group.Wait()
	i, buf := 0, make([]uint8, 30)
	if n := testing.AllocsPerRun(400, func() { m.Image(i, buf); i++ }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// Images that may not be written have the sums, the faults and the pixels of those in a file, which is used where there
// is one.
func TestReadOnly(t *testing.T) {
	s, calls := small(t, 50)
	s.Decode = refusing(s.Decode, func(i int) bool { return i == 7 })
	s.ReadOnly = true
	if _, err := Open(t.Context(), s); err == nil ||
		!strings.Contains(err.Error(), "data: cache: small: 1 of 50 images cannot be decoded: file 7") {
		t.Errorf("an image that cannot be decoded: %v", err)
	}
	s.Skip = true
	m := mustOpen(t, s)
	if _, err := os.Stat(folder()); !errors.Is(err, fs.ErrNotExist) {
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
	if again := mustOpen(t, s); again.Path() != filed.Path() || calls.Load() != before {
		t.Errorf("with a file: %q, decoded %d times", again.Path(), calls.Load()-before)
	}
}

// refusing refuses some images.
func refusing(decode func(int, []uint8) error, those func(i int) bool) func(int, []uint8) error {
	return func(i int, dst []uint8) error {
		if err := decode(i, dst); err != nil || !those(i) {
			return err
		}
		return fmt.Errorf("file %d:\n\x1b[31mbad marker", i)
	}
}

// Workers and the order in which they finish change no byte of the file. A decoder that leaves bytes out leaves zeros.
func TestFileIsAFunctionOfTheSpec(t *testing.T) {
	var files [][]byte
	for _, workers := range []int{1, 7} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers))
		s, _ := small(t, 64)
		s.Skip, s.Source = true, strings.Repeat("ü", 300)+"\n" // longer than a text may be
		s.Decode = refusing(func(i int, dst []uint8) error {
			time.Sleep(time.Duration((i*7919+workers*31)%5) * 100 * time.Microsecond)
			draw(i, dst[:len(dst)-i%20])
			return nil
		}, func(i int) bool { return i%3 == 1 })
		b, err := os.ReadFile(mustOpen(t, s).path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, b)
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("the files differ")
	}
	// The bytes are in their places as format.go says.
	b := files[0]
	index, text := b[48+64*30:][:64*32], b[48+64*62:]
	want := `{"name":"small","source":"` + strings.Repeat("ü", 200) + `…","key":"` + keyOf("small") +
		`","shape":[2,3,5],"images":64,"faults":[{"image":1,"message":"file 1:  [31mbad marker"},`
	if string(b[:12]) != "OCLIMGS\n\x02\x00\x00\x00" || !bytes.Equal(b[16:48], sumOf(b[:16], index, text)) ||
		!bytes.HasPrefix(text, []byte(want)) {
		t.Errorf("prefix %x, header\n%s\nwant\n%s", b[:48], text, want)
	}
}

// One changed pixel is an error about that image alone, each time, and Verify lists all of them, also those that were
// right before. So is a file that has become shorter.
func TestDamagedPixels(t *testing.T) {
	s, calls := small(t, 50)
	m := mustOpen(t, s)
	wantImages(t, m)
	change(t, m.path, func(b []byte) []byte {
		b[m.layout.imageAt(7)+29] ^= 1
		b[m.layout.imageAt(40)] ^= 0x80
		return b
	})
	wantDamaged := func(m *Images, from int, which ...int) {
		t.Helper()
		errs := m.Verify(t.Context(), nil)
		if len(errs) != len(which)+50-from {
			t.Fatalf("Verify found %v", errs)
		}
		for k, i := range which {
			_, err := m.Image(i, nil)
			for _, part := range []string{m.path, fmt.Sprintf("image %d: ", i), "Run `ocl data cache clean`"} {
				if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), part) || err.Error() != errs[k].Error() {
					t.Errorf("image %d: %v, of Verify %v; want %s", i, err, errs[k], part)
				}
			}
		}
		for i := range from {
			if got, err := m.Image(i, nil); !slices.Contains(which, i) && (err != nil || !bytes.Equal(got, drawn(i))) {
				t.Errorf("image %d: %v (%v)", i, got, err)
			}
		}
	}
	wantDamaged(m, 50, 7, 40)
	wantDamaged(mustOpen(t, s), 50, 7, 40)
	if err := os.Truncate(m.path, m.layout.imageAt(30)+5); err != nil {
		t.Fatal(err)
	}
	wantDamaged(m, 30, 7)
	if _, err := m.Image(49, nil); !errors.Is(err, ErrDamaged) ||
		!strings.Contains(err.Error(), "image 49: it cannot be read (EOF)") {
		t.Errorf("an image that is gone: %v", err)
	}
	if calls.Load() != 50 {
		t.Errorf("%d calls of Decode, want 50: pixels are not built again unasked", calls.Load())
	}
}

// A file that was cut and has become as long again has zeros for images that were right before.
func TestCutAndGrown(t *testing.T) {
	s, _ := small(t, 50)
	m := mustOpen(t, s)
	wantImages(t, m)
	for _, size := range []int64{m.layout.imageAt(30), m.layout.size()} {
		if err := os.Truncate(m.path, size); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if _, err := m.Image(40, nil); !errors.Is(err, ErrDamaged) {
			t.Errorf("an image that became zeros: %v", err)
		}
		if got, err := m.Image(20, nil); err != nil || !bytes.Equal(got, drawn(20)) {
			t.Errorf("an image before them: %v (%v)", got, err)
		}
	}
}

// TestSparseFile: a file that is long and has nothing in it takes little memory, whatever its beginning and end say.
func TestSparseFile(t *testing.T) {
	end := []byte(`{"shape":[1,1,1],"images":`)
	for name, c := range map[string]struct{ images, header uint32 }{"images": {1 << 30, 100},
		"header": {1, math.MaxUint32}} {
		text := fmt.Appendf(slices.Clone(end), "%d}", c.images)
		size := int64(prefixSize) + int64(c.images)*33 + int64(c.header)
		f, err := os.Create(filepath.Join(t.TempDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := f.Truncate(size); err != nil {
			t.Skip(err)
		}
		prefix := binary.LittleEndian.AppendUint32([]byte(magic+"\x02\x00\x00\x00"), c.header)
		_, prefixErr := f.WriteAt(prefix, 0)
		_, err = f.WriteAt(append(bytes.Repeat([]byte(" "), 100-len(text)), text...), size-100)
		if err := errors.Join(prefixErr, err); err != nil {
			t.Fatal(err)
		}
		const most = 1 << 20
		if n := fuzztest.Allocated(most, func() {
			if _, _, _, err = read(f, size); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: %v", name, err)
			}
		}); n > most {
			t.Errorf("%s: %d bytes are allocated", name, n)
		}
	}
}

// A file whose header, index or size is wrong, or that has other images, is built again, and Find says why.
func TestUnfitFileIsBuiltAgain(t *testing.T) {
	whole := func(b []byte) []byte { return b }
	replace := func(old, text string) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(text), 1) }
	}
	for name, tt := range map[string]struct {
		change func(b []byte) []byte
		want   string
		other  func(*Spec)
	}{
		"empty":         {func([]byte) []byte { return nil }, "it has 0 bytes and does not begin with", nil},
		"magic":         {func(b []byte) []byte { b[3] = 'x'; return b }, "does not begin with", nil},
		"version":       {func(b []byte) []byte { b[8] = 1; return b }, "it has format version 1, but this ocl reads 2", nil},
		"header length": {func(b []byte) []byte { b[15] = 0xff; return b }, "its header has 4,2", nil},
		"sum":           {func(b []byte) []byte { b[20]++; return b }, "the SHA-256 of its header and index", nil},
		"index":         {func(b []byte) []byte { b[48+50*30+3]++; return b }, "the SHA-256 of its header and index", nil},
		"header":        {replace("a test", "a pest"), "the SHA-256 of its header and index", nil},
		"number":        {replace(`"images":50`, `"images":51`), "its header does not describe its 3,", nil},
		"cut":           {func(b []byte) []byte { return b[:len(b)-1] }, "its header does not describe", nil},
		"longer":        {func(b []byte) []byte { return append(b, '}') }, "its header does not describe", nil},
		"other number":  {whole, "it has 50 images of [2 3 5], but 49 of [2 3 5] are wanted", func(s *Spec) { s.N = 49 }},
		"other shape": {whole, "it has 50 images of [2 3 5], but 50 of [5 3 2] are wanted",
			func(s *Spec) { s.Shape = [3]int{5, 3, 2} }},
	} {
		t.Run(name, func(t *testing.T) {
			s, calls := small(t, 50)
			m := mustOpen(t, s)
			change(t, m.path, tt.change)
			if tt.other != nil {
				tt.other(&s)
			}
			if _, err := Find(s); err == nil || !strings.Contains(err.Error(), m.path+": ") ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("Find: %v, want %s", err, tt.want)
			}
			again := mustOpen(t, s)
			if wantImages(t, again); calls.Load() != int64(50+s.N) {
				t.Errorf("%d calls of Decode", calls.Load())
			}
		})
	}
}

// Images that Decode refuses are left out or fail the build, as Skip says; if all are refused, the build fails.
func TestFaults(t *testing.T) {
	s, calls := small(t, 30)
	good := s.Decode
	s.Decode = refusing(good, func(i int) bool { return i%3 == 1 })
	_, err := Open(t.Context(), s)
	const want = "data: cache: small: 10 of 30 images cannot be decoded: file 1:  [31mbad marker, file 4:"
	if err == nil || !strings.HasPrefix(err.Error(), want) ||
		!strings.Contains(err.Error(), ", file 13:  [31mbad marker, and 5 more. Mend") {
		t.Errorf("error %v\nwant  %s", err, want)
	}
	wantFiles(t, folder())
	s.Skip = true
	for range 2 { // built, and opened
		m := mustOpen(t, s)
		if len(m.Faults()) != 10 || m.Faults()[2] != (Fault{7, "file 7:  [31mbad marker"}) || calls.Load() != 60 {
			t.Errorf("faults %v after %d calls", m.Faults(), calls.Load())
		}
		for i := range 30 {
			got, err := m.Image(i, nil)
			switch out := i%3 == 1; {
			case !out && (err != nil || !bytes.Equal(got, drawn(i))),
				out && (m.Sum(i) != [32]byte{} || !strings.Contains(fmt.Sprint(err),
					fmt.Sprintf("image %d was left out: file %d:", i, i))):
				t.Errorf("image %d: %v, error %v", i, got, err)
			}
		}
		if errs := m.Verify(t.Context(), nil); len(errs) != 0 {
			t.Error(errs)
		}
	}
	s.Skip, s.Decode = false, good // who wants all images does not get a file without some
	if m := mustOpen(t, s); len(m.Faults()) != 0 {
		t.Errorf("faults %v", m.Faults())
	}
	s.Skip, s.Key, s.Decode = true, "none", refusing(good, func(int) bool { return true })
	if _, err := Open(t.Context(), s); err == nil || !strings.Contains(err.Error(), "30 of 30 images cannot be decoded") {
		t.Errorf("no image at all: error %v", err)
	}
}

// TestStoppedIsNoFault: images whose decoding is stopped are not left out, also if no other image is left to begin.
func TestStoppedIsNoFault(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	s, _ := small(t, 3)
	s.Skip = true
	good, all := s.Decode, sync.WaitGroup{}
	all.Add(s.N - 1)
	s.Decode = func(i int, dst []uint8) error {
		if i < s.N-1 {
			defer all.Done()
			return good(i, dst)
		}
		all.Wait()
		stop()
		return ctx.Err()
	}
	if _, err := Open(ctx, s); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	wantFiles(t, folder())
}

// Shapes and numbers that no file can have are refused before anything is made, and so is a file for which there is no
// room.
func TestImpossibleSpecs(t *testing.T) {
	_, known := freeSpace(t.TempDir())
	for _, change := range []func(*Spec){
		func(s *Spec) { s.N = 0 }, func(s *Spec) { s.N = int(^uint(0) >> 1) }, func(s *Spec) { s.Shape[1] = 0 },
		func(s *Spec) { s.Shape = [3]int{1 << 15, 1 << 15, 2} }, func(s *Spec) { s.Shape[2] = -5 },
		func(s *Spec) { s.N, s.Shape = 1<<22, [3]int{3, 1 << 14, 1 << 14} },
	} {
		s, calls := small(t, 5)
		change(&s)
		if s.N == 1<<22 && !known {
			continue
		}
		if _, err := Open(t.Context(), s); err == nil || calls.Load() != 0 {
			t.Errorf("%d images of %v: error %v after %d calls", s.N, s.Shape, err, calls.Load())
		} else if s.N == 1<<22 && !strings.Contains(err.Error(), " MB: the disk has room for ") {
			t.Errorf("without room: %v", err)
		}
		wantFiles(t, folder())
	}
}

// When ctx ends, building stops after the images at work, and nothing is left. A folder that cannot be made is an
// error.
func TestNothingIsLeft(t *testing.T) {
	s, calls := small(t, 100000)
	ctx, cancel := context.WithCancel(t.Context())
	good := s.Decode
	s.Decode = func(i int, dst []uint8) error {
		if i == 50 {
			cancel()
		}
		return good(i, dst)
	}
	_, err := Open(ctx, s)
	for _, part := range []string{"building small in " + folder(), "takes 7 MB", "set $OCL_CACHE"} {
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
	if n, most := calls.Load(), int64(50+1+2*runtime.GOMAXPROCS(0)); n > most {
		t.Errorf("%d calls of Decode after the end at image 50, want at most %d", n, most)
	}
	wantFiles(t, folder())
	t.Setenv(Folder, filepath.Join(t.TempDir(), "file"))
	if err := os.WriteFile(folder(), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	before := calls.Load()
	if _, err := Open(t.Context(), s); err == nil || !strings.Contains(err.Error(), "set $OCL_CACHE") ||
		calls.Load() != before {
		t.Errorf("a file in place of the folder: %v", err)
	}
}

// The calls of Progress come one at a time, grow, and go from 0 to all. Verify ends with its context.
func TestProgress(t *testing.T) {
	s, _ := small(t, 40)
	good := s.Decode
	s.Decode = func(i int, dst []uint8) error {
		time.Sleep(30 * time.Millisecond)
		return good(i, dst)
	}
	var seen []int
	s.Progress = func(done, total int) { seen = append(seen, done, total) } // the race detector sees two at a time
	m := mustOpen(t, s)
	if n := len(seen); n < 6 || n > 60 || !slices.Equal(seen[:2], []int{0, 40}) ||
		!slices.Equal(seen[n-2:], []int{40, 40}) {
		t.Errorf("progress %v, want a few numbers from 0 to 40", seen)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if errs := m.Verify(ended, nil); len(errs) != 1 || !errors.Is(errs[0], context.Canceled) {
		t.Errorf("Verify with an ended ctx: %v", errs)
	}
}

func TestDir(t *testing.T) {
	t.Setenv(Folder, "")
	base, err := os.UserCacheDir()
	if dir, is := Dir(); (err == nil) != (is == nil) || err == nil && dir != filepath.Join(base, "ocl") {
		t.Errorf("%s (%v), want ocl in %s (%v)", dir, is, base, err)
	}
	want := t.TempDir()
	s, _ := small(t, 3)
	t.Setenv(Folder, want)
	if m := mustOpen(t, s); filepath.Dir(m.path) != want {
		t.Errorf("the cache is %s, want it in %s", m.path, want)
	}
}
