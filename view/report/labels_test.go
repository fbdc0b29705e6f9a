package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl/config"
	"ocl/run/result"
)

// labelled are the full labels of a report's rows. Of the methods, er and mir read keys of replay.
func labelled(results ...*result.Result) (labels []string) {
	var schema config.Schema
	for _, name := range []string{"er", "mir"} {
		m := config.Method{Name: name}
		for _, k := range config.Keys() {
			if strings.HasPrefix(k.Name, "replay.") {
				m.Settings = append(m.Settings, k.Name)
			}
		}
		schema.Methods = append(schema.Methods, m)
	}
	var runs []*run
	for _, r := range results {
		runs = append(runs, newRun(r, ""))
	}
	for _, g := range newStudy(runs, nil, methods, &schema).rows {
		labels = append(labels, g.full())
	}
	return labels
}

// TestEveryRowSaysInWhatItDiffers: a row has the settings in which any other row of its stream differs, also one of
// another method or memory, but none that its method does not read.
func TestEveryRowSaysInWhatItDiffers(t *testing.T) {
	small := func(method, title string, memory int, change func(*result.Result)) *result.Result {
		r := (fake{method: method, title: title, memory: memory, seed: 1, tasks: 2, perTask: 2, level: 0.5,
			decay: 0.5}).make()
		if change != nil {
			change(r)
		}
		return r
	}
	lr := func(v float64) func(*result.Result) { return func(r *result.Result) { r.Config.Optimizer.LR = v } }
	seven := uint64(7)
	for name, c := range map[string]struct {
		results []*result.Result
		want    []string
	}{
		"other methods": {
			[]*result.Result{small("finetune", "Finetune", -1, nil), small("er", "ER", 10, lr(0.05))},
			[]string{"ER, memory 10, lr 0.05", "Finetune, lr 0.1"},
		},
		"other memories": {
			[]*result.Result{small("er", "ER", 10, nil), small("er", "ER", 20, lr(0.05))},
			[]string{"ER, memory 10, lr 0.1", "ER, memory 20, lr 0.05"},
		},
		"what a method does not read": {
			[]*result.Result{small("finetune", "Finetune", -1, nil), small("er", "ER", 10, nil),
				small("mir", "MIR", 10, func(r *result.Result) { r.Config.Replay.Batch = 20 })},
			[]string{"ER, memory 10, replay batch 10", "MIR, memory 10, replay batch 20", "Finetune"},
		},
		"another network and optimiser": {
			[]*result.Result{small("er", "ER", 10, func(r *result.Result) {
				r.Config.Network.Width, r.Config.Optimizer.Momentum = 4, 0.9
			}),
				small("er", "ER", 20, func(r *result.Result) { r.Config.Network.Name, r.Config.Optimizer.Name = "mlp", "adam" })},
			[]string{"ER, memory 10, network resnet18, optimizer sgd", "ER, memory 20, network mlp, optimizer adam"},
		},
		"an option of one method": {
			[]*result.Result{small("er", "ER", 10, nil),
				small("mir", "MIR", 10,
					func(r *result.Result) { r.Config.Method = map[string]map[string]any{"mir": {"candidates": 5}} }),
				small("mir", "MIR", 20, nil)},
			[]string{"ER, memory 10", "MIR, memory 10, candidates 5", "MIR, memory 20, candidates not recorded"},
		},
		"a value that is not set": {
			[]*result.Result{small("er", "ER", 10, nil),
				small("er", "ER", 10, func(r *result.Result) { r.Config.Seeds.Init = &seven })},
			[]string{"ER, memory 10, seeds init: the run's seed", "ER, memory 10, seeds init 7"},
		},
		"an evaluation, which changes no accuracy": {
			[]*result.Result{small("er", "ER", 10, nil),
				small("mir", "MIR", 10, func(r *result.Result) { r.Config.Eval = "final" })},
			[]string{"ER, memory 10", "MIR, memory 10"},
		},
	} {
		if d := cmp.Diff(c.want, labelled(c.results...)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestFiguresSayLess: the legend of a figure has no room for what the methods tell apart already.
func TestFiguresSayLess(t *testing.T) {
	ft := fake{method: "finetune", title: "Finetune", memory: -1, seed: 1, level: 0.3, decay: 0.3}
	er := fake{method: "er", title: "ER", memory: 500, seed: 1, level: 0.6, decay: 0.8, lr: 0.5}
	slow := er
	slow.lr = 0.05
	short := func(fakes ...fake) (names []string) {
		var runs []*run
		for _, f := range fakes {
			runs = append(runs, newRun(f.make(), ""))
		}
		for _, g := range studyOf(runs, nil).rows {
			names = append(names, g.Short)
		}
		return names
	}
	if d := cmp.Diff([]string{"ER", "Finetune"}, short(ft, er)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"ER, lr 0.5", "ER, lr 0.05", "Finetune"}, short(ft, er, slow)); d != "" {
		t.Error(d)
	}
}

// TestFilesSayInWhatRowsDiffer: the name of a figure's file has what its row's label has.
func TestFilesSayInWhatRowsDiffer(t *testing.T) {
	er := fake{method: "er", title: "ER", memory: 500, seed: 1, level: 0.6, decay: 0.8}
	fast := er
	fast.lr = 0.5
	var slugs []string
	for _, g := range studyOf([]*run{newRun(er.make(), ""), newRun(fast.make(), "")}, nil).rows {
		slugs = append(slugs, g.slug)
	}
	if d := cmp.Diff([]string{"er-m500-lr-0.1", "er-m500-lr-0.5"}, slugs); d != "" {
		t.Errorf("names (-want +got):\n%s", d)
	}
}
