package learner_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"ocl"
	"ocl/internal/goldentest"
	"ocl/learn/learner"
	"ocl/learn/learner/learnertest"
	"ocl/learn/memory"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/rng"
)

// trajectories is testdata/boundaries.json, which boundaries.py makes: see there.
type trajectories struct {
	Steps, Task, Batch, Classes, Pixels, Hidden, Capacity, Replay int
	Seed                                                          uint64
	LR                                                            float64 `json:"lr"`
	WeightDecay                                                   float64 `json:"weight_decay"`
	Cases                                                         []struct {
		Name     string
		Losses   []float64
		LossTol  float64           `json:"loss_tol"`
		Params   map[int][]float64 // after so many steps, in PyTorch's order
		ParamTol float64           `json:"param_tol"`
		Slots    [][]int           // retrieved at each step
		Memory   []int             // number of the sample in each slot at the end
	}
}

// recorder keeps the slots that were retrieved.
type recorder struct {
	memory.Retriever
	slots []int
}

func (r *recorder) Retrieve(dst []int, m *memory.Store, b ocl.Batch, env memory.Env) ([]int, error) {
	slots, err := r.Retriever.Retrieve(dst, m, b, env)
	r.slots = slices.Clone(slots)
	return slots, err
}

// TestGoldenBoundaries follows A-GEM, EWC++, LwF and LwF.MC over twenty steps and two tasks of an independent PyTorch
// program, which draws the same numbers: losses, parameters, retrieved slots and the samples in memory.
func TestGoldenBoundaries(t *testing.T) {
	var g trajectories
	goldentest.Read(t, "testdata/boundaries.json", &g)
	learners := map[string]func(*learner.Replay) ocl.Learner{
		"finetune": func(r *learner.Replay) ocl.Learner { return r },
		"agem":     func(r *learner.Replay) ocl.Learner { return learner.NewAGEM(r) },
		"ewc++": func(r *learner.Replay) ocl.Learner {
			return learner.NewEWC(r, learner.EWCOptions{Lambda: 2, Alpha: 0.9, Every: 3})
		},
		"ewc++ raw": func(r *learner.Replay) ocl.Learner {
			return learner.NewEWC(r, learner.EWCOptions{Lambda: 50, Alpha: 0.9, Every: 3, Raw: true})
		},
		"lwf":    func(r *learner.Replay) ocl.Learner { return learner.NewLwF(r, false) },
		"lwf mc": func(r *learner.Replay) ocl.Learner { return learner.NewLwF(r, true) },
	}
	if len(g.Cases) != len(learners) {
		t.Errorf("%d cases for %d learners", len(g.Cases), len(learners))
	}
	for _, c := range g.Cases {
		t.Run(c.Name, func(t *testing.T) {
			r := g.finetune(t)
			retrieved := &recorder{Retriever: memory.Random{Size: g.Replay}}
			if len(c.Memory) > 0 {
				r.Memory, r.Retrieve = memory.NewStore(g.Capacity, [3]int{1, 1, g.Pixels}, nil), retrieved
			}
			l, compared := learners[c.Name](r), 0
			for step := range g.Steps {
				if aware, ok := l.(ocl.TaskAware); ok && step%g.Task == 0 {
					if err := aware.BeginTask(g.task(step / g.Task)); err != nil {
						t.Fatal(err)
					}
				}
				retrieved.slots = nil
				s := learnertest.Observe(t, l, []ocl.Batch{g.samples(step*g.Batch, g.Batch)})[0]
				if !(math.Abs(s.Loss-c.Losses[step]) <= c.LossTol) {
					t.Errorf("step %d: loss %v, want %v ± %v", step+1, s.Loss, c.Losses[step], c.LossTol)
				}
				if r.Memory != nil && !slices.Equal(retrieved.slots, c.Slots[step]) {
					t.Errorf("step %d: slots %v retrieved, want %v", step+1, retrieved.slots, c.Slots[step])
				}
				if want, ok := c.Params[step+1]; ok {
					compared++
					g.compare(t, step+1, r.Net, want, c.ParamTol)
				}
				if aware, ok := l.(ocl.TaskAware); ok && (step+1)%g.Task == 0 {
					if err := aware.EndTask(context.Background()); err != nil {
						t.Fatal(err)
					}
				}
			}
			if compared == 0 || compared != len(c.Params) {
				t.Errorf("the parameters are compared after %d steps, want all %d of the file", compared, len(c.Params))
			}
			g.checkMemory(t, r.Memory, c.Memory)
		})
	}
}

// finetune is a learner on the perceptron that the file starts from.
func (g *trajectories) finetune(t *testing.T) *learner.Replay {
	t.Helper()
	net, err := arch.MLP(arch.Config{Channels: 1, Height: 1, Width: g.Pixels, Classes: g.Classes, Hidden: []int{g.Hidden}},
		rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range net.Info().Named {
		values := make([]float32, p.Len())
		for j := range values {
			v := 2*goldentest.Uniform(i, j) - 1
			if p.In > 0 {
				values[j] = float32(v / math.Sqrt(float64(p.In)))
			} else {
				values[j] = float32(0.1 * v)
			}
		}
		p.FromTorch(net.Params()[p.Offset:p.Offset+p.Len()], values)
	}
	net.Changed()
	ws := net.NewWorkspace(1)
	t.Cleanup(ws.Close)
	return &learner.Replay{Net: net, WS: ws, Opt: optim.SGD{LR: g.LR, WeightDecay: g.WeightDecay}.New(), Seed: g.Seed}
}

func (g *trajectories) compare(t *testing.T, step int, net *nn.Network, want []float64, tol float64) {
	t.Helper()
	for _, p := range net.Info().Named {
		got := make([]float32, p.Len())
		p.ToTorch(got, net.Params()[p.Offset:p.Offset+p.Len()])
		for i, v := range got {
			if w := want[p.Offset+i]; !(math.Abs(float64(v)-w) <= tol) {
				t.Errorf("after step %d: %s[%d] is %v, want %v ± %v", step, p.Name, i, v, w, tol)
				break
			}
		}
	}
}

func (g *trajectories) task(i int) ocl.TaskInfo {
	info := ocl.TaskInfo{Index: i}
	for k := range g.Classes / 2 {
		info.Classes = append(info.Classes, ocl.Label(i*g.Classes/2+k))
	}
	return info
}

// samples is n samples of the stream from number first on: a pattern of their class and noise, in 255ths.
func (g *trajectories) samples(first, n int) ocl.Batch {
	pixels, y := make([]byte, n*g.Pixels), make([]ocl.Label, n)
	for row := range n {
		number := first + row
		half := g.Classes / 2
		label := number/(g.Task*g.Batch)*half + int(goldentest.Hash(5000, number)%uint64(half))
		y[row] = ocl.Label(label)
		for i := range g.Pixels {
			v := 255 * (float64(0.6*goldentest.Uniform(3000+label, i)) + float64(0.4*goldentest.Uniform(4000+number, i)))
			pixels[row*g.Pixels+i] = byte(math.RoundToEven(v))
		}
	}
	return ocl.NewBatch([3]int{1, 1, g.Pixels}, pixels, y, ocl.NewPixelValues(1, nil, nil))
}

// checkMemory compares what the slots of m hold with the samples of these numbers.
func (g *trajectories) checkMemory(t *testing.T, m *memory.Store, numbers []int) {
	t.Helper()
	for slot, number := range numbers {
		want, got := g.samples(number, 1), g.samples(number, 1)
		m.Gather(got.X, got.Y, []int{slot})
		if got.Y[0] != want.Y[0] || !slices.Equal(got.X.Data, want.X.Data) {
			t.Errorf("slot %d does not hold sample %d", slot, number)
		}
	}
}
