package onnx

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// graph is the parts of a graph as they are added. Nodes come after those whose outputs they read.
type graph struct {
	nodes, constants, inputs, outputs []message
	// the features, scaled to length 1; "" before anything asked for them
	unit    string
	lengths map[string]string // of rows, by the name of the node
	prefix  string            // of the names that are added
}

// node adds an operation with one output and returns the output's name, which is the node's too. An input "" is left
// out.
func (g *graph) node(operator, output string, inputs []string, attributes ...message) string {
	output = g.prefix + output
	var n message
	for _, in := range inputs {
		n.text(nodeInput, in)
	}
	n.text(nodeOutput, output)
	n.text(nodeName, output)
	n.text(nodeOperator, operator)
	for _, a := range attributes {
		n.bytes(nodeAttribute, a)
	}
	g.nodes = append(g.nodes, n)
	return output
}

// floats adds a constant and returns its name.
func (g *graph) floats(name string, v []float32, dims ...int) string {
	return g.constant(typeFloat32, name, v, dims)
}

func (g *graph) ints(name string, v []int64, dims ...int) string {
	return g.constant(typeInt64, name, v, dims)
}

func (g *graph) constant(element int64, name string, values any, dims []int) string {
	name = g.prefix + name
	raw, err := binary.Append(nil, binary.LittleEndian, values)
	if err != nil {
		panic(fmt.Sprintf("onnx: %v", err)) // lists of numbers have a length
	}
	var t message
	for _, d := range dims {
		t.number(tensorDims, int64(d))
	}
	t.number(tensorType, element)
	t.text(tensorName, name)
	t.bytes(tensorRaw, raw)
	g.constants = append(g.constants, t)
	return name
}

func (g *graph) message(name string) (b message) {
	for _, n := range g.nodes {
		b.bytes(graphNode, n)
	}
	b.text(graphName, name)
	for _, c := range g.constants {
		b.bytes(graphInitializer, c)
	}
	for _, v := range g.inputs {
		b.bytes(graphInput, v)
	}
	for _, v := range g.outputs {
		b.bytes(graphOutput, v)
	}
	return b
}

// message is the whole file.
func (m Model) message() (b message) {
	g := &graph{}
	features := m.body(g, m.prepare(g))
	m.classify(g, features)
	b.number(modelIRVersion, IRVersion)
	b.text(modelProducer, "ocl")
	b.text(modelProducerVersion, m.Version)
	b.text(modelDoc, m.doc())
	b.bytes(modelGraph, g.message("classifier"))
	var opset message
	opset.number(opsetVersion, Opset)
	b.bytes(modelOpset, opset)
	for _, f := range m.metadata() {
		var entry message
		entry.text(entryKey, f.Key)
		entry.text(entryValue, f.Value)
		b.bytes(modelMetadata, entry)
	}
	return b
}

// doc describes the model in words, for a reader who has only the file.
func (m Model) doc() string {
	c, h, w := m.image()
	if m.Embeddings && m.Frozen == nil {
		return fmt.Sprintf("A classifier with %d classes, trained by ocl on embeddings that another network has made of images. "+
			"Input embeddings: float32 [batch,%d]. "+
			"Output label: the class, whose name is at that index in class_names of the metadata.", m.Net.Info().Classes, c)
	}
	channels := "red, green, blue"
	if c == 1 {
		channels = "grey"
	}
	return fmt.Sprintf("An image classifier with %d classes, trained by ocl on images of %d×%d pixels (height×width). "+
		"Input images: uint8 [batch,%d,height,width], values 0 to 255, channels %s; resizing and normalisation are in the graph. "+
		"Output label: the class, whose name is at that index in class_names of the metadata.", m.Net.Info().Classes, h, w, c,
		channels)
}

// metadata returns the keys and values for programs: those of the model, then those of the caller.
func (m Model) metadata() []Fact {
	c, h, w := m.image()
	facts := []Fact{{"ocl_version", m.Version}}
	if m.Embeddings && m.Frozen == nil {
		facts = append(facts, Fact{"embedding_size", encoded(c)})
	} else {
		mean, std := m.normalisation()
		facts = append(facts, Fact{"image_size", encoded([]int{c, h, w})}, Fact{"fit", m.Fit.String()},
			Fact{"mean", encoded(mean)}, Fact{"std", encoded(std)})
	}
	if m.Frozen != nil {
		facts = append(facts, Fact{"backbone", m.Frozen.Net.Info().Architecture},
			Fact{"backbone_digest", m.Frozen.Net.Digest()})
	}
	facts = append(facts, Fact{"rule", m.Rules[0].Name})
	if m.ClassNames != nil {
		facts = append(facts, Fact{"class_names", encoded(m.ClassNames)})
	}
	for _, r := range m.Rules {
		if r.Means == nil {
			continue
		}
		if absent := m.withoutMean(r.Means); len(absent) > 0 {
			facts = append(facts, Fact{"classes_without_mean", encoded(absent)})
		}
	}
	return append(facts, m.Facts...)
}

// withoutMean are the classes that have none, rising.
func (m Model) withoutMean(means *Means) (absent []int) {
	has := make([]bool, m.Net.Info().Classes)
	for _, k := range means.Classes {
		has[k] = true
	}
	for k, is := range has {
		if !is {
			absent = append(absent, k)
		}
	}
	return absent
}

// normalisation is mean and deviation of each channel.
func (m Model) normalisation() (mean, std []float64) {
	if m.Frozen != nil {
		i := m.Frozen.Net.Info()
		for k := range i.Mean {
			mean, std = append(mean, float64(i.Mean[k])), append(std, float64(i.Std[k]))
		}
		return mean, std
	}
	c := m.Net.Info().Input[0]
	if mean = m.Mean; len(mean) == 0 {
		mean = make([]float64, c)
	}
	if std = m.Std; len(std) == 0 {
		for range c {
			std = append(std, 1)
		}
	}
	return mean, std
}

// encoded is v as JSON.
func encoded(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("onnx: %v", err)) // encoding finite numbers and texts cannot fail
	}
	return string(b)
}
