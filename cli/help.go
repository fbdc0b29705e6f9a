package cli

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the most columns a line of help takes.
const helpWidth = 100

// Annotations of a flag: its group in the help, such as "Data", and what its value is called there, such as "DIR".
const (
	groupKey = "ocl_group"
	valueKey = "ocl_value"
)

// annotate gives a flag its group and the name of its value; "" is a switch.
func annotate(flags *pflag.FlagSet, group, name, value string) {
	if err := errors.Join(flags.SetAnnotation(name, groupKey, []string{group}),
		flags.SetAnnotation(name, valueKey, []string{value})); err != nil {
		panic(err)
	}
}

// inGroup gives the flags that are in no group yet a group. The name of the value of a flag stands before a tab in its
// usage, as in "DIR\tfolder of the study"; a DIR is completed by the shell as a folder.
func inGroup(flags *pflag.FlagSet, group string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if annotation(f, groupKey) != "" {
			return
		}
		value, usage, named := strings.Cut(f.Usage, "\t")
		if !named {
			value, usage = "", f.Usage
		}
		if f.Usage = usage; value == "DIR" {
			_ = cobra.MarkFlagDirname(flags, f.Name)
		}
		annotate(flags, group, f.Name, value)
	})
}

// completeFlag lets the shell complete the values of a flag; none are files.
func completeFlag(cmd *cobra.Command, name string, values func() []string) {
	_ = cmd.RegisterFlagCompletionFunc(name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		if list := values(); len(list) > 0 {
			return list, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveDefault
	})
}

// annotation is the first value of an annotation, or "".
func annotation(f *pflag.Flag, key string) string {
	if v := f.Annotations[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// printHelp writes the help with bold headings.
func printHelp(cmd *cobra.Command, w io.Writer) error {
	var b strings.Builder
	for line := range strings.Lines(helpText(cmd)) {
		if heading := strings.TrimSuffix(line, "\n"); strings.HasSuffix(heading, ":") && !strings.HasPrefix(heading, " ") {
			line = paint(cmd, w, bold, heading) + "\n"
		}
		b.WriteString(line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// helpText is one sentence, examples, how to call the command, its commands and its flags in groups; for the program
// also its exit codes.
func helpText(cmd *cobra.Command) string {
	var b strings.Builder
	for _, line := range fold(cmd.Short, helpWidth) {
		fmt.Fprintln(&b, line)
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", strings.TrimRight(cmd.Example, "\n"))
	}
	if cmd.Long != "" {
		fmt.Fprintln(&b)
		for _, line := range strings.Split(strings.TrimSpace(cmd.Long), "\n") {
			if strings.HasPrefix(line, "\t") {
				fmt.Fprintln(&b, "  "+line[1:]) // a command
				continue
			}
			fmt.Fprintln(&b, strings.Join(fold(line, helpWidth), "\n"))
		}
	}
	if strings.Contains(cmd.Use, "KEY=VALUE") {
		fmt.Fprintln(&b, "\n"+strings.Join(fold(settingsHelp, helpWidth), "\n"))
	}
	use := cmd.UseLine()
	if cmd.HasSubCommands() && !strings.Contains(cmd.Use, " ") {
		use = cmd.CommandPath() + " COMMAND"
	}
	fmt.Fprintf(&b, "\nUsage:\n  %s\n", use)
	writeCommands(&b, cmd)
	writeFlags(&b, cmd)
	if cmd.HasParent() {
		return b.String()
	}
	fmt.Fprint(&b, "\nExit codes:\n")
	for _, c := range exitCodes {
		writeEntry(&b, c[0], 3, c[1])
	}
	fmt.Fprint(&b, "\n`ocl help COMMAND` is the same as --help. `ocl completion SHELL` prints a script that completes\ncommands, flags, keys and names in your shell.\n")
	return b.String()
}

func writeCommands(b *strings.Builder, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	fmt.Fprint(b, "\nCommands:\n")
	width := 0
	for _, name := range commandNames(cmd) {
		width = max(width, len(name))
	}
	for _, name := range commandNames(cmd) {
		writeEntry(b, name, width, child(cmd, name).Short)
	}
}

// writeFlags prints the flags by group, in the order in which groups and flags were defined; persistent ones last.
func writeFlags(b *strings.Builder, cmd *cobra.Command) {
	var names []string
	groups := map[string][]*pflag.Flag{}
	add := func(f *pflag.Flag, name string) {
		if f.Hidden {
			return
		}
		if a := annotation(f, groupKey); a != "" {
			name = a
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		groups[name] = append(groups[name], f)
	}
	local := cmd.LocalNonPersistentFlags()
	local.SortFlags = false
	local.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			add(f, "Flags")
		}
	})
	width := 0
	for _, flags := range groups {
		for _, f := range flags {
			width = max(width, columns(flagHead(f)))
		}
	}
	for _, name := range names {
		fmt.Fprintf(b, "\n%s:\n", name)
		for _, f := range groups[name] {
			text := f.Usage
			if d := strings.Trim(f.DefValue, "[]"); d != "" && d != "false" && !strings.Contains(text, "(default") {
				text += fmt.Sprintf(" (default %s)", d)
			}
			writeEntry(b, flagHead(f), width, text)
		}
	}
	if cmd.HasParent() {
		fmt.Fprint(b, "\n-h, --help and --no-color work everywhere.\n")
		return
	}
	fmt.Fprint(b, "\nEverywhere:\n")
	cmd.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) { writeEntry(b, flagHead(f), len("-h, --help"), f.Usage) })
}

// flagHead returns a flag as the help writes it: "-o, --out DIR".
func flagHead(f *pflag.Flag) string {
	head := "--" + f.Name
	if f.Shorthand != "" {
		head = "-" + f.Shorthand + ", " + head
	}
	if value := annotation(f, valueKey); value != "" {
		head += " " + value
	}
	return head
}

func writeEntry(b *strings.Builder, head string, width int, text string) {
	for i, line := range fold(text, helpWidth-width-4) {
		if i > 0 {
			head = ""
		}
		fmt.Fprintf(b, "  %s%s  %s\n", head, strings.Repeat(" ", width-columns(head)), line)
	}
}

// pageText is docs/cli.md without what is made of the commands.
//
//go:embed page.md.tmpl
var pageText string

// writePage writes docs/cli.md: the text, and a table of the commands.
func writePage(w io.Writer, root *cobra.Command) error {
	var list strings.Builder
	fmt.Fprint(&list, "| command | does |\n|---|---|")
	for _, cmd := range allCommands(root)[1:] {
		// a command of its own
		if !cmd.HasAvailableSubCommands() || cmd.Flags().Lookup("out") != nil || cmd.Flags().Lookup("json") != nil {
			fmt.Fprintf(&list, "\n| `%s` | %s |", cmd.CommandPath(), inTable(cmd.Short))
		}
	}
	codes := "| exit code | means |\n|---|---|"
	for _, c := range exitCodes {
		codes += fmt.Sprintf("\n| %s | %s |", c[0], inTable(c[1]))
	}
	_, err := io.WriteString(w, strings.NewReplacer("{{commands}}", list.String(), "{{exit codes}}",
		codes).Replace(pageText))
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
