package picture

import (
	"bytes"
	"encoding/binary"
)

// orientation reads EXIF's tag of that name from a TIFF block. A block that is absent or damaged, or has no such tag,
// leaves the image upright: cameras write much that is wrong here, and other programs show such images too.
func orientation(tiff []byte) turn {
	const short = 3 // the type of the tag's value
	d := directoryOf(tiff)
	e := d.find(tagOrientation)
	if e == nil {
		return upright
	}
	value := turn(d.order.Uint16(e[8:]))
	if d.order.Uint16(e[2:]) != short || d.order.Uint32(e[4:]) != 1 || value < 1 || value > 8 {
		return upright
	}
	return value
}

// exifOfJPEG finds the APP1 segment that begins with "Exif", before the pixels.
func exifOfJPEG(file []byte) []byte {
	const (
		app1 = 0xe1
		scan = 0xda
	)
	for rest := file[2:]; len(rest) >= 4 && rest[0] == 0xff && rest[1] != scan; {
		if rest[1] == 0xff { // markers may be filled up with these
			rest = rest[1:]
			continue
		}
		end := 2 + int(binary.BigEndian.Uint16(rest[2:]))
		if end < 4 || end > len(rest) {
			break
		}
		if body, found := bytes.CutPrefix(rest[4:end], []byte("Exif\x00\x00")); found && rest[1] == app1 {
			return body
		}
		rest = rest[end:]
	}
	return nil
}

// exifOfPNG finds the chunk eXIf, which may stand before or after the pixels.
func exifOfPNG(file []byte) []byte {
	const frame = 4 + 4 + 4 // length, name, checksum
	for rest := file[8:]; len(rest) >= frame; {
		n := int64(binary.BigEndian.Uint32(rest))
		if n > int64(len(rest)-frame) {
			break
		}
		if string(rest[4:8]) == "eXIf" {
			return rest[8 : 8+n]
		}
		rest = rest[frame+n:]
	}
	return nil
}

// exifOfWebP finds the chunk EXIF. Some programs write JPEG's prefix into it.
func exifOfWebP(file []byte) []byte {
	body := chunkOfWebP(file, "EXIF")
	return bytes.TrimPrefix(body, []byte("Exif\x00\x00"))
}

// animated says whether file is an animated WebP image, which golang.org/x/image/webp calls an invalid format.
func animated(file []byte) bool { return isWebP(file) && chunkOfWebP(file, "ANIM") != nil }

// chunkOfWebP is the body of the first chunk with a name, or nil. Chunks are filled up to an even length.
func chunkOfWebP(file []byte, name string) []byte {
	for rest := file[12:]; len(rest) >= 8; {
		n := int64(binary.LittleEndian.Uint32(rest[4:]))
		if n > int64(len(rest)-8) {
			break
		}
		if string(rest[:4]) == name {
			return rest[8 : 8+n]
		}
		rest = rest[8+min(n+n%2, int64(len(rest)-8)):]
	}
	return nil
}
