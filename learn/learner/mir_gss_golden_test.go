package learner_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/checkpoint"
	"ocl/internal/goldentest"
	"ocl/learn/learner"
	"ocl/learn/learner/learnertest"
	"ocl/learn/memory"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/rng"
)

// trajectory is a file of testdata/mir_gss.py, which says what is in it.
type trajectory struct {
	Format, Batch, Replay, Capacity, Stride, Classes, NF, Size int
	Seed                                                       uint64
	LR                                                         float64 `json:"lr"`
	WeightDecay                                                float64 `json:"weight_decay"`
	Scores                                                     goldentest.Values
	Steps                                                      []struct {
		Loss, Tol     float64
		Slots, Memory []int
	}
	States []struct {
		Step int
		goldentest.Values
	}
}

// start is number i of parameter tensor p, the t-th, in PyTorch's order.
func start(p nn.Param, t, i int) float32 {
	v := 2*goldentest.Uniform(t, i) - 1
	switch {
	case p.In > 0:
		v /= math.Sqrt(float64(p.In * p.Taps))
	case p.Name == "linear.bias":
		v *= 0.1
	case strings.HasSuffix(p.Name, "weight"):
		v = 0.3 + float64(0.03*v)
	case strings.HasSuffix(p.Name, "bn2.bias"):
		v *= 0.1
	default:
		v = 0.5 + float64(0.1*v)
	}
	return float32(v)
}

// learner is the case's, up to what the method adds.
func (g *trajectory) learner(t *testing.T, workers int) *learner.Replay {
	t.Helper()
	net, err := arch.ResNet18(arch.Config{Channels: 3, Height: g.Size, Width: g.Size, Classes: g.Classes, NF: g.NF},
		rng.New(1, "net"))
	if err != nil {
		t.Fatal(err)
	}
	for k, p := range net.Info().Named {
		torch := make([]float32, p.Len())
		for i := range torch {
			torch[i] = start(p, k, i)
		}
		p.FromTorch(net.Params()[p.Offset:][:p.Len()], torch)
	}
	net.Changed()
	ws := net.NewWorkspace(workers)
	t.Cleanup(ws.Close)
	return &learner.Replay{
		Net: net, WS: ws, Opt: optim.SGD{LR: g.LR, WeightDecay: g.WeightDecay}.New(), Seed: g.Seed,
		Memory: memory.NewStore(g.Capacity, [3]int{3, g.Size, g.Size}, nil),
	}
}

// batch is the images and labels of a step: patterns in squares of 8 of the class and of the image, and a fine grain.
func (g *trajectory) batch(step int) ocl.Batch {
	n, size := g.Size/8, 3*g.Size*g.Size
	pixels, labels := make([]byte, g.Batch*size), make([]ocl.Label, g.Batch)
	for i := range labels {
		y := int(goldentest.Hash(2000+step, i) % uint64(g.Classes))
		labels[i] = ocl.Label(y)
		for k := range size {
			channel, py, px := k/(g.Size*g.Size), k/g.Size%g.Size/8, k%g.Size/8
			square := func(image int) int { return ((image*3+channel)*n+py)*n + px }
			v := 0.5*goldentest.Uniform(5000, square(y)) + 0.25*goldentest.Uniform(3000+step, square(i)) +
				0.25*goldentest.Uniform(1000+step,
					i*size+k)
			pixels[i*size+k] = byte(math.RoundToEven(255 * v))
		}
	}
	return ocl.NewBatch([3]int{3, g.Size, g.Size}, pixels, labels, ocl.NewPixelValues(3, nil, nil))
}

// state is every stride-th element of each tensor of the network, as PyTorch orders them.
func (g *trajectory) state(net *nn.Network) (all []float64) {
	take := func(p nn.Param, flat []float32) {
		torch := make([]float32, p.Len())
		p.ToTorch(torch, flat[p.Offset:][:p.Len()])
		for i := 0; i < len(torch); i += g.Stride {
			all = append(all, float64(torch[i]))
		}
	}
	for _, p := range net.Info().Named {
		take(p, net.Params())
		for _, s := range net.Info().Statistics { // behind the bias of its batch norm
			if norm, ok := strings.CutSuffix(p.Name, "bias"); ok && strings.HasPrefix(s.Name, norm+"running") {
				take(s, net.Running())
			}
		}
	}
	return all
}

// TestGoldenMIRAndGSS repeats twenty steps of an independent implementation in PyTorch with the same random numbers:
// losses, replayed slots, the content of the memory, GSS's scores, parameters and running statistics.
func TestGoldenMIRAndGSS(t *testing.T) {
	for name, change := range map[string]func(*learner.Replay){
		"mir": func(r *learner.Replay) {
			r.Retrieve, r.Step = &memory.MIR{Size: 4, Candidates: 9}, learner.LookAhead{}
		},
		"mir-statistics-moved": func(r *learner.Replay) {
			r.Retrieve, r.Step = &memory.MIR{Size: 4, Candidates: 9, Always: true}, learner.LookAhead{Moves: true}
		},
		"gss":               func(r *learner.Replay) { r.Update = &memory.GSS{Size: 3} },
		"gss-subset-sample": func(r *learner.Replay) { r.Update = &memory.GSS{Size: 3, PerSample: true} },
		"gss-gate-batch":    func(r *learner.Replay) { r.Update = &memory.GSSBatch{Size: 1} },
	} {
		for _, workers := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s/workers=%d", name, workers), func(t *testing.T) {
				var g trajectory
				goldentest.Read(t, "testdata/"+name+".json", &g)
				r := g.learner(t, workers)
				change(r)
				if r.Retrieve == nil {
					r.Retrieve = memory.Random{Size: g.Replay}
				}
				g.repeat(t, r)
			})
		}
	}
}

func (g *trajectory) repeat(t *testing.T, r *learner.Replay) {
	if g.Format != 1 || len(g.Steps) != 20 || len(g.States) != 2 {
		t.Fatalf("format %d, %d steps, %d states; want 1, 20, 2", g.Format, len(g.Steps), len(g.States))
	}
	seen := &recorder{Retriever: r.Retrieve}
	r.Retrieve = seen
	var all []ocl.Batch
	for i, want := range g.Steps {
		all = append(all, g.batch(i))
		stats := learnertest.Observe(t, r, all[i:])[0]
		if !(math.Abs(stats.Loss-want.Loss) <= want.Tol) {
			t.Errorf("step %d: loss %v, want %v ± %v", i+1, stats.Loss, want.Loss, want.Tol)
		}
		if !slices.Equal(seen.slots, want.Slots) {
			t.Fatalf("step %d: slots %v replayed, want %v", i+1, seen.slots, want.Slots)
		}
		m := contents(r.Memory)
		if m.Len() != len(want.Memory) {
			t.Fatalf("step %d: %d stored, want %d", i+1, m.Len(), len(want.Memory))
		}
		for slot, id := range want.Memory {
			if b := all[id/g.Batch]; !slices.Equal(m.X.Row(slot), b.X.Row(id%g.Batch)) || m.Y[slot] != b.Y[id%g.Batch] {
				t.Fatalf("step %d: slot %d does not hold sample %d", i+1, slot, id)
			}
		}
		for _, s := range g.States {
			if s.Step == i+1 {
				s.Check(t, fmt.Sprintf("state after step %d", s.Step), g.state(r.Net))
			}
		}
	}
	if len(g.Scores.Values) > 0 {
		scores := make([]float64, len(g.Scores.Values))
		if err := (checkpoint.Parts{checkpoint.Numbers("update/scores", scores)}).LoadState(learnertest.State(t,
			r).Decoder()); err != nil {
			t.Fatal(err)
		}
		g.Scores.Check(t, "scores", scores)
	}
}
