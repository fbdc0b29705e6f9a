package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"syscall"

	"ocl/experiment/result"
	"ocl/metric"
)

// maxResultBytes bounds what is read of one result.json: a run of 1,000 tasks and 1,000 classes stays below 32 MB.
const maxResultBytes = 64 << 20

// maxTasks and maxClasses bound the shapes that a result may claim, so that a damaged file cannot ask for all memory.
const (
	maxTasks   = 1_000
	maxClasses = 100_000
)

// maxCount bounds what a result may claim to have counted, so that sums do not overflow.
const maxCount = 1_000_000_000

// run is one result and the folder it was read from.
type run struct {
	*result.Result
	folder string // as given by the caller, joined with the run folder's name; "" for results handed over in memory
	config map[string]any
	seed   uint64
	memory int // capacity in samples; -1 for a method without memory
	matrix metric.Matrix

	classifier string // whose predictions accuracy and metrics are of
	beside     bool   // measured beside the run's first classifier: the run itself is another one here
}

// parse reads one result from r. name stands for the file in errors. It never panics, whatever the bytes are.
func parse(name string, r io.Reader) (*result.Result, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxResultBytes+1))
	if err != nil {
		return nil, fmt.Errorf("report: %s: %w; want a readable result.json", name, err)
	}
	if len(b) > maxResultBytes {
		return nil, fmt.Errorf("report: %s: more than %d bytes; want one result of a run; the file is not one of ours", name, maxResultBytes)
	}
	// The head is read alone first: a later version may change the type of any other field.
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("report: %s: %s; want a JSON object of format %q; the file is damaged: repeat the run, or leave this folder out",
			name, jsonFault(err, len(b)), result.Format)
	}
	if head.Format != result.Format {
		return nil, fmt.Errorf("report: %s: format is %q, want %q; give folders that \"ocl run\" wrote", name, head.Format, result.Format)
	}
	if head.Version != result.Version {
		return nil, fmt.Errorf("report: %s: version is %d, want %d; read it with the ocl that wrote it, or repeat the run", name, head.Version, result.Version)
	}
	res := new(result.Result)
	if err := json.Unmarshal(b, res); err != nil {
		return nil, fmt.Errorf("report: %s: %s; want the fields of docs/format/result.md; the file is damaged: repeat the run, or leave this folder out",
			name, jsonFault(err, len(b)))
	}
	if err := check(res); err != nil {
		return nil, fmt.Errorf("report: %s: %w; the file is damaged: repeat the run, or leave this folder out", name, err)
	}
	return res, nil
}

// jsonFault says what encoding/json found, and where.
func jsonFault(err error, size int) string {
	var syn *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case size == 0:
		return "the file is empty"
	case errors.As(err, &syn):
		return fmt.Sprintf("no JSON at byte %d of %d (%v)", syn.Offset, size, syn)
	case errors.As(err, &typ):
		return fmt.Sprintf("field %q holds a %s at byte %d, want %s", typ.Field, typ.Value, typ.Offset, kindText(typ.Type))
	}
	return err.Error()
}

// kindText says in words what JSON of a Go type is.
func kindText(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Int, reflect.Uint64:
		return "a whole number"
	}
	return "a number"
}

// check holds the shapes against each other, so that nothing later needs to.
func check(r *result.Result) error {
	tasks, classes := len(r.Stream.Tasks), r.Stream.Classes
	if r.Method.Name == "" {
		return errors.New("method.name is empty; want a name of the catalogue")
	}
	if tasks > maxTasks {
		return fmt.Errorf("stream.tasks has %d tasks; want at most %d", tasks, maxTasks)
	}
	if classes < 0 || classes > maxClasses {
		return fmt.Errorf("stream.classes is %d; want 0 to %d", classes, maxClasses)
	}
	for i, t := range r.Stream.Tasks {
		if t.Index < 0 || t.Index >= maxTasks {
			return fmt.Errorf("stream.tasks[%d].index is %d; want 0 to %d", i, t.Index, maxTasks-1)
		}
		for _, c := range t.Classes {
			if c < 0 || c >= classes {
				return fmt.Errorf("stream.tasks[%d] has class %d; want 0 to %d", i, c, classes-1)
			}
		}
	}
	if n := len(r.Stream.ClassNames); n > classes {
		return fmt.Errorf("stream.class_names has %d names; want at most %d", n, classes)
	}
	if err := checkMatrix("accuracy", r.Accuracy, tasks, tasks); err != nil {
		return err
	}
	if err := checkMatrix("accuracy_per_class", r.PerClass, tasks, classes); err != nil {
		return err
	}
	if err := checkMetrics("metrics", r.Metrics); err != nil {
		return err
	}
	if err := checkClassifiers(r.Classifiers, tasks, classes); err != nil {
		return err
	}
	if err := checkErrors("error_analysis", r.ErrorAnalysis, tasks, classes); err != nil {
		return err
	}
	if m := r.Memory; m != nil {
		if m.Capacity < 0 {
			return fmt.Errorf("memory.capacity is %d; want 0 or more", m.Capacity)
		}
		if len(m.ClassCounts) > tasks {
			return fmt.Errorf("memory.class_counts has %d rows; want at most %d, one a task", len(m.ClassCounts), tasks)
		}
		for i, counts := range m.ClassCounts {
			for c, n := range counts {
				if c < 0 || c >= classes || n < 0 {
					return fmt.Errorf("memory.class_counts[%d] says %d samples of class %d; want 0 or more of classes 0 to %d", i, n, c, classes-1)
				}
			}
		}
	}
	for _, s := range []struct {
		name string
		v    float64
	}{{"train", r.Seconds.Train}, {"prepare", r.Seconds.Prepare}, {"test", r.Seconds.Test}} {
		if !(s.v >= 0 && s.v < 1e9) {
			return fmt.Errorf("seconds.%s is %g; want 0 or more", s.name, s.v)
		}
	}
	switch r.Outcome.State {
	case result.Finished, result.Interrupted, result.Diverged:
	default:
		return fmt.Errorf("outcome.state is %q; want %s, %s or %s", r.Outcome.State, result.Finished, result.Interrupted, result.Diverged)
	}
	return nil
}

// checkMatrix holds a matrix of fractions to at most rows × cols.
func checkMatrix(name string, m [][]*float64, rows, cols int) error {
	return checkEach(name, m, rows, cols, func(v *float64) string {
		if v != nil && !(*v >= 0 && *v <= 1) {
			return fmt.Sprintf("is %g; want a fraction in [0,1]", *v)
		}
		return ""
	})
}

// checkMetrics holds metrics to their ranges (docs/format/result.md).
func checkMetrics(name string, m result.Metrics) error {
	for _, s := range []struct {
		name  string
		v     *float64
		least float64
	}{
		{"average_accuracy", m.AverageAccuracy, 0}, {"average_forgetting", m.AverageForgetting, -1}, {"forgetting_all_tasks", m.ForgettingAllTasks, 0},
		{"bwt_plus", m.BWTPlus, 0}, {"fwt", m.FWT, 0}, {"learning_accuracy", m.LearningAccuracy, 0},
		{"average_incremental_accuracy", m.AverageIncrementalAccuracy, 0},
	} {
		if s.v != nil && !(*s.v >= s.least && *s.v <= 1) {
			return fmt.Errorf("%s.%s is %g; want a fraction in [%g,1]", name, s.name, *s.v, s.least)
		}
	}
	return nil
}

// checkEach holds a matrix to at most rows × cols and each value to what fault says of it, nothing if it is right.
func checkEach[T any](name string, m [][]T, rows, cols int, fault func(T) string) error {
	if len(m) > rows {
		return fmt.Errorf("%s has %d rows; want at most %d", name, len(m), rows)
	}
	for i, row := range m {
		if len(row) > cols {
			return fmt.Errorf("%s[%d] has %d values; want at most %d", name, i, len(row), cols)
		}
		for j, v := range row {
			if f := fault(v); f != "" {
				return fmt.Errorf("%s[%d][%d] %s", name, i, j, f)
			}
		}
	}
	return nil
}

// open reads the result.json of one run folder.
func open(folder string) (*run, error) {
	path := filepath.Join(folder, "result.json")
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("report: %s: %w; want a readable result.json", path, cause(err))
	}
	defer f.Close()
	res, err := parse(path, f)
	if err != nil {
		return nil, err
	}
	return newRun(res, folder), nil
}

// newRun fills in what the report derives from a result's config.
func newRun(res *result.Result, folder string) *run {
	r := &run{Result: res, folder: folder, memory: -1}
	// A config that is no object has no keys; the result still counts.
	_ = json.Unmarshal(res.Config, &r.config)
	if v, ok := r.config["seed"].(float64); ok && v >= 0 && v < 1<<63 {
		r.seed = uint64(v)
		// float64 holds seeds below 2^53 only; the number's own text holds them all.
		var exact struct{ Seed uint64 }
		if json.Unmarshal(res.Config, &exact) == nil {
			r.seed = exact.Seed
		}
	}
	if res.Memory != nil {
		r.memory = res.Memory.Capacity
	}
	r.classifier = primary(r.config)
	r.matrix = r.fullMatrix()
	return r
}

// readAll reads every run below the given folders, each an experiment folder or a run folder. A run that two folders
// name is read once. notes say which run folders hold no result yet.
func readAll(dirs []string) (runs []*run, notes []string, err error) {
	if len(dirs) == 0 {
		return nil, nil, errors.New("report: no folder given; want an experiment folder or a run folder; run \"ocl report DIR\"")
	}
	seen := map[string]bool{}
	add := func(folder string) error {
		key, err := filepath.Abs(folder)
		if err != nil {
			key = folder
		}
		if seen[key] {
			return nil
		}
		seen[key] = true
		r, err := open(folder)
		if err == nil {
			runs = append(runs, r)
		}
		return err
	}
	for _, dir := range dirs {
		folders, pending, err := runFolders(dir)
		if err != nil {
			return nil, nil, err
		}
		for _, f := range folders {
			if err := add(f); err != nil {
				return nil, nil, err
			}
		}
		for _, f := range pending {
			notes = append(notes, fmt.Sprintf("%s has no result.json yet: not run to its end; “ocl run --resume %s” continues it.", f, f))
		}
	}
	return runs, notes, nil
}

// runFolders lists the run folders of dir (dir itself, or those in it) and those that have begun but hold no result.
func runFolders(dir string) (folders, pending []string, err error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("report: %s: %w; want an experiment folder or a run folder, such as the --out of \"ocl run\"; check the path", dir, cause(err))
	}
	if !info.IsDir() {
		return nil, nil, fmt.Errorf("report: %s: is a file; want an experiment folder or a run folder; give the folder it lies in", dir)
	}
	if exists(filepath.Join(dir, "result.json")) {
		return []string{dir}, nil, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("report: %s: %w; want a folder that can be listed", dir, cause(err))
	}
	for _, e := range entries {
		sub := filepath.Join(dir, e.Name())
		switch {
		case exists(filepath.Join(sub, "result.json")):
			folders = append(folders, sub)
		case exists(filepath.Join(sub, "steps.csv")) || exists(filepath.Join(sub, "checkpoint")):
			pending = append(pending, sub)
		}
	}
	switch {
	case len(folders) == 0 && len(pending) > 0:
		return nil, nil, fmt.Errorf("report: %s: %s begun, none with a result.json yet; want one that ended or was stopped; "+
			"wait for one that is at work, or continue with \"ocl run --resume %s\"", dir, count(len(pending), "run"), dir)
	case len(folders) == 0:
		return nil, nil, fmt.Errorf("report: %s: no result.json in it or in the folders in it; want an experiment folder or a run folder; "+
			"write one with \"ocl run --out %s\"", dir, dir)
	}
	sort.Strings(folders)
	return folders, pending, nil
}

// exists says whether something is at path; what cannot be looked at counts as there, so that reading it says why not.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

// checkErrors holds an error analysis to its shape.
func checkErrors(name string, a *result.ErrorAnalysis, tasks, classes int) error {
	if a == nil {
		return nil
	}
	if len(a.Tasks) > tasks {
		return fmt.Errorf("%s.tasks has %d entries; want at most %d, one a task", name, len(a.Tasks), tasks)
	}
	for i, t := range a.Tasks {
		at := fmt.Sprintf("%s.tasks[%d]", name, i)
		if t.Task < 0 || t.Task >= tasks || i > 0 && t.Task <= a.Tasks[i-1].Task {
			return fmt.Errorf("%s.task is %d; want tasks below %d, rising", at, t.Task, tasks)
		}
		if err := checkCounts(at+".confusion", t.Confusion, t.Task+1, t.Task+2); err != nil {
			return err
		}
		if err := checkCounts(at+".predictions", [][]int{t.Predictions}, 1, t.Task+2); err != nil {
			return err
		}
		for _, s := range errorShares {
			if v := s.of(&t); v != nil && !(*v >= 0 && *v <= 1) {
				return fmt.Errorf("%s.%s is %g; want a fraction in [0,1]", at, s.name, *v)
			}
		}
		for _, s := range errorCounts {
			if v := s.of(&t); v < 0 {
				return fmt.Errorf("%s: %s is %d; want 0 or more", at, s.name, v)
			}
		}
	}
	return checkCounts(name+".confusion", a.Confusion, classes, classes)
}

// checkCounts holds a matrix of counts to at most rows × cols.
func checkCounts(name string, m [][]int, rows, cols int) error {
	return checkEach(name, m, rows, cols, func(n int) string {
		if n < 0 || n > maxCount {
			return fmt.Sprintf("is %d; want a count of samples", n)
		}
		return ""
	})
}
