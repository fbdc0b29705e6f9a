package main

import (
	"github.com/spf13/cobra"

	"ocl/stream"
)

func newDataStreams() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "streams",
		Short: "List the kinds of streams (for --stream of `ocl run`), and how the tasks of each differ.",
		Example: `  ocl data streams
  ocl data streams --json`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(cmd.OutOrStdout(), each(stream.Kinds(), newKindJSON))
			}
			t := table{head: []string{"name", "scenario", "tasks"}, right: make([]bool, 3)}
			for _, k := range stream.Kinds() {
				t.rows = append(t.rows, []string{k.Name, string(k.Scenario), k.Summary})
			}
			return t.write(cmd.OutOrStdout())
		},
	}
	addJSON(cmd, &asJSON)
	return cmd
}
