package study_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"ocl/config"
	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/sweep/study"
)

// TestReuse: a result of the same run counts, and so does one of a run that measured more, whose numbers are the same.
// One that measured less, one of another machine's kernels, one of another run and one that is damaged do not, and the
// reasons are said.
func TestReuse(t *testing.T) {
	const text = `study: 1
data: {train_per_class: 6, test_per_class: 2}
stream: {tasks: 5}
network: {name: mlp, hidden: [8]}
methods: [er, finetune, gdumb]
memory: 50
classifiers: [head]
eval: final
seed: [1, 2]
`
	dir, jobs := made(t, text)
	from, n := t.TempDir(), 0
	run := func(method string, change func(*config.Config)) *result.Result {
		t.Helper()
		c := jobs[0].Experiment.Config()
		for _, j := range jobs {
			if j.Name == method && j.Seed == 1 {
				c = j.Run.Config.Clone()
			}
		}
		change(&c)
		r, err := experiment.Run(t.Context(), c, experiment.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r[0]
	}
	put := func(r *result.Result) *result.Result {
		t.Helper()
		text, err := result.Encode(r)
		if err == nil {
			n++
			err = os.MkdirAll(filepath.Join(from, string(rune('a'+n))), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(from, string(rune('a'+n)), experiment.ResultFile), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	put(run("finetune", func(*config.Config) {}))
	wide := put(run("gdumb", func(c *config.Config) { c.Eval = config.EvalAll }))
	put(run("er", func(c *config.Config) { c.Eval, c.Classifiers = config.EvalSeen, []string{"head", "ncm"} }))
	put(run("er", func(c *config.Config) { c.Classifiers = []string{"ncm"} })) // another classifier is another number
	put(run("er", func(c *config.Config) { c.Memory = 60 }))
	other := run("er", func(c *config.Config) { c.Seed = 2 })
	other.Provenance.Kernel, other.Config.Engine.Kernel = "other", ""
	other.Key = experiment.Key(other)
	put(other)
	if err := os.WriteFile(filepath.Join(from, experiment.ResultFile), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}

	archive, err := experiment.OpenArchive(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	store := study.OpenFolder(dir)
	found := study.Match(archive, store, jobs)
	want := map[string]int{"other kernels (other)": 1, "of runs that the study does not have": 1,
		"fewer evaluations or other classifiers": 1, "damaged": 1}
	if found.Match != 3 || !reflect.DeepEqual(found.Others, want) {
		t.Errorf("%d results count, the others are %v; want 3 and %v", found.Match, found.Others, want)
	}
	if copied, err := found.Copy(store); err != nil || copied != 3 {
		t.Fatalf("%d taken, %v", copied, err)
	}
	done := 0
	for i, j := range jobs {
		st := store.State(j.Entry)
		if (st.Phase == progress.Done) != found.Matches(i) {
			t.Errorf("%s is %+v", j.Folder, st)
		}
		if st.Phase == progress.Done {
			done++
		}
	}
	if again := study.Match(archive, store, jobs); done != 3 || again.Match != 0 || again.Have != 3 {
		t.Errorf("%d jobs are done, and then %+v", done, again)
	}
	plain := run("gdumb", func(*config.Config) {})
	if a, b := plain.Accuracy, wide.Accuracy; !reflect.DeepEqual(a[len(a)-1], b[len(b)-1]) {
		t.Errorf("a run that evaluates more has other numbers: %v, want %v", b[len(b)-1], a[len(a)-1])
	}
}

// TestTimedJobsTakeTimes: a job whose run time is wanted takes over a timed result of its own run alone, and another
// job takes either.
func TestTimedJobsTakeTimes(t *testing.T) {
	const text = `study: 1
data: {train_per_class: 6, test_per_class: 2}
stream: {tasks: 5}
network: {name: mlp, hidden: [8]}
methods: [finetune, er, gdumb]
memory: 50
eval: final
`
	from := t.TempDir()
	_, jobs := made(t, text)
	learn := func(folder, method, eval string, timed bool) {
		t.Helper()
		for _, j := range jobs {
			c := j.Run.Config.Clone()
			c.Eval = eval
			if j.Name != method {
				continue
			}
			x, err := experiment.Open(t.Context(), c, experiment.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := x.RunJob(t.Context(), x.Jobs()[0],
				experiment.RunIn{Folder: filepath.Join(from, folder), Workers: 1, Timed: timed})
			if err != nil || r.Provenance.Timed != timed {
				t.Fatalf("%s: timed is %v, %v", folder, r.Provenance.Timed, err)
			}
		}
	}
	learn("a", "finetune", config.EvalFinal, false)
	learn("b", "finetune", config.EvalFinal, true)
	learn("c", "er", config.EvalFinal, false)
	learn("d", "gdumb", config.EvalAll, true)
	archive, err := experiment.OpenArchive(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	for timing, others := range map[string]map[string]int{
		"": {"there is another result of the same run": 1},
		"timing: true\n": {"there is another result of the same run": 1, "not timed, and their jobs have timing: true": 1,
			"they measured more, which takes longer, and their jobs have timing: true": 1},
	} {
		dir, jobs := made(t, text+timing)
		store := study.OpenFolder(dir)
		found := study.Match(archive, store, jobs)
		if !reflect.DeepEqual(found.Others, others) {
			t.Errorf("%q: left out are %v, want %v", timing, found.Others, others)
		}
		for i, j := range jobs {
			if want := timing == "" || j.Name == "finetune"; found.Matches(i) != want {
				t.Errorf("%s, %q: taken over: %v, want %v", j.Name, timing, found.Matches(i), want)
			}
		}
	}
}
