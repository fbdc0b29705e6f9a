// Package nearest finds the word that a person meant among those that exist, for messages about unknown names. It knows
// nothing of where the words come from.
package nearest

import (
	"fmt"
	"strings"
)

// Word returns the candidate closest to word by edit distance, case aside, or "" when none is close enough to be meant:
// one letter or a third of them may differ. The beginning of a candidate counts as one letter off, a candidate with
// something appended as two. Leading hyphens are no letters, so that flags may be given with theirs. Of two equally
// close the first wins.
func Word(word string, candidates []string) string {
	best, bestDistance := "", 1<<30
	w := strings.ToLower(word)
	for _, c := range candidates {
		lower := strings.ToLower(c)
		d := distance(w, lower)
		switch {
		case letters(w) >= 3 && strings.HasPrefix(lower, w):
			d = min(d, 1)
		case letters(c) >= 3 && strings.HasPrefix(w, lower):
			d = min(d, 2)
		}
		if d < bestDistance {
			best, bestDistance = c, d
		}
	}
	longer := max(letters(w), letters(best))
	if bestDistance > max(longer/3, 1) || bestDistance >= longer {
		return ""
	}
	return best
}

// Hint is what to do about an unknown word: take the nearest, or choose.
func Hint(word string, candidates []string) string {
	if near := Word(word, candidates); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return "choose one of " + strings.Join(candidates, ", ")
}

func letters(word string) int { return len(strings.TrimLeft(word, "-")) }

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
