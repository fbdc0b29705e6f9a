package result

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// Reasons why a whole result cannot be used.
var (
	// ErrEdited says that it is not what its run wrote.
	ErrEdited = errors.New("somebody has changed it")
	// ErrStopped says that its run was interrupted.
	ErrStopped = errors.New("its run was interrupted")
	// ErrOther says that it is of another run.
	ErrOther = errors.New("it is the result of another run")
)

// Want says what a result is wanted for. The zero value is any use of a whole result of ocl, as its run wrote it.
type Want struct {
	Foreign bool     // one of another program serves too
	Ended   bool     // the run must have finished or diverged
	Keys    []string // it must be of a run with one of these keys; nil is any
	Tuned   bool     // Keys are those of tuned results (Tuning.Key)
	// Made says whether the config gives the key; nil does not ask. Package experiment knows it.
	Made func(*Result) error
}

// Usable reads a result and says whether it can be used. If not, the error names the file and wraps the reason:
// [ErrForeign], [ErrEdited], [ErrStopped], [ErrOther], or one of those of [Read]. The result of a whole file is
// returned with the error.
func Usable(path string, want Want) (*Result, error) {
	read := Read
	if want.Foreign {
		read = ReadAny
	}
	r, err := read(path)
	if err != nil {
		return nil, err
	}
	if err := want.refuses(r); err != nil {
		return r, fmt.Errorf("result: %s: %w", path, err)
	}
	return r, nil
}

// refuses says why a result cannot be used; nil if it can.
func (w Want) refuses(r *Result) error {
	if r.Foreign != nil {
		return nil
	}
	if w.Ended && r.Outcome.State == Interrupted {
		return fmt.Errorf("%w at step %d. Let the run end first (`ocl run --resume`)", ErrStopped, r.Outcome.Step)
	}
	err := CheckMetrics(r)
	if err == nil && w.Made != nil {
		err = w.Made(r)
	}
	if err != nil {
		return fmt.Errorf("%w. %s", err, Remedy)
	}
	key := r.Key
	if w.Tuned {
		if key = ""; r.Tuning != nil {
			key = r.Tuning.Key
		}
	}
	if w.Keys != nil && !slices.Contains(w.Keys, key) {
		return fmt.Errorf("%w: it has the key %.8s, and %.8s is wanted", ErrOther, key, w.Keys[0])
	}
	return nil
}

// Reading has the results at some paths.
type Reading struct {
	Used    []Source
	Results []*Result // of those that are used
	Refused []Refused
	Pending []string // run folders that have begun and hold no result
}

// Refused is a file that cannot be used.
type Refused struct {
	Source
	Result *Result // nil where the file is not whole
	Why    error   // names the file, see [Usable]
}

// ReadAll reads what [Find] finds at paths, each file once, and says of each result whether it can be used. An error is
// about a path with no result, or that of ctx.
func ReadAll(ctx context.Context, want Want, paths ...string) (*Reading, error) {
	var all Reading
	seen := map[string]bool{}
	for _, path := range paths {
		found, pending, err := Find(path)
		if err != nil {
			return nil, err
		}
		all.Pending = append(all.Pending, pending...)
		for _, f := range found {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			whole, err := filepath.Abs(f.Path)
			if err != nil {
				whole = f.Path
			}
			if seen[whole] {
				continue
			}
			seen[whole] = true
			if r, err := Usable(f.Path, want); err != nil {
				all.Refused = append(all.Refused, Refused{f, r, err})
			} else {
				all.Used, all.Results = append(all.Used, f), append(all.Results, r)
			}
		}
	}
	return &all, nil
}

// CheckMetrics says whether the metrics of a result follow from its accuracies. The error wraps [ErrEdited]; it does
// not name the file.
func CheckMetrics(r *Result) error {
	check := func(at string, has, follows Metrics) error {
		for _, m := range AllMetrics() {
			if a, b := m.Of(has), m.Of(follows); (a == nil) != (b == nil) || a != nil && *a != *b {
				return fmt.Errorf("its %s.%s does not follow from its accuracies: it is %s, but they give %s; %w", at, m.Key,
					optional(a), optional(b), ErrEdited)
			}
		}
		return nil
	}
	if err := check("metrics", r.Metrics, MetricsOf(r.Accuracy, r.Stream.CommonTest, r.Evaluations)); err != nil {
		return err
	}
	for _, name := range r.Config.Classifiers {
		if c, there := r.Classifiers[name]; there {
			if err := check("classifiers."+name+".metrics", c.Metrics,
				MetricsOf(c.Accuracy, r.Stream.CommonTest, nil)); err != nil {
				return err
			}
		}
	}
	return nil
}

// optional is a number that may not be there, for a message.
func optional(v *float64) string {
	if v == nil {
		return "missing"
	}
	return fmt.Sprint(*v)
}
