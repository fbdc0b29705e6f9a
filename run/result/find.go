package result

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/input"
	"ocl/internal/limit"
)

// Source is a file that should hold a result, and the run folder that it lies in. A file of another name, such as
// results/er-m5000-s1.json.gz, is in no run folder and stands for itself: Folder is then the file.
type Source struct{ Path, Folder string }

// Find lists the results at a path, by name: the file that it is, that of the run folder that it is, or those of the
// run folders and the compressed ones in the folder that it is. pending are the run folders that have begun but hold no
// result. No result at all is an error. Find looks at names only; [Read] reads what it finds.
func Find(path string) (found []Source, pending []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, fmt.Errorf("result: %s: %w. Give the folder of an experiment or a run, such as the --out of \"ocl run\"",
			path, cause.Of(err))
	}
	if !info.IsDir() {
		return []Source{{path, path}}, nil, nil
	}
	if s, ok := inRunFolder(path); ok {
		return []Source{s}, nil, nil
	}
	entries, err := input.ReadDir(path)
	if err != nil {
		return nil, nil, fmt.Errorf("result: %s: %w. Give a folder that can be read", path, cause.Of(err))
	}
	if begun(path) {
		pending = append(pending, path)
	}
	var experiments []string    // folders of folders of runs
	for _, e := range entries { // sorted
		sub := filepath.Join(path, e.Name())
		if s, ok := inRunFolder(sub); ok {
			found = append(found, s)
		} else if strings.HasSuffix(e.Name(), Packed) && !e.IsDir() {
			found = append(found, Source{sub, sub})
		} else if begun(sub) {
			pending = append(pending, sub)
		} else if exists(filepath.Join(sub, "experiment.yaml")) {
			experiments = append(experiments, sub)
		}
	}
	switch {
	case len(found) == 0 && len(experiments) > 0:
		return nil, nil, fmt.Errorf("result: %s: it has no result.json, but its folders are experiments. Give them instead, such as %s",
			path, strings.Join(experiments[:min(3, len(experiments))], " "))
	case len(found) == 0 && len(pending) > 0:
		if len(pending) == 1 && changed(pending[0]) {
			return nil, nil, fmt.Errorf("result: %s: there is no result.json in it, as %s", path, Pending(pending[0]))
		}
		have := "have"
		if len(pending) == 1 {
			have = "has"
		}
		how := fmt.Sprintf(`"ocl run --resume %s"`, path)
		if exists(filepath.Join(path, "study.yaml")) {
			how = fmt.Sprintf(`"ocl sweep join %s"; "ocl sweep status %s" says how far it is`, path, path)
		}
		return nil, nil, fmt.Errorf("result: %s: %s %s begun, but none has a result.json yet. "+
			"Wait until a run has ended, or continue with %s", path, count.Of(len(pending), "run"), have, how)
	case len(found) == 0:
		return nil, nil, fmt.Errorf("result: %s: there is no result.json in it or in its folders. Give the folder of an experiment, of a run or of compressed results; "+
			"\"ocl run --out %s\" makes one", path, path)
	}
	return found, pending, nil
}

// inRunFolder is the result of a run folder, also compressed; ok is false where there is none.
func inRunFolder(folder string) (s Source, ok bool) {
	for _, name := range []string{"result.json", "result" + Packed} {
		if path := filepath.Join(folder, name); exists(path) {
			return Source{path, folder}, true
		}
	}
	return Source{}, false
}

// begun says whether a folder has what a run writes before its result.
func begun(folder string) bool {
	for _, name := range []string{"events.jsonl", "checkpoint"} {
		if exists(filepath.Join(folder, name)) {
			return true
		}
	}
	return false
}

// Pending says of a run folder that has begun and holds no result why it has none, and which commands go on.
func Pending(folder string) string {
	if changed(folder) {
		return fmt.Sprintf("its classes were changed, and nothing was measured since. “ocl eval %s” measures it, and “ocl learn %s” learns on",
			folder, folder)
	}
	return fmt.Sprintf("the run has not ended. “ocl run --resume %s” continues it", folder)
}

// changed says whether a run folder is of a learner whose classes were changed: its first event has no plan, as nothing
// is learned.
func changed(folder string) bool {
	f, _, err := input.Open(filepath.Join(folder, "events.jsonl"), input.Want{Most: limit.Events})
	if err != nil {
		return false
	}
	defer f.Close()
	for e, err := range Events(f) {
		return err == nil && e.Event == EventRun && e.Plan == nil && e.Stream == nil
	}
	return false
}

// exists says whether something is at path; what cannot be looked at counts as there, so that reading it says why not.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}
