package nn_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"ocl/internal/rng"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/tensor"
)

// What Layers says is all there is to a network: by it alone the logits are those of Predict.
func TestLayersDescribeTheNetwork(t *testing.T) {
	resnet, err := arch.ResNet18(arch.Config{Channels: 3, Height: 25, Width: 34, Classes: 5, NF: 3}, rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	mlp, err := arch.MLP(arch.Config{Channels: 2, Height: 5, Width: 4, Classes: 3, Hidden: []int{7, 6}}, rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	for name, net := range map[string]*nn.Network{"resnet18": resnet, "mlp": mlp} {
		r := rand.New(rand.NewPCG(1, 2))
		for _, p := range net.Named() {
			if p.In == 0 { // γ, β and biases differ from their first values
				for i := range p.Len() {
					net.Params()[p.Offset+i] += 0.2 * float32(r.NormFloat64())
				}
			}
		}
		for _, p := range net.Statistics() {
			for i := range p.Len() {
				net.Running()[p.Offset+i] = map[bool]float32{true: 0.05 + 0.1*r.Float32(), false: 0.1 * float32(r.NormFloat64())}[strings.HasSuffix(p.Name, "var")]
			}
		}
		net.Changed()
		c, h, w := net.Input()
		x := tensor.New(2, c, h, w)
		for i := range x.Data {
			x.Data[i] = r.Float32()
		}
		ws := net.NewWorkspace(1)
		defer ws.Close()
		got := net.Predict(ws, x)
		if math.Abs(float64(got.Row(0)[0]-got.Row(1)[0])) < 0.01 {
			t.Errorf("%s: logits %v of two images; the test wants them to differ", name, got.Data)
		}
		_, exact := newReference(net, x, nn.Eval, nil)
		for i := range 2 {
			logits, _ := exact.image(i)
			for k, want := range logits {
				if diff := math.Abs(float64(got.Row(i)[k]) - want); !(diff <= 1e-4*max(1, math.Abs(want))) {
					t.Errorf("%s: image %d, logit %d: %v, and %v by the description", name, i, k, got.Row(i)[k], want)
				}
			}
		}
	}
}
