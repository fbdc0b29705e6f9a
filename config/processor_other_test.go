//go:build !unix

package config

import (
	"testing"
	"time"
)

var started = time.Now()

// processorTime is the time of the clock where that of processors is not to be had.
func processorTime(*testing.T) time.Duration { return time.Since(started) }
