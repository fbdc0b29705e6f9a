package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
)

// Tags of the directory of a TIFF file.
const (
	tagCompression = 0x0103
	tagOrientation = 0x0112
	tagStripRows   = 0x0116
	tagStripBytes  = 0x0117
	tagPlanes      = 0x011c
	tagTileWidth   = 0x0142
	tagTileHeight  = 0x0143
	tagTileBytes   = 0x0145
)

// directory is the first directory of a TIFF file, or of a block of EXIF, which has the same form.
type directory struct {
	tiff    []byte
	order   binary.ByteOrder
	entries []byte // as many whole ones as there are
}

// entryBytes are tag, type, count and value.
const entryBytes = 12

// directoryOf reads the header. A file that is damaged there has no entries.
func directoryOf(tiff []byte) (d directory) {
	d.tiff = tiff
	switch {
	case len(tiff) < 8:
		return d
	case bytes.HasPrefix(tiff, []byte("II*\x00")):
		d.order = binary.LittleEndian
	case bytes.HasPrefix(tiff, []byte("MM\x00*")):
		d.order = binary.BigEndian
	default:
		return d
	}
	at := int64(d.order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return d
	}
	n := min(int(d.order.Uint16(tiff[at:])), (len(tiff)-int(at)-2)/entryBytes)
	d.entries = tiff[at+2:][:n*entryBytes]
	return d
}

// find is the entry of a tag; nil where there is none.
func (d directory) find(tag uint16) []byte {
	for e := d.entries; len(e) > 0; e = e[entryBytes:] {
		if d.order.Uint16(e) == tag {
			return e[:entryBytes]
		}
	}
	return nil
}

// each calls use with the values of a tag, at most so many of them, as far as they are in the file.
func (d directory) each(tag uint16, most int64, use func(v int64)) {
	e := d.find(tag)
	if e == nil {
		return
	}
	var size int64
	switch d.order.Uint16(e[2:]) {
	case 1: // bytes
		size = 1
	case 3: // shorts
		size = 2
	case 4: // longs
		size = 4
	default:
		return
	}
	n, raw := int64(d.order.Uint32(e[4:])), e[8:]
	if n*size > int64(len(raw)) { // they are elsewhere
		raw = d.tiff[min(int64(d.order.Uint32(raw)), int64(len(d.tiff))):]
	}
	for range min(n, most, int64(len(raw))/size) {
		switch size {
		case 1:
			use(int64(raw[0]))
		case 2:
			use(int64(d.order.Uint16(raw)))
		case 4:
			use(int64(d.order.Uint32(raw)))
		}
		raw = raw[size:]
	}
}

// first is the first value of a tag, 0 where there is none.
func (d directory) first(tag uint16) (v int64) {
	d.each(tag, 1, func(first int64) { v = first })
	return v
}

// The compressions that are read, with deflate's two numbers, and those of faxes.
const (
	packed           = 32773
	faxFirst, faxEnd = 2, 4
)

// checkTIFF refuses what the decoder would read wrongly, or with memory that nobody has counted.
func checkTIFF(file []byte) error {
	d := directoryOf(file)
	if c := d.first(tagCompression); faxFirst <= c && c <= faxEnd {
		return errors.New("the TIFF image is compressed as a fax, which is not read. Convert it to PNG")
	}
	if d.first(tagPlanes) == 2 {
		return errors.New("the TIFF image keeps its colours apart (planar), which is not read. Convert it to PNG")
	}
	return nil
}

// memoryOfTIFF counts the image, and what the decoder takes for each strip or tile, whose number and size the directory
// says.
func memoryOfTIFF(file []byte, c image.Config) int64 {
	const (
		pixelMost = 8        // bytes of a pixel, whatever the directory says of it
		decoderOf = 64 << 10 // of a strip that is compressed: the decoder's tables
		offsetsOf = 24       // of a strip: where it is and how long, as in the file and as numbers
		buffered  = 4        // what a buffer takes that doubles until it has so much
		appended  = 7        // what one takes that grows by a quarter
		piece     = 10 << 20 // large strips are read in pieces
	)
	d, w, h := directoryOf(file), int64(c.Width), int64(c.Height)
	blockW, blockH, lengths := w, h, uint16(tagStripBytes)
	if tile := d.first(tagTileWidth); tile != 0 {
		// Others are refused: smaller ones, and larger ones that exceed the image by more than their padding.
		blockW, blockH = min(max(tile, 8), max(1024, w+16)), min(max(d.first(tagTileHeight), 8), max(1024, h+16))
		lengths = tagTileBytes
	} else if rows := d.first(tagStripRows); rows > 0 {
		blockH = min(rows, h)
	}
	blocks, block := (w+blockW-1)/blockW*((h+blockH-1)/blockH), pixelMost*blockW*blockH
	bytes := pixelOf(c)*w*h + offsetsOf*blocks
	switch d.first(tagCompression) {
	case 0, 1:
		d.each(lengths, blocks, func(n int64) {
			if n = min(n, block, int64(len(file))+piece); n >= piece {
				n = appended*n + piece
			}
			bytes += n
		})
	case packed:
		bytes += blocks * (appended*block + decoderOf)
	default:
		bytes += blocks*decoderOf + buffered*block
	}
	return bytes
}

// pixelOf is how many bytes a pixel of a decoded TIFF has.
func pixelOf(c image.Config) int64 {
	switch c.ColorModel {
	case color.GrayModel:
		return 1
	case color.Gray16Model:
		return 2
	case color.RGBA64Model, color.NRGBA64Model:
		return 8
	}
	if isPalette(c) {
		return 1
	}
	return 4
}
