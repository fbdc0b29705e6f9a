package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl"
	"ocl/config"
	"ocl/nn/tensor"
	"ocl/run/build"
	"ocl/run/result"
	"ocl/run/trained"
)

// tiny is an experiment of 5 tasks of 12 steps for each of four runs, on 8×8 glyphs and a small perceptron.
func tiny() config.Config {
	c := config.Default()
	c.Data = config.Data{Name: "glyphs", Size: 8, TrainPerClass: 6, TestPerClass: 2}
	c.Stream.Tasks = 5
	c.Memory = 30
	c.Network = config.Network{Name: build.MLP, Width: 20, Hidden: []int{16}}
	c.Runs = 2
	return c
}

// one is an experiment of one run of a method.
func one(method string) config.Config {
	c := tiny()
	c.Methods, c.Runs = []string{method}, 1
	if build.Method(method).OwnNetworks {
		withExperts(&c)
	}
	switch method { // the work of a sample grows with the square of its features
	case "ranpac":
		c.Method = map[string]map[string]any{method: {"projection": 60}}
	case "randumb":
		c.Method = map[string]map[string]any{method: {"features": 60}}
	}
	return c
}

// withExperts gives a config experts that are trained within a test, of the smallest images that they take.
func withExperts(c *config.Config) {
	c.Data.Size, c.Data.TestPerClass = 12, 1
	c.Network = config.Default().Network
	c.Method = map[string]map[string]any{"cndpm": {
		"sleep_vae_steps": 3, "sleep_classifier_steps": 2, "sleep_batch": 5, "z_samples": 2, "z_dim": 4, "vae_features": 4,
		"vae_growth":          2,
		"classifier_features": 4, "classifier_growth": 2, "log_alpha": 1.0,
	}}
}

// mustOpen opens an experiment.
func mustOpen(t *testing.T, c config.Config, o Options) *Experiment {
	t.Helper()
	x, err := Open(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func jobsOf(t *testing.T, c config.Config) []Job {
	t.Helper()
	return mustOpen(t, c, Options{}).Jobs()
}

// plansOf are the plans of all jobs.
func plansOf(t *testing.T, c config.Config) []Plan {
	t.Helper()
	x := mustOpen(t, c, Options{})
	var plans []Plan
	for _, j := range x.Jobs() {
		p, err := x.Plan(j)
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, p)
	}
	return plans
}

// Resume opens an experiment in a folder to continue it, and runs it.
func Resume(ctx context.Context, dir string, o Options) ([]*result.Result, error) {
	x, err := OpenResumed(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	return x.Run(ctx)
}

// predict predicts by the first classifier of a trained run.
func predict(t testing.TB, m *trained.Model, dst []ocl.Label, x *tensor.Tensor) {
	t.Helper()
	if _, err := m.Classifiers.Predict(m.Learner, x); err != nil {
		t.Fatal(err)
	}
	copy(dst, m.Classifiers.Labels[0])
}

func mustRun(t *testing.T, c config.Config, o Options) []*result.Result {
	t.Helper()
	results, err := Run(context.Background(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// comparable are results as text without what may differ between equal runs (docs/format/result.md).
func comparable(t *testing.T, results []*result.Result) []string {
	t.Helper()
	var texts []string
	for _, r := range results {
		c := *r
		c.Seconds, c.Resources.PeakResidentBytes = result.Seconds{}, 0
		p := c.Provenance
		c.Provenance = result.Provenance{Numbers: p.Numbers, Kernel: p.Kernel, Convolution: p.Convolution,
			DataDigest: p.DataDigest}
		b, err := json.MarshalIndent(c, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(b))
	}
	return texts
}

var eventTime = regexp.MustCompile(`"time":"[^"]*"`)

// eventsOf is the events.jsonl of a run without its times.
func eventsOf(t *testing.T, folder string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	return eventTime.ReplaceAllString(string(text), `"time":""`)
}

// filesOf reads result.json and events.jsonl of every run, without what may differ between equal runs.
func filesOf(t *testing.T, out string, c config.Config) []string {
	t.Helper()
	var texts []string
	for _, j := range jobsOf(t, c) {
		r, err := result.Read(filepath.Join(out, j.Folder, ResultFile))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, j.Folder, comparable(t, []*result.Result{r})[0], eventsOf(t, filepath.Join(out, j.Folder)))
	}
	return texts
}

// listed is the names of the files below a folder, with the digits of keys replaced.
func listed(t *testing.T, out string) []string {
	t.Helper()
	names := map[string]bool{}
	for path := range tree(t, out) {
		rel, err := filepath.Rel(out, path)
		if err != nil {
			t.Fatal(err)
		}
		names[keyInName.ReplaceAllString(filepath.ToSlash(rel), "$1-KEY")] = true
	}
	var all []string
	for name := range names {
		all = append(all, name)
	}
	return all
}

var keyInName = regexp.MustCompile(`(-s[0-9]+)-[0-9a-f]{8}`)

// hooksFor makes options of hooks.
func (o Options) savingEvery(steps int) Options {
	o.hooks.checkpointSteps = steps
	return o
}

func lines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

// resumes checks that the run of a config ends in the same files if it is interrupted after 29 steps and resumed.
func resumes(t *testing.T, c config.Config) {
	t.Helper()
	want, out := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "x")
	mustRun(t, c, Options{Out: want})
	ctx, o := stopAfter(29, Options{Out: out})
	if _, err := Run(ctx, c, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: error %v", err)
	}
	if _, err := Resume(t.Context(), out, Options{}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(filesOf(t, want, c), filesOf(t, out, c)); d != "" {
		t.Errorf("resumed: %s", d)
	}
}
