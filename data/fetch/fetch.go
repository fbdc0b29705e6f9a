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
	"os"
	"path/filepath"
	"strings"
	"time"

	"ocl/internal/atomicfile"
	"ocl/internal/cause"
	"ocl/internal/input"
	"ocl/internal/limit"
)

// File is a file at an official address.
type File struct {
	URL   string // http or https
	Name  string // path below the data folder, slash-separated
	Bytes int64  // 0: unknown
	MD5   string // in hexadecimal, as published
}

// Options say where files go and who is told. All exported fields are needed.
type Options struct {
	Dir string // the data folder; made if it is missing

	// Progress is called with the bytes of a file that are on the disk, before each attempt and after each read. The total
	// is 0 while it is unknown. Done falls where a file is started again. It is called on the goroutine of Get.
	Progress func(file File, done, total int64)
	// Retrying is called before the wait for another attempt, on the goroutine of Get.
	Retrying func(file File, r Retry)

	longest int64         // bytes of a file whose size nobody says; 0: limit.Download
	stall   time.Duration // no byte for so long is a stall, which ends an attempt; 0: 30 s
	retries int           // attempts after one another that may bring nothing new; 0: 5
	backoff time.Duration // wait before the first retry, doubled for each further one up to 30 s; 0: 1 s
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
	o.longest = cmp.Or(o.longest, limit.Download)
	o.stall, o.retries, o.backoff = cmp.Or(o.stall, limit.DownloadSilenceSeconds*time.Second), cmp.Or(o.retries, 5),
		cmp.Or(o.backoff, time.Second)
	for _, f := range files {
		d := download{Options: o, file: f, path: filepath.Join(o.Dir, filepath.FromSlash(f.Name))}
		if err := d.get(ctx); err != nil {
			return err
		}
	}
	return nil
}

// download is a file on its way. Its options are filled in.
type download struct {
	Options
	file  File
	path  string   // where it goes
	part  *os.File // its beginning, at path with .part
	size  int64    // bytes of the part
	total int64    // of the whole file, as published or as the server says; 0: unknown
}

// get brings the file to its place.
func (d *download) get(ctx context.Context) error {
	if here, err := d.here(ctx); here || err != nil {
		return err
	}
	part, name := d.path+".part", filepath.FromSlash(d.file.Name)
	err := atomicfile.MakeFolder(d.Dir)
	if err != nil {
		return unwritable(d.Dir, err)
	}
	root, err := os.OpenRoot(d.Dir) // what is written through it cannot lie outside, even by links
	if err != nil {
		return unwritable(d.Dir, err)
	}
	defer root.Close()
	if info, err := root.Lstat(name + ".part"); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("fetch: %s is not a file, and the download would be written to it. Remove it, or use another --data-dir",
			part)
	}
	if err = root.MkdirAll(filepath.Dir(name), 0o755); err == nil {
		d.part, err = root.OpenFile(name+".part", os.O_RDWR|os.O_CREATE, 0o644)
	}
	if err != nil {
		return unwritable(part, err)
	}
	defer d.part.Close() // a second time does no harm
	if d.size, err = d.part.Seek(0, io.SeekEnd); err != nil {
		return unwritable(part, err)
	}
	d.total = d.file.Bytes
	if err = d.attempts(ctx); err == nil {
		var fault string
		if fault, err = d.fault(ctx, io.NewSectionReader(d.part, 0, d.size)); fault != "" {
			d.size = 0
			err = d.errorf("%s. The bytes were removed: run the same command again, or get the file from elsewhere and save it as %s",
				fault, d.path)
		}
	}
	switch {
	case err != nil && d.size == 0: // a wrong or empty part is of no use to anybody
		return errors.Join(err, d.part.Close(), root.Remove(name+".part"))
	case err != nil:
		return err
	}
	if err = errors.Join(d.part.Sync(), d.part.Close()); err == nil {
		err = root.Rename(name+".part", name)
	}
	if err == nil {
		err = atomicfile.SyncFolder(filepath.Dir(d.path))
	}
	if err != nil {
		return unwritable(part, err)
	}
	return nil
}

// here says whether the file is in its place with the right size and checksum. It may be there by a symbolic link to
// anywhere, as nothing is written.
func (d *download) here(ctx context.Context) (bool, error) {
	file, size, err := input.Open(d.path, input.Want{Most: limit.DataFile})
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, input.ErrSize), errors.Is(err, input.ErrInstead):
		return false, nil
	case errors.Is(err, input.ErrKind):
		return false, fmt.Errorf("fetch: %s is not a file, and the download would replace it. Remove it, or use another --data-dir",
			d.path)
	case err != nil:
		return false, unwritable(d.path, err)
	}
	defer file.Close()
	if d.file.Bytes > 0 && size != d.file.Bytes {
		return false, nil
	}
	fault, err := d.fault(ctx, file)
	if err == nil && fault == "" {
		d.Progress(d.file, size, size)
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
			return "", fmt.Errorf("fetch: %s: reading it again: %w. Check the disk, and run the same command again", d.path,
				cause.Of(err))
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
	return d.errorf("stopped after %s: %w. Run the same command again: it continues with %s", d.soFar(),
		context.Cause(ctx), d.path+".part")
}

// unwritable explains that a file or a folder cannot be written.
func unwritable(path string, err error) error {
	return fmt.Errorf("fetch: %s: %w. Free space or change the permissions and run the same command again, or use another --data-dir",
		path, cause.Of(err))
}
