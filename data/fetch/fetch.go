// Package fetch downloads the files of data sets from their official addresses. It survives what downloads of gigabytes
// meet: cut connections, stalls, busy servers, a killed process. A file appears under its name only when all of it is
// there and its checksum is right. The package does not read data sets and does not unpack archives.
//
// [Files] lists the addresses, [HowTo] says what remains to be done by hand, and [Get] downloads.
package fetch

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"ocl/checkpoint"
	"ocl/internal/cause"
)

// File is a file at an official address.
type File struct {
	URL    string // http or https
	Name   string // path below the data folder, slash-separated
	Bytes  int64  // 0: unknown
	SHA256 string // in hexadecimal, as published; "" for none
	MD5    string // in hexadecimal, as published; "" for none
}

// Options say where files go and how patient Get is. Only Dir is needed.
type Options struct {
	Dir    string       // the data folder; made if it is missing
	Client *http.Client // nil: one with the proxy and the time limits of [http.DefaultTransport]

	// Progress is told of the bytes of a file that are on the disk: before each attempt and after each read. The total
	// is 0 while it is unknown. Done falls where a file is started anew. It is called on the goroutine of Get.
	Progress func(file File, done, total int64)

	// Retrying is told of each attempt that failed and will be made again, before the wait; nil is nobody. It is called on
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
	From    int64         // bytes of the file that are there; the server may begin anew all the same
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
	if err := checkpoint.MakeFolder(o.Dir); err != nil {
		return unwritable(o.Dir, err)
	}
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return unwritable(o.Dir, err)
	}
	defer root.Close()
	g := getter{Options: o.filled(), client: redirecting(o.Client), root: root}
	for _, f := range files {
		if err := g.get(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// filled returns o with the defaults in place of zeros.
func (o Options) filled() Options {
	if o.Stall == 0 {
		o.Stall = 30 * time.Second
	}
	if o.Retries == 0 {
		o.Retries = 5
	}
	if o.Backoff == 0 {
		o.Backoff = time.Second
	}
	if o.Progress == nil {
		o.Progress = func(File, int64, int64) {}
	}
	if o.Retrying == nil {
		o.Retrying = func(File, Retry) {}
	}
	return o
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
	if f.Bytes < 0 {
		return fmt.Errorf("fetch: %s: a size of %d bytes is negative. Use 0 if it is unknown", f.Name, f.Bytes)
	}
	for _, k := range kinds {
		if want := k.want(f); want != "" {
			if b, err := hex.DecodeString(want); err != nil || len(b) != k.make().Size() {
				return fmt.Errorf("fetch: %s: %q is no %s. Use %d hexadecimal digits", f.Name, want, k.name, 2*k.make().Size())
			}
		}
	}
	return nil
}

// local is the file's name in the form of this system.
func (f File) local() string { return filepath.FromSlash(f.Name) }

// getter downloads files below one folder. Its options are filled.
type getter struct {
	Options
	client *http.Client
	root   *os.Root // of Dir: what is opened through it cannot lie outside, even by symbolic links
}

// path is where a file goes, for people.
func (g *getter) path(f File) string { return filepath.Join(g.Dir, f.local()) }

// get brings one file to its place.
func (g *getter) get(ctx context.Context, f File) error {
	if here, err := g.here(ctx, f); here || err != nil {
		return err
	}
	p, err := openPart(g.root, f)
	if err != nil {
		return unwritable(g.path(f)+partSuffix, err)
	}
	defer p.file.Close() // finish and discard close it too; a second time does no harm
	if err := g.download(ctx, f, p); err != nil {
		if p.size == 0 { // an empty part is of no use to anybody
			err = errors.Join(err, p.discard())
		}
		return err
	}
	fault, err := f.fault(ctx, p.file)
	switch {
	case err != nil && ctx.Err() != nil:
		return g.stopped(ctx, f, p)
	case err != nil:
		return fmt.Errorf("fetch: %s: reading it again: %w. Check the disk, and run the same command again", g.path(f)+partSuffix, cause.Of(err))
	case fault != "":
		err := f.errorf("%s. The bytes were removed: run the same command again, or get the file from elsewhere and save it as %s",
			fault, g.path(f))
		return errors.Join(err, p.discard())
	}
	if err := p.finish(); err != nil {
		return g.unwritten(f, p, err)
	}
	if err := checkpoint.SyncFolder(filepath.Dir(g.path(f))); err != nil {
		return unwritable(filepath.Dir(g.path(f)), err)
	}
	return nil
}

// here says whether the file is in its place with the right size and checksum. It may be there by a symbolic link to
// anywhere, as nothing is written.
func (g *getter) here(ctx context.Context, f File) (bool, error) {
	path := g.path(f)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("fetch: %s: %w. Check the file and its folder, or use another --data-dir", path, cause.Of(err))
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("fetch: %s is not a file, and the download would replace it. Remove it, or use another --data-dir", path)
	case f.Bytes > 0 && info.Size() != f.Bytes:
		return false, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("fetch: %s: %w. Change its permissions, or use another --data-dir", path, cause.Of(err))
	}
	defer file.Close()
	fault, err := f.fault(ctx, file)
	if ctx.Err() != nil {
		return false, f.errorf("stopped while %s was checked: %w. Run the same command again", path, context.Cause(ctx))
	}
	if err != nil {
		return false, fmt.Errorf("fetch: %s: reading it: %w. Run the same command again, or remove the file", path, cause.Of(err))
	}
	if fault == "" {
		g.Progress(f, info.Size(), info.Size())
	}
	return fault == "", nil
}
