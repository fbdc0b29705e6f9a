package core50

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ocl/internal/cause"
)

// lists is the folder of the official lists, and with .zip its archive.
const lists = "batches_filelists"

// Find looks in a folder for the official lists, the folder batches_filelists or the archive batches_filelists.zip, and
// returns the path of the first that is there; "" means none.
func Find(folder string) string {
	for _, name := range []string{lists, lists + ".zip"} {
		if path := filepath.Join(folder, name); exists(path) {
			return path
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Check compares the official lists at path, which [Find] has found, with the tables. The error names a list and its line,
// but not path.
func Check(ctx context.Context, path string) error {
	if filepath.Ext(path) != ".zip" {
		return check(ctx, os.DirFS(path))
	}
	archive, err := zip.OpenReader(path)
	if err != nil {
		return fmt.Errorf("this is not a zip archive (%w)", cause.Of(err))
	}
	defer archive.Close()
	return check(ctx, &archive.Reader)
}

// check compares the lists in a folder or in its archive, which has them in a folder of their own.
func check(ctx context.Context, fsys fs.FS) error {
	if info, err := fs.Stat(fsys, lists); err == nil && info.IsDir() {
		if fsys, err = fs.Sub(fsys, lists); err != nil {
			return err
		}
	}
	for _, l := range Lists() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.checkIn(fsys); err != nil {
			return fmt.Errorf("%s: %w", l.Path(), cause.Of(err))
		}
	}
	return nil
}

// checkIn compares the list in a folder.
func (l List) checkIn(fsys fs.FS) error {
	file, err := fsys.Open(l.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("the list is missing")
	}
	if err != nil {
		return err
	}
	defer file.Close()
	return l.Check(file)
}
