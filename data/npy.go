package data

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// maxNPYHeader is NumPy's own limit on a header read without trust (numpy.lib.format, max_header_size).
const maxNPYHeader = 10000

// The header is a Python dictionary literal; NumPy writes exactly these three keys, in any order.
var (
	npyDescr   = regexp.MustCompile(`'descr': *'([^']*)'`)
	npyFortran = regexp.MustCompile(`'fortran_order': *(True|False)`)
	npyShape   = regexp.MustCompile(`'shape': *\(([0-9, ]*)\)`)
)

// header reads the header of an array, format 1 to 3, and checks that the shape fills the entry of size bytes exactly.
// The tests write with sbinet/npyio. This reader is our own, because theirs allocates whatever length the file states and
// panics on a malformed dictionary.
func (a *npy) header(size int64) error {
	const again = "Write the file again with numpy.savez"
	var fixed [8]byte
	if _, err := io.ReadFull(a.in, fixed[:]); err != nil || string(fixed[:6]) != "\x93NUMPY" {
		return fmt.Errorf("this is not a NumPy array. %s", again)
	}
	width := 2
	if fixed[6] >= 2 {
		width = 4
	}
	var length [4]byte
	if _, err := io.ReadFull(a.in, length[:width]); err != nil || fixed[6] < 1 || fixed[6] > 3 {
		return fmt.Errorf("the array has format %d.%d, but formats 1 to 3 are read. %s", fixed[6], fixed[7], again)
	}
	n := binary.LittleEndian.Uint32(length[:])
	if n > maxNPYHeader {
		return fmt.Errorf("the header has %d bytes, more than the limit of %d. %s", n, maxNPYHeader, again)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(a.in, text); err != nil {
		return fmt.Errorf("header: %w. %s", err, again)
	}
	descr, fortran, shape := npyDescr.FindSubmatch(text), npyFortran.FindSubmatch(text), npyShape.FindSubmatch(text)
	if descr == nil || fortran == nil || shape == nil {
		return fmt.Errorf("the header %.80q lacks descr, fortran_order or shape of a plain array. %s", text, again)
	}
	a.dtype = string(descr[1])
	count, err := a.setShape(string(shape[1]))
	if err != nil {
		return err
	}
	if bytes.Equal(fortran[1], []byte("True")) && len(a.shape) > 1 {
		return errors.New("the array is in Fortran order. Write numpy.ascontiguousarray of it")
	}
	if kind := a.dtype[min(1, len(a.dtype)):]; kind == "" || !strings.ContainsAny(kind[:1], "biuf") {
		return fmt.Errorf("the array has dtype %.20q, which is neither integers nor floats. Write numbers; numpy.unique(labels, return_inverse=True)[1] makes "+
			"labels of words", a.dtype)
	}
	bytesPer := int64(0)
	if len(a.dtype) > 2 {
		bytesPer, _ = strconv.ParseInt(a.dtype[2:], 10, 32)
	}
	if want := int64(len(fixed)+width) + int64(n) + count*bytesPer; bytesPer <= 0 || bytesPer > 16 || want != size {
		return fmt.Errorf("shape %v of %q needs %d bytes with its header, but there are %d. The file is damaged; write it again",
			a.shape, a.dtype, want, size)
	}
	return nil
}

// setShape parses the extents and returns their product, refusing one that no file can hold.
func (a *npy) setShape(text string) (int64, error) {
	count := int64(1)
	for _, part := range strings.Split(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		d, err := strconv.ParseInt(part, 10, 64)
		if err != nil || d > maxNPZBytes {
			return 0, fmt.Errorf("the shape (%.60s) has a number above %d. Write a smaller array", text, int64(maxNPZBytes))
		}
		if a.shape = append(a.shape, int(d)); len(a.shape) > 8 {
			return 0, fmt.Errorf("the shape (%.60s…) has more than 4 axes. Write images or labels, as `ocl data info npz` describes them", text)
		}
		if count > 0 && d > maxNPZBytes/count {
			return 0, fmt.Errorf("the shape (%.60s) has more than %d values. Write a smaller array", text, int64(maxNPZBytes))
		}
		count *= d
	}
	return count, nil
}
