// Package processor says what the processor of this machine is called. Start at [Name].
package processor

import (
	"cmp"
	"os"
	"runtime"
)

// Name is the name of the processor, or of the machine where the system tells only that, or else the architecture.
func Name() string { return cmp.Or(name(), os.Getenv("PROCESSOR_IDENTIFIER"), runtime.GOARCH) }
