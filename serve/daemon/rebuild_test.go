package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ocl/serve/journal"
)

// TestRebuildKnowsWhatWasErased: after all was learned again, an erased id is as it is after a restart: its state is
// there, and it is taken no more. One that was let go of and came again with another picture is there once.
func TestRebuildKnowsWhatWasErased(t *testing.T) {
	for _, ids := range []int{0, 12} { // few ids are known: those of long ago are let go of, and come again
		t.Run(fmt.Sprintf("%d ids", ids), func(t *testing.T) {
			dir, o := t.TempDir(), small()
			o.Retain, o.IDs, o.HeldOut = true, ids, 0
			d := open(t, dir, o)
			learn(t, d, samples(0, 10))
			applied(t, d)
			forget := func(w ...string) {
				t.Helper()
				if _, err := d.Forget(t.Context(), Which{IDs: w}, ""); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := d.Label(t.Context(), "id-2", "class 0", ""); err != nil { // it waits again
				t.Fatal(err)
			}
			forget("id-1", "id-2")
			d = again(t, d, dir, o)
			if ids > 0 {
				learn(t, d, samples(10, 20))
				applied(t, d)
				if _, there := d.Sample("id-1"); there {
					t.Fatal("the id is still known")
				}
				learn(t, d, samples(1, 1))
				forget("id-29")
			}
			d = again(t, d, dir, o)
			want := map[string]Info{}
			for i := range 30 {
				if m, there := d.Sample(fmt.Sprintf("id-%d", i)); there {
					want[m.ID] = m
				}
			}
			forgotten := d.Status().Samples.Forgotten
			end(t, d)
			if err := Rebuild(t.Context(), dir, Options{}); err != nil {
				t.Fatal(err)
			}
			d = open(t, dir, o)
			if n := d.Status().Samples.Forgotten; n < forgotten || forgotten == 0 {
				t.Errorf("%d are forgotten, and were %d", n, forgotten)
			}
			for id, was := range want {
				m, there := d.Sample(id)
				if (was.State == StateErased || ids == 0) && (!there || m.State != was.State || !m.Time.Equal(was.Time)) {
					t.Errorf("%s is %+v, %v, and was %+v", id, m, there, was)
				}
				if was.State != StateErased {
					continue
				}
				if _, err := d.Forget(t.Context(), Which{IDs: []string{id}}, ""); !errors.Is(err, ErrErased) {
					t.Errorf("%s is erased again: %v", id, err)
				}
				if _, err := d.Learn(t.Context(), []Sample{{ID: id, Label: "class 1", Pixels: picture(1, 1)}}, ""); !errors.Is(err,
					ErrForgotten) {
					t.Errorf("%s is sent again: %v", id, err)
				}
			}
			end(t, d)
			if r, err := Verify(t.Context(), dir, Options{}); err != nil || r.Compared() && !r.Same() {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// TestRebuildOfNoDaemon: what is no folder of a daemon is refused, and nothing is made.
func TestRebuildOfNoDaemon(t *testing.T) {
	missing, other := filepath.Join(t.TempDir(), "typo"), t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "letter"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]int{missing: 0, t.TempDir(): 0, other: 1} {
		for i, do := range []func() error{
			func() error { return Rebuild(t.Context(), dir, Options{}) },
			func() error { _, err := Verify(t.Context(), dir, Options{}); return err },
		} {
			if err := do(); err == nil || dir != missing && !errors.Is(err, journal.ErrOther) || errors.Is(err, ErrDamaged) {
				t.Errorf("%d: %s: %v", i, dir, err)
			}
		}
		if made, _ := os.ReadDir(dir); len(made) != want {
			t.Errorf("%s has %v", dir, made)
		}
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("the folder was made")
	}
}
