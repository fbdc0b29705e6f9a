package cache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMapped(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, []byte("words"), 0o644); err != nil {
		t.Fatal(err)
	}
	b, release, err := Mapped(name)
	if err != nil || string(b) != "words" {
		t.Fatalf("%q, %v", b, err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Mapped(empty); err == nil || !strings.Contains(err.Error(), "the file is empty") {
		t.Errorf("an empty file: %v", err)
	}
	if _, _, err := Mapped(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, _, err := Mapped(dir); err == nil {
		t.Error("a folder is accepted")
	}
}
