package data

import (
	"fmt"
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

// TestNumbersAsLabels: labels that are one number are one class or two, and a note says which.
func TestNumbersAsLabels(t *testing.T) {
	root := photos(t, "1.png", "2.png", "3.png", "4.png", "5.png")
	for labels, want := range map[string]struct{ classes, note string }{
		"01 1 1 2 2":     {"1 2", "all labels are whole numbers, so 01 is the class 1"},
		"07 07 07 08 08": {"7 8", "all labels are whole numbers, so 07 is the class 7, 08 is the class 8"},
		"1 1 1 1.0 2": {"1 1.0 2",
			"the classes 1 and 1.0 are two, and their names are one number. Write them alike if they are one"},
		"01 01 01 1 cat":     {"01 1 cat", "the classes 01 and 1 are two, and their names are one number"},
		"1 1 1 2 2":          {"1 2", ""},
		"1e3x 1e3x 1e3x a a": {"1e3x a", ""},
	} {
		text := "path,label\n"
		for i, label := range strings.Fields(labels) {
			text += fmt.Sprintf("%d.png,%s\n", i+1, label)
		}
		list := filepath.Join(root, "list.csv")
		if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		set := openSmall(t, Spec{Name: "csv", Dir: list, Size: 8})
		all := strings.Join(set.Notes, "\n")
		if strings.Join(set.ClassNames, " ") != want.classes || !strings.Contains(all, want.note) || want.note == "" &&
			len(set.Notes) > 1 {
			t.Errorf("%s: classes %q, notes %q", labels, set.ClassNames, set.Notes)
		}
	}
}

// TestPathsOfOtherSystems: a list finds its files under names with backslashes and in the other spelling of Unicode.
func TestPathsOfOtherSystems(t *testing.T) {
	root := photos(t, "a/caf\u00e9.png", "a/ne\u0301.png", "2.png", "3.png", "4.png")
	list := filepath.Join(root, "list.csv")
	text := "path,label\na\\cafe\u0301.png,x\na/n\u00e9.png,x\n2.png,x\n3.png,y\n4.png,y\n"
	if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if set := openSmall(t, Spec{Name: "csv", Dir: list, Size: 8}); set.Train.Len()+set.Test.Len() != 5 {
		t.Errorf("%d images", set.Train.Len()+set.Test.Len())
	}
}
