package tune

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"ocl/config"
	"ocl/internal/cause"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/run/experiment"
	"ocl/run/result"
)

// RecordFile is the name of a record in the folder of its tuning.
const RecordFile = "tuning.json"

// Format and Version are the first keys of a record.
const (
	Format  = "ocl-tuning"
	Version = 1
)

// Stopped is the outcome of a point that a search has given up. The others are result.Finished and result.Diverged.
const Stopped = "stopped"

// ErrDamaged is wrapped by errors about a record that no ocl writes, ErrNewer by those about one of a newer ocl.
var (
	ErrDamaged = errors.New("damaged")
	ErrNewer   = errors.New("written by a newer ocl")
)

// Record says which points a tuning tried, and which it chose (docs/format/tuning.md). It has no times and no places,
// so the same tuning writes the same bytes.
type Record struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Key is a hash of all that the choice depends on: the config, the data, the engine, the grid, the search and the
	// repetitions.
	Key         string        `json:"key"`
	Grid        GridRecord    `json:"grid"`
	Search      Search        `json:"search"`
	Repeats     int           `json:"repeats"`
	By          string        `json:"by,omitempty"` // the metric that scores trials; "" is the average accuracy
	Chosen      *int          `json:"chosen"`       // index in Points; nil where all diverged
	Points      []Point       `json:"points"`       // in the order in which they come
	Steps       int           `json:"steps"`        // learner steps of all trials
	GridSteps   int           `json:"grid_steps"`
	DataDigest  string        `json:"data_digest"`
	Numbers     int           `json:"numbers"`
	Kernel      string        `json:"kernel"`
	Convolution string        `json:"convolution"`
	Config      config.Config `json:"config"` // before tuning: the keys of the grid have their first values there
}

// GridRecord is a grid with its digest.
type GridRecord struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
	Axes   []Axis `json:"axes"`
}

// Point is one combination of values.
type Point struct {
	Values  []string `json:"values"`  // by axis
	Outcome string   `json:"outcome"` // result.Finished, result.Diverged or Stopped
	// Score is the mean over repetitions of the metric after the two tasks, of its last round; nil where a trial diverged.
	Score  *float64 `json:"score"`
	Trials []Trial  `json:"trials"` // round by round, and repetition by repetition
}

// Trial is one run of a point.
type Trial struct {
	Key      string   `json:"key"`             // of the run
	Share    float64  `json:"share"`           // of the training images
	Repeat   int      `json:"repeat"`          // from 0
	Outcome  string   `json:"outcome"`         // result.Finished or result.Diverged
	Steps    int      `json:"steps"`           // learner steps taken
	Accuracy *float64 `json:"accuracy"`        // average accuracy after the two tasks; nil where it diverged
	Score    *float64 `json:"score,omitempty"` // by the metric of the record, where that has one; nil where it diverged
}

// Setting is a key with the value that was chosen for it.
type Setting struct{ Key, Value string }

// Best are the chosen values; nil where all points diverged.
func (r *Record) Best() []Setting {
	if r.Chosen == nil {
		return nil
	}
	var settings []Setting
	for i, a := range r.Grid.Axes {
		settings = append(settings, Setting{a.Key, r.Points[*r.Chosen].Values[i]})
	}
	return settings
}

// choose finds the chosen point: the finished one with the best score, of equal ones the first.
func (r *Record) choose() {
	r.Chosen = nil
	for i, p := range r.Points {
		if p.Outcome == result.Finished && (r.Chosen == nil || better(r.By, *p.Score, *r.Points[*r.Chosen].Score)) {
			r.Chosen = &i
		}
	}
}

// Encode is the text of a record: indented JSON with a final newline.
func (r *Record) Encode() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("tune: the record cannot be written: %w. Please report this with the config", err)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return nil, fmt.Errorf("tune: the record cannot be written: %w", err)
	}
	return b.Bytes(), nil
}

// write puts a record into its file, whole or not at all.
func (r *Record) write(path string) error {
	text, err := r.Encode()
	if err != nil {
		return err
	}
	return experiment.WriteShared(filepath.Dir(path), filepath.Base(path), text)
}

// Read reads a record strictly: only known keys, each once, and shapes, ranges and choice that fit each other. It never
// panics, whatever the file holds. The error wraps [ErrDamaged], [ErrNewer] or the error of the system.
func Read(path string) (*Record, error) {
	text, err := input.ReadFile(path, input.Want{Most: limit.TuneRecord})
	switch {
	case errors.Is(err, input.ErrSize):
		return nil, fmt.Errorf("tune: %w: %w. %s", ErrDamaged, err, again)
	case err != nil:
		return nil, fmt.Errorf("tune: %w. Give the path of a %s that can be read", err, RecordFile)
	}
	r, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("tune: %s: %w", path, err)
	}
	return r, nil
}

const again = "Remove the file; the same command then writes it again from the trials"

// Parse is [Read] for a text already in memory.
func Parse(text []byte) (*Record, error) {
	damaged := func(format string, a ...any) error {
		return fmt.Errorf("%w: %s. %s", ErrDamaged, fmt.Sprintf(format, a...), again)
	}
	if len(text) > limit.TuneRecord {
		return nil, damaged("it has more than %d bytes", limit.TuneRecord)
	}
	var head struct {
		Format  *string `json:"format"`
		Version *int    `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil || head.Format == nil || *head.Format != Format ||
		head.Version == nil {
		return nil, damaged("it is not a JSON object of format %q with a version", Format)
	}
	if key, twice := input.Twice(text); twice {
		return nil, damaged("the key %.40q is there twice", key)
	}
	if *head.Version > Version {
		return nil, fmt.Errorf("%w (version %d, and this program reads up to %d). Use the newer ocl", ErrNewer, *head.Version,
			Version)
	}
	r := new(Record)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(r)
	switch {
	case errors.Is(err, config.ErrUnknown):
		return nil, fmt.Errorf("%w: its config has a key that this one does not know. Use the newer ocl", ErrNewer)
	case err != nil:
		return nil, damaged("%s", oneLine(err.Error()))
	}
	if err := r.check(); err != nil {
		return nil, damaged("%v", err)
	}
	return r, nil
}

// oneLine is a message without what a terminal must not get.
func oneLine(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == '\ufffd' {
			return '?'
		}
		return c
	}, text)
}

// check says what does not fit in a record.
func (r *Record) check() error {
	g := Grid{Name: r.Grid.Name, Axes: r.Grid.Axes}
	switch {
	case r.Format != Format || r.Version != Version:
		return fmt.Errorf("its format is %s, version %d", cause.Shown(r.Format), r.Version)
	case !isKey(r.Key):
		return errors.New("key does not have 64 hexadecimal digits")
	case len(r.Config.Methods) != 1 || len(r.Config.Tricks) != 1 || r.Config.Runs != 1:
		return errors.New("config is not that of one run")
	case r.DataDigest == "" || r.Kernel == "" || r.Convolution == "" || r.Numbers < 1:
		return errors.New("data_digest, numbers, kernel or convolution has no value")
	case r.Grid.Name == "" || len(r.Grid.Axes) == 0 ||
		!slices.IsSortedFunc(r.Grid.Axes, func(a, b Axis) int { return strings.Compare(a.Key, b.Key) }):
		return errors.New("grid has no name, or no axes in the order of their keys")
	case slices.ContainsFunc(r.Grid.Axes, func(a Axis) bool { return a.Key == "" || len(a.Values) == 0 }):
		return errors.New("an axis of the grid has no key or no values")
	case r.Grid.Digest != g.Digest():
		return errors.New("grid.digest is not that of the axes")
	case r.Repeats < 1:
		return fmt.Errorf("repeats is %d", r.Repeats)
	case r.Steps < 0 || r.GridSteps < 0:
		return errors.New("a number of steps is negative")
	}
	if err := r.Search.check(); err != nil {
		return errors.New("search is not possible")
	}
	want := g.Count()
	if r.Search.Name == config.SearchRandom {
		want = r.Search.Points
	}
	if len(r.Points) != want {
		return fmt.Errorf("there are %d points, but its search has %d", len(r.Points), want)
	}
	by, err := scoredBy(r.By)
	if err != nil || r.By == config.MetricDefault {
		return errors.New("by is no metric, or the one that is meant without it")
	}
	for i, p := range r.Points {
		if err := p.check(len(r.Grid.Axes), r.Repeats, by); err != nil {
			return fmt.Errorf("point %d: %w", i, err)
		}
	}
	chosen := *r
	chosen.choose()
	if (chosen.Chosen == nil) != (r.Chosen == nil) || r.Chosen != nil && *chosen.Chosen != *r.Chosen {
		return errors.New("chosen is not the first finished point with the best score")
	}
	return nil
}

func isKey(text string) bool {
	b, err := hex.DecodeString(text)
	return err == nil && len(b) == 32
}

func (p Point) check(axes, repeats int, by result.Metric) error {
	switch {
	case len(p.Values) != axes:
		return fmt.Errorf("it has %d values, but the grid has %d keys", len(p.Values), axes)
	case !slices.Contains([]string{result.Finished, result.Diverged, Stopped}, p.Outcome):
		return fmt.Errorf("its outcome is %s", cause.Shown(p.Outcome))
	case len(p.Trials) == 0 || len(p.Trials)%repeats != 0:
		return fmt.Errorf("it has %d trials, but repeats is %d", len(p.Trials), repeats)
	}
	for i, t := range p.Trials {
		switch {
		case !isKey(t.Key) || t.Steps < 0 || t.Repeat != i%repeats || !(t.Share > 0 && t.Share <= 1):
			return fmt.Errorf("trial %d has a value out of range", i)
		case t.Outcome != result.Finished && t.Outcome != result.Diverged:
			return fmt.Errorf("the outcome of trial %d is %s", i, cause.Shown(t.Outcome))
		case (t.Accuracy == nil) != (t.Outcome == result.Diverged):
			return fmt.Errorf("accuracy and outcome of trial %d contradict each other", i)
		case t.Accuracy != nil && !(*t.Accuracy >= 0 && *t.Accuracy <= 1):
			return fmt.Errorf("the accuracy of trial %d is not in [0,1]", i)
		case (t.Score != nil) != (t.Accuracy != nil && by.Key != config.MetricDefault):
			return fmt.Errorf("trial %d has a score where the record has no metric, or none where it has one", i)
		case t.Score != nil && !(*t.Score >= by.Least && *t.Score <= 1):
			return fmt.Errorf("the score of trial %d is not in [%g,1]", i, by.Least)
		}
	}
	score := mean(p.Trials[len(p.Trials)-repeats:])
	switch {
	case (score == nil) != (p.Outcome == result.Diverged):
		return errors.New("its outcome does not fit its trials")
	case (score == nil) != (p.Score == nil) || score != nil && !(math.Abs(*score-*p.Score) <= 1e-12):
		return errors.New("its score is not the mean of its last trials")
	}
	return nil
}

// mean is the mean score of trials; nil where one of them diverged.
func mean(trials []Trial) *float64 {
	sum := 0.0
	for _, t := range trials {
		if t.Accuracy == nil {
			return nil
		}
		if t.Score != nil {
			sum += *t.Score
			continue
		}
		sum += *t.Accuracy
	}
	sum /= float64(len(trials))
	return &sum
}
