package served_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/sweep/served"
	"ocl/sweep/study"
	"ocl/sweep/studytest"
)

// addressOf is the address in a join file, at which a study can be served again.
func addressOf(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var v struct{ Servers []string }
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(v.Servers[0], "tls://")
}

const (
	away  = "does not answer"
	again = "answers again"
)

// TestHolderAway: while the holder is away, jobs at work go on, results wait, and the worker says so once. What the
// server kept may be gone meanwhile.
func TestHolderAway(t *testing.T) {
	for name, remove := range map[string]bool{"files kept": false, "files removed": true} {
		t.Run(name, func(t *testing.T) {
			all := studytest.Results(t, 3)
			entries := entriesOf(all)
			dir := made(t, entries)
			h, _ := serve(t, dir, entries, "127.0.0.1:0")
			address := addressOf(t, h.Join())
			worker, told := join(t, h.Join(), t.TempDir())
			finish(t, worker, all[2])
			accepted(t, dir, entries[2])
			c, d := claim(t, worker, entries[0]), claim(t, worker, entries[1])
			// saved work of the other one
			for _, f := range []string{experiment.RunConfigFile, experiment.CheckpointDir + "/step-3.ckpt"} {
				path := filepath.Join(d.Place().Folder, f)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("x"), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			if err := d.Save(t.Context()); err != nil {
				t.Fatal(err)
			}
			within(t, "the folder has what was saved", func() bool {
				return study.StepOf(filepath.Join(dir, entries[1].Folder),
					entries[1]) == 3
			})
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			within(t, "the worker says so", func() bool { return told.count(away) == 1 })
			for range 3 {
				if err := c.Beat(progress.Progress{Step: 3}); err != nil {
					t.Fatal(err)
				}
			}
			if got, _, err := worker.Store().Claim(entries[1]); got != nil || err != nil {
				t.Fatalf("claim %v, error %v", got, err)
			}
			studytest.Write(t, c, all[0])
			done := make(chan error, 1)
			go func() { done <- c.Done(all[0]) }()
			if remove {
				if err := os.RemoveAll(filepath.Join(dir, served.NatsFolder)); err != nil {
					t.Fatal(err)
				}
			}
			h, _ = serve(t, dir, entries, address)
			closed(t, h)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			accepted(t, dir, entries[0])
			within(t, "the worker says that it is back", func() bool { return told.count(again) == 1 })
			second, _ := join(t, h.Join(), t.TempDir())
			if !remove { // the record of the job is there, so its worker has a minute to come back
				if got, st, err := second.Store().Claim(entries[1]); got != nil || err != nil || st.Phase != progress.Running {
					t.Fatalf("claim %v, %+v, error %v", got, st, err)
				}
			}
			if err := d.Beat(progress.Progress{Step: 4}); err != nil { // the other job is still its own
				t.Fatal(err)
			}
			within(t, "others see it at work", func() bool {
				st := second.Store().State(entries[1])
				return st.Phase == progress.Running && st.Progress.Step == 4
			})
			if n := told.count(away); n != 1 {
				t.Errorf("told %d times", n)
			}
			studytest.Write(t, d, all[1])
			if err := d.Done(all[1]); err != nil {
				t.Fatal(err)
			}
			accepted(t, dir, entries[1])
			if files, _ := filepath.Glob(filepath.Join(dir, served.AsideDir, "*")); len(files) > 0 {
				t.Errorf("%q were put aside", files)
			}
		})
	}
}

// TestFilesRemovedUnderTheServer: the files of the server are removed while it runs. The holder makes everything anew,
// and jobs at work go on.
func TestFilesRemovedUnderTheServer(t *testing.T) {
	all, entries, dir, h, holder := opened(t, 3)
	worker, told := join(t, h.Join(), t.TempDir())
	idle, _ := join(t, h.Join(), t.TempDir())
	finish(t, worker, all[0])
	accepted(t, dir, entries[0])
	c := claim(t, worker, entries[1])
	if err := os.RemoveAll(filepath.Join(dir, served.NatsFolder)); err != nil {
		t.Fatal(err)
	}
	within(t, "the holder says so", func() bool { return holder.count("was removed") == 1 })
	within(t, "the worker is back", func() bool { return told.count(again) == 1 })
	within(t, "the other one knows what is done",
		func() bool { return idle.Store().State(entries[0]).Phase == progress.Done })
	if err := c.Beat(progress.Progress{Step: 5}); err != nil {
		t.Fatal(err)
	}
	if st := idle.Store().State(entries[1]); st.Phase != progress.Running {
		t.Errorf("the job at work is %+v", st)
	}
	studytest.Write(t, c, all[1])
	if err := c.Done(all[1]); err != nil {
		t.Fatal(err)
	}
	accepted(t, dir, entries[1])
	finish(t, idle, all[2])
	accepted(t, dir, entries[2])
	if n := told.count(away); n > 1 {
		t.Errorf("told %d times", n)
	}
}

// TestFolderIsTheTruth: what people change in the folder the server says, too, and what a worker tells the folder has.
func TestFolderIsTheTruth(t *testing.T) {
	all := studytest.Results(t, 2)
	entries := entriesOf(all)
	dir := made(t, entries)
	folder := study.OpenFolder(dir)
	h, _ := serve(t, dir, entries, "127.0.0.1:0")
	worker, _ := join(t, h.Join(), t.TempDir())
	if err := claim(t, worker, entries[0]).Fail(os.ErrInvalid); err != nil {
		t.Fatal(err)
	}
	within(t, "the folder has the failure", func() bool { return folder.State(entries[0]).Phase == progress.Failed })
	if st := folder.State(entries[0]); st.Error != os.ErrInvalid.Error() {
		t.Errorf("failed is %+v", st)
	}
	if yes, err := folder.Retry(entries[0]); err != nil || !yes { // as `ocl sweep retry DIR` does
		t.Fatal(yes, err)
	}
	finish(t, worker, all[0])
	accepted(t, dir, entries[0])
	if err := folder.Cancel(); err != nil {
		t.Fatal(err)
	}
	within(t, "the worker sees that the study was cancelled", worker.Store().Cancelled)
	if err := folder.Resume(); err != nil {
		t.Fatal(err)
	}
	within(t, "the worker sees that it goes on", func() bool { return !worker.Store().Cancelled() })

	// A result whose message was lost is offered again.
	if err := h.SetHanded(entries[1].Key); err != nil {
		t.Fatal(err)
	}
	within(t, "the worker sees it", func() bool { return worker.Store().State(entries[1]).Phase == progress.Running })
	finish(t, worker, all[1])
	accepted(t, dir, entries[1])

	// Results that vanish from the folder while the holder is away are made again.
	address := addressOf(t, h.Join())
	if err := os.Rename(h.Join(), h.Join()+".kept"); err != nil { // as the study is done, Close removes it
		t.Fatal(err)
	}
	worker.Close()
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, served.NatsFolder)); err == nil {
		t.Error("the study is done, and the server's files are there")
	}
	if err := os.RemoveAll(filepath.Join(dir, entries[1].Folder)); err != nil {
		t.Fatal(err)
	}
	h, _ = serve(t, dir, entries, address)
	closed(t, h)
	later, _ := join(t, h.Join()+".kept", t.TempDir()) // the old join file is good
	within(t, "the other result is known", func() bool { return later.Store().State(entries[0]).Phase == progress.Done })
	finish(t, later, all[1])
	accepted(t, dir, entries[1])
}

// TestSavedWork: what a worker saves lies in the folder, and comes from there when the server has lost it.
func TestSavedWork(t *testing.T) {
	all := studytest.Results(t, 1)
	entries := entriesOf(all)
	dir := made(t, entries)
	h, _ := serve(t, dir, entries, "127.0.0.1:0")
	worker, _ := join(t, h.Join(), t.TempDir())
	c := claim(t, worker, entries[0])
	empty := h.Bundles()
	write := func(step, text string) {
		t.Helper()
		for _, f := range []string{"config.yaml", "events.jsonl", "checkpoint/step-" + step + ".ckpt"} {
			path := filepath.Join(c.Place().Folder, f)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text+f), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Save(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	write("10", "a")
	write("30", "b")
	within(t, "the folder has what was saved", func() bool {
		return study.StepOf(filepath.Join(dir, entries[0].Folder),
			entries[0]) == 30
	})
	write("40", "b")
	within(t, "the folder has what was saved", func() bool {
		return study.StepOf(filepath.Join(dir, entries[0].Folder),
			entries[0]) == 40
	})
	// a manifest and its only part
	within(t, "only the newest is on the server", func() bool { return h.Bundles() == empty+2 })
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	worker.Close()
	address := addressOf(t, h.Join())
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, served.NatsFolder)); err != nil {
		t.Fatal(err)
	}
	h, _ = serve(t, dir, entries, address)
	closed(t, h)
	other, _ := join(t, h.Join(), t.TempDir())
	within(t, "the job has begun", func() bool { return other.Store().State(entries[0]).Progress.Step == 40 })
	c = claim(t, other, entries[0])
	if n, step := c.Attempt(); n != 1 || step != 40 {
		t.Errorf("attempt %d from step %d", n, step)
	}
	for _, f := range []string{"config.yaml", "events.jsonl", "checkpoint/step-40.ckpt"} {
		if text, err := os.ReadFile(filepath.Join(c.Place().Folder, f)); err != nil || string(text) != "b"+f {
			t.Errorf("%s has %q, error %v", f, text, err)
		}
	}
}

// TestServedAnew: a holder that comes back with other secrets has lost its workers. They end, and say what to do.
func TestServedAnew(t *testing.T) {
	all := studytest.Results(t, 2)
	entries := entriesOf(all)
	dir := made(t, entries)
	h, _ := serve(t, dir, entries, "127.0.0.1:0")
	worker, _ := join(t, h.Join(), t.TempDir())
	c := claim(t, worker, entries[0])
	address := addressOf(t, h.Join())
	if err := errors.Join(h.Close(), os.Remove(filepath.Join(dir, served.SecretFile))); err != nil {
		t.Fatal(err)
	}
	h, _ = serve(t, dir, entries, address)
	closed(t, h)
	var err error
	within(t, "the worker ends", func() bool { _, _, err = worker.Store().Claim(entries[1]); return err != nil })
	says(t, err, "another certificate", "Copy the join file again")
	studytest.Write(t, c, all[0])
	says(t, c.Done(all[0]), "the result of finetune s1 could not be handed over, and lies in "+c.Place().Folder,
		"Copy the join file again")
}
