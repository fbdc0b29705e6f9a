package train

import (
	"os"
	"regexp"
	"strconv"
)

var highWater = regexp.MustCompile(`(?m)^VmHWM:\s*(\d+) kB$`)

// peakResident is the most memory the process has had resident, in bytes. 0 is unknown. Linux counts that of the parent
// process too in getrusage, but not in /proc.
func peakResident() int64 {
	text, _ := os.ReadFile("/proc/self/status")
	if m := highWater.FindSubmatch(text); m != nil {
		if kib, err := strconv.ParseInt(string(m[1]), 10, 64); err == nil {
			return kib << 10
		}
	}
	return systemPeak()
}
