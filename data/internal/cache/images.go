package cache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
)

// Images are the images of a file. Methods may be called by several goroutines at once, except Close.
type Images struct {
	path    string
	header  header
	index   []byte          // [N] times the SHA-256
	checked []atomic.Uint32 // a bit for each image: its SHA-256 was right when it was last checked
	image   int             // bytes of one
	note    string

	data  []byte       // the mapped file; nil if it cannot be mapped
	unmap func() error // nil if data is nil
	file  *os.File     // read instead; nil if data is there

	decode func(i int, dst []uint8) error // instead of a file; see Spec.ReadOnly
}

// openFile maps a file after its header and index were checked. An error is an *unfit if the file should be built, and
// wraps fs.ErrNotExist if there is none.
func openFile(path string) (*Images, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &unfit{path, err}
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("data: cache: %s is not a file. Remove it", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("data: cache: %w. Make it readable, or set $%s to use another folder", err, Folder)
	}
	m, err := newImages(path, f)
	if err != nil {
		return nil, errors.Join(&unfit{path, err}, f.Close())
	}
	if m.file == nil {
		err = f.Close() // the mapping stays
	}
	return m, err
}

func newImages(path string, f *os.File) (*Images, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	h, index, err := read(f, info.Size())
	if err != nil {
		return nil, err
	}
	m := imagesOf(path, h, index)
	if int64(int(info.Size())) == info.Size() { // not on a machine of 32 bits whose addresses do not reach so far
		m.data, m.unmap, err = mapFile(f, int(info.Size()))
	}
	if m.data == nil || err != nil {
		m.data, m.unmap, m.file = nil, nil, f
	}
	return m, nil
}

func imagesOf(path string, h header, index []byte) *Images {
	return &Images{path: path, header: h, index: index, checked: make([]atomic.Uint32, (h.Images+31)/32),
		image: h.Shape[0] * h.Shape[1] * h.Shape[2]}
}

// Path is the file, "" for images that are in none.
func (m *Images) Path() string { return m.path }

// Len is the number N of images, with those that were left out.
func (m *Images) Len() int { return m.header.Images }

// Sum is the SHA-256 of the pixels of image i, as the index has it; zeros for an image that was left out.
func (m *Images) Sum(i int) [sha256.Size]byte {
	return [sha256.Size]byte(m.index[i*sha256.Size : (i+1)*sha256.Size])
}

// Faults are the images that were left out when the file was built, by index. The caller must not change them.
func (m *Images) Faults() []Fault { return m.header.Faults }

// Note says why an earlier file was built again, "" if there was none or it was good.
func (m *Images) Note() string { return m.note }

// Image is image i, uint8 [C,H,W] flattened. It is a view of the mapped file, which must not be changed and is valid
// until Close. On a system where the file cannot be mapped, it is read into buf, or into a new slice if buf is too short.
//
// The first use of an image checks its SHA-256. The error wraps [ErrDamaged] if it is wrong; other images can still be
// used. An image that was left out is an error that has the message of its fault. Image panics if i is out of range. As
// with every mapped file, the process ends if the disk fails while a view is read after that. An image that is in no file is
// decoded into buf, or into a new slice, and not checked.
func (m *Images) Image(i int, buf []uint8) ([]uint8, error) {
	if i < 0 || i >= m.header.Images {
		panic(fmt.Sprintf("data: cache: image %d of %d", i, m.header.Images))
	}
	if m.decode != nil {
		return m.decoded(i, buf)
	}
	bit := uint32(1) << (i % 32)
	good := m.checked[i/32].Load()&bit != 0
	if good && m.data != nil {
		at := pixelsAt + i*m.image
		return m.data[at : at+m.image : at+m.image], nil
	}
	if k := m.faultOf(i); k >= 0 {
		return nil, fmt.Errorf("data: cache: %s: image %d was left out: %s", m.path, i, m.header.Faults[k].Message)
	}
	pixels, err := m.pixels(i, buf)
	if err == nil && !good {
		err = m.check(i, pixels)
	}
	if err != nil {
		return nil, err
	}
	return pixels, nil
}

// decoded is image i of images that are in no file.
func (m *Images) decoded(i int, buf []uint8) ([]uint8, error) {
	buf = slices.Grow(buf[:0], m.image)[:m.image]
	clear(buf)
	if err := m.decode(i, buf); err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	return buf, nil
}

// faultOf is the place of image i in Faults, -1 if it was not left out.
func (m *Images) faultOf(i int) int {
	faults := m.header.Faults
	k := sort.Search(len(faults), func(k int) bool { return faults[k].Image >= i })
	if k < len(faults) && faults[k].Image == i {
		return k
	}
	return -1
}

// pixels is image i, not checked.
func (m *Images) pixels(i int, buf []uint8) ([]uint8, error) {
	if m.data != nil {
		at := pixelsAt + i*m.image
		return m.data[at : at+m.image : at+m.image], nil
	}
	if m.file == nil {
		return nil, fmt.Errorf("data: cache: %s: image %d: the cache is closed: %w", m.path, i, fs.ErrClosed)
	}
	buf = slices.Grow(buf[:0], m.image)[:m.image]
	if n, err := m.file.ReadAt(buf, pixelsAt+int64(i)*int64(m.image)); n < m.image {
		return nil, m.damaged(i, fmt.Sprintf("it cannot be read (%v)", err))
	}
	return buf, nil
}

// check compares the SHA-256 of pixels with that of image i, and notes whether it is right.
func (m *Images) check(i int, pixels []uint8) error {
	bit := uint32(1) << (i % 32)
	sum, readable := sumOfMapped(pixels)
	want := m.index[i*sha256.Size : (i+1)*sha256.Size]
	if readable && bytes.Equal(sum[:], want) {
		m.checked[i/32].Or(bit)
		return nil
	}
	m.checked[i/32].And(^bit)
	if !readable {
		return m.damaged(i, "it cannot be read")
	}
	return m.damaged(i, fmt.Sprintf("its SHA-256 is %08x… instead of %08x…", binary.BigEndian.Uint32(sum[:]), binary.BigEndian.Uint32(want)))
}

func (m *Images) damaged(i int, how string) error {
	return fmt.Errorf("data: cache: %s: image %d: %s, so %w. Run `ocl data cache clean`, then the same command again", m.path, i, how, ErrDamaged)
}

// sumOfMapped is the SHA-256 of mapped bytes. Where the disk fails, or the file was cut after it was mapped, reading them
// is a fault of the memory, which would otherwise end the process.
func sumOfMapped(b []byte) (sum [sha256.Size]byte, readable bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			if _, is := r.(interface{ Addr() uintptr }); !is {
				panic(r)
			}
			readable = false
		}
	}()
	return sha256.Sum256(b), true
}

// Verify checks every image, by all cores, whether it was used before or not. It returns an error for each image that is
// damaged, by index, and last ctx.Err() if ctx ended before the last image. progress may be nil; see [Spec.Progress].
func (m *Images) Verify(ctx context.Context, progress func(done, total int)) []error {
	var mu sync.Mutex
	found := map[int]error{}
	err := Each(ctx, m.Len(), 0, m.image, progress, func(i int, buf []uint8) error {
		if m.faultOf(i) >= 0 {
			return nil
		}
		pixels, err := m.pixels(i, buf)
		if err == nil {
			err = m.check(i, pixels)
		}
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			found[i] = err
		}
		return nil
	})
	var all []error
	for _, i := range slices.Sorted(maps.Keys(found)) {
		all = append(all, found[i])
	}
	if err != nil {
		all = append(all, err)
	}
	return all
}

// Close unmaps the file. Views of images must not be used afterwards. A second call does nothing.
func (m *Images) Close() error {
	unmap, file := m.unmap, m.file
	m.data, m.unmap, m.file, m.decode = nil, nil, nil, nil
	switch {
	case unmap != nil:
		return unmap()
	case file != nil:
		return file.Close()
	}
	return nil
}
