package identity

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ocl/config"
	"ocl/run/result"
)

// Reasons why a whole result cannot be used, beside [result.ErrEdited].
var (
	// ErrStopped says that its run was interrupted.
	ErrStopped = errors.New("its run was interrupted")
	// ErrOther says that it is of another run.
	ErrOther = errors.New("it is the result of another run")
)

// Want says what a result is wanted for. The zero value is any use of a whole result of ocl.
type Want struct {
	Foreign bool     // one of another program serves too
	Ended   bool     // the run must have finished or diverged
	Keys    []string // it must be of a run with one of these keys; nil is any
	Tuned   bool     // Keys are those of tuned results (Tuning.Key)
}

// Usable reads a result and says whether it is what its run wrote ([Intact]) and what is wanted. If not, the error
// names the file and wraps the reason: [result.ErrForeign], [result.ErrEdited], [ErrStopped], [ErrOther], or one of
// those of [result.Read]. The result of a whole file is returned with the error.
func Usable(catalogue *config.Schema, path string, want Want) (*result.Result, error) {
	read := result.Read
	if want.Foreign {
		read = result.ReadAny
	}
	r, err := read(path)
	if err != nil {
		return nil, err
	}
	if err := want.refuses(catalogue, r); err != nil {
		return r, fmt.Errorf("result: %s: %w", path, err)
	}
	return r, nil
}

// refuses says why a result cannot be used; nil if it can.
func (w Want) refuses(catalogue *config.Schema, r *result.Result) error {
	if w.Ended && r.Outcome.State == result.Interrupted {
		return fmt.Errorf("%w at step %d. Let the run end first (`ocl run --resume`)", ErrStopped, r.Outcome.Step)
	}
	if r.Foreign == nil {
		if err := Intact(catalogue, r); err != nil {
			return fmt.Errorf("%w. %s", err, result.Remedy)
		}
	}
	key := r.Key // "" of a foreign one
	if w.Tuned {
		if key = ""; r.Tuning != nil {
			key = r.Tuning.Key
		}
	}
	if w.Keys != nil && !slices.Contains(w.Keys, key) {
		return fmt.Errorf("%w: it has %s, and %s is wanted", ErrOther, shortKeys(key), shortKeys(w.Keys...))
	}
	return nil
}

// shortKeys is how a message names keys.
func shortKeys(keys ...string) string {
	var short []string
	for _, k := range keys {
		if k != "" {
			short = append(short, fmt.Sprintf("%.8s", k))
		}
	}
	if len(short) == 0 {
		return "no key"
	}
	return "the key " + strings.Join(short, " or ")
}

// Intact says whether a result of ocl is what its run wrote, as far as the file alone shows: its config gives its key,
// and its accuracies give its metrics. The error wraps [result.ErrEdited]; it does not name the file. The key contains
// the defaults of options, which a program that lacks the method, or has another version of it, does not know. There,
// and with a catalogue of nil, the metrics alone are checked.
func Intact(catalogue *config.Schema, r *result.Result) error {
	if catalogue != nil {
		made := r.Provenance.Registered
		switch {
		case !slices.Equal(made, catalogue.Registered(r.Config)) || r.Key == Of(catalogue, r).Key():
		case len(made) > 0:
			return fmt.Errorf("its config does not give the recorded key: the defaults of %s have changed since, or %w",
				made[0].From(), result.ErrEdited)
		default:
			return fmt.Errorf("its config does not give the recorded key; %w", result.ErrEdited)
		}
	}
	return result.CheckMetrics(r)
}

// Reading has the results at some paths.
type Reading struct {
	Used    []result.Source
	Results []*result.Result // of those that are used
	Refused []Refused
	Pending []string // run folders that have begun and hold no result
}

// Refused is a file that cannot be used.
type Refused struct {
	result.Source
	Result *result.Result // nil where the file is not whole
	Why    error          // names the file, see [Usable]
}

// ReadAll reads what [result.Find] finds at paths, each file once, and says of each result whether it is [Usable]. An
// error is about a path with no result, or that of ctx.
func ReadAll(ctx context.Context, catalogue *config.Schema, want Want, paths ...string) (*Reading, error) {
	var all Reading
	seen := map[string]bool{}
	for _, path := range paths {
		found, pending, err := result.Find(path)
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
			if r, err := Usable(catalogue, f.Path, want); err != nil {
				all.Refused = append(all.Refused, Refused{f, r, err})
			} else {
				all.Used, all.Results = append(all.Used, f), append(all.Results, r)
			}
		}
	}
	return &all, nil
}
