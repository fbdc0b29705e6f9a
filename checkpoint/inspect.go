package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
)

// Inspection is what a checkpoint file has, for people.
type Inspection struct {
	*Container            // without the sections whose records are in other files
	Version    int        // of the format
	Bytes      int64      // of the file
	Sections   []Section  // in their order
	Files      []PartFile // of records
}

// Section is a section of a checkpoint file.
type Section struct {
	Name      string
	Bytes     int64  // of its data, in whatever file they are
	Sum       uint32 // CRC-32C in the file
	Elsewhere bool   // its data are records in other files
}

// PartFile is a file of records that a checkpoint names.
type PartFile struct {
	Name, Section string
	Records       int   // in the file
	Wanted        int   // that the checkpoint uses
	Bytes         int64 // of the file
	SHA256        [digestSize]byte
	Fault         error // nil if the file is there and has this digest
}

// Inspect reads the checkpoint file at path and checks it, and the files of records that it names. A file that is damaged
// is an error that wraps [ErrCorrupt]; faults of files of records are in the result.
func Inspect(path string) (*Inspection, error) { return inspect(disk{}, path) }

func inspect(fs fileSystem, path string) (*Inspection, error) {
	b, err := fs.read(path)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	c, err := parse(b)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %s: %w", path, err)
	}
	x := &Inspection{Container: c, Version: int(binary.LittleEndian.Uint32(b[len(magic):])), Bytes: int64(len(b))}
	for _, name := range c.names {
		s := Section{Name: name, Bytes: int64(c.length(name)), Sum: c.sums[name]}
		if f := c.files[name]; f != nil {
			s.Bytes, s.Elsewhere = int64(f.size)*int64(len(f.places)), true
			x.Files = append(x.Files, f.inspect(fs, filepath.Dir(path))...)
		}
		x.Sections = append(x.Sections, s)
	}
	return x, nil
}

// inspect lists the files of a section, and checks each.
func (f *filed) inspect(fs fileSystem, folder string) []PartFile {
	wanted := make([]int, len(f.files))
	for _, p := range f.places {
		wanted[p.file]++
	}
	var all []PartFile
	for i := range f.files {
		file := &f.files[i]
		fault := f.check(fs, folder, file)
		if fault == nil {
			fault = f.readFile(fs, folder, file, nil, nil)
		}
		all = append(all, PartFile{Name: file.name(), Section: f.name, Records: file.count, Wanted: wanted[i], Bytes: file.bytes(f.size),
			SHA256: file.digest, Fault: fault})
	}
	return all
}

// Fault is what is wrong with the files of records, or nil.
func (x *Inspection) Fault() error {
	var all []error
	for _, f := range x.Files {
		all = append(all, f.Fault)
	}
	return errors.Join(all...)
}

// Newest is the path of the checkpoint of the highest step in a folder, damaged or not. It is an error that wraps
// fs.ErrNotExist if there is none.
func Newest(folder string) (string, error) {
	d := &Dir{folder: folder, fs: disk{}}
	names, err := d.names()
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		return "", d.none()
	}
	return filepath.Join(folder, names[0]), nil
}
