package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"ocl/checkpoint"
	"ocl/internal/faulttest"
)

// Variables of the child processes of this test binary: the folder, and what to do in it.
const (
	childFolder = "OCL_TEST_JOURNAL"
	childTask   = "OCL_TEST_TASK"
)

// tasks are what a child does instead of [load].
var tasks = map[string]func(dir string, out io.Writer) error{"faults": scenario}

func TestMain(m *testing.M) {
	faulttest.Arm()
	dir := os.Getenv(childFolder)
	if dir == "" {
		os.Exit(m.Run())
	}
	do := load
	if other := tasks[os.Getenv(childTask)]; other != nil {
		do = other
	}
	if err := do(dir, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// load appends for ever, and writes the number of the last event after each answer. At times it trims, makes snapshots
// and erases.
func load(dir string, out io.Writer) error {
	j, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(uint64(os.Getpid()), 5))
	for n := 0; ; n++ {
		if _, err := j.Append(samples(j.Last()+1, 1+r.IntN(20))); err != nil {
			return err
		}
		fmt.Fprintln(out, j.Last())
		switch {
		case n%10 == 4:
			at := j.Last() - 100
			if err := Snapshots(dir).Write(max(0, at), checkpoint.NewContainer()); err != nil {
				return err
			}
			if err := errors.Join(j.Trim(at), Snapshots(dir).Remove(func(n int64) bool { return n < at })); err != nil {
				return err
			}
		case n%25 == 13:
			id := j.Last() - 3
			fmt.Fprintln(out, -id) // it may be erased from here on
			if err := j.Erase([]string{sample(id).ID}); err != nil {
				return err
			}
		}
	}
}

// answers reads what a child wrote: the last event that was acknowledged, and those that may be erased. A killed
// process may leave half a line.
func answers(out []byte) (acknowledged int64, erased map[int64]bool) {
	erased = map[int64]bool{}
	for line := range strings.Lines(string(out)) {
		if !strings.HasSuffix(line, "\n") {
			continue
		}
		n, _ := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if n < 0 {
			erased[-n] = true
		} else {
			acknowledged = max(acknowledged, n)
		}
	}
	return acknowledged, erased
}

// checkKept opens a folder and checks that all events are there, in order, each once, at least up to the last that was
// acknowledged.
func checkKept(t *testing.T, dir string, acknowledged int64, erased map[int64]bool) {
	t.Helper()
	j, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	next := j.First()
	err = j.Read(0, func(e Event) error {
		want := sample(next)
		if e.Erased && erased[next] {
			want.Body, want.Pixels, want.Erased = nil, nil, true
		}
		if !same(e, want) {
			return fmt.Errorf("event %d is %d of the kind %s", next, e.Number, e.Kind)
		}
		next++
		return nil
	})
	if err != nil || next-1 < acknowledged || next-1 != j.Last() {
		t.Errorf("events %d to %d are there and %d were acknowledged: %v", j.First(), next-1, acknowledged, err)
	}
	closed(t, j)
}

// TestKilledAtAnyInstant kills a process that appends, again and again in one folder. Every event that it was told of
// is there.
func TestKilledAtAnyInstant(t *testing.T) {
	kills := 25
	if testing.Short() {
		kills = 5
	}
	if os.Getenv("OCL_LONG") != "" {
		kills = 300
	}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	erased, acknowledged := map[int64]bool{}, int64(0)
	for range kills {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childFolder+"="+dir)
		var faults bytes.Buffer
		child.Stderr = &faults
		pipe, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(pipe)
		// It is killed some time after its first answers, or sometimes while it opens the folder, however slow the machine
		// is.
		var out []byte
		for range r.IntN(20) {
			line, err := in.ReadBytes('\n')
			out = append(out, line...)
			if err != nil {
				break
			}
		}
		time.Sleep(time.Duration(r.IntN(int(4 * time.Millisecond))))
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // it was killed
		if faults.Len() > 0 {
			t.Fatalf("seed %d: %s", seed, faults.String())
		}
		last, gone := answers(append(out, rest...))
		acknowledged = max(acknowledged, last)
		for n := range gone {
			erased[n] = true
		}
		checkKept(t, dir, acknowledged, erased)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if acknowledged < int64(kills) {
		t.Errorf("only %d events were acknowledged", acknowledged)
	}
}
