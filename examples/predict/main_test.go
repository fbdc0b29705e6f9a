package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestImages: a folder of JPEG files is taken, and whatever else is given ends in a message that says what is wanted.
func TestImages(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.jpg", "b.JPEG", "c.png"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := images(dir)
	if err != nil || !slices.Equal(files, []string{filepath.Join(dir, "a.jpg"), filepath.Join(dir, "b.JPEG")}) {
		t.Errorf("found %q, %v", files, err)
	}
	for given, want := range map[string]string{
		filepath.Join(dir, "a.jpg"):  "Give a folder of JPEG files",
		filepath.Join(dir, "absent"): "Give a folder of JPEG files",
		t.TempDir():                  "there is no JPEG file here. Give a folder of them",
	} {
		if _, err := images(given); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", given, err, want)
		}
	}
}
