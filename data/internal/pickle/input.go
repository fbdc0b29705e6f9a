package pickle

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"ocl/internal/count"
)

// large is how long the bytes of a value are that are left in the file.
const large = 1 << 20

// input is a file of a known size. No length that the file states is allocated before it is compared with what is left.
type input struct {
	file     io.ReaderAt
	r        *bufio.Reader // of the file from at on
	at, size int64         // bytes read; bytes of the file
}

func newInput(file io.ReaderAt, size int64) input {
	in := input{file: file, size: size, r: bufio.NewReaderSize(nil, int(min(size, 1<<16)))}
	in.seek(0)
	return in
}

// seek goes on at a byte.
func (in *input) seek(at int64) {
	in.at = at
	in.r.Reset(io.NewSectionReader(in.file, at, in.size-at))
}

// ended is the error of a file that stops too early.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the file is cut off here")
	}
	return err
}

// byte reads one byte.
func (in *input) byte() (byte, error) {
	b, err := in.r.ReadByte()
	if err != nil {
		return 0, ended(err)
	}
	in.at++
	return b, nil
}

// number reads an unsigned number of width bytes, 0 to 8, the lowest first.
func (in *input) number(width int) (uint64, error) {
	var word [8]byte
	for i := range width {
		b, err := in.byte()
		if err != nil {
			return 0, err
		}
		word[i] = b
	}
	return binary.LittleEndian.Uint64(word[:]), nil
}

// take reads n bytes into memory of their own. Large ones stay in the file, and only their place is returned.
func (in *input) take(n uint64) (any, error) {
	if left := in.size - in.at; n > uint64(left) {
		return nil, fmt.Errorf("a value has %s, but %d are left; the file is cut off", count.Of(n, "byte"), left)
	}
	if n >= large {
		s := stored{in.at, int64(n)}
		in.seek(s.at + s.n)
		return s, nil
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(in.r, b); err != nil {
		return nil, ended(err)
	}
	in.at += int64(n)
	return data(b), nil
}

// line reads up to the next newline and returns what is before it.
func (in *input) line() (string, error) {
	line, err := in.r.ReadSlice('\n')
	in.at += int64(len(line))
	if errors.Is(err, bufio.ErrBufferFull) {
		return "", errors.New("a name is too long; the pickle is damaged")
	}
	if err != nil {
		return "", ended(err)
	}
	return string(line[:len(line)-1]), nil
}
