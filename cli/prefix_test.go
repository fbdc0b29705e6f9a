package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ocl/run/experiment"
)

// TestOnePrefix: names of packages do not follow one another in a message, and all else stays.
func TestOnePrefix(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("watch", 0o755); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"serve: daemon: live: experiment: no room": "serve: no room",
		// a folder of that name is here
		"serve: daemon: watch: lr cannot be fast":             "serve: watch: lr cannot be fast",
		"verify: config.json: experiment: its config":         "verify: config.json: its config",
		"notes.txt: predict: this is no JPEG":                 "notes.txt: this is no JPEG",
		"sweep: study: no such file or directory":             "sweep: study: no such file or directory",
		"experiment: data: a/b: tune: permission denied":      "experiment: a/b: tune: permission denied",
		"config: memory: 5 is smaller than replay.batch":      "config: memory: 5 is smaller than replay.batch",
		"experiment: method: er with lb: data: no such trick": "experiment: er with lb: data: no such trick",
		"predict: 3 of 4 images":                              "predict: 3 of 4 images",
		"a: ":                                                 "a: ",
		"":                                                    "",
	} {
		if got := onePrefix(line); got != want {
			t.Errorf("%q is shown as %q, want %q", line, got, want)
		}
	}
}

// TestPackagesThatNameThemselves holds the names against the errors in the source, and against keys.
func TestPackagesThatNameThemselves(t *testing.T) {
	also := []string{"memory", "npz", "onnx", "safetensors", "tensorboard"} // keys, formats and data sets
	for _, key := range experiment.Schema().Names() {
		if slices.Contains(packages, key) {
			t.Errorf("%s is a package and a key, and would be left out of messages", key)
		}
	}
	begins := regexp.MustCompile(`(?m)^package (\w+)$|\b(?:Errorf|New)\("(\w+): `)
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		switch name := e.Name(); {
		case err != nil:
			return err
		case e.IsDir() && (name == "testdata" || name == "tools" || name == "_asm" || name == "examples" ||
			strings.HasPrefix(name, ".") && name != ".."):
			return fs.SkipDir
		case e.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		own := ""
		for _, m := range begins.FindAllStringSubmatch(string(text), -1) {
			if m[1] != "" {
				own = m[1]
			} else if m[2] == own && !slices.Contains(packages, own) && !slices.Contains(also, own) {
				t.Errorf("%s: errors begin with %s, which packages does not have", path, own)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
