//go:build !linux

package train

import (
	"os"
	"runtime"
)

// processor is the name of the processor as Windows tells it, or its architecture.
func processor() string {
	if name := os.Getenv("PROCESSOR_IDENTIFIER"); name != "" {
		return name
	}
	return runtime.GOARCH
}
