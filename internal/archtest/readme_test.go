package archtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeShowsTheExample: README's Go block is the body of main of examples/first, which is built with everything
// else.
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

// outside makes a module of its own beside this one, with some files, and runs a command of go in it. Its go.mod has
// the requirements of this one, so it needs the modules of this build and no others: a new machine has no more. .ci/run
// outside does what a person does, with go mod tidy and a proxy.
func outside(t *testing.T, files map[string]string, args ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: the test builds a program")
	}
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	files["go.mod"] = strings.Replace(files["go.mod"], "module ocl\n", "module outside\n", 1) +
		fmt.Sprintf("\nrequire ocl v0.0.0\n\nreplace ocl => %q\n", here)
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, text)
	}
}

// TestExampleBuildsOutside builds README's example in a module of its own, as README says how.
func TestExampleBuildsOutside(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "examples", "first", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	outside(t, map[string]string{"main.go": string(text)}, "vet", ".")
}
