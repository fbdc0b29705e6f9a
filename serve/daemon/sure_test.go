package daemon

import (
	"strings"
	"testing"
)

// sureOf predicts two pictures of a class, after all that was learned is published, and says whether there are
// verdicts.
func sureOf(t *testing.T, d *Daemon) bool {
	t.Helper()
	a, err := d.Predict(t.Context(), [][]byte{picture(1, 900), picture(2, 901)}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if a.Verdicts == nil {
		return false
	}
	for _, v := range a.Verdicts {
		if !(v.Familiarity > 0 && v.Familiarity <= 1) || v.Unknown != (v.Familiarity <= 0.05) {
			t.Errorf("%+v", v)
		}
	}
	return true
}

// TestSureness: a method of sums is sure of itself, also after a start; a network is after enough pictures were held
// out; and the held-out pictures say how far probabilities are right. A replay makes the same state.
func TestSureness(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"slda", "er"} {
		dir, o := t.TempDir(), small()
		o.Live.Method, o.HeldOut = method, 0.2
		if method == "slda" {
			o.Live.Set = nil
		}
		d := open(t, dir, o)
		learn(t, d, samples(0, 200))
		applied(t, d)
		if err := d.until(t.Context(), func() bool {
			d.gauge.Lock()
			defer d.gauge.Unlock()
			return d.kept.HeldOut != nil && d.trainer.Sureness() != nil
		}); err != nil {
			t.Fatal(err)
		}
		if s := d.Status().HeldOut; s == nil || s.ECE == nil || !(*s.ECE >= 0 && *s.ECE <= 1) || len(s.Reliability) == 0 {
			t.Errorf("%s: %+v", method, s)
		}
		if !sureOf(t, d) {
			t.Errorf("%s: no verdicts", method)
		}
		end(t, d)
		d = open(t, dir, o)
		if !sureOf(t, d) {
			t.Errorf("%s: no verdicts after a start", method)
		}
		end(t, d)
		if r, err := Verify(t.Context(), dir, o); err != nil || r.Compared() && !r.Same() {
			t.Errorf("%s: %+v, %v", method, r, err)
		}
	}
}

// TestForgottenIsNotKept: a picture that the journal does not have any more cannot be found among what calibrates the
// learner, so a forgetting takes all of that, and what the learner is sure of stays.
func TestForgottenIsNotKept(t *testing.T) {
	t.Parallel()
	dir, o := t.TempDir(), small()
	o.Live.Method, o.Live.Set = "ncm", nil
	d := open(t, dir, o)
	learn(t, d, samples(0, 60))
	applied(t, d)
	d.state.mu.Lock()
	for _, m := range d.state.samples {
		if m.ID == "id-7" {
			m.Left = true // as after a rollback, or where the journal let go of its picture
			m.Out = true
		}
	}
	d.state.mu.Unlock()
	f, err := d.Forget(t.Context(), Which{IDs: []string{"id-7"}}, "test")
	if err != nil || f.Undone != 0 || !strings.Contains(f.Note, "still carry") {
		t.Fatalf("%+v, %v", f, err)
	}
	end(t, d)
	newest, err := d.files.Newest()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range newest.Container.Names() {
		if strings.Contains(name, "/kept/") {
			t.Errorf("the snapshot has the section %s", name)
		}
	}
	d = open(t, dir, o)
	if !sureOf(t, d) {
		t.Error("no verdicts after what was kept is gone")
	}
	learn(t, d, samples(60, 5)) // fewer than find another calibration
	applied(t, d)
	if f, err := d.Forget(t.Context(), Which{IDs: []string{"id-60"}}, "test"); err != nil || f.Undone != 1 {
		t.Fatalf("%+v, %v", f, err)
	}
	if _, err := d.MergeClass(t.Context(), "class 1", "class 2", "test"); err != nil {
		t.Fatal(err)
	}
	if !sureOf(t, d) {
		t.Error("no verdicts after one of few samples was forgotten, and classes were merged")
	}
}
