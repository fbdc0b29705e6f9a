package experiment

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl/config"
	"ocl/run/result"
)

// tricked is tiny with ER and A-GEM, each with some tricks.
func tricked(tricks ...string) config.Config {
	c := tiny()
	c.Methods, c.Tricks, c.Runs = []string{"er", "agem"}, tricks, 1
	return c
}

func TestJobsOfAGrid(t *testing.T) {
	c := tricked("none", "rv+lb", "kdc*")
	c.Runs = 2
	var got []string
	for _, j := range jobsOf(t, c) {
		got = append(got, j.Name()+" "+strings.TrimSuffix(j.Folder, "-"+j.Key[:8]))
		if j.Total != 12 {
			t.Errorf("%s: %d runs in all, want 12", j.Name(), j.Total)
		}
	}
	want := []string{
		"er er-m30-s1", "er+lb+rv er_lb_rv-m30-s1", "er+kdc* er_kdcs-m30-s1",
		"agem agem-m30-s1", "agem+lb+rv agem_lb_rv-m30-s1", "agem+kdc* agem_kdcs-m30-s1",
	}
	if !slices.Equal(got[:6], want) || !strings.HasSuffix(got[6], "er-m30-s2") {
		t.Errorf("jobs %v, want %v and those of seed 2", got, want)
	}
}

// Results say what was asked for, and which signals it uses; their configs do the same again.
func TestTricksInResults(t *testing.T) {
	t.Parallel()
	results := mustRun(t, tricked("none", "ncm", "mi", "lb", "ss", "kdc", "kdc*", "rv"), Options{})
	for _, r := range results {
		name := r.Method.Name + "+" + strings.Join(r.Method.Tricks, "+")
		told := r.Method.Name == "agem" || slices.ContainsFunc(r.Method.Tricks,
			func(n string) bool { return slices.Contains([]string{"ss", "kdc", "kdc*", "rv"}, n) })
		if slices.Contains(r.Method.Signals, "task boundaries") != told {
			t.Errorf("%s: signals %v", name, r.Method.Signals)
		}
		path := filepath.Join(t.TempDir(), "result.json")
		if err := os.WriteFile(path, mustEncode(t, r), 0o644); err != nil {
			t.Fatal(err)
		}
		c, _, notes, err := Load(path)
		if err != nil || len(notes) > 0 {
			t.Fatal(err, notes)
		}
		if again := jobsOf(t, c); len(again) != 1 || again[0].Key != r.Key {
			t.Errorf("%s: its config is another run: %s", name, config.Difference(r.Config, again[0].Config))
		}
		want := config.NoTrick
		if len(r.Method.Tricks) > 0 {
			want = r.Method.Tricks[0]
		}
		classifier := config.ClassifierHead
		if want == "ncm" {
			classifier = config.ClassifierNCM
		}
		if !slices.Equal(c.Tricks, []string{want}) || !slices.Equal(c.Classifiers, []string{classifier}) {
			t.Errorf("%s: config with tricks %v and classifiers %v", name, c.Tricks, c.Classifiers)
		}
	}
}

func mustEncode(t *testing.T, r *result.Result) []byte {
	t.Helper()
	text, err := result.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The trick ncm is the classifier ncm of a run that is otherwise the same, and leaves what other classifiers were asked
// for.
func TestTrickNCMIsTheClassifier(t *testing.T) {
	t.Parallel()
	c := tricked("none")
	c.Classifiers = config.Classifiers()
	both, trick := mustRun(t, c, Options{}), mustRun(t, tricked("ncm"), Options{})
	c.Tricks = []string{"ncm"}
	beside := mustRun(t, c, Options{})
	for i, r := range trick {
		if d := cmp.Diff(both[i].Classifiers[config.ClassifierNCM].Accuracy, r.Accuracy); d != "" {
			t.Errorf("%s: %s", r.Method.Name, d)
		}
		if len(r.Classifiers) != 0 || !cmp.Equal(beside[i].Accuracy, r.Accuracy) ||
			!cmp.Equal(beside[i].Classifiers[config.ClassifierHead].Accuracy, both[i].Accuracy) {
			t.Errorf("%s: the trick beside the head is not what each is alone", r.Method.Name)
		}
	}
}

// looks is a context that ends after so many looks at it, wherever they come from.
type looks struct {
	context.Context
	left atomic.Int64
}

func (l *looks) Err() error {
	if l.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// What a plan counts: a teacher's passes, iterations, and reviews at task ends.
func TestPlanCountsTricks(t *testing.T) {
	t.Parallel()
	plans := plansOf(t, tricked("none", "kdc", "mi", "rv", "ncm"))
	plain, image := plans[0], plans[0].FLOPsPerImage
	for i, want := range []int64{60, 80, 300, 60, 60} {
		if got := plans[i].FLOPsPerStep; got != want*image {
			t.Errorf("plan %d: %d floating-point operations a step, want %d", i, got, want*image)
		}
	}
	for task := range plain.PrepareFLOPs {
		if got, want := plans[3].PrepareFLOPs[task]-plain.PrepareFLOPs[task], 3*30*image; got != want {
			t.Errorf("task %d: %d floating-point operations of a review, want %d", task+1, got, want)
		}
	}
}
