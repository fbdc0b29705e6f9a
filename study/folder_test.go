package study_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ocl/experiment"
	"ocl/study"
	"ocl/study/studytest"
)

// TestFolderContract runs the contract on file systems whose locks all machines share, on those where each machine has its
// own, and on those without locks.
func TestFolderContract(t *testing.T) {
	for name, lock := range map[string]func(elsewhere, machine, folder string) (func(), error){
		"shared locks": nil,
		"own locks": func(elsewhere, machine, folder string) (func(), error) {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return nil, err
			}
			return experiment.LockRun(filepath.Join(elsewhere, machine, filepath.Base(folder)))
		},
		"no locks": func(_, _, folder string) (func(), error) {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return nil, err
			}
			// A file system without locks still makes the file.
			return nil, errors.Join(os.WriteFile(filepath.Join(folder, experiment.LockFile), nil, 0o644), errors.New("no locks available"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			studytest.Run(t, func(t *testing.T) studytest.Stores {
				dir, elsewhere := t.TempDir(), t.TempDir()
				return studytest.Stores{
					Open: func(machine string) study.Store {
						s := study.OpenFolder(dir, "test")
						var own func(string) (func(), error)
						if lock != nil {
							own = func(folder string) (func(), error) { return lock(elsewhere, machine, folder) }
						}
						s.OnMachine(machine, own)
						t.Cleanup(func() { s.Close() })
						return s
					},
					Kill: func(s study.Store) { s.(*study.Folder).Die() },
				}
			})
		})
	}
}

// TestKilledProcessFreesItsJobs: where locks work, the jobs of a killed process are free at once for others of the machine.
func TestKilledProcessFreesItsJobs(t *testing.T) {
	dir := t.TempDir()
	e := studytest.Entry(studytest.Results(t, 1)[0])
	first, second := study.OpenFolder(dir, "test"), study.OpenFolder(dir, "test")
	if c, _, err := first.Claim(e); c == nil || err != nil {
		t.Fatal(c, err)
	}
	if c, st, err := second.Claim(e); c != nil || err != nil || !st.Sure {
		t.Fatalf("claim %v, %+v, error %v of a job that is at work", c, st, err)
	}
	first.Die()
	if st := second.State(e); st.Phase != study.Waiting {
		t.Errorf("the job of a killed process is %+v", st)
	}
	c, _, err := second.Claim(e)
	if c == nil || err != nil {
		t.Fatal(c, err)
	}
	if n, _ := c.Attempt(); n != 2 {
		t.Errorf("attempt %d, want the second", n)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, e.Folder, ".claim*")); len(left) != 1 {
		t.Errorf("claims %q, want one", left)
	}
}

// TestDeathAfterTheResult: a job with a result is at work while its process lives, which is about to say that it is done. Who finds it done
// removes the claim of a process that died after the result, or after the note on it.
func TestDeathAfterTheResult(t *testing.T) {
	dir := t.TempDir()
	r := studytest.Results(t, 1)[0]
	e := studytest.Entry(r)
	first := study.OpenFolder(dir, "test")
	own, _, err := first.Claim(e)
	if own == nil || err != nil {
		t.Fatal(own, err)
	}
	studytest.Write(t, own, r)
	claim := filepath.Join(dir, e.Folder, ".claim")
	text, err := os.ReadFile(claim)
	if err != nil {
		t.Fatal(err)
	}
	looks := func(when, phase string, claims int) {
		t.Helper()
		if c, st, err := study.OpenFolder(dir, "test").Claim(e); c != nil || err != nil || st.Phase != phase {
			t.Fatalf("%s: claim %v, %+v, error %v, want %s", when, c, st, err, phase)
		}
		if left, _ := filepath.Glob(claim + "*"); len(left) != claims {
			t.Errorf("%s: claims %q, want %d", when, left, claims)
		}
	}
	looks("it lives", study.Running, 1)
	first.Die()
	looks("it died after the result", study.Done, 0)
	if err := os.WriteFile(claim, text, 0o644); err != nil {
		t.Fatal(err)
	}
	looks("it died after the note", study.Done, 0)
}

// TestGarbledClaim: a claim that no ocl writes holds until it has stood still, and is then taken away.
func TestGarbledClaim(t *testing.T) {
	e := studytest.Entry(studytest.Results(t, 1)[0])
	synctest.Test(t, func(t *testing.T) {
		for _, text := range []string{"", "{", strings.Repeat("x", 5000), `{"token":"a","machine":"m","attempt":-1}`} {
			dir := t.TempDir()
			folder := filepath.Join(dir, e.Folder)
			err := errors.Join(os.Mkdir(folder, 0o755), os.WriteFile(filepath.Join(folder, ".claim"), []byte(text), 0o644))
			if err != nil {
				t.Fatal(err)
			}
			s := study.OpenFolder(dir, "test")
			if c, st, err := s.Claim(e); c != nil || err != nil || st.Phase != study.Running || st.Sure {
				t.Errorf("%.10q: claim %v, %+v, error %v", text, c, st, err)
			}
			time.Sleep(study.StaleAfter)
			if c, st, err := s.Claim(e); c == nil || err != nil {
				t.Errorf("%.10q: %+v, error %v; want it claimed", text, st, err)
			}
		}
	})
}

// TestLog: damaged lines of a log are skipped and counted, and a garbled file harms nobody.
func TestLog(t *testing.T) {
	dir := t.TempDir()
	s := study.OpenFolder(dir, "0.1.0")
	for i := range 5 {
		s.Note(study.Event{Event: study.EventClaim, Job: "er", Attempt: i + 1, Error: "a \"quoted\"\nline"})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "log", "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(lines) != 7 {
		t.Fatalf("%d lines: %s", len(lines), text)
	}
	lines[2][30] ^= 1
	text = append(bytes.Join(lines, nil), `{"crc":"00000000","event":"claim"`...)
	if err := errors.Join(os.WriteFile(files[0], text, 0o644), os.WriteFile(filepath.Join(dir, "log", "x.jsonl"), bytes.Repeat([]byte{0xff}, 3<<20), 0o644)); err != nil {
		t.Fatal(err)
	}
	events, skipped, err := study.ReadLog(dir)
	if err != nil || len(events) != 5 || skipped != 3 {
		t.Fatalf("%d events, %d skipped, %v", len(events), skipped, err)
	}
	if e := events[0]; e.Event != study.EventWorker || e.Program != "0.1.0" {
		t.Errorf("the first event is %+v", e)
	}
	if e := events[4]; e.Attempt != 5 || e.Error != "a \"quoted\"\nline" {
		t.Errorf("the last event is %+v", e)
	}
	if events, skipped, err := study.ReadLog(t.TempDir()); err != nil || len(events)+skipped != 0 {
		t.Errorf("without a log: %v, %d, %v", events, skipped, err)
	}
}

// TestFileInPlaceOfAJob: a file where the folder of a job belongs fails that job alone, and says so.
func TestFileInPlaceOfAJob(t *testing.T) {
	e := studytest.Entry(studytest.Results(t, 1)[0])
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, e.Folder), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s := study.OpenFolder(dir, "test")
	defer s.Close()
	c, st, err := s.Claim(e)
	if c != nil || err != nil || st.Phase != study.Failed || !strings.HasSuffix(st.Error, e.Folder+" is not a folder. Remove it, and the job is done") {
		t.Errorf("claim %v, %+v, error %v", c, st, err)
	}
}
