package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ocl/internal/exiftest"
)

// done runs a command that must succeed, and returns what it prints.
func done(t *testing.T, args ...string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	if code := execute(context.Background(), args, &out, &errs); code != exitDone {
		t.Fatalf("ocl %v: exit code %d: %s", args, code, errs.String())
	}
	return out.Bytes()
}

// photo writes a file below a folder, which it makes.
func photo(t *testing.T, dir, name string, file []byte) {
	t.Helper()
	at := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, file, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestEvalOfAnotherReading: eval reads the images of the run as the run did, and others as their files call for.
func TestEvalOfAnotherReading(t *testing.T) {
	t.Setenv("OCL_CACHE", t.TempDir())
	root := t.TempDir()
	for i := range 4 {
		for _, class := range []string{"cat", "dog"} {
			photo(t, root, fmt.Sprintf("flat/%s_%d.jpg", class, i), exiftest.Photo(t))
			photo(t, root, fmt.Sprintf("folders/%s/%d.jpg", class, i), exiftest.Photo(t))
			photo(t, root, fmt.Sprintf("high/photos/%s/%d.jpg", class, i), exiftest.Photo(t))
		}
	}
	run := filepath.Join(root, "run")
	done(t, "run", "-q", "--data", "folder", "--data-dir", filepath.Join(root, "flat"), "data.size=8", "--method", "finetune",
		"--network", "mlp", "--tasks", "1", "--out", run, "data.reading=names")
	high := filepath.Join(root, "run2") // of a folder one level too high
	done(t, "run", "-q", "--data", "folder", "--data-dir", filepath.Join(root, "high"), "data.size=8", "--method", "finetune",
		"--network", "mlp", "--tasks", "1", "--out", high)
	for _, args := range [][]string{{run}, {run, "--data-dir", filepath.Join(root, "folders")}, {high}} {
		got := done(t, append([]string{"eval", "--half", "all", "--json", "images"}, args...)...)
		if text := strings.Join(strings.Fields(string(got)), ""); text != `{"images":8}` {
			t.Errorf("eval %v prints %s", args, text)
		}
	}
}

// TestPhotographsAreTurned: a run on photographs that are stored on their side has the digest of one on those that are
// upright, and labels both kinds alike.
func TestPhotographsAreTurned(t *testing.T) {
	t.Setenv("OCL_CACHE", t.TempDir())
	root := t.TempDir()
	var digests, guesses []string
	for kind, file := range map[string][]byte{"upright": exiftest.Photo(t), "sideways": exiftest.Sideways(t)} {
		for i := range 4 {
			photo(t, root, fmt.Sprintf("%s/cat/%d.jpg", kind, i), file)
			photo(t, root, fmt.Sprintf("%s/dog/%d.jpg", kind, i), file)
		}
		photo(t, root, "new/"+kind+".jpg", file)
		var about struct{ Digest string }
		text := done(t, "data", "info", "folder", "--data-dir", filepath.Join(root, kind), "--json", "digest")
		if err := json.Unmarshal(text, &about); err != nil {
			t.Fatal(err)
		}
		digests = append(digests, about.Digest)
	}
	run := filepath.Join(root, "run")
	done(t, "run", "-q", "--data", "folder", "--data-dir", filepath.Join(root, "upright"), "data.size=8", "--method", "finetune",
		"--network", "mlp", "--tasks", "1", "--out", run)
	for _, line := range bytes.Split(bytes.TrimSpace(done(t, "predict", run, filepath.Join(root, "new"), "--json", "guesses")),
		[]byte("\n")) {
		guesses = append(guesses, string(line))
	}
	if digests[0] == "" || digests[0] != digests[1] || len(guesses) != 2 || guesses[0] != guesses[1] {
		t.Errorf("digests %q, guesses %q", digests, guesses)
	}
}
