// Package budget says how much memory this process may use. Code that is about to use much of it asks first: it can
// then name what is too large, where otherwise the system would end the process without a word.
package budget

import (
	"math"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// Bytes returns the number of bytes of memory that this process may use: GOMEMLIMIT if that is set, as it is the user's
// word, else the least of the machine's memory, the limit of the control group and that of the address space. It is
// [math.MaxInt64] where nothing is known.
func Bytes() int64 {
	if set, ok := parse(os.Getenv("GOMEMLIMIT")); ok {
		return set
	}
	return machine()
}

// parse reads a value of GOMEMLIMIT. The limit that package debug tells would not do: a program moves it as it runs.
func parse(text string) (bytes int64, ok bool) {
	unit := int64(1)
	text = strings.TrimSuffix(text, "B")
	for i, prefix := range []string{"Ki", "Mi", "Gi", "Ti"} {
		if number, is := strings.CutSuffix(text, prefix); is {
			text, unit = number, 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return 0, false
	}
	return n * unit, true
}

// machine is read once: the values do not change in practice, and decoders ask often.
var machine = sync.OnceValue(func() int64 {
	least := uint64(math.MaxInt64)
	for _, limit := range []memlimit.Provider{memlimit.FromSystem, memlimit.FromCgroup, addresses} {
		if n, err := limit(); err == nil { // an error is "no limit", or that this system does not tell
			least = min(least, n)
		}
	}
	return int64(least)
})
