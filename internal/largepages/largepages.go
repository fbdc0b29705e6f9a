// Package largepages makes arrays that the processor finds with fewer entries of its page tables. A step of training
// walks through more memory than those entries cover, above all in a virtual machine, where each that is missing is
// looked for twice. Start at [Floats].
package largepages

import "unsafe"

// least is the smallest array, in bytes, that asks for large pages.
const least = 32 << 10

// Floats returns n zeros. Where the system leaves it to programs (on Linux, "madvise" in
// /sys/kernel/mm/transparent_hugepage/enabled), it is asked to put them on large pages; where it does not, elsewhere
// than on Linux and for few floats they are what make gives.
func Floats(n int) []float32 {
	v := make([]float32, n)
	if 4*n >= least {
		advise(uintptr(unsafe.Pointer(unsafe.SliceData(v))), uintptr(4*n))
	}
	return v
}
