package core50

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"ocl/data/internal/pickle"
	"ocl/internal/cause"
	"ocl/internal/count"
)

// The pickles that say the same as the lists: paths.pkl has all frames, LUP.pkl the places in it that each list names, and
// labels.pkl their labels.
const (
	lupFile    = "LUP.pkl"
	pathsFile  = "paths.pkl"
	labelsFile = "labels.pkl"
)

// checkPickles compares the three pickles of a folder with the tables.
func checkPickles(ctx context.Context, folder string) error {
	if err := read(folder, pathsFile, checkPaths); err != nil {
		return err
	}
	against := func(wanted func(List) []int64) func(io.Reader, int64) error {
		return func(r io.Reader, size int64) error { return checkRuns(ctx, r, size, wanted) }
	}
	if err := read(folder, lupFile, against(List.places)); err != nil {
		return err
	}
	return read(folder, labelsFile, against(List.labelsOfPlaces))
}

// read opens a file of a folder for check, whose error gets the file's name.
func read(folder, name string, check func(r io.Reader, size int64) error) error {
	file, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		return fmt.Errorf("%s: %w", name, cause.Of(err))
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil {
		err = check(file, info.Size())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, cause.Of(err))
	}
	return nil
}

// checkPaths compares paths.pkl with the frames.
func checkPaths(r io.Reader, size int64) error {
	paths, err := pickle.ReadCORe50Paths(r, size)
	if err != nil {
		return err
	}
	at := 0
	for _, c := range All() {
		for f := c.First(); f < Frames; f++ {
			want := c.Folder() + "/" + c.Name(f)
			switch {
			case at >= len(paths):
				return fmt.Errorf("the list ends after %s, wanted %s", count.Of(at, "path"), count.Number(Total))
			case paths[at] != want:
				return fmt.Errorf("path %d is %.60q, wanted %q", at, paths[at], want)
			}
			at++
		}
	}
	if len(paths) > at {
		return fmt.Errorf("path %d is %.60q, wanted the end of the list", at, paths[at])
	}
	return nil
}

// checkRuns compares LUP.pkl or labels.pkl with what is wanted of each list. The last batch of a run is its test set.
func checkRuns(ctx context.Context, r io.Reader, size int64, wanted func(List) []int64) error {
	runs, err := pickle.ReadCORe50(r, size)
	if err != nil {
		return err
	}
	for _, scenario := range []string{NC, NI} {
		for run := range Runs {
			if err := ctx.Err(); err != nil {
				return err
			}
			key := strings.ToLower(scenario)
			batches, err := runs.Batches(key, run, Total)
			if err != nil {
				return err
			}
			if n := tasksOf(scenario) + 1; len(batches) != n {
				return fmt.Errorf("%s, run %d has %s, wanted %d", key, run, count.Of(len(batches), "batch"), n)
			}
			for task, got := range batches {
				l := List{scenario, run, task}
				if task == tasksOf(scenario) {
					l.Task = TestTask
				}
				if err := same(got, wanted(l)); err != nil {
					return fmt.Errorf("%s, run %d, batch %d: %w", key, run, task, err)
				}
			}
		}
	}
	return nil
}

// same says where a batch differs from the wanted one.
func same(got, want []int64) error {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Errorf("entry %d is %d, wanted %d", i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("it has %s, wanted %s", count.Of(len(got), "entry"), count.Number(len(want)))
	}
	return nil
}

// places are the places of the list's frames in paths.pkl.
func (l List) places() []int64 {
	begin, at := map[Cell]int64{}, int64(0)
	for _, c := range All() {
		begin[c] = at
		at += int64(Frames - c.First())
	}
	var places []int64
	for _, c := range l.Cells() {
		for i := range int64(Frames - c.First()) {
			places = append(places, begin[c]+i)
		}
	}
	return places
}

// labelsOfPlaces are the labels of the list's frames.
func (l List) labelsOfPlaces() []int64 {
	labels := l.Labels()
	var list []int64
	for _, c := range l.Cells() {
		for range Frames - c.First() {
			list = append(list, int64(labels[c.Object]))
		}
	}
	return list
}
