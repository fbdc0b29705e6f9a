// Package priority lowers the priority of threads, so that work in the background gives way to other work of the
// process. Start at [Lower].
package priority

// Least is the niceness of the lowest priority.
const Least = 19

// Lower ties the calling goroutine to its thread for good and gives that thread the niceness n, 1 to [Least]; 0 does
// nothing. Other threads stay as they are, and the thread ends with the goroutine. Where the system has no priorities
// of threads (elsewhere than on Linux), or refuses, nothing changes.
func Lower(n int) {
	if n > 0 {
		lower(n)
	}
}
