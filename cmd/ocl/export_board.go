package main

import (
	"context"

	"ocl/interop/runs"
)

// exportTensorboard writes the runs in a folder of a run or an experiment for TensorBoard. out is the folder for its
// --logdir, or for a single run an event file; "" is a folder beside the results. It returns the path.
func exportTensorboard(ctx context.Context, run, out string) (string, error) {
	return runs.Tensorboard(ctx, run, out)
}

// exportCSV writes every number of the runs in a folder of a run or an experiment into one table. out is a file or a
// folder; "" is a file beside the results. It returns the path.
func exportCSV(ctx context.Context, run, out string) (string, error) {
	return runs.CSV(ctx, run, out)
}
