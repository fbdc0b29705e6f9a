package npz

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sbinet/npyio/npz"

	"ocl/nn/safetensors"
)

// What is written is read by another library, with names, shapes and types.
func TestWrittenIsRead(t *testing.T) {
	tensors := []safetensors.Tensor{
		{Name: "conv1.weight", Shape: []int{2, 1, 1, 2}, Floats: []float32{1, -2, 3, 0.1}},
		{Name: "bn1.bias", Shape: []int{1}, Floats: []float32{5}},
		{Name: "ncm.classes", Shape: []int{3}, Ints: []int64{0, 7, -1}},
	}
	metadata := map[string]string{"b": "é", "a": `"`}
	var b, again bytes.Buffer
	for _, w := range []*bytes.Buffer{&b, &again} {
		if err := Write(w, tensors, metadata); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Error("the same tensors make other bytes")
	}
	r, err := npz.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var floats []float32
	if err := r.Read("conv1.weight.npy", &floats); err != nil || !cmp.Equal(floats, tensors[0].Floats) {
		t.Errorf("%v, %v", floats, err)
	}
	var ints []int64
	if err := r.Read("ncm.classes.npy", &ints); err != nil || !cmp.Equal(ints, tensors[2].Ints) {
		t.Errorf("%v, %v", ints, err)
	}
	for _, want := range tensors {
		if h := r.Header(want.Name + ".npy"); !cmp.Equal(h.Descr.Shape, want.Shape) || h.Descr.Fortran {
			t.Errorf("%s: %+v, want the shape %v", want.Name, h, want.Shape)
		}
	}
	if h := r.Header(Metadata + ".npy"); h.Descr.Type != "|S19" || len(h.Descr.Shape) > 0 || !bytes.Contains(b.Bytes(), []byte(`{"a":"\"","b":"é"}`)) {
		t.Errorf("%+v", h)
	}
}

// Values begin at a multiple of 64 bytes, which NumPy's memory maps like.
func TestHeaderIsAligned(t *testing.T) {
	for axes := range 20 {
		shape := make([]int, axes)
		for i := range shape {
			shape[i] = 10 * (i + 1)
		}
		if h := header("<f4", shape); len(h)%64 != 0 || h[len(h)-1] != '\n' {
			t.Errorf("%d axes: %d bytes: %q", axes, len(h), h)
		}
	}
}

// TestBytes: what the commands write stays the same to the byte.
func TestBytes(t *testing.T) {
	var weights, arrays bytes.Buffer
	err := Write(&weights, []safetensors.Tensor{
		{Name: "conv1.weight", Shape: []int{2, 1, 1, 2}, Floats: []float32{1, -2, 3, 0.1}},
		{Name: "bn1.bias", Shape: []int{1}, Floats: []float32{5}},
		{Name: "ncm.classes", Shape: []int{3}, Ints: []int64{0, 7, -1}},
	}, map[string]string{"b": "é", "a": `"`})
	if err != nil {
		t.Fatal(err)
	}
	err = WriteArrays(&arrays, []Array{
		{"x_train", "<f2", []int{2, 2}, func(w io.Writer) error { _, err := w.Write([]byte{0, 60, 0, 192, 1, 2, 3, 4}); return err }},
		{"y_train", "<i4", []int{2}, func(w io.Writer) error { return binary.Write(w, binary.LittleEndian, []int32{1, 0}) }},
		{"class_names", "<U5", []int{2}, func(w io.Writer) error {
			return binary.Write(w, binary.LittleEndian, append([]rune("Käfer日本"), 0, 0, 0))
		}},
	}, map[string]string{"data": "folder", "image_shape": "[3,8,9]"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		b    bytes.Buffer
		want string
	}{
		{"weights", weights, "1083 17ecfa9657700c862d27686458f3d3cf50ac73770672f77e85ba3185438de267"},
		{"embeddings", arrays, "1105 9ad6e73df43af8455c351852c8f6504808bfc104b212705172f14a853177544b"},
	} {
		if got := fmt.Sprintf("%d %x", c.b.Len(), sha256.Sum256(c.b.Bytes())); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}
