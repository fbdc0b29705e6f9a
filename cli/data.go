package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"ocl/data"
)

func newData() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "List, describe, download and check data sets and kinds of streams, and draw sheets of images.",
		Example: `  ocl data list
  ocl data preview glyphs -o sheet.png`,
	}
	return group(cmd, newDataList(), newDataInfo(), newDataFetch(), newDataVerify(), newDataPreview(), newDataStreams(),
		newDataCache())
}

// lookupData finds a data set, or says which name was probably meant.
func lookupData(name string) (data.Info, error) {
	info, err := data.Lookup(name)
	if err == nil {
		return info, nil
	}
	return info, usage(errors.Unwrap(err))
}

// completeFirst completes the first word of a command.
func completeFirst(names func() []string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(), cobra.ShellCompDirectiveNoFileComp
	}
}
