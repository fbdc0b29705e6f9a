package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	filePrefix = "step-"
	fileSuffix = ".ckpt"
)

// Dir is a folder of checkpoints, step-<N>.ckpt. It keeps the newest two: an older file is removed only after two newer
// ones are safe on the disk. Large sections of [Records] are in files of their own, <digest>.records, of which a save writes
// one with the records that changed. It is used by one goroutine of one process at a time.
type Dir struct {
	// Warn is called for each old file that could not be removed after a save, once, by the goroutine that saves. No
	// checkpoint is lost. It may be nil.
	Warn func(error)
	// Permit is asked when a file is safe on the disk and before it gets its name. Its error is that of the save. It may be
	// nil.
	Permit func() error

	folder string
	fs     fileSystem
	good   string                     // name of the newest file that this Dir wrote or read whole; "" is none yet
	kept   map[string]*kept           // by section: the records that the good file names
	named  map[string]map[string]bool // by checkpoint: the files of records that it names, if this Dir wrote or read it

	inlineBytes int64           // for tests: see inline
	warned      map[string]bool // names that Warn was called for
}

// Loaded is what [Dir.Load] found. Skipped says, newest first, what is wrong with the files newer than Path. A person
// should see it, as the work after Path is repeated.
type Loaded struct {
	*Container
	Path    string
	File    []byte // all of the file at Path as it was read, which the container has views of; it must not be changed
	Skipped []error
}

// OpenDir returns the Dir of a folder, which it creates when missing.
func OpenDir(folder string) (*Dir, error) { return openDir(disk{}, folder) }

func openDir(fs fileSystem, folder string) (*Dir, error) {
	if err := makeFolder(fs, filepath.Clean(folder)); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	return &Dir{folder: folder, fs: fs}, nil
}

// Save writes the checkpoint of a step (≥ 0) and returns its path. Without an error, the file is safe on the disk, and
// the folder has this file, the one before it and those that could not be removed (see [Dir.Warn]). With an error, the
// folder is unchanged.
func (d *Dir) Save(step int, c *Container) (string, error) {
	name := fmt.Sprintf("%s%d%s", filePrefix, step, fileSuffix)
	path := filepath.Join(d.folder, name)
	sections, now, made, err := d.records(c)
	if err == nil {
		err = writeAtomic(d.fs, path, func(w io.Writer) error {
			_, err := c.writeTo(w, sections)
			return err
		}, d.Permit)
	}
	if err != nil {
		d.forget(made)
		return "", err
	}
	d.keep(name, now)
	d.prune(name)
	return path, nil
}

// keep notes what the newest checkpoint names.
func (d *Dir) keep(name string, now map[string]*kept) {
	sections := map[string]*filed{}
	for _, k := range now {
		sections[k.name] = &k.filed
	}
	if d.named == nil {
		d.named = map[string]map[string]bool{}
	}
	d.kept, d.named[name] = now, namesOf(sections)
}

// Load reads the newest checkpoint that is not damaged. The error wraps fs.ErrNotExist if there is no checkpoint. If
// all are damaged, it wraps [ErrCorrupt] and says what is wrong with each.
func (d *Dir) Load() (Loaded, error) {
	names, err := d.names()
	if err != nil {
		return Loaded{}, err
	}
	var skipped []error
	for _, name := range names {
		path := filepath.Join(d.folder, name)
		c, file, err := d.read(path)
		if err == nil {
			d.good = name
			now := map[string]*kept{}
			for section, f := range c.files {
				k := &kept{filed: *f, known: map[uint64]place{}}
				for i, id := range c.records[section].IDs {
					k.known[id] = f.places[i]
				}
				now[section] = k
			}
			d.keep(name, now)
			return Loaded{c, path, file, skipped}, nil
		}
		if !errors.Is(err, ErrCorrupt) { // a person decides about a file that cannot be read or has another version
			return Loaded{}, err
		}
		skipped = append(skipped, err)
	}
	if len(skipped) == 0 {
		return Loaded{}, d.none()
	}
	return Loaded{}, fmt.Errorf("checkpoint: %s: all %d checkpoints are damaged. Start the run again: %w",
		d.folder, len(skipped), errors.Join(skipped...))
}

func (d *Dir) none() error {
	return fmt.Errorf("checkpoint: %s: the folder has no checkpoint: %w", d.folder, fs.ErrNotExist)
}

// Clear removes all checkpoints.
func (d *Dir) Clear() error {
	d.good, d.kept, d.named = "", nil, nil
	return errors.Join(d.removeExcept()...)
}

func (d *Dir) read(path string) (*Container, []byte, error) {
	b, err := d.fs.read(path)
	if err != nil {
		return nil, nil, fmt.Errorf("checkpoint: %w", err)
	}
	c, err := parse(b)
	if err != nil {
		return nil, nil, fmt.Errorf("checkpoint: %s: %w", path, err)
	}
	for name, f := range c.files {
		r, err := f.read(d.fs, d.folder)
		if err != nil {
			return nil, nil, fmt.Errorf("checkpoint: %s: %w", path, err)
		}
		if c.records == nil {
			c.records = map[string]*records{}
		}
		c.records[name] = r
	}
	return c, b, nil
}

// prune keeps name, which was just written, and the good one before it. It also removes files of later steps: they are
// damaged, and the run was resumed from an earlier one.
func (d *Dir) prune(name string) {
	previous := d.good
	d.good = name
	if previous == "" {
		names, err := d.names()
		if err != nil {
			d.warn([]error{err})
			return // without a list, nothing is removed
		}
		if i := slices.IndexFunc(names, func(n string) bool { return n != name }); i >= 0 {
			previous = names[i]
		}
	}
	if previous == name { // the same step was saved again: the file before it stays
		d.warn(d.remove(isLeftOver))
		return
	}
	keep := []string{name}
	if previous != "" {
		keep = append(keep, previous)
	}
	for _, checkpoint := range slices.Clone(keep) {
		files, err := d.filesOf(checkpoint)
		if err != nil {
			d.warn([]error{err})
			return // without knowing what it names, nothing is removed
		}
		keep = slices.AppendSeq(keep, maps.Keys(files))
	}
	maps.DeleteFunc(d.named, func(checkpoint string, _ map[string]bool) bool { return checkpoint != name && checkpoint != previous })
	d.warn(d.removeExcept(keep...))
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
	return d.remove(func(name string) bool {
		_, ok := StepOf(name)
		return (ok || isRecordFile(name) || isLeftOver(name)) && !slices.Contains(keep, name)
	})
}

// remove removes the files that are to go, and returns an error for each that stays.
func (d *Dir) remove(goes func(name string) bool) []error {
	all, err := d.fs.list(d.folder)
	if err != nil {
		return []error{fmt.Errorf("checkpoint: %w", err)}
	}
	var faults []error
	for _, n := range all {
		if !goes(n) {
			continue
		}
		if err := d.fs.remove(filepath.Join(d.folder, n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			faults = append(faults, fmt.Errorf("checkpoint: an old checkpoint could not be removed: %w. Remove it by hand", err))
		}
	}
	return faults
}

// isLeftOver tells whether a crash left a file of this name while a checkpoint was written.
func isLeftOver(name string) bool {
	for _, suffix := range []string{fileSuffix, recordsSuffix} {
		target, _, ok := strings.Cut(strings.TrimPrefix(name, "."), suffix)
		target += suffix
		if _, isStep := StepOf(target); ok && (isStep || isRecordFile(target)) && IsTemporary(name, target) {
			return true
		}
	}
	return false
}

// names lists the checkpoints in the folder, newest step first.
func (d *Dir) names() ([]string, error) {
	all, err := d.fs.list(d.folder)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	names := slices.DeleteFunc(all, func(n string) bool { _, ok := StepOf(n); return !ok })
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
