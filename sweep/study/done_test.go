package study_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/sweep/study"
	"ocl/sweep/studytest"
)

// TestNotesOfDoneJobs: whatever becomes of the note beside a result, the result decides.
func TestNotesOfDoneJobs(t *testing.T) {
	all := studytest.Results(t, 1)
	r, e := all[0], studytest.Entry(all[0])
	write := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, folder string) {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tt := range map[string]struct {
		change func(t *testing.T, folder string)
		done   bool
	}{
		"nothing":          {func(*testing.T, string) {}, true},
		"an empty note":    {write(".done", ""), true},
		"a garbled note":   {write(".done", `{"crc":"00000000","key":"x"}`+"\n"), true},
		"a damaged result": {write(experiment.ResultFile, "{}"), false},
		"a damaged result of the same length": {func(t *testing.T, folder string) {
			path := filepath.Join(folder, experiment.ResultFile)
			text, err := os.ReadFile(path)
			if err == nil {
				text[0] = '['
				err = os.WriteFile(path, text, 0o644)
			}
			if err == nil {
				err = os.Chtimes(path, time.Time{}, time.Now().Add(time.Second)) // the clock of a file system may be coarse
			}
			if err != nil {
				t.Fatal(err)
			}
		}, false},
		"another time": {func(t *testing.T, folder string) {
			if err := os.Chtimes(filepath.Join(folder, experiment.ResultFile), time.Time{},
				time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}, true},
		"no result": {func(t *testing.T, folder string) {
			if err := os.Remove(filepath.Join(folder, experiment.ResultFile)); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := study.OpenFolder(dir)
			c, _, err := s.Claim(e)
			if c == nil || err != nil {
				t.Fatal(c, err)
			}
			studytest.Write(t, c, r)
			folder := c.Place().Folder
			if err := c.Done(r); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(folder, ".done")); err != nil {
				t.Fatal(err)
			}
			tt.change(t, folder)
			next := study.OpenFolder(dir)
			if st := next.State(e); (st.Phase == progress.Done) != tt.done || tt.done &&
				(st.Outcome != r.Outcome.State || st.Progress.Step != r.Outcome.Step ||
					*st.Accuracy != *r.Metrics.AverageAccuracy) {
				t.Errorf("the state is %+v, want done: %v", st, tt.done)
			}
			if c, st, err := next.Claim(e); err != nil || (c == nil) != tt.done {
				t.Errorf("claim %v, %+v, %v", c, st, err)
			}
		})
	}
}

// TestNothingIsWrittenThroughLinks: links in the folder of a job never lead the process to a file elsewhere.
func TestNothingIsWrittenThroughLinks(t *testing.T) {
	r, dir := studytest.Results(t, 1)[0], t.TempDir()
	s := study.OpenFolder(dir)
	c, _, err := s.Claim(studytest.Entry(r))
	if c == nil || err != nil {
		t.Fatal(c, err)
	}
	folder, precious := c.Place().Folder, filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(precious, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(precious, filepath.Join(folder, ".done")); err != nil {
		t.Skip(err)
	}
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(precious, filepath.Join(folder, ".attempt")); err != nil {
		t.Fatal(err)
	}
	if c, _, err = s.Claim(studytest.Entry(r)); c == nil || err != nil {
		t.Fatal(c, err)
	}
	if err := c.Beat(progress.Progress{Step: 1}); err != nil {
		t.Error(err)
	}
	studytest.Write(t, c, r)
	if err := c.Done(r); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(precious); err != nil || string(text) != "precious" {
		t.Errorf("the target of the links is %.40q (%v)", text, err)
	}
	if info, err := os.Lstat(filepath.Join(folder, ".done")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the note is %v (%v), wanted a file", info.Mode(), err)
	}
}
