package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFold(t *testing.T) {
	got := fold("eins zwei drei überlang vier", 9)
	if d := cmp.Diff([]string{"eins zwei", "drei", "überlang", "vier"}, got); d != "" {
		t.Error(d)
	}
	if got := fold("", 9); len(got) != 1 || got[0] != "" {
		t.Errorf("no text folds to %q, want one empty line", got)
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	long := strings.Repeat("word ", 30)
	tab := table{head: []string{"name", ">n", "text"},
		rows: [][]string{{"er", "5,000", long}, {"finetune", "7", "über"}}}
	if err := tab.write(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	if len(lines) != 4 || lines[0] != "name          n  text" || lines[3] != "finetune      7  über" {
		t.Errorf("table is\n%s", b.String())
	}
	for _, l := range lines {
		if columns(l) > plainWidth {
			t.Errorf("%d columns, want at most %d: %s", columns(l), plainWidth, l)
		}
	}
}
