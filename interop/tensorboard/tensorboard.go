// Package tensorboard writes the event files that TensorBoard shows: scalars and images, with names and descriptions.
// It knows nothing of runs or results, and it reads no event files. Start at [Writer].
//
// TensorBoard documents its format only by its .proto files (event, summary, tensor; Apache 2.0) and readers. The
// field numbers below are from those files. testdata/check.py reads what we write with TensorBoard itself.
package tensorboard

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image/png"
	"io"
	"math"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// version is the file format that TensorBoard calls brain.Event:2. Its readers then accept steps in any order.
const version = "brain.Event:2"

// Series is a line of scalars or a row of images.
type Series struct {
	Tag  string // identifies it in a file; what is before the first slash names the group in which it is shown
	Name string // shown instead of the tag; "" shows the tag
	Help string // shown on request, as Markdown
}

// At is where in a series a value is.
type At struct {
	Step int64
	Time time.Time // the zero time is written as the start of 1970
}

// Writer writes one event file, front to back. The bytes depend on its calls alone. All texts must be valid UTF-8.
type Writer struct {
	w         io.Writer
	described map[string]bool // tags whose name and help are written
	frame     []byte
}

// NewWriter writes the beginning of a file. started is the earliest time in it, from which TensorBoard counts relative
// times.
func NewWriter(w io.Writer, started time.Time) (*Writer, error) {
	t := &Writer{w: w, described: map[string]bool{}}
	event := wallTime(nil, started)
	event = protowire.AppendTag(event, eventFileVersion, protowire.BytesType)
	event = protowire.AppendString(event, version)
	return t, t.record(event)
}

// Scalar writes a value of a series, rounded to 32 bits: TensorBoard's data server leaves out scalars of 64.
func (t *Writer) Scalar(s Series, at At, v float64) error {
	packed := protowire.AppendFixed32(nil, math.Float32bits(float32(v)))
	tensor := varint(nil, tensorType, typeFloat)
	tensor = message(tensor, tensorShape, nil) // no dimensions
	tensor = message(tensor, tensorFloats, packed)
	return t.value(s, at, "scalars", classScalar, tensor)
}

// Image writes an image of a series. encoded is a whole PNG file.
func (t *Writer) Image(s Series, at At, encoded []byte) error {
	size, err := png.DecodeConfig(bytes.NewReader(encoded))
	if err != nil {
		return fmt.Errorf("tensorboard: %s: the image is not a PNG file: %w. Encode it with image/png", s.Tag, err)
	}
	parts := [][]byte{strconv.AppendInt(nil, int64(size.Width), 10), strconv.AppendInt(nil, int64(size.Height), 10),
		encoded}
	shape := message(nil, shapeDim, varint(nil, dimSize, uint64(len(parts))))
	tensor := varint(nil, tensorType, typeString)
	tensor = message(tensor, tensorShape, shape)
	for _, p := range parts {
		tensor = message(tensor, tensorStrings, p)
	}
	return t.value(s, at, "images", classBlobs, tensor)
}

// Numbers of fields and constants in event.proto, summary.proto, tensor.proto, tensor_shape.proto and types.proto.
const (
	eventWallTime    = 1
	eventStep        = 2
	eventFileVersion = 3
	eventSummary     = 5

	summaryValue  = 1
	valueTag      = 1
	valueTensor   = 8
	valueMetadata = 9

	metadataPlugin = 1
	pluginName     = 1
	metadataName   = 2
	metadataHelp   = 3
	metadataClass  = 4
	classScalar    = 1
	classBlobs     = 3

	tensorType    = 1
	tensorShape   = 2
	tensorFloats  = 5
	tensorStrings = 8
	typeFloat     = 1
	typeString    = 7
	shapeDim      = 2
	dimSize       = 1
)

// value writes an event with one value. The first of a series says what the series is.
func (t *Writer) value(s Series, at At, plugin string, class uint64, tensor []byte) error {
	value := message(nil, valueTag, []byte(s.Tag))
	if !t.described[s.Tag] {
		t.described[s.Tag] = true
		metadata := message(nil, metadataPlugin, message(nil, pluginName, []byte(plugin)))
		metadata = message(metadata, metadataName, []byte(s.Name))
		metadata = message(metadata, metadataHelp, []byte(s.Help))
		metadata = varint(metadata, metadataClass, class)
		value = message(value, valueMetadata, metadata)
	}
	value = message(value, valueTensor, tensor)
	event := wallTime(nil, at.Time)
	event = varint(event, eventStep, uint64(at.Step))
	event = message(event, eventSummary, message(nil, summaryValue, value))
	return t.record(event)
}

func wallTime(b []byte, at time.Time) []byte {
	seconds := 0.0
	if !at.IsZero() {
		seconds = float64(at.UnixMicro()) / 1e6
	}
	b = protowire.AppendTag(b, eventWallTime, protowire.Fixed64Type)
	return protowire.AppendFixed64(b, math.Float64bits(seconds))
}

func varint(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

// message appends a field that has a length: a message, a text, or bytes.
func message(b []byte, field protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), content)
}

// record writes a TFRecord: the length of the data in 8 bytes, the masked sum of these bytes, the data, and their
// masked sum. Numbers are little-endian.
func (t *Writer) record(data []byte) error {
	b := binary.LittleEndian.AppendUint64(t.frame[:0], uint64(len(data)))
	b = binary.LittleEndian.AppendUint32(b, masked(b))
	b = append(b, data...)
	b = binary.LittleEndian.AppendUint32(b, masked(data))
	t.frame = b
	_, err := t.w.Write(b)
	return err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked is the CRC-32C of b, rotated and shifted by a constant, so that the sum of data that hold sums stays a good
// one.
func masked(b []byte) uint32 {
	sum := crc32.Checksum(b, castagnoli)
	return (sum>>15 | sum<<17) + 0xa282ead8
}
