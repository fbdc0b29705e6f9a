package train

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"ocl"
	"ocl/internal/input"
	"ocl/run/result"
)

// flushAfter is the longest time that the line of a step stays in the buffer, where no reader sees it.
const flushAfter = time.Second

// journal writes the events.jsonl of a run (docs/format/events.md). A checkpoint saves its length, and a resumed run
// removes what was written later. The nil journal writes nothing.
type journal struct {
	file    *os.File
	buf     *bufio.Writer
	length  int64
	flushed time.Time
}

// openJournal cuts the file to the first length bytes that there are; 0 starts a new file. found is false if the
// file is shorter, so that earlier events are missing. A new file begins with the event first.
func openJournal(path string, length int64, first result.Event) (j *journal, found bool, err error) {
	f, err := input.OpenToWrite(path)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	}
	if err != nil {
		return nil, false, err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if found = size >= length; !found {
		length = 0
	}
	if err == nil {
		err = f.Truncate(length)
	}
	if err == nil {
		_, err = f.Seek(length, io.SeekStart)
	}
	if err != nil {
		return nil, false, errors.Join(err, f.Close())
	}
	j = &journal{file: f, buf: bufio.NewWriter(f), length: length}
	if length == 0 {
		err = j.add(first)
	}
	return j, found, err
}

// mostListed bounds the classes of tasks that the first line names, so that the line is not longer than readers accept
// (limit.EventLine).
const mostListed = 100_000

// firstEvent says what run it is, and what it is going to do.
func (r *run) firstEvent() result.Event {
	id := r.Job.Identity
	st := r.streamResult()
	st.ClassNames, st.Notes = nil, nil
	if len(st.Order()) > mostListed {
		for i := range st.Tasks {
			st.Tasks[i].Classes = nil
		}
	}
	plan := r.Plan.Brief()
	return result.Event{Event: result.EventRun, Format: result.EventsFormat, Version: result.EventsVersion,
		Key: r.Job.Key, DataDigest: id.Data, Numbers: id.Numbers, Kernel: id.Kernel, Convolution: id.Convolution,
		Registered: id.Registered, Stream: &st, Plan: &plan}
}

// orNone is nil for a list of zeros.
func orNone(list []int64) []int64 {
	if slices.ContainsFunc(list, func(v int64) bool { return v != 0 }) {
		return list
	}
	return nil
}

// add writes an event with the time. Others can read it at once, or a step after a second.
func (j *journal) add(e result.Event) error {
	if j == nil {
		return nil
	}
	e.Time = time.Now().UTC().Format(result.EventTime)
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("%s: %w", j.file.Name(), err)
	}
	n, err := j.buf.Write(append(text, '\n'))
	j.length += int64(n)
	if err == nil && (e.Event != result.EventStep || time.Since(j.flushed) >= flushAfter) {
		return j.flush()
	}
	return j.named(err)
}

// step writes an event of a learner step: the 1-based step, the 0-based task, the loss, and the share of the incoming
// samples of the task so far that were classified correctly before they were learned.
func (j *journal) step(at Position, s ocl.StepStats) error {
	if j == nil {
		return nil
	}
	e := result.Event{Event: result.EventStep, Step: at.Step, Task: &at.Task}
	if !math.IsNaN(s.Loss) && !math.IsInf(s.Loss, 0) {
		e.Loss = rounded(s.Loss, 'g', 6)
	}
	if at.Samples > 0 {
		e.RunningAccuracy = rounded(float64(at.Correct)/float64(at.Samples), 'f', 4)
	}
	return j.add(e)
}

// rounded is v with so many digits, which keeps the file short.
func rounded(v float64, format byte, digits int) *float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, format, digits, 64), 64)
	return &v
}

// task writes that a task begins.
func (j *journal) task(t ocl.TaskInfo, step int) error {
	e := result.Event{Event: result.EventTask, Step: step, Task: &t.Index, Train: t.Train, Test: t.Test}
	for _, k := range t.Classes {
		e.Classes = append(e.Classes, int(k))
	}
	return j.add(e)
}

// evaluation writes what an evaluation found.
func (j *journal) evaluation(e Evaluated, parameters int) error {
	return j.add(result.Event{Event: result.EventEvaluation, Step: e.Step, Task: &e.Task, Between: e.MidTask,
		Accuracy: e.Accuracy, Parameters: parameters})
}

// flush lets other processes read what was written.
func (j *journal) flush() error {
	if j == nil {
		return nil
	}
	j.flushed = time.Now()
	return j.named(j.buf.Flush())
}

// sync makes what was flushed safe on the disk. Another goroutine may call it.
func (j *journal) sync() error { return j.named(j.file.Sync()) }

func (j *journal) close() error {
	if j == nil {
		return nil
	}
	return j.named(errors.Join(j.buf.Flush(), j.file.Close()))
}

// named is an error of the file with its name and what to do.
func (j *journal) named(err error) error {
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w. %s", j.file.Name(), err, makeRoom)
	}
	return nil
}

// makeRoom is the end of messages about a file of a run that cannot be written.
const makeRoom = "Make room on the disk, then give the same command again"
