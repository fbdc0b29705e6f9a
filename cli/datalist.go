package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ocl/data"
	"ocl/data/stream"
	"ocl/internal/count"
)

func newDataList() *cobra.Command {
	t := table{head: []string{"name", ">classes", ">images", "size", "needs", "licence"}}
	return lists(&cobra.Command{
		Use:   "list",
		Short: "List the data sets: name, classes, images, what they need, and licence.",
		Example: `  ocl data list
  ocl data list --json name,licence`,
		Long: "A data set that needs a cache consists of image files. They are decoded once, into a file that later uses share; " +
			"`ocl data cache` lists these files. `ocl data info NAME` says more about a data set.",
	}, data.Catalogue(), newDataJSON, t, func(info data.Info) []string {
		classes, images := "any", "any"
		if info.Classes > 0 {
			classes, images = fmt.Sprint(info.Classes), count.Number(info.Train+info.Test)
		}
		size, _, _ := strings.Cut(strings.ReplaceAll(info.Shape, " (", ", "), ", ")
		licence, _, _ := strings.Cut(info.Licence, "; ")
		return []string{info.Name, classes, images, size, needsOf(info), licence}
	})
}

// lists makes a command that lists all of a catalogue, in a table with a row for each entry or in JSON.
func lists[T, J any](cmd *cobra.Command, all []T, toJSON func(T) J, t table, row func(T) []string) *cobra.Command {
	var asJSON jsonFlag
	cmd.Args = exactly()
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if asJSON.given {
			return asJSON.print(cmd.OutOrStdout(), each(all, toJSON))
		}
		t.rows = each(all, row)
		return t.write(cmd.OutOrStdout())
	}
	addJSON(cmd, &asJSON, []J{})
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
	return lists(&cobra.Command{
		Use:   "streams",
		Short: "List the kinds of streams (for --stream of `ocl run`), and how the tasks of each differ.",
		Example: `  ocl data streams
  ocl data streams --json all`,
	}, stream.Kinds(), newKindJSON, table{head: []string{"name", "scenario", "tasks"}},
		func(k stream.Kind) []string { return []string{k.Name, string(k.Scenario), k.Summary} })
}
