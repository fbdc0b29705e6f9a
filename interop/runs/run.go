// Package runs writes what finished runs measured for other programs: a table of all numbers in long format, and files
// for TensorBoard. It reads the files of runs through package result and needs neither the data nor the engine. Start
// at [CSVOf] and [Tensorboard], or at [Open] and [Run.Each] for the numbers themselves.
package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"strings"
	"time"

	"ocl/config"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/run/result"
)

// Run is a run whose result is there.
type Run struct {
	Name   string // of its folder; of its file, where it is in no run folder
	Result *result.Result

	journal string         // the path of events.jsonl, which may not exist
	after   map[int]moment // by task, when its last step or its evaluation was
	between map[int]moment // by step, when the evaluations in the middle of tasks were
	started time.Time
	ended   moment
}

// moment is a time of a run, and the number of steps taken by then.
type moment struct {
	step int
	at   time.Time
}

// Open reads the result of a run, and when things happened, from the events beside it. A run without events, such as a
// committed result, has no steps, and all it measured is dated to its end. Times are zero where the files have none.
func Open(s result.Source) (*Run, error) {
	res, err := result.Read(s.Path)
	if err != nil {
		return nil, err
	}
	r := &Run{Result: res, after: map[int]moment{}, between: map[int]moment{}}
	folder := s.Folder
	if name := filepath.Base(s.Path); name == "result.json" || name == "result"+result.Packed {
		folder = filepath.Dir(s.Path)
		r.journal = filepath.Join(folder, "events.jsonl")
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return nil, fmt.Errorf("export: %s: %w. Give its whole path", s.Path, err)
	}
	r.Name = strings.TrimSuffix(filepath.Base(folder), result.Packed)
	// A time that is missing or cannot be read is the zero time.
	r.started, _ = time.Parse(time.RFC3339, res.Provenance.Started)
	r.ended.at, _ = time.Parse(time.RFC3339, res.Provenance.Ended)
	r.ended.step = res.Outcome.Step
	for e, err := range r.events() {
		if err != nil {
			return nil, err
		}
		switch m := (moment{e.Step, e.at}); {
		case e.Event.Event == result.EventEvaluation && e.Between:
			r.between[e.Step] = m
		case e.Task != nil && (e.Event.Event == result.EventStep || e.Event.Event == result.EventEvaluation):
			r.after[*e.Task] = m
		}
	}
	return r, nil
}

// event is a line of the journal, with its time.
type event struct {
	result.Event
	at time.Time
}

// events reads the journal of the run; without one there are none.
func (r *Run) events() iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		if r.journal == "" {
			return
		}
		f, _, err := input.Open(r.journal, input.Want{Most: limit.Events})
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(event{}, fmt.Errorf("export: %w. Move the file away to export the result alone", err))
			return
		}
		defer f.Close()
		n := 0
		for e, err := range result.Events(f) {
			n++
			var at time.Time
			if err == nil {
				at, err = r.accept(e)
				if err != nil {
					err = fmt.Errorf("line %d: %w", n, err)
				}
			}
			if err != nil {
				yield(event{}, fmt.Errorf("export: %s: %w. Move the file away to export the result alone", r.journal, err))
				return
			}
			if !yield(event{e, at}, nil) {
				return
			}
		}
	}
}

// accept refuses a line of another run, and one without a time.
func (r *Run) accept(e result.Event) (time.Time, error) {
	if e.Event == result.EventRun && e.Key != "" && r.Result.Key != "" && e.Key != r.Result.Key {
		return time.Time{}, fmt.Errorf("%w: it is of the run %.8q, but the result beside it is of %.8q", result.ErrDamaged,
			e.Key, r.Result.Key)
	}
	at, err := time.Parse(result.EventTime, e.Time)
	if err != nil {
		return at, fmt.Errorf("%w: the time is %.40q, but must be one such as %s", result.ErrDamaged, e.Time,
			result.EventTime)
	}
	return at, nil
}

// afterTask returns the moment of the measurements after a task. Without events it is the end of the run, and the step
// is unknown.
func (r *Run) afterTask(task int) moment {
	if m, ok := r.after[task]; ok {
		return m
	}
	return moment{None, r.ended.at}
}

// inTask returns the moment of the evaluation in the middle of a task that came after the given number of steps.
func (r *Run) inTask(step int) moment {
	if m, ok := r.between[step]; ok {
		return m
	}
	return moment{step, r.ended.at}
}

// classifier returns the name of the classifier that gave the run's accuracy and metrics.
func (r *Run) classifier() string {
	if list := r.Result.Config.Classifiers; len(list) > 0 && list[0] != "" {
		return list[0]
	}
	return config.ClassifierHead
}
