package data

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestListSpellings: labels and tasks of a list are compared in one spelling of Unicode.
func TestListSpellings(t *testing.T) {
	root := photos(t, "1.png", "2.png", "3.png", "4.png", "5.png")
	list := filepath.Join(root, "list.csv")
	text := "path,label,task\n1.png,caf\u00e9,\u00e4\n2.png,cafe\u0301,a\u0308\n3.png,cafe\u0301,\u00e4\n4.png,bar,b\n5.png,bar,b\n"
	if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	set := openSmall(t, Spec{Name: "csv", Dir: list, Size: 8})
	if !slices.Equal(set.ClassNames, []string{"bar", "caf\u00e9"}) || set.Tasks != 2 {
		t.Errorf("classes %+q, tasks %+q", set.ClassNames, strings.Join(set.TaskNames, " "))
	}
}
