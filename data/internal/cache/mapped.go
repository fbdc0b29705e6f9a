package cache

import (
	"errors"
	"fmt"
	"io"
	"os"

	"ocl/internal/count"
)

// Mapped is a whole file for reading. Its pages belong to the system and not to the process, except on a system that maps
// no files, where it is read into memory. The bytes are valid until release is called, and nobody changes them. The process
// ends if the file is cut or the disk fails while they are read. An empty file is an error.
func Mapped(name string) (b []byte, release func() error, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	size := info.Size()
	switch {
	case !info.Mode().IsRegular():
		return nil, nil, errors.New("it is not a file")
	case size == 0:
		return nil, nil, errors.New("the file is empty")
	case int64(int(size)) != size:
		return nil, nil, fmt.Errorf("its %s are more than this machine can address", count.Of(size, "byte"))
	}
	if b, release, err = mapFile(f, int(size)); err == nil {
		return b, release, nil
	}
	b = make([]byte, size)
	_, err = io.ReadFull(f, b)
	return b, func() error { return nil }, err
}
