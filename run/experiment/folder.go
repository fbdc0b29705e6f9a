package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"ocl/checkpoint"
	"ocl/config"
	"ocl/internal/atomicfile"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/run/result"
	"ocl/run/train"
)

// Names in an experiment folder (Options.Out) and in the folder of a run below it.
const (
	ConfigFile    = "experiment.yaml"
	RunConfigFile = train.ConfigFile
	ResultFile    = train.ResultFile
	EventsFile    = train.EventsFile
	CheckpointDir = train.CheckpointDir
	LockFile      = train.LockFile
	// UseFile is locked in the folder of an experiment by all processes that run it. Nothing is removed there meanwhile.
	UseFile = ".use"
)

// report is the lock file of package report, which may exist before the experiment.
const report = ".report.lock"

// SetUp makes Options.Out the folder of the experiment, as Run does first. So a folder that may not be used is reported
// before anything else. Without a folder it does nothing. The folder may be new, or have this experiment, or one whose
// runs are all among ours. Another experiment is refused. With Options.Force, the files that experiments wrote there
// are removed first, and nothing else. The folder is locked meanwhile, so that two processes set it up one after the
// other.
func (x *Experiment) SetUp() error {
	out := x.opts.Out
	if out == "" || x.ready {
		return nil
	}
	if _, err := x.examineFolder(); err != nil {
		return err // without a lock file in a folder that is not ours
	}
	err := inFolder(out, func() error {
		if x.opts.Force {
			users, err := train.LockFolder(out, UseFile, train.Alone)
			if err != nil {
				return err
			}
			defer users.Unlock()
			if err := clearExperiment(out); err != nil {
				return err
			}
		} else if same, err := x.examineFolder(); err != nil || same { // another process may have set it up since
			return err
		}
		return writeConfig(out, x.config)
	})
	x.ready = err == nil
	return err
}

// inFolder makes the folder of an experiment if needed and sets it up, one process after the other. It removes what a
// crash left of a config that was being written.
func inFolder(out string, setUp func() error) error {
	if err := atomicfile.MakeFolder(out); err != nil {
		return fmt.Errorf("experiment: %w. Use --out to choose a folder that can be written", err)
	}
	lock, err := train.LockFolder(out, LockFile, train.InTurn)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if err := atomicfile.RemoveTemporaries(out, ConfigFile); err != nil {
		return fmt.Errorf("experiment: %w. Use --out to choose a folder that can be written", err)
	}
	return setUp()
}

func writeConfig(out string, c config.Config) error {
	text, err := c.YAML()
	if err != nil {
		return err
	}
	if err := atomicfile.WriteBytes(filepath.Join(out, ConfigFile), text); err != nil {
		return fmt.Errorf("experiment: %s cannot be written: %w. Make room on the disk, or choose another --out", out, err)
	}
	return nil
}

// WriteConfig makes out the folder of an experiment that another package runs, such as tune. mayUse checks that the
// folder may be used; it is asked while no other process sets the folder up.
func WriteConfig(out string, c config.Config, mayUse func() error) error {
	return inFolder(out, func() error {
		if err := mayUse(); err != nil {
			return err
		}
		return writeConfig(out, c)
	})
}

// ReadFolder reads the config of the experiment in a folder; nil is a folder that is new, or has only what is left of
// one. Its entries are those of the folder. Errors end with remedy.
func ReadFolder(out, remedy string) (c *config.Config, entries []os.DirEntry, err error) {
	if entries, err = input.ReadDir(out); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("experiment: %w. Choose another --out", err)
	}
	text, err := input.ReadFile(filepath.Join(out, ConfigFile), input.Want{Most: limit.Config})
	switch {
	case errors.Is(err, fs.ErrNotExist) && onlyOurs(entries):
		return nil, entries, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, fmt.Errorf("experiment: %s: the folder has other files and no %s. %s", out, ConfigFile, remedy)
	case err != nil:
		return nil, nil, fmt.Errorf("experiment: %w. Choose another --out", err)
	}
	old, err := Schema().Parse(ConfigFile, text)
	if err == nil {
		err = Schema().Validate(old)
	}
	if err != nil {
		if fault := lacks(out); fault != nil {
			err = fault
		}
		return nil, nil, fmt.Errorf("experiment: %s: its %s cannot be read: %w. %s", out, ConfigFile, err, remedy)
	}
	return &old, entries, nil
}

// examineFolder looks at the folder and changes nothing. same is true if it has this experiment. A folder that the
// experiment may not use is an error.
func (x *Experiment) examineFolder() (same bool, err error) {
	out := x.opts.Out
	if err := x.sparesParent(); err != nil {
		return false, err
	}
	if x.opts.Force {
		return false, nil
	}
	old, entries, err := ReadFolder(out,
		"Choose another --out, or use this folder with --force, which keeps files that are not of an experiment")
	if err != nil || old == nil {
		return false, err
	}
	if err := x.checkStrays(entries); err != nil {
		return false, err
	}
	ours, schema := map[string]bool{}, Schema()
	for _, j := range x.jobs {
		ours[schema.Canonical(j.Config)] = true
	}
	if old.Eval == "" {
		old.Eval = x.config.Eval
	}
	runs := Schema().Runs(*old)
	for _, r := range runs {
		if !ours[schema.Canonical(r)] {
			return false, fmt.Errorf("experiment: %s: the folder has a different experiment: %s. %s", out,
				config.Difference(*old, x.config), x.remedyFor(*old))
		}
	}
	return len(runs) == len(x.jobs) && config.Difference(*old, x.config) == "", nil
}

// remedyFor says what to do about another experiment in the folder.
func (x *Experiment) remedyFor(old config.Config) string {
	longer := x.config
	longer.Methods, longer.Method, longer.Tricks, longer.Memory = old.Methods, old.Method, old.Tricks, old.Memory
	longer.Runs, longer.Seed = old.Runs, old.Seed
	if config.Difference(old, longer) == "" {
		return "To add runs to it, also list the runs that it has (--method, --trick, --runs, --seed), or choose another --out"
	}
	return "Choose another --out, or replace it with --force"
}

// checkStrays refuses a folder with a run that has the config of one of our runs, but was made with other data, another
// numbers version or another engine. The experiment would mix runs that cannot be compared. It also refuses to resume a
// folder that has runs, but none of ours: its config is of another experiment.
func (x *Experiment) checkStrays(entries []os.DirEntry) error {
	keys, byConfig, schema := map[string]bool{}, map[string]Job{}, Schema()
	for _, j := range x.jobs {
		keys[j.Folder] = true
		byConfig[schema.Canonical(j.Config)] = j
	}
	stray, some := "", false
	for _, e := range entries {
		if !e.IsDir() || keys[e.Name()] {
			some = some || e.IsDir()
			continue
		}
		folder := filepath.Join(x.opts.Out, e.Name())
		made, err := train.MadeIn(folder)
		if err != nil {
			continue // it is not ours, or that of a newer ocl
		}
		if j, ours := byConfig[schema.Canonical(made.Config)]; ours {
			if err := train.Accept(j.Identity, made); err != nil {
				return fmt.Errorf("experiment: %s: %w, or replace the experiment with --force", folder, err)
			}
		}
		stray = e.Name()
	}
	if x.opts.resumed && stray != "" && !some {
		return fmt.Errorf("experiment: %s: its %s is of another experiment, because the runs in the folder, such as %s, do not belong to it. Restore the file, or start again in another --out",
			x.opts.Out, ConfigFile, stray)
	}
	return nil
}

// sparesParent refuses a folder that is, or contains, the folder of the parent: the run needs the parent when it is
// resumed.
func (x *Experiment) sparesParent() error {
	if x.parent == nil {
		return nil
	}
	out, err := filepath.Abs(x.opts.Out)
	if err != nil {
		return fmt.Errorf("experiment: %w. Choose another --out", err)
	}
	if below, err := filepath.Rel(out, x.parent.Folder); err == nil && filepath.IsLocal(below) {
		return fmt.Errorf("experiment: %s: the folder has the run that is learned on, %s. Choose another --out", x.opts.Out,
			x.parent.Folder)
	}
	return nil
}

// onlyOurs says whether a folder without config may be used: it has only lock files and a config that a crash left
// half written.
func onlyOurs(entries []os.DirEntry) bool {
	for _, e := range entries {
		if !slices.Contains([]string{LockFile, UseFile, report}, e.Name()) && !atomicfile.IsTemporary(e.Name(), ConfigFile) {
			return false
		}
	}
	return true
}

// clearExperiment removes the files that experiments wrote below out, and their report, but no lock files. It is an
// error, and nothing is removed, if a run there is at work. The config is removed last: until then the folder is known
// as that of an experiment.
func clearExperiment(out string) error {
	entries, err := input.ReadDir(out)
	if err != nil {
		return fmt.Errorf("experiment: %w. Choose another --out", err)
	}
	var folders []string
	for _, e := range entries {
		folder := filepath.Join(out, e.Name())
		if !e.IsDir() || !holdsRun(folder) {
			continue
		}
		lock, err := train.LockFolder(folder, LockFile, train.Alone)
		if err != nil {
			return err
		}
		defer lock.Unlock()
		folders = append(folders, folder)
	}
	for _, folder := range folders {
		if err := clearRun(folder); err != nil {
			return fmt.Errorf("experiment: %s: the experiment cannot be replaced: %w. Remove the folder by hand", folder, err)
		}
	}
	if _, err := os.Stat(filepath.Join(out, ConfigFile)); err != nil {
		return nil // a report there is not of an experiment
	}
	for _, written := range []struct {
		folder   string
		patterns []string
	}{
		{"figures", []string{"*.svg", "*.png", "*.pdf"}}, {"tables", []string{"*.csv", "*.md"}},
		{".", []string{"report.html"}}, {".", []string{ConfigFile}},
	} {
		path := filepath.Join(out, written.folder)
		if err := removeMatching(path, written.patterns); err != nil {
			return fmt.Errorf("experiment: %s: the report cannot be replaced: %w. Remove the folder by hand", path, err)
		}
		if written.folder != "." {
			_ = os.Remove(path) // stays when it holds something that is not ours
		}
	}
	return nil
}

// holdsRun says whether a folder is that of a run.
func holdsRun(folder string) bool {
	text, err := input.ReadFile(filepath.Join(folder, RunConfigFile), input.Want{Most: limit.Config})
	if err == nil {
		_, err = Schema().Parse(RunConfigFile, text)
	} else {
		_, err = result.Read(filepath.Join(folder, ResultFile))
	}
	return err == nil
}

// clearRun removes what a run wrote into its folder, but for the lock, which stays with the folder. The config is
// removed last: until then the folder is known as that of a run.
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
	if err := atomicfile.RemoveTemporaries(folder, train.WrittenWhole...); err != nil {
		return err
	}
	for _, name := range []string{ResultFile, EventsFile, RunConfigFile} {
		if err := os.Remove(filepath.Join(folder, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// removeMatching removes the files of a folder whose names match a pattern; a missing folder holds none.
func removeMatching(folder string, patterns []string) error {
	entries, err := input.ReadDir(folder)
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

// LockRun locks the folder of a run as a run does, and makes it if it is missing. If it is locked already, the error
// wraps [ErrBusy]; another error says that there are no locks, or that the folder cannot be written. The end of the
// process unlocks it too.
func LockRun(folder string) (unlock func(), err error) {
	if err := atomicfile.MakeFolder(folder); err != nil {
		return nil, fmt.Errorf("experiment: %w. Choose a folder that can be written", err)
	}
	lock, err := train.LockFolder(folder, LockFile, train.Alone)
	if err != nil {
		return nil, err
	}
	return lock.Unlock, nil
}
