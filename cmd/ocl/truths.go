package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// checkTruths refuses "--flag false" for a flag that is true or false. Such a flag takes its value only after an equals
// sign: without one, the word after it would be read as an argument of the command, and the flag as true.
func checkTruths(root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	// An error is of another fault, which the command line itself tells.
	for i := 0; err == nil && i+1 < len(rest) && rest[i] != "--"; i++ {
		f := flagIn(cmd, rest[i])
		switch {
		case f == nil || strings.Contains(rest[i], "="):
		case f.NoOptDefVal == "":
			i++ // its value, whatever it looks like
		case f.Value.Type() == "bool" && f.Name != "help" && slices.Contains([]string{"true", "false"}, strings.ToLower(rest[i+1])):
			return usage(fmt.Errorf("%s: %q stands apart from --%s, which takes a value only after an equals sign. Write --%s=%s",
				pathOf(cmd), rest[i+1], f.Name, f.Name, strings.ToLower(rest[i+1])))
		}
	}
	return nil
}

// flagIn is the flag that a word of a command line names, as --name or as -n; nil is none.
func flagIn(cmd *cobra.Command, word string) *pflag.Flag {
	word, _, _ = strings.Cut(word, "=")
	if name, long := strings.CutPrefix(word, "--"); long {
		return cmd.Flag(name)
	}
	if len(word) != 2 || word[0] != '-' {
		return nil
	}
	return cmd.Flags().ShorthandLookup(word[1:])
}
