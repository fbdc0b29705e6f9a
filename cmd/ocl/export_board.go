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
// --logdir, or for a single run an event file; "" is a folder beside the results. It returns the path.
func exportTensorboard(ctx context.Context, run, out string) (string, error) {
	return runs.Tensorboard(ctx, run, out)
}

// exportCSV writes every number of the runs in a folder of a run, an experiment or a study into one table. out is a file or a
// folder; "" is a file beside the results. It returns the path, and below it which runs have no result yet. Results that cannot be
// read are left out, and are the error.
func exportCSV(ctx context.Context, run, out string) (string, error) {
	found, pending, err := result.Find(run)
	if err != nil {
		return "", err
	}
	var whole []result.Source
	var faults []error
	for _, f := range found {
		if _, err := result.Read(f.Path); err != nil {
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
