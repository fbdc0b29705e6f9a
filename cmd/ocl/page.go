package main

import (
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// pageText is docs/cli.md without what is made of the commands.
//
//go:embed page.md.tmpl
var pageText string

// writePage writes docs/cli.md: the text, and the help of every command.
func writePage(w io.Writer, root *cobra.Command) error {
	var list, help strings.Builder
	fmt.Fprint(&list, "| command | does |\n|---|---|")
	for _, cmd := range allCommands(root)[1:] {
		if !cmd.HasAvailableSubCommands() || cmd.Flags().Lookup("out") != nil || cmd.Flags().Lookup("json") != nil { // a command of its own
			fmt.Fprintf(&list, "\n| [`%s`](#%s) | %s |", cmd.CommandPath(), strings.ReplaceAll(cmd.CommandPath(), " ", "-"), escape(cmd.Short))
		}
		fmt.Fprintf(&help, "\n## %s\n\n```text\n%s```\n", cmd.CommandPath(), helpText(cmd))
	}
	codes := "| exit code | means |\n|---|---|"
	for _, c := range exitCodes {
		codes += fmt.Sprintf("\n| %s | %s |", c[0], escape(c[1]))
	}
	_, err := io.WriteString(w, strings.NewReplacer("{{commands}}", list.String(), "{{exit codes}}", codes).Replace(pageText)+help.String())
	return err
}

// allCommands lists a command and those below it that are not hidden.
func allCommands(cmd *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			list = append(list, allCommands(c)...)
		}
	}
	return list
}
