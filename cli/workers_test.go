package cli

import (
	"io"
	"strconv"
	"testing"

	"github.com/spf13/cobra"

	"ocl/internal/limit"
)

// TestWorkersAreBounded: no command starts so many workers that their activations fill the memory.
func TestWorkersAreBounded(t *testing.T) {
	found := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if f := cmd.Flags().Lookup("workers"); f != nil {
			found++
			for text, ok := range map[string]bool{"0": true, "1": true, strconv.Itoa(limit.Workers): true,
				strconv.Itoa(limit.Workers + 1): false, "-1": false, "two": false} {
				if err := f.Value.Set(text); (err == nil) != ok {
					t.Errorf("%s --workers %s: %v", pathOf(cmd), text, err)
				}
			}
		}
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(newRoot(io.Discard, io.Discard))
	if found < 6 {
		t.Errorf("%d commands have --workers, want at least 6", found)
	}
}
