// Package studytest has the tests that every [study.Store] must pass. It knows nothing of where a store keeps what it
// has. Start at [Run].
package studytest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ocl/config"
	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/sweep/study"
)

// Stores opens the stores of one study for a test.
type Stores struct {
	// Open is the store of another process on a machine, such as "a".
	Open func(machine string) study.Store
	// Kill lets the process of a store die: its locks are gone, and what it has written stays.
	Kill func(study.Store)
	// Pass lets time pass for the stores. It does not wait.
	Pass func(time.Duration)
	// Lag is how long what one store does may take until the others know it, in real time; 0 is no time.
	Lag time.Duration
}

// Run checks stores. open makes those of a new study.
func Run(t *testing.T, open func(*testing.T) Stores) {
	all := Results(t, 2)
	for name, test := range map[string]func(*testing.T, Stores, []*result.Result){
		"OneHasIt": oneHasIt, "Release": release, "Done": done, "Fail": fail, "Cancel": cancel, "KilledHere": killedHere,
		"KilledElsewhere": killedElsewhere, "Deaths": deaths,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t), all) })
	}
}

// within asks until something holds, at most for the time that news may take.
func (s Stores) within(holds func() bool) bool {
	for end := time.Now().Add(s.Lag); ; time.Sleep(time.Millisecond) {
		if holds() {
			return true
		}
		if !time.Now().Before(end) {
			return false
		}
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
	return study.Entry{Key: r.Key, Folder: "finetune-" + r.Key[:8], Name: "finetune", Seed: r.Config.Seed,
		Steps: r.Outcome.Step, FLOPs: 1}
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

// begin writes the config of a run and a checkpoint of a step, by their names, and hands them over.
func begin(t *testing.T, c study.Claim, step string) {
	t.Helper()
	folder := filepath.Join(c.Place().Folder, experiment.CheckpointDir)
	err := os.MkdirAll(folder, 0o755)
	for _, path := range []string{filepath.Join(c.Place().Folder, experiment.RunConfigFile),
		filepath.Join(folder, "step-"+step+".ckpt")} {
		err = errors.Join(err, os.WriteFile(path, []byte("x"), 0o644))
	}
	if err := errors.Join(err, c.Save(t.Context())); err != nil {
		t.Fatal(err)
	}
}

func (s Stores) claimed(t *testing.T, store study.Store, e study.Entry) (c study.Claim) {
	t.Helper()
	var st progress.State
	var err error
	if !s.within(func() bool {
		c, st, err = store.Claim(e)
		return c != nil || err != nil
	}) || err != nil {
		t.Fatalf("claim %v, %+v, error %v", c, st, err)
	}
	return c
}

func (s Stores) refused(t *testing.T, store study.Store, e study.Entry, phase string) (st progress.State) {
	t.Helper()
	var c study.Claim
	var err error
	if !s.within(func() bool {
		c, st, err = store.Claim(e)
		return c != nil || err != nil || st.Phase == phase
	}) || err != nil || c != nil {
		t.Fatalf("claim %v, %+v, error %v; want it refused as %s", c, st, err, phase)
	}
	if seen := store.State(e); seen.Phase != phase {
		t.Fatalf("Claim says %s and State %s", phase, seen.Phase)
	}
	return st
}

// freed claims a job whose process has died, and says how much time passed until it was free.
func (s Stores) freed(t *testing.T, store study.Store, e study.Entry) (c study.Claim, st progress.State,
	passed time.Duration) {
	t.Helper()
	ask := func() bool {
		var err error
		if c, st, err = store.Claim(e); err != nil {
			t.Fatal(err)
		}
		return c != nil || st.Phase == progress.Failed
	}
	free := ask()
	for ; !free && passed < 2*study.StaleAfter; passed += time.Second {
		s.Pass(time.Second)
		free = ask()
	}
	if !free && !s.within(ask) {
		t.Fatalf("%v after the death of its process, the job is %+v", passed, st)
	}
	return c, st, passed
}

func oneHasIt(t *testing.T, s Stores, all []*result.Result) {
	a, b, far := s.Open("a"), s.Open("b"), s.Open("c")
	e := Entry(all[0])
	for _, store := range []study.Store{a, b, far} {
		if st := store.State(e); st.Phase != progress.Waiting {
			t.Fatalf("a new job is %+v", st)
		}
		if r, err := store.Result(e); r != nil || err != nil {
			t.Fatalf("a new job has the result %v, error %v", r, err)
		}
	}
	c := s.claimed(t, a, e)
	if n, step := c.Attempt(); n != 1 || step != 0 {
		t.Errorf("attempt %d from step %d", n, step)
	}
	for range 4 { // however often it is looked at
		for _, store := range []study.Store{a, b, far} {
			s.refused(t, store, e, progress.Running)
		}
		s.Pass(study.StaleAfter / 3)
		seen := 0.25
		if err := c.Beat(progress.Progress{Step: 7, Task: 1, Tasks: 2, Seen: &seen}); err != nil {
			t.Fatal(err)
		}
	}
	var p progress.Progress
	if !s.within(func() bool {
		p = far.State(e).Progress
		return p.Step == 7 && p.Task == 1 && p.Tasks == 2 && p.Seen != nil && *p.Seen == 0.25 && p.Host != ""
	}) {
		t.Errorf("another machine sees %+v", p)
	}
	s.claimed(t, far, Entry(all[1])) // other jobs are free
}

// release hands over what the run has saved: another machine finds it in its place.
func release(t *testing.T, s Stores, all []*result.Result) {
	a, b, e := s.Open("a"), s.Open("b"), Entry(all[0])
	c := s.claimed(t, a, e)
	begin(t, c, "40")
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	var st progress.State
	if !s.within(func() bool {
		st = b.State(e)
		return st.Phase == progress.Begun && st.Progress.Step == 40
	}) {
		t.Errorf("a job that was given back is %+v", st)
	}
	c = s.claimed(t, b, e)
	if n, step := c.Attempt(); n != 1 || step != 40 {
		t.Errorf("attempt %d from step %d, want a first one from 40", n, step)
	}
	if text, err := os.ReadFile(filepath.Join(c.Place().Folder, experiment.CheckpointDir, "step-40.ckpt")); err != nil ||
		string(text) != "x" {
		t.Errorf("the next place has the checkpoint %q, error %v", text, err)
	}
}

func done(t *testing.T, s Stores, all []*result.Result) {
	a, b, e := s.Open("a"), s.Open("b"), Entry(all[0])
	interrupted := *all[0]
	interrupted.Outcome = result.Outcome{State: result.Interrupted, Step: 3}
	c := s.claimed(t, a, e)
	Write(t, c, &interrupted)
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	c = s.claimed(t, b, e) // an interrupted run is continued
	Write(t, c, all[0])
	if err := c.Done(all[0]); err != nil {
		t.Fatal(err)
	}
	for _, store := range []study.Store{a, b, s.Open("a")} {
		if st := s.refused(t, store, e, progress.Done); st.Outcome != result.Finished || st.Accuracy == nil {
			t.Errorf("done is %+v", st)
		}
		if r, err := store.Result(e); err != nil || r == nil || r.Key != e.Key {
			t.Errorf("the result is %v, error %v", r, err)
		}
	}
}

func fail(t *testing.T, s Stores, all []*result.Result) {
	a, b, e := s.Open("a"), s.Open("b"), Entry(all[0])
	if err := s.claimed(t, a, e).Fail(errors.New("no such luck")); err != nil {
		t.Fatal(err)
	}
	for _, store := range []study.Store{a, b} {
		if st := s.refused(t, store, e, progress.Failed); st.Error != "no such luck" {
			t.Errorf("failed is %+v", st)
		}
	}
	if again, err := b.Retry(e); err != nil || !again {
		t.Fatal(again, err)
	}
	if again, err := b.Retry(e); err != nil || again {
		t.Errorf("a job that has not failed is tried again: %v, %v", again, err)
	}
	s.claimed(t, a, e)
}

func cancel(t *testing.T, s Stores, _ []*result.Result) {
	a, b := s.Open("a"), s.Open("b")
	if a.Cancelled() {
		t.Error("a new study is cancelled")
	}
	if err := errors.Join(a.Cancel(), a.Cancel()); err != nil || !s.within(b.Cancelled) {
		t.Errorf("not cancelled: %v", err)
	}
	if err := errors.Join(b.Resume(), b.Resume()); err != nil || !s.within(func() bool { return !a.Cancelled() }) {
		t.Errorf("still cancelled: %v", err)
	}
}

func killedHere(t *testing.T, s Stores, all []*result.Result) {
	a, b, e := s.Open("a"), s.Open("a"), Entry(all[0])
	begin(t, s.claimed(t, a, e), "20")
	s.refused(t, b, e, progress.Running)
	s.Kill(a)
	c, st, passed := s.freed(t, b, e)
	if c == nil {
		t.Fatalf("the job is %+v", st)
	}
	if n, step := c.Attempt(); n != 2 || step != 20 {
		t.Errorf("attempt %d from step %d, want the second from 20", n, step)
	}
	if passed > study.StaleAfter+2*time.Second {
		t.Errorf("free after %v", passed)
	}
}

func killedElsewhere(t *testing.T, s Stores, all []*result.Result) {
	a, b, c, e := s.Open("a"), s.Open("b"), s.Open("c"), Entry(all[0])
	s.claimed(t, a, e)
	s.Kill(a)
	s.refused(t, b, e, progress.Running)
	s.Pass(study.StaleAfter - time.Second)
	s.refused(t, b, e, progress.Running)
	s.Pass(2 * time.Second)
	if n, _ := s.claimed(t, b, e).Attempt(); n != 2 {
		t.Errorf("attempt %d, want the second", n)
	}
	s.refused(t, c, e, progress.Running)
	s.Pass(study.StaleAfter - time.Second) // the new claim has its own time
	s.refused(t, c, e, progress.Running)
}

func deaths(t *testing.T, s Stores, all []*result.Result) {
	e := Entry(all[0])
	die := func(step string, asked bool) {
		t.Helper()
		store := s.Open("a")
		c, st, _ := s.freed(t, store, e)
		if c == nil {
			t.Fatalf("the job is %+v", st)
		}
		if step != "" {
			begin(t, c, step)
		}
		if asked {
			if err := c.Beat(progress.Progress{Stopping: true}); err != nil {
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
	c, st, _ := s.freed(t, last, e)
	if want := "3 attempts died at step 20"; c != nil || st.Error != want {
		t.Fatalf("claim %v, error %q, want %q", c, st.Error, want)
	}
	if _, err := last.Retry(e); err != nil {
		t.Fatal(err)
	}
	s.claimed(t, last, e)
}
