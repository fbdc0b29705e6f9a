package train

import (
	"os"
	"regexp"
	"runtime"
)

var modelName = regexp.MustCompile(`(?m)^(?:model name|Model|Hardware)\s*: *(.+)$`)

// processor is the name of the processor, or its architecture where the system does not tell.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if m := modelName.FindSubmatch(text); err == nil && m != nil {
		return string(m[1])
	}
	return runtime.GOARCH
}
