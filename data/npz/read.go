package npz

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

	"ocl/internal/count"
	"ocl/internal/limit"
)

var (
	// The header is a Python dictionary literal; NumPy writes exactly these three keys, in any order.
	descrKey   = regexp.MustCompile(`'descr': *'([^']*)'`)
	fortranKey = regexp.MustCompile(`'fortran_order': *(True|False)`)
	shapeKey   = regexp.MustCompile(`'shape': *\(([0-9, ]*)\)`)

	numberType = regexp.MustCompile(`^[<>|=]([biu][1248]|f[248])$`)
	textType   = regexp.MustCompile(`^[<>|=][SU][1-9][0-9]{0,5}$`)
)

// kind is what values shall be.
type kind int

const (
	listed kind = iota // anything, as no value is read
	numbers
	texts
)

// Values is an array whose header is read and checked, and whose values are still to come. Close it.
type Values struct {
	Array
	columns bool  // that it is in Fortran order
	begin   int64 // of the values, in bytes
	count   int64 // of the values
	order   binary.ByteOrder
	width   int // of a value, in bytes
	in      *bufio.Reader
	io.Closer
}

// open reads the header, and checks that the values are what is wanted and fill the entry of size bytes exactly.
func (v *Values) open(size int64, wanted kind) error {
	switch err := v.header(); {
	case err != nil || wanted == listed:
		return err
	case v.columns && len(v.Shape) > 1:
		return errors.New("the array is in Fortran order. Write numpy.ascontiguousarray of it")
	case wanted == texts && strings.HasSuffix(v.Type, "O"):
		return fmt.Errorf("the array has dtype %.20q, Python objects, which are pickled and never read. Write names of a fixed length: %s=numpy.array(names, dtype=str)",
			v.Type, v.Name)
	case wanted == texts && !textType.MatchString(v.Type):
		return fmt.Errorf("the array has dtype %.20q, which is no text. Write numpy.array of a list of str", v.Type)
	case wanted == numbers && !numberType.MatchString(v.Type):
		return fmt.Errorf("the array has dtype %.20q, which is neither integers nor floats. Write numbers; numpy.unique(labels, return_inverse=True)[1] makes "+
			"labels of words", v.Type)
	}
	if v.order = binary.LittleEndian; v.Type[0] == '>' {
		v.order = binary.BigEndian
	}
	if v.width, _ = strconv.Atoi(v.Type[2:]); v.Type[1] == 'U' {
		v.width *= 4
	}
	if want := v.begin + v.count*int64(v.width); want != size {
		return fmt.Errorf("shape %v of %q needs %d bytes with its header, but there are %d. The file is damaged; write it again",
			v.Shape, v.Type, want, size)
	}
	return nil
}

// header reads the header of an array of any kind, format 1 to 3.
func (v *Values) header() error {
	const again = "Write the file again with numpy.savez"
	var fixed [12]byte
	v.begin = 10
	if version, _ := v.in.Peek(7); len(version) == 7 && version[6] > 1 {
		v.begin = 12
	}
	if _, err := io.ReadFull(v.in, fixed[:v.begin]); err != nil || string(fixed[:6]) != magic || fixed[6] < 1 ||
		fixed[6] > 3 {
		return fmt.Errorf("this is not a NumPy array of format 1 to 3. %s", again)
	}
	n := binary.LittleEndian.Uint32(fixed[8:])
	if n > limit.NPYHeader {
		return fmt.Errorf("the header has %d bytes, more than the limit of %d. %s", n, limit.NPYHeader, again)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(v.in, text); err != nil {
		return fmt.Errorf("header: %w. %s", err, again)
	}
	descr, fortran, shape := descrKey.FindSubmatch(text), fortranKey.FindSubmatch(text), shapeKey.FindSubmatch(text)
	if descr == nil || fortran == nil || shape == nil {
		return fmt.Errorf("the header %.80q lacks descr, fortran_order or shape of a plain array. %s", text, again)
	}
	v.begin += int64(n)
	v.Type = string(descr[1])
	v.columns = string(fortran[1]) == "True"
	return v.shape(string(shape[1]))
}

// shape parses the extents, and refuses what no file can hold.
func (v *Values) shape(text string) error {
	v.count = 1
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		d, err := strconv.ParseInt(part, 10, 64)
		if err != nil || d > limit.Set || v.count > 0 && d > limit.Set/v.count {
			return fmt.Errorf("the shape (%.60s) has more than %d values. Write a smaller array", text, int64(limit.Set))
		}
		if v.Shape = append(v.Shape, int(d)); len(v.Shape) > 4 {
			return fmt.Errorf("the shape (%.60s…) has more than 4 axes. Write images or labels, as `ocl data info npz` describes them",
				text)
		}
		v.count *= d
	}
	return nil
}

// Bytes reads the next values as they are in the file.
func (v *Values) Bytes(dst []byte) error {
	if _, err := io.ReadFull(v.in, dst); err != nil {
		return damaged(err)
	}
	return nil
}

// bits reads the next n values. Each of them calls use with its bits, as an unsigned integer.
func (v *Values) bits(n int, use func(i int, bits uint64) error) error {
	for i := 0; i < n; {
		some, err := v.in.Peek(min((n-i)*v.width, 1<<12))
		for raw := some; len(raw) >= v.width; raw = raw[v.width:] {
			var bits uint64
			switch v.width {
			case 1:
				bits = uint64(raw[0])
			case 2:
				bits = uint64(v.order.Uint16(raw))
			case 4:
				bits = uint64(v.order.Uint32(raw))
			case 8:
				bits = v.order.Uint64(raw)
			}
			if err := use(i, bits); err != nil {
				return err
			}
			i++
		}
		if err != nil {
			return damaged(err)
		}
		if _, err := v.in.Discard(len(some)); err != nil {
			return damaged(err)
		}
	}
	return nil
}

// damaged says that an entry ends within its values, or cannot be unpacked.
func damaged(err error) error {
	return fmt.Errorf("%w. The file is truncated or damaged; write it again", err)
}

// Floats reads the next n values of an array of floats.
func (v *Values) Floats(n int, use func(i int, x float64) error) error {
	return v.bits(n, func(i int, bits uint64) error {
		switch v.width {
		case 2:
			return use(i, float64(float16.Frombits(uint16(bits)).Float32()))
		case 4:
			return use(i, float64(math.Float32frombits(uint32(bits))))
		}
		return use(i, math.Float64frombits(bits))
	})
}

// Integers reads the next n values of an array of integers of any width, sign and byte order. One of 2⁶³ or more is
// below 0.
func (v *Values) Integers(n int, use func(i int, x int64) error) error {
	return v.bits(n, func(i int, bits uint64) error {
		if unused := 64 - 8*v.width; v.Type[1] == 'i' {
			bits = uint64(int64(bits<<unused) >> unused)
		}
		return use(i, int64(bits))
	})
}

// Texts reads all texts, without the zeros that fill them up, up to [limit.ClassNames]. Those of the kind S are UTF-8.
func (v *Values) Texts() ([]string, error) {
	if n := v.count * int64(v.width); n > limit.ClassNames {
		return nil, fmt.Errorf("%s has %s, more than the limit of %s. Use shorter names", v.Name, count.Of(n, "byte"),
			count.Number(limit.ClassNames))
	}
	raw, all := make([]byte, v.width), make([]string, v.count)
	for i := range all {
		if err := v.Bytes(raw); err != nil {
			return nil, fmt.Errorf("%s: %w", v.Name, err)
		}
		text := raw
		if v.Type[1] == 'U' {
			text = nil
			for at := 0; at < len(raw); at += 4 {
				r := v.order.Uint32(raw[at:])
				if r > unicode.MaxRune || !utf8.ValidRune(rune(r)) {
					return nil, fmt.Errorf("%s: text %d has the character %#x, which does not exist. Write it again with numpy.savez",
						v.Name, i, r)
				}
				text = utf8.AppendRune(text, rune(r))
			}
		}
		all[i] = string(bytes.TrimRight(text, "\x00"))
		if !utf8.ValidString(all[i]) {
			return nil, fmt.Errorf("%s: text %d is not UTF-8. Write numpy.array of a list of str", v.Name, i)
		}
	}
	return all, v.End()
}

// End checks that the entry ends where its array does; reading to the end also checks the archive's CRC.
func (v *Values) End() error {
	if _, err := v.in.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: the array does not end where its shape says, or its checksum is wrong. The file is damaged; write it again",
			v.Name)
	}
	return nil
}
