package method_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	"ocl"
	"ocl/learn/learner/learnertest"
	"ocl/learn/method"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/rng"
)

// build makes a learner of the catalogue on a small network; change may alter the setup.
func build(name string, network arch.Config, change func(*method.Setup)) func(*testing.T, uint64) ocl.Learner {
	return func(t *testing.T, seed uint64) ocl.Learner {
		t.Helper()
		return construct(t, name, network, 0, seed, change)
	}
}

// heir is build for a network of other numbers of classes, which inherits from that of network.
func heir(name string, network arch.Config, change func(*method.Setup)) func(*testing.T, uint64, int) ocl.Learner {
	return func(t *testing.T, seed uint64, classes int) ocl.Learner {
		t.Helper()
		from := network.Classes
		network := network
		network.Classes = classes
		return construct(t, name, network, from, seed, change)
	}
}

// construct makes a learner whose network inherits from one of so many classes, or from none.
func construct(t *testing.T, name string, network arch.Config, inherited int, seed uint64,
	change func(*method.Setup)) ocl.Learner {
	t.Helper()
	info, err := method.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	if info.Solves != nil {
		s := method.Setup{Options: maps.Clone(options[name])}
		if change != nil {
			change(&s)
		}
		of := info.Solves(s)
		network.NF, network.Hidden, network.Waves = 0, of.Hidden, of.Waves
	}
	setup := func() method.Setup {
		src := rng.New(seed, "network/init")
		var net *nn.Network
		switch {
		case network.NF > 0:
			net, err = arch.ResNet18(network, src)
		case network.Hidden != nil:
			net, err = arch.MLP(network, src)
		default:
			net, err = arch.Linear(network, src)
		}
		if err != nil {
			t.Fatal(err)
		}
		if inherited > 0 {
			net.Inherit(inherited)
		}
		ws := net.NewWorkspace(1)
		t.Cleanup(ws.Close)
		s := method.Setup{
			Net: net, WS: ws, Opt: optim.SGD{LR: 0.1, Momentum: 0.5},
			Memory: 12, ReplayBatch: 4, Iterations: 1,
			Shape: [3]int{network.Channels, network.Height, network.Width}, Classes: network.Classes, Seed: seed, InitSeed: seed,
		}
		s.Options = maps.Clone(options[name])
		if name == "gdumb" && network.NF == 0 && network.Hidden == nil {
			s.Options["epochs"] = 1 // a head alone learns the few classes in two
		}
		if change != nil {
			change(&s)
		}
		return s
	}
	s := setup()
	if info.Head != nil { // which depends on options
		network.Head = info.Head(s)
		s = setup()
	}
	l, err := info.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// changes is, for each key of the config that a method may say it reads, another value.
var changes = map[string]func(*method.Setup){
	"memory":            func(s *method.Setup) { s.Memory = 3 },
	"replay.batch":      func(s *method.Setup) { s.ReplayBatch = 7 },
	"replay.iterations": func(s *method.Setup) { s.Iterations = 2 },
	"replay.joint":      func(s *method.Setup) { s.Joint = true },
	"replay.teacher":    func(s *method.Setup) { s.Training = true },
	"replay.kdc_star":   func(s *method.Setup) { s.Undistilled = true },
	"replay.augment":    func(s *method.Setup) { s.Augment = true },
	"replay.update":     func(s *method.Setup) { s.Update = "greedy" },
	"replay.from":       func(s *method.Setup) { s.MemoryAlone = true },
}

// options are those that the contract's few batches need to differ from their defaults, by method.
var options = map[string]map[string]any{
	"ewc++":  {"every": 1, "lambda": 10.0},
	"gss":    {"gate": "sample"},         // the other gate and the other subset are compared with it
	"gdumb":  {"epochs": 12, "batch": 5}, // 30 learn the few classes whatever the rest
	"cndpm":  tiny,
	"ranpac": {"projection": 11, "ridge": 1.0}, "randumb": {"features": 11},
}

// tiny are experts that are trained within a test: a sleep of seven steps.
var tiny = map[string]any{
	"sleep_vae_steps": 4, "sleep_classifier_steps": 3, "sleep_batch": 6, "z_samples": 2, "z_dim": 5, "vae_features": 5,
	"vae_growth":          2,
	"classifier_features": 4, "classifier_growth": 2, "log_alpha": 0.0,
}

// others are values of options that differ from their defaults in what a few batches show. Without one here, the
// contract finds another value itself ([other]).
var others = map[string]map[string]any{
	"cndpm": {
		"log_alpha": 1e6, "classifier_chill": 0.5, "sleep_vae_steps": 9, "sleep_classifier_steps": 9, "sleep_batch": 11,
		"z_samples": 3, "z_dim": 7,
		"l2": 0.5, "clip": 1e-3, "wake_rate": 5.0, "classifier_rate": 3.0, "vae_log_variance": -2.0, "vae_features": 7,
		"vae_growth":          3,
		"classifier_features": 7, "classifier_growth": 3, "classifier_blocks": 2,
	},
	"ewc++":  {"every": 2, "lambda": 1.0, "alpha": 0.5, "raw": true},
	"gdumb":  {"epochs": 3, "batch": 12, "clip": 0.1, "preset": "original", "update": "reservoir"},
	"gss":    {"subset_size": 2, "subset": "sample", "gate": "batch"},
	"agem":   {"reference": "plain"},
	"aser":   {"k": 1},
	"lwf":    {"mc": true},
	"ranpac": {"projection": 3, "ridge": 1e6, "solver": "recursive"},
	"mir":    {"candidates": 5, "statistics": "moved"},
}

// other is another value of an option of a method.
func other(name string, o method.Option) any {
	if value, ok := others[name][o.Name]; ok {
		return value
	}
	var values []any
	switch v := o.Default.(type) {
	case bool:
		return !v
	case string:
		for _, choice := range o.Choices {
			values = append(values, choice)
		}
	case int:
		values = []any{2*v + 1, v - 1, v + 1}
	case float64:
		values = []any{2*v + 1, v / 2, v + 0.5}
	}
	for _, value := range values {
		if value != o.Default && o.Holds(value) {
			return value
		}
	}
	panic("the contract finds no other value of the option " + o.Name + " of " + name + ". Add one to others")
}

// expertImages are the smallest images that experts take.
var expertImages = arch.Config{Channels: 3, Height: 12, Width: 12, Classes: 6, Hidden: []int{4}}

// with changes an option.
func with(name string, value any) func(*method.Setup) {
	return func(s *method.Setup) {
		if s.Options == nil {
			s.Options = map[string]any{}
		}
		s.Options[name] = value
	}
}

// TestContract runs every method of the catalogue, with every setting and option it declares, on a perceptron, and on a
// head alone, and those that use every kind of pass on a residual network too.
func TestContract(t *testing.T) {
	networks := map[string]arch.Config{
		"mlp":      {Channels: 3, Height: 5, Width: 4, Classes: 6, Hidden: []int{16}},
		"resnet18": {Channels: 3, Height: 32, Width: 32, Classes: 6, NF: 2},
		"linear":   {Channels: 3, Height: 5, Width: 4, Classes: 6},
	}
	for _, info := range method.Catalogue() {
		for name, network := range networks {
			if info.OwnNetworks {
				if name != "mlp" {
					continue // it has networks of its own
				}
				name, network = "experts", expertImages
			}
			if info.Solves != nil && name != "linear" {
				continue // it computes its own
			}
			if network.NF > 0 && !slices.Contains([]string{"agem", "er", "gss", "icarl", "mir"}, info.Name) {
				continue // these five use every kind of pass
			}
			t.Run(info.Name+"/"+name, func(t *testing.T) {
				c := learnertest.Case{
					Shape: [3]int{network.Channels, network.Height, network.Width}, Classes: network.Classes,
					New: build(info.Name, network, nil), Heir: heir(info.Name, network, nil),
					Vary: map[string]func(*testing.T, uint64) ocl.Learner{},
				}
				// those need some batches a task, gss a full memory
				if network.NF > 0 && !info.TaskBoundaries && info.Name != "gss" {
					c.Steps = 4 // plain Go takes its time
				}
				if info.Name == "mir" && network.NF > 0 {
					c.Steps = 8 // running statistics must reach a prediction
				}
				if info.UsesMemory {
					c.Capacity = 12
				}
				c.Drawless = info.Name == "ncm" || info.Name == "slda"
				if info.Name == "clib" || info.Name == "aser" {
					c.Steps = 14 // the rate of clib changes after ten, and the memory of aser is full after three
				}
				if info.OwnNetworks {
					c.Steps, c.Late = 10, true // for two experts
				}
				for _, key := range info.Settings {
					change, ok := changes[key]
					if !ok {
						t.Fatalf("setting %s: the contract test does not know how to change it", key)
					}
					if key == "replay.teacher" && network.NF == 0 {
						continue // it is a mode of batch norm, which the MLP has not
					}
					if key == "memory" && info.OwnNetworks {
						change = func(s *method.Setup) { s.Memory = 8 } // at least sleep_batch
					}
					c.Vary[key] = build(info.Name, network, change)
				}
				for _, o := range info.Options {
					switch {
					case info.Offline:
						continue // a stream reads them (experiment.TestOfflineOptions)
					case c.Drawless:
						continue // they tell the few images apart with any value (learner.TestComputedOptions)
					case info.Name == "ranpac" && o.Name == "solver":
						continue // both ways lead to one solution (learner.TestRanPACSolvers)
					case info.Name == "mir" && o.Name == "statistics" && network.NF == 0:
						continue // they are those of batch norm, which the MLP has not
					case info.Name == "agem" && o.Name == "reference":
						continue // it needs a trick that distils (TestTrickContract)
					}
					c.Vary[o.Name] = build(info.Name, network, with(o.Name, other(info.Name, o)))
				}
				learnertest.Run(t, c)
			})
		}
	}
}

// TestAugmentedContract runs every method that augments with augmentation, whose draws are part of its state.
func TestAugmentedContract(t *testing.T) {
	network := perceptron
	for _, info := range method.Catalogue() {
		if slices.Contains(info.Settings, "replay.augment") {
			t.Run(info.Name, func(t *testing.T) {
				c := learnertest.Case{Shape: [3]int{3, 5, 4}, Classes: 6, New: build(info.Name, network, changes["replay.augment"]),
					Heir: heir(info.Name, network, changes["replay.augment"])}
				if info.UsesMemory {
					c.Capacity = 12
				}
				learnertest.Run(t, c)
			})
		}
	}
}

// TestTrickContract runs every method with every trick that it takes on a perceptron, and one with a trick, and in the
// long tier one with several, on the residual network. The trick must change something, unless it is only read where
// predictions are evaluated.
func TestTrickContract(t *testing.T) {
	mlp := perceptron
	resnet := arch.Config{Channels: 3, Height: 32, Width: 32, Classes: 6, NF: 2}
	contract := func(name string, network arch.Config, list ...string) {
		label := "mlp"
		if network.NF > 0 {
			label = "resnet18"
		}
		info, err := method.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(info.With(list)+"/"+label, func(t *testing.T) {
			with := func(list []string) func(*testing.T, uint64) ocl.Learner {
				return build(name, network, func(s *method.Setup) { s.Tricks = list })
			}
			c := learnertest.Case{
				Shape: [3]int{network.Channels, network.Height, network.Width}, Classes: network.Classes, New: with(list),
				Heir: heir(name, network, func(s *method.Setup) { s.Tricks = list }),
				Vary: map[string]func(*testing.T, uint64) ocl.Learner{},
			}
			if info.UsesMemory {
				c.Capacity = 12
			}
			for i, trick := range list {
				if trick != "ncm" {
					c.Vary[trick] = with(slices.Delete(slices.Clone(list), i, i+1))
				}
				described, err := method.LookupTrick(trick)
				if err != nil {
					t.Fatal(err)
				}
				for _, key := range described.Settings {
					if key == "replay.teacher" && network.NF == 0 {
						continue // it is a mode of batch norm, which the MLP has not
					}
					c.Vary[key] = build(name, network, func(s *method.Setup) { s.Tricks = list; changes[key](s) })
				}
				for _, o := range described.Options {
					c.Vary[trick+" "+o.Name] = build(name, network, func(s *method.Setup) {
						s.Tricks, s.TrickOptions = list, map[string]map[string]any{trick: {o.Name: other(trick, o)}}
					})
				}
				if name == "agem" && described.Distil != nil {
					c.Vary["reference"] = build(name, network, func(s *method.Setup) { s.Tricks, s.Options = list, others[name] })
				}
			}
			learnertest.Run(t, c)
		})
	}
	for _, info := range method.Catalogue() {
		for _, trick := range method.Tricks() {
			if _, refused := info.Refuses[trick.Name]; !refused {
				contract(info.Name, mlp, trick.Name)
			}
		}
	}
	if os.Getenv("OCL_LONG") != "" {
		contract("mir", resnet, "kdc*", "lb", "mi", "rv")
		contract("er", resnet, "mkd")
	}
	contract("icarl", resnet, "rv")
}

// TestSettingsNotDeclared: what a method does not declare changes nothing.
func TestSettingsNotDeclared(t *testing.T) {
	network := perceptron
	c := learnertest.Case{Shape: [3]int{3, 5, 4}, Classes: 6}
	a := build("finetune", network, nil)(t, 1)
	b := build("finetune", network, func(s *method.Setup) { s.Memory, s.ReplayBatch, s.Joint = 3, 7, true })(t, 1)
	learnertest.Observe(t, a, c.Batches(1, 6, 5))
	learnertest.Observe(t, b, c.Batches(1, 6, 5))
	learnertest.CheckSame(t, "finetune with memory settings", learnertest.State(t, b), learnertest.State(t, a))
}
