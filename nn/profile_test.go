package nn_test

import (
	"strings"
	"testing"
	"time"

	"ocl/nn"
	"ocl/tensor"
)

// BenchmarkWork reports where a pass of 10 images at 32×32 on one worker spends its time.
func BenchmarkWork(b *testing.B) {
	net := survey(b, 32)
	ws := net.NewWorkspace(1)
	defer ws.Close()
	x, d := images(10, 3, 32, 32, 1), tensor.New(10, 100)
	objective(net.Forward(ws, x, nn.Train), d)
	net.Backward(ws, d)
	ws.EnableProfile()
	for b.Loop() {
		net.Changed()
		net.Forward(ws, x, nn.Train)
		net.Backward(ws, d)
	}
	total := map[string]time.Duration{}
	for _, l := range ws.Profile() {
		total[l.Work] += l.Time
	}
	for work, t := range total {
		b.ReportMetric(t.Seconds()*1e3/float64(b.N), strings.ReplaceAll(work, " ", "-")+"-ms")
	}
}
