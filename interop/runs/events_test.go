package runs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// written is a record of an event file of TensorBoard.
type written struct {
	WallTime float64 // seconds since 1970
	Step     int64
	Version  string // of the file, in its first record

	Tag                string
	Plugin, Name, Help string // only in the first event of a tag
	Class              uint64
	Type               uint64    // of the tensor
	Shape              []uint64  // of the tensor
	Floats             []float32 // of the tensor
	Strings            [][]byte  // of the tensor
}

// parseBoard reads a whole event file strictly: the length of each record, both sums, and the fields of its message.
// What remains of a cut record is an error, and so is a field that package tensorboard does not write.
func parseBoard(file []byte) (all []written, err error) {
	for n := 1; len(file) > 0; n++ {
		if len(file) < 12 || sum(file[:8]) != binary.LittleEndian.Uint32(file[8:]) {
			return all, fmt.Errorf("record %d: its length is cut, or the sum of its length is wrong", n)
		}
		length := binary.LittleEndian.Uint64(file)
		file = file[12:]
		if length > math.MaxInt32 || uint64(len(file)) < length+4 ||
			sum(file[:length]) != binary.LittleEndian.Uint32(file[length:]) {
			return all, fmt.Errorf("record %d: its data are cut, or the sum of its data is wrong", n)
		}
		e, err := parseEvent(file[:length])
		if err != nil {
			return all, fmt.Errorf("record %d: %w", n, err)
		}
		all, file = append(all, e), file[length+4:]
	}
	return all, nil
}

// sum is a CRC-32C, computed and masked as the format of TFRecords says.
func sum(b []byte) uint32 {
	crc := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	return ((crc >> 15) | (crc << 17)) + 0xa282ead8
}

// message is the fields of a protobuf message by number: numbers, and bytes.
type message struct {
	numbers map[protowire.Number][]uint64
	bytes   map[protowire.Number][][]byte
}

// parse reads a message that has no other fields than those.
func parse(b []byte, known ...protowire.Number) (message, error) {
	m := message{map[protowire.Number][]uint64{}, map[protowire.Number][][]byte{}}
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return m, protowire.ParseError(n)
		}
		if b = b[n:]; !slices.Contains(known, field) {
			return m, fmt.Errorf("the field %d is unknown", field)
		}
		var number uint64
		var content []byte
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			number, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			content, n = protowire.ConsumeBytes(b)
			m.bytes[field] = append(m.bytes[field], content)
		default:
			return m, fmt.Errorf("the field %d has the unknown type %d", field, kind)
		}
		if n < 0 {
			return m, protowire.ParseError(n)
		}
		if kind != protowire.BytesType {
			m.numbers[field] = append(m.numbers[field], number)
		}
		b = b[n:]
	}
	return m, nil
}

// number and text are the last value of a field, the zero value without one.
func (m message) number(field protowire.Number) (v uint64) {
	for _, v = range m.numbers[field] {
	}
	return v
}

func (m message) text(field protowire.Number) (v []byte) {
	for _, v = range m.bytes[field] {
	}
	return v
}

func parseEvent(data []byte) (e written, err error) {
	inner := func(m message, field protowire.Number, known ...protowire.Number) message {
		var of message
		if err == nil {
			of, err = parse(m.text(field), known...)
		}
		return of
	}
	m, err := parse(data, 1, 2, 3, 5)
	summary := inner(m, 5, 1)
	value := inner(summary, 1, 1, 8, 9)
	metadata := inner(value, 9, 1, 2, 3, 4)
	plugin := inner(metadata, 1, 1)
	tensor := inner(value, 8, 1, 2, 5, 8)
	shape := inner(tensor, 2, 2)
	e = written{WallTime: math.Float64frombits(m.number(1)), Step: int64(m.number(2)), Version: string(m.text(3)),
		Tag:    string(value.text(1)),
		Plugin: string(plugin.text(1)), Name: string(metadata.text(2)), Help: string(metadata.text(3)),
		Class: metadata.number(4),
		Type:  tensor.number(1), Strings: tensor.bytes[8]}
	for i := range shape.bytes[2] {
		dimension, fault := parse(shape.bytes[2][i], 1)
		e.Shape, err = append(e.Shape, dimension.number(1)), errors.Join(err, fault)
	}
	floats := tensor.text(5)
	for ; len(floats) >= 4; floats = floats[4:] {
		e.Floats = append(e.Floats, math.Float32frombits(binary.LittleEndian.Uint32(floats)))
	}
	if len(floats) > 0 {
		err = errors.Join(err, errors.New("the floats of a tensor are cut"))
	}
	return e, err
}
