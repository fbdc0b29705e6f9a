package checkpoint

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"path/filepath"
	"slices"
)

// inlineRecords is the most bytes of a section of records that a Dir writes into the checkpoint itself. Below it, a further
// file costs more than it saves.
const inlineRecords = 1 << 20

// kept is what a Dir knows to be on the disk of a section of records.
type kept struct {
	filed
	known map[uint64]place // by the ID of a record
}

// mostFiles is the most files of records of a section before a save; a save adds one.
const mostFiles = 16

// plan says which records of a section are to be written, so that all are in files: those that no file has, and those of
// files that are taken over. A file is taken over if less than half of its records are still wanted; so files have at most
// twice as many records as the section. If there are many files nevertheless, most of them are taken over at once, those
// with the fewest records, so that a record is seldom written again.
func (k *kept) plan(r *Records) (write []int, over []bool) {
	wanted := make([][]int, len(k.files))
	for i, id := range r.IDs {
		if p, there := k.known[id]; there {
			wanted[p.file] = append(wanted[p.file], i)
		} else {
			write = append(write, i)
		}
	}
	over = make([]bool, len(k.files))
	order := make([]int, len(k.files))
	for i := range order {
		order[i] = i
	}
	order = slices.DeleteFunc(order, func(i int) bool {
		over[i] = 2*len(wanted[i]) < k.files[i].count
		return over[i]
	})
	if len(order) >= mostFiles {
		slices.SortStableFunc(order, func(a, b int) int { return len(wanted[a]) - len(wanted[b]) })
		for _, i := range order[:3*mostFiles/4] {
			over[i] = true
		}
	}
	for i := range over {
		if over[i] {
			write = append(write, wanted[i]...)
		}
	}
	slices.Sort(write)
	return write, over
}

// next is what is on the disk once the given records are in a new file.
func (k *kept) next(r *Records, write []int, over []bool, made *recordFile) *kept {
	n := &kept{filed: filed{name: k.name, size: r.Size, places: make([]place, len(r.IDs))}, known: make(map[uint64]place, len(r.IDs))}
	renamed := make([]int32, len(k.files))
	for i := range k.files {
		if !over[i] {
			renamed[i] = int32(len(n.files))
			n.files = append(n.files, k.files[i])
		}
	}
	for i, id := range r.IDs {
		if p, there := k.known[id]; there && !over[p.file] {
			n.places[i] = place{renamed[p.file], p.at}
		}
	}
	for at, i := range write {
		n.places[i] = place{int32(len(n.files)), int32(at)}
	}
	if made != nil {
		n.files = append(n.files, *made)
	}
	for i, id := range r.IDs {
		n.known[id] = n.places[i]
	}
	return n
}

// records writes the records of c that are not on the disk yet, each section into a file of its own. It returns the sections
// that say where all of them are, what is then on the disk, and the files that were not there before.
func (d *Dir) records(c *Container) (sections map[string][]byte, now map[string]*kept, made []string, err error) {
	sections, now = map[string][]byte{}, map[string]*kept{}
	for _, name := range c.names {
		r := c.records[name]
		if r == nil || r.total() <= d.inline() || !distinct(r.IDs) {
			continue
		}
		k := d.kept[name]
		if k == nil || k.size != r.Size {
			k = &kept{filed: filed{name: name, size: r.Size}}
		}
		write, over := k.plan(&r.Records)
		var file *recordFile
		if len(write) > 0 {
			var fresh bool
			if file, fresh, err = d.writeRecords(&r.Records, write); err != nil {
				return nil, nil, made, err
			}
			if fresh {
				made = append(made, file.name())
			}
		}
		now[name] = k.next(&r.Records, write, over, file)
		sections[name] = now[name].encode()
	}
	return sections, now, made, nil
}

// distinct tells whether no ID is there twice.
func distinct(ids []uint64) bool {
	seen := make(map[uint64]bool, len(ids))
	for _, id := range ids {
		if seen[id] {
			return false
		}
		seen[id] = true
	}
	return true
}

// writeRecords writes a file of some records. fresh says that there was none of this name.
func (d *Dir) writeRecords(r *Records, write []int) (file *recordFile, fresh bool, err error) {
	file = &recordFile{count: len(write)}
	sum := sha256.New()
	emit := func(w io.Writer) error {
		_, err := w.Write(file.header(r.Size))
		var b []byte
		for _, i := range write {
			if err != nil {
				return err
			}
			b = r.Append(b[:0], i)
			_, err = w.Write(b)
		}
		return err
	}
	_ = emit(sum) // a hash takes everything
	file.digest = [digestSize]byte(sum.Sum(nil))
	path := filepath.Join(d.folder, file.name())
	if old, _, failed := d.fs.open(path); failed == nil {
		_ = old.Close()
	} else {
		fresh = true
	}
	return file, fresh, writeAtomic(d.fs, path, emit, d.Permit)
}

// forget removes files of records that no checkpoint names, after an error. Who may not write any more leaves them: the
// process that took over may have written the same ones.
func (d *Dir) forget(names []string) {
	if len(names) == 0 || d.Permit != nil && d.Permit() != nil {
		return
	}
	for _, name := range names {
		// The error before it is the one that matters; a file that stays is removed after a later save.
		_ = d.fs.remove(filepath.Join(d.folder, name))
	}
}

// filesOf are the names of the files of records that a checkpoint names.
func (d *Dir) filesOf(name string) (map[string]bool, error) {
	if files, known := d.named[name]; known {
		return files, nil
	}
	b, err := d.fs.read(filepath.Join(d.folder, name))
	if errors.Is(err, iofs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	c, err := parse(b)
	if errors.Is(err, ErrCorrupt) {
		return nil, nil // nobody can read it anyway
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	return namesOf(c.files), nil
}

// namesOf are the names of the files.
func namesOf(sections map[string]*filed) map[string]bool {
	names := map[string]bool{}
	for _, f := range sections {
		for i := range f.files {
			names[f.files[i].name()] = true
		}
	}
	return names
}

// inline is the most bytes of a section of records that are written into the checkpoint.
func (d *Dir) inline() int64 {
	if d.inlineBytes != 0 {
		return d.inlineBytes
	}
	return inlineRecords
}
