package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// plainWidth is the width assumed where there is no terminal to ask.
const plainWidth = 100

// isTerminal tells whether w is a terminal that understands a carriage return.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// terminalWidth is the number of columns of w now, or plainWidth.
func terminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return plainWidth
}

// useColour tells whether output to w may carry colour: a terminal, and nobody said no (no-color.org).
func useColour(cmd *cobra.Command, w io.Writer) bool {
	if no, err := cmd.Flags().GetBool("no-color"); err == nil && no {
		return false
	}
	return os.Getenv("NO_COLOR") == "" && isTerminal(w)
}
