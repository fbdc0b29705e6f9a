package ocl

import (
	"encoding/binary"
	"math"

	"github.com/x448/float16"
)

// Encoding says what a network sees of the bytes that a stream delivers and a memory stores. [PixelValues] are that of
// images, [Float16] that of embeddings, and [Codes] a smaller one of activations.
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

// Float16 is the encoding of embeddings: IEEE 754 half precision, two bytes a value, the lower one first. It has 11
// bits of precision, and values up to 65,504.
type Float16 struct{}

// Bytes implements [Encoding]: two bytes a value.
func (Float16) Bytes(values int) int { return 2 * values }

// Write writes the values [D] of an embedding to dst. stored has 2·D bytes.
func (Float16) Write(dst []float32, stored []byte) {
	for i := range dst {
		dst[i] = float16.Frombits(binary.LittleEndian.Uint16(stored[2*i:])).Float32()
	}
}

// Put writes values to stored, each as the nearest number of half precision. One beyond 65,504 becomes infinite, and it
// says whether all are finite. stored has 2·len(values) bytes.
func (Float16) Put(stored []byte, values []float32) (finite bool) {
	finite = true
	for i, v := range values {
		h := float16.Fromfloat32(v)
		finite = finite && h.IsFinite()
		binary.LittleEndian.PutUint16(stored[2*i:], h.Bits())
	}
	return finite
}

// Codes is an encoding of activations in a byte a value: codes 0 to 255 of equal steps from the smallest value of the
// sample to its largest. Before the codes stand both in float32, the lower byte first. So a value is stored with an
// error of half a step at most.
type Codes struct{}

const codesHead = 8 // bytes before the codes

// Bytes implements [Encoding]: a byte a value, and 8.
func (Codes) Bytes(values int) int { return codesHead + values }

// Write writes the values of a sample to dst. stored has len(dst)+8 bytes.
func (Codes) Write(dst []float32, stored []byte) {
	low, high := codesRange(stored)
	var values [256]float32
	for k := range values {
		values[k] = float32(low + (high-low)*float64(k)/255)
	}
	for i, k := range stored[codesHead:][:len(dst)] {
		dst[i] = values[k]
	}
}

// Put writes the values of a sample to stored, which has len(values)+8 bytes, and says whether all are finite.
func (Codes) Put(stored []byte, values []float32) (finite bool) {
	finite = true
	low, high := float32(math.Inf(1)), float32(math.Inf(-1))
	for _, v := range values {
		low, high = min(low, v), max(high, v)
		finite = finite && v-v == 0
	}
	binary.LittleEndian.PutUint32(stored, math.Float32bits(low))
	binary.LittleEndian.PutUint32(stored[4:], math.Float32bits(high))
	if !finite {
		return false
	}
	steps := 0.0
	if high > low {
		steps = 255 / (float64(high) - float64(low))
	}
	for i, v := range values {
		stored[codesHead+i] = byte(math.Round((float64(v) - float64(low)) * steps))
	}
	return true
}

// codesRange is the smallest and the largest value of a sample.
func codesRange(stored []byte) (low, high float64) {
	of := func(at int) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(stored[at:]))) }
	return of(0), of(4)
}
