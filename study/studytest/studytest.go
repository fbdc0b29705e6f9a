// Package studytest has the tests that every [study.Store] must pass. It knows nothing of where a store keeps what it has.
// Start at [Run].
package studytest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"ocl/config"
	"ocl/experiment"
	"ocl/experiment/result"
	"ocl/study"
)

// Stores opens the stores of one study for a test.
type Stores struct {
	// Open is the store of another process on a machine, such as "a".
	Open func(machine string) study.Store
	// Kill lets the process of a store die: its locks are gone, and what it has written stays.
	Kill func(study.Store)
}

// Run checks stores. open makes those of a new study; its time is that of a bubble of package synctest.
func Run(t *testing.T, open func(*testing.T) Stores) {
	all := Results(t, 2)
	for name, test := range map[string]func(*testing.T, Stores, []*result.Result){
		"OneHasIt": oneHasIt, "Release": release, "Done": done, "Fail": fail, "Cancel": cancel, "KilledHere": killedHere,
		"KilledElsewhere": killedElsewhere, "Deaths": deaths, "Aside": aside,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, open(t), all) })
		})
	}
}

// Results are the results of so many short runs, which differ in their seeds and have the right keys.
func Results(t testing.TB, n int) (all []*result.Result) {
	t.Helper()
	c := config.Default()
	c.Methods, c.Stream.Tasks, c.Data.TrainPerClass, c.Data.TestPerClass = []string{"finetune"}, 2, 1, 1
	c.Network.Name, c.Network.Hidden = "mlp", []int{2}
	found, err := experiment.Run(context.Background(), c, experiment.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		r := *found[0]
		r.Config = r.Config.Clone()
		r.Config.Seed = uint64(i + 1)
		r.Key = experiment.Key(&r)
		all = append(all, &r)
	}
	return all
}

// Entry is the job of a result.
func Entry(r *result.Result) study.Entry {
	return study.Entry{Key: r.Key, Folder: "finetune-" + r.Key[:8], Name: "finetune", Seed: r.Config.Seed, Steps: r.Outcome.Step, FLOPs: 1}
}

// Write puts the result of a job into the place of its claim, as a run does.
func Write(t testing.TB, c study.Claim, r *result.Result) {
	t.Helper()
	text, err := result.Encode(r)
	if err == nil {
		err = os.WriteFile(filepath.Join(c.Place().Folder, experiment.ResultFile), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// begin writes the config of a run and a checkpoint of a step, by their names.
func begin(t *testing.T, c study.Claim, step string) {
	t.Helper()
	folder := filepath.Join(c.Place().Folder, experiment.CheckpointDir)
	err := os.MkdirAll(folder, 0o755)
	for _, path := range []string{filepath.Join(c.Place().Folder, experiment.RunConfigFile), filepath.Join(folder, "step-"+step+".ckpt")} {
		err = errors.Join(err, os.WriteFile(path, []byte("x"), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func claimed(t *testing.T, s study.Store, e study.Entry) study.Claim {
	t.Helper()
	c, st, err := s.Claim(e)
	if err != nil || c == nil {
		t.Fatalf("claim %v, %+v, error %v", c, st, err)
	}
	return c
}

func refused(t *testing.T, s study.Store, e study.Entry, phase string) study.State {
	t.Helper()
	c, st, err := s.Claim(e)
	if err != nil || c != nil || st.Phase != phase {
		t.Fatalf("claim %v, %+v, error %v; want it refused as %s", c, st, err, phase)
	}
	if seen := s.State(e); seen.Phase != phase {
		t.Fatalf("Claim says %s and State %s", phase, seen.Phase)
	}
	return st
}

func oneHasIt(t *testing.T, s Stores, all []*result.Result) {
	a, b, far := s.Open("a"), s.Open("a"), s.Open("b")
	e := Entry(all[0])
	for _, store := range []study.Store{a, b, far} {
		if st := store.State(e); st.Phase != study.Waiting {
			t.Fatalf("a new job is %+v", st)
		}
	}
	c := claimed(t, a, e)
	if n, step := c.Attempt(); n != 1 || step != 0 {
		t.Errorf("attempt %d from step %d", n, step)
	}
	for range 4 { // however often it is looked at
		for _, store := range []study.Store{a, b, far} {
			refused(t, store, e, study.Running)
		}
		time.Sleep(study.StaleAfter / 3)
		seen := 0.25
		if err := c.Beat(study.Progress{Step: 7, Task: 1, Tasks: 2, Seen: &seen}); err != nil {
			t.Fatal(err)
		}
	}
	st := refused(t, far, e, study.Running)
	if p := st.Progress; p.Step != 7 || p.Task != 1 || p.Tasks != 2 || p.Seen == nil || *p.Seen != 0.25 || p.Host == "" {
		t.Errorf("another machine sees %+v", st)
	}
	claimed(t, far, Entry(all[1])) // other jobs are free
}

func release(t *testing.T, s Stores, all []*result.Result) {
	a, b, e := s.Open("a"), s.Open("b"), Entry(all[0])
	c := claimed(t, a, e)
	begin(t, c, "40")
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	if st := b.State(e); st.Phase != study.Begun || st.Progress.Step != 40 {
		t.Errorf("a job that was given back is %+v", st)
	}
	if n, step := claimed(t, b, e).Attempt(); n != 1 || step != 40 {
		t.Errorf("attempt %d from step %d, want a first one from 40", n, step)
	}
}

func done(t *testing.T, s Stores, all []*result.Result) {
	a, b, e := s.Open("a"), s.Open("b"), Entry(all[0])
	interrupted := *all[0]
	interrupted.Outcome = result.Outcome{State: result.Interrupted, Step: 3}
	c := claimed(t, a, e)
	Write(t, c, &interrupted)
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	c = claimed(t, b, e) // an interrupted run is continued
	Write(t, c, all[0])
	if err := c.Done(all[0]); err != nil {
		t.Fatal(err)
	}
	for _, store := range []study.Store{a, b, s.Open("a")} {
		if st := refused(t, store, e, study.Done); st.Outcome != result.Finished || st.Accuracy == nil {
			t.Errorf("done is %+v", st)
		}
	}
}

func fail(t *testing.T, s Stores, all []*result.Result) {
	a, b, e := s.Open("a"), s.Open("b"), Entry(all[0])
	if err := claimed(t, a, e).Fail(errors.New("no such luck")); err != nil {
		t.Fatal(err)
	}
	for _, store := range []study.Store{a, b} {
		if st := refused(t, store, e, study.Failed); st.Error != "no such luck" {
			t.Errorf("failed is %+v", st)
		}
	}
	if again, err := b.Retry(e); err != nil || !again {
		t.Fatal(again, err)
	}
	if again, err := b.Retry(e); err != nil || again {
		t.Errorf("a job that has not failed is tried again: %v, %v", again, err)
	}
	claimed(t, a, e)
}

func cancel(t *testing.T, s Stores, _ []*result.Result) {
	a, b := s.Open("a"), s.Open("b")
	if a.Cancelled() {
		t.Error("a new study is cancelled")
	}
	if err := errors.Join(a.Cancel(), a.Cancel()); err != nil || !b.Cancelled() {
		t.Errorf("cancelled %v, %v", b.Cancelled(), err)
	}
	if err := errors.Join(b.Resume(), b.Resume()); err != nil || a.Cancelled() {
		t.Errorf("still cancelled: %v", err)
	}
}

func killedHere(t *testing.T, s Stores, all []*result.Result) {
	a, b, e := s.Open("a"), s.Open("a"), Entry(all[0])
	c := claimed(t, a, e)
	begin(t, c, "20")
	refused(t, b, e, study.Running)
	s.Kill(a)
	began := time.Now()
	for {
		if c, _, err := b.Claim(e); err != nil {
			t.Fatal(err)
		} else if c != nil {
			if n, step := c.Attempt(); n != 2 || step != 20 {
				t.Errorf("attempt %d from step %d, want the second from 20", n, step)
			}
			break
		}
		time.Sleep(time.Second)
	}
	if d := time.Since(began); d > study.StaleAfter+2*time.Second {
		t.Errorf("free after %v", d)
	}
}

func killedElsewhere(t *testing.T, s Stores, all []*result.Result) {
	a, b, c, e := s.Open("a"), s.Open("b"), s.Open("c"), Entry(all[0])
	claimed(t, a, e)
	s.Kill(a)
	refused(t, b, e, study.Running)
	time.Sleep(study.StaleAfter - time.Second)
	refused(t, b, e, study.Running)
	time.Sleep(2 * time.Second)
	if n, _ := claimed(t, b, e).Attempt(); n != 2 {
		t.Errorf("attempt %d, want the second", n)
	}
	refused(t, c, e, study.Running)
	time.Sleep(study.StaleAfter - time.Second) // the new claim has its own time
	refused(t, c, e, study.Running)
}

func deaths(t *testing.T, s Stores, all []*result.Result) {
	e := Entry(all[0])
	die := func(step string, asked bool) {
		t.Helper()
		store := s.Open("a")
		var c study.Claim
		for i := 0; c == nil; i++ {
			var err error
			if c, _, err = store.Claim(e); err != nil || i > 400 {
				t.Fatal(c, err)
			}
			if c == nil {
				time.Sleep(time.Second)
			}
		}
		if step != "" {
			begin(t, c, step)
		}
		if asked {
			if err := c.Beat(study.Progress{Stopping: true}); err != nil {
				t.Fatal(err)
			}
		}
		s.Kill(store)
	}
	die("", false)
	die("10", false) // it got on
	die("", false)
	die("20", false)
	die("", false)
	for range 3 {
		die("", true) // it was asked to end
	}
	die("", false)
	last := s.Open("a")
	for range 400 {
		c, st, err := last.Claim(e)
		if err != nil || c != nil {
			t.Fatalf("claim %v, error %v after three deaths at step 20", c, err)
		}
		if st.Phase == study.Failed {
			if want := "3 attempts died at step 20"; st.Error != want {
				t.Errorf("error %q, want %q", st.Error, want)
			}
			if _, err := last.Retry(e); err != nil {
				t.Fatal(err)
			}
			claimed(t, last, e)
			return
		}
		time.Sleep(time.Second)
	}
	t.Error("the job has not failed")
}

func aside(t *testing.T, s Stores, all []*result.Result) {
	for name, spoil := range map[string]func(path string) error{
		"truncated": func(path string) error { return os.Truncate(path, 100) },
		"of another run": func(path string) error {
			text, err := result.Encode(all[1])
			return errors.Join(err, os.WriteFile(path, text, 0o644))
		},
		"edited": func(path string) error {
			r := *all[0]
			better := 0.99
			r.Metrics.AverageAccuracy = &better
			text, err := result.Encode(&r)
			return errors.Join(err, os.WriteFile(path, text, 0o644))
		},
	} {
		store, e := s.Open("a"), Entry(all[0])
		c := claimed(t, store, e)
		path := filepath.Join(c.Place().Folder, experiment.ResultFile)
		Write(t, c, all[0])
		if err := errors.Join(spoil(path), c.Release()); err != nil {
			t.Fatal(err)
		}
		c = claimed(t, store, e)
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: the file is still in its place", name)
		}
		if kept, _ := filepath.Glob(path + ".aside-*"); len(kept) == 0 {
			t.Errorf("%s: the file was not kept", name)
		}
		if err := c.Release(); err != nil {
			t.Fatal(err)
		}
	}
}
