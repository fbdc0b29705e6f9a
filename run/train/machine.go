package train

import (
	"cmp"
	"os"
	"regexp"
	"runtime"
	"strconv"
)

var (
	modelName = regexp.MustCompile(`(?m)^(?:model name|Model|Hardware)\s*: *(.+)$`)
	highWater = regexp.MustCompile(`(?m)^VmHWM:\s*(\d+) kB$`)
)

// processor is the name of the processor as Linux or Windows tells it, or its architecture.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // of Linux alone
	if m := modelName.FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return cmp.Or(os.Getenv("PROCESSOR_IDENTIFIER"), runtime.GOARCH)
}

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
