package main

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// binaryFor writes the head of an ELF file of 64 bits with one program header of a kind, and zeros up to size.
func binaryFor(t *testing.T, kind uint32, size int) string {
	t.Helper()
	const head, entry = 64, 56
	b := make([]byte, max(size, head+entry))
	copy(b, "\x7fELF\x02\x01\x01") // 64 bits, little endian
	le := binary.LittleEndian
	le.PutUint16(b[16:], 2)    // executable
	le.PutUint16(b[18:], 62)   // x86-64
	le.PutUint32(b[20:], 1)    // version
	le.PutUint64(b[32:], head) // where the program headers begin
	le.PutUint16(b[52:], head)
	le.PutUint16(b[54:], entry)
	le.PutUint16(b[56:], 1)
	le.PutUint32(b[head:], kind)
	path := filepath.Join(t.TempDir(), "ocl")
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCheckRefusesLargeAndDynamicBinaries(t *testing.T) {
	const load, interpreter = 1, 3
	linux, windows := platform{"linux", "amd64"}, platform{"windows", "amd64"}
	for _, c := range []struct {
		path string
		p    platform
		want string // "" for none
	}{
		{binaryFor(t, load, 1000), linux, ""},
		{binaryFor(t, load, 1001), linux, "linux/amd64 has 1001 bytes, more than 1000"},
		{binaryFor(t, load, 1001), windows, "windows/amd64 has 1001 bytes"},
		{binaryFor(t, interpreter, 1000), linux, "is not static"},
		{binaryFor(t, interpreter, 1000), windows, ""},
	} {
		err := check(c.path, c.p, 1000)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.p, err, c.want)
		}
	}
}

func TestSourceMustBeCommitted(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git; with it this test makes a repository")
	}
	t.Chdir(t.TempDir())
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(t.TempDir()))
	t.Setenv("GIT_COMMITTER_DATE", "2026-01-31T12:00:00Z")
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if _, err := readSource(t.Context()); err == nil || !strings.Contains(err.Error(), "Use a clone of the repository") {
		t.Errorf("outside of a repository: %v", err)
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "first")
	src, err := readSource(t.Context())
	if err != nil || len(src.revision) != 40 || !src.time.Equal(commitTime) {
		t.Errorf("%+v, %v", src, err)
	}
	if err := os.WriteFile("new.go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readSource(t.Context()); err == nil || !strings.Contains(err.Error(), "not committed:\n?? new.go\n") {
		t.Errorf("with a new file: %v", err)
	}
}

func TestWindowsCommandsEndInExe(t *testing.T) {
	for p, want := range map[platform]string{{"windows", "amd64"}: "ocl.exe", {"darwin", "arm64"}: "ocl"} {
		if got := p.command(); got != want {
			t.Errorf("%v: %s, want %s", p, got, want)
		}
	}
}

// Go builds with the same settings whatever is set where dist runs.
func TestSettingsOfGoDoNotReachTheBuild(t *testing.T) {
	set := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(set, []byte("GOEXPERIMENT=arenas\nGOFLAGS=-race\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"GOENV": set, "GOOS": "plan9", "GOARCH": "386", "GOAMD64": "v3", "GOFIPS140": "latest",
		"GOFLAGS": "-race", "CGO_ENABLED": "1"} {
		t.Setenv(name, value)
	}
	names := []string{"GOOS", "GOARCH", "GOAMD64", "GOFIPS140", "GOFLAGS", "CGO_ENABLED", "GOEXPERIMENT", "GOWORK"}
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"env"}, names...)...)
	cmd.Env = platform{"linux", "amd64"}.environment()
	got, err := cmd.Output()
	if want := "linux\namd64\nv1\noff\n\n0\n\noff\n"; err != nil || string(got) != want {
		t.Errorf("%v: %q, %v; want %q", names, got, err, want)
	}
}

// A failure leaves the archives of before, and success leaves only new ones.
func TestReplaceLeavesTheOldFolderOnFailure(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "dist")
	write := func(name string, fails error) error {
		return replace(folder, func(dir string) error {
			return errors.Join(os.WriteFile(filepath.Join(dir, name), nil, 0o644), fails)
		})
	}
	failed := errors.New("the disk is full")
	for _, c := range []struct {
		name  string
		fails error
		left  string
	}{{"a", nil, "a"}, {"b", failed, "a"}, {"c", nil, "c"}} {
		if err := write(c.name, c.fails); !errors.Is(err, c.fails) {
			t.Errorf("%s: %v", c.name, err)
		}
		files, err := filepath.Glob(filepath.Join(filepath.Dir(folder), "*", "*"))
		if want := []string{filepath.Join(folder, c.left)}; err != nil || !slices.Equal(files, want) {
			t.Errorf("after %s there are %v, %v; want %v", c.name, files, err, want)
		}
	}
}
