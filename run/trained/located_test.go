package trained

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLocated: a relative path is looked for here, and then above the run; an absolute one, and one that leads nowhere,
// stay.
func TestLocated(t *testing.T) {
	root := t.TempDir()
	run := filepath.Join(root, "runs", "photos", "er")
	for _, dir := range []string{run, filepath.Join(root, "photos"), filepath.Join(root, "runs", "near"),
		filepath.Join(root, "near"), filepath.Join(root, "here", "photos")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(root)
	elsewhere := t.TempDir()
	for _, c := range []struct{ from, path, want string }{
		{elsewhere, "photos", filepath.Join(root, "photos")}, // and not the folder of the experiment
		{elsewhere, "near", filepath.Join(root, "runs", "near")},
		{elsewhere, "here/photos", filepath.Join(root, "here", "photos")},
		{elsewhere, "no such folder", "no such folder"}, {elsewhere, "", ""},
		{filepath.Join(root, "here"), "photos", "photos"},
		{elsewhere, filepath.Join(root, "none"), filepath.Join(root, "none")},
	} {
		t.Chdir(c.from)
		if got := Located(c.path, run); got != c.want {
			t.Errorf("%q from %s: %q, want %q", c.path, c.from, got, c.want)
		}
	}
}
