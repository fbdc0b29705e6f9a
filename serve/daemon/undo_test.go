package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"ocl/serve/journal"
)

// sums are options of a method that is a sum.
func sums(method string) Options {
	o := small()
	o.Live.Method, o.Live.Memory, o.Live.Set = method, 0, nil
	if method == "ranpac" {
		o.Live.Set = []string{"method.ranpac.projection=100", "method.ranpac.ridge=10"}
	}
	return o
}

// blurred are pictures in which the bright corner of another class shows too, so that classifiers that differ differ in
// answers.
func blurred(from, n int) (list []Sample) {
	for i, m := range samples(from, n) {
		for k, v := range picture((i+1)%3, 5000+i) {
			m.Pixels[k] = byte((int(m.Pixels[k])*11 + int(v)*10) / 21)
		}
		list = append(list, m)
	}
	return list
}

// wrongly gives every fifth of some samples the label of another class.
func wrongly(list []Sample) (wrong []Sample) {
	wrong = slices.Clone(list)
	for i := range wrong {
		if i%5 == 0 {
			wrong[i].Label = fmt.Sprintf("class %d", (i+1)%3)
		}
	}
	return wrong
}

// shares are the probabilities of the best guesses, with their classes.
func shares(t *testing.T, d *Daemon, list []Sample) (names []string, values []float64) {
	t.Helper()
	applied(t, d)
	done := make(chan error, 1)
	d.between <- func() { done <- d.publish(t.Context()) }
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for i := range list {
		a, err := d.Predict(t.Context(), [][]byte{list[i].Pixels}, 1)
		if err != nil {
			t.Fatal(err)
		}
		names, values = append(names, a.Guesses[0][0].Name), append(values, a.Guesses[0][0].Value)
	}
	return names, values
}

// alike compares two daemons: the same answers, and probabilities of which those that follow from float32 weights that
// are the same but for the rounding of float64 sums differ by no more than a millionth.
func alike(t *testing.T, what string, got, want *Daemon) {
	t.Helper()
	most, same := apart(t, got, want)
	if t.Logf("%s: probabilities differ by %.1e", what, most); same < 1 || !(most <= 1e-6) {
		t.Errorf("%s: a share of %g of the answers is the same, and probabilities differ by %g", what, same, most)
	}
}

// apart is the largest difference of the probabilities of two daemons, and the share of the answers that are the same.
func apart(t *testing.T, got, want *Daemon) (most, same float64) {
	t.Helper()
	list := blurred(1000, 300)
	names, values := shares(t, got, list)
	others, wanted := shares(t, want, list)
	for i := range list {
		most = max(most, math.Abs(values[i]-wanted[i]))
		if names[i] == others[i] {
			same += 1 / float64(len(list))
		}
	}
	return most, math.Round(same*1e9) / 1e9
}

// TestCorrected: 40 of 200 labels are wrong, and then put right: methods that are sums answer as if only the right ones
// had come, and say so. So does a start after a crash, and after forgetting what was wrong they answer as if it had
// never come.
func TestCorrected(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"ncm", "slda", "ranpac"} {
		dir, o := t.TempDir(), sums(method)
		d, right, other := open(t, dir, o), open(t, t.TempDir(), o), open(t, t.TempDir(), o)
		list := blurred(0, 200)
		bad := wrongly(list)
		learn(t, right, list)
		learn(t, d, bad)
		applied(t, d)
		if most, _ := apart(t, d, right); most < 0.01 {
			t.Errorf("%s: wrong labels do no harm: probabilities differ by %g", method, most)
		}
		for i := range list {
			if i%5 != 0 {
				learn(t, other, list[i:i+1])
				continue
			}
			r, err := d.Label(t.Context(), list[i].ID, list[i].Label, "me")
			if err != nil || r.State != StateWaiting || r.Undoes != UndoesAll {
				t.Fatalf("%s: %+v, %v", method, r, err)
			}
		}
		applied(t, d)
		alike(t, method+", corrected", d, right)
		for _, c := range d.Classes() {
			if c.Learned < 66 || c.Learned > 67 {
				t.Errorf("%s: %+v", method, c)
			}
		}
		want := digest(t, d)
		again := open(t, crashed(t, dir), o)
		applied(t, again)
		if digest(t, again) != want {
			t.Errorf("%s: after a crash the state is another one", method)
		}
		var w Which
		for i := 0; i < 200; i += 5 {
			w.IDs = append(w.IDs, list[i].ID)
		}
		f, err := d.Forget(t.Context(), w, "me")
		if err != nil || f.Matched != 40 || f.Undone != 40 || !strings.Contains(f.Note, "as if they had never come") {
			t.Errorf("%s: %+v, %v", method, f, err)
		}
		alike(t, method+", forgotten", d, other)
		for i := 0; i < 200; i += 5 {
			if has(t, dir, list[i].Pixels) {
				t.Fatalf("%s: a file has %s", method, list[i].ID)
			}
		}
		want = digest(t, d)
		end(t, d)
		if d = open(t, dir, o); digest(t, d) != want {
			t.Errorf("%s: after a start the state is another one", method)
		}
	}
}

// TestCorrectsWhatItCan: what is undone is said of each method, and of pictures that the journal does not have any
// more.
func TestCorrectsWhatItCan(t *testing.T) {
	dir, o := t.TempDir(), sums("slda")
	d := open(t, dir, o)
	learn(t, d, samples(0, 20))
	applied(t, d)
	if err := d.journal.Trim(d.journal.Last() + 1); err != nil {
		t.Fatal(err)
	}
	r, err := d.Label(t.Context(), "id-1", "class 0", "")
	if err != nil || r.Undoes != UndoesNothing || r.State != StateWaiting && r.State != StateLearned {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := d.Label(t.Context(), "id-2", "class 2", ""); err != nil || r.Undoes != "" {
		t.Errorf("the label that it has: %+v, %v", r, err)
	}
	f, err := d.Forget(t.Context(), Which{IDs: []string{"id-1", "id-3"}}, "")
	if err != nil || f.Undone != 0 || !strings.Contains(f.Note, "of 2 of them") ||
		!strings.Contains(f.Note, "Of 1 the journal does not have the pictures any more. Without --retain") ||
		!strings.Contains(f.Note, "Of 1 a rollback, or a label") || strings.Contains(f.Note, "rebuild") {
		t.Errorf("%+v, %v", f, err)
	}
	running := sums("slda")
	running.Live.Set = []string{"method.slda.covariance=running", "method.slda.shrinkage=0.0001"}
	for undoes, o := range map[string]Options{UndoesMemory: small(), UndoesNothing: running} {
		d := open(t, t.TempDir(), o)
		learn(t, d, samples(0, 20))
		applied(t, d)
		if r, err := d.Label(t.Context(), "id-1", "class 0", ""); err != nil || r.Undoes != undoes {
			t.Errorf("%+v, %v, want %s", r, err, undoes)
		}
		f, err := d.Forget(t.Context(), Which{IDs: []string{"id-2"}}, "")
		if err != nil || f.Undone != 0 || !strings.Contains(f.Note, "still carry") {
			t.Errorf("%+v, %v", f, err)
		}
	}
}

// TestUndoesWhatIsThere: what a rollback has taken away is not taken away again, and two corrections of one sample undo
// one each.
func TestUndoesWhatIsThere(t *testing.T) {
	dir, o := t.TempDir(), sums("ncm")
	d := open(t, dir, o)
	learn(t, d, samples(0, 10))
	applied(t, d)
	version, err := d.Keep(t.Context(), "before", "")
	if err != nil {
		t.Fatal(err)
	}
	learn(t, d, samples(10, 10))
	applied(t, d)
	if err := d.Rollback(t.Context(), version.Number, ""); err != nil {
		t.Fatal(err)
	}
	digest(t, d) // which is made when the journal of before the rollback is gone
	if r, err := d.Label(t.Context(), "id-11", "class 0", ""); err != nil || r.Undoes != UndoesNothing {
		t.Errorf("%+v, %v", r, err)
	}
	learn(t, d, samples(20, 5))
	applied(t, d)
	for i, want := range []string{UndoesAll, UndoesAll} {
		r, err := d.Label(t.Context(), "id-22", fmt.Sprint("class ", i), "")
		if err != nil || r.Undoes != want {
			t.Errorf("correction %d: %+v, %v", i, r, err)
		}
		learn(t, d, samples(30+4*i, 4))
		applied(t, d)
	}
	want := digest(t, d)
	again := open(t, crashed(t, dir), o)
	applied(t, again)
	if digest(t, again) != want {
		t.Error("after a crash the state is another one")
	}
}

// TestUndoWaits: a snapshot of a daemon whose learner has not undone something yet has the picture with which it does.
func TestUndoWaits(t *testing.T) {
	dir, o := t.TempDir(), sums("slda")
	o.Retain = true
	d := open(t, dir, o)
	learn(t, d, samples(0, 20))
	applied(t, d)
	held, free, taken := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		d.between <- func() {
			defer close(taken)
			close(held)
			<-free
			if err := d.snapshot(); err != nil {
				t.Error(err)
			}
		}
	}()
	<-held
	if _, err := d.Label(t.Context(), "id-1", "class 0", ""); err != nil {
		t.Fatal(err)
	}
	if n, err := d.undo(t.Context(), Which{IDs: []string{"id-2"}}.means(), "", map[int64]bool{}); n != 1 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	close(free)
	<-taken
	learn(t, d, samples(20, 4))
	applied(t, d)
	want := digest(t, d)
	numbers, err := d.files.Numbers()
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.files.Read(numbers[len(numbers)-1])
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range numbers {
		s := newState(nil, d.o, journal.Versions(t.TempDir()))
		if err := errors.Join(s.from(d.files, from), s.replay(t.Context(), d.journal, 1<<62)); err != nil {
			t.Fatal(err)
		}
		if got, err := s.digest(); err != nil || got != want {
			t.Errorf("from the snapshot of event %d the state is another one (%v)", from, err)
		}
		if err := s.trainer.Close(); err != nil {
			t.Error(err)
		}
	}
	waits := newState(nil, d.o, journal.Versions(t.TempDir()))
	if err := waits.load(c); err != nil {
		t.Fatal(err)
	}
	defer waits.trainer.Close()
	if len(waits.ops) != 2 || len(waits.ops[0].Lessons) != 1 || len(waits.ops[1].Lessons[0].picture) == 0 {
		t.Errorf("the snapshot has %d ops", len(waits.ops))
	}
}

// TestUndoOfWhatWasSetAside: what was learned in a cut that was set aside later is not undone by whoever replays the
// journal, as it was never learned there.
func TestUndoOfWhatWasSetAside(t *testing.T) {
	o := sums("ncm")
	o.Retain = true
	d := open(t, t.TempDir(), o)
	learn(t, d, samples(0, 15))
	applied(t, d)
	cut := d.state.samples["id-12"].Learned
	if r, err := d.Label(t.Context(), "id-12", "class 1", ""); err != nil || r.Undoes != UndoesAll {
		t.Fatalf("%+v, %v", r, err)
	}
	learn(t, d, samples(15, 4))
	applied(t, d)
	if _, err := d.ask(t.Context(), note(event(kindSkip, "", "", body{Number: cut}, nil))); err != nil {
		t.Fatal(err)
	}
	s := newState(nil, d.o, journal.Versions(t.TempDir()))
	if err := errors.Join(s.from(d.files, 0), s.replay(t.Context(), d.journal, 1<<62)); err != nil {
		t.Fatal(err)
	}
	defer s.trainer.Close()
	if n := s.learned["class 0"] + s.learned["class 1"] + s.learned["class 2"]; n != 15 {
		t.Errorf("%d are in the sums instead of the 10 before the cut and the 5 after it: %v", n, s.learned)
	}
}

// TestErasedLeavesVersions: what was forgotten is taken out of the versions that have it, once, whenever the process
// ends; versions of before it came stay as they are.
func TestErasedLeavesVersions(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"ncm", "slda", "ranpac"} {
		dir, o := t.TempDir(), sums(method)
		d, other := open(t, dir, o), open(t, t.TempDir(), o)
		list := blurred(0, 60)
		var numbers, others []int64
		keep := func(d *Daemon, name string) int64 {
			v, err := d.Keep(t.Context(), name, "me")
			if err != nil {
				t.Fatal(err)
			}
			return v.Number
		}
		for i := 0; i < 60; i += 20 {
			learn(t, d, list[i:i+20])
			applied(t, d)
			numbers = append(numbers, keep(d, fmt.Sprint(i)))
			if i != 20 {
				learn(t, other, list[i:i+20])
			} else {
				learn(t, other, list[i+5:i+20])
			}
			applied(t, other)
			others = append(others, keep(other, fmt.Sprint(i)))
		}
		end(t, d) // its snapshot has the versions
		d = open(t, dir, o)
		before, err := os.ReadFile(journal.Versions(dir).Path(numbers[0]))
		if err != nil {
			t.Fatal(err)
		}
		var w Which
		for i := range 5 {
			w.IDs = append(w.IDs, list[20+i].ID)
		}
		hold, free := make(chan struct{}), make(chan struct{})
		go func() { d.between <- func() { close(hold); <-free } }()
		<-hold
		done := make(chan error)
		go func() {
			f, err := d.Forget(context.Background(), w, "me")
			if err == nil && f.Undone != 5 {
				err = fmt.Errorf("%+v", f)
			}
			done <- err
		}()
		if err := d.until(t.Context(), func() bool { return len(d.state.unerased) > 0 }); err != nil {
			t.Fatal(err)
		}
		killed, twice := crashed(t, dir), crashed(t, dir) // the learner has undone nothing yet
		close(free)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		for _, n := range numbers { // a kill after the versions were written and before the snapshot was
			text, err := os.ReadFile(journal.Versions(dir).Path(n))
			if err == nil {
				err = os.WriteFile(journal.Versions(twice).Path(n), text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for name, d := range map[string]*Daemon{"the daemon": d, "after a kill": open(t, killed, o),
			"after a later kill": open(t, twice, o)} {
			applied(t, d)
			if err := d.until(t.Context(), func() bool { return len(d.state.unerased) == 0 }); err != nil {
				t.Fatal(err)
			}
			if now, err := os.ReadFile(journal.Versions(d.dir).Path(numbers[0])); err != nil || !bytes.Equal(now, before) {
				t.Errorf("%s, %s: the version of before is another one, %v", method, name, err)
			}
			for i := 1; i < 3; i++ {
				if err := errors.Join(d.Rollback(t.Context(), numbers[i], "me"),
					other.Rollback(t.Context(), others[i], "me")); err != nil {
					t.Fatal(err)
				}
				alike(t, fmt.Sprintf("%s, %s, version %d", method, name, i), d, other)
			}
		}
	}
}

// TestSweptTwice: what calibrates a learner goes from a version again and again, where the journal does not have the
// pictures any more of samples that are forgotten one after the other.
func TestSweptTwice(t *testing.T) {
	t.Parallel()
	o := sums("slda")
	d := open(t, t.TempDir(), o)
	learn(t, d, samples(0, 20))
	applied(t, d)
	v, err := d.Keep(t.Context(), "v", "me")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		learn(t, d, samples(100+5*i, 5)) // so that each snapshot has an event of its own
		applied(t, d)
		between(d, func() {
			if err := d.snapshot(); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range 2 {
		f, err := d.Forget(t.Context(), Which{IDs: []string{fmt.Sprint("id-", i)}}, "me")
		if err != nil || f.Undone != 0 {
			t.Fatalf("%+v, %v: want one of which the journal has no picture", f, err)
		}
	}
	if err := d.Rollback(t.Context(), v.Number, "me"); err != nil {
		t.Error(err)
	}
}
