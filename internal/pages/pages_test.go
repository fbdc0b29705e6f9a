//go:build unix

package pages_test

import (
	"testing"
	"unsafe"

	"ocl/internal/pages"
)

// TestFault: all of a slice can be read and written, and the first float beyond its edge cannot, at sizes around a
// page's.
func TestFault(t *testing.T) {
	for _, n := range []int{1, 7, 1023, 1024, 1025, 5000} {
		x := map[pages.Edge][]float32{pages.End: pages.Floats(t, n, pages.End), pages.Start: pages.Floats(t, n, pages.Start)}
		for e, x := range x {
			if len(x) != n || cap(x) != n {
				t.Fatalf("%v, %d floats: %d of %d", e, n, len(x), cap(x))
			}
			if err := pages.Fault(func() {
				for i := range x {
					x[i]++
				}
			}); err != nil {
				t.Errorf("%v, %d floats: %v", e, n, err)
			}
		}
		last, first := &x[pages.End][n-1], &x[pages.Start][0]
		beyond := map[string]*float32{"behind": (*float32)(unsafe.Add(unsafe.Pointer(last), 4)),
			"before": (*float32)(unsafe.Add(unsafe.Pointer(first), -4))}
		for where, p := range beyond {
			if pages.Fault(func() { sink = *p }) == nil {
				t.Errorf("%d floats: a read %s them is no fault", n, where)
			}
			if pages.Fault(func() { *p = 1 }) == nil {
				t.Errorf("%d floats: a write %s them is no fault", n, where)
			}
		}
	}
	if v := pages.Int32s(t, pages.End, 3, 1, 2); len(v) != 3 || v[0] != 3 || v[2] != 2 {
		t.Errorf("table %v, want 3 1 2", v)
	}
}

var sink float32
