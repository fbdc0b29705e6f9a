package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ocl/data"
	"ocl/internal/count"
)

func newDataList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the data sets: name, classes, images, what they need, and licence.",
		Example: `  ocl data list
  ocl data list --json`,
		Long: "A data set that needs a cache consists of image files. Its first use decodes them into a file, which later uses share; " +
			"`ocl data cache list` lists these files. `ocl data info NAME` tells more of a data set.",
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(cmd.OutOrStdout(), each(data.Catalogue(), newDataJSON))
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
	addJSON(cmd, &asJSON)
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
