package result

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"

	"ocl/internal/limit"
)

// Packed is the end of the name of a result that gzip has compressed, such as er-m5000-s1.json.gz.
const Packed = ".json.gz"

// Unpack returns a reader of the text in r, which gzip may have compressed. It needs a fixed amount of memory. The text
// may be a thousand times as long as the file, so the caller must bound what it reads. An error of gzip wraps
// [ErrDamaged].
func Unpack(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	// Neither JSON nor YAML begins with these bytes. Where a file has fewer, whoever reads it says what is wrong.
	if magic, _ := b.Peek(2); string(magic) != "\x1f\x8b" {
		return b, nil
	}
	z, err := gzip.NewReader(b)
	return unpacker{z}, decompressing(err)
}

// unpacker reads what gzip compressed.
type unpacker struct{ z *gzip.Reader }

func (u unpacker) Read(p []byte) (int, error) {
	n, err := u.z.Read(p)
	return n, decompressing(err)
}

// decompressing makes an error of a gzip reader plain for people. Errors of the disk and the end of the file stay as
// they are.
func decompressing(err error) error {
	var disk *os.PathError
	if err == nil || errors.Is(err, io.EOF) || errors.As(err, &disk) {
		return err
	}
	return fmt.Errorf("%w: it cannot be decompressed (%w). Copy or download the file again", ErrDamaged, err)
}

// readText reads the text of a file, at most one byte more than a result may have, which shows that there is more.
func readText(f io.Reader) ([]byte, error) {
	r, err := Unpack(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, limit.Result+1))
}
