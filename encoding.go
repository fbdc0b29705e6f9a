package ocl

import (
	"encoding/binary"

	"github.com/x448/float16"
)

// Encoding says what a network sees of the bytes that a stream delivers and a memory stores. [PixelValues] are that of images, and
// [Float16] that of embeddings.
type Encoding interface {
	// Bytes is how many bytes a sample of so many values takes.
	Bytes(values int) int
	// Write writes to dst what a network sees of a sample, whose bytes are stored.
	Write(dst []float32, stored []byte)
}

// PixelValues are what a network sees of 8-bit pixels: byte k of channel c is the value [c][k].
type PixelValues [][256]float32

// NewPixelValues returns the values k/255, or (k/255 - mean)/std. mean and std have a number for each channel, or none.
func NewPixelValues(channels int, mean, std []float64) PixelValues {
	values := make(PixelValues, channels)
	for c := range values {
		m, d := 0.0, 1.0
		if len(mean) > 0 {
			m = mean[c]
		}
		if len(std) > 0 {
			d = std[c]
		}
		for k := range values[c] {
			values[c][k] = float32((float64(k)/255 - m) / d)
		}
	}
	return values
}

// Bytes implements [Encoding]: a byte a value.
func (v PixelValues) Bytes(values int) int { return values }

// Write writes to dst what a network sees of an 8-bit image [C,H,W]. Both have C·H·W elements.
func (v PixelValues) Write(dst []float32, image []byte) {
	plane := len(image) / len(v)
	for c := range v {
		of, to := &v[c], dst[c*plane:(c+1)*plane]
		for i, k := range image[c*plane:][:len(to)] {
			to[i] = of[k]
		}
	}
}

// Float16 is the encoding of embeddings: IEEE 754 half precision, two bytes a value, the lower one first. It has 11 bits of
// precision, and values up to 65,504.
type Float16 struct{}

// Bytes implements [Encoding]: two bytes a value.
func (Float16) Bytes(values int) int { return 2 * values }

// Write writes the values [D] of an embedding to dst. stored has 2·D bytes.
func (Float16) Write(dst []float32, stored []byte) {
	for i := range dst {
		dst[i] = float16.Frombits(binary.LittleEndian.Uint16(stored[2*i:])).Float32()
	}
}

// Put writes values to stored, each as the nearest number of half precision. One beyond 65,504 becomes infinite, and it says
// whether all are finite. stored has 2·len(values) bytes.
func (Float16) Put(stored []byte, values []float32) (finite bool) {
	finite = true
	for i, v := range values {
		h := float16.Fromfloat32(v)
		finite = finite && h.IsFinite()
		binary.LittleEndian.PutUint16(stored[2*i:], h.Bits())
	}
	return finite
}
