package report

import (
	"math"
	"testing"
)

func TestWords(t *testing.T) {
	for _, c := range [][2]string{
		{percent(0.2136), "21.4"}, {percent(-0.0001), "0.0"}, {percent(1), "100.0"},
		{percent(math.NaN()), "–"}, {points(math.NaN()), "– points"}, {duration(math.NaN()), "–"}, {significant(math.NaN()), "–"},
		{duration(0), "0.0s"}, {duration(4.24), "4.2s"}, {duration(59.4), "59s"}, {duration(59.6), "1m00s"}, {duration(160), "2m40s"}, {duration(3599.6), "1h00m"}, {duration(9000), "2h30m"},
		{bytesText(999), "999 B"}, {bytesText(1234567890), "1.2 GB"}, {bytesText(312e6), "312 MB"}, {bytesText(999_999), "1.0 MB"},
		{kilo(5000), "5k"}, {kilo(1500), "1.5k"}, {kilo(500), "500"}, {kilo(1234), "1,234"},
		{andList(nil), ""}, {andList([]string{"a"}), "a"}, {andList([]string{"a", "b", "c"}), "a, b and c"},
		{points(0.305), "31 points"}, {points(0.01), "1 point"}, {ratio(4.71), "4.7"}, {ratio(12.3), "12"},
		{slugify("ER +/MIR"), "er---mir"}, {slugify("äö"), "x"}, {quote("a b's"), `'a b'\''s'`}, {quote("runs/er5k"), "runs/er5k"},
	} {
		if c[0] != c[1] {
			t.Errorf("got %q, want %q", c[0], c[1])
		}
	}
}

func TestWrap(t *testing.T) {
	got := wrap("one two three", 7)
	if len(got) != 2 || got[0] != "one two" || got[1] != "three" {
		t.Errorf("got %q", got)
	}
}
