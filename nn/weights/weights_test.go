package weights

import (
	"bytes"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl/internal/goldentest"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/safetensors"
	"ocl/nn/tensor"
	"ocl/rng"
)

func resnet(t *testing.T, classes int, seed uint64) *nn.Network {
	t.Helper()
	net, err := arch.ResNet18(arch.Config{Channels: 1, Height: 26, Width: 25, Classes: classes, NF: 1},
		rng.New(seed, "net"))
	if err != nil {
		t.Fatal(err)
	}
	return net
}

func mlp(t *testing.T, classes int, seed uint64) *nn.Network {
	t.Helper()
	net, err := arch.MLP(arch.Config{Channels: 2, Height: 4, Width: 3, Classes: classes, Hidden: []int{5, 4}},
		rng.New(seed, "net"))
	if err != nil {
		t.Fatal(err)
	}
	return net
}

func readerOf(t *testing.T, tensors []safetensors.Tensor) *safetensors.Reader {
	t.Helper()
	var b bytes.Buffer
	if err := safetensors.Write(&b, tensors, nil); err != nil {
		t.Fatal(err)
	}
	r, err := safetensors.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// golden is what PyTorch computed (testdata/golden.py).
type golden struct {
	Versions map[string]string
	Cases    map[string]struct {
		Shape            []int
		Classes          int
		Logits, Features [][]float32
	}
}

// Networks with the weights of a file of PyTorch have PyTorch's logits and features. The file of the ResNet has numbers
// of 16 bits, and counts of batches.
func TestNetworksOfPyTorch(t *testing.T) {
	var g golden
	goldentest.Read(t, "testdata/golden.json", &g)
	if len(g.Cases) != 2 {
		t.Fatalf("%d cases", len(g.Cases))
	}
	for name, net := range map[string]*nn.Network{"resnet18": resnet(t, 3, 1), "mlp": mlp(t, 3, 1)} {
		b, err := os.ReadFile("testdata/" + name + ".safetensors")
		if err != nil {
			t.Fatal(err)
		}
		r, err := safetensors.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		start, err := Match(net, r)
		if err != nil {
			t.Fatal(err)
		}
		want := g.Cases[name]
		x := tensor.New(2, want.Shape[0], want.Shape[1], want.Shape[2])
		for i := range x.Data {
			x.Data[i] = float32(float64(37*i%256) / 255)
		}
		ws := net.NewWorkspace(1)
		defer ws.Close()
		net.Predict(ws, x) // the drawn weights, which the workspace must not keep
		start.Into(net, true)
		out := net.Predict(ws, x)
		worst, largest := 0.0, 0.0
		for i := range want.Logits {
			for k, v := range slices.Concat(want.Logits[i], want.Features[i]) {
				got := slices.Concat(out.Logits.Row(i), out.Features.Row(i))[k]
				worst, largest = max(worst, math.Abs(float64(got-v))), max(largest, math.Abs(float64(v)))
			}
		}
		if !(worst <= 1e-6) || !(largest > 0.1) {
			t.Errorf("%s: logits or features differ by %v from those of torch %s, the largest of which is %v", name, worst,
				g.Versions["torch"], largest)
		}
	}
}

// A network that starts from the weights of another one is the same, bit for bit.
func TestWeightsGoOutAndIn(t *testing.T) {
	for name, nets := range map[string][2]*nn.Network{"resnet18": {resnet(t, 3, 1), resnet(t, 3, 2)},
		"mlp": {mlp(t, 3, 1), mlp(t, 3, 2)}} {
		from, to := nets[0], nets[1]
		for i := range from.Running() {
			from.Running()[i] = float32(i)
		}
		list := Of(from)
		if len(list) != len(from.Info().Named)+len(from.Info().Statistics) {
			t.Errorf("%s: %d tensors", name, len(list))
		}
		start, err := Match(to, readerOf(t, list))
		if err != nil {
			t.Fatal(err)
		}
		start.Into(to, true)
		if !cmp.Equal(from.Params(), to.Params()) || !cmp.Equal(from.Running(), to.Running()) || start.OtherHead != "" {
			t.Errorf("%s: parameters or running statistics differ, %s", name, start.OtherHead)
		}
	}
}

// All differences are in one message, each kind cut at a readable number.
func TestMismatchListsAll(t *testing.T) {
	net := resnet(t, 3, 1)
	list := Of(net)
	var changed []safetensors.Tensor
	for _, w := range list {
		switch {
		case strings.HasPrefix(w.Name, "layer1."): // missing
		case w.Name == "conv1.weight":
			changed = append(changed, safetensors.Tensor{Name: w.Name, Shape: []int{9}, Floats: w.Floats})
		case w.Name == "bn1.bias":
			changed = append(changed, w, safetensors.Tensor{Name: "module.\x1bbias", Shape: w.Shape, Floats: w.Floats})
		default:
			changed = append(changed, w)
		}
	}
	_, err := Match(net, readerOf(t, changed))
	const want = "22 tensors do not fit the network (missing: layer1.0.conv1.weight, layer1.0.bn1.weight, layer1.0.bn1.bias, layer1.0.conv2.weight, " +
		`layer1.0.bn2.weight, and 15 more; of another shape: conv1.weight is [9] instead of [1 1 3 3]; unknown: "module.\x1bbias"). Rename or`
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s…", err, want)
	}
	_, err = Match(net, readerOf(t, list[1:]))
	if err == nil || !strings.HasPrefix(err.Error(), "1 tensor does not fit the network (missing: conv1.weight).") {
		t.Error(err)
	}
}

// Only a whole head for other classes is passed over, and it stays as the network drew it.
func TestHeadForOtherClassesStays(t *testing.T) {
	from, to := mlp(t, 7, 1), mlp(t, 3, 2)
	before := slices.Clone(to.Params())
	list := Of(from)
	start, err := Match(to, readerOf(t, list))
	if err != nil {
		t.Fatal(err)
	}
	if want := "the file has a head for 7 classes, but there are 3. The head (linear.weight, linear.bias) starts from drawn weights"; start.OtherHead != want {
		t.Errorf("got  %s\nwant %s", start.OtherHead, want)
	}
	start.Into(to, true)
	head := to.Info().Named[len(to.Info().Named)-2].Offset
	if !slices.Equal(to.Params()[:head], from.Params()[:head]) || !slices.Equal(to.Params()[head:], before[head:]) {
		t.Error("the body is not that of the file, or the head not the drawn one")
	}
	if _, err := Match(to, readerOf(t, list[:len(list)-1])); err == nil ||
		!strings.Contains(err.Error(), "linear.weight is [7 4] instead of [3 4]") {
		t.Errorf("a head without its bias: %v", err)
	}
}

// Without head, only the body is set.
func TestBodyAlone(t *testing.T) {
	from, to := mlp(t, 3, 1), mlp(t, 3, 2)
	before := slices.Clone(to.Params())
	start, err := Match(to, readerOf(t, Of(from)))
	if err != nil {
		t.Fatal(err)
	}
	start.Into(to, false)
	head := to.Info().Named[len(to.Info().Named)-2].Offset
	if !slices.Equal(to.Params()[:head], from.Params()[:head]) || !slices.Equal(to.Params()[head:], before[head:]) {
		t.Error("the body is not that of the file, or the head not the drawn one")
	}
}

func TestImpossibleValuesAreRefused(t *testing.T) {
	net := resnet(t, 3, 1)
	for name, c := range map[string]struct {
		value float32
		want  string
	}{
		"conv1.weight":    {float32(math.NaN()), "conv1.weight: value 1 is NaN. Save weights of finite numbers"},
		"linear.weight":   {float32(math.Inf(1)), "linear.weight: value 1 is +Inf."},
		"bn1.running_var": {-1, "bn1.running_var: value 0 is -1, but a variance is not negative."},
	} {
		list := Of(net)
		i := slices.IndexFunc(list, func(w safetensors.Tensor) bool { return w.Name == name })
		list[i].Floats[min(1, len(list[i].Floats)-1)] = c.value
		if _, err := Match(net, readerOf(t, list)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
	list := Of(net)
	list[0] = safetensors.Tensor{Name: list[0].Name, Shape: list[0].Shape, Ints: make([]int64, len(list[0].Floats))}
	if _, err := Match(net, readerOf(t, list)); err == nil ||
		!strings.Contains(err.Error(), "has the type I64, but weights are") {
		t.Errorf("integers: %v", err)
	}
}

// TestOtherKindOfHead: of a file with a head of another kind the trunk is taken, and what was left out is said.
func TestOtherKindOfHead(t *testing.T) {
	kinds := map[string]nn.Head{"linear": {}, "cosine": {Kind: nn.CosineHead, Scale: 10},
		"projection": {Kind: nn.ProjectionHead, Out: 4}}
	made := func(h nn.Head, seed uint64) *nn.Network {
		net, err := arch.MLP(arch.Config{Channels: 1, Height: 3, Width: 3, Classes: 5, Hidden: []int{6}, Head: h},
			rng.New(seed, "net"))
		if err != nil {
			t.Fatal(err)
		}
		return net
	}
	for from, theirs := range kinds {
		list := Of(made(theirs, 1))
		for to, own := range kinds {
			net := made(own, 2)
			before := slices.Clone(net.Params())
			s, err := Match(net, readerOf(t, list))
			if err != nil {
				t.Errorf("%s to %s: %v", from, to, err)
				continue
			}
			s.Into(net, true)
			if (s.OtherHead != "") != (from != to) {
				t.Errorf("%s to %s: %q", from, to, s.OtherHead)
			}
			for _, p := range net.Info().Named {
				head := !strings.HasPrefix(p.Name, "hidden.")
				same := slices.Equal(net.Params()[p.Offset:][:p.Len()], before[p.Offset:][:p.Len()])
				if p.In > 0 && same != (head && from != to) {
					t.Errorf("%s to %s: %s stayed: %v", from, to, p.Name, same)
				}
			}
		}
	}
}
