package learner

import (
	"context"
	"math"
	"slices"
	"testing"

	"ocl"
	"ocl/internal/goldentest"
	"ocl/learn/memory"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

// The golden files of this test are made by testdata/icarl_gdumb.py, from the equations in PyTorch and from the same
// random numbers.

// drawSample is an image [c,h,w] with the pattern of a label and the noise of a sample.
func drawSample(sample, label int, c, h, w int) []byte {
	pixels := make([]byte, c*h*w)
	for i := range pixels {
		p, y, x := i/(h*w), i/w%h, i%w
		pixels[i] = byte(math.RoundToEven(255 * (0.75*goldentest.Uniform(3000+label, (p*4+y*4/h)*4+x*4/w) +
			0.25*goldentest.Uniform(1000+sample, i))))
	}
	return pixels
}

// sampleBatch is the samples with their labels.
func sampleBatch(samples []int, label func(sample int) int, c, h, w int) ocl.Batch {
	var pixels []byte
	y := make([]ocl.Label, len(samples))
	for i, s := range samples {
		y[i] = ocl.Label(label(s))
		pixels = append(pixels, drawSample(s, label(s), c, h, w)...)
	}
	return ocl.NewBatch([3]int{c, h, w}, pixels, y, ocl.NewPixelValues(c, nil, nil))
}

// sampleOf finds which of the samples below end an image is.
func sampleOf(t *testing.T, row []float32, end int, label func(int) int, c, h, w int) int {
	t.Helper()
	for s := range end {
		if slices.Equal(sampleBatch([]int{s}, label, c, h, w).X.Data, row) {
			return s
		}
	}
	t.Fatal("an image is none of the stream")
	return -1
}

// numbers counts from lo to hi-1.
func numbers(lo, hi int) []int {
	var v []int
	for i := lo; i < hi; i++ {
		v = append(v, i)
	}
	return v
}

// TestICaRLGolden follows PyTorch through two tasks of ten steps: losses, replayed samples, written slots, predictions
// by the class means after each task, and at the end the memory, the parameters and the running statistics.
func TestICaRLGolden(t *testing.T) {
	var g struct {
		Case struct {
			NF, Classes, Steps, Batch, Replay, Memory, Test, Stride int
			Tasks                                                   [][]ocl.Label
			LR, Decay                                               float64
		}
		Loss, Params, Running goldentest.Values
		Predictions           [][]int
		Replayed, Written     [][]int
		Memory                []int
	}
	goldentest.Read(t, "testdata/icarl.json", &g)
	c := g.Case
	net, err := arch.ResNet18(arch.Config{Channels: 3, Height: 32, Width: 32, Classes: c.Classes, NF: c.NF},
		rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	tame(net)
	ws := net.NewWorkspace(2)
	defer ws.Close()
	l := &ICaRL{
		Net: net, WS: ws, Opt: optim.SGD{LR: c.LR, WeightDecay: c.Decay}.New(), Seed: 1,
		Memory: memory.NewStore(c.Memory, [3]int{3, 32, 32}, nil), ReplayBatch: c.Replay,
	}
	label := func(sample int) int {
		classes := c.Tasks[sample/(c.Steps*c.Batch)]
		return int(classes[goldentest.Hash(2000, sample)%uint64(len(classes))])
	}
	test := sampleBatch(numbers(9000, 9000+c.Test), func(s int) int { return (s - 9000) % 6 }, 3, 32, 32).X
	var losses []float64
	ctx, labels := context.Background(), make([]ocl.Label, c.Test)
	for task, classes := range c.Tasks {
		if err := l.BeginTask(ocl.TaskInfo{Index: task, Classes: classes}); err != nil {
			t.Fatal(err)
		}
		for range c.Steps {
			step := len(losses)
			stats, err := l.Observe(ctx, sampleBatch(numbers(step*c.Batch, (step+1)*c.Batch), label, 3, 32, 32))
			if err != nil {
				t.Fatal(err)
			}
			losses = append(losses, stats.Loss)
			if !slices.Equal(l.slots, g.Written[step]) {
				t.Errorf("step %d: slots %v written, want %v", step, l.slots, g.Written[step])
			}
			var replayed []int
			for i := c.Batch; i < len(l.both.Y); i++ {
				replayed = append(replayed, sampleOf(t, l.both.X.Row(i), step*c.Batch, label, 3, 32, 32))
			}
			if !slices.Equal(replayed, g.Replayed[step]) {
				t.Errorf("step %d: samples %v replayed, want %v", step, replayed, g.Replayed[step])
			}
		}
		if err := l.EndTask(ctx); err != nil {
			t.Fatal(err)
		}
		if err := l.Prepare(ctx); err != nil {
			t.Fatal(err)
		}
		if err := l.Predict(labels, test); err != nil {
			t.Fatal(err)
		}
		CheckPredictions(t, "after a task", labels, g.Predictions[task])
	}
	g.Loss.Check(t, "loss", losses)
	g.Params.Check(t, "parameters", goldentest.Every(c.Stride, net.Params()))
	g.Running.Check(t, "running statistics", goldentest.Every(c.Stride, net.Running()))
	checkMemory(t, l.Memory, g.Memory, len(losses)*c.Batch, label, 3, 32, 32)
}

// tame sets γ to 0.3 and β to 1.5, so that no activation lies so near to ReLU's kink that rounding decides its side.
func tame(net *nn.Network) {
	names := net.Info().Named
	for i, p := range names {
		if i == 0 || p.In > 0 || p.Name == "linear.bias" {
			continue
		}
		value := float32(0.3)
		if names[i-1].In == 0 { // β follows γ
			value = 1.5
		}
		for k := range p.Len() {
			net.Params()[p.Offset+k] = value
		}
	}
	net.Changed()
}

func checkMemory(t *testing.T, m *memory.Store, want []int, end int, label func(int) int, c, h, w int) {
	t.Helper()
	x, y := tensor.New(m.Len(), c, h, w), make([]ocl.Label, m.Len())
	m.Gather(x, y, numbers(0, m.Len()))
	var got []int
	for i := range y {
		got = append(got, sampleOf(t, x.Row(i), end, label, c, h, w))
	}
	if !slices.Equal(got, want) {
		t.Errorf("memory holds samples %v, want %v", got, want)
	}
}

// TestGDumbGolden follows PyTorch: the greedy memory batch by batch, then twenty steps of training with clipped
// gradients, by the survey's settings and by the original's: losses, parameters, predictions.
func TestGDumbGolden(t *testing.T) {
	type training struct {
		Loss, Params goldentest.Values
		Predictions  []int
	}
	var g struct {
		Case struct {
			Shape                                                        [3]int
			Hidden, Classes, Stream, Batch, Memory, Epochs, Test, Stride int
			TrainBatch                                                   int `json:"train_batch"`
			LR, Decay, Clip                                              float64
		}
		Memory           [][]int
		Survey, Original training
	}
	goldentest.Read(t, "testdata/gdumb.json", &g)
	c := g.Case
	channels, h, w := c.Shape[0], c.Shape[1], c.Shape[2]
	label := func(sample int) int { return int(goldentest.Hash(2000, sample) % uint64(1+sample/12)) }
	test := sampleBatch(numbers(9000, 9000+c.Test), func(s int) int { return (s - 9000) % c.Classes }, channels, h, w).X
	for name, want := range map[string]training{"survey": g.Survey, "original": g.Original} {
		t.Run(name, func(t *testing.T) {
			net, err := arch.MLP(arch.Config{Channels: channels, Height: h, Width: w, Classes: c.Classes,
				Hidden: []int{c.Hidden}}, rng.New(7, "elsewhere"))
			if err != nil {
				t.Fatal(err)
			}
			ws := net.NewWorkspace(2)
			defer ws.Close()
			l := &GDumb{
				Net: net, WS: ws, Opt: optim.SGD{LR: c.LR, WeightDecay: c.Decay}, Seed: 1, InitSeed: 1,
				Memory: memory.NewStore(c.Memory, c.Shape, nil), Epochs: c.Epochs, Batch: c.TrainBatch, Clip: c.Clip,
			}
			if name == "original" {
				l.Opt = optim.SGD{LR: 0.05, Momentum: 0.9, WeightDecay: 1e-6}
				l.Rate, l.Crop, l.CutMix = CosineRestarts(0.05, 0.0005), true, 0.5
			}
			ctx := context.Background()
			for i, content := range g.Memory {
				if _, err := l.Observe(ctx, sampleBatch(numbers(i*c.Batch, (i+1)*c.Batch), label, channels, h, w)); err != nil {
					t.Fatal(err)
				}
				checkMemory(t, l.Memory, content, (i+1)*c.Batch, label, channels, h, w)
			}
			var losses []float64
			l.Watch(func(int, int) { losses = append(losses, l.train.passes[0].Loss) })
			if err := l.Prepare(ctx); err != nil {
				t.Fatal(err)
			}
			want.Loss.Check(t, "loss", losses)
			want.Params.Check(t, "parameters", goldentest.Every(c.Stride, net.Params()))
			labels := make([]ocl.Label, c.Test)
			if err := l.Predict(labels, test); err != nil {
				t.Fatal(err)
			}
			CheckPredictions(t, "after training", labels, want.Predictions)
		})
	}
}
