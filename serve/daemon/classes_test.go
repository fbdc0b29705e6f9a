package daemon

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"ocl/live"
)

// TestClassesChange: a class gets another name, becomes a part of another one, and goes, with its pictures; a start
// finds the same, and an undisturbed replay makes the same state.
func TestClassesChange(t *testing.T) {
	ctx := context.Background()
	for _, method := range []string{"er", "ncm", "slda", "ranpac"} {
		t.Run(method, func(t *testing.T) {
			o := small()
			if method != "er" {
				o = sums(method)
			}
			o.Retain, o.Age = true, 1
			dir := t.TempDir()
			d := open(t, dir, o)
			learn := func(label string, class, from int) (ids []string) {
				t.Helper()
				for n := range 6 {
					r, err := d.Learn(ctx, []Sample{{ID: fmt.Sprint(label, "-", from+n), Label: label,
						Pixels: picture(class, from+n)}}, "")
					if err != nil {
						t.Fatal(err)
					}
					ids = append(ids, r[0].ID)
				}
				if err := d.Wait(ctx, ids); err != nil {
					t.Fatal(err)
				}
				return ids
			}
			unused := func(names ...string) { // predictions do not know them any more
				t.Helper()
				a, err := d.Predict(ctx, [][]byte{picture(0, 1)}, 10)
				if err != nil {
					t.Fatal(err)
				}
				for _, g := range a.Guesses[0] {
					if slices.Contains(names, g.Name) {
						t.Errorf("a prediction has %+v", g)
					}
				}
			}
			lions := learn("lion", 0, 0)
			learn("cat", 1, 0)
			learn("spider", 2, 0)
			learn("dog", 3, 0)
			if r, err := d.RenameClass(ctx, "LION", "big_cat", "me"); err != nil || r.Was != "lion" || r.Samples != 6 {
				t.Fatalf("renamed: %+v, %v", r, err)
			}
			unused("lion")
			v, err := d.Keep(ctx, "renamed", "me")
			if err != nil {
				t.Fatal(err)
			}
			if i, _ := d.Sample(lions[0]); i.Label != "big_cat" {
				t.Errorf("a lion is %q", i.Label)
			}
			if _, err := d.RenameClass(ctx, "big_cat", "Cat", "me"); !errors.Is(err, ErrSameClass) {
				t.Errorf("a name that is taken: %v", err)
			}
			if _, err := d.MergeClass(ctx, "cat", "cat", "me"); !errors.Is(err, ErrOneClass) {
				t.Errorf("one class with itself: %v", err)
			}
			var unknown *UnknownClassError
			if _, err := d.MergeClass(ctx, "cot", "cat", "me"); !errors.As(err, &unknown) || unknown.Nearest != "cat" {
				t.Errorf("an unknown class: %v", err)
			}
			if err := d.Rollback(ctx, v.Number, "me"); err != nil { // its weights have the classes by number
				t.Fatal(err)
			}
			if r, err := d.MergeClass(ctx, "cat", "big_cat", "me"); err != nil || r.Samples != 6 ||
				(r.Carries == "") != (method != "er") {
				t.Fatalf("merged: %+v, %v", r, err)
			}
			unused("lion", "cat")
			if err := d.Rollback(ctx, v.Number, "me"); !errors.Is(err, ErrNoVersion) {
				t.Errorf("back to the weights of before: %v", err)
			}
			if r, err := d.RemoveClass(ctx, "spider", "me"); err != nil || r.Samples != 6 {
				t.Fatalf("removed: %+v, %v", r, err)
			}
			unused("lion", "cat", "spider")
			if i, _ := d.Sample("spider-0"); i.State != StateErased {
				t.Errorf("a spider is %s", i.State)
			}
			learn("lion", 4, 10) // a new class
			want := []string{"big_cat", "dog", "lion"}
			if names := d.Names(); !slices.Equal(names, want) {
				t.Errorf("classes %q, want %q", names, want)
			}
			a, err := d.Predict(ctx, [][]byte{picture(3, 1)}, 10)
			if err != nil || len(a.Guesses[0]) != 3 {
				t.Errorf("%d guesses: %v", len(a.Guesses[0]), err)
			}
			before, err := d.stateDigest()
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Close(ctx); err != nil {
				t.Fatal(err)
			}
			d = open(t, dir, o)
			if after, err := d.stateDigest(); err != nil || after != before {
				t.Errorf("a start finds another state: %v", err)
			}
			for _, name := range []string{"dog", "lion"} {
				if _, err := d.MergeClass(ctx, name, "big_cat", ""); err != nil {
					t.Error(err)
				}
			}
			if _, err := d.RemoveClass(ctx, "big_cat", ""); !errors.Is(err, ErrLastClass) {
				t.Errorf("the only class: %v", err)
			}
		})
	}
}

// TestSplitClass: samples of a class become a new one, all or none; a method that is a sum answers as one that had
// learned them so, and a start finds the same.
func TestSplitClass(t *testing.T) {
	ctx := context.Background()
	right := []string{"cat", "lynx", "dog"}
	for _, method := range []string{"er", "ncm", "slda", "ranpac"} {
		t.Run(method, func(t *testing.T) {
			o := small()
			if method != "er" {
				o = sums(method)
			}
			o.Retain, o.Age = true, 1
			taught := func(dir string, names ...string) (d *Daemon, ids []string) {
				d = open(t, dir, o)
				for n := range 18 {
					r, err := d.Learn(ctx, []Sample{{ID: fmt.Sprint("s-", n), Label: names[n%3], Pixels: picture(n%3, n)}}, "")
					if err != nil {
						t.Fatal(err)
					}
					ids = append(ids, r[0].ID)
				}
				if err := d.Wait(ctx, ids); err != nil {
					t.Fatal(err)
				}
				return d, ids
			}
			dir := t.TempDir()
			d, ids := taught(dir, "cat", "cat", "dog")
			if _, err := d.Remember(ctx, []Remembered{{ID: "new", Pixels: picture(0, 50)}}, ""); err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				class, into string
				ids         []string
				want        error
			}{
				{"cat", "Dog", ids[:1], ErrSameClass}, {"cat", "cat", ids[:1], ErrSameClass},
				{"cat", "lynx", []string{ids[0], ids[2]}, ErrOtherClass}, {"cat", "lynx", []string{"none"}, ErrNotFound},
				{"cat", "lynx", []string{ids[0], "new"}, ErrOtherClass}, {"cat", "lynx", nil, ErrNoSamples},
				{"cat", "", ids[:1], live.ErrLabel},
			} {
				if _, err := d.SplitClass(ctx, c.class, c.into, c.ids, "me"); !errors.Is(err, c.want) {
					t.Errorf("%+v: %v", c, err)
				}
			}
			var unknown *UnknownClassError
			if _, err := d.SplitClass(ctx, "cut", "lynx", ids[:1], "me"); !errors.As(err, &unknown) || unknown.Nearest != "cat" {
				t.Errorf("an unknown class: %v", err)
			}
			if names := d.Names(); !slices.Equal(names, []string{"cat", "dog"}) {
				t.Errorf("classes %q after what it refused", names)
			}
			var lynxes []string
			for n := 1; n < len(ids); n += 3 {
				lynxes = append(lynxes, ids[n], ids[n]) // twice is once
			}
			r, err := d.SplitClass(ctx, "CAT", "lynx", lynxes, "me")
			if err != nil || r.Class != "lynx" || r.Was != "cat" || r.Samples != 6 || (r.Carries == "") != (method != "er") {
				t.Fatalf("split: %+v, %v", r, err)
			}
			for n, id := range ids {
				if i, _ := d.Sample(id); i.Label != right[n%3] || i.State != StateLearned {
					t.Errorf("%s is %q, and %s", id, i.Label, i.State)
				}
			}
			if method != "er" {
				want, _ := taught(t.TempDir(), right...)
				for n := range 30 {
					a, err := d.Predict(ctx, [][]byte{picture(n%3, 100+n)}, 3)
					b, err2 := want.Predict(ctx, [][]byte{picture(n%3, 100+n)}, 3)
					if err := errors.Join(err, err2); err != nil {
						t.Fatal(err)
					}
					got, want := a.Guesses[0][0], b.Guesses[0][0]
					if d := math.Abs(got.Value - want.Value); got.Name != want.Name || !(d <= 1e-6) {
						t.Errorf("%+v, and %+v where it was learned so", got, want)
					}
				}
			}
			before, err := d.stateDigest()
			if err = errors.Join(err, d.Close(ctx)); err != nil {
				t.Fatal(err)
			}
			d = open(t, dir, o)
			if after, err := d.stateDigest(); err != nil || after != before {
				t.Errorf("a start finds another state: %v", err)
			}
		})
	}
}
