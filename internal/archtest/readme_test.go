package archtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeCompiles builds the program that README's Go block makes: its imports, and the rest within func main.
func TestReadmeCompiles(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(page), "```go\n")
	block, _, ended := strings.Cut(block, "```\n")
	imports, body, split := strings.Cut(block, "\n)\n")
	if !found || !ended || !split {
		t.Fatal("README.md: no Go block that begins with its imports")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	program := "package main\n\n" + imports + "\n)\n\nfunc main() {\n" + body + "}\n"
	if err := os.WriteFile(source, []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	module, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	// An overlay puts it into the module, so that it needs no other go.mod and no network.
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(module, "internal", "archtest", "readme", "main.go"): source}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", filepath.Join(dir, "readme"), "./internal/archtest/readme")
	build.Dir = module
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("README's program does not compile: %v\n%s\n%s", err, out, program)
	}
}
