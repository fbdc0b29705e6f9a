package largepages

import "syscall"

// large is the size of a large page of most processors.
const large = 2 << 20

// advise covers the whole large pages that the array lies on, together with its neighbours on the heap: advice changes
// no memory, and most arrays are shorter than a large page. The heap grows by more than one, so all of it is there.
func advise(at, n uintptr) {
	first, limit := at&^(large-1), (at+n+large-1)&^(large-1)
	// what is refused stays as it was
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, first, limit-first, syscall.MADV_HUGEPAGE)
}
