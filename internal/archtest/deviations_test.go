package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDeviationsAreTested wants at least one test in each row of docs/deviations.md, and each test named there to
// exist.
func TestDeviationsAreTested(t *testing.T) {
	page, err := os.ReadFile(root + "/docs/deviations.md")
	if err != nil {
		t.Fatal(err)
	}
	name, rows := regexp.MustCompile("`([a-z/]+)\\.(Test[A-Za-z0-9]+)`"), 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| topic") {
			continue
		}
		rows++
		tests := name.FindAllStringSubmatch(line, -1)
		if len(tests) == 0 {
			t.Errorf("no test in the row %q", strings.TrimSpace(line))
		}
		for _, m := range tests {
			if !declared(t, m[1], "func "+m[2]+"(t *testing.T)") {
				t.Errorf("package %s has no test %s", m[1], m[2])
			}
		}
	}
	if rows == 0 {
		t.Error("docs/deviations.md has no rows")
	}
}

// declared says whether a line of a test file of the folder starts with text.
func declared(t *testing.T, folder, text string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains("\n"+string(data), "\n"+text) {
			return true
		}
	}
	return false
}
