package fetch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

var silent = log.New(io.Discard, "", 0)

func TestNamesStayBelowTheFolder(t *testing.T) {
	s := serve(t, whole(content(1, 10), `"1"`))
	names := []string{"", ".", "..", "../a", "/a", "a/../../b", "a/..", "a//b", "a/", "./a", "a\x00"}
	if runtime.GOOS == "windows" {
		names = append(names, `C:\a`, `..\a`, "a:b", "NUL")
	}
	for _, name := range names {
		above := t.TempDir()
		err := Get(t.Context(), []File{{URL: s.URL, Name: name}}, quick(filepath.Join(above, "D")))
		wantError(t, err, fmt.Sprintf("%q leads out of the data folder", name), "path below it")
		wantNames(t, above)
	}
	if n := len(s.requests()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
}

// TestLinksDoNotLeadOut puts symbolic links to another folder where a file, its part or its origin would be.
func TestLinksDoNotLeadOut(t *testing.T) {
	b := content(1, 1000)
	s := serve(t, whole(b, `"1"`))
	for _, c := range []struct{ link, name, fault string }{
		{"sub", "sub/a", "escapes"},
		{"a.part", "a", "escapes"},
		{"a.part.json", "a", ""}, // replaced
		{"a", "a", ""},           // replaced, if the file there is another
	} {
		t.Run(c.link, func(t *testing.T) {
			outside, dir := t.TempDir(), t.TempDir()
			target := filepath.Join(outside, "target")
			if c.link == "sub" {
				target = outside
			} else if err := os.WriteFile(target, []byte("precious"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, filepath.Join(dir, c.link)); err != nil {
				t.Skip(err)
			}
			err := Get(t.Context(), []File{{URL: s.URL, Name: c.name, MD5: md5Of(b)}}, quick(dir))
			if c.fault != "" {
				wantError(t, err, c.fault, "--data-dir")
			} else if err != nil {
				t.Error(err)
			} else {
				wantFile(t, filepath.Join(dir, c.name), b)
			}
			if c.link == "sub" {
				wantNames(t, outside)
			} else if got, err := os.ReadFile(target); string(got) != "precious" {
				t.Errorf("the file outside holds %d bytes, %v", len(got), err)
			}
		})
	}
	// A link to the right file is as good as the file.
	outside, dir := filepath.Join(t.TempDir(), "a"), t.TempDir()
	if err := os.WriteFile(outside, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "a")); err != nil {
		t.Skip(err)
	}
	n := len(s.requests())
	if err := Get(t.Context(), []File{{URL: s.URL, Name: "a", MD5: md5Of(b)}}, quick(dir)); err != nil || len(s.requests()) != n {
		t.Errorf("%v, %d requests, want none", err, len(s.requests())-n)
	}
}

func TestBadFilesAreRefused(t *testing.T) {
	for _, c := range []struct {
		file File
		want string
	}{
		{File{URL: "ftp://host/a", Name: "a"}, `"ftp://host/a" is none of http or https`},
		{File{URL: "https:///a", Name: "a"}, "none of http or https"},
		{File{URL: "https://host/\x7f", Name: "a"}, "none of http or https"},
		{File{URL: "http://host/a", Name: "a", Bytes: -1}, "negative"},
		{File{URL: "http://host/a", Name: "a", MD5: "12"}, `"12" is no MD5. Use 32 hexadecimal digits`},
		{File{URL: "http://host/a", Name: "a", SHA256: strings.Repeat("x", 64)}, "no SHA-256. Use 64 hexadecimal digits"},
	} {
		wantError(t, Get(t.Context(), []File{c.file}, quick(t.TempDir())), c.want)
	}
}

// TestPlacesThatCannotBeWritten has a file where a folder must be, and folders where a file must be.
func TestPlacesThatCannotBeWritten(t *testing.T) {
	s := serve(t, whole(content(1, 10), `"1"`))
	for _, c := range []struct{ there, dir, name, want string }{
		{"D", "D", "a", "D: "},
		{"sub", ".", "sub/a", "sub"},
		{"a.part/", ".", "a", "a.part"},
		{"a/", ".", "a", "a is not a file, and the download would replace it"},
	} {
		root := t.TempDir()
		path := filepath.Join(root, filepath.FromSlash(c.there))
		var err error
		if strings.HasSuffix(c.there, "/") {
			err = os.Mkdir(path, 0o755)
		} else {
			err = os.WriteFile(path, nil, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		err = Get(t.Context(), []File{{URL: s.URL, Name: c.name}}, quick(filepath.Join(root, c.dir)))
		wantError(t, err, c.want, "--data-dir")
	}
	if n := len(s.requests()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
}

// TestNoPermission needs a user who may not do everything.
func TestNoPermission(t *testing.T) {
	if os.Geteuid() <= 0 {
		t.Skip("root may write everywhere, and Windows has other permissions")
	}
	s := serve(t, whole(content(1, 10), `"1"`))
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	list := []File{{URL: s.URL, Name: "a"}}
	wantError(t, Get(t.Context(), list, quick(dir)), filepath.Join(dir, "a.part"), "you may not write here (permission denied)", "--data-dir")
	wantError(t, Get(t.Context(), list, quick(filepath.Join(dir, "new"))), "you may not write here", "--data-dir")
	if n := len(s.requests()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
}

func TestMessagesOfTheDisk(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, "fetch: D: the disk is full. Free space, or use"},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.EDQUOT}, "fetch: D: the disk is full. Free space, or use"},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, "fetch: D: you may not write here (" + syscall.EACCES.Error() + "). Change"},
		{&os.LinkError{Op: "rename", Old: "x", New: "y", Err: syscall.EIO}, "fetch: D: " + syscall.EIO.Error() + ". Use"},
	} {
		got := unwritable("D", c.err)
		if !strings.HasPrefix(got.Error(), c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
		if full := strings.Contains(c.want, "full"); !full && !errors.Is(got, c.err.(interface{ Unwrap() error }).Unwrap()) {
			t.Errorf("%q does not wrap %v", got, c.err)
		}
	}
}

func TestContentRange(t *testing.T) {
	for value, want := range map[string][2]int64{
		"bytes 500-999/1000": {500, 1000}, "bytes 0-0/1": {0, 1}, "bytes 7-9/*": {7, -1},
	} {
		if first, total, ok := contentRange(value); !ok || [2]int64{first, total} != want {
			t.Errorf("%q: %d of %d, %v; want %v", value, first, total, ok, want)
		}
	}
	for _, value := range []string{"", "bytes", "bytes */1000", "bytes 500-999", "bytes 500/1000", "bytes 9-7/1000", "bytes 0-1000/1000",
		"bytes +5-9/10", "bytes -5-9/10", "bytes 5-9/-1", "bytes 5-9/", "items 5-9/10", "bytes 5-99999999999999999999/10"} {
		if first, total, ok := contentRange(value); ok {
			t.Errorf("%q: %d of %d, want a refusal", value, first, total)
		}
	}
}

func FuzzContentRange(f *testing.F) {
	f.Add("bytes 500-999/1000")
	f.Add("bytes 7-9/*")
	f.Add("bytes */1000")
	f.Add("bytes 9223372036854775807-9223372036854775807/9223372036854775808")
	f.Fuzz(func(t *testing.T, value string) {
		first, total, ok := contentRange(value)
		if ok && (first < 0 || total != -1 && total <= first) || !ok && (first != 0 || total != 0) {
			t.Errorf("%q: %d of %d, %v", value, first, total, ok)
		}
	})
}

// FuzzOrigin reads any bytes as an origin. What it gives can be sent, and is read again unchanged.
func FuzzOrigin(f *testing.F) {
	f.Add([]byte(`{"url":"http://host/a","etag":"\"1\"","last_modified":"Mon, 02 Jan 2006 15:04:05 GMT","bytes":1000}`))
	f.Add([]byte(`{"url":"http://host/a","etag":"W/\"1\"","bytes":0}`))
	f.Add([]byte(`{"etag":"\"1\r\nHost: b\"","bytes":-1}`))
	f.Add([]byte(`{"url":"http://host/a","bytes":-1}`))
	f.Add([]byte(`{"url":"http://ho`))
	f.Fuzz(func(t *testing.T, b []byte) {
		o := parseOrigin(b)
		if o.Bytes < 0 || strings.HasPrefix(o.validator(), "W/") && o.ETag == o.validator() {
			t.Errorf("%q: %+v", b, o)
		}
		r, _ := http.NewRequest(http.MethodGet, "http://host", nil)
		r.Header.Set("If-Range", o.validator())
		if err := r.Write(io.Discard); err != nil || !sendable(o.validator()) {
			t.Errorf("%q: the validator %q cannot be sent: %v", b, o.validator(), err)
		}
		again, err := json.Marshal(o)
		if got := parseOrigin(again); err != nil || got != o {
			t.Errorf("%q: read as %+v, and then as %+v, %v", b, o, got, err)
		}
	})
}
