package main

import (
	"strings"
	"time"

	"ocl/internal/count"
)

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
