package experiment

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl"
	"ocl/experiment/result"
)

// inUse wants every way to write in the folder refused, and its files left alone.
func inUse(t *testing.T, out string, c Config) {
	t.Helper()
	before := tree(t, out)
	other := c
	other.Seed = 99
	_, run := Run(context.Background(), c, Options{Out: out})
	_, force := Run(context.Background(), other, Options{Out: out, Force: true})
	_, resume := Resume(context.Background(), out, Options{})
	_, resumeOne := Resume(context.Background(), filepath.Join(out, Jobs(c)[0].Folder), Options{})
	for name, err := range map[string]error{"run": run, "force": force, "resume": resume, "resume one": resumeOne} {
		want := out + ": another ocl run is writing there"
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "wait") || !strings.Contains(err.Error(), "--out") {
			t.Errorf("%s: got %v\nwant %s", name, err, want)
		}
	}
	if d := cmp.Diff(before, tree(t, out)); d != "" {
		t.Errorf("files changed: %s", d)
	}
}

// Two calls of one process do not write in one folder.
func TestFolderIsLocked(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "x")
	c := tiny()
	c.Methods, c.Runs = []string{"er"}, 1
	first := true
	mustRun(t, c, Options{Out: out, Concurrency: 1, Events: func(Job) Events {
		return Events{StepEnd: func(int, ocl.StepStats) {
			if first {
				first = false
				inUse(t, out, c)
			}
		}}
	}})
	if first {
		t.Error("no step was taken")
	}
	mustRun(t, c, Options{Out: out}) // the lock is given back
}

// hold runs the experiment in the folder and stops for ever after its first checkpoint, which it tells.
func hold(out string) error {
	_, err := Run(context.Background(), tiny(), Options{Out: out, Concurrency: 1, Events: func(Job) Events {
		return Events{TaskBegin: func(task ocl.TaskInfo) {
			if task.Index > 0 {
				os.Stdout.WriteString("holding\n")
				select {}
			}
		}}
	}})
	return err
}

// A killed process leaves no lock behind.
func TestLockEndsWithTheProcess(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "x")
	holder := child(out, "hold")
	holder.Stderr = os.Stderr
	stdout, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = holder.Process.Kill()
		_ = holder.Wait()
	}()
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "holding\n" {
		t.Fatal(line, err)
	}
	inUse(t, out, tiny())
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait()
	results, err := Resume(context.Background(), out, Options{})
	if err != nil || len(results) != 4 || results[0].Outcome.State != result.Finished {
		t.Error(results, err)
	}
}

// Where no lock can be had the run goes on, and says so once.
func TestNoLock(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "x")
	if err := os.MkdirAll(filepath.Join(out, LockFile), 0o755); err != nil {
		t.Fatal(err)
	}
	var notes []string
	results := mustRun(t, tiny(), Options{Out: out, Concurrency: 1, Events: func(Job) Events {
		return Events{Note: func(text string) { notes = append(notes, text) }}
	}})
	if len(results) != 4 || len(notes) != 1 || !strings.Contains(notes[0], filepath.Join(out, LockFile)+" cannot be locked") {
		t.Errorf("%d results, notes %q", len(results), notes)
	}
}
