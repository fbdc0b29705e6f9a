// Package fetch downloads the files of data sets from their official addresses. It survives what downloads of gigabytes
// meet: cut connections, stalls, busy servers, a killed process. A file appears under its name only when all of it is
// there and its checksum is right. The package does not read data sets and does not unpack archives.
//
// [Files] lists the addresses, [HowTo] says what remains to be done by hand, and [Get] downloads.
package fetch

import (
	"cmp"
	"context"
	"crypto/md5" // the authors of the data sets publish no other
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ocl/internal/atomicfile"
	"ocl/internal/cause"
)

// File is a file at an official address.
type File struct {
	URL   string // http or https
	Name  string // path below the data folder, slash-separated
	Bytes int64  // 0: unknown
	MD5   string // in hexadecimal, as published
}

// Options say where files go and how patient Get is. Only Dir is needed.
type Options struct {
	Dir    string       // the data folder; made if it is missing
	Client *http.Client // nil: one with the proxy and the time limits of [http.DefaultTransport]

	// Progress is called with the bytes of a file that are on the disk, before each attempt and after each read. The total
	// is 0 while it is unknown. Done falls where a file is started again. It is called on the goroutine of Get.
	Progress func(file File, done, total int64)

	// Retrying is called before the wait for another attempt; it may be nil. It is called on
	// the goroutine of Get.
	Retrying func(file File, r Retry)

	Stall   time.Duration // no byte for so long is a stall, which ends an attempt; 0: 30 s
	Retries int           // attempts after one another that may bring nothing new; 0: 5, negative: none
	Backoff time.Duration // wait before the first retry, doubled for each further one up to 30 s; 0: 1 s
}

// Retry is another attempt to download a file.
type Retry struct {
	Why     error         // what ended the attempt before
	Attempt int           // of those in a row that brought nothing new, from 2
	Of      int           // as many attempts in a row are made
	From    int64         // bytes of the file that are there; the server may begin again all the same
	Wait    time.Duration // until it is made
}

// Get downloads files, one after the other, to o.Dir. It leaves a file alone that is there with the right size and
// checksum, and replaces one that is there with others. The bytes of an unfinished file stay in NAME.part, and a later
// Get continues there.
//
// Get stops at the first file that it cannot have; the error says what to do. If ctx ends, the error wraps its cause.
// Get writes nothing outside o.Dir. Two Gets must not write to one o.Dir at the same time.
func Get(ctx context.Context, files []File, o Options) error {
	if o.Dir == "" {
		return errors.New("fetch: no folder is given. Use --data-dir with the folder for the files")
	}
	for _, f := range files {
		if err := f.check(); err != nil {
			return err
		}
	}
	if err := atomicfile.MakeFolder(o.Dir); err != nil {
		return unwritable(o.Dir, err)
	}
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return unwritable(o.Dir, err)
	}
	defer root.Close()
	o.Stall, o.Retries, o.Backoff = cmp.Or(o.Stall, 30*time.Second), cmp.Or(o.Retries, 5), cmp.Or(o.Backoff, time.Second)
	if o.Progress == nil {
		o.Progress = func(File, int64, int64) {}
	}
	if o.Retrying == nil {
		o.Retrying = func(File, Retry) {}
	}
	o.Client = staysSecure(o.Client)
	for _, f := range files {
		d := download{Options: o, file: f, path: filepath.Join(o.Dir, filepath.FromSlash(f.Name)), root: root}
		if err := d.get(ctx); err != nil {
			return err
		}
	}
	return nil
}

// check refuses a file whose name leads out of the data folder, or which this package cannot download.
func (f File) check() error {
	if _, err := filepath.Localize(f.Name); err != nil || f.Name == "." {
		return fmt.Errorf("fetch: the file name %q leads out of the data folder or is none. Use a path below it, such as mnist/a.gz", f.Name)
	}
	u, err := url.Parse(f.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("fetch: %s: the address %q is none of http or https. Use one such as https://host/a.gz", f.Name, f.URL)
	}
	if b, err := hex.DecodeString(f.MD5); err != nil || len(b) != md5.Size {
		return fmt.Errorf("fetch: %s: %q is no checksum. Use the MD5 of the file in hexadecimal digits", f.Name, f.MD5)
	}
	return nil
}

// staysSecure is a copy of a client, or of the default one for nil, that does not leave https once it is there: else
// whoever sits on the way could send it anywhere.
func staysSecure(given *http.Client) *http.Client {
	c := http.Client{}
	if given != nil {
		c = *given
	}
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		switch {
		case via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https":
			return fmt.Errorf("%w from https to %s", errRedirect, req.URL.Redacted())
		case len(via) >= 10: // as net/http has it
			return fmt.Errorf("%w 10 times", errRedirect)
		}
		return nil
	}
	return &c
}

// errRedirect is wrapped by errors about redirects that are not followed.
var errRedirect = errors.New("the server redirects")

// download is a file on its way. Its options are filled in.
type download struct {
	Options
	file  File
	path  string   // where it goes
	root  *os.Root // of Dir: what is opened through it cannot lie outside, even by symbolic links
	part  *os.File // its beginning, at path with .part
	size  int64    // bytes of the part
	total int64    // of the whole file, as published or as the server says; 0: unknown
}

// get brings the file to its place.
func (d *download) get(ctx context.Context) error {
	if here, err := d.here(ctx); here || err != nil {
		return err
	}
	name := filepath.FromSlash(d.file.Name)
	err := d.root.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		d.part, err = d.root.OpenFile(name+".part", os.O_RDWR|os.O_CREATE, 0o644)
	}
	if err != nil {
		return unwritable(d.path+".part", err)
	}
	defer d.part.Close() // a second time does no harm
	if d.size, err = d.part.Seek(0, io.SeekEnd); err != nil {
		return unwritable(d.path+".part", err)
	}
	d.total = d.file.Bytes
	fault := ""
	if err = d.attempts(ctx); err == nil {
		fault, err = d.fault(ctx, io.NewSectionReader(d.part, 0, d.size))
	}
	switch {
	case fault != "":
		err = d.errorf("%s. The bytes were removed: run the same command again, or get the file from elsewhere and save it as %s", fault, d.path)
	case err != nil && d.size > 0:
		return err
	case err == nil:
		err := errors.Join(d.part.Sync(), d.part.Close())
		if err == nil {
			err = d.root.Rename(name+".part", name)
		}
		if err != nil {
			return unwritable(d.path+".part", err)
		}
		if err := atomicfile.SyncFolder(filepath.Dir(d.path)); err != nil {
			return unwritable(filepath.Dir(d.path), err)
		}
		return nil
	}
	return errors.Join(err, d.part.Close(), d.root.Remove(name+".part")) // a wrong or empty part is of no use to anybody
}

// here says whether the file is in its place with the right size and checksum. It may be there by a symbolic link to
// anywhere, as nothing is written.
func (d *download) here(ctx context.Context) (bool, error) {
	file, err := os.Open(d.path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, unwritable(d.path, err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return false, unwritable(d.path, err)
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("fetch: %s is not a file, and the download would replace it. Remove it, or use another --data-dir", d.path)
	case d.file.Bytes > 0 && info.Size() != d.file.Bytes:
		return false, nil
	}
	fault, err := d.fault(ctx, file)
	if err == nil && fault == "" {
		d.Progress(d.file, info.Size(), info.Size())
	}
	return fault == "", err
}

// fault reads all bytes of the file and says whether their checksum is wrong; "" if it is right.
func (d *download) fault(ctx context.Context, r io.Reader) (string, error) {
	h := md5.New()
	buffer := make([]byte, 1<<18)
	for {
		if ctx.Err() != nil {
			return "", d.stopped(ctx)
		}
		n, err := r.Read(buffer)
		h.Write(buffer[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", fmt.Errorf("fetch: %s: reading it again: %w. Check the disk, and run the same command again", d.path, cause.Of(err))
		}
	}
	if got := hex.EncodeToString(h.Sum(nil)); !strings.EqualFold(got, d.file.MD5) {
		return fmt.Sprintf("the file has the MD5 %s, and %s is published", got, strings.ToLower(d.file.MD5)), nil
	}
	return "", nil
}

// errorf is an error of this file at its address.
func (d *download) errorf(format string, args ...any) error {
	return fmt.Errorf("fetch: %s from %s: %w", d.file.Name, d.file.URL, fmt.Errorf(format, args...))
}

// stopped explains that ctx ended.
func (d *download) stopped(ctx context.Context) error {
	return d.errorf("stopped after %s: %w. Run the same command again: it continues with %s", d.soFar(), context.Cause(ctx), d.path+".part")
}

// unwritable explains that a file or a folder cannot be written.
func unwritable(path string, err error) error {
	return fmt.Errorf("fetch: %s: %w. Free space or change the permissions and run the same command again, or use another --data-dir", path, cause.Of(err))
}
