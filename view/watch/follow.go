package watch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/learn/method"
	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/run/train"
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
	run      progress.Run
	last     time.Time // of the newest event
	measured int       // evaluations so far: the page changes with it
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
	if e.Task != nil && *e.Task < limit.ResultTasks {
		task = *e.Task
	}
	st := f.stream()
	switch {
	case e.Event == result.EventRun:
		f.begin(e)
	case e.Event == result.EventTask && task >= 0:
		f.run.TaskBegin(f.last, task)
		if st != nil && task < len(st.Tasks) && st.Tasks[task].Classes == nil {
			st.Tasks[task].Classes = e.Classes
		}
	case e.Event == result.EventStep:
		f.run.Step(f.last, e.Step, nil)
	case e.Event == result.EventEvaluation && task >= 0:
		f.measured++
		f.run.Evaluated(f.last, train.Evaluated{Task: task, Step: e.Step, MidTask: e.Between, Accuracy: e.Accuracy})
		if e.Between {
			f.between = append(f.between, result.Evaluation{Step: e.Step, Task: task, Accuracy: e.Accuracy})
			return
		}
		for len(f.rows) <= task {
			f.rows = append(f.rows, make([]*float64, len(e.Accuracy)))
		}
		f.rows[task] = e.Accuracy
	}
}

// begin takes the first event.
func (f *follow) begin(e result.Event) {
	f.first = &e
	var plan result.Plan
	if e.Plan != nil && e.Plan.FLOPs > 0 {
		plan = *e.Plan
	}
	var tasks []progress.Task
	if e.Stream != nil {
		for _, t := range e.Stream.Tasks {
			tasks = append(tasks, progress.Task{Number: t.Index + 1, Name: t.Name, Test: t.Test})
		}
	}
	f.run.Begin(f.last, plan, tasks, 0, 0)
}

func (f *follow) stream() *result.Stream {
	if f.first == nil {
		return nil
	}
	return f.first.Stream
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
	r.Outcome = result.Outcome{State: result.Running, Step: f.run.Progress.Step}
	return &r
}
