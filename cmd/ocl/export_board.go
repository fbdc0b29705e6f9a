package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ocl/experiment/result"
	"ocl/internal/count"
	"ocl/interop/runs"
)

// exportTensorboard writes the runs in a folder of a run or an experiment for TensorBoard. out is the folder for its
// --logdir, or for a single run an event file; "" is a folder beside the results. It returns the path. A result that cannot be used is an error,
// and then nothing is written.
func exportTensorboard(ctx context.Context, run, out string) (string, error) {
	found, _, err := result.Find(run)
	for _, f := range found {
		if fault := usable(f.Path); fault != nil {
			err = errors.Join(err, fmt.Errorf("export: %w", fault))
		}
	}
	if err != nil {
		return "", err
	}
	return runs.Tensorboard(ctx, run, out)
}

// usable says whether a file has a whole result that nobody has changed.
func usable(path string) error {
	r, err := result.Read(path)
	if err != nil {
		return err
	}
	return changed(path, r)
}

// exportCSV writes every number of the runs in a folder of a run, an experiment or a study into one table. out is a file or a
// folder; "" is a file beside the results. It returns the path, and below it which runs have no result yet. Results that cannot be
// used are left out, and are the error.
func exportCSV(ctx context.Context, run, out string) (string, error) {
	found, pending, err := result.Find(run)
	if err != nil {
		return "", err
	}
	var whole []result.Source
	var faults []error
	for _, f := range found {
		if err := usable(f.Path); err != nil {
			faults = append(faults, fmt.Errorf("export: left out: %w", err))
			continue
		}
		whole = append(whole, f)
	}
	if len(whole) == 0 {
		return "", errors.Join(faults...)
	}
	path, err := runs.CSVOf(ctx, whole, run, out)
	if err != nil {
		return "", err
	}
	if len(pending) > 0 {
		path += "\n" + "not in the table, as they have no result yet: " + strings.TrimSuffix(count.Some(pending), ".")
	}
	return path, errors.Join(faults...)
}
