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

// Styles of paint, as the numbers of the terminal's "select graphic rendition".
const (
	bold = "1"
	red  = "31"
)

// paint gives text a style where w may have colour: on a terminal, unless --no-color, NO_COLOR or TERM=dumb says no
// (no-color.org). The words say everything without it.
func paint(cmd *cobra.Command, w io.Writer, style, text string) string {
	no, err := cmd.Root().PersistentFlags().GetBool("no-color")
	if err != nil || no || os.Getenv("NO_COLOR") != "" || !isTerminal(w) {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}
