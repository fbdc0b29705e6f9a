package survey

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"ocl/data/stream/shift"
)

// TestWords: the tables of words have as many lines as the paper's, for the rows of the tables of results.
func TestWords(t *testing.T) {
	for label, want := range map[string]int{Datasets: 5, Disturbances: 30, Signals: 9, MethodComments: 18,
		TrickComments: 13} {
		records := Words(label)
		if len(records) != want {
			t.Errorf("%s has %d lines, want %d", label, len(records), want)
		}
		for _, r := range records {
			if len(r) != len(WordColumns(label)) || slices.Contains(r, "") {
				t.Errorf("%s: %q has an empty field", label, r)
			}
		}
	}
}

// TestStrengthsAreThoseOfStreams: the program disturbs images as strongly as the table says.
func TestStrengthsAreThoseOfStreams(t *testing.T) {
	records := Words(Disturbances)
	found := map[string][]float64{}
	for _, r := range records {
		v, err := strconv.ParseFloat(r[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		found[strings.ToLower(r[0])] = append(found[strings.ToLower(r[0])], v)
	}
	for _, k := range shift.Kinds() {
		if !slices.Equal(found[k], shift.Strengths(k)) {
			t.Errorf("%s has %v, but streams have %v", k, found[k], shift.Strengths(k))
		}
	}
}
