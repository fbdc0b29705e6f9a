// Package npz writes arrays with names as numpy.savez does: a zip archive with one .npy file for each. Reading such a file
// needs NumPy alone. Of the libraries, github.com/sbinet/npyio writes slices as arrays of one axis, so it is used in tests
// only.
package npz

import (
	"archive/zip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"ocl/nn/safetensors"
)

// Metadata is the name of the array that has the metadata: one text of bytes, JSON in UTF-8.
const Metadata = "__metadata__"

// Write writes tensors under their names, and metadata under [Metadata]. The same content gives the same bytes.
func Write(w io.Writer, tensors []safetensors.Tensor, metadata map[string]string) error {
	var arrays []Array
	for _, t := range tensors {
		kind, values := "<f4", any(t.Floats)
		if t.Floats == nil && t.Ints != nil {
			kind, values = "<i8", t.Ints
		}
		arrays = append(arrays, Array{t.Name, kind, t.Shape, func(w io.Writer) error { return binary.Write(w, binary.LittleEndian, values) }})
	}
	return WriteArrays(w, arrays, metadata)
}

// Array is an array whose values are written when it is their turn, so that it may be larger than memory.
type Array struct {
	Name, Type string // of NumPy, such as <f2
	Shape      []int
	Values     func(io.Writer) error // in little-endian bytes
}

// WriteArrays writes arrays, and metadata under [Metadata]. The same content gives the same bytes.
func WriteArrays(w io.Writer, arrays []Array, metadata map[string]string) error {
	archive := zip.NewWriter(w)
	text, err := json.Marshal(metadata) // with its keys in order
	if err != nil {
		return fmt.Errorf("npz: %w", err)
	}
	arrays = append([]Array{{Metadata, fmt.Sprintf("|S%d", len(text)), nil, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}}}, arrays...)
	for _, a := range arrays {
		if err := add(archive, a); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("npz: %w", err)
	}
	return nil
}

// add adds one array. The archive is not compressed: weights do not become smaller.
func add(archive *zip.Writer, a Array) error {
	f, err := archive.CreateHeader(&zip.FileHeader{Name: a.Name + ".npy", Method: zip.Store})
	if err == nil {
		_, err = f.Write(header(a.Type, a.Shape))
	}
	if err == nil {
		err = a.Values(f)
	}
	if err != nil {
		return fmt.Errorf("npz: %s: %w", a.Name, err)
	}
	return nil
}

// header is that of format 1.0: values begin at a multiple of 64 bytes.
func header(kind string, shape []int) []byte {
	const magic, align = "\x93NUMPY\x01\x00", 64
	var axes strings.Builder
	for _, d := range shape {
		fmt.Fprintf(&axes, "%d,", d) // one axis is written (3,)
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", kind, axes.String())
	for (len(magic)+2+len(text)+1)%align != 0 {
		text += " "
	}
	text += "\n"
	return append(binary.LittleEndian.AppendUint16([]byte(magic), uint16(len(text))), text...)
}
