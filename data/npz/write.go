package npz

import (
	"archive/zip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Source is an array whose values are written when it is their turn, so that it may be larger than memory.
type Source struct {
	Array
	Values func(io.Writer) error // in little-endian bytes
}

// Numbers is an array of values.
func Numbers[T uint8 | int32 | int64 | float32](name string, values []T, shape ...int) Source {
	of := reflect.TypeFor[T]()
	kind := fmt.Sprintf("<%c%d", of.String()[0], of.Size())
	return Source{Array{name, kind, shape}, func(w io.Writer) error {
		return binary.Write(w, binary.LittleEndian,
			values)
	}}
}

// Texts is a list of texts as NumPy has them: four bytes a character, with zeros after the last one. It is nil where
// there are none, or where one is not UTF-8, as the name of a folder need not be.
func Texts(name string, texts []string) *Source {
	longest := 0
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return nil
		}
		longest = max(longest, utf8.RuneCountInString(text))
	}
	if longest == 0 {
		return nil
	}
	return &Source{Array{name, fmt.Sprintf("<U%d", longest), []int{len(texts)}}, func(w io.Writer) error {
		for _, text := range texts {
			runes := make([]rune, longest)
			copy(runes, []rune(text))
			if err := binary.Write(w, binary.LittleEndian, runes); err != nil {
				return err
			}
		}
		return nil
	}}
}

// Write writes arrays, and metadata under [Metadata] where there are any. The same content gives the same bytes.
func Write(w io.Writer, arrays []Source, metadata map[string]string) error {
	archive := zip.NewWriter(w)
	if metadata != nil {
		text, err := json.Marshal(metadata) // with its keys in order
		if err != nil {
			return fmt.Errorf("npz: %w", err)
		}
		about := Numbers(Metadata, text)
		about.Type = fmt.Sprintf("|S%d", len(text))
		arrays = append([]Source{about}, arrays...)
	}
	for _, a := range arrays {
		// Nothing is compressed: weights do not become smaller.
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
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("npz: %w", err)
	}
	return nil
}

// magic begins an array.
const magic = "\x93NUMPY"

// header is that of format 1.0: values begin at a multiple of 64 bytes.
func header(kind string, shape []int) []byte {
	const begin, align = magic + "\x01\x00", 64
	var axes strings.Builder
	for _, d := range shape {
		fmt.Fprintf(&axes, "%d,", d) // one axis is written (3,)
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", kind, axes.String())
	for (len(begin)+2+len(text)+1)%align != 0 {
		text += " "
	}
	text += "\n"
	return append(binary.LittleEndian.AppendUint16([]byte(begin), uint16(len(text))), text...)
}
