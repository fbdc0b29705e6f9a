package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var commitTime = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// packed writes a binary and a document with some time of the disk, and an archive of each kind.
func packed(t *testing.T, changed time.Time) (dir, listed string) {
	t.Helper()
	from := t.TempDir()
	var files []file
	for _, f := range []file{{name: "ocl", mode: 0o755}, {name: "README.md", mode: 0o644}} {
		f.path = filepath.Join(from, f.name)
		if err := os.WriteFile(f.path, []byte("text of "+f.name), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(f.path, changed, changed); err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	dir = t.TempDir()
	var out strings.Builder
	err := writeAll(dir, []pack{{"ocl-1-a", false, commitTime, files}, {"ocl-1-b", true, commitTime, files}}, &out)
	if err != nil {
		t.Fatal(err)
	}
	return dir, out.String()
}

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestArchivesHoldAFolderWithModesAndTheTimeOfTheCommit(t *testing.T) {
	dir, _ := packed(t, time.Now())
	want := []string{"ocl-1-X/ocl -rwxr-xr-x text of ocl", "ocl-1-X/README.md -rw-r--r-- text of README.md"}
	line := func(info os.FileInfo, name string, r io.Reader) string {
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if !info.ModTime().Equal(commitTime) {
			t.Errorf("%s has the time %v, want %v", name, info.ModTime(), commitTime)
		}
		return fmt.Sprint(name, " ", info.Mode(), " ", string(text))
	}
	compare := func(letter string, got []string) {
		if d := cmp.Diff(strings.ReplaceAll(strings.Join(want, "\n"), "X", letter), strings.Join(got, "\n")); d != "" {
			t.Error(d)
		}
	}

	unzipped, err := gzip.NewReader(bytes.NewReader(read(t, dir, "ocl-1-a.tar.gz")))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	archive := tar.NewReader(unzipped)
	for {
		head, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if head.Uid != 0 || head.Gid != 0 || head.Uname != "" || head.Gname != "" {
			t.Errorf("%s belongs to %d:%d %s:%s", head.Name, head.Uid, head.Gid, head.Uname, head.Gname)
		}
		got = append(got, line(head.FileInfo(), head.Name, archive))
	}
	compare("a", got)

	z, err := zip.OpenReader(filepath.Join(dir, "ocl-1-b.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	got = nil
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, line(f.FileInfo(), f.Name, r))
	}
	compare("b", got)
}

func TestArchivesDoNotDependOnTheDisk(t *testing.T) {
	one, _ := packed(t, time.Now())
	two, _ := packed(t, time.Date(2001, 2, 3, 4, 5, 6, 0, time.FixedZone("", 3600)))
	for _, name := range []string{"ocl-1-a.tar.gz", "ocl-1-b.zip", "SHA256SUMS"} {
		if !bytes.Equal(read(t, one, name), read(t, two, name)) {
			t.Errorf("%s differs", name)
		}
	}
}

func TestSumsAreThoseThatSha256sumReads(t *testing.T) {
	dir, listed := packed(t, time.Now())
	var want string
	for _, name := range []string{"ocl-1-a.tar.gz", "ocl-1-b.zip"} {
		want += fmt.Sprintf("%x  %s\n", sha256.Sum256(read(t, dir, name)), name)
		if !strings.Contains(listed, name) {
			t.Errorf("%s is not listed in %q", name, listed)
		}
	}
	if d := cmp.Diff(want, string(read(t, dir, "SHA256SUMS"))); d != "" {
		t.Error(d)
	}
}

func TestAMissingFileIsAnError(t *testing.T) {
	p := pack{name: "x", files: []file{{"ocl", filepath.Join(t.TempDir(), "none"), 0o755}}}
	if err := writeAll(t.TempDir(), []pack{p}, io.Discard); !os.IsNotExist(err) {
		t.Errorf("the error is %v", err)
	}
}
