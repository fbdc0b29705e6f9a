package data

import (
	"slices"
	"strings"
	"testing"
)

func TestCatalogueIsSortedAndComplete(t *testing.T) {
	if !slices.IsSorted(Names()) {
		t.Errorf("names %v are not sorted", Names())
	}
	for _, info := range Catalogue() {
		got, err := Lookup(info.Name)
		if err != nil || got.Name != info.Name || (got.Open == nil) == (got.list == nil) {
			t.Errorf("Lookup(%q): %+v, %v", info.Name, got, err)
		}
		for _, field := range []string{info.Title, info.Source, info.Licence, info.Citation, info.Example, info.Shape} {
			if field == "" {
				t.Errorf("%s: an empty field in %+v", info.Name, info)
			}
		}
	}
}

// TestByPath: the path in the example of a data set tells which data set it is.
func TestByPath(t *testing.T) {
	for _, i := range Catalogue() {
		_, rest, needs := strings.Cut(i.Example, "--data-dir ")
		if needs != i.NeedsDir {
			t.Errorf("%s: its example is %q", i.Name, i.Example)
		}
		if len(i.Endings) == 0 { // no files, or files of any name
			continue
		}
		path, _, _ := strings.Cut(rest, " ")
		if got, ok := ByPath("some/folder/" + path + "/"); !ok || got.Name != i.Name {
			t.Errorf("%s holds %q, want %s", path, got.Name, i.Name)
		}
	}
	if got, ok := ByPath("some/folder"); ok {
		t.Errorf("a folder of any name is taken for %s", got.Name)
	}
}
