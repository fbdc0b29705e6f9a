package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"ocl/experiment/result"
	"ocl/metric"
)

// run is one result and the folder it was read from.
type run struct {
	*result.Result
	folder string // run folder, below the folder that the caller gave; the file where no run folder is around; "" for results handed over in memory
	file   string // that was read
	seed   uint64
	memory int // capacity in samples; -1 for a method without memory
	matrix metric.Matrix

	classifier string // whose predictions accuracy and metrics are of
	beside     bool   // measured beside the run's first classifier: the run itself is another one here
}

// newRun fills in what the report derives from a result.
func newRun(res *result.Result, folder string) *run {
	r := &run{Result: res, folder: folder, file: filepath.Join(folder, "result.json"), seed: res.Config.Seed, memory: -1, classifier: ownRule}
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

// readAll reads every run below the given folders, each an experiment folder, a run folder or a folder of compressed
// results, and the given files, each a result. A run that two folders name is read once. A result that cannot be read
// is left out, unless all are.
func readAll(dirs []string) (*reading, error) {
	if len(dirs) == 0 {
		return nil, errors.New("report: no folder is given. Run \"ocl report DIR\" with the folder of an experiment or a run")
	}
	var r reading
	var faults []error
	seen := map[string]bool{}
	for _, dir := range dirs {
		found, pending, err := resultsIn(dir)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			key, err := filepath.Abs(f.path)
			if err != nil {
				key = f.path
			}
			if seen[key] {
				continue
			}
			seen[key] = true
			res, err := result.Read(f.path)
			if err != nil {
				r.left = append(r.left, LeftOut{Path: f.path, Reason: err.Error(), err: err})
				faults = append(faults, err)
				continue
			}
			read := newRun(res, f.folder)
			read.file = f.path
			r.runs = append(r.runs, read)
		}
		for _, f := range pending {
			r.notes = append(r.notes, fmt.Sprintf("%s has no result.json yet: the run has not ended. “ocl run --resume %s” continues it.", f, f))
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

// source is a file that should hold a result, and the run folder that it lies in. A file of another name, such as
// results/er-m5000-s1.json.gz, is in no run folder and stands for itself.
type source struct{ path, folder string }

// inRunFolder is the result of a run folder, also compressed; ok is false where there is none.
func inRunFolder(folder string) (s source, ok bool) {
	for _, name := range []string{"result.json", "result" + result.Packed} {
		if path := filepath.Join(folder, name); exists(path) {
			return source{path, folder}, true
		}
	}
	return source{}, false
}

// resultsIn lists the results at a path, by name: the file that it is, that of the run folder that it is, or those of
// the run folders and the compressed ones in the folder that it is. pending are the run folders that have begun but
// hold no result.
func resultsIn(path string) (found []source, pending []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, fmt.Errorf("report: %s: %w. Give the folder of an experiment or a run, such as the --out of \"ocl run\"", path, cause(err))
	}
	if !info.IsDir() {
		return []source{{path, path}}, nil, nil
	}
	if s, ok := inRunFolder(path); ok {
		return []source{s}, nil, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, nil, fmt.Errorf("report: %s: %w. Give a folder that can be read", path, cause(err))
	}
	var experiments []string    // folders of folders of runs
	for _, e := range entries { // sorted
		sub := filepath.Join(path, e.Name())
		if s, ok := inRunFolder(sub); ok {
			found = append(found, s)
		} else if strings.HasSuffix(e.Name(), result.Packed) && !e.IsDir() {
			found = append(found, source{sub, sub})
		} else if exists(filepath.Join(sub, "events.jsonl")) || exists(filepath.Join(sub, "steps.csv")) || exists(filepath.Join(sub, "checkpoint")) {
			pending = append(pending, sub)
		} else if exists(filepath.Join(sub, "experiment.yaml")) {
			experiments = append(experiments, sub)
		}
	}
	switch {
	case len(found) == 0 && len(experiments) > 0:
		return nil, nil, fmt.Errorf("report: %s: it has no result.json, but its folders are experiments. Give them instead, such as \"ocl report %s\"",
			path, strings.Join(experiments[:min(3, len(experiments))], " "))
	case len(found) == 0 && len(pending) > 0:
		return nil, nil, fmt.Errorf("report: %s: %s begun, but none has a result.json yet. "+
			"Wait until a run has ended, or continue with \"ocl run --resume %s\"", path, count(len(pending), "run"), path)
	case len(found) == 0:
		return nil, nil, fmt.Errorf("report: %s: there is no result.json in it or in its folders. Give the folder of an experiment or a run; "+
			"\"ocl run --out %s\" makes one", path, path)
	}
	return found, pending, nil
}

// exists says whether something is at path; what cannot be looked at counts as there, so that reading it says why not.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}
