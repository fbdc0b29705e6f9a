package experiment

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl"
	"ocl/checkpoint"
	"ocl/experiment/result"
)

var makeVersion1 = flag.Bool("make-version-1", false, "write testdata/version1/experiment and expected.json anew; only while this version is not released")

const version1 = "testdata/version1"

// TestVersion1IsContinued: an experiment that this version of the program left, one run of it finished and the other
// stopped in the middle of a task, is continued by every later version, or its checkpoint refused for the numbers
// version.
func TestVersion1IsContinued(t *testing.T) {
	t.Setenv("OCL_KERNEL", "")
	t.Setenv("OCL_CONV", "")
	if *makeVersion1 {
		writeVersion1(t)
	}
	out := filepath.Join(t.TempDir(), "x")
	if err := os.CopyFS(out, os.DirFS(filepath.Join(version1, "experiment"))); err != nil {
		t.Fatal(err)
	}
	stopped, err := filepath.Glob(filepath.Join(out, "er-m20-s2-*"))
	if err != nil || len(stopped) != 1 {
		t.Fatal(stopped, err)
	}
	dir, err := checkpoint.OpenDir(filepath.Join(stopped[0], CheckpointDir))
	if err != nil {
		t.Fatal(err)
	}
	got, err := dir.Load()
	if err != nil || filepath.Base(got.Path) != "step-12.ckpt" {
		t.Fatalf("%s: %v", got.Path, err)
	}
	made, err := loadIdentity(got.Decoder().Sub("identity"))
	if err != nil {
		t.Fatal(err)
	}
	if made.Numbers != result.Numbers {
		if _, err := Resume(context.Background(), out, Options{}); err == nil {
			t.Error("a checkpoint of another numbers version is continued")
		}
		return
	}
	begun := map[uint64]int{}
	results, err := Resume(context.Background(), out, Options{Concurrency: 1, Events: func(j Job) Events {
		return Events{
			Begin: func(_ Job, _ ocl.StreamInfo, p Plan) { begun[j.Seed] = p.StepsDone },
			Note: func(text string) {
				if j.Seed == 2 {
					t.Error(text)
				}
			},
		}
	}})
	if err != nil || len(results) != 2 {
		t.Fatal(results, err)
	}
	if d := cmp.Diff(map[uint64]int{1: 16, 2: 12}, begun); d != "" {
		t.Errorf("runs went on from other steps: %s", d)
	}
	want, err := result.Read(filepath.Join(version1, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	last := results[1]
	if last.Key != want.Key || last.Outcome != want.Outcome {
		t.Errorf("key %s, outcome %+v; want %s, %+v", last.Key, last.Outcome, want.Key, want.Outcome)
	}
	if runtime.GOARCH != "amd64" {
		return // plain Go fuses products and sums on other processors
	}
	for name, pair := range map[string][2]any{
		"accuracy": {want.Accuracy, last.Accuracy}, "by class": {want.PerClass, last.PerClass}, "evaluations": {want.Evaluations, last.Evaluations},
		"class means": {want.Classifiers["ncm"].Accuracy, last.Classifiers["ncm"].Accuracy}, "memory": {want.Memory, last.Memory},
		"errors": {want.ErrorAnalysis, last.ErrorAnalysis},
	} {
		if d := cmp.Diff(pair[0], pair[1]); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// writeVersion1 makes the experiment and what its stopped run must end in. data.npz holds four classes of 6×6 noise
// around a brightness that is the class's own, 40 and 10 images each.
func writeVersion1(t *testing.T) {
	c, _, _, err := Load(filepath.Join(version1, "exp.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := result.Encode(mustRun(t, c, Options{Workers: 1})[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(version1, "expected.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(version1, "experiment")
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	steps := 0
	_, err = Run(ctx, c, Options{Out: folder, Workers: 1, Concurrency: 1, Revision: "the first with keys", Events: func(Job) Events {
		return Events{StepEnd: func(int, ocl.StepStats) {
			if steps++; steps == 16+12 {
				cancel()
			}
		}}
	}})
	if err == nil {
		t.Fatal("the second run was not stopped")
	}
}
