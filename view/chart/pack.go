package chart

import (
	"math"
	"strconv"
)

// packed are the digits of numbers to the base of 64.
const packed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// packNone is the number that stands for NaN.
const packNone = 64*64 - 1

// What [pack] can write, in tenths: from -packBelow to packMost.
const (
	packBelow = 1_024
	packMost  = packNone - 1 - packBelow
)

// pack writes values in tenths as two characters each: a number of two digits, to which packBelow is added.
func pack(values []float64) string {
	b := make([]byte, 0, 2*len(values))
	for _, v := range values {
		code := packNone
		if !math.IsNaN(v) {
			code = int(printed(v, 1)) + packBelow
		}
		b = append(b, packed[code/64], packed[code%64])
	}
	return string(b)
}

// PackShares writes fractions in [0,1] as two characters each, so that a script finds both the per cent with one
// decimal and the whole per cent as they are printed everywhere: a number of two digits, twice the tenths of a per
// cent, and one less where the whole per cent is rounded down from a half. Values that are NaN at the end are left out.
func PackShares(values []float64) string {
	n := len(values)
	for n > 0 && math.IsNaN(values[n-1]) {
		n--
	}
	b := make([]byte, 0, 2*n)
	for _, v := range values[:n] {
		code := packNone
		if !math.IsNaN(v) {
			tenths, whole := int(printed(100*v, 1)), int(printed(100*v, 0))
			if code = 2 * tenths; (code+10)/20 > whole {
				code--
			}
		}
		b = append(b, packed[code/64], packed[code%64])
	}
	return string(b)
}

// printed is a number as it is printed with so many decimals, without the point.
func printed(v float64, decimals int) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', decimals, 64), 64)
	if err != nil {
		panic("chart: a number in memory is none: " + err.Error())
	}
	return math.Round(rounded * math.Pow10(decimals))
}
