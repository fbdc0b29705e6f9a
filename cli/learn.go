package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ocl/config"
	"ocl/experiment"
	"ocl/experiment/trained"
)

func newLearn() *cobra.Command {
	var f runFlags
	var older bool
	cmd := &cobra.Command{
		Use:   "learn RUN",
		Short: "Let the learner of a finished run learn another stream, with all that it knows and stores.",
		Example: `  ocl learn runs/er1k --data folder --data-dir photos
  ocl learn runs/er1k --data folder --data-dir photos --lr 0.01 --out runs/er1k-photos
  ocl learn runs/first --data cifar100 --data-dir DIR --tasks 20 --protocol survey`,
		Long: "RUN is the folder of a run, or of an experiment that has one run. Method, tricks, memory, network and seed stay as they are; " +
			"data and stream are new. Class names say which classes are new: the network grows by them. Images must have the size and " +
			"channels of those of RUN, and are scaled to that size where the data set can.\n" +
			"The result is a new run, which names RUN as its parent. `ocl run --resume DIR` continues it after Ctrl-C.",
		ValidArgsFunction: completeFolder,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.config.checkKept(cmd); err != nil {
				return err
			}
			if _, given := f.config.text("data.name"); !given {
				return usage(errors.New("learn: --data is missing, and nothing else says what to learn. Give a data set, such as --data folder --data-dir photos"))
			}
			parent, err := trained.LearnOn(f.config.words[0], older)
			if err != nil {
				return err
			}
			f.config.settle = func(c *config.Config) { *c = parent }
			return f.run(cmd)
		},
	}
	f.config = addConfig(cmd, false, func(k config.Key) bool { return k.Anew }, "RUN")
	// The other keys have hidden flags, so that all of them that are given can be named in one message.
	for _, k := range experiment.Schema().Keys() {
		if k.Flag() != "" && !k.Anew {
			addKey(cmd, k, k.Flag(), k.Group, k.Value)
			cmd.Flags().Lookup(k.Flag()).Hidden = true
		}
	}
	for _, name := range []string{"batch", "classifiers", "lr"} {
		flag := cmd.Flags().Lookup(name)
		usage, _, _ := strings.Cut(flag.Usage, " (default")
		flag.Usage, flag.DefValue = usage+" (default: that of RUN)", ""
	}
	cmd.Flags().Lookup("data").DefValue = "" // it must be given
	f.addOutput(cmd)
	addOlder(cmd, &older)
	annotate(cmd.Flags(), groupOutput, map[string]string{"older": ""})
	return cmd
}

// checkKept refuses settings that a run keeps from its parent. It names them all, before their values are checked: advice about
// a value would be of no use.
func (c *configFlags) checkKept(cmd *cobra.Command) error {
	kept := map[string]bool{}
	for _, name := range experiment.Schema().Names() {
		kept[name] = true
	}
	for _, k := range config.Keys() {
		kept[k.Name] = !k.Anew
	}
	var given []string
	for _, g := range c.given() {
		if kept[g.key] {
			given = append(given, g.as)
		}
	}
	if len(given) == 0 {
		return nil
	}
	return usage(fmt.Errorf("%s: the learner keeps these settings of RUN: %s. Remove them, or start anew with `ocl run`", pathOf(cmd), strings.Join(given, ", ")))
}
