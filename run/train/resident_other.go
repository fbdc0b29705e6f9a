//go:build !unix

package train

import "runtime"

// systemPeak is the memory that the Go runtime has taken from the system, in bytes. The peak of the process is not
// known on this system; this is the closest number.
func systemPeak() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
