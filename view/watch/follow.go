package watch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/learn/method"
	"ocl/run/experiment"
	"ocl/run/result"
)

// follow reads the events of a run as they are written.
type follow struct {
	folder string

	file     os.FileInfo // that was read last
	read     int64       // bytes of it that are understood
	line     []byte      // the last of them: a run that continues cuts the file, and writes other lines in their place
	fault    error       // why the rest cannot be read
	first    *result.Event
	made     *result.Result // the config and what follows from it, nil while there is none
	rows     [][]*float64   // accuracy after each task
	between  []result.Evaluation
	seen     *float64 // mean accuracy over the tasks learned
	step     int
	task     int // under way, from 1 in the whole stream; 0 before the first
	images   int // predicted in evaluations
	ends     []int
	betweens []int
	last     time.Time // of the newest event
	marks    []mark
	measured int // evaluations so far: the page changes with it
}

// mark says how much work was done at a time.
type mark struct {
	at   time.Time
	work float64
}

// most bytes that are read at once; the rest is read by the next look.
const mostRead = 64 << 20

// look reads what is new. It says whether anything is.
func (f *follow) look() (news bool) {
	path := filepath.Join(f.folder, experiment.EventsFile)
	file, size, err := input.Open(path, input.Want{Most: limit.Events})
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return false // the run has not written any yet, or is being continued
		}
		f.fault = fmt.Errorf("%w. The page shows what was read before", err)
		return false
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		f.fault = err
		return false
	}
	changed := f.file == nil || size != f.file.Size() || !info.ModTime().Equal(f.file.ModTime())
	if f.file == nil || !os.SameFile(f.file, info) || f.cut(file) || f.fault != nil && changed {
		*f = follow{folder: f.folder, made: f.made}
	}
	f.file = info
	if size == f.read || f.fault != nil {
		return false
	}
	text, err := io.ReadAll(io.NewSectionReader(file, f.read, min(size-f.read, mostRead)))
	if err != nil {
		f.fault = fmt.Errorf("%s: %w. The page shows what was read before", path, err)
		return false
	}
	for {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole && len(line) <= limit.EventLine {
			return news
		}
		var e result.Event
		err := fmt.Errorf("the line has more than %d bytes", limit.EventLine)
		if len(line) <= limit.EventLine {
			e, err = result.ParseEvent(line, f.read == 0)
		}
		if err != nil {
			f.fault = fmt.Errorf("%s: byte %d: %w. The page shows what stands before it", path, f.read, err)
			return news
		}
		f.read += int64(len(line)) + 1
		f.line = append(f.line[:0], line...)
		text, news = rest, true
		f.add(e)
	}
}

// cut says whether the file no longer has the last line that was read where it was. Lines have times, so no other one
// is the same.
func (f *follow) cut(file io.ReaderAt) bool {
	if f.read == 0 {
		return false
	}
	now := make([]byte, len(f.line)+1)
	n, _ := file.ReadAt(now, f.read-int64(len(now)))
	return !bytes.Equal(now[:n], append(f.line, '\n'))
}

// add takes an event.
func (f *follow) add(e result.Event) {
	if at, err := time.Parse(result.EventTime, e.Time); err == nil {
		f.last = at
	}
	task := -1
	if e.Task != nil {
		task = *e.Task
	}
	switch e.Event {
	case result.EventRun:
		f.first = &e
	case result.EventTask:
		f.task = task + 1
		if st := f.stream(); st != nil && task >= 0 && task < len(st.Tasks) && st.Tasks[task].Classes == nil {
			st.Tasks[task].Classes = e.Classes
		}
	case result.EventStep:
		f.step = e.Step
	case result.EventEvaluation:
		f.evaluated(e, task)
	}
	if p := f.plan(); p != nil && !f.last.IsZero() {
		work := f.work()
		if n := len(f.marks); n == 0 || work >= f.marks[n-1].work+p.FLOPs/200 {
			f.marks = append(f.marks, mark{f.last, work})
		}
	}
}

// mostTasks bounds the tasks that the events of a run may name.
const mostTasks = limit.ResultTasks

func (f *follow) evaluated(e result.Event, task int) {
	if task < 0 || task >= mostTasks {
		return
	}
	f.measured++
	sum, n := 0.0, 0
	for j, a := range e.Accuracy {
		if a == nil {
			continue
		}
		if st := f.stream(); st != nil && j < len(st.Tasks) {
			f.images += st.Tasks[j].Test
		}
		if j <= task {
			sum += *a
			n++
		}
	}
	if n > 0 {
		seen := sum / float64(n)
		f.seen = &seen
	}
	if e.Between {
		f.betweens = append(f.betweens, task)
		f.between = append(f.between, result.Evaluation{Step: e.Step, Task: task, Accuracy: e.Accuracy})
		return
	}
	f.ends = append(f.ends, task)
	for len(f.rows) <= task {
		f.rows = append(f.rows, make([]*float64, len(e.Accuracy)))
	}
	f.rows[task] = e.Accuracy
}

func (f *follow) stream() *result.Stream {
	if f.first == nil {
		return nil
	}
	return f.first.Stream
}

func (f *follow) plan() *result.Plan {
	if f.first == nil || f.first.Plan == nil || !(f.first.Plan.FLOPs > 0) {
		return nil
	}
	return f.first.Plan
}

// work is the work that the run has done, in floating-point operations.
func (f *follow) work() float64 { return f.plan().Done(f.step, f.images, f.ends, f.betweens) }

// share is the part of the run's work that is done, in [0,1]; 0 before its plan is known.
func (f *follow) share() float64 {
	p := f.plan()
	if p == nil {
		return 0
	}
	return max(0, min(1, f.work()/p.FLOPs))
}

// left is the time that the rest takes at the speed of the latter half of what is done; 0 where that is not known. A
// run that was stopped for a while and goes on is told the truth as soon as the pause lies in the first half.
func (f *follow) left() time.Duration {
	p := f.plan()
	if p == nil || len(f.marks) < 2 {
		return 0
	}
	end := f.marks[len(f.marks)-1]
	from, _ := slices.BinarySearchFunc(f.marks, end.work/2,
		func(m mark, half float64) int { return int(min(1, max(-1, m.work-half))) })
	from = min(from, len(f.marks)-2)
	spent, done := end.at.Sub(f.marks[from].at), end.work-f.marks[from].work
	if spent <= 0 || done <= 0 {
		return 0
	}
	return time.Duration(float64(spent) * (p.FLOPs - f.work()) / done)
}

// result returns the result of the run as if it ended now, as far as its events tell; nil while they tell too little
// for a report.
func (f *follow) result() *result.Result {
	st := f.stream()
	if st == nil || len(st.Tasks) == 0 {
		return nil
	}
	if f.made == nil {
		text, err := input.ReadFile(filepath.Join(f.folder, experiment.RunConfigFile), input.Want{Most: limit.Config})
		if err != nil {
			return nil
		}
		c, err := experiment.Schema().Parse(experiment.RunConfigFile, text)
		if err != nil || len(c.Methods) != 1 {
			return nil // of a newer ocl, or of one that knows other methods
		}
		r := &result.Result{Format: result.Format, Version: result.Version, Config: c,
			Method: result.Method{Name: c.Methods[0], Title: c.Methods[0]}}
		for _, trick := range c.Tricks {
			if trick != "none" {
				r.Method.Tricks = append(r.Method.Tricks, trick)
			}
		}
		if info, err := method.Lookup(c.Methods[0]); err == nil {
			r.Method.Title, r.Method.Signals, r.Method.Citation = info.Title, info.SignalsWith(r.Method.Tricks), info.Citation
			if info.UsesMemory {
				r.Memory = &result.Memory{Capacity: c.Memory}
			}
		}
		f.made = r
	}
	r, first := *f.made, f.first
	r.Key, r.Stream = first.Key, *st
	r.Provenance = result.Provenance{Numbers: first.Numbers, Kernel: first.Kernel, Convolution: first.Convolution,
		DataDigest: first.DataDigest, Registered: first.Registered,
		Workers: 1, Concurrency: 1}
	// A report takes the matrix as it is: its shape must be that of the stream.
	sets := len(st.Tasks)
	if st.CommonTest {
		sets = 1
	}
	for _, row := range f.rows[:min(len(f.rows), len(st.Tasks))] {
		if len(row) != sets {
			return nil
		}
		r.Accuracy = append(r.Accuracy, row)
	}
	for _, e := range f.between {
		if len(e.Accuracy) == sets && e.Task < len(st.Tasks) {
			r.Evaluations = append(r.Evaluations, e)
		}
	}
	r.Metrics = result.MetricsOf(r.Accuracy, st.CommonTest, r.Evaluations)
	if began, err := time.Parse(result.EventTime, first.Time); err == nil {
		r.Seconds.Train = f.last.Sub(began).Seconds()
	}
	r.Outcome = result.Outcome{State: result.Running, Step: f.step}
	return &r
}
