package input

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// place makes files of several kinds and returns the path of one.
func place(t *testing.T, kind string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	var err error
	switch kind {
	case "a file":
		err = os.WriteFile(path, []byte("magic and content"), 0o600)
	case "an empty file":
		err = os.WriteFile(path, nil, 0o600)
	case "a folder":
		err = os.Mkdir(path, 0o700)
	case "a pipe":
		err = makePipe(path)
	case "a socket":
		l, failed := net.Listen("unix", path)
		if err = failed; err == nil {
			t.Cleanup(func() { l.Close() })
		}
	case "a device":
		return os.DevNull
	case "a symbolic link":
		err = os.Symlink(place(t, "a file"), path)
	case "a sparse file":
		if err = os.WriteFile(path, nil, 0o600); err == nil {
			err = os.Truncate(path, 1<<40)
		}
	case "nothing":
	}
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestKinds: only regular files are opened, at once.
func TestKinds(t *testing.T) {
	plain := Want{Most: 100}
	for _, c := range []struct {
		kind  string
		want  Want
		is    error
		fault string // "" is none
	}{
		{"a file", plain, nil, ""},
		{"a file", Want{Most: 100, Magic: "magic", Format: "a text"}, nil, ""},
		{"a file", Want{Most: 17}, nil, ""},
		{"a file", Want{Most: 16}, ErrSize, "it has 17 bytes, and 16 are the limit"},
		{"a file", Want{Most: 100, Magic: "OCL", Format: "a checkpoint"}, ErrMagic,
			`found "mag", and a checkpoint begins with "OCL"`},
		{"an empty file", plain, nil, ""},
		{"an empty file", Want{Most: 100, Magic: "OCL", Format: "a checkpoint"}, ErrMagic, `found "", and a checkpoint`},
		{"a folder", plain, ErrKind, "it is a folder, not a regular file"},
		{"a pipe", plain, ErrKind, "it is a pipe"},
		{"a socket", plain, ErrKind, "it is a socket"},
		{"a device", plain, ErrKind, "it is a device"},
		{"a symbolic link", plain, nil, ""},
		{"a symbolic link", Want{Most: 100, NoLinks: true}, ErrKind, "it is a symbolic link"},
		{"a sparse file", Want{Most: 1 << 30}, ErrSize, "are the limit"},
		{"nothing", plain, fs.ErrNotExist, "f: "},
	} {
		t.Run(c.kind, func(t *testing.T) {
			path := place(t, c.kind)
			f, size, err := Open(path, c.want)
			b, reading := ReadFile(path, c.want)
			for _, err := range []error{err, reading} {
				var p *fs.PathError
				switch {
				case c.fault == "" && err != nil:
					t.Errorf("error %v, wanted none", err)
				case c.fault != "" && (!errors.As(err, &p) || p.Path != path || !errors.Is(err, c.is) ||
					!strings.Contains(err.Error(), c.fault)):
					t.Errorf("error %v, wanted one of the path with %q", err, c.fault)
				}
			}
			if err != nil {
				return
			}
			defer f.Close()
			if all, err := io.ReadAll(f); err != nil || string(all) != string(b) || int64(len(all)) != size {
				t.Errorf("read %q and %q, %v; size %d", all, b, err, size)
			}
		})
	}
}
