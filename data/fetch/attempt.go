package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"ocl/internal/count"
)

// attempt asks once for the bytes that the part lacks. It returns nil if the part is whole then, a [temporary] error if
// another attempt may help, and else a final one for people.
func (g *getter) attempt(ctx context.Context, f File, p *part) error {
	if !p.resumable(f) || p.total(f) > 0 && p.size > p.total(f) {
		if err := p.empty(); err != nil {
			return g.unwritten(f, p, err)
		}
	}
	if p.size > 0 && p.size == p.total(f) {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// The clock runs while bytes are awaited, those of the headers too. It ends the request, not the download.
	clock := time.AfterFunc(g.Stall, func() { cancel(fmt.Errorf("no byte came for %v", g.Stall)) })
	defer clock.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL, nil)
	if err != nil {
		return f.errorf("%w. Correct the address", err)
	}
	req.Header.Set("Accept-Encoding", "identity") // else net/http may unpack, and neither sizes nor ranges hold
	if p.size > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", p.size))
		if v := p.from.validator(); v != "" {
			req.Header.Set("If-Range", v)
		}
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return unanswered(ctx, f, err)
	}
	defer resp.Body.Close()
	if err := g.begin(f, p, resp); err != nil {
		return err
	}
	return g.receive(ctx, f, p, resp.Body, clock)
}

// begin prepares the part for the body of a response, or says why the body is of no use.
func (g *getter) begin(f File, p *part, resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusOK:
		from := originOf(f.URL, resp.Header, resp.ContentLength)
		if err := g.sized(f, resp, from.Bytes); err != nil {
			return err
		}
		if err := p.restart(from); err != nil {
			return g.unwritten(f, p, err)
		}
		return nil
	case http.StatusPartialContent:
		first, total, ok := contentRange(resp.Header.Get("Content-Range"))
		now := originOf(f.URL, resp.Header, total)
		if !ok || p.size == 0 || first != p.size || !p.from.goesWith(now) {
			return g.anew(f, p, "the server has another version of the file by now")
		}
		return g.sized(f, resp, now.Bytes)
	case http.StatusRequestedRangeNotSatisfiable:
		return g.anew(f, p, "the server has no bytes beyond those that are here")
	}
	return g.refused(f, resp)
}

// goesWith says whether a later answer may be of the same version of the file, as far as either says.
func (o origin) goesWith(now origin) bool {
	same := func(a, b string) bool { return a == b || a == "" || b == "" }
	return same(o.ETag, now.ETag) && same(o.Modified, now.Modified) && (o.Bytes == now.Bytes || o.Bytes == 0 || now.Bytes == 0)
}

// sized refuses a file whose size, where the server says it, is not the published one.
func (g *getter) sized(f File, resp *http.Response, size int64) error {
	if size == 0 || f.Bytes == 0 || size == f.Bytes {
		return nil
	}
	return f.errorf("the server offers %s of type %q, and the file has %s. Get the file from elsewhere and save it as %s",
		count.Of(size, "byte"), resp.Header.Get("Content-Type"), count.Of(f.Bytes, "byte"), g.path(f))
}

// anew empties the part, so that the next attempt asks for the whole file.
func (g *getter) anew(f File, p *part, why string) error {
	if err := p.empty(); err != nil {
		return g.unwritten(f, p, err)
	}
	return temporary{error: errors.New(why)}
}

// receive appends the body to the part, never more than the whole file has. The clock runs while it waits for bytes.
func (g *getter) receive(ctx context.Context, f File, p *part, body io.Reader, clock *time.Timer) error {
	total := p.total(f)
	buffer := make([]byte, 1<<18)
	for {
		clock.Reset(g.Stall)
		n, reading := body.Read(buffer)
		clock.Stop()
		longer := total > 0 && p.size+int64(n) > total
		if longer {
			n = int(total - p.size)
		}
		if _, err := p.Write(buffer[:n]); err != nil {
			return g.unwritten(f, p, err)
		}
		if longer {
			err := f.errorf("the server sends more than the %s of the file. The bytes were removed: get the file from elsewhere and save it as %s",
				count.Of(total, "byte"), g.path(f))
			return errors.Join(err, p.discard())
		}
		if n > 0 {
			g.Progress(f, p.size, total)
		}
		switch {
		case reading == nil:
		case ctx.Err() != nil:
			return temporary{error: context.Cause(ctx)}
		case !errors.Is(reading, io.EOF): // which io.ErrUnexpectedEOF is not
			return temporary{error: fmt.Errorf("the connection broke: %w", reading)}
		case p.size == 0:
			return temporary{error: errors.New("the server sent nothing")}
		case p.size < total:
			return temporary{error: fmt.Errorf("the server ended after %s", p.soFar(f))}
		default:
			return nil
		}
	}
}

// unanswered explains a request without a response.
func unanswered(ctx context.Context, f File, err error) error {
	if ctx.Err() != nil {
		return temporary{error: context.Cause(ctx)}
	}
	var refusal redirectRefusal
	if errors.As(err, &refusal) {
		return f.errorf("%w. Get the file by hand if you trust the address", refusal)
	}
	var asked *url.Error
	if errors.As(err, &asked) {
		err = asked.Err
	}
	var unknown *tls.CertificateVerificationError
	if errors.As(err, &unknown) {
		return f.errorf("the server cannot prove who it is: %w. Check the clock and the certificates of this machine", unknown.Err)
	}
	return temporary{error: fmt.Errorf("no answer: %w", err)}
}

// refused explains a status that brings no bytes. Errors of the server pass, and so do those that ask to come later.
func (g *getter) refused(f File, resp *http.Response) error {
	status := strings.TrimSpace(fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))
	late := resp.StatusCode == http.StatusRequestTimeout || resp.StatusCode == http.StatusTooManyRequests
	if !late && resp.StatusCode < 500 {
		return f.errorf("the server answers %s. Look for the file on the page of its authors, and save it as %s", status, g.path(f))
	}
	wait := retryAfter(resp.Header.Get("Retry-After"), time.Now())
	if wait > longestWait {
		return f.errorf("the server answers %s and asks to wait for %v. Run the same command again then", status, wait.Round(time.Second))
	}
	return temporary{fmt.Errorf("the server answers %s", status), wait}
}

// retryAfter is the wait that a server asks for, in seconds or until a time; 0 for none, negative for a time in the past.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if t, err := http.ParseTime(value); err == nil {
		return t.Sub(now)
	}
	return 0
}

// contentRange reads the header of a partial answer, such as "bytes 500-999/1000": where it begins, and the size of the
// whole file, -1 where the server does not say it.
func contentRange(value string) (first, total int64, ok bool) {
	span, ok := strings.CutPrefix(value, "bytes ")
	span, size, ok2 := strings.Cut(span, "/")
	from, to, ok3 := strings.Cut(span, "-")
	begin, err := strconv.ParseUint(from, 10, 63)
	end, err2 := strconv.ParseUint(to, 10, 63)
	if !ok || !ok2 || !ok3 || err != nil || err2 != nil || end < begin {
		return 0, 0, false
	}
	if size == "*" {
		return int64(begin), -1, true
	}
	whole, err := strconv.ParseUint(size, 10, 63)
	if err != nil || whole <= end {
		return 0, 0, false
	}
	return int64(begin), int64(whole), true
}
