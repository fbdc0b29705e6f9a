package method_test

import (
	"slices"
	"strings"
	"testing"

	"ocl/internal/rng"
	"ocl/method"
	"ocl/nn/arch"
	"ocl/optim"
)

func TestCatalogueIsSortedAndWhole(t *testing.T) {
	all := method.Catalogue()
	if !slices.IsSortedFunc(all, func(a, b method.Info) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the catalogue is not sorted by name")
	}
	for _, info := range all {
		for field, text := range map[string]string{
			"Name": info.Name, "Title": info.Title, "Summary": info.Summary, "Idea": info.Idea, "Formula": info.Formula,
			"Citation": info.Citation, "CostPerStep": info.CostPerStep, "Expect": info.Expect,
		} {
			if text == "" {
				t.Errorf("%s: %s is empty", info.Name, field)
			}
		}
		if info.UsesMemory != slices.Contains(info.Settings, "memory") {
			t.Errorf("%s: uses memory: %v, but its settings are %v", info.Name, info.UsesMemory, info.Settings)
		}
		if info.TaskBoundaries != slices.Contains(info.Signals, "task boundaries") {
			t.Errorf("%s: task boundaries: %v, but its signals are %v", info.Name, info.TaskBoundaries, info.Signals)
		}
	}
}

func TestLookup(t *testing.T) {
	for _, name := range []string{"er", "finetune"} {
		if info, err := method.Lookup(name); err != nil || info.Name != name {
			t.Errorf("%s: found %q (%v)", name, info.Name, err)
		}
	}
	for word, near := range map[string]string{"fine-tune": "finetune", "err": "er", "ER": "er", "Finetuning": "finetune"} {
		if _, err := method.Lookup(word); err == nil || !strings.HasSuffix(err.Error(), "did you mean "+near+"?") {
			t.Errorf("%s: error %v, want one that suggests %s", word, err, near)
		}
	}
}

func TestCheckOptions(t *testing.T) {
	info := method.Info{Name: "x", Options: []method.Option{{Name: "candidates", Default: 50, Range: "1 or more"}, {Name: "subset", Default: "batch"}}}
	for _, c := range []struct {
		options map[string]any
		want    string // part of the error; "" is none
	}{
		{nil, ""},
		{map[string]any{"candidates": 20, "subset": "sample"}, ""},
		{map[string]any{"candidate": 20}, "did you mean candidates?"},
		{map[string]any{"candidates": "20"}, "want int, 1 or more"},
		{map[string]any{"candidates": nil}, "want int"},
	} {
		err := info.CheckOptions(c.options)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want %q", c.options, err, c.want)
		}
	}
	er, _ := method.Lookup("er")
	if err := er.CheckOptions(map[string]any{"candidates": 50}); err == nil || !strings.Contains(err.Error(), "no options of its own") {
		t.Errorf("er with candidates: error %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	net, err := arch.MLP(arch.Config{Channels: 1, Height: 2, Width: 2, Classes: 3, Hidden: []int{4}}, rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	ws := net.NewWorkspace(1)
	defer ws.Close()
	good := method.Setup{
		Net: net, WS: ws, Opt: optim.NewSGD(optim.SGD{LR: 0.1}), Memory: 5, ReplayBatch: 2, Iterations: 1,
		Shape: [3]int{1, 2, 2}, Classes: 3, Seed: 1,
	}
	for _, info := range method.Catalogue() {
		if _, err := info.New(good); err != nil {
			t.Errorf("%s: %v", info.Name, err)
		}
		for key, change := range map[string]func(*method.Setup){
			"memory":            func(s *method.Setup) { s.Memory = -1 },
			"replay.batch":      func(s *method.Setup) { s.ReplayBatch = 0 },
			"replay.iterations": func(s *method.Setup) { s.Iterations = 0 },
			"option":            func(s *method.Setup) { s.Options = map[string]any{"no-such": 1} },
		} {
			bad := good
			change(&bad)
			if _, err := info.New(bad); err == nil || !strings.Contains(err.Error(), info.Name+": ") || !strings.Contains(err.Error(), key) {
				t.Errorf("%s: bad %s: error %v, want one that names the method and the key", info.Name, key, err)
			}
		}
	}
}
