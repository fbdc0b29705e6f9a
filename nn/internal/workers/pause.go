package workers

import "runtime"

// pause is one turn of a waiting loop. Now and then it lets other goroutines run, because a machine may have fewer
// free cores than workers.
func pause(i int) {
	if i&1023 == 1023 {
		runtime.Gosched()
	}
}
