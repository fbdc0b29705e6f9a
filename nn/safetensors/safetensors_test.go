package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl/internal/fuzztest"
	"ocl/internal/limit"
)

func read(b []byte) (*Reader, error) { return NewReader(bytes.NewReader(b), int64(len(b))) }

func written(t *testing.T, tensors []Tensor, metadata map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, tensors, metadata); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func fileOf(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The writer makes the same bytes as the Python library does of the same tensors (nn/weights/testdata/golden.py),
// whatever their order.
func TestWriteEqualsReference(t *testing.T) {
	tensors := []Tensor{
		{Name: "one", Floats: []float32{0.25}},
		{Name: "none", Shape: []int{0, 3}, Floats: []float32{}},
		{Name: "b", Shape: []int{2, 3}, Floats: []float32{1, -2.5, 3e-30, float32(math.Inf(1)), 0.1,
			float32(math.Copysign(0, -1))}},
		{Name: "a é", Shape: []int{2}, Ints: []int64{7, -1}},
	}
	if got, want := written(t, tensors, nil), fileOf(t, "reference.safetensors"); !bytes.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestWrittenIsRead(t *testing.T) {
	metadata := map[string]string{"z": "last", "a": `<b>&"é` + "\n", "": "empty"}
	tensors := []Tensor{
		{Name: "layer.weight", Shape: []int{1, 2, 1, 2}, Floats: []float32{1, 2, 3, float32(math.NaN())}},
		{Name: "ints", Shape: []int{3}, Ints: []int64{math.MinInt64, 0, math.MaxInt64}},
	}
	b := written(t, tensors, metadata)
	if !bytes.Equal(b, written(t, []Tensor{tensors[1], tensors[0]}, metadata)) {
		t.Error("another order of the same tensors makes other bytes")
	}
	if n := binary.LittleEndian.Uint64(b); n%8 != 0 {
		t.Errorf("the values begin at byte %d, which is no multiple of 8", 8+n)
	}
	f, err := read(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(metadata, f.Metadata); d != "" {
		t.Error(d)
	}
	for _, want := range tensors {
		info, ok := f.Find(want.Name)
		if d := cmp.Diff(want.Shape, info.Shape); !ok || d != "" {
			t.Errorf("%s: %s", want.Name, d)
		}
	}
	info, _ := f.Find("ints")
	if got, err := f.Ints(info); err != nil || !cmp.Equal(got, tensors[1].Ints) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := f.Floats(info); err == nil || !strings.Contains(err.Error(), "weights are F32, F64, F16 or BF16") {
		t.Errorf("integers as weights: %v", err)
	}
	info, _ = f.Find("layer.weight")
	if got, err := f.Floats(info); err != nil || got[2] != 3 || !math.IsNaN(float64(got[3])) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := f.Ints(info); err == nil {
		t.Error("floats are read as integers")
	}
	if _, ok := f.Find("other"); ok {
		t.Error("an absent tensor is found")
	}
}

// Values of all floating types are those that PyTorch converts them to.
func TestFloatsOfEveryType(t *testing.T) {
	f, err := read(fileOf(t, "types.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"float64", "float32", "float16", "bfloat16"} {
		info, _ := f.Find(name)
		wanted, _ := f.Find(name + ".wanted")
		got, err := f.Floats(info)
		if err != nil {
			t.Fatal(err)
		}
		want, err := f.Floats(wanted)
		if err != nil || len(want) != 13 {
			t.Fatal(len(want), err)
		}
		for i := range want {
			if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
				t.Errorf("%s: value %d is %v, want %v", name, i, got[i], want[i])
			}
		}
	}
	if v := half(0x7e00); !math.IsNaN(float64(v)) {
		t.Errorf("NaN in 16 bits is %v", v)
	}
}

// file is a file with a header and so many bytes of values.
func file(header string, values int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, values)...)
}

func TestDamagedFilesAreRefused(t *testing.T) {
	good := `{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`
	if _, err := read(file(good, 8)); err != nil {
		t.Fatal(err)
	}
	one := func(dtype, shape, offsets string) string {
		return fmt.Sprintf(`{"a":{"dtype":%s,"shape":%s,"data_offsets":%s}}`, dtype, shape, offsets)
	}
	two := func(x, y string) string {
		return fmt.Sprintf(`{"a":{"dtype":"F32","shape":[1],"data_offsets":%s},"b":{"dtype":"F32","shape":[1],"data_offsets":%s}}`,
			x, y)
	}
	long := "0," + strings.Repeat("1,", 64)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":              {nil, "0 bytes, fewer than the 8"},
		"a part of a length": {make([]byte, 7), "7 bytes"},
		"no header":          {make([]byte, 8), "not JSON"},
		"header too long": {append(binary.LittleEndian.AppendUint64(nil, 1<<40), good...),
			"1099511627776 bytes: at most 54 are possible"},
		"header of all bits": {append(binary.LittleEndian.AppendUint64(nil, math.MaxUint64), good...), "at most 54"},
		"values cut":         {file(good, 7), "need 8 bytes, but the file has 7"},
		"values too many":    {file(good, 9), "need 8 bytes, but the file has 9"},
		"no JSON":            {file(`{"a"`, 0), "not valid JSON"},
		"list":               {file(`[1]`, 0), "not JSON"},
		"not UTF-8":          {file("{\"\xff\":{}}", 0), "not JSON in UTF-8"},
		"more after it":      {file(good+"{}", 8), "follows the closing brace"},
		"name twice": {file(`{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[],"data_offsets":[4,8]}}`,
			8), `"a" is given twice`},
		"metadata twice":     {file(`{"__metadata__":{},"__metadata__":{}}`, 0), "given twice"},
		"metadata key twice": {file(`{"__metadata__":{"k":"1","k":"2"}}`, 0), `"k" are given twice`},
		"metadata no text":   {file(`{"__metadata__":{"k":1}}`, 0), "instead of a text"},
		"key twice": {file(`{"a":{"dtype":"F32","dtype":"F32","shape":[],"data_offsets":[0,4]}}`, 4),
			`"dtype" is given twice`},
		"key missing": {file(`{"a":{"dtype":"F32","shape":[]}}`, 0), "is missing"},
		"key unknown": {file(`{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4],"Dtype":1}}`, 4),
			`"Dtype" is unknown`},
		"no object":        {file(`{"a":1}`, 0), `"1" instead of {`},
		"type unknown":     {file(one(`"F\u001b"`, "[2]", "[0,8]"), 8), `unknown type "F\x1b"`},
		"type no text":     {file(one("3", "[2]", "[0,8]"), 8), "instead of a text"},
		"shape negative":   {file(one(`"F32"`, "[-2]", "[0,8]"), 8), "instead of a whole number"},
		"shape broken":     {file(one(`"F32"`, "[2.0]", "[0,8]"), 8), "instead of a whole number"},
		"shape huge":       {file(one(`"F32"`, "[99999999999999999999]", "[0,8]"), 8), "instead of a whole number"},
		"shape of text":    {file(one(`"F32"`, `["2"]`, "[0,8]"), 8), "instead of a whole number"},
		"shape overflows":  {file(one(`"F32"`, "[4611686018427387905,4]", "[0,16]"), 16), "not what its shape"},
		"shape too large":  {file(one(`"F32"`, "[3]", "[0,8]"), 8), "not what its shape [3] of F32 needs"},
		"axes too many":    {file(one(`"F32"`, "["+long+"1]", "[0,0]"), 0), "more than 64 numbers"},
		"offsets turned":   {file(one(`"F32"`, "[2]", "[8,0]"), 8), "instead of a begin and an end"},
		"one offset":       {file(one(`"F32"`, "[2]", "[8]"), 8), "instead of a begin and an end"},
		"three offsets":    {file(one(`"F32"`, "[2]", "[0,4,8]"), 8), "more than 2 numbers"},
		"out of the file":  {file(one(`"F32"`, "[2305843009213693951]", "[0,9223372036854775804]"), 8), "the file has 8"},
		"overlap":          {file(two("[0,4]", "[2,6]"), 6), `"b" begins at byte 2`},
		"same place":       {file(two("[0,4]", "[0,4]"), 4), "begins at byte 0"},
		"gap":              {file(two("[0,4]", "[5,9]"), 9), `"b" begins at byte 5`},
		"gap at the begin": {file(one(`"F32"`, "[2]", "[1,9]"), 9), "begins at byte 1"},
	} {
		_, err := read(c.file)
		if err == nil || !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got  %v\nwant %s", name, err, c.want)
		}
	}
}

// endless claims a size and has nothing.
type endless struct{}

func (endless) ReadAt(b []byte, at int64) (int, error) {
	if at == 0 {
		return copy(b, binary.LittleEndian.AppendUint64(nil, limit.SafetensorsHeader+1)), nil
	}
	return 0, io.EOF
}

// A header above the limit is refused before anything is allocated for it, however long the file is.
func TestHeaderOfGigabytesIsNotRead(t *testing.T) {
	n := fuzztest.Allocated(1<<16, func() {
		if _, err := NewReader(endless{}, math.MaxInt64); !errors.Is(err, ErrFormat) {
			t.Error(err)
		}
	})
	if n > 1<<16 {
		t.Errorf("%d bytes are allocated", n)
	}
}

func TestWritePanicsOnWrongTensors(t *testing.T) {
	for name, tensors := range map[string][]Tensor{
		"values": {{Name: "a", Shape: []int{2}, Floats: []float32{1}}},
		"twice":  {{Name: "a", Floats: []float32{1}}, {Name: "a", Floats: []float32{1}}},
		"key":    {{Name: metadataKey, Floats: []float32{1}}},
		"both":   {{Name: "a", Floats: []float32{1}, Ints: []int64{1}}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			_ = Write(io.Discard, tensors, nil)
		}()
	}
}

// FuzzReader reads files with a few changes. Nothing panics or allocates out of proportion, messages have no raw bytes,
// and what is read can be written and read again.
func FuzzReader(f *testing.F) {
	for _, seed := range [][]byte{nil, {0, 10, 1}, {1, 3, 9, 4, 200}, {2, 1, 2, 0, 8, 1, 1},
		{1, 12, 3, 12, 4, 0, 9, 1, 2, 3}, {0, 0, 4, 3}} {
		f.Add(seed)
	}
	header := `{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[8,16]},"b":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},` +
		`"c":{"dtype":"BF16","shape":[],"data_offsets":[16,18]},"d":{"dtype":"F16","shape":[0],"data_offsets":[18,18]}}`
	f.Fuzz(func(t *testing.T, choices []byte) {
		c := fuzztest.Of(choices)
		text, whole := []byte(header), c.Byte()%2 == 0
		if !whole {
			text = fuzztest.JSON(text, c)
		}
		b := file(string(text), 18)
		for whole && c.More() {
			b = fuzztest.Bytes(b, c)
		}
		var r *Reader
		var err error
		most := uint64(1<<14 + 200*len(b))
		if n := fuzztest.Allocated(most, func() { r, err = read(b) }); n > most {
			t.Errorf("%d bytes are allocated for a file of %d", n, len(b))
		}
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Errorf("%v does not wrap ErrFormat", err)
			}
			for _, r := range err.Error() {
				if r < ' ' || r == 0x7f {
					t.Errorf("the message has the character %q", r)
				}
			}
			return
		}
		var tensors []Tensor
		for _, info := range r.Tensors {
			tensor := Tensor{Name: info.Name, Shape: info.Shape}
			if tensor.Ints, err = r.Ints(info); err != nil {
				if tensor.Floats, err = r.Floats(info); err != nil {
					continue
				}
			}
			tensors = append(tensors, tensor)
		}
		again := written(t, tensors, r.Metadata)
		if other, err := read(again); err != nil || len(other.Tensors) != len(tensors) ||
			!maps.Equal(other.Metadata, r.Metadata) {
			t.Errorf("written again: %v", err)
		}
	})
}

// Ints reads the values of a tensor of the type I64.
func (f *Reader) Ints(t Info) ([]int64, error) {
	if t.Type != typeInt {
		return nil, fmt.Errorf("safetensors: %s has the type %s, not %s. Convert it with .long() before it is saved",
			quoted(t.Name), t.Type, typeInt)
	}
	raw, err := f.bytes(t)
	if err != nil {
		return nil, err
	}
	out := make([]int64, len(raw)/8)
	for i := range out {
		out[i] = int64(binary.LittleEndian.Uint64(raw[8*i:]))
	}
	return out, nil
}
