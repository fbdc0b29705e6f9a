package fetch

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

const (
	partSuffix   = ".part"
	originSuffix = ".part.json"

	maxOrigin = 1 << 16 // bytes of an origin file; one of ours is far shorter
)

// origin says which version of a file the bytes of a part belong to. It lies beside the part.
type origin struct {
	URL      string `json:"url"`
	ETag     string `json:"etag,omitempty"`
	Modified string `json:"last_modified,omitempty"` // as the server wrote it
	Bytes    int64  `json:"bytes"`                   // of the whole file; 0: unknown
}

// originOf is what a response says of its file. The size is that of the whole file, or -1.
func originOf(url string, h http.Header, size int64) origin {
	return origin{URL: url, ETag: h.Get("ETag"), Modified: h.Get("Last-Modified"), Bytes: max(size, 0)}
}

// validator is what If-Range asks with: a strong ETag, else the time of the last change; "" for none. Weak ETags may not
// be used there (RFC 9110, section 13.1.5).
func (o origin) validator() string {
	if o.ETag != "" && !strings.HasPrefix(o.ETag, "W/") {
		return o.ETag
	}
	return o.Modified
}

// parseOrigin reads an origin. An unusable one is no error but the zero origin: then nothing is known of the part.
func parseOrigin(b []byte) origin {
	var o origin
	if err := json.Unmarshal(b, &o); err != nil || o.Bytes < 0 || !sendable(o.ETag) || !sendable(o.Modified) {
		return origin{}
	}
	return o
}

// sendable says whether text may stand in a header of a request.
func sendable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// part is the beginning of a file on the disk: the bytes are in NAME.part, and NAME.part.json has their origin.
type part struct {
	root *os.Root
	name string // of the whole file, in the form of this system
	file *os.File
	size int64
	from origin
}

// openPart opens the part of a file, or begins one.
func openPart(root *os.Root, f File) (*part, error) {
	p := &part{root: root, name: f.local()}
	if err := root.MkdirAll(filepath.Dir(p.name), 0o755); err != nil {
		return nil, err
	}
	var err error
	if p.file, err = root.OpenFile(p.name+partSuffix, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return nil, err
	}
	info, err := p.file.Stat()
	if err != nil {
		p.file.Close()
		return nil, err
	}
	p.size = info.Size()
	if o := p.readOrigin(); o.URL == f.URL {
		p.from = o
	}
	return p, nil
}

func (p *part) readOrigin() origin {
	file, err := p.root.Open(p.name + originSuffix)
	if err != nil {
		return origin{}
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, maxOrigin))
	if err != nil {
		return origin{}
	}
	return parseOrigin(b)
}

// total is the size of the whole file in bytes: as published, else as the server said; 0 if neither is known.
func (p *part) total(f File) int64 {
	if f.Bytes > 0 {
		return f.Bytes
	}
	return p.from.Bytes
}

// resumable says whether the rest of the file may be appended. Where the server gave no validator, a published checksum
// finds bytes of two versions.
func (p *part) resumable(f File) bool {
	return p.size > 0 && (p.from.validator() != "" || f.summed())
}

// Write appends b.
func (p *part) Write(b []byte) (int, error) {
	n, err := p.file.WriteAt(b, p.size)
	p.size += int64(n)
	return n, err
}

// empty removes the bytes of the part. Their origin goes first: if the process is killed in between, no bytes lie beside
// an origin that is not theirs.
func (p *part) empty() error {
	p.from = origin{}
	if err := p.removed(originSuffix); err != nil {
		return err
	}
	if err := p.file.Truncate(0); err != nil {
		return err
	}
	p.size = 0
	return nil
}

// restart empties the part for the bytes of an origin.
func (p *part) restart(from origin) error {
	if err := p.empty(); err != nil {
		return err
	}
	b, err := json.Marshal(from)
	if err != nil {
		return err
	}
	if err := p.root.WriteFile(p.name+originSuffix, append(b, '\n'), 0o644); err != nil {
		return err
	}
	p.from = from
	return nil
}

// finish gives the part its name, after its bytes are safe on the disk.
func (p *part) finish() error {
	if err := errors.Join(p.file.Sync(), p.file.Close()); err != nil {
		return err
	}
	if err := p.root.Rename(p.name+partSuffix, p.name); err != nil {
		return err
	}
	return p.removed(originSuffix)
}

// discard removes the part. A second call does nothing.
func (p *part) discard() error {
	p.size = 0
	closing := p.file.Close() // first, as Windows removes no open file
	if errors.Is(closing, fs.ErrClosed) {
		closing = nil
	}
	return errors.Join(closing, p.removed(partSuffix), p.removed(originSuffix))
}

func (p *part) removed(suffix string) error {
	if err := p.root.Remove(p.name + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
