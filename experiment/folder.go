package experiment

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ocl/checkpoint"
	"ocl/experiment/result"
)

// Names in an experiment folder (Options.Out) and in the folder of a run below it.
const (
	ConfigFile    = "experiment.yaml"
	ResultFile    = "result.json"
	StepsFile     = "steps.csv"
	CheckpointDir = "checkpoint"
)

// prepareFolder makes out the folder of experiment c: new, or one that holds the same experiment, whose runs are then
// kept. Another experiment is refused. With force the experiment in the folder, the same or another, is removed first:
// what it wrote, and nothing else. The folder comes locked; the caller unlocks it when all is written.
func prepareFolder(out string, c Config, force bool) (*folderLock, error) {
	if _, err := examineFolder(out, c, force); err != nil {
		return nil, err // without a lock file in a folder that is not ours
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, fmt.Errorf("experiment: %w; want a folder that can be written; choose another --out", err)
	}
	lock, err := lockFolder(out)
	if err != nil {
		return nil, err
	}
	if err := fillFolder(out, c, force); err != nil {
		lock.unlock()
		return nil, err
	}
	return lock, nil
}

// contents is what a folder holds that an experiment may use.
type contents struct {
	same   bool   // this experiment, to go on with
	config bool   // a config, to be replaced
	old    Config // that config, as far as it can be read
}

// examineFolder looks at the folder and changes nothing. One that the experiment may not use is an error.
func examineFolder(out string, c Config, force bool) (contents, error) {
	entries, err := os.ReadDir(out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return contents{}, fmt.Errorf("experiment: %w; want a folder for the results; choose another --out", err)
	}
	old, err := Load(filepath.Join(out, ConfigFile))
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case force:
		return contents{config: !missing, old: old}, nil
	case missing && onlyOurs(entries):
		return contents{}, nil
	case missing:
		return contents{}, fmt.Errorf("experiment: %s: the folder holds other files and no %s; want an empty folder or the same experiment; "+
			"choose another --out, or write beside them with --force", out, ConfigFile)
	case err != nil:
		return contents{}, fmt.Errorf("experiment: %s: its %s cannot be read (%w); want the same experiment; "+
			"choose another --out, or replace it with --force", out, ConfigFile, err)
	case old.canonical() == c.canonical():
		return contents{same: true, config: true, old: old}, nil
	}
	return contents{}, fmt.Errorf("experiment: %s: the folder holds a different experiment (%s); want the same config; "+
		"choose another --out, or replace it with --force", out, difference(old, c))
}

// fillFolder removes what is to be replaced and writes the config. It looks at the folder again, under the lock: another
// process may have made something of it since.
func fillFolder(out string, c Config, force bool) error {
	there, err := examineFolder(out, c, force)
	if err != nil || there.same {
		return err
	}
	if force {
		if err := removeExperiments(out, !there.config, there.old, c); err != nil {
			return fmt.Errorf("experiment: %s: replacing the experiment: %w; remove the folder by hand", out, err)
		}
	}
	text, err := c.Resolved().YAML()
	if err != nil {
		return err
	}
	if err := checkpoint.WriteBytesAtomic(filepath.Join(out, ConfigFile), text); err != nil {
		return fmt.Errorf("experiment: %s cannot be written: %w; want a folder with room; choose another --out", out, err)
	}
	return nil
}

// onlyOurs tells whether a folder without config is free for us: empty but for the lock file and the config that a crash
// left half written.
func onlyOurs(entries []os.DirEntry) bool {
	for _, e := range entries {
		if e.Name() != LockFile && e.Name() != "."+ConfigFile+".tmp" {
			return false
		}
	}
	return true
}

// difference names the first key in which two configs differ.
func difference(a, b Config) string {
	var x, y map[string]any
	for _, p := range []struct {
		c Config
		m *map[string]any
	}{{a, &x}, {b, &y}} {
		if json.Unmarshal([]byte(p.c.canonical()), p.m) != nil {
			return "unreadable"
		}
	}
	return differingKey("", x, y)
}

func differingKey(prefix string, x, y map[string]any) string {
	all := map[string]bool{}
	for k := range x {
		all[k] = true
	}
	for k := range y {
		all[k] = true
	}
	for _, k := range sortedKeys(all) {
		xs, ok1 := x[k].(map[string]any)
		ys, ok2 := y[k].(map[string]any)
		if ok1 && ok2 {
			if d := differingKey(prefix+k+".", xs, ys); d != "" {
				return d
			}
			continue
		}
		u, _ := json.Marshal(x[k]) // both come from JSON
		v, _ := json.Marshal(y[k])
		if string(u) != string(v) {
			return fmt.Sprintf("%s is %s there and %s here", prefix+k, u, v)
		}
	}
	return ""
}

// removeExperiments removes the files that experiments wrote below out and, unless runsOnly, their report, and folders
// left empty.
func removeExperiments(out string, runsOnly bool, experiments ...Config) error {
	var folders []string
	for _, c := range experiments {
		for _, j := range Jobs(c) {
			folder := filepath.Join(out, j.Folder)
			if err := clearRun(folder); err != nil {
				return err
			}
			folders = append(folders, folder)
		}
	}
	written := map[string][]string{
		"figures": {"*.svg", "*.png"}, "tables": {"*.csv", "*.md"}, ".": {"report.html", ConfigFile},
	}
	if runsOnly {
		written = nil
	}
	for folder, patterns := range written {
		if err := removeMatching(filepath.Join(out, folder), patterns); err != nil {
			return err
		}
		folders = append(folders, filepath.Join(out, folder))
	}
	for _, f := range folders {
		if f != out {
			_ = os.Remove(f) // stays when it holds something that is not ours
		}
	}
	return nil
}

// clearRun removes what a run wrote into its folder.
func clearRun(folder string) error {
	if _, err := os.Stat(filepath.Join(folder, CheckpointDir)); err == nil {
		dir, err := checkpoint.OpenDir(filepath.Join(folder, CheckpointDir))
		if err == nil {
			err = dir.Clear()
		}
		if err != nil {
			return err
		}
		_ = os.Remove(filepath.Join(folder, CheckpointDir)) // stays when it holds something that is not ours
	}
	for _, name := range []string{ResultFile, StepsFile} {
		if err := os.Remove(filepath.Join(folder, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// removeMatching removes the files of a folder whose names match a pattern; a missing folder holds none.
func removeMatching(folder string, patterns []string) error {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		for _, p := range patterns {
			if ok, _ := filepath.Match(p, e.Name()); ok && e.Type().IsRegular() {
				if err := os.Remove(filepath.Join(folder, e.Name())); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// keptResult returns the result of a run that ended before, nil when the run has to start or go on. A result that other
// data, numbers, kernels or convolutions made is refused: the experiment would mix what cannot be compared.
func keptResult(folder string, id identity) (*result.Result, error) {
	path := filepath.Join(folder, ResultFile)
	r, err := result.Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case r.Outcome.State == result.Interrupted:
		return nil, nil
	}
	text, err := r.Config.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("experiment: %s: %w", path, err)
	}
	config, err := parseYAML(ResultFile, ownKeys(text))
	if err != nil {
		return nil, fmt.Errorf("experiment: %s: %w", path, err)
	}
	made := identity{
		config: config.canonical(), data: r.Provenance.DataDigest,
		numbers: r.Provenance.Numbers, kernel: r.Provenance.Kernel, convolution: r.Provenance.Convolution,
	}
	if err := id.accept(made); err != nil {
		return nil, fmt.Errorf("experiment: %s: %w", path, err)
	}
	return r, nil
}
