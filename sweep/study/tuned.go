package study

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"ocl/config"
	"ocl/internal/atomicfile"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/run/train"
	"ocl/run/tune"
)

// tuned is a job whose run is tuned before it is made.
type tuned struct {
	tune.Job
	opts  experiment.Options
	owner *Entry // the job that tunes for this one, too; nil of one that tunes by itself
}

// tunedJobs are the jobs of a config that asks for tuning. x has its data open.
func tunedJobs(x *experiment.Experiment, c config.Config, o experiment.Options) (jobs []Job, err error) {
	before, list, err := tune.Jobs(x, c)
	if err != nil {
		return nil, err
	}
	for _, j := range list {
		jobs = append(jobs, Job{Run: j.Before, Experiment: before, Entry: Entry{Key: j.Key, Folder: j.Folder, Tuned: true},
			tuned: &tuned{Job: j, opts: o}})
	}
	return jobs, nil
}

// shareTunings finds the jobs that have the same tuning: the one with the lowest seed tunes, and the others wait for
// it.
func shareTunings(jobs []Job) {
	owners := map[string]int{}
	for i, j := range jobs {
		if j.tuned == nil {
			continue
		}
		if first, there := owners[j.tuned.Tuning]; !there || j.Seed < jobs[first].Seed {
			owners[j.tuned.Tuning] = i
		}
	}
	for i := range jobs {
		j := &jobs[i]
		if j.tuned == nil {
			continue
		}
		if first := owners[j.tuned.Tuning]; first != i {
			j.tuned.owner, j.After = &jobs[first].Entry, jobs[first].Folder
			continue
		}
		j.Steps += j.tuned.Job.Steps
		j.FLOPs += j.tuned.Job.FLOPs
	}
	for i := range jobs { // the slice is sorted after this
		if t := jobs[i].tuned; t != nil && t.owner != nil {
			owner := *t.owner
			t.owner = &owner
		}
	}
}

// learn tunes and then runs a job.
func (t *tuned) learn(ctx context.Context, store Store, j Job, at experiment.RunIn) (*result.Result, error) {
	var chosen *result.Tuning
	if t.owner != nil {
		r, err := store.Result(*t.owner)
		if err != nil {
			return nil, fmt.Errorf("study: %w. Let it be done again first", err)
		}
		if r == nil {
			return nil, fmt.Errorf("study: its settings are those that %s chooses, which has no result. Retry both, with `ocl sweep retry`",
				t.owner.Folder)
		}
		chosen = r.Tuning
	}
	return t.RunAt(ctx, chosen, at, j.Experiment, t.opts)
}

// foundIn says how far a job is. The steps of a tuned one are those of its trials, and then those of its run.
func foundIn(folder string, e Entry) (train.Found, error) {
	f, err := train.Find(folder)
	if err != nil || !e.Tuned {
		return f, err
	}
	trials, _ := input.ReadDir(filepath.Join(folder, tune.Folder, tune.Trials)) // that are not there are none
	for _, trial := range trials {
		if one, err := train.Find(filepath.Join(folder, tune.Folder, tune.Trials, trial.Name())); err == nil &&
			one.State != "" {
			f.Step += one.Step
			if f.State == "" {
				f.State = train.Begun
			}
		}
	}
	return f, nil
}

// StepOf returns the number of steps that a job in a folder has behind it, as far as the names of files and the results
// tell; 0 if the folder cannot be used.
func StepOf(folder string, e Entry) int {
	f, err := foundIn(folder, e)
	if err != nil {
		return 0 // it is put aside and made again
	}
	return f.Step
}

// gridsFolder has copies of the grids that a study names by files, for workers elsewhere.
const gridsFolder = "grids"

// isFile says whether a grid is a file.
func isFile(grid string) bool { return grid != "" && grid != tune.Paper && grid != tune.Authors }

// keepGrids copies the files of grids into the folder of a study.
func keepGrids(dir string, runs []Combination) error {
	from := map[string]string{} // by name
	for _, r := range runs {
		grid := r.Config.Tune.Grid
		if !isFile(grid) {
			continue
		}
		name := filepath.Base(grid)
		switch other, there := from[name]; {
		case there && other == grid:
			continue
		case there:
			return fmt.Errorf("study: two grids have the same name: %s and %s. Rename one of the files", other, grid)
		}
		from[name] = grid
		text, err := input.ReadFile(grid, input.Want{Most: limit.Grid})
		if err == nil {
			err = atomicfile.MakeFolder(filepath.Join(dir, gridsFolder))
		}
		if err == nil {
			err = experiment.WriteShared(filepath.Join(dir, gridsFolder), name, text)
		}
		if err != nil {
			return fmt.Errorf("study: the grid cannot be copied: %w", err)
		}
	}
	return nil
}

// useGrids lets the runs of a folder's study take the copies that it has.
func useGrids(dir string, runs []Combination) {
	for i := range runs {
		if t := &runs[i].Config.Tune; isFile(t.Grid) {
			t.Grid = filepath.Join(dir, gridsFolder, filepath.Base(t.Grid))
		}
	}
}

// waits says whether a job waits for the tuning of another one.
func (r *session) waits(j Job) bool {
	if j.After == "" {
		return false
	}
	ready, asked := r.ready[j.After]
	if !asked {
		i := slices.IndexFunc(r.Jobs, func(o Job) bool { return o.Folder == j.After })
		if i < 0 {
			return false // its work says what is wrong
		}
		phase := r.phases[i]
		if phase == "" {
			phase = r.Store.State(r.Jobs[i].Entry).Phase
		}
		ready = phase == progress.Done || phase == progress.Failed
		r.ready[j.After] = ready
	}
	return !ready
}
