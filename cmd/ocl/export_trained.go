package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"ocl/experiment/trained"
	"ocl/interop/output"
	"ocl/interop/safetensors"
)

// exportTrained writes a file of what a run learned. run is the folder of a run, or of an experiment with one run. out is
// the file, which is replaced as a whole or stays as it was; "" is a file with that ending beside the folder of the run.
// prepare gives what writes the content. The data are not needed. It returns the path that was written, and below it what
// else a person should know, a line each.
func exportTrained(ctx context.Context, run, out, ending string, prepare func(*trained.Model) (func(io.Writer) error, error)) (string, error) {
	if info, err := os.Stat(out); err == nil && info.IsDir() {
		return "", fmt.Errorf("export: %s: this is a folder. Give the name of a file, such as %s", out, filepath.Join(out, "model"+ending))
	}
	t, err := trained.Open(ctx, run, runtime.GOMAXPROCS(0))
	if err != nil {
		return "", err
	}
	defer t.Close()
	write, err := prepare(t)
	if err != nil {
		return "", err
	}
	if out == "" {
		folder, err := filepath.Abs(t.Folder) // it may be "."
		if err != nil {
			return "", fmt.Errorf("export: %s: %w. Give its whole path", t.Folder, err)
		}
		out = folder + ending
	}
	if err := output.Write("export", out, write); err != nil {
		return "", err
	}
	return strings.Join(append([]string{out}, t.Notes...), "\n"), nil
}

// exportWeights exports the weights of a run to files with an ending.
func exportWeights(ending string, write func(io.Writer, []safetensors.Tensor, map[string]string) error) func(ctx context.Context, run, out string) (string, error) {
	return func(ctx context.Context, run, out string) (string, error) {
		return exportTrained(ctx, run, out, ending, func(t *trained.Model) (func(io.Writer) error, error) {
			tensors, metadata, err := t.Weights(ctx, release)
			return func(w io.Writer) error { return write(w, tensors, metadata) }, err
		})
	}
}
