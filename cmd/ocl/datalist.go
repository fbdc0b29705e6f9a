package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ocl/data"
	"ocl/internal/count"
	"ocl/stream"
)

func newDataList() *cobra.Command {
	var asJSON jsonFlag
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the data sets: name, classes, images, what they need, and licence.",
		Example: `  ocl data list
  ocl data list --json name,licence`,
		Long: "A data set that needs a cache consists of image files. Its first use decodes them into a file, which later uses share; " +
			"`ocl data cache` lists these files. `ocl data info NAME` tells more of a data set.",
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON.given {
				return asJSON.print(cmd.OutOrStdout(), each(data.Catalogue(), newDataJSON))
			}
			t := table{head: []string{"name", "classes", "images", "size", "needs", "licence"}, right: []bool{false, true, true, false, false, false}}
			for _, info := range data.Catalogue() {
				classes, images := "any", "any"
				if info.Classes > 0 {
					classes, images = fmt.Sprint(info.Classes), count.Number(info.Train+info.Test)
				}
				size, _, _ := strings.Cut(strings.ReplaceAll(info.Shape, " (", ", "), ", ")
				licence, _, _ := strings.Cut(info.Licence, "; ")
				t.rows = append(t.rows, []string{info.Name, classes, images, size, needsOf(info), licence})
			}
			return t.write(cmd.OutOrStdout())
		},
	}
	addJSON(cmd, &asJSON, dataJSON{})
	return cmd
}

// needsOf says what a data set needs before it can be used.
func needsOf(info data.Info) string {
	switch {
	case !info.NeedsDir:
		return "nothing"
	case info.Cached():
		return "--data-dir, cache"
	}
	return "--data-dir"
}

func newDataStreams() *cobra.Command {
	var asJSON jsonFlag
	cmd := &cobra.Command{
		Use:   "streams",
		Short: "List the kinds of streams (for --stream of `ocl run`), and how the tasks of each differ.",
		Example: `  ocl data streams
  ocl data streams --json all`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON.given {
				return asJSON.print(cmd.OutOrStdout(), each(stream.Kinds(), newKindJSON))
			}
			t := table{head: []string{"name", "scenario", "tasks"}, right: make([]bool, 3)}
			for _, k := range stream.Kinds() {
				t.rows = append(t.rows, []string{k.Name, string(k.Scenario), k.Summary})
			}
			return t.write(cmd.OutOrStdout())
		},
	}
	addJSON(cmd, &asJSON, kindJSON{})
	return cmd
}
