package arch_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

func vaeConfig(side int) arch.VAEConfig {
	return arch.VAEConfig{Channels: 3, Height: side, Width: side, Features: 32, Growth: 4, Latent: 64, Draws: 16}
}

func sharingConfig(side int) arch.SharingConfig {
	return arch.SharingConfig{Channels: 3, Height: side, Width: side, Classes: 100, Features: 20, Growth: 4, Blocks: 1}
}

// experts makes so many VAEs and classifiers.
func experts(t testing.TB, v arch.VAEConfig, c arch.SharingConfig, n int) (vaes []*arch.VAE, nets []*arch.Sharing) {
	t.Helper()
	for k := range n {
		vae, err := v.New(k, rng.New(uint64(k), "vae"))
		if err != nil {
			t.Fatal(err)
		}
		net, err := c.New(k, rng.New(uint64(k), "net"))
		if err != nil {
			t.Fatal(err)
		}
		vaes, nets = append(vaes, vae), append(nets, net)
	}
	return vaes, nets
}

// TestExpertSizes compares parameters and shapes with those of the networks in the code of CN-DPM's authors.
func TestExpertSizes(t *testing.T) {
	vaes, nets := experts(t, vaeConfig(32), sharingConfig(32), 18)
	total := 0
	for k := range vaes {
		total += vaes[k].Parameters() + len(nets[k].Net.Params())
		if got, want := vaeConfig(32).Size(k), vaes[k].Parameters(); got != want {
			t.Errorf("VAE %d: %d parameters are said, and it has %d", k, got, want)
		}
		if got, want := sharingConfig(32).Size(k), len(nets[k].Net.Params()); got != want {
			t.Errorf("classifier %d: %d parameters are said, and it has %d", k, got, want)
		}
	}
	deep := sharingConfig(32)
	deep.Blocks = 3
	if net, err := deep.New(2, rng.New(1, "net")); err != nil || deep.Size(2) != len(net.Net.Params()) {
		t.Errorf("three blocks: %d parameters are said (%v)", deep.Size(2), err)
	}
	for _, v := range []struct {
		what      string
		got, want int
	}{
		{"first VAE", vaes[0].Parameters(), 1131363}, {"first classifier", len(nets[0].Net.Params()), 494240},
		{"second VAE", vaes[1].Parameters(), 666059}, {"second classifier", len(nets[1].Net.Params()), 72928},
		{"18 experts, in tenths of a million", (total + 50_000) / 100_000, 170},
	} {
		if v.got != v.want {
			t.Errorf("%s: %d parameters, want %d", v.what, v.got, v.want)
		}
	}
	for side, want := range map[int]float64{84: 7.33, 128: 16.9} {
		v, err := vaeConfig(side).New(0, rng.New(1, "vae"))
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(v.Parameters()) / 1e6; math.Abs(got-want) >= 0.05 {
			t.Errorf("%d pixels: a first VAE of %.3f million parameters, want %g", side, got, want)
		}
	}
	// of the third VAE and classifier, which read 32 + 4 and 20 + 4 channels of others beside 4 of their own
	want := map[string][]int{
		"enc1.weight": {4, 3, 3, 3}, "enc2.weight": {8, 40, 3, 3}, "enc3.weight": {16, 8 * 8 * 80},
		"latent.weight": {128, 160},
		"dec1.weight":   {128, 64}, "dec2.weight": {4096, 128}, "dec3.weight": {64, 32, 4, 4}, "dec4.weight": {32, 3, 4, 4},
		"layer0.weight": {4, 3, 3, 3}, "layer1.0.conv1.weight": {4, 28, 3, 3}, "layer1.0.shortcut.weight": {4, 28, 1, 1},
		"layer2.0.conv1.weight": {8, 28, 3, 3}, "layer3.0.conv1.weight": {16, 56, 3, 3},
		"layer4.0.conv1.weight": {32, 112, 3, 3},
		"layer4.0.conv2.weight": {32, 32, 3, 3}, "linear.weight": {100, 224}, "linear.bias": {100},
	}
	for _, net := range []*nn.Network{vaes[2].Encoder, vaes[2].Decoder, nets[2].Net} {
		for _, p := range net.Info().Named {
			if shape, ok := want[p.Name]; ok && !slices.Equal(p.Shape(), shape) {
				t.Errorf("%s has shape %v, want %v", p.Name, p.Shape(), shape)
			}
			delete(want, p.Name)
		}
	}
	if len(want) > 0 {
		t.Errorf("no parameters %v", want)
	}
	if nets[0].Net.Info().Named[1].Name != "layer1.0.conv1.weight" ||
		slices.ContainsFunc(nets[0].Net.Info().Named, func(p nn.Param) bool { return p.Name == "layer1.0.shortcut.weight" }) {
		t.Error("the first classifier has a convolution beside its first block, whose map keeps its size")
	}
}

// TestWorkIsThatOfThePasses: what is said of experts is what their passes count.
func TestWorkIsThatOfThePasses(t *testing.T) {
	for _, side := range []int{12, 32} {
		v, c := vaeConfig(side), sharingConfig(side)
		v.Draws, c.Blocks = 3, 2
		vaes, nets := experts(t, v, c, 3)
		ws := vaes[0].Decoder.NewWorkspace(1)
		defer ws.Close()
		wantV, wantC := int64(0), int64(0)
		for k := range 3 {
			encode, decode := v.Work(k)
			wantV, wantC = wantV+encode+3*decode, wantC+c.Work(k)
			if got := v.Pass(ws, vaes[:k+1], 1, k).FLOPs(); got != wantV {
				t.Errorf("%d VAEs of %d pixels: %d operations, %d are said", k+1, side, got, wantV)
			}
			if got := c.Pass(ws, nets[:k+1], 1, k).FLOPs(); got != wantC {
				t.Errorf("%d classifiers of %d pixels: %d operations, %d are said", k+1, side, got, wantC)
			}
		}
	}
}

func sample(n, side int, seed uint64) *tensor.Tensor {
	x := tensor.New(n, 3, side, side)
	src := rng.New(seed, "images")
	for i := range x.Data {
		x.Data[i] = src.Float32()
	}
	return x
}

func normals(n int, seed uint64) []float32 {
	v := make([]float32, n)
	src := rng.New(seed, "normals")
	for i := range v {
		v[i] = float32(src.NormFloat64())
	}
	return v
}

// TestLateralPassIsThatOfEachExpert: the first of three experts gets the bits that it gets alone, whatever the room and
// the other images of a batch, and whether they learn or not.
func TestLateralPassIsThatOfEachExpert(t *testing.T) {
	v, c := vaeConfig(16), sharingConfig(16)
	v.Draws = 3
	vaes, nets := experts(t, v, c, 3)
	ws := vaes[0].Decoder.NewWorkspace(2)
	defer ws.Close()
	x, eps := sample(5, 16, 1), normals(5*3*64, 2)
	three, three2 := v.Pass(ws, vaes, 5, 0), c.Pass(ws, nets, 5, 0)
	three.Encode(x)
	three2.Classify(x)
	for n := 1; n <= 3; n++ {
		fewer, fewer2 := v.Pass(ws, vaes[:n], 7, n), c.Pass(ws, nets[:n], 7, n)
		fewer.Encode(x.Rows(1, 4))
		fewer2.Classify(x.Rows(1, 4))
		for k := range n {
			a, b := make([]float64, 5), make([]float64, 3)
			three.NLL(a, k, eps)
			fewer.NLL(b, k, eps[3*64:])
			if !slices.Equal(a[1:4], b) {
				t.Errorf("VAE %d of %d: %v, of 3: %v", k, n, b, a[1:4])
			}
			for i := range 3 {
				if !slices.Equal(three2.Logits(k, i+1), fewer2.Logits(k, i)) {
					t.Errorf("classifier %d of %d: other logits of image %d", k, n, i)
				}
			}
		}
	}
}

// TestGradientsStayInTheirExpert: learning changes the gradients of one expert, and those of a batch are the same where
// images of weight 0 are left out.
func TestGradientsStayInTheirExpert(t *testing.T) {
	v := vaeConfig(16)
	v.Draws = 2
	vaes, _ := experts(t, v, sharingConfig(16), 3)
	ws := vaes[0].Decoder.NewWorkspace(2)
	defer ws.Close()
	p := v.Pass(ws, vaes, 4, 0)
	p.Encode(sample(4, 16, 1))
	eps, nll := normals(4*2*64, 2), make([]float64, 4)
	before := ws.FLOPs()
	p.Learn(nll, 1, eps, []float32{0.5, 0, 0, 2})
	some := ws.FLOPs() - before
	for k, a := range vaes {
		for what, net := range map[string]*nn.Network{"encoder": a.Encoder, "decoder": a.Decoder} {
			some := slices.ContainsFunc(net.Grads(), func(g float32) bool { return g != 0 })
			if some != (k == 1) {
				t.Errorf("%s %d has gradients: %v", what, k, some)
			}
		}
	}
	before = ws.FLOPs()
	p.Learn(make([]float64, 4), 1, eps, []float32{0.5, 1, 1, 2})
	if all := ws.FLOPs() - before; some >= all {
		t.Errorf("%d operations where half of the images have no weight, %d otherwise", some, all)
	}
	want := make([]float64, 4)
	p.NLL(want, 1, eps)
	if nll[0] != want[0] || nll[3] != want[3] {
		t.Errorf("nll %v while it learns, %v otherwise", nll, want)
	}
}

// TestVAEGradients compares the gradients of the whole bound, of the second VAE, with central differences.
func TestVAEGradients(t *testing.T) {
	v := vaeConfig(12)
	v.Draws, v.Features, v.LogVariance = 2, 5, -1
	vaes, _ := experts(t, v, sharingConfig(12), 2)
	ws := vaes[0].Decoder.NewWorkspace(2)
	defer ws.Close()
	p := v.Pass(ws, vaes, 3, 1)
	x, eps := sample(3, 12, 1), normals(3*2*64, 2)
	weight, nll := []float32{0.5, 1, 0}, make([]float64, 3)
	run := func() float64 {
		p.Encode(x)
		p.NLL(nll, 1, eps)
		return 0.5*nll[0] + nll[1]
	}
	run()
	p.Learn(nll, 1, eps, weight)
	bad, all := 0, 0
	for _, net := range []*nn.Network{vaes[1].Encoder, vaes[1].Decoder} {
		for _, q := range net.Info().Named {
			for k := range 6 {
				i := q.Offset + k*7919%q.Len()
				const h = 1.0 / 512
				old := net.Params()[i]
				at := func(v float32) float64 {
					net.Params()[i] = v
					net.Changed()
					return run()
				}
				num := (at(old+h) - at(old-h)) / (2 * h)
				at(old)
				all++
				if g := float64(net.Grads()[i]); !(math.Abs(num-g) <= 0.02*math.Abs(num)+0.05) {
					bad++
					t.Logf("%s[%d]: gradient %g, central difference %g", q.Name, i, g, num)
				}
			}
		}
	}
	if bad*12 > all { // a difference that straddles a kink of a ReLU or of max-pool is another number
		t.Errorf("%d of %d gradients differ", bad, all)
	}
}

// TestExpertsRefuse images that their maps do not fit.
func TestExpertsRefuse(t *testing.T) {
	for _, side := range []int{8, 30, 33} {
		if _, err := vaeConfig(side).New(0, rng.New(1, "vae")); err == nil ||
			!strings.Contains(err.Error(), "divisible by 4") {
			t.Errorf("%d pixels: VAE: %v", side, err)
		}
		if _, err := sharingConfig(side).New(0, rng.New(1, "net")); err == nil ||
			!strings.Contains(err.Error(), "divisible by 4") {
			t.Errorf("%d pixels: classifier: %v", side, err)
		}
	}
}
