package findings

import (
	"fmt"
	"math"

	"ocl/config"
	"ocl/run/metric"
	"ocl/run/metric/compare"
	"ocl/run/result"
	"ocl/survey/paper"
)

// measure is a number of a run.
type measure struct {
	name       string
	classifier string                                      // by which; "" is not by one
	of         func(r *paper.Run) (value float64, ok bool) // ok is false where it was not measured
	// what one test image changes, in the unit of the value; nil is no share of images
	image   func(r *paper.Run) float64
	machine bool // it depends on the processor
}

// step is what one test image changes.
func (m measure) step(r *paper.Run) float64 {
	if m.image == nil {
		return 0
	}
	return m.image(r)
}

// engine is what computed a run, as far as the measure depends on it.
func (m measure) engine(r *paper.Run) compare.Engine {
	e := r.Engine()
	if m.machine && r.Result.Provenance.Processor != "" {
		e.Convolution += " on " + r.Result.Provenance.Processor
	}
	return e
}

// ofAll is what one image changes in an average over all test sets, in points.
func ofAll(r *paper.Run) float64 { return 100 * r.Result.OneImage() }

// accuracy is the average accuracy at the end by a classifier, in per cent.
func accuracy(classifier string) measure {
	return metricOf("accuracy", classifier, func(m result.Metrics) *float64 { return m.AverageAccuracy })
}

// forgetting and learning are of runs that were tested on each task when it was learned, in points and in per cent.
func forgetting() measure {
	return sinceLearnt(metricOf("forgetting", config.ClassifierHead,
		func(m result.Metrics) *float64 { return m.AverageForgetting }))
}

func learning() measure {
	return sinceLearnt(metricOf("learning accuracy", config.ClassifierHead,
		func(m result.Metrics) *float64 { return m.LearningAccuracy }))
}

// forward is forward transfer in per cent.
func forward() measure {
	return metricOf("FWT", config.ClassifierHead, func(m result.Metrics) *float64 { return m.FWT })
}

// metricOf is a metric of a classifier times 100.
func metricOf(name, classifier string, of func(result.Metrics) *float64) measure {
	return measure{name: name, classifier: classifier, image: ofAll, of: func(r *paper.Run) (float64, bool) {
		m, ok := r.Metrics(classifier)
		if !ok || of(m) == nil || r.Result.Outcome.State != result.Finished {
			return 0, false
		}
		return 100 * *of(m), true
	}}
}

// sinceLearnt is a measure of runs that were tested on each task when it was learned.
func sinceLearnt(m measure) measure {
	of := m.of
	m.of = func(r *paper.Run) (float64, bool) {
		v, ok := of(r)
		return v, ok && r.Result.Config.Eval != config.EvalFinal
	}
	return m
}

// backward is backward transfer in points, which the metric BWT⁺ clips at 0. It is computed from the accuracies.
func backward() measure {
	return measure{name: "BWT", classifier: config.ClassifierHead, image: ofAll, of: func(r *paper.Run) (float64, bool) {
		if r.Result.Outcome.State != result.Finished {
			return 0, false
		}
		v := 100 * metric.BWT(result.MatrixOf(r.Result.Accuracy, r.Result.Stream.CommonTest))
		return v, !math.IsNaN(v)
	}}
}

// evaluations is how often a run with the survey protocol on 20 tasks is tested: after each but the two that are for
// tuning.
const evaluations = 18

// accuracyAfter is the average accuracy on the tasks seen so far after one of them, in per cent.
func accuracyAfter(task int) measure {
	return measure{name: fmt.Sprint("accuracy after ", task), classifier: config.ClassifierHead,
		of: func(r *paper.Run) (float64, bool) {
			m := result.MatrixOf(r.Result.Accuracy, r.Result.Stream.CommonTest)
			if len(m.Rows) != evaluations {
				return 0, false
			}
			v := 100 * metric.AverageAccuracy(m, task)
			return v, !math.IsNaN(v)
		}}
}

// lastTask is the accuracy on the last task after it was learned, in per cent.
func lastTask() measure {
	return measure{name: "last task", classifier: config.ClassifierHead, of: func(r *paper.Run) (float64, bool) {
		rows := r.Result.Accuracy
		if len(rows) == 0 || r.Result.Outcome.State != result.Finished {
			return 0, false
		}
		row := rows[len(rows)-1]
		if len(row) == 0 || row[len(row)-1] == nil {
			return 0, false
		}
		return 100 * *row[len(row)-1], true
	}}
}

// diverged is 1 for a run that diverged and 0 for one that finished.
func diverged() measure {
	return measure{name: "diverged", of: func(r *paper.Run) (float64, bool) {
		switch r.Result.Outcome.State {
		case result.Diverged:
			return 1, true
		case result.Finished:
			return 0, true
		}
		return 0, false
	}}
}

// oldAsNew is the share of the samples of old classes that are taken for new ones after a task, in per cent.
func oldAsNew(task int) measure {
	return measure{name: fmt.Sprint("er(o,n) after ", task), of: func(r *paper.Run) (float64, bool) {
		t := r.Result.ErrorAnalysis.After(task)
		if t == nil || t.OldAsNewOfSamples == nil {
			return 0, false
		}
		return 100 * *t.OldAsNewOfSamples, true
	}, image: func(r *paper.Run) float64 { return 100 / float64(r.Result.ErrorAnalysis.After(task).Old) }}
}

// course measures after how many of the tasks with old classes a < b holds, as a share in per cent.
func course(name string, is func(result.TaskErrors) (a, b *float64)) measure {
	return measure{name: name, of: func(r *paper.Run) (float64, bool) {
		if r.Result.ErrorAnalysis == nil {
			return 0, false
		}
		yes, tasks := 0, 0
		for _, t := range r.Result.ErrorAnalysis.Tasks {
			a, b := is(t)
			if t.Old == 0 || a == nil || b == nil {
				continue
			}
			if tasks++; *a > *b {
				yes++
			}
		}
		return 100 * float64(yes) / float64(tasks), tasks > 1
	}}
}

// latest is the share of the stored samples that came with the latest third of the tasks (rounded down), in per cent.
func latest() measure {
	return measure{name: "latest third", of: func(r *paper.Run) (float64, bool) {
		if len(r.Held) == 0 {
			return 0, false
		}
		last := r.Held[len(r.Held)-1]
		all, late, third := 0, 0, len(last)/3
		for t, n := range last {
			if all += n; t >= len(last)-third {
				late += n
			}
		}
		if all == 0 || third == 0 {
			return 0, false
		}
		return 100 * float64(late) / float64(all), true
	}}
}

// seconds is the run time of a job that was timed, with one classifier and as many evaluations as asked.
func seconds(classifier, eval string) measure {
	return measure{name: "seconds, " + eval, classifier: classifier, machine: true,
		of: func(r *paper.Run) (float64, bool) {
			c := r.Result.Config
			timed := r.Result.Provenance.Timed && len(c.Classifiers) == 1 && c.Classifiers[0] == classifier && c.Eval == eval
			return r.Seconds(), timed && r.Result.Outcome.State == result.Finished
		}}
}
