// Package eventtest reads event files of TensorBoard strictly, for tests of what writes them. It knows only what
// package tensorboard writes, and refuses everything else. Start at [Parse].
package eventtest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Event is a record of an event file.
type Event struct {
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

// Parse reads a whole file: the length of each record, both sums, and the fields of its message. What remains of a cut
// record is an error.
func Parse(file []byte) ([]Event, error) {
	var all []Event
	for n := 1; len(file) > 0; n++ {
		e, rest, err := record(file)
		if err != nil {
			return all, fmt.Errorf("record %d: %w", n, err)
		}
		all, file = append(all, e), rest
	}
	return all, nil
}

func record(file []byte) (e Event, rest []byte, err error) {
	if len(file) < 12 {
		return e, nil, errors.New("its length is cut")
	}
	length := binary.LittleEndian.Uint64(file)
	if sum(file[:8]) != binary.LittleEndian.Uint32(file[8:]) {
		return e, nil, errors.New("the sum of its length is wrong")
	}
	file = file[12:]
	if length > math.MaxInt32 || uint64(len(file)) < length+4 {
		return e, nil, errors.New("its data are cut")
	}
	data, after := file[:length], file[length:]
	if sum(data) != binary.LittleEndian.Uint32(after) {
		return e, nil, errors.New("the sum of its data is wrong")
	}
	return e, after[4:], e.event(data)
}

// sum is a CRC-32C, computed and masked as the format of TFRecords says.
func sum(b []byte) uint32 {
	crc := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	return ((crc >> 15) | (crc << 17)) + 0xa282ead8
}

// fields calls f for each field of a message, by number, with its number or its bytes.
func fields(message []byte, f func(field protowire.Number, number uint64, content []byte) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		var number uint64
		var content []byte
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(message)
		case protowire.Fixed64Type:
			number, n = protowire.ConsumeFixed64(message)
		case protowire.BytesType:
			content, n = protowire.ConsumeBytes(message)
		default:
			return fmt.Errorf("field %d has the unknown type %d", field, kind)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := f(field, number, content); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}

// unknown is the error of a field that package tensorboard does not write.
func unknown(message string, field protowire.Number) error {
	return fmt.Errorf("%s has the unknown field %d", message, field)
}

func (e *Event) event(message []byte) error {
	return fields(message, func(field protowire.Number, number uint64, content []byte) error {
		switch field {
		case 1:
			e.WallTime = math.Float64frombits(number)
		case 2:
			e.Step = int64(number)
		case 3:
			e.Version = string(content)
		case 5:
			return fields(content, func(field protowire.Number, _ uint64, content []byte) error {
				if field != 1 {
					return unknown("summary", field)
				}
				return e.value(content)
			})
		default:
			return unknown("event", field)
		}
		return nil
	})
}

func (e *Event) value(message []byte) error {
	return fields(message, func(field protowire.Number, _ uint64, content []byte) error {
		switch field {
		case 1:
			e.Tag = string(content)
		case 8:
			return e.tensor(content)
		case 9:
			return e.metadata(content)
		default:
			return unknown("value", field)
		}
		return nil
	})
}

func (e *Event) metadata(message []byte) error {
	return fields(message, func(field protowire.Number, number uint64, content []byte) error {
		switch field {
		case 1:
			return fields(content, func(field protowire.Number, _ uint64, content []byte) error {
				if field != 1 {
					return unknown("plugin data", field)
				}
				e.Plugin = string(content)
				return nil
			})
		case 2:
			e.Name = string(content)
		case 3:
			e.Help = string(content)
		case 4:
			e.Class = number
		default:
			return unknown("metadata", field)
		}
		return nil
	})
}

func (e *Event) tensor(message []byte) error {
	return fields(message, func(field protowire.Number, number uint64, content []byte) error {
		switch field {
		case 1:
			e.Type = number
		case 2:
			return e.shape(content)
		case 5:
			for ; len(content) >= 4; content = content[4:] {
				e.Floats = append(e.Floats, math.Float32frombits(binary.LittleEndian.Uint32(content)))
			}
			if len(content) > 0 {
				return errors.New("the floats of a tensor are cut")
			}
		case 8:
			e.Strings = append(e.Strings, content)
		default:
			return unknown("tensor", field)
		}
		return nil
	})
}

func (e *Event) shape(message []byte) error {
	return fields(message, func(field protowire.Number, _ uint64, content []byte) error {
		if field != 2 {
			return unknown("shape", field)
		}
		return fields(content, func(field protowire.Number, number uint64, _ []byte) error {
			if field != 1 {
				return unknown("dimension", field)
			}
			e.Shape = append(e.Shape, number)
			return nil
		})
	})
}
