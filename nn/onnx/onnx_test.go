package onnx_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/backbone"
	"ocl/nn/onnx"
	"ocl/nn/safetensors"
	"ocl/nn/weights"
	"ocl/rng"
)

// described is an input or output in words.
func described(t *testing.T, v fields) string {
	t.Helper()
	tensor := v.all(t, 2)[0].all(t, 1)[0]
	var dims []string
	for _, d := range tensor.all(t, 2)[0].all(t, 1) {
		if name := d.text(2); name != "" {
			dims = append(dims, name)
		} else {
			dims = append(dims, fmt.Sprint(d.numbers(1)[0]))
		}
	}
	return fmt.Sprintf("%s %s [%s]", v.text(1), map[int]string{1: "float", 2: "uint8", 7: "int64"}[tensor.numbers(1)[0]],
		strings.Join(dims, ","))
}

// TestEmbeddings: a model of embeddings takes them as they are, and says nothing of pixels.
func TestEmbeddings(t *testing.T) {
	net, err := arch.Linear(arch.Config{Channels: 6, Height: 1, Width: 1, Classes: 3}, rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	m := decodeModel(t, written(t, onnx.Model{Net: net, Embeddings: true, Rules: []onnx.Rule{{Name: "head"}},
		Version: "0"}))
	if d := cmp.Diff([]string{"embeddings float [batch,6]"}, m.inputs); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]string{"ocl_version": "0", "embedding_size": "6", "rule": "head"}, m.metadata); d != "" {
		t.Error(d)
	}
	if first := m.nodes[0]; first.operator != "Flatten" || first.inputs[0] != "embeddings" {
		t.Errorf("the graph begins with %v", first)
	}
}

// TestFrozen: a pretrained network in front of a classifier takes images, and both are in one graph.
func TestFrozen(t *testing.T) {
	c := arch.Config{Channels: 3, Height: 8, Width: 8, Classes: 2, Hidden: []int{6}}
	own, err := arch.MLP(c, rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	head, err := arch.MLP(arch.Config{Channels: 6, Height: 1, Width: 1, Classes: 3, Hidden: []int{4}},
		rng.New(2, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	opened := func(more map[string]string) *backbone.Backbone {
		said := map[string]string{"ocl_version": "1", "architecture": "mlp", "shape": "[3,8,8]", "classes": "2",
			"hidden": "[6]", "mean": "[0.5,0.25,0]", "std": "[1,2,1]", "data": "glyphs"}
		maps.Copy(said, more)
		var text bytes.Buffer
		path := filepath.Join(t.TempDir(), "own.safetensors")
		if err := errors.Join(safetensors.Write(&text, weights.Of(own), said),
			os.WriteFile(path, text.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
		net, err := backbone.Open(path, nn.DefaultEngine())
		if err != nil {
			t.Fatal(err)
		}
		return net
	}
	net, cut := opened(nil), opened(map[string]string{"resize": "12", "filter": "bicubic"})
	layers := []backbone.Layer{
		{Kind: backbone.Convolution, Name: "stem", Out: 1, Residual: -1, Weight: make([]float32, 6*3*9),
			Bias: make([]float32, 6), Shape: [4]int{6, 3, 3, 3}, Groups: 1, Side: 3, Stride: 2, Behind: 1, ReLU: true, Most: 6},
		{Kind: backbone.Maximum, In: 1, Out: 2, Residual: -1, Side: 3, Stride: 1, Before: 1, Behind: 1},
		{Kind: backbone.Convolution, Name: "depthwise", In: 2, Out: 3, Residual: 1, Weight: make([]float32, 6*9),
			Bias: make([]float32, 6), Shape: [4]int{6, 1, 3, 3}, Groups: 6, Side: 3, Stride: 1, Before: 1, Behind: 1,
			ReLU: true},
		{Kind: backbone.Mean, In: 3, Out: 4, Residual: -1},
	}
	const d = 4
	of := func(n int) []float32 { return make([]float32, n) }
	norm := func(name string, in, out int) backbone.Layer {
		return backbone.Layer{Kind: backbone.LayerNorm, Name: name, In: in, Out: out, Residual: -1, Weight: of(d), Bias: of(d),
			Shape: [4]int{d}, Epsilon: 1e-6}
	}
	product := func(name string, in, out, res, ins, outs int, gelu string) backbone.Layer {
		return backbone.Layer{Kind: backbone.Product, Name: name, In: in, Out: out, Residual: res, Weight: of(ins * outs),
			Bias: of(outs), Shape: [4]int{ins, outs}, GELU: gelu}
	}
	transformer := []backbone.Layer{
		{Kind: backbone.Convolution, Name: "patches", Out: 1, Residual: -1, Weight: of(d * 3 * 16), Bias: of(d),
			Shape: [4]int{d, 3, 4, 4}, Groups: 1, Side: 4, Stride: 4},
		{Kind: backbone.Tokens, In: 1, Out: 2, Residual: -1, Rows: 6, First: 2, Start: of(6 * d), Shape: [4]int{d}},
		norm("norm1", 2, 3), product("qkv", 3, 4, -1, d, 3*d, ""),
		{Kind: backbone.Attention, In: 4, Out: 5, Residual: -1, Rows: 6, Heads: 2, Shape: [4]int{d}},
		product("proj", 5, 6, 2, d, d, ""), product("fc1", 6, 7, -1, d, 4*d, "erf"), product("fc2", 7, 8, 6, 4*d, d, "quick"),
		{Kind: backbone.ClassMean, In: 8, Out: 9, Residual: -1, Rows: 1, First: 2, Shape: [4]int{2 * d}},
		{Kind: backbone.ClassToken, In: 9, Out: 10, Residual: -1, Rows: 1, Shape: [4]int{2 * d}},
	}
	for name, f := range map[string]onnx.Frozen{
		"a transformer":  {Net: net, Layers: transformer, Of: [3]int{3, 8, 8}},
		"of the project": {Net: net, Of: [3]int{3, 8, 8}}, "of others": {Net: net, Layers: layers, Of: [3]int{3, 8, 8}},
		"of what it scales to": {Net: cut, Of: [3]int{3, 12, 12}}, "scaled and cut": {Net: cut, Of: [3]int{3, 8, 8}},
		"grey": {Net: net, Of: [3]int{1, 8, 8}}, "of other images": {Net: net, Of: [3]int{3, 12, 20}},
	} {
		m := decodeModel(t, written(t, onnx.Model{Net: head, Embeddings: true, Frozen: &f, Rules: []onnx.Rule{{Name: "head"}},
			Version: "0"}))
		holdsTogether(t, name, m)
		if want := fmt.Sprintf("images uint8 [batch,%d,height,width]", f.Of[0]); len(m.inputs) != 1 || m.inputs[0] != want {
			t.Errorf("%s: inputs %v, want %s", name, m.inputs, want)
		}
		if want := fmt.Sprintf("[%d,%d,%d]", f.Of[0], f.Of[1], f.Of[2]); m.metadata["image_size"] != want ||
			m.metadata["backbone_digest"] != f.Net.Digest() || m.metadata["mean"] != "[0.5,0.25,0]" {
			t.Errorf("%s: metadata %v", name, m.metadata)
		}
		operators := map[string]int{}
		for _, n := range m.nodes {
			operators[n.operator]++
		}
		want := map[string]int{"Resize": 1, "Gemm": 3, "Cast": 5}
		switch name {
		case "of what it scales to": // one Slice is that of images of any size
			want["Slice"] = 2
		case "scaled and cut":
			want["Slice"], want["Resize"] = 2, 2
		case "grey":
			want["Concat"] = 1
		case "of other images":
			want["Resize"] = 2
		case "a transformer":
			want["Gemm"], want["Conv"], want["LayerNormalization"], want["Softmax"], want["Erf"], want["Sigmoid"], want["Pad"],
				want["ReduceMean"], want["Flatten"] = 2, 1, 1, 2, 1, 1, 1, 1, 2
		case "of others":
			want["Gemm"], want["Conv"], want["MaxPool"], want["Clip"], want["Add"], want["GlobalAveragePool"] = 2, 2, 1, 1, 2, 1
		}
		for o, n := range want {
			if operators[o] != n {
				t.Errorf("%s: %d nodes %s, want %d", name, operators[o], o, n)
			}
		}
	}
}

// A model declares its inputs and outputs, each node reads only earlier values, and each value is read by a node or is
// an output.
func TestModelHoldsTogether(t *testing.T) {
	for name, want := range map[string]model{
		"resnet18": {
			inputs:  []string{"images uint8 [batch,3,height,width]"},
			outputs: []string{"label int64 [batch]", "logits float [batch,4]", "probabilities float [batch,4]"},
			metadata: map[string]string{"ocl_version": "0", "image_size": "[3,25,25]", "fit": "crop", "mean": "[0.5,0.4,0.3]",
				"std":  "[0.25,0.2,0.3]",
				"rule": "head", "class_names": `["ant","bee","cow","doe"]`, "checkpoint": "none"},
		},
		"mlp": {
			inputs: []string{"images uint8 [batch,1,height,width]"},
			outputs: []string{"label int64 [batch]", "scores float [batch,3]", "head_label int64 [batch]",
				"logits float [batch,3]", "probabilities float [batch,3]"},
			metadata: map[string]string{"ocl_version": "0", "image_size": "[1,9,9]", "fit": "stretch", "mean": "[0]",
				"std":  "[1]",
				"rule": "ncm", "classes_without_mean": "[1]"},
		},
	} {
		m := decodeModel(t, written(t, small(t)[name]))
		if m.ir != onnx.IRVersion || m.opset != onnx.Opset || m.producer != "ocl" || m.version != "0" {
			t.Errorf("%s: IR version %d, opset %d, by %s %s", name, m.ir, m.opset, m.producer, m.version)
		}
		for what, d := range map[string]string{
			"inputs": cmp.Diff(want.inputs, m.inputs), "outputs": cmp.Diff(want.outputs, m.outputs),
			"metadata": cmp.Diff(want.metadata, m.metadata),
		} {
			if d != "" {
				t.Errorf("%s: %s: %s", name, what, d)
			}
		}
		holdsTogether(t, name, m)
	}
}

// holdsTogether wants each node to read only earlier values, and each value to be read by a node or to be an output.
func holdsTogether(t *testing.T, name string, m model) {
	t.Helper()
	known, read := map[string]bool{"": true, "images": true}, map[string]bool{}
	for c := range m.constants {
		known[c] = true
	}
	for _, n := range m.nodes {
		for _, in := range n.inputs {
			if !known[in] {
				t.Errorf("%s: %s reads %s, which does not come before it", name, n.outputs[0], in)
			}
			read[in] = true
		}
		if len(n.outputs) != 1 || known[n.outputs[0]] {
			t.Errorf("%s: %s writes %q; a name is there once", name, n.operator, n.outputs)
		}
		known[n.outputs[0]] = true
		if n.operator == "BatchNormalization" {
			t.Errorf("%s: there is batch norm, which convolutions hold", name)
		}
	}
	for _, v := range m.outputs {
		read[strings.Fields(v)[0]] = true
	}
	for v := range known {
		if v != "" && !read[v] {
			t.Errorf("%s: nobody reads %s", name, v)
		}
	}
}

// A network whose numbers are not finite is refused, and its file is not begun.
func TestWriteRefusesWhatDiverged(t *testing.T) {
	for want, spoil := range map[string]func(m onnx.Model){
		"parameter linear.bias has a value that is not a finite number. The run diverged, so there is nothing to export. Use another run": func(m onnx.Model) { last(m.Net.Params()) },
		"statistic layer4.1.bn2.running_var has a value": func(m onnx.Model) { last(m.Net.Running()) },
		"a class mean has a value":                       func(m onnx.Model) { last(m.Rules[0].Means.Values) },
	} {
		m := small(t)["resnet18"]
		if strings.Contains(want, "mean") {
			m = small(t)["mlp"]
		}
		spoil(m)
		var b bytes.Buffer
		if err := onnx.Write(&b, m); err == nil || !strings.Contains(err.Error(), want) || b.Len() > 0 {
			t.Errorf("%d bytes, error %v; want %s", b.Len(), err, want)
		}
	}
}

func last(v []float32) { v[len(v)-1] = float32(math.Inf(1)) }
