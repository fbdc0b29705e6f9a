package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"ocl/config"
	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/run/experiment"
)

func newConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show, check and explain the configs of experiments.",
		Example: `  ocl config show > exp.yaml
  ocl config check exp.yaml
  ocl config keys`,
	}
	return group(cmd, newConfigShow(), newConfigCheck(), newConfigKeys(), newConfigSchema())
}

func newConfigShow() *cobra.Command {
	var (
		flags  *configFlags
		asJSON jsonFlag
	)
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print the config that `ocl run` with the same words would use, every key with its value.",
		Example: `  ocl config show > exp.yaml
  ocl config show --memory 1000 stream.class_order=given`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := flags.config(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			cfg = experiment.Schema().Resolved(cfg)
			text, err := cfg.YAML()
			if err != nil {
				return err
			}
			return asJSON.printOr(cmd.OutOrStdout(), cfg, string(text))
		},
	}
	flags = addConfig(cmd, true, nil)
	addJSON(cmd, &asJSON, config.Default())
	return cmd
}

// validation is the JSON that `ocl config check --json` prints.
type validation struct {
	File   string   `json:"file"`
	Valid  bool     `json:"valid"`
	Runs   int      `json:"runs"`
	Faults []string `json:"faults"`
}

func newConfigCheck() *cobra.Command {
	var asJSON jsonFlag
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Check a config file and print everything that is wrong with it, without opening the data.",
		Example: `  ocl config check exp.yaml
  ocl config check --json valid,faults runs/er5k/experiment.yaml`,
		Args: exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, from, notes, err := experiment.Load(args[0])
			err = errors.Join(err, experiment.Schema().ValidateAt(cfg, from)) // of what could be read
			v := validation{File: args[0], Valid: err == nil, Faults: []string{}}
			if err == nil {
				v.Runs = len(experiment.Schema().Runs(cfg))
			} else {
				v.Faults = strings.Split(err.Error(), "\n")
			}
			if asJSON.given {
				if e := asJSON.print(cmd.OutOrStdout(), v); e != nil {
					return e
				}
				return usage(err)
			}
			if err != nil {
				return usage(fmt.Errorf("%s is not valid:\n%w", args[0], err))
			}
			printNotes(cmd.ErrOrStderr(), notes)
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is valid: %s\n", escape.Line(args[0]), count.Of(v.Runs, "run"))
			return err
		},
	}
	addJSON(cmd, &asJSON, validation{})
	return cmd
}

func newConfigKeys() *cobra.Command {
	var (
		asJSON   jsonFlag
		markdown bool
	)
	cmd := &cobra.Command{
		Use:   "keys [WORD]",
		Short: "List the keys of a config, or those with WORD in their names: flag, default, range and meaning.",
		Example: `  ocl config keys
  ocl config keys replay
  ocl config keys --markdown`,
		Args: atMostOne("[WORD]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if markdown && asJSON.given {
				return usage(fmt.Errorf("%s: --markdown and --json are both given. Remove one of them", pathOf(cmd)))
			}
			if markdown {
				_, err := io.WriteString(cmd.OutOrStdout(), experiment.Schema().Markdown())
				return err
			}
			entries := experiment.Schema().Entries()
			if len(args) > 0 {
				var some []config.Entry
				for _, e := range entries {
					if strings.Contains(e.Name, args[0]) {
						some = append(some, e)
					}
				}
				if entries = some; len(entries) == 0 {
					return usage(fmt.Errorf("no key has %q in its name. `ocl config keys` lists all keys", args[0]))
				}
			}
			return asJSON.printOr(cmd.OutOrStdout(), entries, keysText(entries))
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print the table of docs/format/config.md")
	addJSON(cmd, &asJSON, config.Entry{})
	return cmd
}

// keysText lists each key with its meaning, range, default and readers.
func keysText(entries []config.Entry) string {
	var b strings.Builder
	for _, e := range entries {
		head := e.Name
		if e.Flag != "" {
			head += "  " + e.Flag
		}
		fmt.Fprintln(&b, head)
		text := upperFirst(e.Help) + ". " + upperFirst(e.Range) + "; default " + e.Default + "."
		if e.Default == "" {
			text = upperFirst(e.Help) + ". " + upperFirst(e.Range) + "."
		}
		if e.ReadBy != "" {
			text += " Read by " + e.ReadBy + "."
		}
		for _, line := range fold(text, plainWidth-4) {
			fmt.Fprintln(&b, "    "+line)
		}
	}
	return b.String()
}

// upperFirst begins a sentence. A Greek letter is a symbol of a formula, so it stays as it is.
func upperFirst(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	if n == 0 || unicode.Is(unicode.Greek, r) {
		return text
	}
	return string(unicode.ToUpper(r)) + text[n:]
}

func newConfigSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print a JSON Schema of configs, so that an editor can complete and check a YAML file.",
		Example: `  ocl config schema > ocl-config.schema.json
  ocl config schema | jq .properties.optimizer`,
		Long: "Editors with a YAML language server use it when the first line of a config is\n" +
			"\t# yaml-language-server: $schema=ocl-config.schema.json",
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := experiment.Schema().JSONSchema()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
}
