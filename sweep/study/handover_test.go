package study_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/run/experiment"
	"ocl/run/identity"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/sweep/study"
	"ocl/sweep/studytest"
)

// lay writes files below a folder, each with its path as text.
func lay(t *testing.T, folder string, paths ...string) string {
	t.Helper()
	for _, p := range paths {
		to := filepath.Join(folder, filepath.FromSlash(p))
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, []byte(p), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestFiles: what is handed over has the newest checkpoint of each run, and nothing of this machine alone.
func TestFiles(t *testing.T) {
	folder := lay(t, t.TempDir(), "config.yaml", "events.jsonl", "result.json", "result.json.aside-1", ".lock", ".attempt",
		".done", "failed.json", "checkpoint/step-9.ckpt",
		"checkpoint/step-10.ckpt", "checkpoint/.step-11.ckpt.1-2-3.tmp", "tuning/tuning.json", "tuning/trials/a/config.yaml",
		"tuning/trials/a/checkpoint/step-3.ckpt",
		"tuning/trials/a/checkpoint/step-4.ckpt", "tuning/trials/b/result.json", "tuning/trials/b/.lock")
	if err := os.Symlink("/etc/passwd", filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	got, err := study.Files(folder)
	want := []string{"checkpoint/step-10.ckpt", "config.yaml", "events.jsonl", "tuning/trials/a/checkpoint/step-4.ckpt",
		"tuning/trials/a/config.yaml",
		"tuning/trials/b/result.json", "tuning/tuning.json", "result.json"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, error %v; want %q", got, err, want)
	}
}

// TestTakeOver: what was handed over is moved into the folder of the job; the first result stays, and one that is not
// the job's is refused.
func TestTakeOver(t *testing.T) {
	all := studytest.Results(t, 2)
	dir, e := t.TempDir(), studytest.Entry(all[0])
	s := study.OpenFolder(dir)
	put := func(from string, r *result.Result) string {
		text, err := result.Encode(r)
		if err == nil {
			err = os.WriteFile(filepath.Join(from, experiment.ResultFile), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return from
	}
	from := func(paths ...string) string {
		return lay(t, filepath.Join(dir, ".in", t.Name(), strings.Join(paths, "+")), paths...)
	}

	if taken, err := s.TakeOver(e, from("config.yaml", "checkpoint/step-40.ckpt")); !taken || err != nil {
		t.Fatal(taken, err)
	}
	c := claimed(t, s, e)
	if _, step := c.Attempt(); step != 40 {
		t.Errorf("it goes on from step %d, want 40", step)
	}
	if _, err := study.OpenFolder(dir).TakeOver(e, from("config.yaml")); !errors.Is(err, experiment.ErrBusy) {
		t.Errorf("the job is at work, and error %v", err)
	}
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	if taken, err := s.TakeOver(e, put(from("events.jsonl"), all[1])); taken ||
		!errors.Is(err, identity.ErrOther) {
		t.Errorf("the result of another run: %t, %v", taken, err)
	}
	if taken, err := s.TakeOver(e, put(from("config.yaml", "events.jsonl"), all[0])); !taken || err != nil {
		t.Fatal(taken, err)
	}
	if st := study.OpenFolder(dir).State(e); st.Phase != progress.Done {
		t.Errorf("it is %+v", st)
	}
	if _, err := os.Stat(filepath.Join(dir, e.Folder, experiment.CheckpointDir)); err == nil {
		t.Error("the checkpoint of a finished run is left")
	}
	if taken, err := s.TakeOver(e, put(from("config.yaml"), all[0])); taken || err != nil {
		t.Errorf("a second result: %t, %v", taken, err)
	}
}
