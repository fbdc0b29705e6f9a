package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ocl/internal/count"
	"ocl/internal/escape"
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

// terminalHeight is the number of lines of w now, 0 where there is no terminal to ask.
func terminalHeight(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if _, n, err := term.GetSize(int(f.Fd())); err == nil {
			return n
		}
	}
	return 0
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

// printNotes prints a line for each note.
func printNotes(w io.Writer, notes []string) {
	for _, note := range notes {
		fmt.Fprintln(w, ended(escape.Line(note)))
	}
}

// percent prints a fraction: 0.2136 is "21.4 %".
func percent(v float64) string { return count.Percent(v) + " %" }

// duration prints a time for people: "8.0s", "2m40s", "3h05m".
func duration(d time.Duration) string { return count.Duration(d.Seconds()) }

// fold breaks text at spaces into lines of at most width characters; a longer word keeps its own line.
func fold(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case columns(line)+1+columns(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// columns is the width of s on a terminal, every character counted as one.
func columns(s string) int { return len([]rune(s)) }

// table is rows of text under a head, in which what does not show is escaped. Columns whose head begins with ">" are
// aligned to the right, and the last one is folded so that no line is wider than plainWidth. A row of one cell is a
// heading.
type table struct {
	head []string
	rows [][]string
}

func (t table) write(w io.Writer) error {
	_, err := io.WriteString(w, t.String())
	return err
}

func (t table) String() string {
	width, right, head := make([]int, len(t.head)), make([]bool, len(t.head)), make([]string, len(t.head))
	for i, h := range t.head {
		head[i], right[i] = strings.CutPrefix(h, ">")
	}
	lines := [][]string{head}
	for _, row := range t.rows {
		line := make([]string, len(row))
		for i, cell := range row {
			line[i] = escape.Line(cell)
		}
		lines = append(lines, line)
	}
	for _, row := range lines {
		if len(row) == 1 {
			continue
		}
		for i, cell := range row {
			width[i] = max(width[i], columns(cell))
		}
	}
	last, indent := len(width)-1, 0
	for _, n := range width[:last] {
		indent += n + 2
	}
	width[last] = min(width[last], max(plainWidth-indent, 20))
	var b strings.Builder
	for _, row := range lines {
		if len(row) == 1 { // a heading
			fmt.Fprintf(&b, "\n%s\n", row[0])
			continue
		}
		line := ""
		for i, cell := range row[:last] {
			pad := strings.Repeat(" ", width[i]-columns(cell))
			if right[i] {
				line += pad + cell + "  "
			} else {
				line += cell + pad + "  "
			}
		}
		for i, part := range fold(row[last], width[last]) {
			if i > 0 {
				line = strings.Repeat(" ", indent)
			}
			if right[last] {
				line += strings.Repeat(" ", width[last]-columns(part))
			}
			fmt.Fprintln(&b, strings.TrimRight(line+part, " "))
		}
	}
	return b.String()
}

func joinWords(w []string) string { return strings.Join(w, ", ") }
