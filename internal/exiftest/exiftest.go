// Package exiftest makes pictures that EXIF turns, as telephones do, for the tests of all that reads pictures.
package exiftest

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/jpeg"
	"testing"
)

// Photo is a JPEG file of a few squares of one colour, and Sideways one that is stored on its side with the orientation
// 6. Both show the same pixels: a block of JPEG has one colour.
func Photo(t testing.TB) []byte { return encoded(t, 3, 2, func(x, y int) (int, int) { return x, y }) }

// Sideways is [Photo] on its side.
func Sideways(t testing.TB) []byte {
	file := encoded(t, 2, 3, func(x, y int) (int, int) { return 2 - y, x })
	tiff := []byte("MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00")
	segment := append([]byte("\xff\xe1\x00\x00Exif\x00\x00"), tiff...)
	binary.BigEndian.PutUint16(segment[2:], uint16(len(segment)-2))
	return bytes.Join([][]byte{file[:2], segment, file[2:]}, nil)
}

// encoded is an image of w×h squares. of says which square of the picture each of them is.
func encoded(t testing.TB, w, h int, of func(x, y int) (int, int)) []byte {
	t.Helper()
	const side = 16 // of a block with its shared colours
	img := image.NewRGBA(image.Rect(0, 0, side*w, side*h))
	for y := range side * h {
		for x := range side * w {
			seenX, seenY := of(x/side, y/side)
			img.SetRGBA(x, y, color.RGBA{uint8(40 + 80*seenX), uint8(200 - 100*seenY), uint8(60 * (seenX + seenY)), 255})
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
