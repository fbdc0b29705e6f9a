package cache

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// mapFile maps the first size bytes of a file for reading.
func mapFile(f *os.File, size int) ([]byte, func() error, error) {
	mapping, err := windows.CreateFileMapping(windows.Handle(f.Fd()), nil, windows.PAGE_READONLY, 0, 0, nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = windows.CloseHandle(mapping) }() // the view keeps what it needs
	at, err := windows.MapViewOfFile(mapping, windows.FILE_MAP_READ, 0, 0, uintptr(size))
	if err != nil {
		return nil, nil, err
	}
	// The address is of the system's memory, not of Go's, so that it may be kept as a number.
	b := unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), size)
	return b, func() error { return windows.UnmapViewOfFile(at) }, nil
}
