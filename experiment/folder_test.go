package experiment

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree lists the files below a folder with their contents.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		files[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestFinishedRunsAreKept(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "x")
	first := mustRun(t, tiny(), Options{Out: out})
	before := tree(t, out)
	notes, steps := 0, 0
	second := mustRun(t, tiny(), Options{Out: out, Concurrency: 1, Events: func(Job) Events {
		return Events{
			Note:    func(string) { notes++ },
			StepEnd: stepCounter(&steps),
		}
	}})
	if d := cmp.Diff(before, tree(t, out)); d != "" {
		t.Errorf("files changed: %s", d)
	}
	if d := cmp.Diff(comparable(t, first), comparable(t, second)); d != "" {
		t.Errorf("results changed: %s", d)
	}
	if notes != 4 || steps != 0 {
		t.Errorf("%d notes, want 4; %d steps, want 0", notes, steps)
	}
	for path := range before {
		if strings.Contains(path, CheckpointDir) {
			t.Errorf("without KeepCheckpoint %s is left", path)
		}
	}
}

// A result that cannot be read stops its run with what to do; done, the same command ends in the same result.
func TestDamagedResult(t *testing.T) {
	t.Parallel()
	c := tiny()
	c.Methods, c.Runs = []string{"er"}, 1
	o := Options{Out: filepath.Join(t.TempDir(), "x"), KeepCheckpoint: true}
	first := mustRun(t, c, o)
	path := filepath.Join(o.Out, Jobs(c)[0].Folder, ResultFile)
	if err := os.WriteFile(path, []byte("garbage"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Resume(context.Background(), o.Out, o)
	if err == nil || !strings.Contains(err.Error(), path+": not a whole JSON file") || !strings.Contains(err.Error(), "remove it and run again") ||
		strings.Contains(err.Error(), "step 0") {
		t.Errorf("error %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	again, err := Resume(context.Background(), o.Out, o)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(comparable(t, first), comparable(t, again)); d != "" {
		t.Error(d)
	}
}

func TestOtherExperimentRefused(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "x")
	small := tiny()
	small.Runs, small.Stream.Tasks = 1, 2
	mustRun(t, small, Options{Out: out, KeepCheckpoint: true})
	before := tree(t, out)
	other := small
	other.Optimizer.LR = 0.05
	_, err := Run(context.Background(), other, Options{Out: out})
	want := "the folder holds a different experiment (optimizer.lr is 0.1 there and 0.05 here); want the same config"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if d := cmp.Diff(before, tree(t, out)); d != "" {
		t.Errorf("files changed: %s", d)
	}

	// Force replaces what the program wrote, and only that.
	for _, name := range []string{"notes.txt", "er-m30-s1/mine.txt", "figures/a.svg", "figures/photo.jpg", "tables/t.csv", "report.html"} {
		path := filepath.Join(out, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	other.Methods, other.Memory = []string{"finetune"}, 0
	results := mustRun(t, other, Options{Out: out, Force: true})
	if len(results) != 1 || results[0].Outcome.Step != 60 {
		t.Errorf("results %v", results)
	}
	var left []string
	for path := range tree(t, out) {
		rel, err := filepath.Rel(out, path)
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, filepath.ToSlash(rel))
	}
	wanted := []string{".lock", "er-m30-s1/mine.txt", "experiment.yaml", "figures/photo.jpg", "finetune-s1/result.json",
		"finetune-s1/steps.csv", "notes.txt"}
	if d := cmp.Diff(wanted, sortedKeys(set(left))); d != "" {
		t.Error(d)
	}
}

func set(names []string) map[string]bool {
	s := map[string]bool{}
	for _, n := range names {
		s[n] = true
	}
	return s
}

// Force starts the same experiment again too.
func TestForceStartsAgain(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "x")
	c := tiny()
	c.Runs, c.Stream.Tasks = 1, 2
	first := mustRun(t, c, Options{Out: out})
	steps := 0
	second := mustRun(t, c, Options{Out: out, Force: true, Concurrency: 1, Events: func(Job) Events {
		return Events{StepEnd: stepCounter(&steps)}
	}})
	if steps != 120 {
		t.Errorf("%d steps, want 120", steps)
	}
	if d := cmp.Diff(comparable(t, first), comparable(t, second)); d != "" {
		t.Error(d)
	}
}

func TestForeignFolderRefused(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	if err := os.WriteFile(filepath.Join(out, "thesis.tex"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	refused(t, out, "the folder holds other files and no experiment.yaml")
	if n := len(tree(t, out)); n != 1 {
		t.Errorf("%d files, want 1", n)
	}
	file := filepath.Join(out, "thesis.tex")
	refused(t, file, "thesis.tex")
	refused(t, filepath.Join(file, "x"), "thesis.tex")
	damaged := t.TempDir()
	if err := os.WriteFile(filepath.Join(damaged, ConfigFile), []byte("sed: 1"), 0o644); err != nil {
		t.Fatal(err)
	}
	refused(t, damaged, "its experiment.yaml cannot be read")
}

func refused(t *testing.T, out, want string) {
	t.Helper()
	steps := 0
	results, err := Run(context.Background(), tiny(), Options{Out: out, Events: func(Job) Events {
		return Events{StepEnd: stepCounter(&steps)}
	}})
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--out") || len(results) > 0 || steps > 0 {
		t.Errorf("%s: %d results, %d steps, error %v\nwant %s", out, len(results), steps, err, want)
	}
}

// A folder that cannot be written and a full disk are told before anything is learned. /sys takes no files from anyone,
// and /dev/full is always full.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs /sys and /dev/full of Linux")
	}
	refused(t, "/sys/ocl-test", "/sys/ocl-test")
	out := filepath.Join(t.TempDir(), "x")
	c := tiny()
	c.Methods, c.Memory, c.Runs = []string{"finetune"}, 0, 1
	folder := filepath.Join(out, "finetune-s1")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, c, Options{Out: out}); err == nil { // makes the folder
		t.Fatal("a cancelled context ran")
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", filepath.Join(folder, StepsFile)); err != nil {
		t.Fatal(err)
	}
	steps := 0
	_, err := Run(context.Background(), c, Options{Out: out, Events: func(Job) Events {
		return Events{StepEnd: stepCounter(&steps)}
	}})
	if err == nil || !strings.Contains(err.Error(), "no space left on device") || !strings.Contains(err.Error(), "make room") || steps > 0 {
		t.Errorf("full disk: %d steps, error %v", steps, err)
	}
}
