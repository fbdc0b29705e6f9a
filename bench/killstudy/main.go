// Command killstudy kills a study and looks whether that changed a number.
//
//	go build -o /tmp/ocl ./cmd/ocl
//	go run ./bench/killstudy -ocl /tmp/ocl -data-dir DIR -out /tmp/killstudy
//
// It does a study (-study, by default the 24 runs of killstudy.yaml) three times, each process with one job at a time and one
// core:
//
//	alone   by one process, undisturbed
//	killed  by two processes that are killed by SIGKILL again and again, at random instants, and replaced at once
//	two     by two processes, undisturbed
//
// Then it compares the results of the three, but for where and when they were made, and prints the number of kills and the
// throughput of two against one. The exit code is 1 if a result differs or there were fewer kills than wanted. On a machine that
// does other work the throughput means nothing; the comparison holds everywhere.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"time"

	"ocl/experiment/result"
)

type study struct {
	ocl, file, data, out string
	steps                int // at least, of each run
}

func main() {
	var s study
	flag.StringVar(&s.ocl, "ocl", "ocl", "the built command")
	flag.StringVar(&s.file, "study", "bench/killstudy/killstudy.yaml", "file of the study")
	flag.StringVar(&s.data, "data-dir", "", "folder of the data")
	flag.StringVar(&s.out, "out", "", "new folder of the three studies")
	flag.IntVar(&s.steps, "steps", 900, "steps that each run must have at least")
	kills := flag.Int("kills", 8, "kills, at least")
	seed := flag.Uint64("seed", 0, "seed of the instants; 0 draws one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := s.measure(ctx, *kills, cmp.Or(*seed, rand.Uint64())); err != nil {
		fmt.Fprintln(os.Stderr, "killstudy:", err)
		os.Exit(1)
	}
}

func (s study) measure(ctx context.Context, kills int, seed uint64) error {
	if s.out == "" || flag.NArg() > 0 {
		return errors.New("-out is missing, or there are arguments. Give flags alone, and a new folder with -out")
	}
	if err := os.Mkdir(s.out, 0o755); err != nil {
		return fmt.Errorf("%w. Choose a new folder with -out", err)
	}
	fmt.Printf("%s, %d processors, -seed %d\n", s.file, runtime.NumCPU(), seed)
	alone, _, err := s.do(ctx, "alone", 1, 0, nil, 0)
	if err != nil {
		return err
	}
	draw := rand.New(rand.NewPCG(seed, 0))
	mean := alone / time.Duration(2*(kills+2)) // of the time between two kills, so that all of them fit in
	_, killed, err := s.do(ctx, "killed", 2, kills, draw, mean)
	if err != nil {
		return err
	}
	two, _, err := s.do(ctx, "two", 2, 0, nil, 0)
	if err != nil {
		return err
	}
	runs, differ, err := s.compare("alone", "killed", "two")
	if err != nil {
		return err
	}
	fmt.Printf("%d runs; %d kills; %d results differ\n", runs, killed, differ)
	fmt.Printf("one at a time: %.1f runs an hour; two at a time: %.1f; ratio %.2f\n",
		float64(runs)/alone.Hours(), float64(runs)/two.Hours(), alone.Seconds()/two.Seconds())
	switch {
	case differ > 0:
		return errors.New("the results are not the same")
	case killed < kills:
		return fmt.Errorf("only %d kills came before the end. Give fewer -kills, or a longer study", killed)
	}
	return nil
}

// process is a worker at work.
type process struct {
	cmd *exec.Cmd
	end chan error
}

// begin starts a process that joins a study, or makes it. It has one core's worth of goroutines.
func (s study) begin(dir string, join bool) (*process, error) {
	args := []string{"sweep", s.file, "--out", dir, "--no-report"}
	if join {
		args = []string{"worker", "--join", dir}
	}
	args = append(args, "--concurrency", "1", "--workers", "1", "--quiet")
	if s.data != "" {
		args = append(args, "--data-dir", s.data)
	}
	p := &process{exec.Command(s.ocl, args...), make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w. Build the command, and give it with -ocl", err)
	}
	go func() { p.end <- p.cmd.Wait() }()
	return p, nil
}

// do does the study by so many processes, and returns the time and the number of kills. draw says which process is killed
// next, and when: after mean on average. The time of a study ends with its last job.
func (s study) do(ctx context.Context, name string, processes, kills int, draw *rand.Rand, mean time.Duration) (time.Duration, int, error) {
	dir := filepath.Join(s.out, name)
	began, killed := time.Now(), 0
	first, err := s.begin(dir, false)
	if err != nil {
		return 0, 0, err
	}
	at := []*process{first}
	defer func() {
		for _, p := range at {
			_ = p.cmd.Process.Kill() // it may have ended
		}
	}()
	for len(at) < processes { // the first one makes the study
		if _, err := os.Stat(filepath.Join(dir, "jobs.jsonl")); err == nil {
			p, err := s.begin(dir, true)
			if err != nil {
				return 0, 0, err
			}
			at = append(at, p)
			continue
		}
		select {
		case err := <-first.end:
			return 0, 0, fmt.Errorf("the first process ended before the study was made: %w", cmp.Or(err, errors.New("no error")))
		case <-time.After(10 * time.Millisecond):
		}
	}
	var next <-chan time.Time
	again := func() {
		if next = nil; killed < kills {
			next = time.After(time.Duration(draw.Float64() * 2 * float64(mean)))
		}
	}
	again()
	for len(at) > 0 {
		var second chan error // nil is never ready
		if len(at) > 1 {
			second = at[1].end
		}
		i := 0
		select {
		case err = <-at[0].end:
		case err = <-second:
			i = 1
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		case <-next:
			i = draw.IntN(len(at))
			_ = at[i].cmd.Process.Kill()
			if err := <-at[i].end; err == nil {
				at = append(at[:i], at[i+1:]...) // it had just ended
				continue
			}
			killed++
			fmt.Printf("%s: kill %d after %.1f s\n", name, killed, time.Since(began).Seconds())
			if at[i], err = s.begin(dir, true); err != nil {
				return 0, 0, err
			}
			again()
			continue
		}
		if err != nil {
			return 0, 0, fmt.Errorf("%s: a process failed: %w. `%s sweep status %s` may say why", name, err, s.ocl, dir)
		}
		at = append(at[:i], at[i+1:]...)
	}
	took := time.Since(began)
	fmt.Printf("%s: %.1f s\n", name, took.Seconds())
	return took, killed, nil
}

// compare counts the runs of the first study, and those that are missing or have other numbers in another one.
func (s study) compare(names ...string) (runs, differ int, err error) {
	files, err := filepath.Glob(filepath.Join(s.out, names[0], "*", "result.json"))
	if err != nil {
		return 0, 0, err
	}
	for _, file := range files {
		want, err := result.Read(file)
		if err != nil {
			return 0, 0, err
		}
		if want.Outcome.Step < s.steps {
			return 0, 0, fmt.Errorf("%s has %d steps, want at least %d. Give more images, or fewer -steps", file, want.Outcome.Step, s.steps)
		}
		for _, name := range names[1:] {
			path := filepath.Join(s.out, name, filepath.Base(filepath.Dir(file)), "result.json")
			got, err := result.Read(path)
			difference, same := "", false
			if err == nil {
				difference, same = result.Same(want, got)
			} else {
				difference = err.Error()
			}
			if !same {
				differ++
				fmt.Printf("%s: %s\n", path, difference)
			}
		}
	}
	if len(files) == 0 {
		return 0, 0, fmt.Errorf("%s has no results", filepath.Join(s.out, names[0]))
	}
	return len(files), differ, nil
}
