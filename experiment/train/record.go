package train

import (
	"fmt"
	"math"

	"ocl"
	"ocl/checkpoint"
	"ocl/experiment/result"
	"ocl/metric"
)

// record is what a run has measured so far. All of it is in a checkpoint, and in the result at the end.
type record struct {
	measured    []measured          // of each classifier
	evaluations []result.Evaluation // in the middle of tasks
	counts      []map[int]int       // memory content after each task that ended, by class
	taskCounts  []map[int]int       // and by the task that samples came with; empty if origins are unknown
	seconds     result.Seconds
	peak        int64  // bytes
	together    int    // the most runs at work at once while it was, itself included
	timed       bool   // all of it was a timed job
	started     string // when the run began, as result.Provenance has it
	inherited   int64  // samples that the memory was offered before the run
}

// upTo returns an error if a record has more tasks than a run at this position has ended.
func (r *record) upTo(at Position) error {
	for _, m := range r.measured {
		for _, e := range m.errors {
			if e.Task >= at.Task {
				return fmt.Errorf("there are errors after task %d, and the run is in task %d", e.Task+1, at.Task+1)
			}
		}
	}
	over := at.ended()
	if len(r.counts) > over {
		return fmt.Errorf("the memory was counted after %d tasks, and %d have ended", len(r.counts), over)
	}
	if n := len(r.taskCounts); n > 0 && n != len(r.counts) {
		return fmt.Errorf("the memory was counted by task after %d tasks, and by class after %d", n, len(r.counts))
	}
	return nil
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

// tested is how many samples were predicted so far, in all evaluations.
func (r *record) tested(info ocl.StreamInfo) int {
	n := 0
	for _, row := range r.measured[0].accuracy {
		for set, a := range row {
			if !math.IsNaN(a) {
				n += info.Tasks[set].Test
			}
		}
	}
	for _, e := range r.evaluations {
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
	others := &struct {
		Evaluations *[]result.Evaluation `json:"evaluations"`
		Counts      *[]map[int]int       `json:"counts"`
		Seconds     *result.Seconds      `json:"seconds"`
		Peak        *int64               `json:"peak"`
		Started     *string              `json:"started"`
		TaskCounts  []map[int]int        `json:"task_counts,omitempty"` // no pointer, so that it is absent where it is empty
		Together    int                  `json:"together,omitempty"`    // likewise where the run was always alone
		Inherited   int64                `json:"inherited,omitempty"`
		Timed       bool                 `json:"timed,omitempty"`
	}{&r.evaluations, &r.counts, &r.seconds, &r.peak, &r.started, r.taskCounts, 0, r.inherited, r.timed}
	if r.together > 1 {
		others.Together = r.together
	}
	return append(parts, checkpoint.JSON("others", others), checkpoint.Then(func() error {
		r.taskCounts, r.together, r.inherited, r.timed = others.TaskCounts, others.Together, others.Inherited, others.Timed
		return nil
	}))
}

func (m *measured) parts() checkpoint.Parts {
	var parts checkpoint.Parts
	for i := range m.accuracy {
		parts = append(parts, checkpoint.Float64s(fmt.Sprintf("accuracy/%d", i), m.accuracy[i]),
			checkpoint.Float64s(fmt.Sprintf("per-class/%d", i), m.perClass[i]))
	}
	return append(parts, checkpoint.JSON("errors", &struct {
		Tasks     *[]result.TaskErrors `json:"tasks"`
		Confusion *metric.Confusion    `json:"confusion"`
	}{&m.errors, &m.confusion}))
}
