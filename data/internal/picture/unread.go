package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strings"

	"ocl/internal/count"
)

// Unread is a kind of image that is not read.
type Unread struct {
	Name       string
	extensions []string
	is         func(file []byte) bool // nil where only the name tells
	to         string                 // the ending that it becomes
	also       string                 // another way to convert it
}

var unread = []*Unread{
	{"HEIC", []string{".heic", ".heif", ".hif"}, isHEIC, "jpg", " or `heif-convert FILE NEW.jpg`"},
	{"AVIF", []string{".avif", ".avifs"}, isBrand("avif", "avis"), "jpg", ""},
	{"JPEG XL", []string{".jxl"}, either("\xff\x0a", "\x00\x00\x00\x0cJXL \r\n"), "png", ""},
	{"JPEG 2000", []string{".jp2", ".j2k", ".jpf", ".jpx", ".j2c", ".jpc"},
		either("\x00\x00\x00\x0cjP  \r\n", "\xff\x4f\xff\x51"), "png", ""},
	{"JPEG XR", []string{".jxr", ".wdp", ".hdp"}, begins("II\xbc"), "png", ""},
	{"PPM", []string{".ppm"}, either("P3\n", "P6\n", "P3 ", "P6 "), "png", ""},
	{"PGM", []string{".pgm"}, either("P2\n", "P5\n", "P2 ", "P5 "), "png", ""},
	{"PBM", []string{".pbm"}, either("P1\n", "P4\n", "P1 ", "P4 "), "png", ""},
	{"PNM", []string{".pnm", ".pam", ".pfm"}, either("P7\n", "PF\n", "Pf\n"), "png", ""},
	{"PSD", []string{".psd", ".psb"}, begins("8BPS"), "png", ""},
	{"QOI", []string{".qoi"}, begins("qoif"), "png", ""},
	{"OpenEXR", []string{".exr"}, begins("\x76\x2f\x31\x01"), "png", ""},
	{"HDR", []string{".hdr"}, begins("#?RADIANCE"), "png", ""},
	{"ICO", []string{".ico"}, nil, "png", ""},
	{"SVG", []string{".svg"}, nil, "png", ""},
	{"TGA", []string{".tga"}, nil, "png", ""},
	{"PCX", []string{".pcx"}, nil, "png", ""},
	{"XCF", []string{".xcf"}, begins("gimp xcf"), "png", ""},
	{"DDS", []string{".dds"}, begins("DDS "), "png", ""},
	raw("DNG"), raw("CR2"), raw("CR3"), raw("NEF"), raw("ARW"), raw("ORF"), raw("RW2"), raw("RAF"), raw("PEF"), raw("SRW"),
	raw("3FR"), raw("IIQ"), raw("RWL"), raw("X3F"), raw("ERF"), raw("KDC"),
}

// raw is what a camera's sensor saw. Most are TIFF files with a small preview.
func raw(name string) *Unread {
	return &Unread{name, []string{"." + strings.ToLower(name)}, nil, "jpg", ""}
}

func either(magics ...string) func([]byte) bool {
	return func(file []byte) bool {
		return slices.ContainsFunc(magics, func(m string) bool { return bytes.HasPrefix(file, []byte(m)) })
	}
}

// isBrand tells files by the main brand of their first box (ISO/IEC 14496-12, section 4.3).
func isBrand(brands ...string) func([]byte) bool {
	return func(file []byte) bool {
		return len(file) >= 12 && string(file[4:8]) == "ftyp" && slices.Contains(brands, string(file[8:12]))
	}
}

// isHEIC tells the photographs of telephones, which may be named .jpg (ISO/IEC 23008-12, section 10).
var isHEIC = isBrand("heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1")

// UnreadName is the kind of image of a file whose name ends as those of a kind that is not read; nil is none.
func UnreadName(name string) *Unread {
	ending := strings.ToLower(path.Ext(name))
	return unreadOf(func(u *Unread) bool { return slices.Contains(u.extensions, ending) })
}

// UnreadFile is the kind of image of a file with such first bytes; nil is none.
func UnreadFile(begin []byte) *Unread {
	return unreadOf(func(u *Unread) bool { return u.is != nil && u.is(begin) })
}

func unreadOf(is func(*Unread) bool) *Unread {
	if i := slices.IndexFunc(unread, is); i >= 0 {
		return unread[i]
	}
	return nil
}

// LeftOut says that n of them were left out, and how to convert them.
func (u *Unread) LeftOut(n int) string {
	return fmt.Sprintf("%s left out, as %s is not read. Convert with `magick mogrify -format %s FILE...`",
		count.Of(n, u.Name+" image"), u.Name, u.to)
}

// fault is the error of such a file.
func (u *Unread) fault() error {
	article := "a"
	if strings.ContainsRune("AIOX", rune(u.Name[0])) {
		article = "an"
	}
	return fmt.Errorf("this is %s %s image, whatever its name says, and %s is not read. Convert it with `magick FILE NEW.%s`%s",
		article, u.Name, u.Name, u.to, u.also)
}

// Begins says whether a file with such first bytes is an image that is read, whatever its name. 32 bytes are enough.
func Begins(begin []byte) bool {
	i := slices.IndexFunc(formats, func(f *format) bool { return f.is(begin) })
	return i >= 0 && (formats[i].name != "BMP" || bmpHeader(begin))
}

// bmpHeader says more than the two letters with which a text may begin too: the length of the second header is that of
// a version of it.
func bmpHeader(begin []byte) bool {
	return len(begin) >= 18 && slices.Contains([]uint32{12, 40, 52, 56, 64, 108, 124},
		binary.LittleEndian.Uint32(begin[14:]))
}
