package study_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ocl"
	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/run/train"
	"ocl/sweep/study"
)

// TestTunedJobs: one job tunes for the others that share its tuning, which begin when it is done and try nothing. A job
// that tunes counts the steps of its trials, also when it was stopped in the middle of them.
func TestTunedJobs(t *testing.T) {
	dir, jobs := made(t, `study: 1
data: {train_per_class: 6, test_per_class: 2}
stream: {tasks: 10}
network: {name: mlp, hidden: [8]}
protocol: survey
methods: [er]
memory: 50
runs: 3
tune: {grid: GRID, repeats: 2, seed: 9}
`)
	if len(jobs) != 3 || jobs[0].After != "" || jobs[1].After != jobs[0].Folder || jobs[2].After != jobs[0].Folder ||
		jobs[0].Seed != 1 {
		t.Fatalf("the jobs are %+v", study.Entries(jobs))
	}
	trial := jobs[1].Steps / 8 * 2
	if jobs[0].Steps != jobs[1].Steps+4*trial || jobs[0].FLOPs <= jobs[1].FLOPs {
		t.Errorf("the job that tunes has %d steps, and the others %d; want 4 trials of %d more", jobs[0].Steps, jobs[1].Steps,
			trial)
	}
	store := study.OpenFolder(dir)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	var order []string
	trials := map[string]int{}
	steps := 0
	w := &study.Worker{Store: store, Jobs: jobs, Concurrency: 2, Workers: 1, Poll: 10 * time.Millisecond,
		Watch: func(j study.Job) experiment.Events {
			run := progress.Run{Steps: j.Steps}
			return train.Tee(run.Events(time.Now, func(change func()) { change() }), experiment.Events{
				Begin: func(experiment.Job, ocl.StreamInfo, experiment.Plan) {
					mu.Lock()
					defer mu.Unlock()
					if at := run.Progress; at.Trial > 0 {
						trials[j.Folder]++
						if at.Trials != 4 {
							t.Errorf("there are %d trials, want 4", at.Trials)
						}
					} else {
						order = append(order, j.Folder)
					}
				},
				StepEnd: func(int, ocl.StepStats) {
					mu.Lock()
					defer mu.Unlock()
					if steps++; steps == trial+3 {
						cancel()
					}
				},
			})
		}}
	if sum, err := w.Run(ctx); err != nil || sum.Released != 1 || sum.Left != 3 {
		t.Fatalf("stopped in the second trial: %+v, %v", sum, err)
	}
	if st := store.State(jobs[0].Entry); st.Phase != progress.Begun || st.Progress.Step != trial+3 {
		t.Errorf("stopped in the second trial, it is %+v, want step %d", st, trial+3)
	}
	if sum, err := w.Run(t.Context()); err != nil || sum.Done != 3 {
		t.Fatalf("%+v, %v", sum, err)
	}
	if order[0] != jobs[0].Folder || trials[jobs[0].Folder] != 6 || len(trials) != 1 { // 2, and 4 of which one is kept
		t.Errorf("the runs began as %q, with the trials %v", order, trials)
	}
	values := ""
	for _, j := range jobs {
		r, err := result.Read(filepath.Join(dir, j.Folder, experiment.ResultFile))
		if err != nil {
			t.Fatal(err)
		}
		chosen := strings.Join(r.Tuning.Chosen, " ")
		if values == "" {
			values = chosen
		}
		if r.Tuning.Key != j.Key || chosen != values || len(r.Tuning.Points) != 2 {
			t.Errorf("%s has the tuning %+v, want the values %s", j.Folder, r.Tuning, values)
		}
	}
}

// TestTuningThatChoosesNothing: the job that tunes fails, and so do those that wait for it.
func TestTuningThatChoosesNothing(t *testing.T) {
	dir, _ := made(t, `study: 1
data: {train_per_class: 6, test_per_class: 2}
stream: {tasks: 10}
network: {name: mlp, hidden: [8]}
protocol: survey
methods: [er]
memory: 50
runs: 2
tune: {grid: GRID, seed: 9, repeats: 1}
`)
	text := strings.Replace(tunedGrid, "0.001, 0.1", "1e38", 1)
	if err := os.WriteFile(filepath.Join(dir, "grids", "my.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := study.Load(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	jobs, _, err := s.Open(t.Context(), experiment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	store := study.OpenFolder(dir)
	w := &study.Worker{Store: store, Jobs: jobs, Concurrency: 2, Workers: 1, Poll: 10 * time.Millisecond}
	sum, err := w.Run(t.Context())
	if sum.Failed != 2 || err == nil || !strings.Contains(err.Error(), "all points diverged") ||
		!strings.Contains(err.Error(), "which has no result") {
		t.Errorf("%+v, %v", sum, err)
	}
}
