package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ocl/internal/count"
)

const longestBackoff = 30 * time.Second

// client follows redirects as net/http does, but to https, and from http to http, alone: by another scheme, whoever
// sits on the way could see and change what is sent.
var client = &http.Client{Transport: transport(), CheckRedirect: func(req *http.Request, via []*http.Request) error {
	if from, to := via[len(via)-1].URL.Scheme, req.URL.Scheme; to != "https" && (from != "http" || to != "http") {
		return fmt.Errorf("%w from %s to %.200s", errRedirect, from, req.URL.Redacted())
	}
	if len(via) >= 10 {
		return fmt.Errorf("%w 10 times", errRedirect)
	}
	return nil
}}

// transport is the usual one, but with a connection for each request: on an idle one, net/http prints what a server
// sends unasked.
func transport() *http.Transport {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	if usual, is := http.DefaultTransport.(*http.Transport); is {
		t = usual.Clone()
		t.DisableKeepAlives = true
	}
	return t
}

// errRedirect is wrapped by errors about redirects that are not followed.
var errRedirect = errors.New("the server redirects")

// temporary is a fault that another attempt may not meet.
type temporary struct{ error }

func (t temporary) Unwrap() error { return t.error }

// attempts are made until the part is whole. One counts as a failure unless it makes the part longer than it ever was,
// so a long file over a bad line arrives, and a server that always begins again does not keep Get for ever.
func (d *download) attempts(ctx context.Context) error {
	longest, failures, wait := d.size, 0, d.backoff
	for {
		d.Progress(d.file, d.size, d.total)
		err := d.attempt(ctx)
		var again temporary
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return d.stopped(ctx)
		case !errors.As(err, &again):
			return err
		}
		if d.size > longest {
			longest, failures, wait = d.size, 0, d.backoff
		}
		if failures >= d.retries {
			return d.errorf("%w (attempts in a row: %d). Run the same command again later: it continues after %s", again.error,
				failures+1, d.soFar())
		}
		failures++
		d.Retrying(d.file, Retry{Why: again.error, Attempt: failures + 1, Of: d.retries + 1, From: d.size, Wait: wait})
		select {
		case <-ctx.Done():
			return d.stopped(ctx)
		case <-time.After(wait):
		}
		wait = min(2*wait, longestBackoff)
	}
}

// attempt asks once for the bytes that the part lacks. It returns nil if the part is whole then, a [temporary] error if
// another attempt may help, and else a final one for people. Bytes of two versions of a file are found by its checksum.
func (d *download) attempt(ctx context.Context) error {
	if d.file.Bytes > 0 && d.size > d.file.Bytes {
		if err := d.empty(); err != nil {
			return err
		}
	}
	if d.file.Bytes > 0 && d.size == d.file.Bytes {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// The clock runs while bytes are awaited, those of the headers too. It ends the request, not the download.
	clock := time.AfterFunc(d.stall, func() { cancel(fmt.Errorf("no byte came for %v", d.stall)) })
	defer clock.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.file.URL, nil)
	if err != nil {
		return d.errorf("%w. Correct the address", err)
	}
	req.Header.Set("Accept-Encoding", "identity") // else net/http may unpack, and neither sizes nor ranges hold
	if d.size > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.size))
	}
	resp, err := client.Do(req)
	if err != nil {
		return d.unanswered(ctx, err)
	}
	defer resp.Body.Close()
	first, total := int64(0), resp.ContentLength
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusPartialContent:
		first, total = -1, -1 // where the server does not say it; such as "bytes 500-999/1000"
		_, _ = fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-%d/%d", &first, new(int64), &total)
	case http.StatusRequestedRangeNotSatisfiable: // no bytes beyond those that are here, so that the checksum decides
		return nil
	default:
		return d.refused(resp)
	}
	if d.file.Bytes > 0 && total >= 0 && total != d.file.Bytes {
		return d.errorf("the server offers %s of type %q, and the file has %s. Get the file from elsewhere and save it as %s",
			count.Of(total, "byte"), resp.Header.Get("Content-Type"), count.Of(d.file.Bytes, "byte"), d.path)
	}
	if d.file.Bytes == 0 && total > d.longest {
		return d.tooLong(d.longest)
	}
	if first != d.size {
		if err := d.empty(); err != nil {
			return err
		}
		if first != 0 {
			return temporary{errors.New("the server sends another part than it was asked for")}
		}
	}
	if d.file.Bytes == 0 {
		d.total = max(total, 0)
	}
	return d.receive(ctx, resp.Body, clock)
}

// empty removes the bytes of the part.
func (d *download) empty() error {
	d.size = 0
	if err := d.part.Truncate(0); err != nil {
		return unwritable(d.path+".part", err)
	}
	return nil
}

// receive appends the body to the part. The clock runs while it waits for bytes.
func (d *download) receive(ctx context.Context, body io.Reader, clock *time.Timer) error {
	buffer := make([]byte, 1<<18)
	for {
		clock.Reset(d.stall)
		n, reading := body.Read(buffer)
		clock.Stop()
		if most := cmp.Or(d.total, d.longest); d.size+int64(n) > most {
			return d.tooLong(most)
		}
		written, err := d.part.WriteAt(buffer[:n], d.size)
		d.size += int64(written)
		if err != nil {
			return unwritable(d.path+".part", err)
		}
		if n > 0 {
			d.Progress(d.file, d.size, d.total)
		}
		switch {
		case reading == nil:
		case ctx.Err() != nil:
			return temporary{context.Cause(ctx)}
		case !errors.Is(reading, io.EOF): // which io.ErrUnexpectedEOF is not
			return temporary{fmt.Errorf("the connection broke: %w", reading)}
		case d.size == 0 || d.size < d.total:
			return temporary{fmt.Errorf("the server ended after %s", d.soFar())}
		default:
			return nil
		}
	}
}

// tooLong empties the part, as the server sends more bytes than the file may have.
func (d *download) tooLong(most int64) error {
	return errors.Join(d.errorf("the server sends more than %s, which the file cannot have. The bytes were removed: get the file from elsewhere and save it as %s",
		count.Of(most, "byte"), d.path), d.empty())
}

// unanswered explains a request without a response.
func (d *download) unanswered(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return temporary{context.Cause(ctx)}
	}
	if asked := (*url.Error)(nil); errors.As(err, &asked) {
		err = asked.Err
	}
	if errors.Is(err, errRedirect) {
		return d.errorf("%w. Get the file by hand if you trust that address, and save it as %s", err, d.path)
	}
	if unknown := (*tls.CertificateVerificationError)(nil); errors.As(err, &unknown) {
		return d.errorf("the server cannot prove who it is: %w. Check the clock and the certificates of this machine",
			unknown.Err)
	}
	// net/http quotes lines of the server, which may have megabytes
	return temporary{fmt.Errorf("no answer: %.300s", err.Error())}
}

// refused explains a status that brings no bytes. Errors of the server pass, and so do those that ask to come later.
func (d *download) refused(resp *http.Response) error {
	status := strings.TrimSpace(fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))
	late := resp.StatusCode == http.StatusRequestTimeout || resp.StatusCode == http.StatusTooManyRequests
	if !late && resp.StatusCode < 500 {
		return d.errorf("the server answers %s. Look for the file on the page of its authors, and save it as %s", status,
			d.path)
	}
	return temporary{fmt.Errorf("the server answers %s", status)}
}

// soFar says how much of a file is there: "1,000 of 168,513,733 bytes", or "1,000 bytes" if the whole is unknown.
func (d *download) soFar() string {
	if d.total > 0 {
		return count.Number(d.size) + " of " + count.Of(d.total, "byte")
	}
	return count.Of(d.size, "byte")
}
