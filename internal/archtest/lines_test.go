package archtest

import (
	"bytes"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// longestLine is the last column of a line. A tab is one column.
const longestLine = 120

// TestLinesEnd: lines of Go end by column 120, not counting the brackets and the like at the end. A text in quotes may
// go beyond, so that it can be searched for whole.
func TestLinesEnd(t *testing.T) {
	for _, p := range packages(t) {
		files, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if head, _, _ := bytes.Cut(text, []byte("\npackage ")); bytes.Contains(head, []byte("DO NOT EDIT")) {
				continue
			}
			quoted := linesOfTexts(text)
			for i, line := range strings.Split(string(text), "\n") {
				if n := utf8.RuneCountInString(strings.TrimRight(line, " +,{}()[]")); n > longestLine && !quoted[i+1] && !strings.HasPrefix(line, "//go:") {
					t.Errorf("%s:%d: the line has %d columns. Let it end by column %d", name, i+1, n, longestLine)
				}
			}
		}
	}
}

// linesOfTexts are the numbers of the lines of a file on which a text in quotes goes beyond the longest line, and of
// those within a text.
func linesOfTexts(text []byte) map[int]bool {
	lines, files := map[int]bool{}, token.NewFileSet()
	file := files.AddFile("", files.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	for {
		pos, kind, literal := s.Scan()
		if kind == token.EOF {
			return lines
		}
		if kind != token.STRING {
			continue
		}
		at := file.Position(pos)
		if more := strings.Count(literal, "\n"); more > 0 {
			for i := range more + 1 {
				lines[at.Line+i] = true
			}
		} else if at.Column+len(literal) > longestLine {
			lines[at.Line] = true
		}
	}
}
