package report

import (
	"testing"
)

func TestNamesOfFiles(t *testing.T) {
	for _, c := range [][2]string{
		{slugify("ER +/MIR"), "er---mir"}, {slugify("äö"), "x"}, {quote("a b's"), `'a b'\''s'`},
		{quote("runs/er5k"), "runs/er5k"},
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
