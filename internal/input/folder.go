package input

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"ocl/internal/count"
	"ocl/internal/limit"
)

// ErrFolder is wrapped by errors about paths that are no folders.
var ErrFolder = errors.New("not a folder")

// ReadDir lists a folder, sorted by name, with at most [limit.FolderEntries] entries. What is no folder is an error at
// once. All errors are a [fs.PathError].
func ReadDir(path string) ([]fs.DirEntry, error) { return readDir(path, limit.FolderEntries) }

func readDir(path string, most int) ([]fs.DirEntry, error) {
	fault := func(err error) ([]fs.DirEntry, error) { return nil, &fs.PathError{Op: "open", Path: path, Err: err} }
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return fault(fmt.Errorf("it is %s, %w", Kind(info), ErrFolder))
	}
	folder, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	entries, err := folder.ReadDir(most + 1)
	if err != nil && !errors.Is(err, io.EOF) { // its path is that of the folder
		return nil, err
	}
	if len(entries) > most {
		return fault(fmt.Errorf("it has more than %s", count.Of(most, "entry")))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// Walk calls visit for a folder and everything below it, as [filepath.WalkDir] does: in the order of names, and not
// into links. It differs in two ways: the root itself may be a link to a folder, and more than [limit.TreeEntries]
// entries are an error.
func Walk(root string, visit fs.WalkDirFunc) error { return walk(root, limit.TreeEntries, visit) }

func walk(root string, most int, visit fs.WalkDirFunc) error {
	w := walker{visit: visit, left: most, most: most}
	info, err := os.Stat(root)
	if err != nil {
		err = visit(root, nil, err)
	} else {
		err = w.walk(root, fs.FileInfoToDirEntry(info))
	}
	if errors.Is(err, fs.SkipDir) || errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

type walker struct {
	visit      fs.WalkDirFunc
	left, most int
}

// errMany ends a walk, whatever visit says.
var errMany = errors.New("there are too many entries below the folder")

func (w *walker) walk(path string, e fs.DirEntry) error {
	if w.left--; w.left < 0 {
		return fmt.Errorf("%w: more than %s", errMany, count.Number(w.most))
	}
	if err := w.visit(path, e, nil); err != nil || !e.IsDir() {
		if errors.Is(err, fs.SkipDir) && e.IsDir() {
			err = nil
		}
		return err
	}
	entries, err := ReadDir(path)
	if err != nil {
		if err = w.visit(path, e, err); err != nil {
			if errors.Is(err, fs.SkipDir) {
				err = nil
			}
			return err
		}
	}
	for _, below := range entries {
		if err := w.walk(filepath.Join(path, below.Name()), below); err != nil {
			if errors.Is(err, fs.SkipDir) {
				return nil
			}
			return err
		}
	}
	return nil
}

// Files is the folder of a data set as a file system: its files are opened as [Open] does.
type Files struct {
	Folder string
	Most   int64 // bytes that a file may have
}

// Open implements [fs.FS].
func (f Files) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	file, _, err := Open(filepath.Join(f.Folder, filepath.FromSlash(name)), Want{Most: f.Most})
	if err != nil {
		return nil, err
	}
	return file, nil
}

// Stat implements [fs.StatFS]. It opens nothing.
func (f Files) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
	}
	return os.Stat(filepath.Join(f.Folder, filepath.FromSlash(name)))
}
