package onnx

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of the fields that are written, by message, from onnx.proto (https://github.com/onnx/onnx).
const (
	modelIRVersion       = 1
	modelProducer        = 2
	modelProducerVersion = 3
	modelDoc             = 6
	modelGraph           = 7
	modelOpset           = 8
	modelMetadata        = 14

	opsetVersion = 2

	graphNode        = 1
	graphName        = 2
	graphInitializer = 5
	graphInput       = 11
	graphOutput      = 12

	nodeInput     = 1
	nodeOutput    = 2
	nodeName      = 3
	nodeOperator  = 4
	nodeAttribute = 5

	attributeName  = 1
	attributeFloat = 2
	attributeInt   = 3
	attributeText  = 4
	attributeInts  = 8
	attributeType  = 20

	tensorDims = 1
	tensorType = 2
	tensorName = 8
	tensorRaw  = 9

	valueName = 1
	valueType = 2
	valueDoc  = 3

	typeTensor       = 1
	typeElement      = 1
	typeShape        = 2
	shapeDim         = 1
	dimValue         = 1
	dimName          = 2
	entryKey         = 1
	entryValue       = 2
	attributeIsFloat = 1 // values of attributeType
	attributeIsInt   = 2
	attributeIsText  = 3
	attributeIsInts  = 7
)

// Types of elements.
const (
	typeFloat32 = 1
	typeUint8   = 2
	typeInt64   = 7
	typeBool    = 9
	typeFloat16 = 10
)

// message is an encoded protobuf message.
type message []byte

func (m *message) number(field protowire.Number, v int64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(v))
}

func (m *message) text(field protowire.Number, s string) {
	*m = protowire.AppendString(protowire.AppendTag(*m, field, protowire.BytesType), s)
}

// bytes is also how a message within m is written.
func (m *message) bytes(field protowire.Number, b []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), b)
}

// attribute is a setting of a node: a whole number, a number, a text or a list of whole numbers.
func attribute(name string, v any) (a message) {
	a.text(attributeName, name)
	switch v := v.(type) {
	case int:
		a.number(attributeInt, int64(v))
		a.number(attributeType, attributeIsInt)
	case float32:
		a = protowire.AppendFixed32(protowire.AppendTag(a, attributeFloat, protowire.Fixed32Type), math.Float32bits(v))
		a.number(attributeType, attributeIsFloat)
	case string:
		a.text(attributeText, v)
		a.number(attributeType, attributeIsText)
	case []int:
		for _, n := range v {
			a.number(attributeInts, int64(n))
		}
		a.number(attributeType, attributeIsInts)
	default:
		panic(fmt.Sprintf("onnx: attribute %s: %T is no type of an attribute here", name, v))
	}
	return a
}

// value describes an input or output. A dimension is an int, or a string for one that is free.
func value(name string, element int64, doc string, dims ...any) (v message) {
	var shape message
	for _, d := range dims {
		var dim message
		switch d := d.(type) {
		case int:
			dim.number(dimValue, int64(d))
		case string:
			dim.text(dimName, d)
		}
		shape.bytes(shapeDim, dim)
	}
	var tensor, kind message
	tensor.number(typeElement, element)
	tensor.bytes(typeShape, shape)
	kind.bytes(typeTensor, tensor)
	v.text(valueName, name)
	v.bytes(valueType, kind)
	v.text(valueDoc, doc)
	return v
}
