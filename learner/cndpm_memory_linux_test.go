package learner

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

	"ocl"
	"ocl/internal/rng"
	"ocl/memory"
	"ocl/nn/arch"
	"ocl/optim"
)

// BenchmarkCNDPMManyExperts is a wake step of 10 images, the prediction of 20 and a step of each kind of a sleep with 45 experts
// of the default size at 32×32 pixels, and the peak memory of the process, which should do nothing else:
//
//	go test ./learner -run '^$' -bench ManyExperts -benchtime 1x
func BenchmarkCNDPMManyExperts(b *testing.B) {
	const experts = 45
	net, err := arch.MLP(arch.Config{Channels: 1, Height: 1, Width: 1, Classes: 2, Hidden: []int{1}}, rng.New(1, "net"))
	if err != nil {
		b.Fatal(err)
	}
	ws := net.NewWorkspace(2)
	defer ws.Close()
	c := &CNDPM{
		WS: ws, Opt: optim.NewSGD(optim.SGD{LR: 1e-6}), Memory: memory.NewStore(1999, [3]int{3, 32, 32}, nil), Capacity: 1000,
		VAE:      arch.VAEConfig{Channels: 3, Height: 32, Width: 32, Features: 32, Growth: 4, Latent: 64, Draws: 16},
		Net:      arch.SharingConfig{Channels: 3, Height: 32, Width: 32, Classes: 100, Features: 20, Growth: 4, Blocks: 1},
		LogAlpha: -1e9, Chill: 0.01, VAESteps: 1, ClassifierSteps: 1, Batch: 50, L2: 1e-5, Clip: 0.5, WakeRate: 0.2, ClassifierRate: 1,
	}
	if err := c.prepare(); err != nil {
		b.Fatal(err)
	}
	for k := range experts - 1 {
		e, err := c.newExpert(k + 1)
		if err != nil {
			b.Fatal(err)
		}
		c.experts = append(c.experts, e)
	}
	images := func(n int) ocl.Batch {
		pixels := make([]byte, n*3*32*32)
		src := rng.New(1, "images")
		for i := range pixels {
			pixels[i] = byte(src.IntN(256))
		}
		return ocl.NewBatch([3]int{3, 32, 32}, pixels, make([]ocl.Label, n), ocl.NewPixelValues(3, nil, nil))
	}
	c.slots = nil
	stored := images(1000)
	for i := range 1000 {
		c.slots = append(c.slots, i)
	}
	c.Memory.Put(stored, c.slots)
	if err := c.fallAsleep(ocl.StepStats{}); err != nil {
		b.Fatal(err)
	}
	if err := c.sleep(context.Background()); err != nil {
		b.Fatal(err)
	}
	batch, test, labels := images(10), images(20), make([]ocl.Label, 20)
	for b.Loop() {
		if _, err := c.Observe(context.Background(), batch); err != nil {
			b.Fatal(err)
		}
		if err := c.Predict(labels, test.X); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(c.Cost().Parameters)/1e6, "M-parameters")
	b.ReportMetric(peakMegabytes(b), "peak-MB")
}

// peakMegabytes is the most memory that the process has used.
func peakMegabytes(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	kilobytes, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		b.Fatal(err)
	}
	return float64(kilobytes) / 1024
}
