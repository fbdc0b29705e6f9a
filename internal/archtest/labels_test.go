package archtest

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	citation = regexp.MustCompile(`\b(eq|alg|par): ?[A-Za-z_-]*[A-Za-z_]`)
	entry    = regexp.MustCompile(`^((?:eq|alg|par): ?[\w-]+) +(\S+)$`)
)

// readLabels reads labels.txt: label to package, "-" where nothing implements it yet.
func readLabels(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("labels.txt")
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		m := entry.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("labels.txt: %q; want a label and a package", line)
		}
		labels[m[1]] = m[2]
	}
	return labels
}

// cited returns the labels in the comments of a package's files, each as often as it occurs.
func cited(t *testing.T, p pkg) []string {
	t.Helper()
	var found []string
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range f.Comments {
			found = append(found, citation.FindAllString(strings.Join(strings.Fields(c.Text()), " "), -1)...)
		}
	}
	return found
}

// TestEquationsAreCitedOnce wants each implemented label of the survey in exactly one comment outside tests, in the
// package that labels.txt names, so that a reader with the paper in hand finds one place.
func TestEquationsAreCitedOnce(t *testing.T) {
	labels, where := readLabels(t), map[string][]string{}
	for _, p := range packages(t) {
		for _, label := range cited(t, p) {
			if _, known := labels[label]; !known {
				t.Errorf("%s cites %q, which labels.txt does not list", p.ImportPath, label)
			}
			where[label] = append(where[label], short(p.ImportPath))
		}
	}
	for label, want := range labels {
		got := where[label]
		if want == "-" && len(got) > 0 {
			t.Errorf("%s: cited by %v; write the package into labels.txt", label, got)
		}
		if want != "-" && !slices.Equal(got, []string{want}) {
			t.Errorf("%s: cited by %v, want once, by %s", label, got, want)
		}
	}
}
