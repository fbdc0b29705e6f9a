package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
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
			lions := learn("lion", 0, 0)
			learn("cat", 1, 0)
			learn("spider", 2, 0)
			learn("dog", 3, 0)
			if r, err := d.RenameClass(ctx, "LION", "big_cat", "me"); err != nil || r.Was != "lion" || r.Samples != 6 {
				t.Fatalf("renamed: %+v, %v", r, err)
			}
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
			if err := d.Rollback(ctx, v.Number, "me"); !errors.Is(err, ErrNoVersion) {
				t.Errorf("back to the weights of before: %v", err)
			}
			if r, err := d.RemoveClass(ctx, "spider", "me"); err != nil || r.Samples != 6 {
				t.Fatalf("removed: %+v, %v", r, err)
			}
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
