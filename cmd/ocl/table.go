package main

import (
	"fmt"
	"io"
	"strings"
)

// table is rows of text under a head; columns are aligned to the right where right says so, and the last one is folded
// so that no line is wider than plainWidth.
type table struct {
	head  []string
	rows  [][]string
	right []bool
}

func (t table) write(w io.Writer) error {
	_, err := io.WriteString(w, t.String())
	return err
}

func (t table) String() string {
	width := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
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
	for _, row := range append([][]string{t.head}, t.rows...) {
		line := ""
		for i, cell := range row[:last] {
			pad := strings.Repeat(" ", width[i]-columns(cell))
			if t.right[i] {
				line += pad + cell + "  "
			} else {
				line += cell + pad + "  "
			}
		}
		for i, part := range fold(row[last], width[last]) {
			if i > 0 {
				line = strings.Repeat(" ", indent)
			}
			if t.right[last] {
				line += strings.Repeat(" ", width[last]-columns(part))
			}
			fmt.Fprintln(&b, strings.TrimRight(line+part, " "))
		}
	}
	return b.String()
}

func joinWords(w []string) string { return strings.Join(w, ", ") }
