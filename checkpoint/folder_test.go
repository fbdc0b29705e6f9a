package checkpoint

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestMakeFolderSurvivesAPowerCut: what makeFolder made is there after one, all the way up.
func TestMakeFolderSurvivesAPowerCut(t *testing.T) {
	disk, deep := newRAM(), filepath.Join("a", "b", "c")
	if err := makeFolder(disk, deep); err != nil {
		t.Fatal(err)
	}
	if after := disk.cut(); !after.isFolder(deep) {
		t.Errorf("after a power cut there are %v", after.names)
	}
	before := disk.ops
	if err := makeFolder(disk, deep); err != nil || disk.ops != before {
		t.Errorf("a folder that is there takes %d operations (%v), want none", disk.ops-before, err)
	}
}

func TestMakeFolderOnDisk(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	deep := filepath.Join(dir, "a", "b", "c")
	done := make(chan error)
	for range 8 {
		go func() { done <- MakeFolder(deep + "/") }()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if info, err := os.Stat(deep); err != nil || !info.IsDir() {
		t.Errorf("there is no folder: %v", err)
	}
	for _, path := range []string{file, filepath.Join(file, "below")} {
		if err := MakeFolder(path); !errors.Is(err, syscall.ENOTDIR) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: error %v, want ENOTDIR with the path", path, err)
		}
	}
}

// TestFolderThatCannotBeSynced: a refusal is no error, a fault of the disk is one, and it names the file.
func TestFolderThatCannotBeSynced(t *testing.T) {
	for _, err := range []error{syscall.EINVAL, syscall.ENOTSUP, syscall.ENOSYS, syscall.EPERM, syscall.EACCES} {
		disk := newRAM()
		disk.refused = &iofs.PathError{Op: "sync", Path: "ck", Err: err}
		d, fault := openDir(disk, filepath.Join("ck", "er"))
		if fault != nil {
			t.Fatalf("%v: %v", err, fault)
		}
		for step := range 3 {
			if _, fault := d.Save(step, numbered(step)); fault != nil {
				t.Fatalf("%v: %v", err, fault)
			}
		}
		if got, fault := d.Load(); fault != nil || stepIn(t, got) != 2 {
			t.Errorf("%v: loaded %s: %v", err, got.Path, fault)
		}
	}
	for _, err := range []error{syscall.EIO, syscall.ENOSPC, syscall.EROFS, errors.New("another")} {
		disk := newRAM()
		disk.refused = &iofs.PathError{Op: "sync", Path: "ck", Err: err}
		if fault := makeFolder(disk, filepath.Join("ck", "er")); !errors.Is(fault, err) {
			t.Errorf("%v: making a folder: %v, want an error that wraps it", err, fault)
		}
		d := &Dir{folder: "ck", fs: disk}
		if _, fault := d.Save(1, numbered(1)); !errors.Is(fault, err) || !strings.Contains(fault.Error(), "step-1.ckpt") {
			t.Errorf("%v: saving: %v, want an error that wraps it and names the file", err, fault)
		}
	}
}

// TestOldCheckpointStays: one that cannot be removed is told once and stops nothing.
func TestOldCheckpointStays(t *testing.T) {
	disk := newRAM()
	disk.stuck = map[string]error{"step-1.ckpt": syscall.EPERM, "step-2.ckpt": syscall.EIO}
	var warned []string
	d := &Dir{folder: "ck", fs: disk, Warn: func(err error) { warned = append(warned, err.Error()) }}
	for step := 1; step <= 6; step++ {
		path, err := d.Save(step, numbered(step))
		if err != nil || path != filepath.Join("ck", fmt.Sprintf("step-%d.ckpt", step)) {
			t.Fatalf("saved %s: %v", path, err)
		}
	}
	if len(warned) != 2 || !strings.Contains(warned[0], "step-1.ckpt") || !strings.Contains(warned[1], "step-2.ckpt") {
		t.Errorf("warned of %q, want step 1 and then step 2, each once", warned)
	}
	if got := fmt.Sprint(disk.files()); got != "[step-1.ckpt step-2.ckpt step-5.ckpt step-6.ckpt]" {
		t.Errorf("the folder holds %v", got)
	}
	if got, err := d.Load(); err != nil || stepIn(t, got) != 6 {
		t.Errorf("loaded %s: %v", got.Path, err)
	}
	if err := d.Clear(); !errors.Is(err, syscall.EPERM) || !errors.Is(err, syscall.EIO) || len(disk.files()) != 2 {
		t.Errorf("Clear: error %v, want both; the folder holds %v", err, disk.files())
	}
	d.Warn = nil
	if _, err := d.Save(7, numbered(7)); err != nil {
		t.Errorf("without Warn: %v", err)
	}
}
