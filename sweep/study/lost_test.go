package study_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"ocl/config"
	"ocl/nn/safetensors"
	"ocl/run/experiment"
	"ocl/run/trained"
	"ocl/sweep/study"
)

// sheet is the text of a study with keys such as optimizer.lr.
func sheet(t *testing.T, keys map[string]any) string {
	t.Helper()
	tree := map[string]any{"study": 1}
	for name, v := range keys {
		at, path := tree, strings.Split(name, ".")
		for _, section := range path[:len(path)-1] {
			if at[section] == nil {
				at[section] = map[string]any{}
			}
			at = at[section].(map[string]any)
		}
		at[path[len(path)-1]] = v
	}
	text, err := yaml.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// list is several values of a key.
type list []any

// tiny are the keys of a study whose runs take a part of a second.
var tiny = map[string]any{"methods": list{"er"}, "memory": 50, "data.train_per_class": 6, "data.test_per_class": 1,
	"stream.tasks": 5, "network.name": "mlp", "network.hidden": list{8}}

// opened are the jobs of a study.
func opened(t *testing.T, text string) (*study.Study, []study.Job) {
	t.Helper()
	s, err := study.Parse(t.Context(), "s.yaml", []byte(text), "", false)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	jobs, _, err := s.Open(t.Context(), experiment.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s, jobs
}

// TestEveryKeyMakesJobs: two values of any key are two jobs, but for keys that say where and not what.
func TestEveryKeyMakesJobs(t *testing.T) {
	grids := t.TempDir()
	grid := func(name, text string) string {
		path := filepath.Join(grids, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	counts := func(first int) (all list) {
		for range 100 {
			all = append(all, 5)
		}
		all[0] = first
		return all
	}
	rising := func(by float64) (all list) {
		for i := range 10 {
			all = append(all, by*float64(i))
		}
		return all
	}
	shifted := func(kind string) map[string]any {
		return map[string]any{"stream.kind": "shift", "stream.shift.kind": kind, "stream.tasks": 10}
	}
	tuned := map[string]any{"protocol": "survey", "tune.grid": grid("a.yaml", "optimizer.lr: [0.1, 0.01]\n")}
	random := map[string]any{"protocol": "survey", "tune.grid": tuned["tune.grid"], "tune.search": "random",
		"tune.points": 2}
	files := map[string]any{"data.name": "folder", "data.dir": t.TempDir(), "data.train_per_class": 0,
		"data.test_per_class": 0}
	type values struct {
		values  list
		with    map[string]any
		unready bool // it needs files that are not at hand, so the runs are counted before the data are open
	}
	cases := map[string]values{
		"data.name": {values: list{"folder", "csv"}, with: files, unready: true}, "data.size": {values: list{16, 24}},
		"data.channels":        {values: list{0, 3}, with: files, unready: true},
		"data.train_per_class": {values: list{6, 7}}, "data.test_per_class": {values: list{1, 2}},
		"data.domains": {values: list{"noise", "rotation"},
			with: map[string]any{"stream.kind": "domains", "stream.tasks": 2}}, "data.seed": {values: list{0, 1}},
		"data.unreadable": {values: list{"fail", "skip"}, with: files, unready: true},
		"data.reading":    {values: list{"", "folders"}, with: files, unready: true},
		"stream.kind":     {values: list{"classes", "domains"}}, "stream.tasks": {values: list{5, 10}},
		"stream.batch": {values: list{5, 10}}, "stream.class_order": {values: list{"random", "given"}},
		"stream.task_classes": {values: list{list{40, 60}, list{60, 40}}, with: map[string]any{"stream.tasks": 2}},
		"stream.task_signals": {values: list{true, false}},
		"stream.blurry":       {values: list{0, 0.1}}, "stream.long_tail": {values: list{0.5, 0.6}},
		"stream.class_counts": {values: list{counts(3), counts(4)}},
		"stream.shift.kind": {values: list{"noise", "blur"},
			with: map[string]any{"stream.kind": "shift", "stream.tasks": 10}},
		"stream.shift.noise_strengths":     {values: list{rising(1), rising(2)}, with: shifted("noise")},
		"stream.shift.occlusion_strengths": {values: list{rising(0.05), rising(0.06)}, with: shifted("occlusion")},
		"stream.shift.blur_strengths":      {values: list{rising(0.1), rising(0.2)}, with: shifted("blur")},
		"stream.shift.occlusion":           {values: list{"per-task", "per-image"}, with: shifted("occlusion")},
		"stream.shift.blur":                {values: list{"per-image", "cross-image"}, with: shifted("blur")},
		"stream.held_out":                  {values: list{true, false}}, "stream.drop_last": {values: list{true, false}},
		"stream.mean": {values: list{list{0.5, 0.5, 0.5}, list{0.4, 0.4, 0.4}},
			with: map[string]any{"stream.std": list{1, 1, 1}}},
		"stream.iblurry.disjoint": {values: list{20, 50}, with: map[string]any{"stream.kind": "iblurry"}},
		"stream.iblurry.blurry":   {values: list{20, 50}, with: map[string]any{"stream.kind": "siblurry"}},
		"stream.delay":            {values: list{1, 2}}, "stream.label_delay": {values: list{0, 1}},
		"stream.std": {values: list{list{0.5, 0.5, 0.5}, list{0.4, 0.4, 0.4}},
			with: map[string]any{"stream.mean": list{0, 0, 0}}}, "methods": {values: list{"er", "mir"}},
		"tricks": {values: list{"none", "lb"}}, "memory": {values: list{50, 60}},
		"memory_bytes": {values: list{400_000, 500_000}, with: map[string]any{"memory": 500}},
		"classifiers":  {values: list{list{"head"}, list{"head", "ncm"}}}, "replay.batch": {values: list{5, 10}},
		"replay.passes":     {values: list{6, 12}},
		"replay.iterations": {values: list{1, 2}}, "replay.joint": {values: list{true, false}},
		"replay.augment":  {values: list{true, false}},
		"replay.teacher":  {values: list{"evaluation", "training"}, with: map[string]any{"tricks": list{"kdc"}}},
		"replay.kdc_star": {values: list{"text", "authors"}, with: map[string]any{"tricks": list{"kdc*"}}},
		"replay.update":   {values: list{"reservoir", "greedy"}},
		"replay.from":     {values: list{"both", "memory"}},
		"network.name":    {values: list{"mlp", "resnet18"}, with: map[string]any{"network.width": 1}},
		"network.width":   {values: list{1, 2}, with: map[string]any{"network.name": "resnet18"}},
		"network.hidden":  {values: list{list{8}, list{9}}}, "network.head": {values: list{"linear", "cosine"}},
		"network.freeze":     {values: list{1, 2}, with: map[string]any{"network.name": "resnet18", "network.width": 1}},
		"replay.latent":      {values: list{true, false}, with: map[string]any{"network.freeze": 1}},
		"replay.latent_bits": {values: list{8, 16}, with: map[string]any{"network.freeze": 1, "replay.latent": true}},
		"optimizer.name":     {values: list{"sgd", "adam"}}, "optimizer.lr": {values: list{0.1, 0.2}},
		"optimizer.weight_decay": {values: list{0, 0.1}},
		"optimizer.momentum":     {values: list{0, 0.9}}, "protocol": {values: list{"standard", "survey"}},
		"eval": {values: list{"seen", "final"}}, "eval_every": {values: list{5, 10}},
		"eval_sample": {values: list{1, 2}, with: map[string]any{"eval_every": 5}},
		"eval_online": {values: list{false, true}}, "eval_ahead": {values: list{0, 3}},
		"eval_probe": {values: list{0, 2}},
		"seed":       {values: list{0, 7}}, "seeds.order": {values: list{0, 2}}, "seeds.init": {values: list{0, 2}},
		"seeds.memory": {values: list{0, 2}}, "runs": {values: list{1, 2}},
		"engine.kernel": {values: list{"generic", ""}},
		"engine.convolution": {values: list{"direct", "winograd"},
			with: map[string]any{"network.name": "resnet18", "network.width": 1}},
		"tune.grid":   {values: list{tuned["tune.grid"], grid("b.yaml", "optimizer.lr: [0.1]\n")}, with: tuned},
		"tune.search": {values: list{"grid", "halving"}, with: tuned},
		"tune.by":     {values: list{"average_accuracy", "average_forgetting"}, with: tuned},
		"tune.points": {values: list{2, 3}, with: random}, "tune.repeats": {values: list{1, 2}, with: tuned},
		"tune.seed": {values: list{0, 9}, with: tuned},
	}
	tested := map[string]string{ // of the other keys
		"data.dir": "it says where the images lie", "network.init": "TestStartsAreJobs",
		"network.init_digest": "the file has one digest", "parent.run": "TestStartsAreJobs",
		"parent.checkpoint": "the parent has one newest checkpoint", "data.backbone": "it says where the network lies",
		"data.backbone_digest": "the digest of the data is a function of it",
	}
	for _, k := range config.Keys() {
		c, there := cases[k.Name]
		if !there {
			if tested[k.Name] == "" {
				t.Errorf("%s: the test has no values of this key", k.Name)
			}
			continue
		}
		keys := maps.Clone(tiny)
		maps.Copy(keys, c.with)
		keys[k.Name] = c.values
		s, err := study.Parse(t.Context(), "s.yaml", []byte(sheet(t, keys)), "", false)
		if err != nil || s.Len() != 2 {
			t.Errorf("%s: %v; want 2 runs", k.Name, err)
			continue
		}
		if c.unready {
			continue
		}
		if jobs, _, err := s.Open(t.Context(), experiment.Options{}); err != nil || len(jobs) != 2 || len(s.Notes) > 0 {
			t.Errorf("%s: %d jobs, %q, %v; want 2", k.Name, len(jobs), s.Notes, err)
		}
	}
}

// TestSeedsOfTheirOwn: a separate seed of 0 is another run than none, but where the run's own seed is 0, which is said
// once.
func TestSeedsOfTheirOwn(t *testing.T) {
	keys := maps.Clone(tiny)
	keys["seed"], keys["include"] = list{0, 1, 3}, list{map[string]any{"seeds": map[string]any{"order": 0}}}
	s, jobs := opened(t, sheet(t, keys))
	if s.Len() != 6 || len(jobs) != 5 || len(s.Notes) != 1 ||
		!strings.Contains(s.Notes[0], "has 1 run more than once, such as er m50 s0, with other words") {
		t.Errorf("%d runs have %d jobs, and it says %q; want 6 and 5", s.Len(), len(jobs), s.Notes)
	}
	if entries := study.Entries(jobs); len(entries) == 5 {
		seeds := map[uint64]int{}
		for _, e := range entries {
			seeds[e.Seed]++
		}
		if !maps.Equal(seeds, map[uint64]int{0: 1, 1: 2, 3: 2}) {
			t.Errorf("jobs by seed: %v", seeds)
		}
	}
}

// TestStartsAreJobs: runs that start from different weights, or go on from different runs, are different jobs.
func TestStartsAreJobs(t *testing.T) {
	dir := t.TempDir()
	var folders, weights list
	for _, lr := range []float64{0.1, 0.01} {
		keys := maps.Clone(tiny)
		keys["optimizer.lr"], keys["stream.tasks"], keys["stream.class_order"] = lr, 5, "given"
		_, jobs := opened(t, sheet(t, keys))
		at := experiment.RunIn{Folder: filepath.Join(dir, jobs[0].Folder), Workers: 1}
		x, err := jobs[0].Experiment.With(jobs[0].Run.Config, experiment.Options{KeepCheckpoint: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.RunJob(t.Context(), x.Jobs()[0], at); err != nil {
			t.Fatal(err)
		}
		trained, err := trained.Open(t.Context(), at.Folder, trained.Options{})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, jobs[0].Folder+".safetensors")
		tensors, about, err := trained.Weights(t.Context(), "test")
		if err != nil {
			t.Fatal(err)
		}
		trained.Close()
		f, err := os.Create(path)
		if err == nil {
			err = errors.Join(safetensors.Write(f, tensors, about), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		folders, weights = append(folders, at.Folder), append(weights, path)
	}
	for key, values := range map[string]list{"network.init": weights, "parent.run": folders} {
		keys := maps.Clone(tiny)
		keys["stream.class_order"], keys[key] = "given", values
		s, jobs := opened(t, sheet(t, keys))
		if s.Len() != 2 || len(jobs) != 2 || len(s.Notes) > 0 {
			t.Errorf("%s: %d runs have %d jobs (%q), want 2", key, s.Len(), len(jobs), s.Notes)
			continue
		}
		if a, b := jobs[0].Run.Identity.Learned().String(), jobs[1].Run.Identity.Learned().String(); a == b {
			t.Errorf("%s: both jobs have learned\n%s", key, a)
		}
	}
	// Weights under two names are the same run.
	twin := filepath.Join(dir, "twin.safetensors")
	text, err := os.ReadFile(weights[0].(string))
	if err == nil {
		err = os.WriteFile(twin, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	keys := maps.Clone(tiny)
	keys["stream.class_order"], keys["network.init"] = "given", list{weights[0], twin}
	if s, jobs := opened(t, sheet(t, keys)); len(jobs) != 1 || len(s.Notes) != 1 {
		t.Errorf("the same weights under two names are %d jobs, and it says %q; want 1", len(jobs), s.Notes)
	}
}
