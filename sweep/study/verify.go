package study

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ocl/run/experiment"
	"ocl/run/identity"
	"ocl/run/result"
)

// verified reads the result of a job, and refuses one that is not what its run wrote: damaged, edited, or that of
// another run. It is nil, without an error, if there is none.
func verified(path string, e Entry) (*result.Result, error) {
	want := identity.Want{Keys: append([]string{e.Key}, e.Also...), Tuned: e.Tuned}
	r, err := identity.Usable(experiment.Schema(), path, want)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return r, nil
}

// Fault is an error about a result without the advice what to do about it, for those who do something about it
// themselves.
func Fault(err error) string {
	text := err.Error()
	return strings.TrimSuffix(strings.TrimSuffix(text, result.Remedy), ". ")
}

// putAside renames a result that cannot be used, so that the job can be done again. The caller has the claim.
func (s *Folder) putAside(e Entry, folder string) error {
	path := filepath.Join(folder, experiment.ResultFile)
	_, fault := verified(path, e)
	if fault == nil {
		return nil
	}
	for n := 1; ; n++ {
		aside := fmt.Sprintf("%s.aside-%d", path, n)
		if _, err := os.Lstat(aside); err == nil {
			continue
		}
		if err := os.Rename(path, aside); err != nil {
			return fmt.Errorf("study: %w. It cannot be put aside: %w", fault, err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.aside = append(s.aside, fmt.Sprintf("%s. It was renamed to %s, and the job is done again", Fault(fault),
			filepath.Base(aside)))
		return nil
	}
}

// Aside implements [Store].
func (s *Folder) Aside() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	texts := s.aside
	s.aside = nil
	return texts
}
