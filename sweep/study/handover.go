package study

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ocl/checkpoint"
	"ocl/internal/atomicfile"
	"ocl/internal/input"
	"ocl/run/experiment"
	"ocl/run/result"
)

// Files lists what a machine must have to go on with the run in a folder, or to keep its result: config, events,
// result, the newest checkpoint, and the same of the trials of a tuning. The paths are relative to the folder, with
// slashes, each folder after its files and the result last. Hidden files and results that were put aside are left out.
func Files(folder string) ([]string, error) {
	var paths []string
	err := input.Walk(folder, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // a run at work has replaced it
			return nil
		case err != nil:
			return err
		case path == folder:
			return nil
		case strings.HasPrefix(e.Name(), ".") && e.IsDir():
			return fs.SkipDir
		case strings.HasPrefix(e.Name(), "."), strings.Contains(e.Name(), ".aside-"), e.Name() == failedFile:
			return nil
		case e.IsDir() && e.Name() == experiment.CheckpointDir:
			if newest, err := checkpoint.Files(path); err == nil {
				path = newest[0]
			} else if errors.Is(err, fs.ErrNotExist) {
				return fs.SkipDir
			} else {
				return err
			}
		case !e.Type().IsRegular():
			return nil
		}
		local, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		paths = append(paths, filepath.ToSlash(local))
		if e.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("study: %w", err)
	}
	if i := slices.Index(paths, experiment.ResultFile); i >= 0 {
		paths = append(slices.Delete(paths, i, i+1), experiment.ResultFile)
	}
	return paths, nil
}

// TakeOver moves what a worker elsewhere has handed over, which lies in a folder of the same file system, into the
// folder of a job: a whole result, or the files from which the run goes on. It is false if the job has its result
// already, and then moves nothing. The error wraps experiment.ErrBusy if a process of this file system is at work on
// the job. A result that is not the job's is refused.
func (s *Folder) TakeOver(e Entry, from string) (taken bool, err error) {
	paths, err := Files(from)
	if err != nil {
		return false, err
	}
	r, err := verified(filepath.Join(from, experiment.ResultFile), e)
	if err != nil {
		return false, fmt.Errorf("study: %w", err)
	}
	ended := r != nil && r.Outcome.State != result.Interrupted
	folder := folderOf(s.dir, e)
	unlock, err := s.lock(folder)
	if err != nil {
		return false, fmt.Errorf("study: %w", err)
	}
	defer unlock()
	if _, done := s.done(e, true); done {
		return false, nil
	}
	if err := s.putAside(e, folder); err != nil {
		return false, err
	}
	for _, p := range paths {
		to := filepath.Join(folder, filepath.FromSlash(p))
		err := atomicfile.MakeFolder(filepath.Dir(to))
		if err == nil {
			err = os.Rename(filepath.Join(from, filepath.FromSlash(p)), to)
		}
		if err == nil {
			err = atomicfile.SyncFolder(filepath.Dir(to))
		}
		if err != nil {
			return false, fmt.Errorf("study: %w", err)
		}
	}
	if !ended {
		return true, nil
	}
	if !slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(p, experiment.CheckpointDir+"/") }) {
		_ = os.RemoveAll(filepath.Join(folder, experiment.CheckpointDir)) // of attempts before; it only takes room
	}
	if stamp, ok := stampOf(folder); ok {
		noteOf(e, r, stamp).write(folder)
	}
	return true, nil
}
