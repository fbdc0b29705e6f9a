package method_test

import (
	"context"
	"slices"
	"testing"

	"ocl"
	"ocl/learn/learner/learnertest"
	"ocl/learn/method"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
)

// frozen freezes the first stages of the network of a setup, and keeps it in net.
func frozen(stages int, net **nn.Network) func(*method.Setup) {
	return func(s *method.Setup) {
		if err := s.Net.Freeze(stages, false); err != nil {
			panic(err)
		}
		if net != nil {
			*net = s.Net
		}
	}
}

// latent is frozen for a learner that learns from the activations of these stages.
func latent(stages int) func(*method.Setup) {
	return func(s *method.Setup) {
		frozen(stages, nil)(s)
		if err := s.Net.Freeze(stages, true); err != nil {
			panic(err)
		}
		s.Shape, s.Pixels = s.Net.Info().Latent, nil
	}
}

// TestFrozenContract runs every method that trains the network of a config with frozen stages, on images and on
// activations.
func TestFrozenContract(t *testing.T) {
	mlp := arch.Config{Channels: 3, Height: 5, Width: 4, Classes: 6, Hidden: []int{20, 16}}
	resnet := arch.Config{Channels: 3, Height: 32, Width: 32, Classes: 6, NF: 2}
	for _, info := range method.Catalogue() {
		if info.OwnNetworks || info.Solves != nil {
			continue // they refuse it
		}
		run := func(name string, network arch.Config, shape [3]int, with func(*method.Setup)) {
			t.Run(info.Name+"/"+name, func(t *testing.T) {
				c := learnertest.Case{
					Shape: shape, Classes: network.Classes,
					New: build(info.Name, network, with), Heir: heir(info.Name, network, with),
				}
				if shape[0] == network.Channels {
					c.Vary = map[string]func(*testing.T, uint64) ocl.Learner{"network.freeze": build(info.Name, network, nil)}
				}
				if info.UsesMemory {
					c.Capacity = 12
				}
				if network.NF > 0 {
					c.Steps = 8
				}
				learnertest.Run(t, c)
			})
		}
		run("mlp", mlp, [3]int{3, 5, 4}, frozen(1, nil))
		run("mlp, latent", mlp, [3]int{20, 1, 1}, latent(1))
		if info.Name == "mir" { // which runs the most kinds of passes
			run("resnet18", resnet, [3]int{3, 32, 32}, frozen(3, nil))
			run("resnet18, latent", resnet, [3]int{4, 16, 16}, latent(3))
		}
	}
}

// TestFrozenStagesStay: whatever a method, its tricks and its optimiser do, the parameters and running statistics of
// frozen stages keep their bits, and the others learn.
func TestFrozenStagesStay(t *testing.T) {
	networks := map[string]arch.Config{
		"mlp":      {Channels: 3, Height: 5, Width: 4, Classes: 6, Hidden: []int{20, 16}},
		"resnet18": {Channels: 3, Height: 32, Width: 32, Classes: 6, NF: 2},
	}
	optimizers := map[string]optim.Settings{"sgd": optim.SGD{LR: 0.1, WeightDecay: 0.1, Momentum: 0.9},
		"adam": optim.Adam{LR: 0.01, WeightDecay: 0.1}}
	for _, info := range method.Catalogue() {
		if info.OwnNetworks || info.Solves != nil {
			continue
		}
		lists := [][]string{nil}
		for _, trick := range method.Tricks() {
			if len(info.CheckTricks([]string{trick.Name})) == 0 {
				lists = append(lists, []string{trick.Name})
			}
		}
		for name, network := range networks {
			for with, opt := range optimizers {
				for _, tricks := range lists {
					if info.Name == "mir" && with == "adam" { // it refuses adam
						continue
					}
					if tricks != nil && (network.NF > 0 && info.Name != "er" || with == "adam") {
						continue
					}
					t.Run(info.With(tricks)+"/"+name+"/"+with, func(t *testing.T) {
						var net *nn.Network
						stages := 1
						if network.NF > 0 {
							stages = 3
						}
						l := build(info.Name, network, func(s *method.Setup) {
							s.Opt, s.Tricks = opt, tricks
							ws := s.Net.NewWorkspace(1)
							// statistics that are not those of a new network
							s.Net.Forward(ws, learnertest.Case{Shape: s.Shape, Classes: s.Classes}.Batches(9, 1, 5)[0].X, nn.Train)
							ws.Close()
							frozen(stages, &net)(s)
						})(t, 1)
						params, running := slices.Clone(net.Params()), slices.Clone(net.Running())
						c := learnertest.Case{Shape: [3]int{network.Channels, network.Height, network.Width}, Classes: network.Classes}
						batches := c.Batches(1, 6, 5)
						c.Learn(t, l, batches, 0, len(batches))
						if p, ok := l.(ocl.Preparer); ok {
							if err := p.Prepare(context.Background()); err != nil {
								t.Fatal(err)
							}
						}
						still := 0
						for _, p := range net.Info().Named {
							if same := slices.Equal(net.Params()[p.Offset:][:p.Len()],
								params[p.Offset:][:p.Len()]); same != (p.Fixed || p.Offset < net.Info().Frozen.Params) {
								t.Errorf("%s stayed: %v", p.Name, same)
							}
						}
						for _, s := range net.Info().Statistics {
							if slices.Equal(net.Running()[s.Offset:][:s.Out], running[s.Offset:][:s.Out]) {
								still++
							}
						}
						// a stem, two blocks, and two with a shortcut
						if want := map[bool]int{true: 2 * 10}[network.NF > 0]; still != want {
							t.Errorf("%d of %d running statistics stayed, want %d", still, len(net.Info().Statistics), want)
						}
						for _, g := range net.Grads()[:net.Info().Frozen.Params] {
							if g != 0 {
								t.Fatalf("a gradient of a frozen stage is %v", g)
							}
						}
					})
				}
			}
		}
	}
}

// TestGDumbSavesFrozenStages: a state that is saved before the network is trained has the frozen stages, which may be
// those of a file.
func TestGDumbSavesFrozenStages(t *testing.T) {
	network := arch.Config{Channels: 3, Height: 5, Width: 4, Classes: 6, Hidden: []int{20, 16}}
	c := learnertest.Case{Shape: [3]int{3, 5, 4}, Classes: 6}
	var given, drawn *nn.Network
	l := build("gdumb", network, frozen(1, &given))(t, 1)
	given.Params()[0] += 0.5 // as a file has it
	given.Changed()
	learnertest.Observe(t, l, c.Batches(1, 3, 5))
	loaded := build("gdumb", network, frozen(1, &drawn))(t, 1)
	if err := loaded.LoadState(learnertest.State(t, l).Decoder()); err != nil {
		t.Fatal(err)
	}
	if drawn.Params()[0] != given.Params()[0] {
		t.Errorf("a frozen parameter is %v, and was saved as %v", drawn.Params()[0], given.Params()[0])
	}
}
