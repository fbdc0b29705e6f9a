package checkpoint

import (
	"bytes"
	"errors"
	"io"
	iofs "io/fs"
	"path/filepath"
	"slices"
)

// ram is a file system in memory that stops for ever before operation number stop, as SIGKILL or a power cut does. A
// write is done in pieces, each an operation. It knows what a disk is bound to keep: bytes that were synced, and names of
// files and folders whose folder was synced after the change, when that folder's own name is kept too.
type ram struct {
	names   map[string]*inode // what processes see
	durable map[string]*inode // the names that survive a power cut
	ops     int
	stop    int              // 0 is never
	failing error            // of every write
	refused error            // of every sync of a folder
	stuck   map[string]error // of removing a path
}

// inode is a file, or a folder, which has no bytes.
type inode struct {
	folder       bool
	data, synced []byte
}

var errStopped = errors.New("stopped")

// newRAM has the folder ck; any other is to be made.
func newRAM() *ram {
	ck := &inode{folder: true}
	return &ram{names: map[string]*inode{"ck": ck}, durable: map[string]*inode{"ck": ck}}
}

func emptyRAM() *ram { return &ram{names: map[string]*inode{}, durable: map[string]*inode{}} }

// op counts an operation and tells whether the process still lives.
func (r *ram) op() error {
	if r.stop > 0 && r.ops >= r.stop {
		return errStopped
	}
	r.ops++
	return nil
}

// kill is the state after SIGKILL: all that was done is there.
func (r *ram) kill() *ram {
	after := emptyRAM()
	for n, f := range r.names {
		after.names[n] = &inode{f.folder, slices.Clone(f.data), slices.Clone(f.synced)}
		after.durable[n] = after.names[n]
	}
	return after
}

// cut is the state after a power cut: only what was synced is there. Names that were removed or replaced without a sync
// of the folder are back, with the bytes they were bound to keep.
func (r *ram) cut() *ram {
	after := emptyRAM()
	for n, f := range r.durable {
		reachable := true
		for at := filepath.Dir(n); at != "."; at = filepath.Dir(at) {
			_, kept := r.durable[at]
			reachable = reachable && kept
		}
		if !reachable {
			continue
		}
		after.names[n] = &inode{f.folder, slices.Clone(f.synced), slices.Clone(f.synced)}
		after.durable[n] = after.names[n]
	}
	return after
}

// free tells whether a name is free and its folder there.
func (r *ram) free(p string) error {
	if _, taken := r.names[p]; taken {
		return iofs.ErrExist
	}
	if !r.isFolder(filepath.Dir(p)) {
		return iofs.ErrNotExist
	}
	return nil
}

func (r *ram) createNew(p string) (file, error) {
	if err := errors.Join(r.op(), r.free(p)); err != nil {
		return nil, err
	}
	f := &inode{}
	r.names[p] = f
	return &handle{r, f}, nil
}

func (r *ram) rename(from, to string) error {
	if err := r.op(); err != nil {
		return err
	}
	f, ok := r.names[from]
	if !ok {
		return iofs.ErrNotExist
	}
	delete(r.names, from)
	r.names[to] = f
	return nil
}

func (r *ram) remove(p string) error {
	if err := r.op(); err != nil {
		return err
	}
	if _, ok := r.names[p]; !ok {
		return iofs.ErrNotExist
	}
	if err := r.stuck[filepath.Base(p)]; err != nil {
		return &iofs.PathError{Op: "remove", Path: p, Err: err}
	}
	delete(r.names, p)
	return nil
}

func (r *ram) makeFolder(p string) error {
	if err := errors.Join(r.op(), r.free(p)); err != nil {
		return err
	}
	r.names[p] = &inode{folder: true}
	return nil
}

func (r *ram) isFolder(p string) bool {
	f, ok := r.names[p]
	return p == "." || ok && f.folder
}

func (r *ram) syncFolder(folder string) error {
	if err := r.op(); err != nil {
		return err
	}
	if r.refused != nil {
		return r.refused
	}
	for n := range r.durable {
		if filepath.Dir(n) == folder {
			delete(r.durable, n)
		}
	}
	for n, f := range r.names {
		if filepath.Dir(n) == folder {
			r.durable[n] = f
		}
	}
	return nil
}

func (r *ram) list(folder string) ([]string, error) {
	var names []string
	for n := range r.names {
		if filepath.Dir(n) == folder {
			names = append(names, filepath.Base(n))
		}
	}
	slices.Sort(names)
	return names, nil
}

// files are the names in the folder ck.
func (r *ram) files() []string {
	names, _ := r.list("ck")
	return names
}

func (r *ram) read(p string) ([]byte, error) {
	f, ok := r.names[p]
	if !ok {
		return nil, iofs.ErrNotExist
	}
	return slices.Clone(f.data), nil
}

func (r *ram) open(p string) (io.ReadCloser, int64, error) {
	b, err := r.read(p)
	return io.NopCloser(bytes.NewReader(b)), int64(len(b)), err
}

type handle struct {
	r *ram
	f *inode
}

func (h *handle) Write(b []byte) (int, error) {
	if h.r.failing != nil {
		return 0, h.r.failing
	}
	done := 0
	for len(b) > done {
		if err := h.r.op(); err != nil {
			return done, err
		}
		n := min(50, len(b)-done)
		h.f.data = append(h.f.data, b[done:done+n]...)
		done += n
	}
	return done, nil
}

func (h *handle) Sync() error {
	if err := h.r.op(); err != nil {
		return err
	}
	h.f.synced = slices.Clone(h.f.data)
	return nil
}

func (h *handle) Close() error { return h.r.op() }
