package result

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ocl/internal/fuzztest"
	"ocl/internal/limit"
)

// packed is a text that gzip compressed.
func packed(t *testing.T, text io.Reader) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.Copy(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// endless is white space without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestReadUnpacks reads a compressed result as the same result. One that is cut off, changed, or that would fill the
// memory is refused.
func TestReadUnpacks(t *testing.T) {
	text := encoded(t, example())
	good := packed(t, strings.NewReader(text))
	path := filepath.Join(t.TempDir(), "er"+Packed)
	read := func(file []byte) (*Result, error) {
		t.Helper()
		if err := os.WriteFile(path, file, 0o644); err != nil {
			t.Fatal(err)
		}
		return Read(path)
	}
	if r, err := read(good); err != nil || encoded(t, r) != text {
		t.Errorf("it is read as another result (%v)", err)
	}
	changed := bytes.Clone(good)
	changed[len(changed)-8] ^= 1 // of the checksum
	for name, file := range map[string][]byte{"cut off": good[:len(good)/2], "changed": changed,
		"the head alone": good[:2], "followed by others": append(bytes.Clone(good), "more"...)} {
		if _, err := read(file); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) ||
			!strings.Contains(err.Error(), "cannot be decompressed") {
			t.Errorf("%s: %v", name, err)
		}
	}

	bomb := packed(t, io.MultiReader(strings.NewReader("{"), io.LimitReader(endless{}, 4*limit.Result)))
	var err error
	most := uint64(6 * limit.Result) // a slice that grows, and the copies it leaves
	if n := fuzztest.Allocated(most, func() { _, err = read(bomb) }); n > most {
		t.Errorf("%d bytes were allocated for a text of 256 MB", n)
	}
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "more than 67108864 bytes") {
		t.Errorf("a text of 256 MB in %d bytes: %v", len(bomb), err)
	}
}
