package experiment

import (
	"encoding/json"
	"fmt"
	"math"

	"ocl/checkpoint"
	"ocl/experiment/result"
	"ocl/metric"
)

// phase says how far a run is within its current task.
type phase int

const (
	learning phase = iota // batches are left
	learned               // all batches observed, EndTask pending
	ended                 // EndTask done, Prepare and evaluation pending
	prepared              // evaluation pending
)

// progress is what a run keeps besides its learner; all of it is in a checkpoint.
type progress struct {
	task, batch int // the next batch
	phase       phase
	step        int // learner steps taken
	taskCorrect int // of the current task's incoming samples, predicted before they were learned
	taskSamples int
	measured    []measured    // of each classifier
	counts      []map[int]int // memory content after each task that ended
	seconds     result.Seconds
	peak        int64 // bytes
}

// measured is what the evaluations found of one classifier.
type measured struct {
	accuracy [][]float64 // [T][T], NaN where not evaluated
	perClass [][]float64 // [T][K], NaN where not evaluated

	errors    []result.TaskErrors // after each task that was evaluated; empty without error analysis
	confusion metric.Confusion    // after the last of them
}

func newProgress(classifiers, tasks, classes int) progress {
	p := progress{measured: make([]measured, classifiers)}
	for i := range p.measured {
		p.measured[i] = measured{accuracy: unmeasured(tasks, tasks), perClass: unmeasured(tasks, classes)}
	}
	return p
}

func unmeasured(rows, cols int) [][]float64 {
	m := make([][]float64, rows)
	for i := range m {
		m[i] = make([]float64, cols)
		for j := range m[i] {
			m[i][j] = math.NaN()
		}
	}
	return m
}

func (p *progress) save(e *checkpoint.Encoder) error {
	e.Int64s("position", int64(p.task), int64(p.batch), int64(p.phase), int64(p.step),
		int64(p.taskCorrect), int64(p.taskSamples), p.peak)
	if err := p.measured[0].save(e); err != nil {
		return err
	}
	for i := range p.measured[1:] {
		if err := p.measured[i+1].save(e.Sub(fmt.Sprintf("classifiers/%d", i+1))); err != nil {
			return err
		}
	}
	e.Float64s("seconds", []float64{p.seconds.Train, p.seconds.Prepare, p.seconds.Test})
	counts, err := json.Marshal(p.counts)
	e.Bytes("counts", counts)
	return err
}

// load fills a progress of the right extents.
func (p *progress) load(d *checkpoint.Decoder) error {
	var task, batch, ph, step, correct, samples int64
	if err := d.Int64s("position", &task, &batch, &ph, &step, &correct, &samples, &p.peak); err != nil {
		return err
	}
	p.task, p.batch, p.phase, p.step = int(task), int(batch), phase(ph), int(step)
	p.taskCorrect, p.taskSamples = int(correct), int(samples)
	if err := p.measured[0].load(d); err != nil {
		return err
	}
	for i := range p.measured[1:] {
		if err := p.measured[i+1].load(d.Sub(fmt.Sprintf("classifiers/%d", i+1))); err != nil {
			return err
		}
	}
	var s [3]float64
	if err := d.Float64s("seconds", s[:]); err != nil {
		return err
	}
	p.seconds = result.Seconds{Train: s[0], Prepare: s[1], Test: s[2]}
	counts, err := d.Bytes("counts")
	if err != nil {
		return err
	}
	return json.Unmarshal(counts, &p.counts)
}

func (m *measured) save(e *checkpoint.Encoder) error {
	for i := range m.accuracy {
		e.Float64s(fmt.Sprintf("accuracy/%d", i), m.accuracy[i])
		e.Float64s(fmt.Sprintf("per-class/%d", i), m.perClass[i])
	}
	errors, err := json.Marshal(result.ErrorAnalysis{Tasks: m.errors, Confusion: m.confusion})
	e.Bytes("errors", errors)
	return err
}

func (m *measured) load(d *checkpoint.Decoder) error {
	for i := range m.accuracy {
		if err := d.Float64s(fmt.Sprintf("accuracy/%d", i), m.accuracy[i]); err != nil {
			return err
		}
		if err := d.Float64s(fmt.Sprintf("per-class/%d", i), m.perClass[i]); err != nil {
			return err
		}
	}
	text, err := d.Bytes("errors")
	if err != nil {
		return err
	}
	var a result.ErrorAnalysis
	err = json.Unmarshal(text, &a)
	m.errors, m.confusion = a.Tasks, a.Confusion
	return err
}
