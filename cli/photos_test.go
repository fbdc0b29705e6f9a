package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ocl/internal/exiftest"
)

// TestPhotographsAreTurned: a run on photographs that are stored on their side has the digest of one on those that are
// upright, and labels both kinds alike.
func TestPhotographsAreTurned(t *testing.T) {
	t.Setenv("OCL_CACHE", t.TempDir())
	ocl := func(args ...string) []byte {
		t.Helper()
		var out, errs bytes.Buffer
		if code := execute(context.Background(), args, &out, &errs); code != exitDone {
			t.Fatalf("ocl %v: exit code %d: %s", args, code, errs.String())
		}
		return out.Bytes()
	}
	write := func(dir, name string, file []byte) {
		t.Helper()
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root := t.TempDir()
	var digests, guesses []string
	for kind, file := range map[string][]byte{"upright": exiftest.Photo(t), "sideways": exiftest.Sideways(t)} {
		for i := range 4 {
			write(root, fmt.Sprintf("%s/cat/%d.jpg", kind, i), file)
			write(root, fmt.Sprintf("%s/dog/%d.jpg", kind, i), file)
		}
		write(root, "new/"+kind+".jpg", file)
		var about struct{ Digest string }
		text := ocl("data", "info", "folder", "--data-dir", filepath.Join(root, kind), "--json", "digest")
		if err := json.Unmarshal(text, &about); err != nil {
			t.Fatal(err)
		}
		digests = append(digests, about.Digest)
	}
	run := filepath.Join(root, "run")
	ocl("run", "-q", "--data", "folder", "--data-dir", filepath.Join(root, "upright"), "data.size=8", "--method", "finetune",
		"--network", "mlp", "--tasks", "1", "--out", run)
	for _, line := range bytes.Split(bytes.TrimSpace(ocl("predict", run, filepath.Join(root, "new"), "--json", "guesses")),
		[]byte("\n")) {
		guesses = append(guesses, string(line))
	}
	if digests[0] == "" || digests[0] != digests[1] || len(guesses) != 2 || guesses[0] != guesses[1] {
		t.Errorf("digests %q, guesses %q", digests, guesses)
	}
}
