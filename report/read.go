package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"syscall"

	"ocl/experiment/result"
	"ocl/metric"
)

// run is one result and the folder it was read from.
type run struct {
	*result.Result
	folder string // as given by the caller, joined with the run folder's name; "" for results handed over in memory
	seed   uint64
	memory int // capacity in samples; -1 for a method without memory
	matrix metric.Matrix

	classifier string // whose predictions accuracy and metrics are of
	beside     bool   // measured beside the run's first classifier: the run itself is another one here
}

// newRun fills in what the report derives from a result.
func newRun(res *result.Result, folder string) *run {
	r := &run{Result: res, folder: folder, seed: res.Config.Seed, memory: -1, classifier: ownRule}
	if res.Memory != nil {
		r.memory = res.Memory.Capacity
	}
	if list := res.Config.Classifiers; len(list) > 0 && list[0] != "" {
		r.classifier = list[0]
	}
	r.matrix = r.fullMatrix()
	return r
}

// LeftOut is a result that could not be read.
type LeftOut struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
	err    error
}

// reading is what the folders given to [Write] hold.
type reading struct {
	runs  []*run
	notes []string // run folders that hold no result yet
	left  []LeftOut
}

// readAll reads every run below the given folders, each an experiment folder or a run folder. A run that two folders name is
// read once. A result that cannot be read is left out, unless all are.
func readAll(dirs []string) (*reading, error) {
	if len(dirs) == 0 {
		return nil, errors.New("report: no folder given; want an experiment folder or a run folder; run \"ocl report DIR\"")
	}
	var r reading
	var faults []error
	seen := map[string]bool{}
	for _, dir := range dirs {
		folders, pending, err := runFolders(dir)
		if err != nil {
			return nil, err
		}
		for _, folder := range folders {
			key, err := filepath.Abs(folder)
			if err != nil {
				key = folder
			}
			if seen[key] {
				continue
			}
			seen[key] = true
			path := filepath.Join(folder, "result.json")
			res, err := result.Read(path)
			if err != nil {
				r.left = append(r.left, LeftOut{Path: path, Reason: err.Error(), err: err})
				faults = append(faults, err)
				continue
			}
			r.runs = append(r.runs, newRun(res, folder))
		}
		for _, f := range pending {
			r.notes = append(r.notes, fmt.Sprintf("%s has no result.json yet: not run to its end; “ocl run --resume %s” continues it.", f, f))
		}
	}
	if len(r.runs) == 0 {
		return nil, fmt.Errorf("report: no result can be read, so nothing is written: %w", errors.Join(faults...))
	}
	return &r, nil
}

// err says what was left out; nil is nothing.
func (r *reading) err() error {
	if len(r.left) == 0 {
		return nil
	}
	faults := []error{fmt.Errorf("report: %w: %d of %s cannot be read",
		ErrLeftOut, len(r.left), count(len(r.left)+len(r.runs), "result"))}
	for _, l := range r.left {
		faults = append(faults, l.err)
	}
	return errors.Join(faults...)
}

// runFolders lists the run folders of dir (dir itself, or those in it) and those that have begun but hold no result.
func runFolders(dir string) (folders, pending []string, err error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("report: %s: %w; want an experiment folder or a run folder, such as the --out of \"ocl run\"; check the path", dir, cause(err))
	}
	if !info.IsDir() {
		return nil, nil, fmt.Errorf("report: %s: is a file; want an experiment folder or a run folder; give the folder it lies in", dir)
	}
	if exists(filepath.Join(dir, "result.json")) {
		return []string{dir}, nil, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("report: %s: %w; want a folder that can be listed", dir, cause(err))
	}
	for _, e := range entries {
		sub := filepath.Join(dir, e.Name())
		switch {
		case exists(filepath.Join(sub, "result.json")):
			folders = append(folders, sub)
		case exists(filepath.Join(sub, "events.jsonl")) || exists(filepath.Join(sub, "steps.csv")) || exists(filepath.Join(sub, "checkpoint")):
			pending = append(pending, sub)
		}
	}
	switch {
	case len(folders) == 0 && len(pending) > 0:
		return nil, nil, fmt.Errorf("report: %s: %s begun, none with a result.json yet; want one that ended or was stopped; "+
			"wait for one that is at work, or continue with \"ocl run --resume %s\"", dir, count(len(pending), "run"), dir)
	case len(folders) == 0:
		return nil, nil, fmt.Errorf("report: %s: no result.json in it or in the folders in it; want an experiment folder or a run folder; "+
			"write one with \"ocl run --out %s\"", dir, dir)
	}
	sort.Strings(folders)
	return folders, pending, nil
}

// exists says whether something is at path; what cannot be looked at counts as there, so that reading it says why not.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}
