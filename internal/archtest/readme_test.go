package archtest

import (
	"fmt"
	"os"
	"os/exec"
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

// TestExampleBuildsOutside builds README's example in a module of its own, as README says how. What it needs is in the cache of modules.
func TestExampleBuildsOutside(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: the test builds the example")
	}
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := map[string]string{"go.mod": fmt.Sprintf("module outside\n\ngo 1.26.0\n\nrequire ocl v0.0.0\n\nreplace ocl => %q\n", here)}
	for name, path := range map[string]string{"go.sum": "go.sum", "main.go": "examples/first/main.go"} {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "vet", "-mod=mod", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, text)
	}
}
