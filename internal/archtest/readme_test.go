package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeShowsTheExample: README's Go block is the body of main of examples/first, which is built with everything else.
func TestReadmeShowsTheExample(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(page), "```go\n")
	block, _, ended := strings.Cut(block, "```\n")
	if !found || !ended {
		t.Fatal("README.md has no Go block")
	}
	example, err := os.ReadFile(filepath.Join(root, "examples", "first", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, body, found := strings.Cut(string(example), "func main() {\n")
	body = strings.TrimSuffix(body, "}\n")
	var lines []string
	for line := range strings.Lines(body) {
		lines = append(lines, strings.TrimPrefix(line, "\t"))
	}
	if want := strings.Join(lines, ""); !found || block != want {
		t.Errorf("README.md's Go block is not what examples/first/main.go does; want\n%s", want)
	}
}
