package served

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"ocl/internal/atomicfile"
	"ocl/internal/input"
	"ocl/internal/limit"
)

// pack writes files of a folder, by their paths below it, as a compressed archive.
func pack(w io.Writer, folder string, paths []string) error {
	zip, err := gzip.NewWriterLevel(w, gzip.BestSpeed) // parameters hardly shrink, and events shrink by any level
	if err != nil {
		return err
	}
	archive := tar.NewWriter(zip)
	for _, p := range paths {
		if err := packFile(archive, folder, p); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), zip.Close())
}

func packFile(w *tar.Writer, folder, p string) error {
	f, size, err := input.Open(filepath.Join(folder, filepath.FromSlash(p)), input.Want{Most: limit.Checkpoint})
	if err != nil {
		return err
	}
	defer f.Close()
	if err := w.WriteHeader(&tar.Header{Name: p, Size: size, Mode: 0o644, Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err = io.CopyN(w, f, size) // a run at work appends to its events
	return err
}

// unpack writes the files of an archive into a folder, which it makes. An archive that is damaged, or would lead out of
// the folder or beyond a size in bytes, is an error; what was written until then stays.
func unpack(r io.Reader, folder string, most int64) error {
	if err := atomicfile.MakeFolder(folder); err != nil {
		return err
	}
	zip, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("the archive is damaged: %w", err)
	}
	archive := tar.NewReader(io.LimitReader(zip, most+limit.ServedFiles*1024)) // headers, too
	for n := 0; ; n++ {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, io.LimitReader(zip, 1<<20)) // the checksum of the compressed stream
			if err == nil && n == 0 {
				err = errors.New("it is empty")
			}
			if err != nil {
				return fmt.Errorf("the archive is damaged: %w", err)
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("the archive is damaged: %w", err)
		}
		if most -= h.Size; most < 0 || h.Size < 0 {
			return errors.New("the archive is larger than allowed")
		}
		if n >= limit.ServedFiles {
			return fmt.Errorf("the archive has more than %d files", limit.ServedFiles)
		}
		if h.Typeflag != tar.TypeReg || !allowed(h.Name) {
			return fmt.Errorf("the archive has a file %.80q, which no run has", h.Name)
		}
		to := filepath.Join(folder, filepath.FromSlash(h.Name))
		if err := atomicfile.MakeFolder(filepath.Dir(to)); err != nil {
			return err
		}
		if err := atomicfile.Write(to, func(w io.Writer) error {
			_, err := io.CopyN(w, archive, h.Size)
			return err
		}); err != nil {
			return err
		}
	}
}

// allowed says whether a path in an archive is one that a run may have: below the folder, short, and without hidden
// parts.
func allowed(name string) bool {
	if name != path.Clean(name) || !filepath.IsLocal(filepath.FromSlash(name)) || len(name) > 400 ||
		strings.ContainsAny(name, "\\\x00:") {
		return false
	}
	parts := strings.Split(name, "/")
	for _, p := range parts {
		if strings.HasPrefix(p, ".") || len(p) > 200 {
			return false
		}
	}
	return len(parts) <= 8
}

// saved describes the files of a folder so that a change shows; "" are none.
func saved(folder string, paths []string) string {
	var b strings.Builder
	for _, p := range paths {
		if info, err := os.Stat(filepath.Join(folder, filepath.FromSlash(p))); err == nil {
			fmt.Fprintf(&b, "%s %d %d\n", p, info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}

// partSize is the size of the parts of a bundle but for the last.
func (s *store) partSize() int64 { return min(partBytes, s.nc.MaxPayload()-4096) }

// put uploads what write writes as a bundle, part by part, and its manifest last.
func (s *store) put(ctx context.Context, name string, step int, write func(io.Writer) error) (manifest, error) {
	m := manifest{Word: word(8), Step: step, from: s.name}
	r, w := io.Pipe()
	go func() { w.CloseWithError(write(w)) }()
	defer r.Close()
	sum := sha256.New()
	part := make([]byte, s.partSize())
	for {
		n, err := io.ReadFull(r, part)
		if n > 0 {
			sum.Write(part[:n])
			if _, err := s.js.Publish(ctx, s.bundle(s.name, name)+"."+m.Word+"."+strconv.Itoa(m.Parts), part[:n],
				jetstream.WithRetryAttempts(0)); err != nil {
				return m, err
			}
			m.Parts++
			m.Size += int64(n)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return m, err
		}
	}
	m.SHA256 = hex.EncodeToString(sum.Sum(nil))
	subject, data := s.bundle(s.name, name), encoded(m)
	if s.signer != nil {
		data = s.sign(subject, data)
	}
	_, err := s.js.Publish(ctx, subject, data)
	return m, err
}

// parts reads the parts of a bundle, one after the other.
type parts struct {
	ctx  context.Context
	from jetstream.Stream
	base string // of the subjects
	m    manifest
	next int
	size int64
	rest []byte
	sum  hash.Hash
}

// errParts says that a bundle is not what its manifest says, and errLost that a part of it is missing, as the server
// may lose all that it has.
var (
	errParts = errors.New("the bundle is damaged")
	errLost  = errors.New("the bundle is not whole")
)

func (p *parts) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		if p.next == p.m.Parts {
			if p.size != p.m.Size || hex.EncodeToString(p.sum.Sum(nil)) != p.m.SHA256 {
				return 0, errParts
			}
			return 0, io.EOF
		}
		msg, err := p.from.GetLastMsgForSubject(p.ctx, p.base+"."+p.m.Word+"."+strconv.Itoa(p.next))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return 0, fmt.Errorf("%w: its part %d is missing", errLost, p.next)
		}
		if err != nil {
			return 0, &atServer{err}
		}
		p.next++
		p.rest = msg.Data
		p.sum.Write(p.rest)
		p.size += int64(len(p.rest))
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// manifest is the newest one of a bundle, from a process or, with "*", from any; there is false if it has none that can
// be used.
func (s *store) manifest(ctx context.Context, from, name string) (m manifest, there bool, err error) {
	msg, err := s.bundles.GetLastMsgForSubject(ctx, s.bundle(from, name))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return m, false, nil
	}
	if err != nil {
		return m, false, err
	}
	m, fault := s.manifestIn(msg)
	return m, fault == nil, nil
}

// manifestIn reads the manifest of a message. That of the holder has its signature.
func (s *store) manifestIn(msg *jetstream.RawStreamMsg) (m manifest, err error) {
	from, text := s.sender(msg.Subject), msg.Data
	if from == holderUser {
		text = s.signed(msg.Subject, text)
	}
	m, err = manifestOf(text)
	m.from = from
	return m, err
}

// fetch unpacks a bundle into a folder, which must not be there.
func (s *store) fetch(ctx context.Context, name string, m manifest, folder string, most int64) error {
	p := &parts{ctx: ctx, from: s.bundles, base: s.bundle(m.from, name), m: m, sum: sha256.New()}
	if err := unpack(p, folder, most); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, p) // its digest
	return err
}
