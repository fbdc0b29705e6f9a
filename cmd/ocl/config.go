package main

import (
	"github.com/spf13/cobra"
)

func newConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Look at the config of an experiment.",
		Example: `  ocl config show
  ocl config show --set optimizer.lr=0.05`,
	}
	return group(cmd, newConfigShow())
}

func newConfigShow() *cobra.Command {
	var (
		config *configFlags
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print the config that `ocl run` with the same flags would use, every key with its value.",
		Example: `  ocl config show > exp.yaml
  ocl config show --memory 1000 --set stream.class_order=given`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.config(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			cfg = cfg.Resolved()
			if asJSON {
				return printJSON(cmd.OutOrStdout(), cfg)
			}
			text, err := cfg.YAML()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	config = addConfigFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	annotate(cmd.Flags(), groupOutput, map[string]string{"json": ""})
	return cmd
}
