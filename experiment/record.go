package experiment

import (
	"encoding/json"
	"fmt"

	"ocl"
	"ocl/checkpoint"
	"ocl/experiment/result"
	"ocl/metric"
)

// phase says how far a run is within its current task.
type phase int

const (
	waiting  phase = iota // nobody has been told that it begins
	learning              // batches are left
	between               // as learning, and an evaluation in the middle of the task is pending
	learned               // all batches observed, EndTask pending
	ended                 // EndTask done, Prepare and evaluation pending
	prepared              // evaluation pending
)

// position is where a run is in its stream.
type position struct {
	task, batch int // the next batch
	phase       phase
	step        int // learner steps taken
	correct     int // of the current task's incoming samples, predicted before they were learned
	samples     int
}

func (p *position) save(e *checkpoint.Encoder) {
	e.Int64s("position", int64(p.task), int64(p.batch), int64(p.phase), int64(p.step), int64(p.correct), int64(p.samples))
}

func (p *position) load(d *checkpoint.Decoder) error {
	var task, batch, ph, step, correct, samples int64
	if err := d.Int64s("position", &task, &batch, &ph, &step, &correct, &samples); err != nil {
		return err
	}
	if ph < int64(waiting) || ph > int64(prepared) {
		return fmt.Errorf("checkpoint: section position has phase %d. It was made by another version of the program", ph)
	}
	*p = position{int(task), int(batch), phase(ph), int(step), int(correct), int(samples)}
	return nil
}

// record is what a run has found so far. All of it is in a checkpoint, and in the result at the end.
type record struct {
	measured    []measured          // of each classifier
	evaluations []result.Evaluation // in the middle of tasks
	counts      []map[int]int       // memory content after each task that ended
	seconds     result.Seconds
	peak        int64  // bytes
	started     string // when the run began, as result.Provenance has it
}

// measured is what the evaluations after tasks found of one classifier.
type measured struct {
	accuracy [][]float64 // [T][test sets], NaN where not evaluated
	perClass [][]float64 // [T][K], NaN where not evaluated

	errors    []result.TaskErrors // after each task that was evaluated; empty without error analysis
	confusion metric.Confusion    // after the last of them
}

func newRecord(classifiers int, info ocl.StreamInfo) record {
	r := record{measured: make([]measured, classifiers)}
	for i := range r.measured {
		m := &r.measured[i]
		for range info.Tasks {
			m.accuracy = append(m.accuracy, undefined(info.TestSets()))
			m.perClass = append(m.perClass, undefined(info.Classes))
		}
	}
	return r
}

// others is what a checkpoint holds of a record as JSON.
type others struct {
	Evaluations []result.Evaluation `json:"evaluations"`
	Counts      []map[int]int       `json:"counts"`
	Seconds     result.Seconds      `json:"seconds"`
	Peak        int64               `json:"peak"`
	Started     string              `json:"started"`
}

func (r *record) save(e *checkpoint.Encoder) error {
	for i := range r.measured {
		if err := r.measured[i].save(e.Sub(fmt.Sprintf("classifiers/%d", i))); err != nil {
			return err
		}
	}
	text, err := json.Marshal(others{r.evaluations, r.counts, r.seconds, r.peak, r.started})
	e.Bytes("others", text)
	return err
}

// load fills a record of the right extents.
func (r *record) load(d *checkpoint.Decoder) error {
	for i := range r.measured {
		if err := r.measured[i].load(d.Sub(fmt.Sprintf("classifiers/%d", i))); err != nil {
			return err
		}
	}
	text, err := d.Bytes("others")
	if err != nil {
		return err
	}
	var o others
	if err := json.Unmarshal(text, &o); err != nil {
		return fmt.Errorf("checkpoint: section others: %w", err)
	}
	r.evaluations, r.counts, r.seconds, r.peak, r.started = o.Evaluations, o.Counts, o.Seconds, o.Peak, o.Started
	return nil
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
	if err := json.Unmarshal(text, &a); err != nil {
		return fmt.Errorf("checkpoint: section errors: %w", err)
	}
	m.errors, m.confusion = a.Tasks, a.Confusion
	return nil
}
