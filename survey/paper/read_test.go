package paper

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/config"
	"ocl/run/experiment"
	"ocl/run/result"
	"ocl/survey"
	"ocl/view/report"
)

// TestLeftOut: what cannot be used is named with its reason, and the rest is used.
func TestLeftOut(t *testing.T) {
	changed := func(change func(*result.Result)) *result.Result {
		r := fake(er, 9, config.EvalFinal)
		change(r)
		return r
	}
	rekeyed := func(change func(*result.Result)) *result.Result {
		r := changed(change)
		r.Key = experiment.Key(r)
		return r
	}
	whole, err := result.Encode(fake(er, 8, config.EvalFinal))
	if err != nil {
		t.Fatal(err)
	}
	standard := er
	standard.Protocol, standard.Memory = config.ProtocolStandard, 1000
	dir := t.TempDir()
	for seed := range uint64(3) {
		write(t, dir, fmt.Sprintf("study/runs/er-s%d/result.json", seed), fake(er, seed+1, config.EvalFinal))
	}
	for name, tt := range map[string]struct {
		text   []byte
		result *result.Result
		want   string
	}{
		"truncated": {text: whole[:len(whole)/2], want: "damaged"},
		"newer":     {text: []byte(strings.Replace(string(whole), `"version": 1`, `"version": 2`, 1)), want: "newer"},
		"edited config": {result: changed(func(r *result.Result) { r.Config.Optimizer.LR = 0.02 }),
			want: "somebody has changed it"},
		"edited metric": {result: changed(func(r *result.Result) { *r.Metrics.AverageAccuracy += 0.1 }),
			want: "metrics.average_accuracy does not follow"},
		"earlier numbers": {result: rekeyed(func(r *result.Result) { r.Provenance.Numbers = 1 }),
			want: "numbers version is 1, and the others have 2"},
		"later numbers": {result: rekeyed(func(r *result.Result) { r.Provenance.Numbers = 99 }),
			want: "numbers version is 99, and this ocl has 2"},
		"other data": {result: rekeyed(func(r *result.Result) {
			r.Provenance.DataDigest = "sha256:" +
				strings.Repeat("e", 64)
		}), want: "did not have the same images"},
		"another protocol": {result: fake(standard, 9, config.EvalFinal),
			want: "its protocol is standard, but table:nc is made of runs with the protocol survey"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := filepath.Join(dir, "bad", "result.json")
			if tt.result != nil {
				write(t, dir, "bad/result.json", tt.result)
			} else {
				writeText(t, dir, "bad/result.json", tt.text)
			}
			s, err := Read(t.Context(), []string{dir})
			if s == nil || !errors.Is(err, report.ErrLeftOut) || !strings.Contains(err.Error(), bad) ||
				!strings.Contains(err.Error(), tt.want) {
				t.Fatalf("the error is %v, want %s with %q", err, bad, tt.want)
			}
			if len(s.LeftOut) != 1 || s.LeftOut[0].Path != bad {
				t.Errorf("left out are %v, want %s", s.LeftOut, bad)
			}
			if runs, _ := s.Find(er, func(*Run) bool { return true }); len(runs) != 3 {
				t.Errorf("%d runs are left, want 3", len(runs))
			}
			if s, err := Read(t.Context(), []string{filepath.Dir(bad)}); (name == "truncated" || name == "newer" ||
				strings.HasPrefix(name, "edited") || name == "later numbers") && (s != nil || err == nil) {
				t.Errorf("alone it gives %v, %v", s, err)
			}
		})
	}
}

// TestLeftOutAlike: many results that are left out for one reason share a line, and a few do not.
func TestLeftOutAlike(t *testing.T) {
	for n, want := range map[int]int{mostAlike: mostAlike, mostAlike + 1: 1} {
		left := []LeftOut{{"a/result.json", "a/result.json: damaged"}}
		for i := range n {
			left = append(left, LeftOut{fmt.Sprintf("b%d/result.json", i), "its numbers version is 1"})
		}
		text := listed(left, "")
		if got := strings.Count(text, "its numbers version is 1"); got != want ||
			!strings.Contains(text, "b0/result.json: its") {
			t.Errorf("%d results alike have %d lines, want %d:\n%s", n, got, want, text)
		}
		if said := strings.Contains(text, fmt.Sprintf("%d more results", n-1)); said != (want == 1) {
			t.Errorf("%d results alike are told as\n%s", n, text)
		}
	}
}

// TestFind: runs that differ only in their seed and in what they evaluate are of one spec; repeats count once; other
// settings do not.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a/er-s1.json.gz", fake(er, 1, config.EvalAll))
	write(t, dir, "b/er-s1.json.gz", fake(er, 1, config.EvalFinal))
	write(t, dir, "b/er-s2.json.gz", fake(er, 2, config.EvalSeen))
	ncm := er
	ncm.Classifier = config.ClassifierNCM
	write(t, dir, "c/er-s3.json.gz", fake(ncm, 3, config.EvalFinal))
	for seed := range uint64(5) { // with another rate than the one that was chosen
		r := fake(er, seed+1, config.EvalFinal)
		r.Config.Optimizer.LR = 0.5
		r.Key = experiment.Key(r)
		write(t, dir, fmt.Sprintf("d/er-s%d.json.gz", seed), r)
	}
	other := fake(er, 4, config.EvalFinal)
	other.Config.Replay.Batch = 20
	other.Key = experiment.Key(other)
	write(t, dir, "d/other.json.gz", other)
	s, err := Read(t.Context(), []string{dir, filepath.Join(dir, "b"), filepath.Join(dir, "b", "er-s2.json.gz")})
	if err != nil {
		t.Fatal(err)
	}
	names := func(spec Spec, need Need) (names []string) {
		runs, _ := s.Find(spec, need)
		for _, r := range runs {
			name, _ := filepath.Rel(dir, r.Path)
			names = append(names, filepath.ToSlash(name))
		}
		return names
	}
	all := func(*Run) bool { return true }
	if got, want := names(er, all), []string{"b/er-s1.json.gz", "b/er-s2.json.gz", "c/er-s3.json.gz"}; !slices.Equal(got,
		want) {
		t.Errorf("ER has %v, want %v", got, want)
	}
	measured := func(r *Run) bool { _, ok := r.Metrics(config.ClassifierNCM); return ok }
	if got := names(ncm, measured); !slices.Equal(got, []string{"c/er-s3.json.gz"}) {
		t.Errorf("ER + NCM has %v", got)
	}
	if got := names(er, func(r *Run) bool { return r.Result.Config.Eval == config.EvalAll }); !slices.Equal(got,
		[]string{"a/er-s1.json.gz"}) {
		t.Errorf("ER with all test sets has %v", got)
	}
	for _, c := range s.Cells(survey.TricksCIFAR100) {
		want := map[string]int{"N/A": 3, "NCM": 1, bestRow: 3}[c.Row]
		if c.Column != "ER" && c.Row != bestRow || c.Memory != 5000 {
			want = 0
		}
		if len(c.Runs) != want {
			t.Errorf("%s %s %d has %d runs, want %d", c.Row, c.Column, c.Memory, len(c.Runs), want)
		}
	}
	late := fake(er, 6, config.EvalFinal) // it shared the machine
	late.Provenance.Timed = false
	write(t, dir, "e/er-s6.json.gz", late)
	if s, err = Read(t.Context(), []string{dir}); err != nil {
		t.Fatal(err)
	}
	timed := needOf(survey.TrickTimes, "", config.ClassifierHead)
	if got, want := names(er, timed), []string{"b/er-s1.json.gz", "b/er-s2.json.gz"}; !slices.Equal(got, want) {
		t.Errorf("the run times of ER are those of %v, want %v", got, want)
	}
	shared := fake(er, 1, config.EvalFinal)
	shared.Provenance.Timed = false
	write(t, dir, "z/er-s1.json.gz", shared)
	if s, err = Read(t.Context(), []string{dir}); err != nil {
		t.Fatal(err)
	}
	if accuracy, times := names(er, all)[0], names(er, timed)[0]; accuracy != "z/er-s1.json.gz" ||
		times != "b/er-s1.json.gz" {
		t.Errorf("beside a run that was not timed, accuracies come from %s and run times from %s", accuracy, times)
	}
	seen := fake(er, 2, config.EvalSeen)
	seen.Provenance.Timed = false
	write(t, dir, "y/er-s2.json.gz", seen)
	write(t, dir, "x/er-s2.json.gz", fake(er, 2, config.EvalFinal))
	if s, err = Read(t.Context(), []string{dir}); err != nil {
		t.Fatal(err)
	}
	if accuracy, times := names(er, all)[1], names(er, timed)[1]; accuracy != "y/er-s2.json.gz" ||
		times != "x/er-s2.json.gz" {
		t.Errorf("beside a run that was not timed and evaluates more, accuracies come from %s and run times from %s",
			accuracy, times)
	}
	without := t.TempDir()
	if _, err := Read(t.Context(), []string{without}); err == nil || !strings.Contains(err.Error(), without) {
		t.Errorf("an empty folder gives %v", err)
	}
	if _, err := Read(t.Context(), []string{filepath.Join(without, "x")}); err == nil ||
		!strings.Contains(err.Error(), "not there") {
		t.Errorf("an absent folder gives %v", err)
	}
}

// TestForeign: accuracies of another program are in no table, and a note counts them.
func TestForeign(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "er.json.gz", fake(er, 1, config.EvalAll))
	out := filepath.Join(dir, "foreign")
	v := 0.9
	r := &result.Result{Format: result.Format, Version: result.Version, Method: result.Method{Name: "er", Title: "ER"},
		Stream: streamOf(benchmark(survey.CIFAR100), config.ProtocolSurvey),
		Foreign: &result.Foreign{Program: "another 1.0", File: "er.csv", Digest: "sha256:" + strings.Repeat("0d", 32),
			Seed: 2}}
	r.Outcome.State = result.Finished
	for range r.Stream.Tasks {
		row := make([]*float64, len(r.Stream.Tasks))
		for j := range row {
			row[j] = &v
		}
		r.Accuracy = append(r.Accuracy, row)
	}
	r.Metrics = result.MetricsOf(r.Accuracy, false, nil)
	path := write(t, out, "result.json", r)
	if _, err := result.ReadAny(path); err != nil {
		t.Fatal(err)
	}
	s, err := Read(t.Context(), []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	if runs, _ := s.Find(er, func(*Run) bool { return true }); len(runs) != 1 || len(s.Notes) != 1 ||
		!strings.Contains(s.Notes[0], "1 result of other programs") {
		t.Errorf("ER has %d runs; notes are %q", len(runs), s.Notes)
	}
}

// TestCommittedAreWhole: every committed result is what its key and its accuracies say.
func TestCommittedAreWhole(t *testing.T) {
	for _, l := range committed(t).LeftOut {
		if !strings.Contains(l.Reason, "numbers version is 1") {
			t.Errorf("%s is left out: %s", l.Path, l.Reason)
		}
	}
}
