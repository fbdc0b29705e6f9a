package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ocl/config"
	"ocl/experiment"
)

// learnName is the command whose run keeps settings of its parent.
const learnName = "learn"

func newLearn() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   learnName + " RUN",
		Short: "Let the learner of a finished run learn another stream, with all that it knows and stores.",
		Example: `  ocl learn runs/er1k --data folder --data-dir photos
  ocl learn runs/er1k --data folder --data-dir photos --lr 0.01 --out runs/er1k-photos
  ocl learn runs/first --data cifar100 --data-dir DIR --tasks 20 --protocol survey`,
		Long: "RUN is the folder of a run, or of an experiment that has one run. Method, tricks, memory, network and seed stay as they are; " +
			"data and stream are new. Class names say which classes are new: the network grows by them. Images must have the size and " +
			"channels of those of RUN, and are scaled to that size where the data set can.\n" +
			"The result is a new run, which names RUN as its parent. `ocl run --resume DIR` continues it after Ctrl-C.",
		Args: exactly("RUN"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("data") {
				return usage(errors.New("learn: --data is missing, and nothing else says what to learn. Give a data set, such as --data folder --data-dir photos"))
			}
			parent, err := experiment.LearnOn(args[0])
			if err != nil {
				return err
			}
			f.config.settle = func(c *config.Config) { *c = parent }
			return f.run(cmd)
		},
	}
	f.config = &configFlags{flags: cmd.Flags()}
	f.config.addKeys(cmd, func(k config.Key) bool { return k.Anew })
	for _, name := range []string{"batch", "classifiers", "lr", "weight-decay", "kernel", "convolution"} {
		flag := cmd.Flags().Lookup(name)
		usage, _, _ := strings.Cut(flag.Usage, " (default")
		flag.Usage, flag.DefValue = usage+" (default: that of RUN)", ""
	}
	cmd.Flags().Lookup("data").DefValue = "" // it must be given
	f.addOutput(cmd)
	return cmd
}

// isKept says whether an unknown flag of a command is a setting that its run keeps from the parent.
func isKept(cmd *cobra.Command, flag string) bool {
	return cmd.Name() == learnName && slices.ContainsFunc(config.Keys(), func(k config.Key) bool { return k.Flag == flag })
}
