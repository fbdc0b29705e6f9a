package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ocl/config"
	"ocl/internal/nearest"
)

// newRoot builds the whole command tree; output goes to the two writers.
func newRoot(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "ocl",
		Short: "Train networks on streams that are seen once, and measure what they learn and forget.",
		Example: `  ocl run
  ocl methods er`,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.PersistentFlags().Bool("no-color", false, "never use colour; NO_COLOR and TERM=dumb do the same")
	root.PersistentFlags().BoolP("help", "h", false, "say what the command does and takes")
	root.AddCommand(newRun(), newMethods(), newData(), newBench(), newReport(), newConfig(), newVersion())
	root.InitDefaultCompletionCmd("run")
	completion := child(root, "completion")
	completion.Short = "Print a script that completes commands, flags and names in your shell."
	completion.Long = ""
	completion.Example = `  source <(ocl completion bash)
  ocl completion zsh --help`
	group(completion)
	root.SetHelpCommand(newHelp(root))
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { printHelp(cmd, cmd.OutOrStdout()) })
	return root
}

// group makes a command that only holds others.
func group(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return cmd.Help()
	}
	cmd.AddCommand(children...)
	return cmd
}

func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Say what a command does and takes.",
		Example: `  ocl help run
  ocl help data preview`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			at, _, err := root.Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return commandNames(at), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			at := root
			for _, word := range args {
				next := child(at, word)
				if next == nil {
					return unknownCommand(at, word)
				}
				at = next
			}
			return at.Help()
		},
	}
}

func child(cmd *cobra.Command, name string) *cobra.Command {
	for _, c := range cmd.Commands() {
		if c.Name() == name {
			return c
		}
	}
	return nil
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			names = append(names, c.Name())
		}
	}
	return names
}

func unknownCommand(cmd *cobra.Command, word string) error {
	return usage(fmt.Errorf("unknown command %q for %q; %s; see `%s --help`",
		word, cmd.CommandPath(), nearest.Hint(word, commandNames(cmd)), cmd.CommandPath()))
}

// flagError says which flag is nearest to an unknown one.
func flagError(cmd *cobra.Command, err error) error {
	see := fmt.Sprintf("see `%s --help`", cmd.CommandPath())
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usage(fmt.Errorf("%w; %s", err, see))
	}
	word := unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() != "" {
		return usage(fmt.Errorf("unknown flag -%s in -%s; %s", word, unknown.GetSpecifiedShortnames(), see))
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	if instead := config.RetiredFlag(word); instead != "" && cmd.Flags().Lookup("set") != nil {
		return usage(fmt.Errorf("--%s is no flag any more. %s; %s", word, instead, see))
	}
	text := fmt.Sprintf("unknown flag --%s", word)
	if near := nearest.Word("--"+word, names); near != "" {
		text += fmt.Sprintf("; did you mean %s?", near)
	}
	return usage(fmt.Errorf("%s; %s", text, see))
}

// exactly accepts n words, named for the message.
func exactly(words ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(words) {
			return nil
		}
		want, found := "flags only", "nothing"
		if len(words) > 0 {
			want = strings.Join(words, " ")
		}
		if len(args) > 0 {
			found = strings.Trim(fmt.Sprintf("%q", args), "[]")
		}
		return usage(fmt.Errorf("%s: found %s; want %s; see `%s --help`", cmd.CommandPath(), found, want, cmd.CommandPath()))
	}
}
