package data

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode"

	"ocl/internal/count"
)

// zeros is a deflate stream of n MiB of zeros that stand after head. A block of a MiB is compressed once and repeated:
// it refers to nothing before it.
func zeros(t *testing.T, head []byte, n int) []byte {
	t.Helper()
	block := func(b []byte) []byte {
		var out bytes.Buffer
		w, err := flate.NewWriter(&out, flate.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		w.Write(b)
		w.Flush()
		return out.Bytes()
	}
	out := append(block(head), bytes.Repeat(block(make([]byte, 1<<20)), n)...)
	return append(out, 1, 0, 0, 0xff, 0xff) // a last block, empty
}

// bomb is an .npz file whose x_train holds n MiB of black images, 32×32.
func bomb(t *testing.T, n int) []byte {
	t.Helper()
	head := array{descr: "|u1", shape: fmt.Sprintf("(%d, 32, 32)", n<<10)}.bytes()
	packed := zeros(t, head, n)
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	e, err := w.CreateRaw(&zip.FileHeader{Name: "x_train.npy", Method: zip.Deflate,
		UncompressedSize64: uint64(len(head) + n<<20), CompressedSize64: uint64(len(packed))})
	if err != nil {
		t.Fatal(err)
	}
	e.Write(packed)
	for _, name := range []string{"y_train", "x_test", "y_test"} {
		if _, err := w.Create(name + ".npy"); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// counted counts what is read.
type counted struct {
	io.ReaderAt
	read int
}

func (c *counted) ReadAt(b []byte, at int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(b, at)
	c.read += n
	return n, err
}

// TestNPZBomb: a file of 16 MB that really holds 16 GB, all zeros, is refused before anything of that size is made.
func TestNPZBomb(t *testing.T) {
	const mib = 16000
	b := bomb(t, mib)
	if len(b) < 14<<20 || len(b) > 18<<20 {
		t.Fatalf("the file has %d bytes, want about 16 MB", len(b))
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	in := &counted{ReaderAt: bytes.NewReader(b)}
	_, err := readNPZ(t.Context(), in, int64(len(b)))
	runtime.ReadMemStats(&after)
	if err == nil {
		t.Fatal("accepted")
	}
	want := fmt.Sprintf("x_train: shape [%d 32 32] needs 16,842,752,000 bytes of memory, but at most %s are allowed",
		mib<<10, count.Number(32*int64(len(b))))
	if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "without compression, with numpy.savez") {
		t.Errorf("got %v, want it to say %q and what to do", err, want)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("%s bytes were allocated, want at most 4 MiB", count.Number(grown))
	}
	if in.read > 1<<20 {
		t.Errorf("%s bytes of it were read, want at most 1 MiB: the directory and a header", count.Number(in.read))
	}
}

// TestNPZLimit: what compresses well is read as long as it is small, and a file without compression always, up to 16
// GiB.
func TestNPZLimit(t *testing.T) {
	for _, c := range []struct{ size, want int64 }{
		{1000, 256 << 20}, {8 << 20, 256 << 20}, {16 << 20, 512 << 20}, {512 << 20, 16 << 30}, {15 << 30, 16 << 30},
		{1 << 62, 16 << 30},
	} {
		if got := npzLimit(c.size); got != c.want {
			t.Errorf("a file of %d bytes: %d, want %d", c.size, got, c.want)
		}
	}
}

// TestNothingOfAFileReachesTheTerminalRaw: names of files are shown without control characters. The fuzz tests and the
// tables of faults hold this for what is in the files.
func TestNothingOfAFileReachesTheTerminalRaw(t *testing.T) {
	// A terminal takes this for a new title and a wish to clear the screen.
	const evil = "\x1b]0;owned\x07\x1b[2J"
	plain := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s: accepted", what)
			return
		}
		for text := range strings.SplitSeq(err.Error(), "\n") { // joined errors are one a line
			if strings.ContainsFunc(text, unicode.IsControl) || !strings.Contains(text, `\x1b]0`) {
				t.Errorf("%s: the message %q shows what the file holds raw, or not at all", what, text)
			}
		}
	}
	root := t.TempDir()
	if os.PathSeparator == '/' {
		_, err := smallFormat.open(t.Context(), writeFolder(t, filepath.Join(root, "listing"), map[string][]byte{evil: nil}))
		plain("listing", err)
		for _, name := range []string{"cifar100", "npz"} {
			_, err = Open(t.Context(), Spec{Name: name, Dir: evil})
			plain("folder of "+name, err)
		}
		folder := writeFolder(t, filepath.Join(root, evil), map[string][]byte{"train.bin": {1}, "a.npz": []byte("PK")})
		for _, name := range []string{"cifar100", "npz"} {
			_, err = Open(t.Context(), Spec{Name: name, Dir: folder})
			plain("file of "+name, err)
		}
	}
}
