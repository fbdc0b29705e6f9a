package core50

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"ocl/internal/cause"
)

// archives are the kinds of archives, by the ends of their names.
var archives = []struct {
	suffix string
	check  func(context.Context, string) error
}{
	{".zip", checkZip},
	{".tar.gz", tarred(gunzipped)},
	{".tgz", tarred(gunzipped)},
	{".tar.zst", tarred(unzstd)},
	{".tar", tarred(func(r io.Reader) (io.Reader, func(), error) { return r, func() {}, nil })},
}

// tally checks the lists of a folder or an archive as they come, in any order.
type tally struct {
	lists map[string]List // all, by path
	done  map[List]bool
}

func newTally() *tally { return &tally{byPath(), map[List]bool{}} }

// add checks the entry called name if it is one of the lists. Entries of other scenarios are none of them.
func (t *tally) add(ctx context.Context, name string, regular bool, open func() (io.ReadCloser, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l, is := listAt(name, t.lists)
	switch {
	case !is:
		return nil
	case !fs.ValidPath(name):
		return fmt.Errorf("the entry %.100q has a name that leads out of the archive", name)
	case !regular:
		return fmt.Errorf("%s is not a plain file", l.Path())
	case t.done[l]:
		return fmt.Errorf("%s is there twice", l.Path())
	}
	t.done[l] = true
	r, err := open()
	if err != nil {
		return fmt.Errorf("%s: %w", l.Path(), cause.Of(err))
	}
	defer r.Close()
	if err := l.Check(r); err != nil {
		return fmt.Errorf("%s: %w", l.Path(), err)
	}
	return nil
}

// end reports lists that did not come.
func (t *tally) end() error {
	names := missing(t.lists, t.done)
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d lists are missing, such as %s", len(names), len(t.lists), names[0])
}

// checkFolder checks the lists below a folder. Only the files of lists are opened.
func checkFolder(ctx context.Context, name string) error {
	t := newTally()
	for _, l := range Lists() {
		file := filepath.Join(name, filepath.FromSlash(l.Path()))
		info, err := os.Stat(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		regular := err != nil || info.Mode().IsRegular() // opening says what is wrong
		if err := t.add(ctx, l.Path(), regular, func() (io.ReadCloser, error) { return os.Open(file) }); err != nil {
			return err
		}
	}
	return t.end()
}

// checkZip checks the lists in a zip archive.
func checkZip(ctx context.Context, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return cause.Of(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return cause.Of(err)
	}
	return readZip(ctx, file, info.Size())
}

// readZip checks the lists in a zip archive of size bytes.
func readZip(ctx context.Context, r io.ReaderAt, size int64) error {
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return fmt.Errorf("this is not a zip archive (%w)", err)
	}
	t := newTally()
	for _, f := range archive.File {
		if err := t.add(ctx, f.Name, f.Mode().IsRegular(), f.Open); err != nil {
			return err
		}
	}
	return t.end()
}

// tarred is the check of lists in a tar archive that unpack decompresses. unpack also returns what closes it.
func tarred(unpack func(io.Reader) (io.Reader, func(), error)) func(context.Context, string) error {
	return func(ctx context.Context, name string) error {
		file, err := os.Open(name)
		if err != nil {
			return cause.Of(err)
		}
		defer file.Close()
		r, done, err := unpack(bufio.NewReaderSize(file, 1<<16))
		if err != nil {
			return err
		}
		defer done()
		return readTar(ctx, r)
	}
}

// readTar checks the lists in a tar archive.
func readTar(ctx context.Context, r io.Reader) error {
	t, archive := newTally(), tar.NewReader(r)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return t.end()
		}
		if err != nil {
			return fmt.Errorf("the archive is damaged (%w)", err)
		}
		open := func() (io.ReadCloser, error) { return io.NopCloser(archive), nil }
		if err := t.add(ctx, h.Name, h.Typeflag == tar.TypeReg, open); err != nil {
			return err
		}
	}
}

func gunzipped(r io.Reader) (io.Reader, func(), error) {
	packed, err := gzip.NewReader(r)
	if err != nil {
		return nil, nil, fmt.Errorf("this is not a gzip file (%w)", err)
	}
	return packed, func() { _ = packed.Close() }, nil
}

// maxWindow is the memory of what was read that a zstd file may refer to. The lists were packed with this much.
const maxWindow = 128 << 20

func unzstd(r io.Reader) (io.Reader, func(), error) {
	packed, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, nil, fmt.Errorf("this is not a zstd file (%w)", err)
	}
	return packed, packed.Close, nil
}
