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

// activation is a layer's output [c,h,w] of one image.
type activation struct {
	c, h, w int
	v       []float64
}

// described computes the logits of one image by the description of a network alone, in float64.
func described(net *nn.Network, x []float32) []float64 {
	c, h, w := net.Input()
	m := activation{c, h, w, nil}
	for _, v := range x {
		m.v = append(m.v, float64(v))
	}
	for _, l := range net.Layers() {
		switch l.Kind {
		case nn.StemLayer:
			m = rectified(convolved(net, l.Convs[0], m))
		case nn.BlockLayer:
			y := convolved(net, l.Convs[1], rectified(convolved(net, l.Convs[0], m)))
			if len(l.Convs) > 2 {
				m = convolved(net, l.Convs[2], m)
			}
			for i, v := range m.v {
				y.v[i] += v
			}
			m = rectified(y)
		case nn.PoolLayer:
			y := activation{m.c, m.h / l.Side, m.w / l.Side, nil}
			for i := range y.c * y.h * y.w {
				ch, oy, ox, sum := i/(y.h*y.w), i/y.w%y.h, i%y.w, 0.0
				for k := range l.Side * l.Side {
					sum += m.v[(ch*m.h+oy*l.Side+k/l.Side)*m.w+ox*l.Side+k%l.Side]
				}
				y.v = append(y.v, sum/float64(l.Side*l.Side))
			}
			m = y
		case nn.LinearLayer:
			y := activation{l.Weight.Out, 1, 1, nil}
			for o := range y.c {
				sum := float64(net.Params()[l.Bias.Offset+o])
				for i, v := range m.v {
					sum += v * float64(net.Params()[l.Weight.Offset+i*l.Weight.Out+o])
				}
				y.v = append(y.v, sum)
			}
			if m = y; l.ReLU {
				m = rectified(m)
			}
		}
	}
	return m.v
}

// convolved is a convolution and its batch norm.
func convolved(net *nn.Network, c nn.ConvInfo, x activation) activation {
	weight := make([]float32, c.Weight.Len())
	c.Weight.ToTorch(weight, net.Params()[c.Weight.Offset:][:c.Weight.Len()])
	k := int(math.Sqrt(float64(c.Weight.Taps)))
	y := activation{c.Weight.Out, (x.h + c.Stride - 1) / c.Stride, (x.w + c.Stride - 1) / c.Stride, nil}
	for i := range y.c * y.h * y.w {
		o, oy, ox, sum := i/(y.h*y.w), i/y.w%y.h, i%y.w, 0.0
		for j := range x.c * k * k {
			iy, ix := oy*c.Stride+j/k%k-k/2, ox*c.Stride+j%k-k/2
			if iy >= 0 && iy < x.h && ix >= 0 && ix < x.w {
				sum += x.v[(j/(k*k)*x.h+iy)*x.w+ix] * float64(weight[o*x.c*k*k+j])
			}
		}
		at := func(v []float32, p nn.Param) float64 { return float64(v[p.Offset+o]) }
		scale := at(net.Params(), c.Gamma) / math.Sqrt(at(net.Running(), c.Variance)+c.Eps)
		y.v = append(y.v, (sum-at(net.Running(), c.Mean))*scale+at(net.Params(), c.Beta))
	}
	return y
}

func rectified(m activation) activation {
	for i, v := range m.v {
		m.v[i] = max(v, 0)
	}
	return m
}

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
		for i := range 2 {
			for k, want := range described(net, x.Row(i)) {
				if diff := math.Abs(float64(got.Row(i)[k]) - want); !(diff <= 1e-4*max(1, math.Abs(want))) {
					t.Errorf("%s: image %d, logit %d: %v, and %v by the description", name, i, k, got.Row(i)[k], want)
				}
			}
		}
	}
}
