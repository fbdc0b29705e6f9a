package onnx_test

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/onnx"
	"ocl/nn/tensor"
	"ocl/rng"
)

// TestHeads: the logits of a graph are those of the network, whose features the graph scales to length 1 for a cosine
// head, once for all rules, and has logits of active classes alone. A graph without logits leaves the head out.
func TestHeads(t *testing.T) {
	for _, head := range []nn.Head{{}, {Kind: nn.CosineHead}, {Kind: nn.ProjectionHead, Out: 7}} {
		net, err := arch.MLP(arch.Config{Channels: 1, Height: 9, Width: 9, Classes: 5, Hidden: []int{6}, Head: head},
			rng.New(1, "network/init"))
		if err != nil {
			t.Fatal(err)
		}
		net.SetActive(4)
		means := onnx.Rule{Name: "ncm", Means: &onnx.Means{Classes: []int{1}, Values: make([]float32, 6)}}
		rules := []onnx.Rule{{Name: "head"}, means}
		if !head.PerClass() {
			rules = rules[1:]
		}
		m := decodeModel(t, written(t, onnx.Model{Net: net, Rules: rules, Version: "0"}))
		units, logits := 0, node{}
		for _, n := range m.nodes {
			if slices.Contains(n.outputs, "features.unit") {
				units++
			}
			if slices.Contains(n.outputs, "logits") {
				logits = n
			}
		}
		if units != 1 {
			t.Errorf("%v: features are scaled %d times", head, units)
		}
		if !head.PerClass() {
			if logits.operator != "" || len(m.constants["head.0.weight"]) > 0 {
				t.Errorf("%v: the head is in the graph: %v", head, logits)
			}
			continue
		}
		ws := net.NewWorkspace(1)
		defer ws.Close()
		x := tensor.New(2, 1, 9, 9)
		for i := range x.Data {
			x.Data[i] = float32(i%13) / 13
		}
		out := net.Predict(ws, x)
		weight := values(t, m, "linear.weight")
		bias := make([]float32, 4)
		cosine := logits.inputs[0] == "features.unit"
		if cosine != (head.Kind == nn.CosineHead) || len(logits.inputs) == 3 == cosine {
			t.Fatalf("%v: logits are %v", head, logits)
		}
		if !cosine {
			bias = values(t, m, "linear.bias")
		}
		for img := range 2 {
			f, length := out.Features.Row(img), 0.0
			for _, v := range f {
				length += float64(v) * float64(v)
			}
			for k, want := range out.Logits.Row(img) {
				sum := 0.0
				for i, v := range f {
					sum += float64(v) * float64(weight[i*4+k])
				}
				if cosine {
					sum /= math.Sqrt(length)
				}
				if got := sum + float64(bias[k]); !(math.Abs(got-float64(want)) <= 1e-6) {
					t.Errorf("%v: logit %d of image %d is %v, want %v", head, k, img, got, want)
				}
			}
		}
	}
}

// values are those of a constant.
func values(t *testing.T, m model, name string) []float32 {
	t.Helper()
	raw := []byte(m.constants[name].text(9))
	v := make([]float32, len(raw)/4)
	if _, err := binary.Decode(raw, binary.LittleEndian, v); err != nil || len(v) == 0 {
		t.Fatalf("%s: %d values, %v", name, len(v), err)
	}
	return v
}

// TestWaves: a layer with a cosine is a product with its cosine behind it.
func TestWaves(t *testing.T) {
	net, err := arch.MLP(arch.Config{Channels: 1, Height: 3, Width: 3, Classes: 2, Hidden: []int{6}, Waves: true},
		rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	m := decodeModel(t, written(t, onnx.Model{Net: net, Rules: []onnx.Rule{{Name: "head"}}, Version: "0"}))
	found := false
	for i, n := range m.nodes {
		if n.operator == "Relu" {
			t.Errorf("node %v", n)
		}
		found = found || n.operator == "Cos" && i > 0 && m.nodes[i-1].operator == "Gemm" &&
			n.inputs[0] == m.nodes[i-1].outputs[0]
	}
	if !found {
		t.Errorf("no cosine follows the layer: %v", m.nodes)
	}
}
