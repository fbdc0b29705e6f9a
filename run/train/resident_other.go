//go:build !unix

package train

import "runtime"

// systemPeak is what the Go runtime has taken from the system, in bytes: the closest that is known here.
func systemPeak() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
