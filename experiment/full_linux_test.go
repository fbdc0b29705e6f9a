package experiment

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl"
	"ocl/config"
)

// oneER is an experiment of one run of ER.
func oneER() config.Config { return one("er") }

// fill runs an experiment on a disk that is full from some moment on: no file may then grow beyond so many bytes.
func fill(out, moment string) error {
	limit := func(bytes uint64) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: bytes}); err != nil {
			panic(err)
		}
	}
	var ev Events
	learned := 0
	ev.StepEnd = stepCounter(&learned)
	switch moment {
	case "start":
		x, err := Open(context.Background(), oneER(), Options{Out: out})
		if err == nil {
			err = x.SetUp()
		}
		if err != nil {
			return err
		}
		limit(8192)
	case "checkpoint": // events.jsonl still fits
		ev.StepEnd = func(step int, _ ocl.StepStats) {
			if step == 30 {
				limit(8192)
			}
		}
	case "steps":
		ev.StepEnd = func(step int, _ ocl.StepStats) {
			if step == 30 {
				limit(256)
			}
		}
	case "result":
		saves := 0
		ev.Checkpointed = func(path string) {
			if filepath.Base(path) != "step-60.ckpt" {
				return
			}
			if saves++; saves == 2 { // after the last step, and after the last task
				limit(256)
			}
		}
	default:
		return fmt.Errorf("unknown moment %q", moment)
	}
	results, err := Run(context.Background(), oneER(), Options{Out: out, Events: func(Job) Events { return ev }}.savingEvery(12))
	if moment == "start" && learned > 0 {
		return fmt.Errorf("%d steps, error %w", learned, err)
	}
	if measured := len(results) == 1; measured != (moment == "result") {
		return fmt.Errorf("%d results, error %w", len(results), err)
	}
	return err
}

// A disk that is full in the middle of a run ends it with an error that names the file and the way out, and leaves the
// checkpoint before, from which the same command goes on to the same numbers.
func TestDiskFullInTheMiddle(t *testing.T) {
	t.Parallel()
	want := filepath.Join(t.TempDir(), "whole")
	mustRun(t, oneER(), Options{Out: want})
	for _, tt := range []struct {
		moment, file string // what cannot be written
		step         int    // of the checkpoint that is left
	}{
		{"checkpoint", filepath.Join(CheckpointDir, "step-36.ckpt"), 24},
		{"steps", EventsFile, 24},
		{"result", ResultFile, 60},
	} {
		t.Run(tt.moment, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "x")
			folder := filepath.Join(out, jobsOf(t, oneER())[0].Folder)
			text, err := child(out, "full "+tt.moment).CombinedOutput()
			if err == nil {
				t.Fatalf("the run ended well: %s", text)
			}
			for _, part := range []string{"\nexperiment: er, seed 1: task ", filepath.Join(folder, tt.file), "file too large",
				"Make room on the disk, then give the same command again"} {
				if !strings.Contains("\n"+string(text), part) {
					t.Errorf("the error does not say %q: %s", part, text)
				}
			}
			for path := range tree(t, out) {
				if name := filepath.Base(path); name == ResultFile || strings.HasSuffix(name, ".tmp") {
					t.Errorf("%s is left", path)
				}
			}
			started := -1
			mustRun(t, oneER(), Options{Out: out, Events: func(Job) Events {
				return Events{
					Begin: func(_ Job, _ ocl.StreamInfo, p Plan) { started = p.StepsDone },
					Note:  func(note string) { t.Errorf("note: %s", note) },
				}
			}})
			if started != tt.step {
				t.Errorf("went on from step %d, want %d", started, tt.step)
			}
			if d := cmp.Diff(filesOf(t, want, oneER()), filesOf(t, out, oneER())); d != "" {
				t.Error(d)
			}
		})
	}
}

// A disk that is full from the start is told before anything is learned.
func TestDiskFullAtTheStart(t *testing.T) {
	t.Parallel()
	text, err := child(filepath.Join(t.TempDir(), "x"), "full start").CombinedOutput()
	if err == nil || !strings.HasPrefix(string(text), "experiment: er, seed 1: checkpoint: ") || !strings.Contains(string(text), "file too large. Make room") {
		t.Errorf("%v: %s", err, text)
	}
}

func init() {
	childWork["full start"] = func(out string) error { return fill(out, "start") }
	childWork["full checkpoint"] = func(out string) error { return fill(out, "checkpoint") }
	childWork["full steps"] = func(out string) error { return fill(out, "steps") }
	childWork["full result"] = func(out string) error { return fill(out, "result") }
}
