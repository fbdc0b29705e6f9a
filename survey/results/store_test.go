package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ocl/run/experiment"
	"ocl/run/result"
	"ocl/sweep/study"
)

// allRuns are the committed results.
var allRuns = sync.OnceValues(func() ([]run, error) { return readRuns(".") })

// TestNamesOfResults: every committed result of a table has the name that store gives it, so the same run is never kept
// under two.
func TestNamesOfResults(t *testing.T) {
	runs, err := allRuns()
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, r := range runs {
		folder := strings.Split(r.file, "/")
		if len(folder) != 3 || folder[1] == "lr0.01" {
			continue // the first runs, of numbers version 1, and runs that compare kernels
		}
		named++
		if got, err := fileOf(r.Result); got != r.file || err != nil {
			t.Errorf("%s would be kept as %s, %v", r.file, got, err)
		}
	}
	if named < 130 {
		t.Errorf("%d results were looked at, want at least 130", named)
	}
}

// TestNamesOfConfirmation: the runs of survey/studies/confirmation.yaml have a folder of their own, and no others are
// in it; so have the anchors.
func TestNamesOfConfirmation(t *testing.T) {
	for _, tt := range []struct {
		file, want string
		change     func(*result.Result)
	}{
		{"cifar100/methods/er-m5000-s1.json.gz", "cifar100/confirmation/er-m5000-s4.json.gz", func(r *result.Result) {}},
		{"cifar100/times/er+kdcstar-m5000-s1.json.gz", "cifar100/confirmation/er+kdcstar-m5000-s4.json.gz",
			func(r *result.Result) { r.Provenance.Timed = false }},
		{"cifar100/methods/er-m5000-s1.json.gz", "cifar100/anchors/er-m5000-s9.json.gz",
			func(r *result.Result) { r.Config.Seed = 9 }},
		{"cifar100/methods/er-m5000-s1.json.gz", "cifar100/methods/er-m5000-s19.json.gz",
			func(r *result.Result) { r.Config.Seed = 19 }},
		{"cifar100/methods/er-m5000-s1.json.gz", "cifar100/methods/er-m5000-s4.json.gz",
			func(r *result.Result) { r.Provenance.Kernel = "avx512" }},
		{"cifar100/methods/er-m5000-s1.json.gz", "cifar100/times/er-m5000-s4.json.gz",
			func(r *result.Result) { r.Provenance.Timed = true }},
		{"cifar100/tricks/mir+rv-m5000-s1.json.gz", "cifar100/tricks/mir+rv-m5000-s4.json.gz", func(r *result.Result) {}},
		{"cifar100/methods/er-m5000-s1.json.gz", "cifar100/examined/er-m5000-lr0.5-s4.json.gz",
			func(r *result.Result) { r.Config.Optimizer.LR = 0.5 }},
	} {
		r := committed(t, tt.file)
		r.Config.Seed = 4
		tt.change(r)
		if got, err := fileOf(r); got != tt.want || err != nil {
			t.Errorf("%s, changed, would be kept as %s, %v, want %s", tt.file, got, err, tt.want)
		}
	}
}

// committed is a result of this folder.
func committed(t *testing.T, name string) *result.Result {
	t.Helper()
	r, err := result.Read(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// studyOf is the folder of a study whose jobs are results, as its workers leave it, with a last job that has none.
func studyOf(t *testing.T, results ...*result.Result) string {
	t.Helper()
	dir := t.TempDir()
	var entries []study.Entry
	for _, r := range results {
		key := experiment.Key(r)
		r.Key = key
		e := study.Entry{Key: key, Folder: "job-" + key[:8], Name: r.Method.Name, Data: r.Config.Data.Name,
			Seed: r.Config.Seed}
		text, err := result.Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, e.Folder, experiment.ResultFile), text)
		entries = append(entries, e)
	}
	entries = append(entries, study.Entry{Key: strings.Repeat("0", 64), Folder: "job-00000000"})
	if err := study.WriteJobs(dir, entries); err != nil {
		t.Fatal(err)
	}
	return dir
}

func put(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestStoreStudy: done jobs are kept under their names without places, once; another result of the same run is refused,
// and the rest is kept.
func TestStoreStudy(t *testing.T) {
	root := t.TempDir()
	const plain, tricked = "cifar100/methods/er-m5000-s1.json.gz", "cifar100/tricks/er+kdcstar-m5000-s1.json.gz"
	one, two := committed(t, plain), committed(t, tricked)
	one.Config.Data.Dir, one.Provenance.Command = "/data/secret", []string{"ocl", "run", "--data-dir", "/data/secret"}
	put(t, filepath.Join(root, "survey", "results", "runs.csv"), nil)
	dir := studyOf(t, one, two)
	var out bytes.Buffer
	if err := storeStudy(root, dir, &out); err != nil {
		t.Fatal(err)
	}
	if want := plain + " is new\n" + tricked + " is new\n2 of 3 jobs are done\n"; out.String() != want {
		t.Errorf("it says\n%swant\n%s", out.String(), want)
	}
	text := checkFile(t, filepath.Join(root, "survey", "results", plain))
	if bytes.Contains(text, []byte("secret")) {
		t.Error("the kept result names a place")
	}
	if kept, err := result.Read(filepath.Join(root, "survey", "results", plain)); err != nil {
		t.Error(err)
	} else if difference, same := result.Same(experiment.Schema(), kept, committed(t, plain)); !same {
		t.Errorf("the kept result is another one: %s", difference)
	}
	before, err := os.ReadFile(filepath.Join(root, "survey", "results", plain))
	if err != nil {
		t.Fatal(err)
	}

	out.Reset()
	if err := storeStudy(root, dir, &out); err != nil || !strings.Contains(out.String(), plain+" is there already") {
		t.Errorf("the second time: %v\n%s", err, out.String())
	}

	one.Provenance.Started = "2030-01-01T00:00:00Z" // the same run, made again
	three := committed(t, "cifar100/methods/er-m5000-s2.json.gz")
	out.Reset()
	err = storeStudy(root, studyOf(t, one, three), &out)
	if err == nil || !strings.Contains(err.Error(), plain) || !strings.Contains(err.Error(), "same numbers") {
		t.Errorf("another result of the run gives %v", err)
	}
	if !strings.Contains(out.String(), "er-m5000-s2.json.gz is new") {
		t.Errorf("the other job was not kept:\n%s", out.String())
	}
	if after, err := os.ReadFile(filepath.Join(root, "survey", "results", plain)); err != nil ||
		!bytes.Equal(before, after) {
		t.Errorf("the file has changed, %v", err)
	}
	one.Provenance.Timed = true // the same run, for its seconds
	if err := storeStudy(root, studyOf(t, one), &out); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(root, "survey", "results", "cifar100/times/er-m5000-s1.json.gz")); err != nil {
		t.Error(err)
	}
	tuned := committed(t, "cifar100/tuned/er-m5000-s5.json.gz") // its setting is that of the confirmation
	twin := committed(t, "cifar100/confirmation/er-m5000-s5.json.gz")
	twin.Provenance.Revision = tuned.Provenance.Revision // its own is not known
	if err := storeStudy(root, studyOf(t, twin), &out); err != nil {
		t.Error(err)
	}
	if err := storeStudy(root, studyOf(t, tuned), &out); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(root, "survey", "results", "cifar100/tuned/er-m5000-s5.json.gz")); err != nil {
		t.Error(err)
	}
}

// TestStoreUntimed: a job whose run time was wanted and is not known is refused.
func TestStoreUntimed(t *testing.T) {
	root := t.TempDir()
	put(t, filepath.Join(root, "survey", "results", "runs.csv"), nil)
	dir := studyOf(t, committed(t, "cifar100/methods/er-m5000-s1.json.gz"))
	entries, err := study.ReadJobs(dir)
	if err != nil {
		t.Fatal(err)
	}
	entries[0].Timing = true
	if err := study.WriteJobs(dir, entries); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := storeStudy(root, dir, &out); err == nil || !strings.Contains(err.Error(), "is not timed") ||
		!strings.Contains(out.String(), "1 of 2 jobs") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestStoreFile: one result under a name; another one there is refused, and so is a name of another kind.
func TestStoreFile(t *testing.T) {
	dir := t.TempDir()
	r := committed(t, "cifar100/methods/er-m5000-s1.json.gz")
	text, err := result.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	from, to := filepath.Join(dir, "result.json"), filepath.Join(dir, "a", "b.json.gz")
	put(t, from, text)
	var out bytes.Buffer
	for range 2 {
		if err := do([]string{"store", from, to}, &out); err != nil {
			t.Fatal(err)
		}
	}
	checkFile(t, to)
	if err := do([]string{"store", "cifar100/methods/er-m5000-s2.json.gz", to}, &out); err == nil ||
		!strings.Contains(err.Error(), "another result") {
		t.Errorf("another result gives %v", err)
	}
	if err := do([]string{"store", from, filepath.Join(dir, "b.json")}, &out); err == nil ||
		!strings.Contains(err.Error(), ".json.gz") {
		t.Errorf("a name without gz gives %v", err)
	}
	if err := do([]string{"stow"}, &out); err == nil || !strings.Contains(err.Error(), "store STUDYDIR") {
		t.Errorf("an unknown word gives %v", err)
	}
	r.Stream.Notes = []string{"/home/me/list.csv"}
	if err := keepResult(r, filepath.Join(dir, "c.json.gz")); err == nil || !strings.Contains(err.Error(), "/home/me") {
		t.Errorf("a result with a path gives %v", err)
	}
	for _, revision := range []string{"", "unknown", "0fcc28b+dirty"} {
		r := committed(t, "cifar100/methods/er-m5000-s1.json.gz")
		r.Provenance.Revision = revision
		if err := keepResult(r, filepath.Join(dir, "d.json.gz")); err == nil || !strings.Contains(err.Error(), "build it again") {
			t.Errorf("a result of the revision %q gives %v", revision, err)
		}
	}
}
