package cache

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Two goroutines that open one key: one builds, the other waits and opens.
func TestBuildersInOneProcess(t *testing.T) {
	s, calls := small(t, 200)
	decode := s.Decode
	s.Decode = func(i int, dst []uint8) error {
		time.Sleep(time.Millisecond)
		return decode(i, dst)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			m, err := Open(context.Background(), s)
			if err != nil {
				t.Error(err)
				return
			}
			wantImages(t, m)
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := calls.Load(); n != 200 {
		t.Errorf("Decode was called %d times, want 200", n)
	}
	only(t, s.Dir)
}

// shared is a spec whose calls of Decode are counted in a file, for all processes. It is slow, so that builders meet.
func shared(dir string) Spec {
	return Spec{Name: "shared", Key: "shared", Shape: [3]int{2, 3, 5}, N: 300, Dir: dir, Workers: 2, Decode: func(i int, dst []uint8) error {
		time.Sleep(2 * time.Millisecond)
		draw(i, dst)
		f, err := os.OpenFile(filepath.Join(filepath.Dir(dir), "calls"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		_, err = f.Write([]byte{'x'})
		return errors.Join(err, f.Close())
	}}
}

func init() {
	childWork["build"] = func(dir string) error {
		m, err := Open(context.Background(), shared(dir))
		if err != nil {
			return err
		}
		return errors.Join(append(m.Verify(context.Background(), nil), m.Close())...)
	}
	childWork["hold"] = func(dir string) error { // stops for ever in the middle
		s := shared(dir)
		decode := s.Decode
		s.Decode = func(i int, dst []uint8) error {
			if i == 100 {
				os.Stdout.WriteString("holding\n")
				select {}
			}
			return decode(i, dst)
		}
		_, err := Open(context.Background(), s)
		return err
	}
}

// Two processes and this one open one key: it is built once.
func TestBuildersInTwoProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "caches")
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			if out, err := child(dir, "build").CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wantImages(t, mustOpen(t, shared(dir)))
	group.Wait()
	if b, err := os.ReadFile(filepath.Join(filepath.Dir(dir), "calls")); len(b) != 300 || err != nil {
		t.Errorf("Decode was called %d times (%v), want 300", len(b), err)
	}
	only(t, dir)
}

// hold starts a process that stops in the middle of a build, and waits until it does. kill ends it.
func hold(t *testing.T, dir string) (kill func()) {
	t.Helper()
	holder := child(dir, "hold")
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = holder.Process.Kill()
		_ = holder.Wait()
	})
	t.Cleanup(kill)
	line := make([]byte, len("holding\n"))
	if _, err := io.ReadFull(out, line); err != nil || string(line) != "holding\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return kill
}

// A build that another process has at work is left alone by Clean, and who waits for it can stop waiting. When the
// process is killed, its lock ends with it, and what it left is removed by the next build, or by Clean.
func TestKilledBuild(t *testing.T) {
	for _, next := range []string{"build", "clean"} {
		dir := filepath.Join(t.TempDir(), "caches")
		kill := hold(t, dir)
		if removed, err := Clean(dir, nil); len(removed) != 0 || err != nil {
			t.Errorf("removed %v (%v) beside a build", removed, err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		if _, err := Open(ctx, shared(dir)); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "waiting for another ocl") {
			t.Errorf("waiting beside a build: error %v", err)
		}
		cancel()
		kill()
		if next == "build" {
			wantImages(t, mustOpen(t, shared(dir)))
			only(t, dir)
			continue
		}
		removed, err := Clean(dir, func(Entry) bool { return true })
		if len(removed) != 1 || err != nil || removed[0].Fault != "a build ended before it was complete" || removed[0].Bytes == 0 {
			t.Errorf("removed %+v (%v), want what the killed build left", removed, err)
		}
		wantEmpty(t, dir)
	}
}

// wantMessage wants an error of a build to say where, how much and how to choose another folder.
func wantMessage(t *testing.T, err error, dir, size string) {
	t.Helper()
	for _, part := range []string{"building ", " in " + dir, size, "set $OCL_CACHE"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
}

// A folder that cannot be made, and a lock that cannot be had, are errors before anything is decoded.
func TestFolderThatCannotBeUsed(t *testing.T) {
	for name, spoil := range map[string]func(s Spec) error{
		"a file in its place": func(s Spec) error { return os.WriteFile(s.Dir, nil, 0o644) },
		"no lock":             func(s Spec) error { return os.MkdirAll(filepath.Join(s.Dir, "."+keyOf(s.Key)+lockSuffix), 0o755) },
	} {
		s, calls := small(t, 10)
		if err := spoil(s); err != nil {
			t.Fatal(err)
		}
		_, err := Open(context.Background(), s)
		wantMessage(t, err, s.Dir, "takes 1 MB")
		if calls.Load() != 0 {
			t.Errorf("%s: %d calls of Decode", name, calls.Load())
		}
	}
}

// A build that finds no room says so before it decodes anything.
func TestNoRoom(t *testing.T) {
	if _, known := freeSpace(t.TempDir()); !known {
		t.Skip("the free space is not known on this system; on linux, darwin and windows it is")
	}
	s, calls := small(t, 1<<25)
	s.Shape = [3]int{3, 8192, 8192}
	_, err := Open(context.Background(), s)
	wantMessage(t, err, s.Dir, "takes 6755400515 MB: the disk has room for ") // 2²⁵ · (3·2²⁶ + 32) + 2¹⁶
	if calls.Load() != 0 {
		t.Errorf("%d calls of Decode", calls.Load())
	}
	wantEmpty(t, s.Dir)
}

// The bytes of a file are in their places as format.go says.
func TestFormat(t *testing.T) {
	s, _ := small(t, 3)
	s.Source = strings.Repeat("ü", 300) + "\n" // longer than a text may be
	mustOpen(t, s)
	b, err := os.ReadFile(only(t, s.Dir))
	if err != nil {
		t.Fatal(err)
	}
	index := b[pixelsAt+90 : pixelsAt+90+96]
	text := b[pixelsAt+90+96:]
	sum := sumOf(b[:16], index, text)
	if string(b[:8]) != "OCLIMGS\n" || !bytes.Equal(b[16:48], sum[:]) || !bytes.Equal(b[pixelsAt+30:pixelsAt+60], drawn(1)) {
		t.Errorf("prefix %x", b[:48])
	}
	want := `{"name":"small","source":"` + strings.Repeat("ü", 198) + `…","key":"` + keyOf("small") + `","shape":[2,3,5],"images":3,"faults":null}`
	if string(text) != want {
		t.Errorf("header %s\nwant   %s", text, want)
	}
}
