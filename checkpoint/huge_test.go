package checkpoint

import (
	"errors"
	"os"
	"strings"
	"testing"

	"ocl/internal/fuzztest"
	"ocl/internal/input"
)

// TestHugeFileTakesNoMemory: a checkpoint that somebody made longer, with a hole that takes no room on the disk, is
// damaged, and one that is larger than the memory of the process is refused. Neither is read.
func TestHugeFileTakesNoMemory(t *testing.T) {
	d := savedDir(t, 7)
	if err := os.Truncate(d.path(7), 8<<30); err != nil {
		t.Skip(err)
	}
	for _, want := range []struct {
		memory string
		fault  error
		text   string
	}{{"1TiB", ErrCorrupt, "the end marker is"},
		{"1GiB", input.ErrSize, "it has 8,589,934,592 bytes, and 1,073,741,824 are the limit"}} {
		t.Setenv("GOMEMLIMIT", want.memory)
		var err error
		used := fuzztest.Allocated(1<<20, func() { _, err = Read(d.path(7)) })
		if !errors.Is(err, want.fault) || !strings.Contains(err.Error(), want.text) ||
			strings.Count(err.Error(), d.path(7)) != 1 {
			t.Errorf("error %v, wanted one with %q", err, want.text)
		}
		if used > 1<<20 {
			t.Errorf("%d bytes were allocated", used)
		}
	}
}
