package experiment

import (
	"errors"
	"fmt"
	"strings"
)

// faults collects everything that is wrong with a config, so that one run of the command tells it all.
type faults struct{ list []error }

// add notes `config: key: what was found; what was wanted; what to do`.
func (f *faults) add(key, found, wanted, remedy string) {
	f.list = append(f.list, fmt.Errorf("config: %s: %s; %s; %s", key, found, wanted, remedy))
}

// err is nil without faults, else all of them, one a line.
func (f *faults) err() error { return errors.Join(f.list...) }

// nearest returns the candidate closest to word by edit distance, or "" when none is close enough to be meant: at most
// a third of the letters may differ, or one is the beginning of the other. Of two equally close the first wins.
func nearest(word string, candidates []string) string {
	best, bestD := "", 1<<30
	w := strings.ToLower(word)
	for _, c := range candidates {
		d := distance(w, strings.ToLower(c))
		if len(w) >= 3 && (strings.HasPrefix(c, w) || strings.HasPrefix(w, c)) {
			d = min(d, 1)
		}
		if d < bestD {
			best, bestD = c, d
		}
	}
	if 3*bestD > max(len(w), len(best)) {
		return ""
	}
	return best
}

// distance is the Levenshtein distance of two words in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// suggest is what to do about an unknown word.
func suggest(word string, candidates []string) string {
	if n := nearest(word, candidates); n != "" {
		return fmt.Sprintf("did you mean %s?", n)
	}
	return "choose one of " + strings.Join(candidates, ", ")
}
