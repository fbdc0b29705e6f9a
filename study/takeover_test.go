package study_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"ocl"
	"ocl/experiment"
	"ocl/study"
)

// takeoverVariable tells a child that it is a worker of BenchmarkTakeover, and its value from which machine: "here", or
// another one, which does not share locks.
const takeoverVariable = "OCL_TEST_TAKEOVER"

// lasting is a study of one job that lasts longer than anybody waits: the survey's network on images of 32 pixels.
const lasting = "study: 1\ndata: {train_per_class: 100, test_per_class: 1}\nmethods: [er]\nmemory: 200\n"

// takeover works on a study and prints a line after each step.
func takeover(dir string) error {
	ctx := context.Background()
	s, err := study.Load(dir, "")
	if err != nil {
		return err
	}
	jobs, _, err := s.Open(ctx, experiment.Options{CheckpointEvery: -1})
	if err != nil {
		return err
	}
	store := study.OpenFolder(dir, "test")
	defer store.Close()
	if machine := os.Getenv(takeoverVariable); machine != "here" {
		store.OnMachine(machine, func(folder string) (func(), error) {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return nil, err
			}
			return experiment.LockRun(filepath.Join(dir, "locks of "+machine, filepath.Base(folder)))
		})
	}
	w := study.Worker{Store: store, Jobs: jobs, Concurrency: 1, Workers: 1, Stay: true, Watch: func(study.Job) experiment.Events {
		return experiment.Events{StepEnd: func(step int, _ ocl.StepStats) { fmt.Println(step) }}
	}}
	fmt.Println("ready")
	_, err = w.Run(ctx, nil)
	return err
}

// BenchmarkTakeover kills a worker in the middle of a job and measures the time until another one has taken the first step of
// that job: one that waits on the same machine, and one on another machine, which the claim's own times decide.
func BenchmarkTakeover(b *testing.B) {
	for _, machine := range []string{"here", "elsewhere"} {
		b.Run(machine, func(b *testing.B) {
			total := time.Duration(0)
			for b.Loop() {
				dir, _ := made(b, lasting)
				first, lines := takeoverChild(b, dir, "here")
				for range 5 {
					<-lines
				}
				second, next := takeoverChild(b, dir, machine)
				<-next                      // it is ready, and finds the job at work
				time.Sleep(7 * time.Second) // it has looked more than once
				if err := first.Process.Kill(); err != nil {
					b.Fatal(err)
				}
				began := time.Now()
				if _, more := <-next; !more {
					b.Fatal("the second worker ended")
				}
				total += time.Since(began)
				_ = second.Process.Kill()
				for range next { // until it is dead, so that its folder can be removed
				}
			}
			b.ReportMetric(total.Seconds()/float64(b.N), "s/takeover")
		})
	}
}

// takeoverChild starts a worker. Its lines come from the channel, which is closed when it has ended.
func takeoverChild(b *testing.B, dir, machine string) (*exec.Cmd, <-chan string) {
	b.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), childVariable+"="+dir, takeoverVariable+"="+machine)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Process.Kill() })
	lines := make(chan string, 100_000)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
		_ = c.Wait()
	}()
	return c, lines
}
