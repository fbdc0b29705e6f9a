package nn_test

import (
	"fmt"
	"testing"

	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

func survey(b testing.TB, side int) *nn.Network {
	b.Helper()
	net, err := arch.ResNet18(arch.Config{Channels: 3, Height: side, Width: side, Classes: 100, NF: 20}, rng.New(1, "net"))
	if err != nil {
		b.Fatal(err)
	}
	return net
}

// BenchmarkPass is one pass of a survey step: forward and backward on 10 images and an SGD update.
func BenchmarkPass(b *testing.B) {
	for _, side := range []int{32, 84, 128} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%d/workers=%d", side, workers), func(b *testing.B) {
				net := survey(b, side)
				ws := net.NewWorkspace(workers)
				defer ws.Close()
				x, d := images(10, 3, side, side, 1), tensor.New(10, 100)
				opt := optim.SGD{LR: 1e-6}.New()
				objective(net.Forward(ws, x, nn.Train), d)
				for b.Loop() {
					net.Forward(ws, x, nn.Train)
					clear(net.Grads())
					ws.Backward(d)
					opt.Step(net, ws)
				}
				b.ReportMetric(float64(net.Info().FLOPs)*30*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}

// BenchmarkPredict is a batched evaluation of 200 images.
func BenchmarkPredict(b *testing.B) {
	for _, side := range []int{32, 84, 128} {
		b.Run(fmt.Sprint(side), func(b *testing.B) {
			net := survey(b, side)
			ws := net.NewWorkspace(2)
			defer ws.Close()
			x := images(200, 3, side, side, 1)
			for b.Loop() {
				net.Predict(ws, x)
			}
			b.ReportMetric(float64(net.Info().FLOPs)*200*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

// BenchmarkPredictOne is the prediction of a single image.
func BenchmarkPredictOne(b *testing.B) {
	for _, side := range []int{32, 84} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%d/workers=%d", side, workers), func(b *testing.B) {
				net := survey(b, side)
				ws := net.NewWorkspace(workers)
				defer ws.Close()
				x := images(1, 3, side, side, 1)
				for b.Loop() {
					net.Predict(ws, x)
				}
			})
		}
	}
}

// BenchmarkScore is the scoring of MIR's candidates: forward passes of 50 images in training mode by two networks at
// once.
func BenchmarkScore(b *testing.B) {
	net := survey(b, 32)
	ws := net.NewWorkspace(2)
	defer ws.Close()
	x, ahead := images(50, 3, 32, 32, 1), net.Clone()
	ahead.Changed()
	net.ForwardPair(ws, ahead, x, nn.BatchOnly)
	for b.Loop() {
		net.ForwardPair(ws, ahead, x, nn.BatchOnly)
	}
	b.ReportMetric(float64(net.Info().FLOPs)*100*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
