package pickle

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"ocl/internal/count"
)

// input is a file of a known size. No length that the file states is allocated before it is held against what is left.
type input struct {
	r        *bufio.Reader
	whole    []byte // all of the file, where it is in memory; r is nil then
	at, size int64  // bytes read; bytes of the file
}

func newInput(r io.Reader, size int64) input {
	return input{r: bufio.NewReaderSize(io.LimitReader(r, size), int(min(size, 1<<16))), size: size}
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
	if in.r == nil {
		if in.at == in.size {
			return 0, ended(io.EOF)
		}
		in.at++
		return in.whole[in.at-1], nil
	}
	b, err := in.r.ReadByte()
	if err != nil {
		return 0, ended(err)
	}
	in.at++
	return b, nil
}

// number reads an unsigned number of width bytes, 1 to 8, the lowest first.
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

// take reads n bytes, into memory of their own or as a view of the file in memory.
func (in *input) take(n uint64) ([]byte, error) {
	if left := in.size - in.at; n > uint64(left) {
		return nil, fmt.Errorf("a value has %s, but %d are left; the file is cut off", count.Of(n, "byte"), left)
	}
	if in.r == nil {
		in.at += int64(n)
		return in.whole[in.at-int64(n) : in.at : in.at], nil
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(in.r, b); err != nil {
		return nil, ended(err)
	}
	in.at += int64(n)
	return b, nil
}

// line reads up to the next newline and returns what is before it, in memory of its own.
func (in *input) line() ([]byte, error) {
	if in.r == nil {
		rest := in.whole[in.at:]
		n := bytes.IndexByte(rest, '\n')
		if n < 0 {
			return nil, ended(io.EOF)
		}
		in.at += int64(n) + 1
		return bytes.Clone(rest[:n]), nil
	}
	var line []byte
	for {
		part, err := in.r.ReadSlice('\n')
		in.at += int64(len(part))
		line = append(line, part...)
		if err == nil {
			return line[:len(line)-1], nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, ended(err)
		}
	}
}
