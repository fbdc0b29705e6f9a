package archtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGeneratedFilesAreUpToDate runs every go:generate line of internal/kernel with its output in a temporary folder and
// compares, but for the first line, which holds the command. The generator is a module of its own, so that the first run
// on a machine fetches it.
func TestGeneratedFilesAreUpToDate(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the generator; without -short it runs")
	}
	kernel := filepath.Join(root, "internal", "kernel")
	source, err := os.ReadFile(filepath.Join(kernel, "generate.go"))
	if err != nil {
		t.Fatal(err)
	}
	dir, compared := t.TempDir(), 0
	for line := range strings.Lines(string(source)) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "//go:generate ")
		if !ok {
			continue
		}
		args, files := strings.Fields(line), []string{}
		for i, a := range args {
			if name, ok := strings.CutPrefix(a, "../"); ok {
				files = append(files, name)
				args[i] = filepath.Join(dir, name)
			}
		}
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = kernel
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		for _, name := range files {
			if !bytes.Equal(body(t, filepath.Join(dir, name)), body(t, filepath.Join(kernel, name))) {
				t.Errorf("internal/kernel/%s is not what its generator writes; run `make generate`", name)
			}
			compared++
		}
	}
	if compared == 0 {
		t.Error("internal/kernel/generate.go names no generated file")
	}
}

// body is a file without its first line.
func body(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(data, []byte("\n"))
	return rest
}
