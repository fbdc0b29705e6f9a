package onnx_test

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// fields are those of a protobuf message by number: numbers as uint64, and the rest as bytes.
type fields map[protowire.Number][]any

// decoded is a message, whose fields are all numbers or bytes.
func decoded(t *testing.T, b []byte) fields {
	t.Helper()
	f := fields{}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatalf("a tag: %v", protowire.ParseError(n))
		}
		b = b[n:]
		switch kind {
		case protowire.VarintType:
			v, n := protowire.ConsumeVarint(b)
			if n < 0 {
				t.Fatalf("field %d: %v", number, protowire.ParseError(n))
			}
			f[number], b = append(f[number], v), b[n:]
		case protowire.BytesType:
			v, n := protowire.ConsumeBytes(b)
			if n < 0 {
				t.Fatalf("field %d: %v", number, protowire.ParseError(n))
			}
			f[number], b = append(f[number], v), b[n:]
		default:
			t.Fatalf("field %d is of kind %d, which no message of a model has", number, kind)
		}
	}
	return f
}

// all are the messages of a field.
func (f fields) all(t *testing.T, number protowire.Number) (list []fields) {
	t.Helper()
	for _, v := range f[number] {
		list = append(list, decoded(t, v.([]byte)))
	}
	return list
}

// texts are the texts of a field.
func (f fields) texts(number protowire.Number) (list []string) {
	for _, v := range f[number] {
		list = append(list, string(v.([]byte)))
	}
	return list
}

func (f fields) text(number protowire.Number) string {
	if list := f.texts(number); len(list) == 1 {
		return list[0]
	}
	return ""
}

func (f fields) numbers(number protowire.Number) (list []int) {
	for _, v := range f[number] {
		list = append(list, int(v.(uint64)))
	}
	return list
}

// model is a model as a reader of ONNX sees it. The numbers of fields here are those of onnx.proto again, as numbers.
type model struct {
	ir, opset         int
	producer, version string
	nodes             []node
	constants         map[string]fields // TensorProto
	inputs, outputs   []string          // "NAME type [dims]"
	metadata          map[string]string
}

type node struct {
	operator        string
	inputs, outputs []string
}

func decodeModel(t *testing.T, b []byte) model {
	t.Helper()
	f := decoded(t, b)
	m := model{ir: f.numbers(1)[0], producer: f.text(2), version: f.text(3), constants: map[string]fields{},
		metadata: map[string]string{}}
	for _, opset := range f.all(t, 8) {
		m.opset = opset.numbers(2)[0]
	}
	for _, entry := range f.all(t, 14) {
		m.metadata[entry.text(1)] = entry.text(2)
	}
	graph := f.all(t, 7)[0]
	for _, n := range graph.all(t, 1) {
		m.nodes = append(m.nodes, node{operator: n.text(4), inputs: n.texts(1), outputs: n.texts(2)})
	}
	for _, c := range graph.all(t, 5) {
		m.constants[c.text(8)] = c
	}
	for _, v := range graph.all(t, 11) {
		m.inputs = append(m.inputs, described(t, v))
	}
	for _, v := range graph.all(t, 12) {
		m.outputs = append(m.outputs, described(t, v))
	}
	return m
}
