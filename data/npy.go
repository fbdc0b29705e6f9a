package data

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/x448/float16"

	"ocl"
	"ocl/internal/limit"
)

// The header is a Python dictionary literal; NumPy writes exactly these three keys, in any order.
var (
	npyDescr   = regexp.MustCompile(`'descr': *'([^']*)'`)
	npyFortran = regexp.MustCompile(`'fortran_order': *(True|False)`)
	npyShape   = regexp.MustCompile(`'shape': *\(([0-9, ]*)\)`)
	npyType    = regexp.MustCompile(`^[<>|=]([biuf])([1248])$`)
	npyTexts   = regexp.MustCompile(`^[<>|=]([SU])([1-9][0-9]{0,5})$`)
)

// npy is one array of the archive, its header read and checked, its data still to come.
type npy struct {
	name    string
	texts   bool   // that its values shall be texts, and not numbers
	columns bool   // that it is in Fortran order
	dtype   string // such as "|u1" or "<i8": the byte order, the kind and the number of bytes of a value, or of characters of a text "<U12"
	shape   []int
	in      *bufio.Reader
	close   func() error
}

func (a *npy) Close() error { return a.close() }

func (a *npy) kind() byte { return a.dtype[1] }

// width is the bytes of a value. A character of the kind U has four.
func (a *npy) width() int {
	n, _ := strconv.Atoi(a.dtype[2:])
	if a.kind() == 'U' {
		n *= 4
	}
	return n
}

// header reads the header of an array, and checks that its values are of the kind that is wanted and fill the entry of size bytes exactly.
func (a *npy) header(size int64) error {
	begin, count, err := a.outline()
	switch {
	case err != nil:
		return err
	case a.columns && len(a.shape) > 1:
		return errors.New("the array is in Fortran order. Write numpy.ascontiguousarray of it")
	case a.texts && a.dtype[min(1, len(a.dtype)):] == "O":
		return fmt.Errorf("the array has dtype %.20q, Python objects, which are pickled and never read. Write names of a fixed length: %s=numpy.array(names, dtype=str)", a.dtype, a.name)
	case a.texts && !npyTexts.MatchString(a.dtype):
		return fmt.Errorf("the array has dtype %.20q, which is no text. Write numpy.array of a list of str", a.dtype)
	case !a.texts && !npyType.MatchString(a.dtype):
		return fmt.Errorf("the array has dtype %.20q, which is neither integers nor floats. Write numbers; numpy.unique(labels, return_inverse=True)[1] makes "+
			"labels of words", a.dtype)
	}
	if want := begin + count*int64(a.width()); want != size {
		return fmt.Errorf("shape %v of %q needs %d bytes with its header, but there are %d. The file is damaged; write it again",
			a.shape, a.dtype, want, size)
	}
	return nil
}

// outline reads the header of an array of any kind, format 1 to 3. It returns where the values begin, and how many there are.
// The tests write with sbinet/npyio. This reader is our own, because theirs allocates whatever length the file states and
// panics on a malformed dictionary.
func (a *npy) outline() (begin, count int64, err error) {
	const again = "Write the file again with numpy.savez"
	var fixed [12]byte
	read, width := 10, 2
	if version, _ := a.in.Peek(7); len(version) == 7 && version[6] > 1 {
		read, width = 12, 4
	}
	if _, err := io.ReadFull(a.in, fixed[:read]); err != nil || string(fixed[:6]) != "\x93NUMPY" || fixed[6] < 1 || fixed[6] > 3 {
		return 0, 0, fmt.Errorf("this is not a NumPy array of format 1 to 3. %s", again)
	}
	n := binary.LittleEndian.Uint32(fixed[8:])
	if n > limit.NPYHeader {
		return 0, 0, fmt.Errorf("the header has %d bytes, more than the limit of %d. %s", n, limit.NPYHeader, again)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(a.in, text); err != nil {
		return 0, 0, fmt.Errorf("header: %w. %s", err, again)
	}
	descr, fortran, shape := npyDescr.FindSubmatch(text), npyFortran.FindSubmatch(text), npyShape.FindSubmatch(text)
	if descr == nil || fortran == nil || shape == nil {
		return 0, 0, fmt.Errorf("the header %.80q lacks descr, fortran_order or shape of a plain array. %s", text, again)
	}
	a.dtype = string(descr[1])
	a.columns = string(fortran[1]) == "True"
	count, err = a.setShape(string(shape[1]))
	return int64(8+width) + int64(n), count, err
}

// setShape parses the extents and returns their product, refusing one that no file can hold.
func (a *npy) setShape(text string) (int64, error) {
	count := int64(1)
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		d, err := strconv.ParseInt(part, 10, 64)
		if err != nil || d > limit.Set || count > 0 && d > limit.Set/count {
			return 0, fmt.Errorf("the shape (%.60s) has more than %d values. Write a smaller array", text, int64(limit.Set))
		}
		if a.shape = append(a.shape, int(d)); len(a.shape) > 4 {
			return 0, fmt.Errorf("the shape (%.60s…) has more than 4 axes. Write images or labels, as `ocl data info npz` describes them", text)
		}
		count *= d
	}
	return count, nil
}

// values reads the next n values. Each of them calls use with its bits, as an unsigned integer.
func (a *npy) values(n int, use func(i int, bits uint64) error) error {
	var raw [8]byte
	width := a.width()
	for i := range n {
		if _, err := io.ReadFull(a.in, raw[:width]); err != nil {
			return fmt.Errorf("%w. The file is truncated or damaged; write it again", err)
		}
		bits := binary.LittleEndian.Uint64(raw[:])
		if a.dtype[0] == '>' {
			bits = binary.BigEndian.Uint64(raw[:]) >> (64 - 8*width)
		}
		if err := use(i, bits); err != nil {
			return err
		}
	}
	return nil
}

// float is the value of bits.
func (a *npy) float(bits uint64) float64 {
	switch a.width() {
	case 2:
		return float64(float16.Frombits(uint16(bits)).Float32())
	case 4:
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}

// pixels reads the next image. Floats from 0 to 1 become the nearest of 256 levels.
func (a *npy) pixels(dst []uint8) error {
	if a.kind() == 'u' {
		if _, err := io.ReadFull(a.in, dst); err != nil {
			return fmt.Errorf("%w. The file is truncated or damaged; write it again", err)
		}
		return nil
	}
	return a.values(len(dst), func(p int, bits uint64) error {
		v := a.float(bits)
		if !(v >= 0 && v <= 1) {
			return fmt.Errorf("the value %v, but floats must lie between 0 and 1. Divide values from 0 to 255 by 255, or convert them with "+
				"astype(numpy.uint8)", v)
		}
		dst[p] = uint8(float64(v*255) + 0.5) // not fused: the same on all machines
		return nil
	})
}

// images reads all images into dst [N,C,H,W], turning HWC into CHW one image at a time.
func (a *npy) images(dst []uint8, order string, c, plane int) error {
	buf := make([]uint8, c*plane)
	for i := range len(dst) / len(buf) {
		if err := a.pixels(buf); err != nil {
			return fmt.Errorf("%s: record %d: %w", a.name, i, err)
		}
		image := dst[i*c*plane : (i+1)*c*plane]
		if order == "CHW" {
			copy(image, buf)
			continue
		}
		for p := range plane {
			for k := range c {
				image[k*plane+p] = buf[p*c+k]
			}
		}
	}
	return a.end()
}

// embeddings reads all embeddings, whose numbers become the nearest ones of float16.
func (a *npy) embeddings(dst Block) error {
	row := make([]float32, dst.Size/2)
	for i := range dst.Len() {
		err := a.values(len(row), func(k int, bits uint64) error {
			v := a.float(bits)
			if row[k] = float32(v); !(math.Abs(v) <= float16Most) {
				return fmt.Errorf("number %d is %v, but embeddings are finite and within ±%d. Scale them, or leave the sample out", k, v, float16Most)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("%s: record %d: %w", a.name, i, err)
		}
		ocl.Float16{}.Put(dst.at(i), row)
	}
	return a.end()
}

// float16Most is the largest number of float16.
const float16Most = 65504

// integers reads labels, integers of any width, sign and byte order, into dst.
func (a *npy) integers(dst []int32) error {
	if kind := a.kind(); kind != 'i' && kind != 'u' {
		return fmt.Errorf("%s has dtype %q, but labels are integers. Convert them with astype(numpy.int64)", a.name, a.dtype)
	}
	record := 0
	err := a.values(len(dst), func(i int, bits uint64) error {
		if unused := 64 - 8*a.width(); a.kind() == 'i' {
			bits = uint64(int64(bits<<unused) >> unused)
		}
		if bits > math.MaxInt32 { // also one below 0
			return fmt.Errorf("the label %d, but labels must go from 0 to K-1 without gaps. Renumber them with numpy.unique and return_inverse", int64(bits))
		}
		dst[i], record = int32(bits), i+1
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: record %d: %w", a.name, record, err)
	}
	return a.end()
}

// end checks that the entry ends where its array does; reading to the end also checks the archive's CRC.
func (a *npy) end() error {
	if _, err := a.in.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: the array does not end where its shape says, or its checksum is wrong. The file is damaged; write it again", a.name)
	}
	return nil
}

// strings reads n texts, without the zeros that fill them up. Those of the kind S are UTF-8.
func (a *npy) strings(n int) ([]string, error) {
	raw := make([]byte, a.width())
	var order binary.ByteOrder = binary.LittleEndian
	if a.dtype[0] == '>' {
		order = binary.BigEndian
	}
	all := make([]string, n)
	for i := range all {
		if _, err := io.ReadFull(a.in, raw); err != nil {
			return nil, fmt.Errorf("%s: %w. The file is truncated or damaged; write it again", a.name, err)
		}
		text := raw
		if a.kind() == 'U' {
			text = nil
			for at := 0; at < len(raw); at += 4 {
				r := order.Uint32(raw[at:])
				if r > unicode.MaxRune || !utf8.ValidRune(rune(r)) {
					return nil, fmt.Errorf("%s: text %d has the character %#x, which does not exist. Write it again with numpy.savez", a.name, i, r)
				}
				text = utf8.AppendRune(text, rune(r))
			}
		}
		all[i] = string(bytes.TrimRight(text, "\x00"))
		if !utf8.ValidString(all[i]) {
			return nil, fmt.Errorf("%s: text %d is not UTF-8. Write numpy.array of a list of str", a.name, i)
		}
	}
	return all, a.end()
}
