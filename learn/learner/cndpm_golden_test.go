package learner

import (
	"context"
	"fmt"
	"math"
	"testing"

	"ocl"
	"ocl/internal/goldentest"
	"ocl/learn/memory"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/rng"
)

// cndpmGolden is testdata/cndpm.json, which testdata/cndpm.py makes.
type cndpmGolden struct {
	LogAlpha                          float64
	Stored                            [][]int
	Sleeps                            goldentest.Values
	NLL, Chilled, Share, Counts, Loss goldentest.Values
	Asleep, Awake                     []goldentest.Values // by expert
}

// tinyCNDPM is the learner of the golden file.
func tinyCNDPM(t *testing.T) *CNDPM {
	t.Helper()
	net, err := arch.MLP(arch.Config{Channels: 1, Height: 1, Width: 1, Classes: 2, Hidden: []int{1}}, rng.New(1, "net"))
	if err != nil {
		t.Fatal(err)
	}
	ws := net.NewWorkspace(2)
	t.Cleanup(ws.Close)
	return &CNDPM{
		WS: ws, Opt: optim.SGD{LR: 0.01}, Memory: memory.NewStore(19, [3]int{3, 12, 12}, nil), Capacity: 10,
		VAE:   arch.VAEConfig{Channels: 3, Height: 12, Width: 12, Features: 5, Growth: 2, Latent: 4, Draws: 2},
		Net:   arch.SharingConfig{Channels: 3, Height: 12, Width: 12, Classes: 6, Features: 4, Growth: 2, Blocks: 1},
		Chill: 0.5, VAESteps: 10, ClassifierSteps: 10, Batch: 5, L2: 1e-3, Clip: 0.5, WakeRate: 0.2, ClassifierRate: 0.5,
	}
}

// TestCNDPMGolden compares two sleeps and ten wake steps of two experts with an implementation in PyTorch, with the
// same parameters at the start and the same draws, whether a batch goes through the experts whole or in parts.
func TestCNDPMGolden(t *testing.T) {
	for _, atOnce := range []int{together, 2} {
		t.Run(fmt.Sprint(atOnce), func(t *testing.T) { followCNDPM(t, atOnce) })
	}
}

func followCNDPM(t *testing.T, atOnce int) {
	var g cndpmGolden
	goldentest.Read(t, "testdata/cndpm.json", &g)
	c := tinyCNDPM(t)
	c.atOnce = atOnce
	c.LogAlpha = g.LogAlpha
	if err := c.prepare(); err != nil {
		t.Fatal(err)
	}
	normal, slot := 0, 0
	c.normals = func(dst []float32) {
		for i := range dst {
			k := 3 * normal
			dst[i] = float32(2 * (goldentest.Uniform(7000, k) + goldentest.Uniform(7000, k+1) + goldentest.Uniform(7000,
				k+2) - 1.5))
			normal++
		}
	}
	c.slot = func(n int) int {
		slot++
		return int(goldentest.Uniform(8000, slot-1) * float64(n))
	}
	drawExpert(c.blank, 0)
	var losses []float64
	c.Watch(func(done, _ int) {
		of := c.nll[0]
		if done > c.VAESteps {
			of = c.chilled[0]
		}
		sum := 0.0
		for _, v := range of[:5] {
			sum += v
		}
		losses = append(losses, sum/5)
	})
	for part := range 2 {
		for i := range 2 {
			b := cndpmBatch(2*part + i)
			c.slots = c.slots[:0]
			for j := range b.Len() {
				c.slots = append(c.slots, c.Memory.Len()+j)
			}
			c.Memory.Put(b, c.slots)
		}
		if err := c.fallAsleep(ocl.StepStats{}); err != nil {
			t.Fatal(err)
		}
		drawExpert(c.experts[part], part+1)
		if err := c.sleep(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	g.Sleeps.Check(t, "losses of sleeps", losses)
	for k, e := range c.experts {
		g.Asleep[k].Check(t, fmt.Sprintf("expert %d after its sleep", k+1), stateOf(e))
	}
	c.steps = 4
	var nll, chilled, share, counts, loss []float64
	for step := range g.Stored {
		before := c.Memory.Len()
		stats, err := c.Observe(context.Background(), cndpmBatch(4+step))
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range g.Stored[step] {
			if got := c.slots[i] >= 0; got != (want == 1) {
				t.Errorf("wake step %d: sample %d is stored: %v", step, i, got)
			}
			before += want
			for k := range 3 {
				nll, chilled = append(nll, c.nll[k][i]), append(chilled, c.chilled[k][i])
				if k > 0 {
					share = append(share, c.share[k][i])
				}
			}
		}
		if c.Memory.Len() != before {
			t.Errorf("wake step %d: %d samples are stored, want %d", step, c.Memory.Len(), before)
		}
		counts = append(counts, c.experts[0].logCount, c.experts[1].logCount)
		loss = append(loss, stats.Loss)
	}
	g.NLL.Check(t, "likelihoods of images", nll)
	g.Chilled.Check(t, "likelihoods of labels", chilled)
	g.Share.Check(t, "responsibilities", share)
	g.Counts.Check(t, "counts", counts)
	g.Loss.Check(t, "losses", loss)
	for k, e := range c.experts {
		g.Awake[k].Check(t, fmt.Sprintf("expert %d at the end", k+1), stateOf(e))
	}
}

// cndpmBatch is batch number step.
func cndpmBatch(step int) ocl.Batch {
	const first = 50 // number of the first sample
	label := func(sample int) int {
		u := goldentest.Uniform(2000, sample-first)
		if step < 4 {
			return int(u*3) + 3*(step/2)
		}
		return int(u * 6)
	}
	return sampleBatch(numbers(first+step*5, first+step*5+5), label, 3, 12, 12)
}

// drawExpert sets the parameters of an expert, tensor by tensor.
func drawExpert(e *expert, number int) {
	eachTensor(e, func(j int, net *nn.Network, p nn.Param) {
		torch := make([]float32, p.Len())
		for i := range torch {
			torch[i] = float32((2*goldentest.Uniform(5000+100*number+j, i) - 1) / math.Sqrt(fanIn(net, p)))
		}
		p.FromTorch(net.Params()[p.Offset:][:p.Len()], flattened(p, torch, true))
		net.Changed()
	})
}

// eachTensor calls f for each tensor of an expert, in the order of the golden file.
func eachTensor(e *expert, f func(j int, net *nn.Network, p nn.Param)) {
	j := 0
	for _, net := range e.networks() {
		for _, p := range net.Info().Named {
			f(j, net, p)
			j++
		}
	}
}

// fanIn is how many numbers go into one that a tensor makes; that of a bias is that of the tensor before it.
func fanIn(net *nn.Network, p nn.Param) float64 {
	if p.In == 0 {
		list := net.Info().Named
		for i, q := range list {
			if q.Name == p.Name {
				p = list[i-1]
			}
		}
	}
	if p.Transposed {
		return float64(p.Out * p.Taps)
	}
	return float64(p.In * p.Taps)
}

// stateOf is some elements of each tensor, in PyTorch's order.
func stateOf(e *expert) (v []float64) {
	eachTensor(e, func(_ int, net *nn.Network, p nn.Param) {
		torch := make([]float32, p.Len())
		p.ToTorch(torch, net.Params()[p.Offset:][:p.Len()])
		v = append(v, goldentest.Every(max(1, p.Len()/16), flattened(p, torch, false))...)
	})
	return v
}

// flattened is a tensor in PyTorch's order with the pixels of a map of 3×3 in another order: PyTorch flattens channel
// by channel and the engine pixel by pixel, the channels of earlier experts first.
func flattened(p nn.Param, torch []float32, toEngine bool) []float32 {
	const pixels = 9
	out := make([]float32, len(torch))
	move := func(channels, skip, stride, width, outer int) {
		for o := range outer {
			for c := range channels {
				for q := range pixels {
					here, there := flatIndex(channels, skip, pixels, c, q), c*pixels+q
					if !toEngine {
						here, there = there, here
					}
					copy(out[o*stride+here*width:][:width], torch[o*stride+there*width:][:width])
				}
			}
		}
	}
	switch p.Name {
	case "enc3.weight":
		skip := 0
		if n := p.In/pixels - 10; n > 0 { // more than the first expert's own
			skip = p.In/pixels - 4
		}
		move(p.In/pixels, skip, p.In, 1, p.Out)
	case "dec2.weight":
		move(64, 0, 0, p.In, 1)
	case "dec2.bias":
		move(64, 0, 0, 1, 1)
	default:
		return torch
	}
	return out
}

// flatIndex is the place of pixel p of channel c in what nn.Section.Flatten makes of a map of c channels, of which the
// first skip have no gradient.
func flatIndex(channels, skip, pixels, c, p int) int {
	if c < skip {
		return p*skip + c
	}
	return skip*pixels + p*(channels-skip) + c - skip
}
