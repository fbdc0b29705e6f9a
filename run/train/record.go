package train

import (
	"fmt"
	"math"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/calibrate"
	"ocl/run/metric"
	"ocl/run/result"
)

// record has all measurements of a run so far. A checkpoint saves all of it, and the result has it at the end.
type record struct {
	measured    []measured             // of each classifier
	calibration *calibrate.Calibration // of the first one, by test images; nil where there is none
	measurements
}

// measurements are the part of the record that a checkpoint saves as JSON.
type measurements struct {
	Evaluations []result.Evaluation `json:"evaluations"` // in the middle of tasks
	Seen        []*float64          `json:"seen,omitempty"`
	Retained    []*float64          `json:"retained,omitempty"`
	Incoming    incoming            `json:"incoming,omitzero"`
	Probe       *result.Probe       `json:"probe,omitempty"`
	Counts      []map[int]int       `json:"counts"` // memory content after each task that ended, by class
	// and by the task that samples came with; empty if origins are unknown
	TaskCounts []map[int]int  `json:"task_counts"`
	Seconds    result.Seconds `json:"seconds"`
	Peak       int64          `json:"peak"`       // bytes
	Concurrent int            `json:"concurrent"` // the most runs at work at once while it was, itself included
	Timed      bool           `json:"timed"`      // all of it was a timed job
	Started    string         `json:"started"`    // when the run began, as result.Provenance has it
	Inherited  int64          `json:"inherited"`  // samples that the memory was offered before the run
	// what the probabilities of the first classifier are worth after the last task
	Calibration *result.Calibration `json:"calibration,omitempty"`
}

// measured has the results of the evaluations after tasks, for one classifier.
type measured struct {
	accuracy [][]float64 // [T][test sets], NaN where not evaluated
	perClass [][]float64 // [T][K], NaN where not evaluated

	errors    []result.TaskErrors // after each task that was evaluated; empty without error analysis
	confusion metric.Confusion    // after the last of them

	cumulative [][]*float64 // as result.Result has it
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

// tested is the number of samples that were predicted so far, over all evaluations.
func (r *record) tested(info ocl.StreamInfo) int {
	n := 0
	for _, row := range r.measured[0].accuracy {
		for set, a := range row {
			if !math.IsNaN(a) {
				n += info.Tasks[set].Test
			}
		}
	}
	for _, e := range r.Evaluations {
		for set, a := range e.Accuracy {
			if a != nil {
				n += info.Tasks[set].Test
			}
		}
	}
	return n
}

// parts are the parts of a record of the right size.
func (r *record) parts() checkpoint.Parts {
	var parts checkpoint.Parts
	for i := range r.measured {
		parts = append(parts, checkpoint.Sub(fmt.Sprintf("classifiers/%d", i), r.measured[i].parts()))
	}
	return append(parts, checkpoint.JSON("others", &r.measurements), calibrate.Parts(&r.calibration))
}

func (m *measured) parts() checkpoint.Parts {
	var parts checkpoint.Parts
	for i := range m.accuracy {
		parts = append(parts, checkpoint.Numbers(fmt.Sprintf("accuracy/%d", i), m.accuracy[i]),
			checkpoint.Numbers(fmt.Sprintf("per-class/%d", i), m.perClass[i]))
	}
	return append(parts, checkpoint.JSON("errors", &struct {
		Tasks      *[]result.TaskErrors `json:"tasks"`
		Confusion  *metric.Confusion    `json:"confusion"`
		Cumulative *[][]*float64        `json:"cumulative"`
	}{&m.errors, &m.confusion, &m.cumulative}))
}
