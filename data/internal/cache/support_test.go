package cache

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// small is a spec of n images 2×3×5 in a folder of its own. Each pixel depends on the image and on the place. calls counts
// the calls of Decode.
func small(t testing.TB, n int) (s Spec, calls *atomic.Int64) {
	calls = new(atomic.Int64)
	return Spec{Name: "small", Source: "a test", Key: "small", Shape: [3]int{2, 3, 5}, N: n, Dir: filepath.Join(t.TempDir(), "caches"), Workers: 4,
		Decode: func(i int, dst []uint8) error {
			calls.Add(1)
			draw(i, dst)
			return nil
		}}, calls
}

// draw writes an image that no other index has.
func draw(i int, dst []uint8) {
	for k := range dst {
		dst[k] = uint8(i*7 + k)
	}
	binary.LittleEndian.PutUint32(dst, uint32(i))
}

// drawn is image i of small.
func drawn(i int) []uint8 {
	dst := make([]uint8, 30)
	draw(i, dst)
	return dst
}

func mustOpen(t testing.TB, s Spec) *Images {
	t.Helper()
	m, err := Open(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// wantImages holds all images of small to what draw writes.
func wantImages(t *testing.T, m *Images) {
	t.Helper()
	var buf []uint8
	for i := range m.Len() {
		got, err := m.Image(i, buf)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, drawn(i)) || cap(got) != len(got) && m.data != nil {
			t.Fatalf("image %d is %v, want %v", i, got, drawn(i))
		}
		buf = got
		if m.data != nil {
			buf = nil
		}
	}
}

// only is the path of the one file that a folder holds.
func only(t testing.TB, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%s holds %v (%v), want one file", dir, entries, err)
	}
	return filepath.Join(dir, entries[0].Name())
}

// wantEmpty wants no file in a folder, which need not exist.
func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) || len(entries) != 0 {
		t.Errorf("%s holds %v (%v), want nothing", dir, entries, err)
	}
}

// change changes bytes of a file in its place.
func change(t testing.TB, path string, f func(b []byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, f(b), 0o644); err != nil {
		t.Fatal(err)
	}
}

// childWork is what this test program does instead of testing when child starts it, in a folder.
var childWork = map[string]func(dir string) error{}

const childVariable = "OCL_CACHE_TEST_CHILD"

func child(dir, work string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childVariable+"="+work, Folder+"="+dir)
	return cmd
}

func TestMain(m *testing.M) {
	work, is := os.LookupEnv(childVariable)
	if !is {
		os.Exit(m.Run())
	}
	if err := childWork[work](os.Getenv(Folder)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}
