package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// shared is a spec whose calls of Decode are counted in a file, for all processes. It is slow, so that builders meet.
func shared(dir string) Spec {
	return Spec{Name: "shared", Key: "shared", Shape: [3]int{2, 3, 5}, N: 300, Decode: func(i int, dst []uint8) error {
		time.Sleep(time.Millisecond)
		draw(i, dst)
		f, err := os.OpenFile(filepath.Join(filepath.Dir(dir), "calls"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		_, err = f.Write([]byte{'x'})
		return errors.Join(err, f.Close())
	}}
}

// childWork is what this test program does instead of testing when child starts it, in a folder.
var childWork = map[string]func(dir string) error{
	"build": func(dir string) error {
		m, err := Open(context.Background(), shared(dir))
		if err != nil {
			return err
		}
		return errors.Join(append(m.Verify(context.Background(), nil), m.Close())...)
	},
	"hold": func(dir string) error { // stops for ever in the middle
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
	},
}

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

// Another process and two goroutines of this one open one key: it is built once.
func TestBuildersAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "caches")
	t.Setenv(Folder, dir)
	var group sync.WaitGroup
	group.Go(func() {
		if out, err := child(dir, "build").CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	group.Go(func() { wantImages(t, mustOpen(t, shared(dir))) })
	wantImages(t, mustOpen(t, shared(dir)))
	group.Wait()
	if b, err := os.ReadFile(filepath.Join(filepath.Dir(dir), "calls")); len(b) != 300 || err != nil {
		t.Errorf("Decode was called %d times (%v), want 300", len(b), err)
	}
	wantFiles(t, dir, fileOf("shared"))
}

// A build that another process has at work is left alone by Clean, and who waits for it can stop waiting. When the
// process is killed, its lock ends with it, and what it left is removed by the next build, or by Clean.
func TestKilledBuild(t *testing.T) {
	for _, next := range []string{"build", "clean"} {
		dir := filepath.Join(t.TempDir(), "caches")
		t.Setenv(Folder, dir)
		holder := child(dir, "hold")
		out, err := holder.StdoutPipe()
		if err == nil {
			err = holder.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		kill := sync.OnceFunc(func() {
			_ = holder.Process.Kill()
			_ = holder.Wait()
		})
		t.Cleanup(kill)
		line := make([]byte, len("holding\n"))
		if _, err := io.ReadFull(out, line); err != nil || string(line) != "holding\n" {
			t.Fatalf("%q, %v", line, err)
		}
		if removed, err := Clean(func(Entry) bool { return true }); len(removed) != 0 || err != nil {
			t.Errorf("removed %v (%v) beside a build", removed, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		waits := shared(dir)
		told := 0
		waits.Waiting = func() {
			if told++; told == 3 {
				cancel()
			}
		}
		if _, err := Open(ctx, waits); !errors.Is(err, context.Canceled) ||
			!strings.Contains(err.Error(), "waiting for another ocl") || told != 3 {
			t.Errorf("waiting beside a build: error %v, told %d times", err, told)
		}
		cancel()
		kill()
		if next == "build" {
			wantImages(t, mustOpen(t, shared(dir)))
			wantFiles(t, dir, fileOf("shared"))
			continue
		}
		removed, err := Clean(func(Entry) bool { return false })
		if len(removed) != 1 || err != nil || removed[0].Fault != "a build ended before it was complete" ||
			removed[0].Bytes == 0 {
			t.Errorf("removed %+v (%v), want what the killed build left", removed, err)
		}
		wantFiles(t, dir)
	}
}
