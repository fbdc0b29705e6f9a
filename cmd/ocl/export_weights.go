package main

import (
	"context"
	"io"

	"ocl/experiment/trained"
	"ocl/interop/npz"
	"ocl/interop/safetensors"
)

// exportSafetensors writes the weights of a run as safetensors. run is the folder of a run, or of an experiment with one
// run. out is a file; "" is RUN.safetensors beside the folder of the run. It returns the path that was written, and below
// it what else a person should know, a line each.
func exportSafetensors(ctx context.Context, run, out string) (string, error) {
	return exportWeights(ctx, run, out, ".safetensors", safetensors.Write)
}

// exportNPZ is exportSafetensors for NumPy.
func exportNPZ(ctx context.Context, run, out string) (string, error) {
	return exportWeights(ctx, run, out, ".npz", npz.Write)
}

func exportWeights(ctx context.Context, run, out, ending string, write func(io.Writer, []safetensors.Tensor, map[string]string) error) (string, error) {
	return exportTrained(ctx, run, out, ending, func(t *trained.Model) (func(io.Writer) error, error) {
		tensors, metadata, err := t.Weights(ctx, release)
		return func(w io.Writer) error { return write(w, tensors, metadata) }, err
	})
}
