package data

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"ocl/internal/limit"
)

// ending is a context that ends after it was asked so often.
type ending struct {
	context.Context
	left int
}

func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestReadingEndsWithContext: a large file is not read to its end.
func TestReadingEndsWithContext(t *testing.T) {
	const n = 2000 // images
	random := make([]byte, n*28*28)
	rand.NewChaCha8([32]byte{}).Read(random)
	archive := cifarFiles()
	archive["a"] = random
	arrays := arrays()
	arrays["x_train"] = array{descr: "|u1", shape: fmt.Sprintf("(%d, 28, 28)", n), data: random}
	arrays["y_train"] = array{descr: "|u1", shape: fmt.Sprintf("(%d,)", n), data: make([]byte, n)}
	idx := idxSet("", "t10k", 10, 0)
	idx["train-images-idx3-ubyte"] = append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte("\x00\x00\x08\x03\x00\x00\x07\xd0"),
		28), 28), random...)
	dir := writeFolder(t, t.TempDir(), map[string][]byte{"a.tar.gz": packTarGz(archive),
		"a.npz": packNPZ(arrays, zip.Store)})
	sets := writeFolder(t, t.TempDir(), allGzipped(idx))
	whole, _ := smallFormat.openArchive(t.Context(), filepath.Join(dir, "a.tar.gz"))
	if whole == nil {
		t.Fatal("the archive cannot be read")
	}
	for name, open := range map[string]func(ctx context.Context) error{
		"an archive": func(ctx context.Context) error {
			_, err := smallFormat.openArchive(ctx, filepath.Join(dir, "a.tar.gz"))
			return err
		},
		"arrays": func(ctx context.Context) error { return opened(ctx, "npz", filepath.Join(dir, "a.npz")) },
		"digits": func(ctx context.Context) error { return opened(ctx, "mnist", sets) },
	} {
		ctx := &ending{t.Context(), 1}
		if err := open(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if ctx.left < -20 {
			t.Errorf("%s: it goes on to read", name)
		}
	}
	if _, err := digest(&ending{t.Context(), 1}, whole); !errors.Is(err, context.Canceled) {
		t.Errorf("the digest: %v", err)
	}
}

func opened(ctx context.Context, name, dir string) error {
	_, err := Open(ctx, Spec{Name: name, Dir: dir})
	return err
}

// TestArchiveHasALimit: an archive of a megabyte that unpacks to more than a gigabyte of zeros is given up.
func TestArchiveHasALimit(t *testing.T) {
	if testing.Short() {
		t.Skip("it unpacks a gigabyte")
	}
	const part = 64 << 20
	var head bytes.Buffer
	if err := tar.NewWriter(&head).WriteHeader(&tar.Header{Name: "other", Typeflag: tar.TypeReg,
		Size: limit.Archive + part}); err != nil {
		t.Fatal(err)
	}
	zeros := gzipped(make([]byte, part), gzip.BestSpeed)
	file := io.MultiReader(bytes.NewReader(gzipped(head.Bytes(), 1)),
		bytes.NewReader(bytes.Repeat(zeros, 2*limit.Archive/part)))
	const want = "the archive is damaged (its files have more than 1,073,741,824 bytes, which is the limit)"
	if _, err := smallFormat.readArchive(file); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("the error is %v, not %s", err, want)
	}
}
