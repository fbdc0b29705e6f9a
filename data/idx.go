package data

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/input"
)

// idxSide is the side of the images of MNIST and of all sets in its format.
const idxSide = 28

// idxFormat is a data set of four files in the format IDX, which MNIST was published in.
type idxFormat struct {
	ctx         context.Context // ends the reading of files
	set         string          // its name
	prefix      string          // of the names of the files
	train, test string          // words for the halves in these names
	first       int             // the label of class 0
	names       []string
	transposed  bool // rows of an image are columns in the file
}

// again says how to get the files again.
func (f idxFormat) again() string {
	return fmt.Sprintf("Get the files again; `ocl data info %s` says where", f.set)
}

// find looks for the files in a folder: packed by gzip or not, with the hyphen of the published names or the dot that
// older programs unpack to. Their paths are those of the images and the labels for training, then for testing. missing
// are the published names of those that are not there.
func (f idxFormat) find(fsys fs.FS, folder string) (files [4]string, missing []string) {
	for i, what := range []string{f.train + "-images%sidx3-ubyte", f.train + "-labels%sidx1-ubyte",
		f.test + "-images%sidx3-ubyte", f.test + "-labels%sidx1-ubyte"} {
		for _, form := range []string{what + ".gz", what} {
			for _, between := range []string{"-", "."} {
				name := path.Join(folder, f.prefix+fmt.Sprintf(form, between))
				if info, err := fs.Stat(fsys, name); files[i] == "" && err == nil && !info.IsDir() {
					files[i] = name
				}
			}
		}
		if files[i] == "" {
			missing = append(missing, f.prefix+fmt.Sprintf(what, "-")+".gz")
		}
	}
	return files, missing
}

// read reads the set from four files. most bounds the bytes that one of them can have, whatever it says.
func (f idxFormat) read(fsys fs.FS, files [4]string, most int64) (*Set, error) {
	set := &Set{C: 1, H: idxSide, W: idxSide, Classes: len(f.names), ClassNames: f.names}
	for h, split := range []*Split{&set.Train, &set.Test} {
		imagesName, labelsName := files[2*h], files[2*h+1]
		pixels, err := f.file(fsys, imagesName, most, 0x803, idxSide*idxSide)
		if err != nil {
			return nil, err
		}
		labels, err := f.file(fsys, labelsName, most, 0x801, 1)
		if err != nil {
			return nil, err
		}
		if n := len(pixels) / (idxSide * idxSide); len(labels) != n {
			return nil, fmt.Errorf("%s has %s for the %s of %s. %s", shown(labelsName), count.Of(len(labels), "label"),
				count.Of(n, "image"), shown(imagesName), f.again())
		}
		if f.transposed {
			transpose(pixels)
		}
		split.Images, split.Y = Block{pixels, idxSide * idxSide}, make([]int32, len(labels))
		seen := make([]bool, len(f.names))
		for i, y := range labels {
			k := int(y) - f.first
			if k < 0 || k >= len(f.names) {
				return nil, fmt.Errorf("%s: record %d has label %d, but labels go from %d to %d. %s", shown(labelsName), i, y,
					f.first, f.first+len(f.names)-1, f.again())
			}
			split.Y[i], seen[k] = int32(k), true
		}
		for k, ok := range seen {
			if !ok {
				return nil, fmt.Errorf("%s: no image has label %d. %s", shown(labelsName), k+f.first, f.again())
			}
		}
	}
	return set, nil
}

// file reads the records of a file, size bytes each, which are images or labels as the magic number says.
func (f idxFormat) file(fsys fs.FS, name string, most int64, magic uint32, size int) ([]uint8, error) {
	file, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w. %s", shown(name), cause.Of(err), f.again())
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("%s: %w. %s", shown(name), cause.Of(err), f.again())
	}
	records, err := readIDX(until{f.ctx, file}, min(info.Size(), most), magic, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w. %s", shown(name), err, f.again())
	}
	return records, nil
}

// readIDX reads a file of length bytes, packed by gzip or not, of records of size bytes: images of idxSide×idxSide, or
// labels. All numbers of its header are big-endian: magic, how many records there are, and for images the two sides. It
// allocates no more than such a file can hold.
func readIDX(r io.Reader, length int64, magic uint32, size int) ([]uint8, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	if length == 0 {
		return nil, errors.New("the file is empty")
	}
	var packed *gzip.Reader
	if mark, _ := in.Peek(2); string(mark) == "\x1f\x8b" {
		var err error
		if packed, err = gzip.NewReader(in); err != nil {
			return nil, fmt.Errorf("the file is damaged (%w)", err)
		}
		in = bufio.NewReaderSize(packed, 1<<16)
	}
	if begin, _ := in.Peek(512); input.Instead(begin) != nil {
		return nil, input.Instead(begin)
	}
	header := make([]byte, 8)
	if magic == 0x803 {
		header = make([]byte, 16)
	}
	if _, err := io.ReadFull(in, header); err != nil {
		return nil, fmt.Errorf("the header cannot be read (%w)", err)
	}
	if got := binary.BigEndian.Uint32(header); got != magic {
		return nil, fmt.Errorf("the file begins with %#x instead of %#x, so it is not the file that its name says", got,
			magic)
	}
	n := int64(binary.BigEndian.Uint32(header[4:]))
	if magic == 0x803 {
		if h, w := binary.BigEndian.Uint32(header[8:]), binary.BigEndian.Uint32(header[12:]); h != idxSide || w != idxSide {
			return nil, fmt.Errorf("the images are %d×%d instead of %d×%d", h, w, idxSide, idxSide)
		}
	}
	bytes := n * int64(size)
	// Deflate expands by at most 1,032.
	holds := min(npzLimit(length), 1032*length)
	if packed == nil {
		holds = length - int64(len(header))
	}
	switch {
	case n == 0:
		return nil, errors.New("the file has no record")
	case bytes > holds:
		return nil, fmt.Errorf("the header says %s, more than a file of %s can have", count.Of(n, "record"),
			count.Of(length, "byte"))
	}
	records := make([]uint8, bytes)
	if got, err := io.ReadFull(in, records); err != nil {
		return nil, fmt.Errorf("the file is truncated or damaged: record %d of %d cannot be read (%w)", got/size, n, err)
	}
	switch _, err := in.ReadByte(); {
	case err == nil:
		return nil, fmt.Errorf("the file has bytes after its %s", count.Of(n, "record"))
	case !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("the file is damaged (%w)", err)
	}
	return records, nil
}

// transpose makes rows of the columns of each image.
func transpose(pixels []uint8) {
	for at := 0; at < len(pixels); at += idxSide * idxSide {
		image := pixels[at:][:idxSide*idxSide]
		for y := range idxSide {
			for x := range y {
				image[y*idxSide+x], image[x*idxSide+y] = image[x*idxSide+y], image[y*idxSide+x]
			}
		}
	}
}

// padded are images of side×side in the middle of zeros; an odd rest is at the right and below.
func padded(b Block, from, side int) Block {
	out := newBlock(b.Len(), side*side)
	before := (side - from) / 2
	for i := range b.Len() {
		for y := range from {
			copy(out.at(i)[(before+y)*side+before:][:from], b.at(i)[y*from:])
		}
	}
	return out
}
