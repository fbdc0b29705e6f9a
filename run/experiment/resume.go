package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ocl/config"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/run/train"
)

// OpenResumed opens an experiment to continue what was interrupted in dir: its folder, or the folder of one of its runs
// to continue only that run. Options.Out is ignored. A result.json is the same as without interruption, except for the
// keys that say where and when (docs/format/result.md).
func OpenResumed(ctx context.Context, dir string, o Options) (*Experiment, error) {
	if o.Force {
		return nil, errors.New("experiment: resume: --force starts again, but --resume continues. Remove one of them")
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("experiment: resume: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, ConfigFile)); err == nil {
		o.Out, o.resumed = filepath.Clean(dir), true
		if err := lacks(dir); err != nil {
			return nil, fmt.Errorf("experiment: resume: %s: %w", dir, err)
		}
		c, err := readConfig(filepath.Join(dir, ConfigFile))
		if err != nil {
			return nil, err
		}
		x, err := Open(ctx, c, o)
		if err == nil {
			err = x.hasRun(o.Out)
		}
		if err != nil {
			return nil, err
		}
		return x, nil
	}
	if _, err := os.Stat(filepath.Join(dir, RunConfigFile)); err != nil {
		return nil, fmt.Errorf("experiment: resume: %s: the folder has neither the %s of an experiment nor the %s of a run. "+
			"Give the folder of an experiment or of one of its runs", dir, ConfigFile, RunConfigFile)
	}
	o.Out, o.resumed = filepath.Dir(full), true
	if err := lacks(o.Out); err != nil {
		return nil, fmt.Errorf("experiment: resume: %s: %w", dir, err)
	}
	whole, err := readConfig(filepath.Join(o.Out, ConfigFile))
	if err != nil { // the folder of the run was moved out of its experiment
		return nil, fmt.Errorf("experiment: resume: %s: the folder above it has no readable %s: %w. Put the run back into its experiment, "+
			"or start it again with `ocl run --config %s`", dir, ConfigFile, err, filepath.Join(dir, RunConfigFile))
	}
	x, err := Open(ctx, whole, o)
	if err != nil {
		return nil, err
	}
	for _, j := range x.jobs {
		if j.Folder == filepath.Base(full) {
			x.chosen = []Job{j}
			return x, nil
		}
	}
	made, notMade := train.MadeIn(dir)
	for _, j := range x.jobs {
		if notMade == nil && Schema().Canonical(made.Config) == Schema().Canonical(j.Config) {
			if err := train.Accept(j.Identity, made); err != nil {
				return nil, fmt.Errorf("experiment: resume: %s: %w", dir, err)
			}
		}
	}
	return nil, fmt.Errorf("experiment: resume: %s is not a run of the experiment in %s. Give the folder of the experiment to resume all its runs",
		dir, o.Out)
}

// lacks is an error if a run of the experiment in a folder used something of another module that this program does not
// have.
func lacks(dir string) error {
	entries, err := input.ReadDir(dir)
	if err != nil {
		return nil //nolint:nilerr // whoever reads the folder says so
	}
	for _, e := range entries {
		if err := train.Lacks(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// hasRun refuses a folder with runs of which none is of x: its config is then that of another experiment.
func (x *Experiment) hasRun(dir string) error {
	entries, err := input.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("experiment: resume: %w", err)
	}
	ours, other := map[string]bool{}, ""
	for _, j := range x.jobs {
		ours[j.Folder], ours[Schema().Canonical(j.Config)] = true, true
	}
	for _, e := range entries {
		c, err := train.ReadConfig(filepath.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		if ours[e.Name()] || ours[Schema().Canonical(c)] {
			return nil
		}
		other = e.Name()
	}
	if other != "" {
		return fmt.Errorf("experiment: resume: %s: its %s is of another experiment than the run %s. Restore the file, or give the folder of its experiment",
			dir, ConfigFile, other)
	}
	return nil
}

// readConfig reads a config that the program wrote.
func readConfig(path string) (config.Config, error) {
	text, err := input.ReadFile(path, input.Want{Most: limit.Config})
	if err != nil {
		return config.Config{}, fmt.Errorf("experiment: resume: %w. Restore the file, or start again in another --out", err)
	}
	return Schema().Parse(path, text)
}
