package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ocl/config"
	"ocl/internal/escape"
	"ocl/internal/nearest"
)

// newRoot builds the whole command tree; output goes to the two writers.
func newRoot(stdout, stderr io.Writer) *cobra.Command {
	var showVersion bool
	var asJSON jsonFlag
	root := &cobra.Command{
		Use:   "ocl",
		Short: "Train image classifiers by online continual learning, and measure what they learn and forget.",
		Example: `  ocl run
  ocl methods er`,
		Long: "In online continual learning, images arrive in small batches, and each batch is seen only once. The classes come in " +
			"tasks, one task after the other. A method learns the new classes and tries not to forget the old ones.",
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			if showVersion {
				return printVersion(stdout, &asJSON)
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&showVersion, "version", false,
		"print the version, the revision of the source, the kernels and the algorithm of convolutions in use")
	addJSON(root, &asJSON, version{})
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.PersistentFlags().Bool("no-color", false,
		"print without colour; NO_COLOR or TERM=dumb in the environment does the same")
	root.PersistentFlags().BoolP("help", "h", false, "show the help of the command")
	root.AddCommand(newRun(), newAdvise(), newSweep(), newLearn(), newDoctor(), newEmbed(), newTune(), newMethods(),
		newData(), newBench(), newReport(), newWatch(), newVerify(), newExport(), newPredict(), newServe(),
		newEval(), newClasses(), newInspect(), newConfig())
	for _, cmd := range allCommands(root) {
		cmd.Flags().SortFlags = false
		inGroup(cmd.Flags(), groupOutput)
	}
	root.InitDefaultCompletionCmd("run")
	completion := child(root, "completion")
	completion.Hidden = true
	completion.Short = "Print a script that completes commands, flags and names in your shell."
	completion.Long = ""
	completion.Example = `  source <(ocl completion bash)
  ocl completion zsh --help`
	group(completion)
	root.SetHelpCommand(newHelp(root))
	root.SetFlagErrorFunc(flagError)
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
	var markdown bool
	cmd := &cobra.Command{
		Use:    "help [COMMAND]",
		Short:  "Show the help of a command.",
		Hidden: true,
		Example: `  ocl help run
  ocl help data preview`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			at, _, err := root.Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return commandNames(at), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if markdown {
				return writePage(cmd.OutOrStdout(), root)
			}
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
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print docs/cli.md, which has a table of the commands")
	return cmd
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
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

func unknownCommand(cmd *cobra.Command, word string) error {
	commands := nearest.Names{List: commandNames(cmd),
		All: fmt.Sprintf("`%s --help` lists all commands", cmd.CommandPath())}
	return usage(fmt.Errorf("unknown command %q. %s", strings.TrimPrefix(cmd.CommandPath()+" "+word, "ocl "),
		commands.Hint(word)))
}

// flagError says what is wrong with the flags, and which flags an unknown one may stand for.
func flagError(cmd *cobra.Command, err error) error {
	all := fmt.Sprintf("`%s --help` lists all flags", cmd.CommandPath())
	var (
		unknown *pflag.NotExistError
		invalid *pflag.InvalidValueError
		missing *pflag.ValueRequiredError
	)
	switch {
	case errors.As(err, &invalid):
		return usage(fmt.Errorf("--%s cannot be %q. Use %s", invalid.GetFlag().Name, invalid.GetValue(),
			valueWords(invalid.GetFlag())))
	case errors.As(err, &missing):
		return usage(fmt.Errorf("--%s has no value. Use %s", missing.GetFlag().Name, valueWords(missing.GetFlag())))
	case !errors.As(err, &unknown):
		return usage(fmt.Errorf("%w. %s", err, all))
	}
	word := unknown.GetSpecifiedName()
	if group := unknown.GetSpecifiedShortnames(); group == word {
		return usage(fmt.Errorf("unknown flag -%s. %s", word, all))
	} else if group != "" {
		return usage(fmt.Errorf("unknown flag -%s in -%s. %s", word, unknown.GetSpecifiedShortnames(), all))
	}
	flags := nearest.Names{All: all, Meaning: func(name string) string { return cmd.Flags().Lookup(name[2:]).Usage }}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			flags.List = append(flags.List, "--"+f.Name)
		}
	})
	for _, k := range config.Keys() {
		if k.Short == word && strings.Contains(cmd.Use, "KEY=VALUE") {
			return usage(fmt.Errorf("unknown flag --%s. Write %s=VALUE", word, k.Name))
		}
	}
	return usage(fmt.Errorf("unknown flag --%s. %s", word, flags.Hint("--"+word)))
}

// valueWords says what a flag takes.
func valueWords(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "bool":
		return "true or false"
	case "int":
		return "a whole number"
	case "float64":
		return "a number"
	case "share":
		return "a number larger than 0 and smaller than 1"
	case "duration":
		return "a time, such as 3h45m"
	case "intSlice":
		return "whole numbers, such as 32,84"
	}
	switch f.Value.(type) {
	case *jsonFlag, countValue:
		return f.Value.Type()
	}
	return fmt.Sprintf("--%s %s", f.Name, cmp.Or(annotation(f, valueKey), "VALUE"))
}

// pathOf is the name of a command without the program's, for messages: "data info".
func pathOf(cmd *cobra.Command) string { return strings.TrimPrefix(cmd.CommandPath(), "ocl ") }

// exactly accepts as many words as are named.
func exactly(words ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(words) {
			return nil
		}
		path, want := cmd.CommandPath(), strings.Join(words, " ")
		switch {
		case len(words) == 0:
			return usage(fmt.Errorf("%s takes flags only, but %s is given. `%s --help` lists all flags", pathOf(cmd),
				strings.Trim(fmt.Sprintf("%q", args), "[]"), path))
		case len(args) < len(words):
			return usage(fmt.Errorf("%s: %s is missing. Write `%s`", pathOf(cmd), want, path+" "+want))
		}
		if last := args[len(args)-1]; len(args) == len(words)+1 {
			switch {
			case cmd.Flags().Lookup("data-dir") != nil:
				want += " --data folder --data-dir " + escape.Word(last)
			case cmd.Flags().Lookup("out") != nil:
				want += " --out " + escape.Word(last)
			}
		}
		return usage(fmt.Errorf("%s: too many words are given: %s. Write `%s`", pathOf(cmd),
			strings.Trim(fmt.Sprintf("%q", args), "[]"), path+" "+want))
	}
}

// atLeastOne accepts one word or more.
func atLeastOne(word, such string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage(fmt.Errorf("%s: %s is missing. Give %s", pathOf(cmd), word, such))
		}
		return nil
	}
}

// atMostOne accepts one word or none.
func atMostOne(word string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return exactly(word)(cmd, args)
		}
		return nil
	}
}
