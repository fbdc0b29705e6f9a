package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"ocl/internal/atomicfile"
)

// Dir is a folder of checkpoints, step-<N>.ckpt. It keeps the newest two: an older file is removed only after two newer
// ones are safe on the disk. It is used by one goroutine of one process at a time.
type Dir struct {
	// Warn is called for each old file that could not be removed after a save, once, by the goroutine that saves. No
	// checkpoint is lost. It may be nil.
	Warn func(error)

	files  Numbered
	keep   []int64         // steps: the last that was saved or loaded, and the one before it
	warned map[string]bool // what Warn was called for
}

// Steps are the checkpoints in a folder, by their steps.
func Steps(folder string) Numbered {
	return Numbered{Folder: folder, Prefix: "step-", Suffix: ".ckpt", What: "checkpoint", Lost: "Start the run again"}
}

// OpenDir returns the Dir of a folder, which it creates when missing.
func OpenDir(folder string) (*Dir, error) {
	if err := atomicfile.MakeFolder(folder); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	return &Dir{files: Steps(folder)}, nil
}

// Save writes the checkpoint of a step (≥ 0) and returns its path. A folder that somebody has removed is made again, if
// the folder above it is still there. Without an error, the file is safe on the disk, and the folder has this file, the
// one that was saved or loaded before it, and those that could not be removed (see [Dir.Warn]). All others are gone:
// where a run was resumed from an earlier one, those of later steps are damaged. With an error no file has gone, and
// the new one may be there (see [Numbered.Write]).
func (d *Dir) Save(step int, c *Container) (string, error) {
	number, folder := int64(step), d.files.Folder
	err := d.files.Write(number, c)
	if errors.Is(err, fs.ErrNotExist) && os.Mkdir(folder, 0o755) == nil {
		d.warn(fmt.Errorf("checkpoint: %s was removed while it was in use, with the checkpoints in it. It was made again",
			folder))
		if err = atomicfile.SyncFolder(filepath.Dir(folder)); err == nil {
			err = d.files.Write(number, c)
		}
	}
	if err != nil {
		return "", err
	}
	if len(d.keep) == 0 || number != d.keep[0] { // a step may be saved again
		d.keep = append([]int64{number}, d.keep[:min(1, len(d.keep))]...)
	}
	d.warn(d.files.Remove(func(n int64) bool { return !slices.Contains(d.keep, n) })...)
	return d.files.Path(number), nil
}

// Load reads the newest checkpoint that is not damaged, as [Numbered.Newest] does.
func (d *Dir) Load() (Loaded, error) {
	got, err := d.files.Newest(nil)
	if err != nil {
		return Loaded{}, err
	}
	numbers, err := d.files.Numbers()
	if err != nil {
		return Loaded{}, err
	}
	d.keep = []int64{got.Number}
	if i := slices.Index(numbers, got.Number); i > 0 {
		d.keep = append(d.keep, numbers[i-1])
	}
	return got, nil
}

// Files lists the paths of the checkpoints in a folder, damaged or not, newest step first. It is an error that wraps
// fs.ErrNotExist if there is none.
func Files(folder string) (paths []string, err error) {
	steps := Steps(folder)
	numbers, err := steps.Numbers()
	if err == nil && len(numbers) == 0 {
		err = steps.none()
	}
	for _, number := range slices.Backward(numbers) {
		paths = append(paths, steps.Path(number))
	}
	return paths, err
}

// Clear removes all checkpoints.
func (d *Dir) Clear() error {
	d.keep = nil
	return errors.Join(d.files.Remove(func(int64) bool { return true })...)
}

// warn reports each error once, as a file that cannot be removed now cannot be removed after the next save either.
func (d *Dir) warn(faults ...error) {
	for _, err := range faults {
		if d.Warn == nil || d.warned[err.Error()] {
			continue
		}
		if d.warned == nil {
			d.warned = map[string]bool{}
		}
		d.warned[err.Error()] = true
		d.Warn(err)
	}
}
