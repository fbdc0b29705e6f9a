// Package npz reads and writes arrays with names as numpy.savez does: a zip archive with one .npy file for each. Start
// at [Open] and [Write].
//
// Of the libraries, github.com/sbinet/npyio writes slices as arrays of one axis, allocates whatever length a file
// states, and panics on a malformed header. So it is used in tests only.
package npz

import (
	"archive/zip"
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/limit"
)

// Metadata is the name of the array that says what made the others: one text of bytes, a JSON object of texts in UTF-8.
const Metadata = "__metadata__"

// Array is what an array says about itself.
type Array struct {
	Name string `json:"name"`
	// as NumPy writes it, such as "|u1" or "<i8": the byte order, the kind and the number of bytes of a value, or of
	// characters of a text "<U12"
	Type  string `json:"type"`
	Shape []int  `json:"shape"`
}

// File is an archive of arrays.
type File struct {
	archive *zip.Reader
	size    int64 // in bytes
}

// Open reads the directory of a file of size bytes.
func Open(r io.ReaderAt, size int64) (*File, error) {
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("this is not an .npz file (%w). Write it with numpy.savez or numpy.savez_compressed", err)
	}
	return &File{archive, size}, nil
}

// Has says whether the file has an array of that name.
func (f *File) Has(name string) bool { return f.entry(name) != nil }

// Needs is an error that names the first of these arrays that the file lacks.
func (f *File) Needs(needs ...string) error {
	for _, name := range needs {
		if f.Has(name) {
			continue
		}
		var names []string
		for _, entry := range f.archive.File {
			names = append(names, fmt.Sprintf("%.40q", strings.TrimSuffix(entry.Name, ".npy")))
		}
		return fmt.Errorf("%s is missing among the arrays of the file (%s). Write %s into it", name, count.Some(names),
			count.And(needs))
	}
	return nil
}

// Arrays are those of the file, of any types, in its order.
func (f *File) Arrays() (all []Array, err error) {
	for _, entry := range f.archive.File {
		if !strings.HasSuffix(entry.Name, ".npy") {
			return nil, fmt.Errorf("this is not an .npz file: its entry %.40q is no array. Write it with numpy.savez",
				entry.Name)
		}
		v, err := f.open(entry, listed)
		if err != nil {
			return nil, err
		}
		v.Close()
		all = append(all, v.Array)
	}
	return all, nil
}

// Metadata reads the text under [Metadata]; nil is none.
func (f *File) Metadata() (says map[string]string, err error) {
	v, err := f.Texts(Metadata)
	if v == nil {
		return nil, err
	}
	defer v.Close()
	if len(v.Shape) != 0 || v.width > limit.ClassNames {
		return nil, fmt.Errorf("%s has shape %v and %s, and not one text of at most %s. Leave it out, or write the file with `ocl embed -o FILE.npz`",
			v.Name, v.Shape, count.Of(v.width, "byte"), count.Number(limit.ClassNames))
	}
	texts, err := v.Texts()
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(texts[0]), &says); err != nil {
		return nil, fmt.Errorf("%s is no JSON object of texts. Leave it out, or write the file with `ocl embed -o FILE.npz`",
			v.Name)
	}
	return says, nil
}

// Numbers opens an array of integers or floats; nil is none of that name.
func (f *File) Numbers(name string) (*Values, error) { return f.named(name, numbers) }

// Texts opens an array of texts; nil is none of that name.
func (f *File) Texts(name string) (*Values, error) { return f.named(name, texts) }

func (f *File) named(name string, wanted kind) (*Values, error) {
	if entry := f.entry(name); entry != nil {
		return f.open(entry, wanted)
	}
	return nil, nil
}

// entry is the last one that has the name, as for NumPy; nil is none.
func (f *File) entry(name string) (found *zip.File) {
	for _, entry := range f.archive.File {
		if entry.Name == name+".npy" {
			found = entry
		}
	}
	return found
}

// open reads the header of an array.
func (f *File) open(entry *zip.File, wanted kind) (*Values, error) {
	name := strings.TrimSuffix(entry.Name, ".npy")
	shown := cause.Shown(name)
	packed, whole := entry.CompressedSize64, entry.UncompressedSize64
	// Deflate expands by at most 1,032; an entry that says more lies, and its array is not allocated.
	if packed > uint64(f.size) || whole > 1032*packed+1032 || whole > limit.Set {
		return nil, fmt.Errorf("%s: an entry of %s in a file of %d cannot hold %s, as it states. The file is damaged; "+
			"write it again", shown, count.Of(packed, "byte"), f.size, count.Of(whole, "byte"))
	}
	r, err := entry.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w. Write the file again with numpy.savez", shown, err)
	}
	v := &Values{Array: Array{Name: name}, in: bufio.NewReaderSize(r, 1<<18), Closer: r}
	if err := v.open(int64(whole), wanted); err != nil {
		v.Close()
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	return v, nil
}
