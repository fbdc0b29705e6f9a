package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ocl/experiment/trained"
	"ocl/internal/count"
)

func newCheckpoint() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "checkpoint",
		Short: "Say what a checkpoint has.",
		Example: `  ocl checkpoint info runs/er5k
  ocl checkpoint info --help`,
	}
	return group(cmd, newCheckpointInfo())
}

func newCheckpointInfo() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "info PATH",
		Short: "Say what a checkpoint has, and check all of it.",
		Example: `  ocl checkpoint info runs/er5k
  ocl checkpoint info runs/er5k --json`,
		Long: "PATH is a checkpoint file, or the folder of a run, whose newest checkpoint is meant, or of an experiment with one run. The command prints the run, " +
			"how far it was, its memory, and each section with its size and checksum. " +
			"All checksums are checked; the exit code is 1 if something is damaged. It changes nothing.",
		Args: exactly("PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			info, err := trained.Inspect(args[0])
			if info == nil {
				return err
			}
			if asJSON {
				return errors.Join(printJSON(cmd.OutOrStdout(), info), err)
			}
			return errors.Join(writeCheckpoint(cmd.OutOrStdout(), info), err)
		},
	}
	addJSON(cmd, &asJSON)
	return cmd
}

// writeCheckpoint prints what a checkpoint has. Names come from a file.
func writeCheckpoint(w io.Writer, c *trained.CheckpointInfo) error {
	lines := [][2]string{
		{"file", fmt.Sprintf("%s, format version %d, %s", c.File, c.Version, byteCount(c.Bytes))},
		{"run", fmt.Sprintf("%s, trick %s, on %s, seed %d, key %.12s", c.Method, c.Trick, c.Data, c.Seed, c.Key)},
		{"place", fmt.Sprintf("step %d, task %d, %s, next batch %d", c.Step, c.Task+1, c.Phase, c.Batch+1)},
		{"engine", fmt.Sprintf("numbers version %d, kernels %s, convolutions %s", c.Numbers, c.Kernel, c.Convolution)},
		{"data", c.Digest},
	}
	if m := c.Memory; m != nil {
		lines = append(lines, [2]string{"memory", fmt.Sprintf("%s stored, in %s, of %s", count.Of(int(m.Stored), "image"), count.Of(int(m.Capacity), "slot"),
			count.Of(int(m.Seen), "sample"))})
	}
	for _, l := range lines {
		if _, err := fmt.Fprintf(w, "%-7s %s\n", l[0], printable(l[1])); err != nil {
			return err
		}
	}
	t := table{head: []string{"section", "size", "CRC-32C"}, right: []bool{false, true, false}}
	for _, s := range c.Sections {
		t.rows = append(t.rows, []string{printable(s.Name), byteCount(s.Bytes), s.CRC})
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return t.write(w)
}
