package paper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"ocl/internal/count"
	"ocl/internal/input"
	"ocl/run/experiment"
	"ocl/run/identity"
	"ocl/run/result"
	"ocl/view/report"
)

// Run is one result.
type Run struct {
	Path   string
	Seed   uint64
	Result *result.Result // without confusion matrices and accuracies by class, which no table has
	// stored samples after each task that ended, by the task of the run that they came with; nil without a memory
	Held [][]int

	cell          identity.Part // see cellOf
	key, settings string        // the text of cell, and what cellOf says of the settings
}

// LeftOut is a result that was not used, although it was asked for.
type LeftOut struct{ Path, Reason string }

// Study is the results that tables and figures are made of.
type Study struct {
	Runs    []*Run // by path
	LeftOut []LeftOut
	Notes   []string // what a reader should know of the results

	byKey    map[string][]*Run
	confirms bool               // it is the confirmation
	anchors  map[uint64]float64 // accuracies of the anchors in per cent, by seed; nil without
}

// Read reads all results in and below folders, and those in files: result.json, and compressed ones of any name.
// Results of the same run count once.
//
// Results of other programs (ocl report import) are in no table, and a note counts them. Not used are files that cannot
// be read or whose numbers do not fit each other, results of another numbers version than the newest that this program
// has, results of a data set of which the others have other images, and results that would fill a cell if it were not
// for their protocol. The study names them, and the error wraps [report.ErrLeftOut] and is returned beside the study.
// Any other error comes alone: a path that is not there, or no result that can be used.
func Read(ctx context.Context, paths []string) (*Study, error) {
	files, err := find(paths)
	if err != nil {
		return nil, err
	}
	s := &Study{byKey: map[string][]*Run{}}
	runs, faults := make([]*Run, len(files)), make([]error, len(files))
	onAllCores(files, func(i int, file string) {
		if ctx.Err() == nil {
			runs[i], faults[i] = readRun(file)
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var foreign, interrupted []string
	for i, r := range runs {
		switch {
		case errors.Is(faults[i], result.ErrForeign):
			foreign = append(foreign, files[i])
		case faults[i] != nil:
			s.leaveOut(files[i], faults[i].Error())
		case r.Result.Outcome.State == result.Interrupted:
			interrupted = append(interrupted, r.Path)
		default:
			s.Runs = append(s.Runs, r)
		}
	}
	if n := len(interrupted); n > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%s interrupted before the end %s not counted.", count.Of(n, "run"),
			isOrAre(n)))
	}
	if n := len(foreign); n > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%s of other programs (`ocl report import`) %s not counted.",
			count.Of(n, "result"), isOrAre(n)))
	}
	s.oneNumbersVersion()
	s.oneDigest()
	s.otherProtocols()
	for _, r := range s.Runs {
		s.byKey[r.key] = append(s.byKey[r.key], r)
	}
	slices.SortFunc(s.LeftOut, func(a, b LeftOut) int { return strings.Compare(a.Path, b.Path) })
	if n := len(foreign); len(s.Runs) == 0 && len(s.LeftOut) == 0 && n > 0 {
		return nil, fmt.Errorf("report: all results here (%s) are of other programs, and the tables of the survey show only runs of ocl. Give folders of finished runs of ocl",
			count.Of(n, "result"))
	}
	if len(s.Runs) == 0 {
		return nil, fmt.Errorf("report: no result can be used, so nothing is written. Give folders of finished runs%s",
			listed(s.LeftOut, ""))
	}
	if len(s.LeftOut) > 0 {
		return s, fmt.Errorf("report: %w: %d of %s cannot be used%s", report.ErrLeftOut, len(s.LeftOut),
			count.Of(len(files), "result"), listed(s.LeftOut, ", and the page names each"))
	}
	return s, nil
}

// onAllCores calls a function for each value of a list, as many at once as there are cores.
func onAllCores[T any](list []T, do func(i int, v T)) {
	var wait sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, v := range list {
		free <- struct{}{}
		wait.Go(func() {
			do(i, v)
			<-free
		})
	}
	wait.Wait()
}

// mostAlike is how many results that were left out for the same reason have a line each.
const mostAlike = 3

// listed is a line for each result that was left out, or one for many with the same reason; rest says where the others
// are named.
func listed(left []LeftOut, rest string) string {
	alike := map[string]int{}
	for _, l := range left {
		alike[l.Reason]++
	}
	var b strings.Builder
	for _, l := range left {
		n, reason := alike[l.Reason], l.Reason
		if n == 0 { // it is among the many of a line above
			continue
		}
		if !strings.Contains(reason, l.Path) {
			reason = l.Path + ": " + reason
		}
		if n > mostAlike {
			alike[l.Reason] = 0
			reason += fmt.Sprintf(". %d more results are left out for the same reason%s", n-1, rest)
		}
		b.WriteString("\n" + reason)
	}
	return b.String()
}

// find lists the files of results at some paths, each once.
func find(paths []string) ([]string, error) {
	var files []string
	seen := map[string]bool{}
	for _, path := range paths {
		found := false
		err := input.Walk(path, func(name string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			isResult := e.Name() == experiment.ResultFile || strings.HasSuffix(e.Name(), result.Packed)
			if e.IsDir() || !isResult && name != path {
				return nil
			}
			found = true
			key, err := filepath.Abs(name)
			if err == nil && !seen[key] {
				seen[key] = true
				files = append(files, name)
			}
			return err
		})
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("report: %s is not there. Give a folder with results, such as runs", path)
		}
		if err != nil {
			return nil, fmt.Errorf("report: %s: the results cannot be listed: %w. Give a folder that can be read", path, err)
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() && !found {
			return nil, fmt.Errorf("report: %s has no result in it or in a folder below. Give the folder of an experiment, a study or a run",
				path)
		}
	}
	return files, nil
}

// runOf is the run of a result, with where it belongs.
func runOf(path string, r *result.Result) *Run {
	run := &Run{Path: path, Seed: r.Config.Seed, Result: r}
	run.cell, run.settings = cellOf(experiment.IdentityOf(r))
	run.key = run.cell.String()
	return run
}

// readRun reads one result and keeps what tables and figures need of it, as a study may have thousands.
func readRun(path string) (*Run, error) {
	r, err := identity.Usable(experiment.Schema(), path, identity.Want{})
	if err != nil {
		return nil, err
	}
	run := runOf(path, r)
	run.Held = r.Held()
	r.PerClass = nil
	if r.Memory != nil {
		r.Memory.ClassCounts, r.Memory.TaskCounts = nil, nil
	}
	slim(r.ErrorAnalysis)
	for _, c := range r.Classifiers {
		slim(c.ErrorAnalysis)
	}
	return run, nil
}

// tunedText begins the settings of runs that were tuned one by one: each may have its own. What was tuned and how
// follows.
const tunedText = "tuned"

// slim drops the matrices of an error analysis.
func slim(a *result.ErrorAnalysis) {
	if a == nil {
		return
	}
	a.Confusion = nil
	for i := range a.Tasks {
		a.Tasks[i].Confusion, a.Tasks[i].Predictions = nil, nil
	}
}

// Unused are the runs that no cell of a table is made of.
func (s *Study) Unused() []*Run {
	used := map[*Run]bool{}
	for _, label := range tables {
		for _, c := range s.Cells(label) {
			if c.Spec.Method == "" {
				continue
			}
			key, _ := keysOf(c.Spec)
			for _, r := range s.byKey[key] {
				used[r] = used[r] || slices.Contains(c.Runs, r) || c.Settings == r.settings // a repeat
			}
		}
	}
	var rest []*Run
	for _, r := range s.Runs {
		if !used[r] {
			rest = append(rest, r)
		}
	}
	return rest
}
