package result

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"ocl/config"
	"ocl/internal/limit"
)

// EventsFormat and EventsVersion are in the first line of every events.jsonl.
const (
	EventsFormat  = "ocl-events"
	EventsVersion = 1
)

// Values of Event.Event.
const (
	EventRun        = "run"        // the first line: what run it is
	EventTask       = "task"       // a task begins
	EventStep       = "step"       // a learner step was taken
	EventEvaluation = "evaluation" // test sets were evaluated
)

// EventTime is the layout of Event.Time, in UTC.
const EventTime = "2006-01-02T15:04:05.000Z"

// Event is a line of events.jsonl (docs/format/events.md).
type Event struct {
	Time  string `json:"time"`
	Event string `json:"event"`

	Format      string `json:"format,omitempty"`
	Version     int    `json:"version,omitempty"`
	Key         string `json:"key,omitempty"`
	DataDigest  string `json:"data_digest,omitempty"`
	Numbers     int    `json:"numbers,omitempty"`
	Kernel      string `json:"kernel,omitempty"`
	Convolution string `json:"convolution,omitempty"`
	// Registered is that of the result (Provenance.Registered).
	Registered []config.Registered `json:"registered,omitempty"`
	Stream     *Stream             `json:"stream,omitempty"` // that of the result, without names of classes and notes
	Plan       *Plan               `json:"plan,omitempty"`

	Step            int        `json:"step,omitempty"` // learner steps taken
	Task            *int       `json:"task,omitempty"` // counted from 0
	Classes         []int      `json:"classes,omitempty"`
	Train           int        `json:"train,omitempty"`
	Test            int        `json:"test,omitempty"`
	Loss            *float64   `json:"loss,omitempty"`
	RunningAccuracy *float64   `json:"running_accuracy,omitempty"`
	Between         bool       `json:"between,omitempty"` // in the middle of the task
	Accuracy        []*float64 `json:"accuracy,omitempty"`
	Parameters      int        `json:"parameters,omitempty"`
}

// Plan says how much work a run will do, so that others can compute how far it is. Work is counted in floating-point
// operations.
type Plan struct {
	Steps      int     `json:"steps"`       // learner steps in all
	FLOPs      float64 `json:"flops"`       // of the whole run
	StepFLOPs  int64   `json:"step_flops"`  // of a learner step
	ImageFLOPs int64   `json:"image_flops"` // of a prediction
	// between the last step and the evaluation of each task; nil where there is nothing to prepare
	PrepareFLOPs []int64 `json:"prepare_flops,omitempty"`
	BetweenFLOPs []int64 `json:"between_flops,omitempty"` // before each evaluation in the middle of each task
}

// Events reads an events.jsonl, also while it is being written: it ignores a last line without its end. A line that is
// not an event, a first line of another format and a newer version are errors that name the line, and end the reading.
func Events(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		lines := bufio.NewReaderSize(r, 1<<16)
		for n := 1; ; n++ {
			line, err := readLine(lines)
			if errors.Is(err, io.EOF) {
				return
			}
			var e Event
			if err == nil {
				e, err = ParseEvent(line, n == 1)
			}
			if err != nil {
				yield(e, fmt.Errorf("line %d: %w", n, err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// readLine returns the next whole line without its end; io.EOF where there is none.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > limit.EventLine:
			return nil, fmt.Errorf("%w: the line has more than %d bytes", ErrDamaged, limit.EventLine)
		case err == nil:
			return line[:len(line)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// ParseEvent reads a line of an events.jsonl without its end, which must not be longer than [limit.EventLine]. Of the
// first line, format and version are checked too.
func ParseEvent(line []byte, first bool) (Event, error) {
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return e, fmt.Errorf("%w: it is not the JSON object of an event: %s", ErrDamaged, jsonFault(err, len(line)))
	}
	switch {
	case first && e.Format != EventsFormat:
		return e, fmt.Errorf("%w: the format is %s, but must be %q", ErrVersion, cut(e.Format), EventsFormat)
	case first && e.Version > EventsVersion:
		return e, fmt.Errorf("%w: the version is %d, but this program reads %d", ErrNewer, e.Version, EventsVersion)
	case e.Event == "":
		return e, fmt.Errorf("%w: it has no key \"event\"", ErrDamaged)
	}
	return e, nil
}
