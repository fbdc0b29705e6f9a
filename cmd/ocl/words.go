package main

import (
	"fmt"
	"strings"
)

// nearest returns the candidate closest to word by edit distance, or "" when none is close enough to be meant: one
// letter or a third of them may differ, or word is the beginning of one. Of two equally close the first wins.
func nearest(word string, candidates []string) string {
	best, bestDistance := "", 1<<30
	w := strings.ToLower(word)
	for _, c := range candidates {
		d := distance(w, strings.ToLower(c))
		if len(strings.TrimLeft(w, "-")) >= 3 && strings.HasPrefix(c, w) {
			d = min(d, 1)
		}
		if d < bestDistance {
			best, bestDistance = c, d
		}
	}
	letters := max(len(strings.TrimLeft(w, "-")), len(strings.TrimLeft(best, "-")))
	if bestDistance > max(letters/3, 1) || bestDistance >= letters {
		return ""
	}
	return best
}

// distance is the number of letters to insert, delete, replace or swap with their neighbour to turn a into b (optimal
// string alignment), in bytes: a swap is one slip of the finger, not two.
func distance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}

// suggest is what to do about an unknown word.
func suggest(word string, candidates []string) string {
	if near := nearest(word, candidates); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return "want one of " + strings.Join(candidates, ", ")
}

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
