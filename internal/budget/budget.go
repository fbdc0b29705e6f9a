// Package budget says how much memory this process may use. Code that is about to use much of it asks first: it can then
// name what is too large, where otherwise the system would end the process without a word.
package budget

import (
	"math"
	"runtime/debug"
	"sync"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// Bytes returns the number of bytes of memory that this process may use: GOMEMLIMIT if that is set, as it is the user's
// word, else the smaller of the machine's memory and the limit of the control group. It is [math.MaxInt64] where nothing
// is known.
func Bytes() int64 {
	if set := debug.SetMemoryLimit(-1); set != math.MaxInt64 {
		return set
	}
	return machine()
}

// machine is read once: neither value changes in practice, and decoders ask often.
var machine = sync.OnceValue(func() int64 {
	least := uint64(math.MaxInt64)
	for _, limit := range []memlimit.Provider{memlimit.FromSystem, memlimit.FromCgroup} {
		if n, err := limit(); err == nil { // an error is "no limit", or that this system does not tell
			least = min(least, n)
		}
	}
	return int64(least)
})
