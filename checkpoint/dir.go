package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ocl/internal/atomicfile"
	"ocl/internal/budget"
	"ocl/internal/input"
	"ocl/internal/limit"
)

const (
	filePrefix = "step-"
	fileSuffix = ".ckpt"
)

// Dir is a folder of checkpoints, step-<N>.ckpt. It keeps the newest two: an older file is removed only after two newer
// ones are safe on the disk. It is used by one goroutine of one process at a time.
type Dir struct {
	// Warn is called for each old file that could not be removed after a save, once, by the goroutine that saves. No
	// checkpoint is lost. It may be nil.
	Warn func(error)

	folder         string
	newest, before string          // names of the files to keep: the last that was saved or loaded, and the one before it
	warned         map[string]bool // names that Warn was called for
}

// Loaded is a checkpoint that was read. Skipped says, newest first, what is wrong with the files newer than Path. A
// person should see it, as the work after Path is repeated.
type Loaded struct {
	*Container
	Path    string
	File    []byte // all of the file at Path as it was read, which the container has views of; it must not be changed
	Skipped []error
}

// Read reads a checkpoint file. A file that is damaged is an error that wraps [ErrCorrupt].
func Read(path string) (Loaded, error) {
	b, err := read(path)
	if err != nil {
		return Loaded{}, fmt.Errorf("checkpoint: %w", err)
	}
	c, err := Parse(b)
	if err != nil {
		return Loaded{}, fmt.Errorf("checkpoint: %s: %w", path, err)
	}
	return Loaded{Container: c, Path: path, File: b}, nil
}

// read reads a file as a whole, if it has the beginning and the end of a checkpoint. A huge file with holes, or one
// that was cut, is refused before it takes any memory.
func read(path string) ([]byte, error) {
	want := input.Want{Most: min(limit.Checkpoint, budget.Bytes())}
	file, size, err := input.Open(path, want)
	if err != nil {
		return nil, err
	}
	err = checkEnds(file, size)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return input.ReadFile(path, want)
}

// OpenDir returns the Dir of a folder, which it creates when missing.
func OpenDir(folder string) (*Dir, error) {
	if err := atomicfile.MakeFolder(folder); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	return &Dir{folder: folder}, nil
}

// Save writes the checkpoint of a step (≥ 0) and returns its path. A folder that somebody has removed is made again, if
// the folder above it is still there. Without an error, the file is safe on the disk, and the folder has this file, the
// one that was saved or loaded before it, and those that could not be removed (see [Dir.Warn]). All others are gone:
// where a run was resumed from an earlier one, those of later steps are damaged. With an error, the folder is
// unchanged.
func (d *Dir) Save(step int, c *Container) (string, error) {
	name := fmt.Sprintf("%s%d%s", filePrefix, step, fileSuffix)
	path := filepath.Join(d.folder, name)
	write := func() error {
		return atomicfile.Write(path, func(w io.Writer) error {
			_, err := c.WriteTo(w)
			return err
		})
	}
	err := write()
	if errors.Is(err, fs.ErrNotExist) && os.Mkdir(d.folder, 0o755) == nil {
		d.warn([]error{fmt.Errorf("checkpoint: %s was removed while it was in use, with the checkpoints in it. It was made again",
			d.folder)})
		if err = atomicfile.SyncFolder(filepath.Dir(d.folder)); err == nil {
			err = write()
		}
	}
	if err != nil {
		return "", fmt.Errorf("checkpoint: %w", err)
	}
	if name != d.newest { // a step may be saved again
		d.newest, d.before = name, d.newest
	}
	d.warn(d.removeExcept(d.newest, d.before))
	return path, nil
}

// Load reads the newest checkpoint that is not damaged. The error wraps fs.ErrNotExist if there is no checkpoint. If
// all are damaged, it wraps [ErrCorrupt] and says what is wrong with each.
func (d *Dir) Load() (Loaded, error) {
	names, err := stepsIn(d.folder)
	if err != nil {
		return Loaded{}, err
	}
	var skipped []error
	for i, name := range names {
		got, err := Read(filepath.Join(d.folder, name))
		if err == nil {
			d.newest, d.before, got.Skipped = name, "", skipped
			if i+1 < len(names) {
				d.before = names[i+1]
			}
			return got, nil
		}
		if !errors.Is(err, ErrCorrupt) { // a person decides about a file that cannot be read or has another version
			if errors.As(err, new(*fs.PathError)) {
				err = fmt.Errorf("%w. Mend it, or remove it to continue from the checkpoint before it", err)
			}
			return Loaded{}, err
		}
		skipped = append(skipped, err)
	}
	if len(skipped) == 0 {
		return Loaded{}, none(d.folder)
	}
	return Loaded{}, fmt.Errorf("checkpoint: %s: all %d checkpoints are damaged. Start the run again: %w",
		d.folder, len(skipped), errors.Join(skipped...))
}

// Files lists the paths of the checkpoints in a folder, damaged or not, newest step first. It is an error that wraps
// fs.ErrNotExist if there is none.
func Files(folder string) (paths []string, err error) {
	names, err := stepsIn(folder)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, none(folder)
	}
	for _, name := range names {
		paths = append(paths, filepath.Join(folder, name))
	}
	return paths, nil
}

func none(folder string) error {
	return fmt.Errorf("checkpoint: %s: the folder has no checkpoint: %w", folder, fs.ErrNotExist)
}

// Clear removes all checkpoints.
func (d *Dir) Clear() error {
	d.newest, d.before = "", ""
	return errors.Join(d.removeExcept()...)
}

// warn reports each error once, as a file that cannot be removed now cannot be removed after the next save either.
func (d *Dir) warn(faults []error) {
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

// removeExcept removes all checkpoints but those called keep, and what crashes left, and returns an error for each that
// stays.
func (d *Dir) removeExcept(keep ...string) []error {
	entries, err := input.ReadDir(d.folder)
	if err != nil {
		return []error{fmt.Errorf("checkpoint: %w", err)}
	}
	var faults []error
	for _, e := range entries {
		_, ok := StepOf(e.Name())
		if !ok && !isLeftOver(e.Name()) || slices.Contains(keep, e.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(d.folder, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			faults = append(faults, fmt.Errorf("checkpoint: an old checkpoint could not be removed: %w. Remove it by hand", err))
		}
	}
	return faults
}

// isLeftOver tells whether a crash left a file of this name while a checkpoint was written.
func isLeftOver(name string) bool {
	target, _, ok := strings.Cut(strings.TrimPrefix(name, "."), fileSuffix)
	target += fileSuffix
	_, isStep := StepOf(target)
	return ok && isStep && atomicfile.IsTemporary(name, target)
}

// stepsIn lists the checkpoints in a folder, newest step first.
func stepsIn(folder string) (names []string, err error) {
	entries, err := input.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	for _, e := range entries {
		if _, ok := StepOf(e.Name()); ok {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		x, _ := StepOf(a)
		y, _ := StepOf(b)
		return y - x
	})
	return names, nil
}

// StepOf reads the step from a file name, and tells whether it is the name of a checkpoint.
func StepOf(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, filePrefix)
	digits, ok2 := strings.CutSuffix(digits, fileSuffix)
	step, err := strconv.Atoi(digits)
	return step, ok && ok2 && err == nil && step >= 0
}
