package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"ocl/live"
	"ocl/serve/journal"
)

// childVariable is the folder of the daemon that this test binary is as a child, and netVariable is set where its
// network is a ResNet-18.
const (
	childVariable = "OCL_TEST_DAEMON"
	netVariable   = "OCL_TEST_DAEMON_RESNET"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		if err := serveUntilKilled(dir, os.Getenv(netVariable) != ""); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// killedOptions are those of a daemon that is killed, and the side of its pictures: snapshots come all the time, and
// all of the journal stays.
func killedOptions(resnet bool) (o Options, size int) {
	o, size = small(), side
	o.SnapshotEvery = 5 * time.Millisecond
	if resnet {
		o.Live, size = live.Options{Memory: 200, Size: 32}, 32
		o.Batch, o.SnapshotEvery = 10, 300*time.Millisecond
	}
	o.Retain, o.HeldOut, o.Age = true, 0.05, time.Millisecond
	return o, size
}

// serveUntilKilled takes samples from several goroutines, and prints each id that it has acknowledged.
func serveUntilKilled(dir string, resnet bool) error {
	o, size := killedOptions(resnet)
	d, err := Open(dir, o)
	if err != nil {
		return err
	}
	d.state.mu.Lock()
	next := int(d.state.book.last)
	d.state.mu.Unlock()
	failed, ids := make(chan error), make(chan int)
	go func() {
		for i := next * 10; ; i++ {
			ids <- i
		}
	}()
	for range 4 {
		go func() {
			for i := range ids {
				list := samplesOf(size, i, 1)
				_, err := d.Learn(context.Background(), list, "")
				var full *FullError
				if errors.As(err, &full) { // it learns more slowly than they come
					time.Sleep(20 * time.Millisecond)
					continue
				}
				if err != nil {
					failed <- err
					return
				}
				fmt.Println(list[0].ID)
			}
		}()
	}
	return <-failed
}

// TestKilled kills a daemon again and again under load. No acknowledged sample is missing or there twice, and the state
// is that of an undisturbed replay of the journal.
func TestKilled(t *testing.T) {
	kills := 10
	if os.Getenv("OCL_LONG") != "" {
		kills = 200
	} else if testing.Short() {
		kills = 3
	}
	killed(t, kills, false)
}

// TestKilledResNet is TestKilled with a network that takes long to learn what waits.
func TestKilledResNet(t *testing.T) {
	kills := 20
	if os.Getenv("OCL_LONG") == "" {
		kills = 2
	}
	if testing.Short() {
		t.Skip("NOT RUN with -short: it learns with a ResNet-18")
	}
	killed(t, kills, true)
}

func killed(t *testing.T, kills int, resnet bool) {
	t.Helper()
	dir := t.TempDir()
	acknowledged := map[string]bool{}
	for k := range kills {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childVariable+"="+dir)
		if resnet {
			child.Env = append(child.Env, netVariable+"=1")
		}
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		if err == nil {
			err = child.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines, more := bufio.NewScanner(out), 20+k*7%50 // killed after so many, at an instant that nobody chooses
		for lines.Scan() {
			acknowledged[lines.Text()] = true
			if more--; more == 0 {
				if resnet { // so that it has learned some
					time.Sleep(time.Duration(k*137%1500) * time.Millisecond)
				}
				_ = child.Process.Kill()
			}
		}
		if err := child.Wait(); err == nil || more > 0 {
			t.Fatalf("the daemon ended by itself: %v", err)
		}
	}
	o, _ := killedOptions(resnet)
	o.Age = -1
	d := open(t, dir, o)
	applied(t, d)
	seen := map[string]int{}
	if err := d.journal.Read(1, func(e journal.Event) error {
		if e.Kind == kindSample {
			seen[e.ID]++
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	learned := 0
	for id := range acknowledged {
		m := d.state.samples[id]
		if m == nil || seen[id] != 1 || d.state.stored[id] != nil && len(d.state.stored[id].Places) > 1 {
			t.Fatalf("%s was acknowledged, is %d times in the journal, and %+v", id, seen[id], m)
		}
		if m.State == StateLearned {
			learned++
		}
	}
	if learned == 0 || len(acknowledged) < 20*kills {
		t.Errorf("%d of %d acknowledged samples were learned", learned, len(acknowledged))
	}
	again := newState(nil, o.complete(), journal.Versions(t.TempDir()))
	if err := again.from(d.files, 0); err != nil {
		t.Fatal(err)
	}
	defer again.trainer.Close()
	if err := again.replay(t.Context(), d.journal, 1<<62); err != nil {
		t.Fatal(err)
	}
	got, err := again.digest()
	if err != nil {
		t.Fatal(err)
	}
	if want := digest(t, d); got != want {
		t.Error("an undisturbed replay of the journal makes another state")
	}
	t.Logf("%d kills, %d samples acknowledged, %d learned", kills, len(acknowledged), learned)
	if strings.Contains(d.Status().Problem, "disk") {
		t.Error(d.Status().Problem)
	}
}
