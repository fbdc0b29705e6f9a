package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ocl/data"
)

func newDataInfo() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "info NAME",
		Short: "Describe a data set: what it holds, where to get it and how it must lie on disk.",
		Example: `  ocl data info cifar100
  ocl data info npz`,
		Args:              exactly("NAME"),
		ValidArgsFunction: completeFirst(data.Names),
		RunE: func(cmd *cobra.Command, args []string) error {
			info, err := lookupData(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), newDataJSON(info))
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), info.Text())
			return err
		},
	}
	addJSON(cmd, &asJSON)
	return cmd
}
