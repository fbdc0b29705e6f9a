// Command results writes what follows from the committed results: results/runs.csv, which has a line for each run, and the two charts of the
// README in docs/images. Run it as "go run ./results" in the root of the repository, whenever a file below results/ has changed.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"ocl/checkpoint"
)

func main() {
	if err := write("."); err != nil {
		fmt.Fprintln(os.Stderr, "results:", err)
		os.Exit(1)
	}
}

// write writes the files below the root of the repository.
func write(root string) error {
	files, err := derived(root)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := checkpoint.WriteBytesAtomic(filepath.Join(root, f.name), f.text); err != nil {
			return err
		}
	}
	return nil
}

// file is a file that follows from others, by its path below the root.
type file struct {
	name string
	text []byte
}

// derived makes all files that follow from the committed ones.
func derived(root string) ([]file, error) {
	runs, err := readRuns(filepath.Join(root, "results"))
	if err != nil {
		return nil, err
	}
	lines, err := index(runs)
	if err != nil {
		return nil, err
	}
	methods, err := methodsChart(runs)
	if err != nil {
		return nil, err
	}
	steps, err := stepChart(filepath.Join(root, "results", "benchmarks", "step.csv"))
	return []file{{"results/runs.csv", lines}, {"docs/images/methods.svg", methods}, {"docs/images/step.svg", steps}}, err
}
