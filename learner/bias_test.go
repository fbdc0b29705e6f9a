package learner_test

import (
	"math"
	"testing"

	"ocl"
	"ocl/learner"
	"ocl/loss"
	"ocl/nn"
	"ocl/tensor"
)

// TestGradientOfHead: the row of class i in the head gets the mean over the samples of (p_i − 1{i=y})·φ(x), and its
// bias that of p_i − 1{i=y} (survey §biased_fc). So a step on samples of new classes lowers the logits of every other
// class.
func TestGradientOfHead(t *testing.T) {
	for name, r := range map[string]*learner.Replay{"mlp": perceptron(t, 0.1), "resnet18": residual(t)} {
		c, h, w := r.Net.Input()
		x, y := tensor.New(4, c, h, w), []ocl.Label{4, 5, 5, 4}
		for i := range x.Data {
			x.Data[i] = float32(i*i%101) / 100
		}
		net, k := r.Net, r.Net.Classes()
		net.ZeroGrads()
		logits := net.Forward(r.WS, x, nn.Train)
		phi := net.Features(r.WS)
		want, bias := make([][]float64, k), make([]float64, k)
		for i := range want {
			want[i] = make([]float64, net.FeatureDim())
		}
		for n, label := range y {
			sum := 0.0
			for _, v := range logits.Row(n) {
				sum += math.Exp(float64(v))
			}
			for i, v := range logits.Row(n) {
				p := math.Exp(float64(v)) / sum
				if i == int(label) {
					p--
				}
				bias[i] += p / 4
				for d, f := range phi.Row(n) {
					want[i][d] += p * float64(f) / 4
				}
			}
		}
		d := tensor.New(4, k)
		if _, err := (loss.CrossEntropy{}).Eval(d, loss.Input{Logits: logits, Y: y}); err != nil {
			t.Fatal(err)
		}
		net.Backward(r.WS, d)
		list := net.Named()
		weight, offset := list[len(list)-2], list[len(list)-1].Offset
		for i := range k {
			if got := float64(net.Grads()[offset+i]); !(math.Abs(got-bias[i]) <= 1e-6) || (i < 4) != (got > 0) {
				t.Errorf("%s: bias %d: gradient %v, want %v, positive for the classes of no sample alone", name, i, got, bias[i])
			}
			for f, v := range want[i] {
				if got := float64(net.Grads()[weight.Offset+f*weight.Out+i]); !(math.Abs(got-v) <= 1e-5*(1+math.Abs(v))) {
					t.Fatalf("%s: weight %d of class %d: gradient %v, want %v", name, f, i, got, v)
				}
			}
		}
	}
}
