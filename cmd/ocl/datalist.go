package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ocl/data"
)

func newDataList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the data sets: name, classes, images, and whether they need files.",
		Example: `  ocl data list
  ocl data list --json`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(cmd.OutOrStdout(), each(data.Catalogue(), newDataJSON))
			}
			t := table{head: []string{"name", "classes", "images", "needs", "size"}, right: []bool{false, true, true, false, false}}
			for _, info := range data.Catalogue() {
				needs := "nothing"
				if info.NeedsDir {
					needs = "--data-dir"
				}
				classes, images := "any", "any"
				if info.Classes > 0 {
					classes, images = fmt.Sprint(info.Classes), thousands(int64(info.Train+info.Test))
				}
				t.rows = append(t.rows, []string{info.Name, classes, images, needs, info.Shape})
			}
			return t.write(cmd.OutOrStdout())
		},
	}
	addJSON(cmd, &asJSON)
	return cmd
}
