package learner_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"ocl"
	"ocl/internal/rng"
	"ocl/learner"
	"ocl/memory"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/optim"
	"ocl/tensor"
)

// BenchmarkObserve is the time of an incoming batch of 10 images of 32×32 with a full memory of 5,000, on two workers, and of
// what the method needs of the engine alone, turn about: medians in ms, and the overhead in percent.
func BenchmarkObserve(b *testing.B) {
	for _, name := range []string{"er", "mir", "gss"} {
		b.Run(name, func(b *testing.B) {
			r, passes := surveyed(b, name), passesOf(b, name)
			batches := random(10, 50)
			ctx := context.Background()
			observe(b, ctx, r, batches[0])
			passes()
			var whole, alone []float64
			for b.Loop() {
				begin := time.Now()
				observe(b, ctx, r, batches[len(whole)%len(batches)])
				middle := time.Now()
				passes()
				whole = append(whole, middle.Sub(begin).Seconds()*1e3)
				alone = append(alone, time.Since(middle).Seconds()*1e3)
			}
			slices.Sort(whole)
			slices.Sort(alone)
			w, a := whole[len(whole)/2], alone[len(alone)/2]
			b.ReportMetric(w, "ms/batch")
			b.ReportMetric(a, "ms/passes")
			b.ReportMetric(100*(w/a-1), "%overhead")
		})
	}
}

// passesOf is the passes of a method with batches of 10 and an SGD update: of ER two forward and backward; of MIR the same
// one after the other and two forward passes of 50; of GSS those of ER and the gradients of 20 single images.
func passesOf(b *testing.B, name string) func() {
	b.Helper()
	net := width20(b)
	ws := net.NewWorkspace(2)
	b.Cleanup(ws.Close)
	ahead, step := net.Clone(), optim.NewSGD(optim.SGD{LR: 1e-9})
	batches := random(10, 2)
	one, both := []*tensor.Tensor{batches[0].X}, []*tensor.Tensor{batches[0].X, batches[1].X}
	twenty, fifty := random(20, 1)[0].X, random(50, 1)[0].X
	d := tensor.New(20, 100)
	for i := range d.Data {
		d.Data[i] = float32(i%7-3) / 100
	}
	accumulate := func(x []*tensor.Tensor) {
		if err := net.Accumulate(ws, x, func(_ int, _, dst *tensor.Tensor) error { copy(dst.Data, d.Data); return nil }); err != nil {
			b.Fatal(err)
		}
	}
	switch name {
	case "mir":
		return func() {
			accumulate(one)
			ahead.Changed() // other weights, to be packed
			net.ProbeBeside(ws, ahead, fifty)
			accumulate(one)
			step.Step(net, ws)
		}
	case "gss":
		singles := make([]float32, 20*len(net.Params()))
		return func() {
			accumulate(both)
			step.Step(net, ws)
			net.Forward(ws, twenty, nn.Eval)
			net.BackwardPerSample(ws, d, singles)
		}
	}
	return func() {
		accumulate(both)
		step.Step(net, ws)
	}
}

func observe(b *testing.B, ctx context.Context, r *learner.Replay, batch ocl.Batch) {
	b.Helper()
	if _, err := r.Observe(ctx, batch); err != nil {
		b.Fatal(err)
	}
}

// width20 is the survey's network for CIFAR-100.
func width20(b *testing.B) *nn.Network {
	b.Helper()
	net, err := arch.ResNet18(arch.Config{Channels: 3, Height: 32, Width: 32, Classes: 100, NF: 20}, rng.New(1, "net"))
	if err != nil {
		b.Fatal(err)
	}
	return net
}

// surveyed is a learner with a memory that 5,000 samples fill.
func surveyed(b *testing.B, name string) *learner.Replay {
	b.Helper()
	net := width20(b)
	ws := net.NewWorkspace(2)
	b.Cleanup(ws.Close)
	r := &learner.Replay{
		Net: net, WS: ws, Opt: optim.NewSGD(optim.SGD{LR: 0.01}), Seed: 1, Memory: memory.NewStore(5000, [3]int{3, 32, 32}),
	}
	var slots []int
	switch name {
	case "mir":
		r.Retrieve, r.Step = &memory.MIR{Size: 10, Candidates: 50}, learner.LookAhead{}
	case "gss":
		gss := &memory.GSS{Size: 10}
		r.Update = gss
		env := memory.Env{Rand: rng.New(1, "fill"), Probe: alike{}}
		for _, batch := range random(100, 50) { // GSS scores what it stores
			var err error
			if slots, err = gss.Update(slots[:0], r.Memory, batch, env); err != nil {
				b.Fatal(err)
			}
			r.Memory.Put(batch, slots)
		}
		return r
	}
	for i, batch := range random(100, 50) {
		slots = slots[:0]
		for k := range 100 {
			slots = append(slots, i*100+k)
		}
		r.Memory.Put(batch, slots)
	}
	return r
}

// alike is a probe of a network all of whose gradients are at right angles.
type alike struct{ memory.Probe }

func (alike) Cosines(dst []float64, _, _ memory.Groups) error {
	clear(dst)
	return nil
}

// random returns n batches of noise.
func random(rows, n int) []ocl.Batch {
	src := rng.New(9, fmt.Sprint("noise", rows))
	batches := make([]ocl.Batch, n)
	for i := range batches {
		x, y := tensor.New(rows, 3, 32, 32), make([]ocl.Label, rows)
		for k := range x.Data {
			x.Data[k] = float32(src.Float64())
		}
		for k := range y {
			y[k] = ocl.Label(src.IntN(100))
		}
		batches[i] = ocl.Batch{X: x, Y: y}
	}
	return batches
}
