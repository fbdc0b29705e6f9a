package study_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ocl/checkpoint"
	"ocl/internal/atomicfile"
	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/sweep/study"
	"ocl/sweep/studytest"
)

var (
	scale = flag.Bool("scale", false,
		"TestScale with 100,000 jobs of 2 s, ten processes and 200 workers, which takes an hour")
	scaleDir  = flag.String("scaledir", "", "folder of TestScale, on the file system to be measured; it is made and kept")
	scaleJobs = flag.Int("scalejobs", 0, "jobs of TestScale; 0 is 2,000, or 100,000 with -scale")
	scaleWait = flag.Duration("scalewait", 0, "time of a job of TestScale; 0 is 100 ms, or 2 s with -scale")
)

// load is how a process of the scale test is to do jobs: learning is replaced by waiting, and the files are real.
type load struct {
	Wait    time.Duration
	Workers int
}

const loadFile = "load.json"

// simulated are the jobs of the scale test: entries of one result that differ in their seeds.
func simulated(dir string) (jobs []study.Job, r *result.Result, l load, err error) {
	text, err := os.ReadFile(filepath.Join(dir, loadFile))
	if err == nil {
		err = json.Unmarshal(text, &l)
	}
	if err == nil {
		r, err = result.Read(filepath.Join(dir, "of-all.json"))
	}
	var entries []study.Entry
	if err == nil {
		entries, err = study.ReadJobs(dir)
	}
	jobs = make([]study.Job, len(entries))
	for i, e := range entries {
		jobs[i].Entry = e
	}
	return jobs, r, l, err
}

// simulate does jobs of the scale test until none is left, as a process of many workers does. It prints what it did:
// jobs accepted, and when it began the last one, in nanoseconds since 1970.
func simulate(dir string) error {
	jobs, r, l, err := simulated(dir)
	if err != nil {
		return err
	}
	store := study.OpenFolder(dir)
	accepted, err := os.CreateTemp(filepath.Join(dir, acceptedFolder), "*")
	if err != nil {
		return err
	}
	defer accepted.Close()
	var last atomic.Int64
	state := make([]byte, 100_000)
	whole, err := result.Encode(r)
	if err != nil {
		return err
	}
	w := study.Worker{Store: store, Jobs: jobs, Concurrency: l.Workers, Workers: 1, Poll: time.Second,
		Do: func(ctx context.Context, j study.Job, at experiment.RunIn) (*result.Result, error) {
			last.Store(time.Now().UnixNano())
			dir, err := checkpoint.OpenDir(filepath.Join(at.Folder, experiment.CheckpointDir))
			if err != nil {
				return nil, err
			}
			if err := os.WriteFile(filepath.Join(at.Folder, experiment.RunConfigFile), []byte("x"), 0o644); err != nil {
				return nil, err
			}
			for step := range 2 {
				time.Sleep(l.Wait / 2)
				c := checkpoint.NewContainer()
				c.Encoder().Bytes("state", state)
				if _, err := dir.Save(step+1, c); err != nil {
					return nil, err
				}
			}
			mine := *r
			mine.Config = r.Config.Clone()
			mine.Config.Seed, mine.Key = j.Seed, j.Key
			text := bytes.Replace(whole, []byte(r.Key), []byte(j.Key), 1) // as Encode(&mine), which takes as long as ten claims
			text = bytes.Replace(text, []byte(`"seed": 1,`), fmt.Appendf(nil, `"seed": %d,`, j.Seed), 1)
			if err == nil {
				err = atomicfile.WriteBytes(filepath.Join(at.Folder, experiment.ResultFile), text)
			}
			if err == nil {
				err = dir.Clear()
			}
			if err == nil {
				_, err = fmt.Fprintln(accepted, j.Folder)
			}
			return &mine, err
		}}
	sum, err := w.Run(context.Background())
	fmt.Printf("%d %d\n", sum.Done, last.Load())
	return err
}

// acceptedFolder has a file for each process of the scale test, with a line for each job that it has done.
const acceptedFolder = "accepted"

// accepted counts how often each job was done.
func accepted(dir string) map[string]int {
	times := map[string]int{}
	files, _ := filepath.Glob(filepath.Join(dir, acceptedFolder, "*"))
	for _, f := range files {
		text, _ := os.ReadFile(f) // a process may be making it
		for line := range strings.Lines(string(text)) {
			times[line]++
		}
	}
	return times
}

// TestScale: many workers in ten processes do many jobs, and again and again a process is killed and replaced. Each job
// has exactly one accepted result.
func TestScale(t *testing.T) {
	n, wait, processes, workers, killEvery := 2000, 100*time.Millisecond, 10, 20, 10*time.Second
	if *scale {
		n, wait, killEvery = 100_000, 2*time.Second, time.Minute
	} else if testing.Short() || os.Getenv("OCL_LONG") == "" {
		t.Log("200 jobs instead of 2,000, as OCL_LONG is not set or -short is given")
		n, wait, processes, killEvery = 200, 50*time.Millisecond, 3, 3*time.Second
	}
	if *scaleJobs > 0 {
		n = *scaleJobs
	}
	if *scaleWait > 0 {
		wait = *scaleWait
	}
	dir := *scaleDir
	if dir == "" {
		dir = t.TempDir()
	}
	if err := os.MkdirAll(filepath.Join(dir, acceptedFolder), 0o755); err != nil {
		t.Fatal(err)
	}
	r := studytest.Results(t, 1)[0]
	text, err := result.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	l, err := json.Marshal(load{wait, workers})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"of-all.json": text, loadFile: l} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	entries := make([]study.Entry, n)
	for i := range entries {
		one := *r
		one.Config = r.Config.Clone()
		one.Config.Seed = uint64(i + 1)
		one.Key = experiment.Key(&one)
		entries[i] = studytest.Entry(&one)
		entries[i].Folder = fmt.Sprintf("finetune-s%d-%s", i+1, one.Key[:8])
	}
	if err := study.WriteJobs(dir, entries); err != nil {
		t.Fatal(err)
	}

	began := time.Now()
	var mu sync.Mutex
	killed, busy := 0, 0.0 // busy are the seconds until the last job is handed out
	start := func() *exec.Cmd {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), childVariable+"="+dir, loadVariable+"=1")
		c.Stderr = os.Stderr
		return c
	}
	running, shot := make([]*exec.Cmd, processes), map[*exec.Cmd]bool{}
	var wg sync.WaitGroup
	over := make(chan struct{})
	keep := func(i int) { // a process that ends by itself is done; one that was killed is replaced
		defer wg.Done()
		for {
			c := start()
			out, err := c.StdoutPipe()
			if err == nil {
				err = c.Start()
			}
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			running[i] = c
			mu.Unlock()
			var done int
			var last int64
			told, _ := fmt.Fscan(out, &done, &last)
			err = c.Wait()
			mu.Lock()
			running[i] = nil
			byUs := shot[c]
			if last > 0 {
				busy = max(busy, time.Unix(0, last).Sub(began).Seconds())
			}
			mu.Unlock()
			if told == 2 {
				if err != nil && !byUs { // one may be killed after it has reported
					t.Error(err)
				}
				return
			}
		}
	}
	for i := range processes {
		wg.Add(1)
		go keep(i)
	}
	go func() {
		ticker := time.NewTicker(killEvery)
		defer ticker.Stop()
		for {
			select {
			case <-over:
				return
			case <-ticker.C:
			}
			mu.Lock()
			if c := running[rand.IntN(processes)]; c != nil {
				_ = c.Process.Kill()
				shot[c] = true
				killed++
			}
			mu.Unlock()
			t.Logf("%.0f s: %d of %d jobs done", time.Since(began).Seconds(), len(accepted(dir)), n)
		}
	}()
	wg.Wait()
	close(over)
	all := time.Since(began).Seconds()

	store := study.OpenFolder(dir)
	for _, e := range entries {
		if st := store.State(e); st.Phase != progress.Done {
			t.Fatalf("%s is %+v", e.Folder, st)
		}
	}
	done, twice := accepted(dir), 0
	for _, times := range done {
		if times > 1 {
			twice++
		}
	}
	t.Logf("%d jobs of %v, %d processes of %d workers, %d killed: %d done, %d jobs twice, %.1f s until the last was handed out and %.1f s in all, efficiency %s",
		n, wait, processes, workers, killed, len(done), twice, busy, all,
		strconv.FormatFloat(float64(n)*wait.Seconds()/(float64(processes*workers)*busy), 'f', 3, 64))
	if twice > 0 {
		t.Errorf("%d jobs were done twice", twice)
	}
}
