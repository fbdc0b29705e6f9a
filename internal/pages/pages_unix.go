//go:build unix

package pages

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"
)

// Floats returns n zeros with one edge at a protected page; the other edge is less than a page away from another one.
// They are gone when the test ends.
func Floats(t testing.TB, n int, e Edge) []float32 {
	b := region(t, 4*n, e)
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// Float64s is Floats for float64.
func Float64s(t testing.TB, n int, e Edge) []float64 {
	b := region(t, 8*n, e)
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// Int32s is Floats for a table, with its values.
func Int32s(t testing.TB, e Edge, values ...int32) []int32 {
	b := region(t, 4*len(values), e)
	v := unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(b))), len(values))
	copy(v, values)
	return v
}

func region(t testing.TB, n int, e Edge) []byte {
	t.Helper()
	page := os.Getpagesize()
	inner := max(1, (n+page-1)/page) * page
	b, err := syscall.Mmap(-1, 0, inner+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(b); err != nil {
			t.Error(err)
		}
	})
	for _, at := range []int{0, page + inner} {
		if err := syscall.Mprotect(b[at:at+page], syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	at := page
	if e == End {
		at += inner - n
	}
	return b[at : at+n : at+n]
}

// Fault runs f in this goroutine and returns an error where it reads or writes a protected page. Other panics pass.
func Fault(f func()) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch e := recover().(type) {
		case nil:
		case interface {
			runtime.Error
			Addr() uintptr
		}:
			err = fmt.Errorf("a fault at address %#x", e.Addr())
		default:
			panic(e)
		}
	}()
	f()
	return nil
}
