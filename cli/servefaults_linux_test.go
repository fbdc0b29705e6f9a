package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ocl/internal/faulttest"
	"ocl/serve/client"
	"ocl/serve/daemon"
)

// servedFaults are what a daemon acknowledged while its disk failed once.
type servedFaults struct {
	ready        bool
	acknowledged []string
	refused      []string // with the reason
	killed       bool
	err          error // of the process
	text         string
}

// feed sends samples to a daemon whose standard error is read from log, and ends it. Of each sample it notes whether it
// was acknowledged.
func (s *servedFaults) feed(t *testing.T, log io.Reader, process func() *os.Process) {
	var text strings.Builder
	lines := bufio.NewScanner(log)
	address := ""
	for address == "" && lines.Scan() {
		text.WriteString(lines.Text() + "\n")
		var line struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "ready" {
			address = line.Address
		}
	}
	rest := make(chan struct{})
	go func() {
		defer close(rest)
		for lines.Scan() {
			text.WriteString(lines.Text() + "\n")
		}
	}()
	if address != "" {
		s.ready = true
		c, err := client.New(address, client.Options{Tries: 1})
		if err != nil {
			t.Error(err)
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for i := range 10 {
			id := fmt.Sprint("s", i)
			pixels := bytes.Repeat([]byte{byte(20 * i)}, 3*8*8)
			wait := i >= 7 && len(s.acknowledged)%2 == 1 // it fills a batch, even if one before it was refused
			if _, err := c.Learn(ctx, pixels, []string{"cat", "dog"}[i%2],
				client.Learn{ID: id, Raw: true, Wait: wait}); err != nil {
				s.refused = append(s.refused, fmt.Sprintf("%s: %v", id, err))
			} else {
				s.acknowledged = append(s.acknowledged, id)
			}
		}
		if p := process(); p != nil {
			_ = p.Signal(syscall.SIGTERM)
		}
	}
	<-rest
	s.text = text.String()
}

var servedArgs = strings.Fields("--size 8 network.name=mlp network.hidden=8 --batch 2 --age 1h --retain --held-out 0 --new-classes allow --listen 127.0.0.1:0 --log json --workers 1")

// servedOnce runs `ocl serve` in a folder, with decide asked about each change of its files.
func servedOnce(t *testing.T, dir string, decide func(faulttest.Op) faulttest.Verdict) (s servedFaults) {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"serve", filepath.Join(dir, "daemon")}, servedArgs...)...)
	cmd.Env = append(os.Environ(), "OCL_CACHE="+filepath.Join(dir, "cache"), "HOME="+dir, "NO_COLOR=1")
	out, in := io.Pipe()
	cmd.Stderr = in
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		s.feed(t, out, func() *os.Process { return cmd.Process })
	}()
	var err error
	s.killed, err = faulttest.Run(cmd, "ocl", dir, decide)
	_ = in.Close()
	<-fed
	if errors.Is(err, faulttest.ErrNoTraps) {
		t.Skipf("NOT RUN: %v", err)
	}
	s.err = err
	return s
}

// kept starts the daemon again without faults, and compares: each acknowledged sample is there and was learned once,
// and the journal makes the same state again.
func (s servedFaults) kept(t *testing.T, dir, what string) {
	t.Helper()
	folder := filepath.Join(dir, "daemon")
	d, err := daemon.Open(folder, daemon.Options{Batch: 2, Age: -1, Retain: true})
	if err != nil && !s.ready { // the fault came while the folder was made: the same command again
		again := servedOnce(t, dir, func(faulttest.Op) faulttest.Verdict { return faulttest.Verdict{} })
		if again.err != nil || len(again.acknowledged) != 10 {
			t.Fatalf("%s: the same command again: %v\n%s\nafter\n%s", what, again.err, again.text, s.text)
		}
		return
	}
	if err != nil {
		t.Fatalf("%s: %v\nafter\n%s", what, err, s.text)
	}
	learned := 0
	for i := range 10 {
		id := fmt.Sprint("s", i)
		info, there := d.Sample(id)
		if !there && slices.Contains(s.acknowledged, id) {
			t.Errorf("%s: %s was acknowledged and is not there\n%s", what, id, s.text)
		}
		if there && info.State == daemon.StateLearned {
			learned++
		}
	}
	if got := d.Status().Samples.Learned; int(got) != learned {
		t.Errorf("%s: %d samples were learned, and %d of those that were sent\n%s", what, got, learned, s.text)
	}
	if err := d.Close(t.Context()); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	r, err := daemon.Verify(t.Context(), folder, daemon.Options{})
	if err != nil || r.Compared() && !r.Same() {
		t.Errorf("%s: %+v, %v\n%s", what, r, err, s.text)
	}
}

// TestServeFaultyDisk: each write, fsync and other change of a file that `ocl serve` makes fails once, as on a broken
// and on a full disk, or the process is killed before it. What was acknowledged is there after the next start, and was
// learned once. Nothing ends with exit code 0 that has lost something, and a full disk refuses samples and does not end
// the daemon. Some of the operations are tried, and all with -faults.
func TestServeFaultyDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var ops []faulttest.Op
	s := servedOnce(t, dir, func(o faulttest.Op) (v faulttest.Verdict) { ops = append(ops, o); return v })
	if s.err != nil || len(s.acknowledged) != 10 || len(ops) < 60 {
		t.Fatalf("%v, %v in %d operations: %s", s.err, s, len(ops), s.text)
	}
	s.kept(t, dir, "undisturbed")
	verdicts := []faulttest.Verdict{{Err: syscall.EIO}, {Err: syscall.ENOSPC}, {Kill: true}}
	tried, told := 0, 0
	for i, at := range ops {
		for k, v := range verdicts {
			every := 37
			switch {
			case *allFaults:
				every = 1
			case os.Getenv(longTier) != "":
				every = 7
			case testing.Short():
				every = 111
			}
			if at.Call == "close" || (i+11*k)%every != 0 {
				continue
			}
			dir := t.TempDir()
			s := servedOnce(t, dir, func(o faulttest.Op) faulttest.Verdict {
				if o.N == at.N {
					return v
				}
				return faulttest.Verdict{}
			})
			what := fmt.Sprintf("%v, %+v", at, v)
			tried++
			if s.err != nil || len(s.refused) > 0 {
				told++
			}
			if v.Err == syscall.ENOSPC && s.ready && s.err != nil && strings.HasSuffix(at.Call, "write") {
				t.Errorf("%s: a full disk ended the daemon: %v\n%s", what, s.err, s.text)
			}
			if s.kept(t, dir, what); t.Failed() {
				t.FailNow()
			}
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d operations, %d kinds of faults: %d were tried, and %d of them ended the daemon or refused a sample",
		len(ops), len(verdicts), tried, told)
	if told == 0 {
		t.Error("no fault was told")
	}
}
