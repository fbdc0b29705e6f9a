package onnx_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl/interop/onnx"
	"ocl/nn/arch"
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
	return fmt.Sprintf("%s %s [%s]", v.text(1), map[int]string{1: "float", 2: "uint8", 7: "int64"}[tensor.numbers(1)[0]], strings.Join(dims, ","))
}

// TestEmbeddings: a model of embeddings takes them as they are, and says nothing of pixels.
func TestEmbeddings(t *testing.T) {
	net, err := arch.Linear(arch.Config{Channels: 6, Height: 1, Width: 1, Classes: 3}, rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	m := decodeModel(t, written(t, onnx.Model{Net: net, Embeddings: true, Rules: []onnx.Rule{{Name: "head"}}, Version: "0"}))
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

// A model declares its inputs and outputs, each node reads only earlier values, and each value is read by a node or is an output.
func TestModelHoldsTogether(t *testing.T) {
	for name, want := range map[string]model{
		"resnet18": {
			inputs:  []string{"images uint8 [batch,3,height,width]"},
			outputs: []string{"label int64 [batch]", "logits float [batch,4]", "probabilities float [batch,4]"},
			metadata: map[string]string{"ocl_version": "0", "image_size": "[3,25,25]", "fit": "crop", "mean": "[0.5,0.4,0.3]", "std": "[0.25,0.2,0.3]",
				"rule": "head", "class_names": `["ant","bee","cow","doe"]`, "checkpoint": "none"},
		},
		"mlp": {
			inputs:  []string{"images uint8 [batch,1,height,width]"},
			outputs: []string{"label int64 [batch]", "scores float [batch,3]", "head_label int64 [batch]", "logits float [batch,3]", "probabilities float [batch,3]"},
			metadata: map[string]string{"ocl_version": "0", "image_size": "[1,9,9]", "fit": "stretch", "mean": "[0]", "std": "[1]",
				"rule": "ncm", "classes_without_mean": "[1]"},
		},
	} {
		m := decodeModel(t, written(t, small(t)[name]))
		if m.ir != onnx.IRVersion || m.opset != onnx.Opset || m.producer != "ocl" || m.version != "0" {
			t.Errorf("%s: IR version %d, opset %d, by %s %s", name, m.ir, m.opset, m.producer, m.version)
		}
		for what, d := range map[string]string{
			"inputs": cmp.Diff(want.inputs, m.inputs), "outputs": cmp.Diff(want.outputs, m.outputs), "metadata": cmp.Diff(want.metadata, m.metadata),
		} {
			if d != "" {
				t.Errorf("%s: %s: %s", name, what, d)
			}
		}
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
