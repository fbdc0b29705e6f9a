package study_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/sweep/study"
)

var (
	kills = flag.Int("kills", 0,
		"how often TestKilledStudyEndsAsAnUndisturbedOne kills a process; 0 is 5 with OCL_LONG, and without it the test is skipped")
	seed = flag.Uint64("killseed", 0, "seed of the times of the kills; 0 draws one")
	file = flag.String("killstudy", "",
		"file of the study that is killed, with its data in OCL_DATA; \"\" is one of drawn images")
)

// childVariable names the folder of a study that this test binary is to join as a worker. loadVariable says that it is
// that of the scale test.
const (
	childVariable = "OCL_TEST_STUDY"
	loadVariable  = "OCL_TEST_LOAD"
)

func TestMain(m *testing.M) {
	switch dir := os.Getenv(childVariable); {
	case dir == "":
		os.Exit(m.Run())
	default:
		do := worker
		if os.Getenv(loadVariable) != "" {
			do = simulate
		}
		if err := do(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// worker does jobs of a study, one at a time, with a checkpoint after each task.
func worker(dir string) error {
	ctx := context.Background()
	s, err := study.Load(ctx, dir, "")
	if err != nil {
		return err
	}
	jobs, _, err := s.Open(ctx, experiment.Options{CheckpointEvery: -1})
	if err != nil {
		return err
	}
	if err := study.Join(dir, s, jobs); err != nil {
		return err
	}
	store := study.OpenFolder(dir)
	_, err = (&study.Worker{Store: store, Jobs: jobs, Concurrency: 1, Workers: 1, Poll: 50 * time.Millisecond}).Run(ctx)
	return err
}

// crashing is a study of different kinds of state: a memory, a trick with a review, candidates, a Fisher matrix, a
// teacher, training at inference, experts that are made and trained in sleeps of many steps, and runs that are tuned
// first: each by itself, and together.
const crashing = `study: 1
data: {train_per_class: 6, test_per_class: 2}
stream: {tasks: 10}
network: {name: mlp, hidden: [100]}
memory: 100
include:
  - {methods: [er], tricks: [none, rv]}
  - {methods: [mir]}
  - {methods: [ewc++, lwf], optimizer: {lr: 0.01}}
  - {methods: [gdumb], stream: {tasks: 5}, memory: 30}
  - {methods: [cndpm], data: {size: 12}, stream: {tasks: 5}, memory: 100, method: {cndpm: {sleep_vae_steps: 30, sleep_classifier_steps: 30, sleep_batch: 10,
      z_samples: 2, z_dim: 4, vae_features: 4, vae_growth: 2, classifier_features: 4, classifier_growth: 2, log_alpha: 1e6}}}
  - {methods: [er], protocol: survey, tune: {grid: GRID, repeats: 2}}
  - {methods: [agem], protocol: survey, runs: 2, tune: {grid: GRID, repeats: 1, seed: 5}}
`

// tunedGrid is the file GRID of crashing.
const tunedGrid = "optimizer.lr: [0.001, 0.1]\n"

// made makes the folder of a study.
func made(t testing.TB, text string) (string, []study.Job) {
	t.Helper()
	grid := filepath.Join(t.TempDir(), "my.yaml")
	if err := os.WriteFile(grid, []byte(tunedGrid), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := study.Parse(t.Context(), "s.yaml", []byte(strings.ReplaceAll(text, "GRID", grid)), os.Getenv("OCL_DATA"),
		false)
	if err != nil {
		t.Fatal(err)
	}
	jobs, m, err := s.Open(t.Context(), experiment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "study")
	if err := study.Make(dir, s, jobs, m); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(grid); err != nil { // the folder has a copy
		t.Fatal(err)
	}
	return dir, jobs
}

// TestKilledStudyEndsAsAnUndisturbedOne: two processes share a study, and again and again one of them is killed at a
// random instant. Its results are those of a study that nobody disturbed.
func TestKilledStudyEndsAsAnUndisturbedOne(t *testing.T) {
	if *kills == 0 {
		if os.Getenv("OCL_LONG") == "" {
			t.Skip("OCL_LONG is not set; with it or with -kills, processes are killed")
		}
		*kills = 5
	}
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-killseed %d", *seed)
	draw := rand.New(rand.NewPCG(*seed, 1))
	text := crashing
	if *file != "" {
		from, err := os.ReadFile(*file)
		if err != nil {
			t.Fatal(err)
		}
		text = string(from)
	}
	whole, jobs := made(t, text)
	shared, _ := made(t, text)
	began := time.Now()
	if err := worker(whole); err != nil {
		t.Fatal(err)
	}
	alone := time.Since(began)

	type process struct {
		cmd  *exec.Cmd
		text *bytes.Buffer
		end  chan error
	}
	start := func() *process {
		p := &process{exec.Command(os.Args[0]), new(bytes.Buffer), make(chan error, 1)}
		p.cmd.Env = append(os.Environ(), childVariable+"="+shared)
		p.cmd.Stderr = p.text
		if err := p.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { p.end <- p.cmd.Wait() }()
		return p
	}
	store := study.OpenFolder(shared)
	retry := func() {
		for _, j := range jobs { // a job may have had the bad luck to die three times at one step
			if again, err := store.Retry(j.Entry); err != nil {
				t.Fatal(err)
			} else if again {
				t.Logf("%s: three deaths at one step; tried again", j.Folder)
			}
		}
	}
	running := []*process{start(), start()}
	killed := 0
	for killed < *kills {
		time.Sleep(time.Duration(draw.Int64N(int64(alone/time.Duration(*kills)) + 1)))
		i := draw.IntN(2)
		select {
		case err := <-running[i].end:
			if err != nil {
				t.Fatalf("%v: %s", err, running[i].text)
			}
			retry()
			if left(store, jobs) == 0 {
				t.Logf("all jobs are done after %d kills", killed)
				*kills = killed
			}
		default:
			if err := running[i].cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
			<-running[i].end
			killed++
		}
		running[i] = start()
	}
	for _, p := range running {
		if err := <-p.end; err != nil {
			t.Fatalf("%v: %s", err, p.text)
		}
	}
	for range 3 { // jobs that had failed, or were at work when the last two looked
		retry()
		p := start()
		if err := <-p.end; err != nil {
			t.Fatalf("%v: %s", err, p.text)
		}
	}
	if killed == 0 {
		t.Error("no process was killed")
	}
	for _, j := range jobs {
		a, err := result.Read(filepath.Join(whole, j.Folder, experiment.ResultFile))
		if err != nil {
			t.Fatal(err)
		}
		b, err := result.Read(filepath.Join(shared, j.Folder, experiment.ResultFile))
		if err != nil {
			t.Fatal(err)
		}
		if difference, same := result.Same(experiment.Schema(), a, b); !same || keyOf(a) != j.Key || keyOf(b) != j.Key {
			t.Errorf("%s: %s", j.Folder, difference)
		}
	}
	for _, pattern := range []string{"*/.attempt", "*/.*.tmp", "*/checkpoint/*"} {
		if files, _ := filepath.Glob(filepath.Join(shared, pattern)); len(files) > 0 {
			t.Errorf("%q are left", files)
		}
	}
}

// keyOf is the key of the job that has a result.
func keyOf(r *result.Result) string {
	if r.Tuning != nil {
		return r.Tuning.Key
	}
	return r.Key
}

func left(store study.Store, jobs []study.Job) (n int) {
	for _, j := range jobs {
		if st := store.State(j.Entry); st.Phase != progress.Done {
			n++
		}
	}
	return n
}
