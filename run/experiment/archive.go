package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ocl/internal/atomicfile"
	"ocl/internal/cause"
	"ocl/internal/input"
	"ocl/internal/samebits"
	"ocl/run/identity"
	"ocl/run/result"
)

// Archived is a result that lies somewhere.
type Archived struct {
	Path    string
	Key     string // of its run, also where the file does not say it
	Learned string // what its run has learned, see [identity.Identity.Learned]
	Result  *result.Result
}

// Archive has the results below a folder.
type Archive struct {
	Results []Archived // by path
	Damaged []error    // of files that could not be read
	Foreign []string   // paths of results of other programs, which are no runs
	byKey   map[string]int
}

// OpenArchive reads all results below a folder: files named result.json, and compressed ones with any name. They have
// ended; those of interrupted runs are left out.
func OpenArchive(ctx context.Context, dir string) (*Archive, error) {
	a := &Archive{byKey: map[string]int{}}
	err := input.Walk(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if e.IsDir() || e.Name() != ResultFile && !strings.HasSuffix(e.Name(), result.Packed) {
			return nil
		}
		r, err := identity.Usable(Schema(), path, identity.Want{Ended: true})
		switch {
		case errors.Is(err, result.ErrForeign):
			a.Foreign = append(a.Foreign, path)
			return nil
		case errors.Is(err, identity.ErrStopped):
			return nil
		case err != nil:
			a.Damaged = append(a.Damaged, err)
			return nil
		}
		id := IdentityOf(r)
		one := Archived{path, id.Key(), id.Learned().String(), r}
		a.Results = append(a.Results, one)
		for _, k := range one.Keys() {
			i, there := a.byKey[k]
			// a timed result also serves a job that needs no times, so it is preferred
			if !there || r.Provenance.Timed && !a.Results[i].Result.Provenance.Timed {
				a.byKey[k] = len(a.Results) - 1
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("experiment: the results cannot be listed: %w. Give a folder that can be read", err)
	}
	return a, nil
}

// Keys returns the keys under which a result can be found: the key of its run, and the key that the run had before
// tuning.
func (r Archived) Keys() []string {
	if r.Result.Tuning != nil {
		return []string{r.Key, r.Result.Tuning.Key}
	}
	return []string{r.Key}
}

// Find returns the result of the first of some keys that there is one of.
func (a *Archive) Find(keys ...string) (Archived, bool) {
	for _, k := range keys {
		if i, there := a.byKey[k]; there {
			return a.Results[i], true
		}
	}
	return Archived{}, false
}

// Copy puts a result into the folder of a run.
func (r Archived) Copy(folder string) error {
	whole := *r.Result
	text, err := result.Encode(&whole)
	if err == nil {
		err = atomicfile.MakeFolder(folder)
	}
	if err == nil {
		err = atomicfile.WriteBytes(filepath.Join(folder, ResultFile), text)
	}
	if err == nil {
		err = os.RemoveAll(filepath.Join(folder, CheckpointDir)) // of a run that had begun
	}
	if err != nil {
		return fmt.Errorf("experiment: %s cannot be copied: %w. Make room on the disk, or choose another --out", r.Path, err)
	}
	return nil
}

// Differ says why a result with the same settings is not the result of job j, in words for a list: "other kernels
// (avx512)".
func (r Archived) Differ(j Job) error {
	made := r.Result.Provenance
	switch {
	case made.Numbers != j.Identity.Numbers:
		return fmt.Errorf("another numbers version (%d)", made.Numbers)
	case made.DataDigest != j.Identity.Data:
		return errors.New("other data")
	case !samebits.Same(made.Kernel, j.Identity.Kernel):
		return fmt.Errorf("other kernels (%s)", cause.Shown(made.Kernel))
	case made.Convolution != j.Identity.Convolution:
		return fmt.Errorf("another algorithm of convolutions (%s)", cause.Shown(made.Convolution))
	case !slices.Equal(made.Registered, j.Identity.Registered):
		return errors.New("another version of a module")
	}
	return errors.New("fewer evaluations or other classifiers")
}
