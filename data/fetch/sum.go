package fetch

import (
	"context"
	"crypto/md5" // the authors of the data sets publish no other
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"strings"
)

// kinds are the checksums that a file may have.
var kinds = []struct {
	name string
	make func() hash.Hash
	want func(File) string
}{
	{"SHA-256", sha256.New, func(f File) string { return f.SHA256 }},
	{"MD5", md5.New, func(f File) string { return f.MD5 }},
}

// summed says whether a checksum of the file is published.
func (f File) summed() bool { return f.SHA256 != "" || f.MD5 != "" }

// fault reads r from its beginning and says which checksum is wrong; "" where all are right, or none is published. The
// error is that of reading, or of a ctx that ended.
func (f File) fault(ctx context.Context, r io.ReaderAt) (string, error) {
	if !f.summed() {
		return "", nil
	}
	var all []io.Writer
	hashes := make([]hash.Hash, len(kinds))
	for i, k := range kinds {
		hashes[i] = k.make()
		if k.want(f) != "" {
			all = append(all, hashes[i])
		}
	}
	in := io.NewSectionReader(r, 0, 1<<62)
	if _, err := io.CopyBuffer(io.MultiWriter(all...), until{ctx, in}, make([]byte, 1<<18)); err != nil {
		return "", err
	}
	for i, k := range kinds {
		want, got := k.want(f), hex.EncodeToString(hashes[i].Sum(nil))
		if want != "" && !strings.EqualFold(got, want) {
			return fmt.Sprintf("the file has the %s %s, and %s is published", k.name, got, strings.ToLower(want)), nil
		}
	}
	return "", nil
}

// until reads while ctx lasts.
type until struct {
	ctx context.Context
	r   io.Reader
}

func (u until) Read(b []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.r.Read(b)
}
