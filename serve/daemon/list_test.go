package daemon

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"ocl/live"
)

// seen waits until the daemon has looked at all remembered pictures by what was learned last.
func seen(t *testing.T, d *Daemon) {
	t.Helper()
	if _, err := d.List(t.Context(), Query{Count: 1}); err != nil {
		t.Fatal(err)
	}
	if err := d.until(t.Context(), func() bool {
		return !slices.ContainsFunc(d.state.waiting, func(id string) bool {
			k := d.looks.get(id)
			return k == nil || k.version < d.version
		})
	}); err != nil {
		t.Fatal(err)
	}
}

// ids lists the ids of a query.
func ids(t *testing.T, d *Daemon, q Query) (all []string, total int) {
	t.Helper()
	l, err := d.List(t.Context(), q)
	part, total := l.Samples, l.Total
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range part {
		all = append(all, i.ID)
	}
	return all, total
}

// TestRememberedBeforeLearned: pictures wait for labels before there is a model. Once there is one, the list says what
// it guesses, those that it is sure of come last, and parts of the list make the whole.
func TestRememberedBeforeLearned(t *testing.T) {
	t.Parallel()
	o := sums("slda")
	o.Age = 0
	d := open(t, t.TempDir(), o)
	list := samples(0, 60)
	remember(t, d, list)
	seen(t, d)
	if all, total := ids(t, d, Query{Count: 100}); len(all) != 60 || total != 60 {
		t.Errorf("%d of %d wait", len(all), total)
	}
	if _, err := d.List(t.Context(), Query{Like: "id-0", Count: 1}); !errors.Is(err, live.ErrNothing) {
		t.Errorf("like another one before anything is learned: %v", err)
	}
	for i := range 30 {
		if _, err := d.Label(t.Context(), list[i].ID, list[i].Label, "anna"); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Wait(t.Context(), []string{"id-29"}); err != nil {
		t.Fatal(err)
	}
	d.looks.put("id-31", &look{version: 1}) // of a version of before
	if l, err := d.List(t.Context(), Query{Count: 100}); err != nil || l.Stale == 0 {
		t.Errorf("none of those that an older version has looked at is stale, or %v", err)
	}
	seen(t, d)
	l, err := d.List(t.Context(), Query{Count: 100})
	part, total := l.Samples, l.Total
	if err != nil || total != 30 {
		t.Fatalf("%d wait, %v", total, err)
	}
	if l.Stale != 0 {
		t.Errorf("%d of those that were looked at are stale", l.Stale)
	}
	var whole []string
	for _, i := range part {
		n := slices.IndexFunc(list, func(s Sample) bool { return s.ID == i.ID })
		if len(i.Guesses) == 0 || i.Guesses[0].Class != list[n].Label || i.Version == 0 {
			t.Errorf("%s is guessed as %+v by version %d, want %s", i.ID, i.Guesses, i.Version, list[n].Label)
		}
		whole = append(whole, i.ID)
	}
	var parts []string
	for at := 0; at < 30; at += 7 {
		p, _ := ids(t, d, Query{Offset: at, Count: 7})
		parts = append(parts, p...)
	}
	if !slices.Equal(parts, whole) {
		t.Errorf("the parts are %v, and the whole is %v", parts, whole)
	}
	if all, n := ids(t, d, Query{Class: "class 1", Count: 100}); n != 10 || slices.Contains(all, "id-30") {
		t.Errorf("guessed as class 1: %v", all)
	}
	d.looks.put("id-31", &look{}) // as of before anything was learned
	l, err = d.List(t.Context(), Query{Like: "id-31", Count: 10})
	like, n := l.Samples, l.Total
	if err != nil || n != 30 || like[0].ID != "id-31" {
		t.Fatalf("%+v of %d, %v", like, n, err)
	}
	for i, l := range like {
		if n := slices.IndexFunc(list, func(s Sample) bool { return s.ID == l.ID }); list[n].Label != "class 1" ||
			i > 0 && *l.Likeness > *like[i-1].Likeness {
			t.Errorf("%s of %s is %v like one of class 1", l.ID, list[n].Label, *l.Likeness)
		}
	}
	if _, err := d.List(t.Context(), Query{Like: "id-0", Count: 1}); !errors.Is(err, ErrLabelled) {
		t.Errorf("like one with a label: %v", err)
	}
	if _, err := d.List(t.Context(), Query{Like: "nobody", Count: 1}); !errors.Is(err, ErrNotFound) {
		t.Errorf("like one that is not there: %v", err)
	}
	if _, err := d.List(t.Context(), Query{Filter: "blue", Count: 1}); err == nil {
		t.Error("there is a filter blue")
	}
}

// TestMix: of pictures of which the learner is as unsure, those come first that are unlike, and two that are the same
// do not follow each other; a picture of which it is surer comes later, and equals stay in their order.
func TestMix(t *testing.T) {
	t.Parallel()
	d := open(t, t.TempDir(), sums("slda"))
	one, half := 1.0, 0.5
	var list []listed
	for i, at := range [][]float32{{1, 0}, {1, 0.01}, {0, 1}, {0.01, 1}, {-1, 0}} {
		id := fmt.Sprint(i)
		d.looks.put(id, &look{features: at})
		list = append(list, listed{Info: Info{ID: id}, doubt: one})
	}
	d.looks.put("sure", &look{features: []float32{0, -1}})
	list = append(list, listed{Info: Info{ID: "sure"}, doubt: half}, listed{Info: Info{ID: "unseen"}, doubt: 0.1})
	order := func(want int) (all []string) {
		mixed := slices.Clone(list)
		if err := d.mix(mixed, want); err != nil {
			t.Fatal(err)
		}
		for _, l := range mixed {
			all = append(all, l.ID)
		}
		return all
	}
	// 4 is opposite to 0, 2 is square to both, and the last ones are next to others
	if got, want := order(10), []string{"0", "4", "2", "sure", "unseen", "1", "3"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := order(2), []string{"0", "4", "1", "2", "3", "sure", "unseen"}; !slices.Equal(got, want) {
		t.Errorf("two of them: %v, want %v", got, want)
	}
}

// TestDoubted: labels that were guessed to be others come in the order of how sure the guess was, and those that were
// guessed right are not among them.
func TestDoubted(t *testing.T) {
	t.Parallel()
	o := sums("slda")
	o.Age = 0
	d := open(t, t.TempDir(), o)
	learn(t, d, samples(0, 30))
	if err := d.Wait(t.Context(), []string{"id-29"}); err != nil {
		t.Fatal(err)
	}
	list := blurred(100, 9)
	for i, s := range list {
		a, err := d.Predict(t.Context(), [][]byte{s.Pixels}, 3)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Remember(t.Context(), []Remembered{{ID: s.ID, Pixels: s.Pixels, Guesses: a.Guesses[0],
			Version: a.Version}}, ""); err != nil {
			t.Fatal(err)
		}
		label := a.Guesses[0][0].Name
		if i < 4 {
			label = a.Guesses[0][1].Name
		}
		if _, err := d.Label(t.Context(), s.ID, label, ""); err != nil {
			t.Fatal(err)
		}
	}
	l, err := d.List(t.Context(), Query{Filter: FilterDoubted, Count: 100})
	part, total := l.Samples, l.Total
	if err != nil || total != 4 {
		t.Fatalf("%d are doubted, %v", total, err)
	}
	for i, l := range part {
		if i > 0 && doubt(l.Guesses) < doubt(part[i-1].Guesses) || l.Guesses[0].Class == l.Label {
			t.Errorf("%+v", part)
		}
	}
}

// TestLooksAreBounded: where no more can be kept, further pictures are listed all the same, and nobody looks at them
// again and again.
func TestLooksAreBounded(t *testing.T) {
	t.Parallel()
	d := open(t, t.TempDir(), small())
	d.looks.put("large", &look{features: make([]float32, 1<<24-1)})
	remember(t, d, samples(0, 3))
	d.looks.put("id-0", &look{features: make([]float32, 10)})
	if d.looks.get("id-0") != nil || d.looks.room() {
		t.Error("there is room")
	}
	d.looks.keep(func(id string) bool { return id != "large" })
	d.looks.put("id-0", &look{features: make([]float32, 10)})
	if d.looks.get("id-0") == nil || !d.looks.room() || d.looks.bytes != 40 {
		t.Errorf("there is no room; %d bytes", d.looks.bytes)
	}
	if all, _ := ids(t, d, Query{Count: 5}); len(all) != 3 {
		t.Errorf("%v are listed", all)
	}
}

// TestVersionsAreCompared: each version predicts the pictures that are held out now, and the one that answers does not
// change by it.
func TestVersionsAreCompared(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"slda", "er"} {
		o := sums(method)
		if method == "er" {
			o = small()
		}
		o.Age = 0
		held := 1.0
		o.HeldOut, o.chance = 0.5, func() float64 { return held }
		d := open(t, t.TempDir(), o)
		if _, err := d.Test(t.Context(), 0); err != nil {
			t.Errorf("%s: nothing is held out, and nothing learned: %v", method, err)
		}
		list := samples(0, 60)
		learn(t, d, list[:30])
		if err := d.Wait(t.Context(), []string{"id-29"}); err != nil {
			t.Fatal(err)
		}
		v, err := d.Keep(t.Context(), "good", "anna")
		if err != nil {
			t.Fatal(err)
		}
		held = 0
		learn(t, d, list[30:])
		held = 1
		bad := samples(0, 60)
		for i := range bad { // all others of before are wrong now
			bad[i].ID, bad[i].Label = fmt.Sprint("bad-", i), fmt.Sprintf("class %d", (i+1)%3)
		}
		for range 3 {
			learn(t, d, bad)
			for i := range bad {
				bad[i].ID += "x"
			}
			if err := d.until(t.Context(), func() bool { return len(d.state.ops) == 0 && len(d.state.queue) == 0 }); err != nil {
				t.Fatal(err)
			}
		}
		good, err := d.Test(t.Context(), v.Number)
		if err != nil || good.Version != v.Number || good.Samples != 30 || len(good.Classes) != 3 || !(*good.Accuracy > 0.9) {
			t.Fatalf("%s: the good version: %+v, %v", method, good, err)
		}
		between(d, func() {
			if err := d.publish(t.Context()); err != nil {
				t.Error(err)
			}
		})
		now, err := d.Test(t.Context(), 0)
		if err != nil || now.Version != d.Version() || now.Samples != 30 || !(*now.Accuracy < *good.Accuracy) {
			t.Errorf("%s: now: %+v, %v; before %v", method, now, err, *good.Accuracy)
		}
		if _, err := d.Test(t.Context(), v.Number+1); !errors.Is(err, ErrNoVersion) {
			t.Errorf("%s: a version that is not there: %v", method, err)
		}
	}
}
