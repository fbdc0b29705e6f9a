package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ocl/config"
	"ocl/nn"
	"ocl/run/experiment"
)

// small is a study of the built-in images whose runs take a part of a second.
const small = `study: 1
data: {train_per_class: 2, test_per_class: 1}
stream: {tasks: 2}
network: {name: mlp, hidden: [8]}
`

// names are the runs of a study, each as method, tricks, memory and seed.
func names(s *Study) (all []string) {
	for c, timing := range s.Runs() {
		name := c.Methods[0]
		if c.Tricks[0] != "none" {
			name += "+" + c.Tricks[0]
		}
		name += fmt.Sprintf(" m%d s%d", c.Memory, c.Seed)
		if c.Optimizer.LR != 0.1 {
			name += fmt.Sprintf(" lr%g", c.Optimizer.LR)
		}
		if timing {
			name += " timing"
		}
		all = append(all, name)
	}
	return all
}

func TestExpansion(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"methods: [er]\nmemory: [100, 200]\nruns: 2", "er m100 s1, er m100 s2, er m200 s1, er m200 s2"},
		{"methods: [er]\nseed: [7, 1]\noptimizer: {lr: [0.1, 0.01]}",
			"er m500 s1, er m500 s7, er m500 s1 lr0.01, er m500 s7 lr0.01"},
		// A method without memory is the same run for each of its sizes.
		{"methods: [finetune, er]\nmemory: [100, 200]", "finetune m0 s1, er m100 s1, er m200 s1"},
		{"methods: [er, agem]\ntricks: [none, rv]\nexclude: [{methods: [agem], tricks: [rv]}]",
			"er m500 s1, er+rv m500 s1, agem m500 s1"},
		{"methods: [er]\nruns: 3\nexclude: [{seed: [1, 2]}]", "er m500 s3"},
		{"methods: [er]\nmemory: [100, 200]\ninclude: [{methods: [gdumb], optimizer: {lr: 0.01}}]",
			"er m100 s1, er m200 s1, gdumb m100 s1 lr0.01, gdumb m200 s1 lr0.01"},
		{"methods: [er]\nmemory: [100, 200]\ninclude: [{memory: 300}, {memory: [100], runs: 2}]",
			"er m100 s1, er m100 s2, er m200 s1, er m300 s1"},
		// Without methods at the top there are those of include alone.
		{"runs: 2\ninclude: [{methods: [er]}, {methods: [mir], runs: 1}]", "er m500 s1, er m500 s2, mir m500 s1"},
		{"methods: [er]\ntiming: true\ninclude: [{methods: [mir], timing: false}]", "er m500 s1 timing, mir m500 s1"},
		// What include adds, exclude leaves.
		{"methods: [er]\nmemory: [100, 200]\nexclude: [{memory: 200}]\ninclude: [{memory: 200, optimizer: {lr: 0.01}}]",
			"er m100 s1, er m200 s1 lr0.01"},
	} {
		s, err := Parse(t.Context(), "s.yaml", []byte(small+tt.text), "", false)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if got := strings.Join(names(s), ", "); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.text, got, tt.want)
		}
	}
}

// TestConfigIsAStudy: a config of ocl run has the runs that ocl run makes of it.
func TestConfigIsAStudy(t *testing.T) {
	text := []byte(strings.TrimPrefix(small, "study: 1\n") +
		"methods: [er, agem]\ntricks: [none, rv]\nruns: 2\nmemory: 50\n")
	s, err := Parse(t.Context(), "exp.yaml", text, "", false)
	if err != nil {
		t.Fatal(err)
	}
	c, err := experiment.Schema().Parse("exp.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	runs := experiment.Schema().Runs(c)
	if len(runs) != s.Len() {
		t.Fatalf("%d runs, want %d", s.Len(), len(runs))
	}
	there := map[string]bool{}
	for c := range s.Runs() {
		there[c.Canonical()] = true
	}
	for i, r := range runs {
		if !there[r.Canonical()] {
			t.Errorf("run %d is missing:\n%s", i, r.Canonical())
		}
	}
}

// TestErrorsComeTogether: keys that are not known, values out of range and methods that do not take a trick are told at
// once; what is missing because a key could not be read is not. So are the faults that show only with the data.
func TestErrorsComeTogether(t *testing.T) {
	_, err := Parse(t.Context(), "s.yaml", []byte(small+"memmory: 3\nmethods: [er, icarl]\ntricks: [ncm]\noptimizer: {lr: -1}\nmethds: [er]\n"),
		"", false)
	for _, want := range []string{"unknown key memmory", "optimizer.lr (--lr): -1 is out of range", "icarl",
		"unknown key methds"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q too", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "names no methods") {
		t.Errorf("got %v", err)
	}
	s, err := Parse(t.Context(), "s.yaml", []byte("study: 1\nmethods: [er]\nnetwork: {name: mlp}\ndata: {train_per_class: 1}\nstream: {tasks: 50, drop_last: true, batch: [10, 11]}\n"),
		"", false)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Open(t.Context(), experiment.Options{})
	if err == nil || !strings.Contains(err.Error(), "stream.batch (10)") ||
		!strings.Contains(err.Error(), "stream.batch (11)") ||
		!errors.Is(err, experiment.ErrUnfit) {
		t.Errorf("got %v, want both", err)
	}
}

func TestBadStudies(t *testing.T) {
	hundred := "0"
	for i := range 100 {
		hundred += fmt.Sprintf(", %d", i+1)
	}
	for text, want := range map[string]string{
		"":                                                   "s.yaml:1: it names no methods. Add them",
		"memory: 100":                                        "s.yaml:1: it names no methods. Add them",
		"method: [er]":                                       "s.yaml:5: method must hold keys with values, but it holds [er]. Did you mean methods?",
		"methods: [er]\nmemmory: [100]":                      "s.yaml:6: unknown key memmory. Did you mean memory?",
		"methods: [er]\nincludes: []":                        "s.yaml:6: unknown key includes. Did you mean include?",
		"methods: [er]\nmemory: []":                          "s.yaml:6: memory has an empty list",
		"methods: [er]\ntricks: [[], [rv]]":                  "s.yaml:6: tricks: an empty list is no value. Use none, as in [none, rv]",
		"methods: [er]\nmemory: [100, 100]":                  "s.yaml:6: memory: 100 is listed twice",
		"methods: [er, er]":                                  "s.yaml:5: methods: er is listed twice",
		"methods: [er]\nmemory: [100, x]":                    "s.yaml:6: memory: the value x is not possible. Use a whole number",
		"methods: [er]\nmemory: {a: 1}":                      "s.yaml:6: memory cannot be keys with values",
		"methods: [er]\noptimizer: {lr: [0.1, -1]}":          "s.yaml:6: optimizer.lr (--lr): -1 is out of range",
		"methods: [er, icarl]\ntricks: [none, ncm]":          "s.yaml:6: tricks (--trick): icarl",
		"methods: [er]\nexclude: [{methods: [mir]}]":         "s.yaml:6: this entry of exclude removes nothing",
		"methods: [er]\nexclude: [{methods: [er]}]":          "s.yaml:1: the study has no runs",
		"methods: [er]\ninclude: [{seed: 1}]":                "s.yaml:6: this entry of include adds no run",
		"include: [{memory: 100}]":                           "s.yaml:5: this entry of include names no methods",
		"include: [{methods: [er]}]\nexclude: [{memory: 1}]": "s.yaml:6: exclude removes runs of the methods at the top",
		"methods: [er]\ninclude: {seed: 1}":                  "s.yaml:6: include must be a list",
		"methods: [er]\ninclude: [3]":                        "s.yaml:6: an entry of include must hold keys",
		"methods: [er]\ntiming: 3":                           "s.yaml:6: timing cannot be 3",
		"methods: [er]\nversion: 1":                          "s.yaml:6: version is a key of configs",
		"methods: [er]\nmade: 3":                             "s.yaml:6: made is what ocl writes",
		"methods: [er]\nmade: {kernel: avx2}":                "`made` lacks",
		"methods: [er]\nruns: 10000\nmemory: [100, 200]":     "the study has about 20,000 runs, which is more than 10,000",
		"methods: [er]\nruns: 10000\nseeds: {order: [" + hundred +
			"]}": "at most 100,000 are possible. runs makes most of them",
		"methods: [er]\nmethod: {mir: {candidates: [50, no]}}":                    "method.mir.candidates: the value no is not possible",
		"methods: [er]\nruns: 0":                                                  "s.yaml:6: runs (--runs): 0 is out of range",
		"methods: [er]\nmemory: [5, 100]":                                         "s.yaml:6: memory: 5 is smaller than replay.batch",
		"methods: [er]\ninclude: [{optimizer: {lr: -3}}]":                         "s.yaml:6: optimizer.lr (--lr): -3 is out of range",
		"methods: [er]\ninclude: [{seed: 2}]\ninclude: [{seed: 3}]":               "s.yaml:7: include is given twice",
		"methods: [er]\nmemory: 100\nmemory: 200":                                 "s.yaml:7: memory is given twice",
		"methods: [er]\ndata: {name: cifar100}\nstream: {tasks: 20}\nnetwork: {}": "is given twice",
	} {
		_, err := Parse(t.Context(), "s.yaml", []byte(small+text), "", false)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\ngot  %v\nwant %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"study: 2\n":                       "s.yaml:1: a newer ocl wrote this study (version 2",
		"study: x\n":                       "s.yaml:1: study is x. It must be 1",
		"methods: [er]\nmemory: [1, 2]\n":  "if this is a study, in which keys may have lists of values, begin it with `study: 1`",
		"study: 1\n---\nstudy: 1\n":        "several YAML documents",
		"study: 1\ndata: {name: cifar100}": "no folder is given",
	} {
		if _, err := Parse(t.Context(), "s.yaml", []byte(text), "", false); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s:\ngot  %v\nwant %s", text, err, want)
		}
	}
	_, err := Parse(t.Context(), "s.yaml", []byte(small+"methods: [finetune]\nruns: 10000\noptimizer: {lr: [0.1, 0.2]}"),
		"", false)
	if !errors.Is(err, ErrTooMany) {
		t.Errorf("error %v, want ErrTooMany", err)
	}
	if testing.Short() {
		return // so many runs take seconds
	}
	if s, err := Parse(t.Context(), "s.yaml", []byte(small+"methods: [finetune]\nruns: 10000\noptimizer: {lr: [0.1, 0.2]}"),
		"", true); err != nil || s.Len() != 20000 {
		t.Errorf("error %v with --yes", err)
	}
}

// TestJobsAreThoseOfRun: the jobs of a study have the keys and folders that ocl run gives the same runs, each once,
// seed by seed and of a seed the longest first; what a folder has of a study is the same study.
func TestJobsAreThoseOfRun(t *testing.T) {
	ctx := context.Background()
	s, err := Parse(t.Context(), "s.yaml", []byte(small+"methods: [finetune, er]\nmemory: [20, 30]\nruns: 2\ninclude: [{methods: [er], seed: 1000, runs: 1, timing: true}]\n"),
		"", false)
	if err != nil {
		t.Fatal(err)
	}
	jobs, made, err := s.Open(ctx, experiment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(jobs) != 8 || !slices.IsSortedFunc(jobs[:6], func(a, b Job) int {
		return cmp.Or(cmp.Compare(a.Seed, b.Seed), cmp.Compare(b.FLOPs, a.FLOPs))
	}) || jobs[0].FLOPs <= jobs[2].FLOPs {
		t.Fatalf("%d jobs: %v", len(jobs), Entries(jobs))
	}
	for i, j := range jobs {
		if j.Timing != (i >= 6) {
			t.Errorf("job %d: timing %v; timed jobs are last", i, j.Timing)
		}
		x, err := experiment.Open(ctx, j.Run.Config, experiment.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if want := x.Jobs()[0]; want.Key != j.Key || want.Folder != j.Folder {
			t.Errorf("%s: %s in %s, want %s in %s", j, j.Key, j.Folder, want.Key, want.Folder)
		}
	}
	dir := filepath.Join(t.TempDir(), "study")
	if err := Make(dir, s, jobs, made); err != nil {
		t.Fatal(err)
	}
	again, err := Load(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if again.Made.Kernel == "" || again.Made.Data["glyphs, train_per_class 2, test_per_class 1"] == "" {
		t.Errorf("made %+v", again.Made)
	}
	same, _, err := again.Open(ctx, experiment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := ReadJobs(dir)
	if err != nil || !reflect.DeepEqual(entries, Entries(same)) || !reflect.DeepEqual(entries, Entries(jobs)) {
		t.Errorf("the list has %v (%v), want %v", entries, err, Entries(same))
	}
	if err := Join(dir, again, same); err != nil {
		t.Error(err)
	}

	// A seed may be added, and nothing may fall out.
	more, err := Parse(t.Context(), "s.yaml", []byte(small+"methods: [finetune, er]\nmemory: [20, 30]\nruns: 3\ninclude: [{methods: [er], seed: 1000, runs: 1, timing: true}]\n"),
		"", false)
	if err != nil {
		t.Fatal(err)
	}
	more.Made = again.Made
	grown, made, err := more.Open(ctx, experiment.Options{})
	if err == nil {
		err = Make(dir, more, grown, made)
	}
	if err != nil || len(grown) != 11 {
		t.Errorf("%d jobs, error %v", len(grown), err)
	}
	if err := Make(dir, s, jobs, made); err == nil ||
		!strings.Contains(err.Error(), "has 3 jobs that are not in the file") {
		t.Errorf("error %v of fewer jobs", err)
	}
	// Who has another list cannot join, and a damaged list is written anew.
	if err := Join(dir, again, same); err == nil || !strings.Contains(err.Error(), "would be another run here") {
		t.Errorf("error %v of another list", err)
	}
	path := filepath.Join(dir, jobsFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadJobs(dir); err == nil || !strings.Contains(err.Error(), "the line is damaged") {
		t.Errorf("error %v of a damaged list", err)
	}
	if err := Join(dir, more, grown); err != nil {
		t.Error(err)
	}
	if entries, err := ReadJobs(dir); err != nil || len(entries) != 11 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
}

// TestConfigBecomesAStudy: the folder of a study that was made of a config has the same jobs.
func TestConfigBecomesAStudy(t *testing.T) {
	ctx := context.Background()
	for _, head := range []string{"", fmt.Sprintf("version: %d\n", config.Version)} {
		text := head + strings.TrimPrefix(small, "study: 1\n") + "methods: [er, mir]\nmemory: 50\nruns: 2\n"
		s, err := Parse(t.Context(), "exp.yaml", []byte(text), "", false)
		if err != nil {
			t.Fatal(err)
		}
		jobs, made, err := s.Open(ctx, experiment.Options{})
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := Make(dir, s, jobs, made); err != nil {
			t.Fatal(err)
		}
		again, err := Load(t.Context(), dir, "")
		if err != nil {
			t.Fatal(err)
		}
		same, _, err := again.Open(ctx, experiment.Options{})
		if err != nil || !reflect.DeepEqual(Entries(jobs), Entries(same)) {
			t.Errorf("%q: %v (%v), want %v", head, Entries(same), err, Entries(jobs))
		}
	}
}

// TestOthersAreRefused: a program with other numbers, a machine with another engine and other data cannot add to a
// study.
func TestOthersAreRefused(t *testing.T) {
	s, err := Parse(t.Context(), "s.yaml", []byte(small+"methods: [er]\n"), "", false)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	_, made, err := s.Open(ctx, experiment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Made){
		"numbers version 1":                    func(m *Made) { m.Numbers = 1 },
		"was made with other data: glyphs, tr": func(m *Made) { m.Data = map[string]string{"glyphs, train_per_class 2, test_per_class 1": "sha256:0"} },
	} {
		s.Made = made
		change(&s.Made)
		if _, _, err := s.Open(ctx, experiment.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if (nn.Engine{Kernel: "avx2"}).Check() == nil { // on this machine, or in its place a set of the same bits
		names := map[string]string{}
		for _, name := range []string{"avx2", "neon"} {
			s.Made = made
			s.Made.Kernel = name
			jobs, again, err := s.Open(ctx, experiment.Options{})
			if err != nil || again.Kernel != name {
				t.Fatalf("a study of the %s kernels: made %+v, %v", name, again, err)
			}
			names[jobs[0].Key] = name
		}
		if len(names) != 1 {
			t.Errorf("kernels of the same bits have other jobs: %v", names)
		}
	}
	t.Setenv("OCL_KERNEL", "generic")
	s.Made = made
	if s.Made.Kernel == "generic" {
		t.Skip("this machine has the generic kernels alone")
	}
	if _, _, err := s.Open(ctx, experiment.Options{}); err == nil || !strings.Contains(err.Error(), "Unset OCL_KERNEL") {
		t.Errorf("error %v of another engine", err)
	}
}
