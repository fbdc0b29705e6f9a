//go:build linux

package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// signalBound is far above the two seconds that a command may take after a signal: a busy machine may stand still for
// minutes, and only one that never ends is to be found. The log has the times.
const signalBound = 5 * time.Minute

// interruption is what happens when a command is given in a folder and gets a signal after some time.
func interruption(dir string, args []string, after time.Duration, s syscall.Signal) (r outcome, took time.Duration) {
	cmd := command(context.Background(), dir, args)
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	start := time.Now()
	if fault := cmd.Start(); fault != nil {
		return outcome{code: -1, err: fault}, 0
	}
	sent := make(chan time.Time, 1)
	send := time.AfterFunc(after, func() { sent <- time.Now(); cmd.Process.Signal(s) })
	end := time.AfterFunc(after+signalBound, func() { cmd.Process.Kill() })
	fault := cmd.Wait()
	if !send.Stop() {
		took = time.Since(<-sent)
	}
	end.Stop()
	return outcomeOf(cmd, fault, &out, &err, time.Since(start)), took
}

// whole says what is torn of the files below a folder. A file that is being written has a temporary name.
func whole(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		if strings.HasSuffix(path, ".tmp") {
			return fmt.Errorf("%s is left", path)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		good := true
		switch filepath.Ext(path) {
		case ".json":
			good = json.Valid(b)
		case ".png":
			_, err = png.Decode(bytes.NewReader(b))
		case ".svg":
			good = bytes.HasSuffix(bytes.TrimSpace(b), []byte("</svg>"))
		case ".html":
			good = bytes.HasSuffix(bytes.TrimSpace(b), []byte("</html>"))
		case ".pdf":
			good = bytes.HasSuffix(bytes.TrimSpace(b), []byte("%%EOF"))
		case ".gz":
			z, fault := gzip.NewReader(bytes.NewReader(b))
			if err = fault; err == nil {
				_, err = io.Copy(io.Discard, z)
			}
		case ".csv", ".md", ".yaml", ".tex":
			good = bytes.HasSuffix(b, []byte("\n"))
		case ".ckpt", ".npz", ".onnx", ".safetensors":
			good = len(b) > 0
		}
		if err != nil {
			return fmt.Errorf("%s is torn: %w", path, err)
		}
		if !good {
			return fmt.Errorf("%s is torn", path)
		}
		return nil
	})
}

// interrupts sends a signal to a command at a random instant of its work, and says what is wrong then.
func interrupts(world, line string, lasts time.Duration, draw *rand.Rand) (took time.Duration, fault string) {
	dir, err := copyOf(world)
	if err != nil {
		return 0, err.Error()
	}
	defer os.RemoveAll(dir)
	after, s := time.Duration(draw.Int64N(int64(lasts))), []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}[draw.IntN(2)]
	r, took := interruption(dir, strings.Fields(line), after, s)
	what := fmt.Sprintf("%v after %v", s, after)
	before := regexp.MustCompile(`^signal: (interrupt|terminated)$`)
	switch {
	case r.err == nil, r.code == exitInterrupted:
	case r.code < 0 && before.MatchString(r.err.Error()): // it had just begun
	default:
		return took, fmt.Sprintf("%s: it ended with %v after %v: %s", what, r.err, r.took, r.stderr)
	}
	if strings.Contains(r.stderr, "goroutine ") {
		return took, fmt.Sprintf("%s: %s", what, r.stderr)
	}
	if err := whole(dir); err != nil {
		return took, fmt.Sprintf("%s: %v", what, err)
	}
	if again := give(dir, strings.Fields(line)); again.err != nil {
		return took, fmt.Sprintf("%s: the same command again: %v: %s", what, again.err, again.stderr)
	}
	if err := whole(dir); err != nil {
		return took, fmt.Sprintf("%s: after the same command again: %v", what, err)
	}
	return took, ""
}

// TestSignals: the first signal ends every command soon, at whatever instant it comes. No file is torn, and the same
// command works afterwards. The instants are drawn, and without OCL_LONG the commands too; -killseed repeats them.
// SIGNALS=REGEXP takes the commands that match.
func TestSignals(t *testing.T) {
	t.Parallel()
	world := makeWorld(t)
	draw := draws(t)
	var all []string
	for path := range leaves(t) {
		if os.Getenv(longTier) != "" {
			all = append(all, lines[path]...)
		} else {
			all = append(all, lines[path][draw.IntN(len(lines[path]))])
		}
	}
	slices.Sort(all)
	if some := os.Getenv("SIGNALS"); some != "" {
		matches := regexp.MustCompile(some)
		all = slices.DeleteFunc(all, func(line string) bool { return !matches.MatchString(line) })
	}
	times := 20
	if os.Getenv(longTier) == "" { // a third of the commands, once each
		const drawn = 12
		times = 1
		draw.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:min(drawn, len(all))]
	}
	var wg sync.WaitGroup
	places := make(chan struct{}, 2)
	var mu sync.Mutex
	for _, line := range all {
		own := rand.New(rand.NewPCG(draw.Uint64(), 0))
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(world)); err != nil {
				t.Error(err)
				return
			}
			r := give(dir, strings.Fields(line))
			if r.err != nil {
				t.Errorf("%s: %v: %s", line, r.err, r.stderr)
				return
			}
			longest := time.Duration(0)
			for range times {
				took, fault := interrupts(world, line, r.took, own)
				if longest = max(longest, took); fault != "" {
					t.Errorf("%s: %s", line, fault)
				}
			}
			mu.Lock()
			t.Logf("%s: it takes %v, and after a signal at most %v", line, r.took.Round(time.Millisecond),
				longest.Round(time.Millisecond))
			mu.Unlock()
		})
	}
	wg.Wait()
}

// TestLastResort: a command that cannot react, as it waits for whoever reads its output, is ended too, and that is
// said.
func TestLastResort(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		from, to, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer from.Close()
		size, err := unix.FcntlInt(to.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize())
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("ocl-impatient", "help", "--markdown")
		var text bytes.Buffer
		cmd.Stdout, cmd.Stderr = to, &text
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		to.Close()
		// It has begun, as it writes. More than the pipe and this byte is to come: the commands, and the options of each.
		if _, err := io.ReadFull(from, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		cmd.Process.Signal(s)
		end := time.AfterFunc(signalBound, func() { cmd.Process.Kill() })
		_ = cmd.Wait()
		end.Stop()
		t.Logf("%v after the signal", time.Since(start))
		if rest, err := io.ReadAll(from); err != nil || len(rest) < size-1 {
			t.Errorf("%d bytes stood in the pipe (%v), want %d: it did not wait for its reader", len(rest), err, size)
		}
		if cmd.ProcessState.ExitCode() != exitInterrupted ||
			!strings.Contains(text.String(), "did not end within 1.5s of the signal") {
			t.Errorf("%v: %v: %q", s, cmd.ProcessState, text.String())
		}
	}
}

// TestStandardInput: a command that reads standard input ends at a signal, when nothing comes, and at the limit of what
// may come.
func TestStandardInput(t *testing.T) {
	t.Parallel()
	world := makeWorld(t)
	zeros, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer zeros.Close()
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	defer to.Close()
	silent, open, err := os.Pipe() // on which nothing comes
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	defer open.Close()
	for _, c := range []struct {
		program string
		in      *os.File
		signal  bool
		code    int
		fault   string
	}{
		{"ocl", from, true, exitInterrupted, ""},
		{"ocl-hasty", silent, false, exitFailed,
			"ocl: -: nothing came for 0.5s on standard input. Write `ocl predict RUN - < IMAGE`.\n"},
		{"ocl", zeros, false, exitFailed, "ocl: -: the file has more than 268,435,456 bytes. Make the image smaller.\n"},
	} {
		cmd := exec.Command(c.program, "predict", filepath.Join(world, "photos"), "-")
		var text bytes.Buffer
		cmd.Stdin, cmd.Stderr = c.in, &text
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if c.signal {
			// More than fits into a pipe: it has begun to read.
			err := to.SetWriteDeadline(time.Now().Add(2 * signalBound))
			if err == nil {
				_, err = to.Write(make([]byte, 1<<17))
			}
			if err = errors.Join(err, cmd.Process.Signal(os.Interrupt)); err != nil {
				t.Error(err)
			}
		}
		end := time.AfterFunc(2*signalBound, func() { cmd.Process.Kill() })
		_ = cmd.Wait()
		end.Stop()
		if cmd.ProcessState.ExitCode() != c.code || !strings.Contains(text.String(), c.fault) {
			t.Errorf("%s: %v: %s", c.program, cmd.ProcessState, text.String())
		}
		if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && u.Maxrss<<10 > mostMemory {
			t.Errorf("%s: it takes %d MB", c.program, u.Maxrss>>10)
		}
	}
}

// underRaceDetector says whether this program was built with -race.
func underRaceDetector() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// TestTightLimits: a shell that allows too little for the Go runtime is told of before anything is done.
func TestTightLimits(t *testing.T) {
	t.Parallel()
	for limit, want := range map[string]string{
		"ulimit -v 1800000": "ocl: the process may use 1.8 GB of addresses (ulimit -v), but at least 2.0 GB are needed. Use `ulimit -v unlimited`.\n",
		"ulimit -n 12":      "ocl: the process may open 12 files (ulimit -n), but at least 16 are needed. Use `ulimit -n 1024`.\n",
	} {
		if strings.Contains(limit, "-v") && underRaceDetector() {
			continue // it maps far more addresses before main begins
		}
		cmd := exec.Command("sh", "-c", limit+"; exec ocl --version")
		text, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != exitFailed || string(text) != want {
			t.Errorf("%s: %v, %q, want %q", limit, err, text, want)
		}
	}
}
