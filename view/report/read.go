package report

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"ocl/config"
	"ocl/internal/count"
	"ocl/run/identity"
	"ocl/run/metric"
	"ocl/run/result"
)

// run is one result and the folder it was read from.
type run struct {
	*result.Result
	// run folder, below the folder that the caller gave; the file where no run folder is around; "" for results handed
	// over in memory
	folder string
	file   string // that was read
	seed   uint64
	memory int // capacity in samples; -1 for a method without memory
	matrix metric.Matrix

	id         identity.Identity // known once the run is in a study
	classifier string            // whose predictions accuracy and metrics are of
	beside     bool              // measured beside the run's first classifier: the run itself is another one here
}

// newRun fills in what the report derives from a result.
func newRun(res *result.Result, folder string) *run {
	r := &run{Result: res, folder: folder, file: filepath.Join(folder, "result.json"), seed: res.Config.Seed, memory: -1,
		classifier: ownRule}
	if res.Memory != nil {
		r.memory = res.Memory.Capacity
	}
	if res.Foreign != nil {
		r.claim()
	}
	if list := res.Config.Classifiers; len(list) > 0 && list[0] != "" {
		r.classifier = list[0]
	}
	r.matrix = result.MatrixOf(r.Accuracy, r.Stream.CommonTest)
	return r
}

// LeftOut is a result that could not be used.
type LeftOut struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
	err    error
}

// reading has the results in the folders of [Write].
type reading struct {
	runs  []*run
	notes []string // run folders that hold no result yet
	left  []LeftOut
}

// readAll reads every run below the given folders, each an experiment folder, a run folder or a folder of compressed
// results, and the given files, each a result. A run that two folders name is read once. A result that cannot be read
// or was edited is left out, unless all are.
func readAll(ctx context.Context, dirs []string, catalogue *config.Schema) (*reading, error) {
	if len(dirs) == 0 {
		return nil, errors.New("report: no folder is given. Run \"ocl report DIR\" with the folder of an experiment or a run")
	}
	found, err := identity.ReadAll(ctx, catalogue, identity.Want{Foreign: true}, dirs...)
	if err != nil {
		return nil, err
	}
	var r reading
	var faults []error
	for i, f := range found.Used {
		read := newRun(found.Results[i], f.Folder)
		read.file = f.Path
		r.runs = append(r.runs, read)
	}
	for _, f := range found.Refused {
		r.left = append(r.left, LeftOut{Path: f.Path, Reason: f.Why.Error(), err: f.Why})
		faults = append(faults, f.Why)
	}
	for _, f := range found.Pending {
		r.notes = append(r.notes, fmt.Sprintf("%s has no result.json yet: %s.", f, result.Pending(f)))
	}
	if len(r.runs) == 0 {
		return nil, fmt.Errorf("report: no result can be used, so nothing is written: %w", errors.Join(faults...))
	}
	return &r, nil
}

// err says what was left out; nil is nothing.
func (r *reading) err() error {
	if len(r.left) == 0 {
		return nil
	}
	faults := []error{fmt.Errorf("report: %w: %d of %s cannot be used",
		ErrLeftOut, len(r.left), count.Of(len(r.left)+len(r.runs), "result"))}
	for _, l := range r.left {
		faults = append(faults, l.err)
	}
	return errors.Join(faults...)
}
