package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commands lists every command that a person can call.
func commands(cmd *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			list = append(list, commands(c)...)
		}
	}
	return list
}

// TestHelp holds each command's help against docs/cli.md: one sentence first, then two examples that name real commands
// and flags, at most 100 columns.
func TestHelp(t *testing.T) {
	root := newRoot(&bytes.Buffer{}, &bytes.Buffer{})
	for _, cmd := range commands(root) {
		if p := cmd.Parent(); p != nil && p.Name() == "completion" {
			continue // cobra's own
		}
		text := helpText(cmd)
		lines := strings.Split(text, "\n")
		for _, l := range lines {
			if columns(l) > helpWidth {
				t.Errorf("%s: %d columns, want at most %d: %s", cmd.CommandPath(), columns(l), helpWidth, l)
			}
		}
		if !regexp.MustCompile(`^[A-Z][^.]*\.$`).MatchString(cmd.Short) {
			t.Errorf("%s: the first line is %q, want one sentence", cmd.CommandPath(), cmd.Short)
		}
		examples := strings.Split(strings.Trim(cmd.Example, "\n"), "\n")
		if len(examples) < 2 {
			t.Errorf("%s: %d examples, want two", cmd.CommandPath(), len(examples))
		}
		for _, e := range examples {
			checkExample(t, root, cmd, e)
		}
	}
}

// checkExample parses the example's words as the shell would hand them over.
func checkExample(t *testing.T, root, cmd *cobra.Command, example string) {
	t.Helper()
	_, line, ok := strings.Cut(example, "ocl ")
	if !ok {
		t.Errorf("%s: example %q does not call ocl", cmd.CommandPath(), example)
		return
	}
	line, _, _ = strings.Cut(line, ">")
	line = strings.TrimRight(line, ") ")
	at, rest, err := root.Find(strings.Fields(line))
	if err != nil || at == root {
		t.Errorf("%s: example %q calls no command: %v", cmd.CommandPath(), example, err)
		return
	}
	for _, word := range rest {
		name, isFlag := strings.CutPrefix(word, "--")
		name, _, _ = strings.Cut(name, "=")
		if isFlag && at.Flags().Lookup(name) == nil && at.InheritedFlags().Lookup(name) == nil {
			t.Errorf("%s: example %q has an unknown flag --%s", cmd.CommandPath(), example, name)
		}
	}
}

// TestFlagsGrouped: every flag of run belongs to a group and names its value unless it is a switch.
func TestFlagsGrouped(t *testing.T) {
	root := newRoot(&bytes.Buffer{}, &bytes.Buffer{})
	for _, cmd := range commands(root) {
		if p := cmd.Parent(); p != nil && p.Name() == "completion" {
			continue
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" {
				return
			}
			if cmd.Name() == "run" && annotation(f, groupKey) == "" {
				t.Errorf("run: --%s has no group", f.Name)
			}
			if isSwitch := f.Value.Type() == "bool"; isSwitch != (annotation(f, valueKey) == "") {
				t.Errorf("%s: --%s has value name %q and type %s", cmd.CommandPath(), f.Name, annotation(f, valueKey), f.Value.Type())
			}
		})
	}
}

// TestSettingsCoverConfig: each flag sets a key that exists, and no key has two flags.
func TestSettingsCoverConfig(t *testing.T) {
	defaults := defaultTexts()
	seen := map[string]string{}
	for _, s := range settings {
		if _, ok := defaults[s.key]; !ok {
			t.Errorf("--%s sets %s, which is no key of the config", s.flag, s.key)
		}
		if other := seen[s.key]; other != "" {
			t.Errorf("--%s and --%s both set %s", other, s.flag, s.key)
		}
		seen[s.key] = s.flag
	}
}
