package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// remember remembers pictures of some samples without their labels.
func remember(t *testing.T, d *Daemon, list []Sample) {
	t.Helper()
	for _, s := range list {
		if _, err := d.Remember(t.Context(), []Remembered{{ID: s.ID, Pixels: s.Pixels}}, "anna"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnlabelled: a label is taken away from a sample that waits, that was learned, that was corrected or that is held
// out. It waits for another label, with its picture, and sums are as if it had never come. So it is after a start.
func TestUnlabelled(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"er", "slda"} {
		dir, o := t.TempDir(), sums(method)
		want := UndoesAll
		if method == "er" {
			o, want = small(), UndoesMemory
		}
		held := false
		o.HeldOut, o.chance = 0.5, func() float64 {
			if held {
				return 0
			}
			return 1
		}
		d, other := open(t, dir, o), open(t, t.TempDir(), o)
		list := blurred(0, 23)
		remember(t, d, list[20:])
		learn(t, d, list[:20])
		learn(t, other, append(slices.Clone(list[:5]), list[10:20]...))
		applied(t, d)
		for i := 5; i < 10; i++ {
			r, err := d.Unlabel(t.Context(), list[i].ID, "ben")
			if err != nil || r.State != StateRemembered || r.Undoes != want || r.Was != list[i].Label {
				t.Fatalf("%s: learned: %+v, %v", method, r, err)
			}
		}
		applied(t, d)
		applied(t, other)
		if method == "slda" {
			alike(t, "unlabelled", d, other)
		} else if n := d.trainer.Stats().Stored; n != 15 {
			t.Errorf("%s: the memory has %d pictures, want 15", method, n)
		}
		state := func(d *Daemon, id, state, label string) {
			t.Helper()
			i, _ := d.Sample(id)
			p, err := d.Pixels(t.Context(), id)
			n := slices.IndexFunc(list, func(s Sample) bool { return s.ID == id })
			if i.State != state || i.Label != label || err != nil || !bytes.Equal(p, list[n].Pixels) {
				t.Errorf("%s: %s is %s %q, want %s %q, with its picture; %v", method, id, i.State, i.Label, state, label, err)
			}
		}
		state(d, list[5].ID, StateRemembered, "")
		if _, err := d.Label(t.Context(), list[20].ID, "class 1", "anna"); err != nil {
			t.Fatal(err)
		}
		state(d, list[20].ID, StateWaiting, "class 1")
		if r, err := d.Unlabel(t.Context(), list[20].ID, "anna"); err != nil || r.Undoes != "" || d.Waiting() != 0 {
			t.Errorf("%s: what waits: %+v, %v, and %d wait", method, r, err, d.Waiting())
		}
		state(d, list[20].ID, StateRemembered, "")
		if r, err := d.Unlabel(t.Context(), list[20].ID, "anna"); err != nil || r.State != StateRemembered {
			t.Errorf("%s: without a label: %+v, %v", method, r, err)
		}
		held = true
		learn(t, d, []Sample{{ID: "held", Label: "class 2", Pixels: list[22].Pixels}})
		held = false
		if i, _ := d.Sample("held"); i.State != StateHeldOut {
			t.Fatalf("%s: %+v", method, i)
		}
		if _, err := d.Unlabel(t.Context(), "held", "anna"); err != nil {
			t.Fatal(err)
		}
		if i, _ := d.Sample("held"); i.State != StateRemembered || d.Status().Samples.HeldOut != 0 {
			t.Errorf("%s: held out: %+v", method, i)
		}
		if _, err := d.Unlabel(t.Context(), "nobody", "anna"); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", method, err)
		}
		was := digest(t, d)
		killed := open(t, crashed(t, dir), o)
		applied(t, killed)
		if now := digest(t, killed); now != was {
			t.Errorf("%s: after a kill the state is another one", method)
		}
		d = again(t, d, dir, o)
		state(d, list[5].ID, StateRemembered, "")
		for i := 5; i < 10; i++ { // the other class
			if _, err := d.Label(t.Context(), list[i].ID, "class 0", "anna"); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Wait(t.Context(), []string{list[5].ID}); err != nil {
			t.Fatal(err)
		}
		if i, _ := d.Sample(list[5].ID); i.State != StateLearned || i.Label != "class 0" {
			t.Errorf("%s: labelled again: %+v", method, i)
		}
	}
}

// TestUndoneLater: the label of a picture that was remembered long before can be taken away, though the journal has let
// go of what came before the last snapshots.
func TestUndoneLater(t *testing.T) {
	t.Parallel()
	dir, o := t.TempDir(), sums("slda")
	d := open(t, dir, o)
	list := samples(0, 30)
	learn(t, d, list[:10])
	remember(t, d, list[10:15])
	applied(t, d)
	other := 100
	save := func() {
		t.Helper()
		other++ // so that each snapshot has an event of its own
		learn(t, d, samples(other, 1))
		between(d, func() {
			if err := d.snapshot(); err != nil {
				t.Error(err)
			}
		})
	}
	save()
	save()
	for _, s := range list[10:15] {
		if _, err := d.Label(t.Context(), s.ID, s.Label, "anna"); err != nil {
			t.Fatal(err)
		}
	}
	applied(t, d)
	save()
	if r, err := d.Unlabel(t.Context(), list[10].ID, "anna"); err != nil || r.Undoes != UndoesAll {
		t.Errorf("%+v, %v", r, err)
	}
	save()
	save()
	if _, err := d.Unlabel(t.Context(), list[11].ID, "anna"); !errors.Is(err, ErrNoPicture) {
		t.Errorf("the journal has no picture: %v", err)
	}
	if i, _ := d.Sample(list[11].ID); i.Label != list[11].Label {
		t.Errorf("%+v", i)
	}
}

// TestMarks: a picture that waits for its label is skipped or deleted, and is out of the list until somebody looks for
// it. A label takes the mark away.
func TestMarks(t *testing.T) {
	t.Parallel()
	dir, o := t.TempDir(), small()
	d := open(t, dir, o)
	list := samples(0, 6)
	remember(t, d, list)
	for i, mark := range []string{MarkSkipped, MarkDeleted, MarkSkipped} {
		if r, err := d.Mark(t.Context(), list[i].ID, mark, "anna"); err != nil || r.Was != "" {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if r, err := d.Mark(t.Context(), list[2].ID, "", "anna"); err != nil || r.Was != MarkSkipped {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := d.Label(t.Context(), list[3].ID, "class 0", "anna"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Mark(t.Context(), list[3].ID, MarkSkipped, "anna"); !errors.Is(err, ErrLabelled) {
		t.Errorf("of one with a label: %v", err)
	}
	for range 2 {
		for filter, want := range map[string][]string{"": {list[2].ID, list[4].ID, list[5].ID},
			FilterSkipped: {list[0].ID}, FilterDeleted: {list[1].ID}, FilterLabelled: {list[3].ID}} {
			l, err := d.List(t.Context(), Query{Filter: filter, Count: 10})
			part, total := l.Samples, l.Total
			var ids []string
			for _, i := range part {
				ids = append(ids, i.ID)
			}
			if slices.Sort(ids); err != nil || total != len(want) || !slices.Equal(ids, want) {
				t.Errorf("%q: %v of %d, want %v; %v", filter, ids, total, want, err)
			}
		}
		d = again(t, d, dir, o)
	}
	if _, err := d.Label(t.Context(), list[0].ID, "class 0", "anna"); err != nil {
		t.Fatal(err)
	}
	if r, err := d.Unlabel(t.Context(), list[0].ID, "anna"); err != nil || r.Was != "class 0" {
		t.Errorf("%+v, %v", r, err)
	}
	if i, _ := d.Sample(list[0].ID); i.Mark != "" || i.State != StateRemembered {
		t.Errorf("the mark is there after a label: %+v", i)
	}
}

// TestHistory: it says who did what, what was there before, and what can be undone. It has the last thousand deeds,
// goes on after a start, and knows nothing of what was forgotten.
func TestHistory(t *testing.T) {
	t.Parallel()
	dir, o := t.TempDir(), small()
	d := open(t, dir, o)
	list := samples(0, 3)
	remember(t, d, list)
	do := func(_ Receipt, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(d.Label(t.Context(), "id-0", "class 0", "anna"))
	do(d.Label(t.Context(), "id-0", "class 1", "ben"))
	do(d.Unlabel(t.Context(), "id-0", "anna"))
	do(d.Mark(t.Context(), "id-1", MarkSkipped, "ben"))
	want := []string{"ben mark id-1 skipped was  true", "anna unlabel id-0  was class 1 true",
		"ben label id-0 class 1 was class 0 false", "ben class  class 1 was  false", "anna label id-0 class 0 was  false",
		"anna class  class 0 was  false"}
	told := func(list []Deed) (all []string) {
		for _, h := range list {
			all = append(all, fmt.Sprint(h.Who, " ", h.Kind, " ", h.ID, " ", h.Label, " was ", h.Was, " ", h.Last))
		}
		return all
	}
	if got := told(d.History(10, 0)); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	d = again(t, d, dir, o)
	all := d.History(10, 0)
	if got := told(d.History(2, all[0].Number)); !slices.Equal(got, want[1:3]) {
		t.Errorf("a part after a start: %q", got)
	}
	if _, err := d.Forget(t.Context(), Which{IDs: []string{"id-0"}}, "anna"); err != nil {
		t.Fatal(err)
	}
	if got := told(d.History(10, 0)); !slices.Equal(got, []string{want[0], want[3], want[5]}) {
		t.Errorf("after forgetting: %q", got)
	}
	for i := range 501 {
		do(d.Mark(t.Context(), "id-1", MarkDeleted, fmt.Sprint(i)))
		do(d.Mark(t.Context(), "id-1", MarkSkipped, fmt.Sprint(i)))
	}
	if got := d.History(2000, 0); len(got) != mostDeeds || got[0].Who != "500" || got[999].Who != "1" {
		t.Errorf("%d deeds, from %+v to %+v", len(got), got[0], got[len(got)-1])
	}
}
