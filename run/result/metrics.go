package result

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"ocl/run/metric"
)

// Metrics are fractions in [0,1] (or [-1,1] for differences), nil if undefined. The table below has a line for each
// field, which says what it is. A new metric needs a field, that line, a function in package metric and a row in
// docs/format/result.md.
type Metrics struct {
	AverageAccuracy            *float64 `json:"average_accuracy,omitempty"`
	AverageForgetting          *float64 `json:"average_forgetting,omitempty"`
	ForgettingAllTasks         *float64 `json:"forgetting_all_tasks,omitempty"`
	BWTPlus                    *float64 `json:"bwt_plus,omitempty"`
	FWT                        *float64 `json:"fwt,omitempty"`
	LearningAccuracy           *float64 `json:"learning_accuracy,omitempty"`
	AverageIncrementalAccuracy *float64 `json:"average_incremental_accuracy,omitempty"`
	AverageAnytimeAccuracy     *float64 `json:"average_anytime_accuracy,omitempty"`
	MinAccuracy                *float64 `json:"min_accuracy,omitempty"`
	WorstCaseAccuracy          *float64 `json:"worst_case_accuracy,omitempty"`
	LargestDrop                *float64 `json:"largest_drop,omitempty"`
	StabilityGap               *float64 `json:"stability_gap,omitempty"`
	SeenAUC                    *float64 `json:"seen_auc,omitempty"`
	SeenLast                   *float64 `json:"seen_last,omitempty"`
	CumulativeForgetting       *float64 `json:"cumulative_forgetting,omitempty"`
	Retention                  *float64 `json:"retention,omitempty"`
	OnlineAccuracy             *float64 `json:"online_accuracy,omitempty"`
	NearFutureAccuracy         *float64 `json:"near_future_accuracy,omitempty"`
	ProbedAccuracy             *float64 `json:"probed_accuracy,omitempty"`
}

// metrics declares all metrics, in the order of their fields. Checking, computing and the tables of a report go through
// it.
var metrics = []Metric{
	{"average_accuracy", "average accuracy", "mean of the last row over the tasks learned", 0, false,
		func(m *Metrics) **float64 { return &m.AverageAccuracy },
		func(m measured) float64 { return metric.AverageAccuracy(m.matrix, len(m.matrix.Rows)-1) }},
	{"average_forgetting", "average forgetting",
		"mean over the earlier tasks of the best accuracy before the last task minus the last accuracy", -1, true,
		func(m *Metrics) **float64 { return &m.AverageForgetting },
		func(m measured) float64 { return metric.AverageForgetting(m.matrix, len(m.matrix.Rows)-1) }},
	{"forgetting_all_tasks", "forgetting over all tasks",
		"as the authors of the survey computed it: over all tasks, the best accuracy of all rows minus the last", 0, true,
		func(m *Metrics) **float64 { return &m.ForgettingAllTasks },
		func(m measured) float64 { return metric.ForgettingAllTasks(m.matrix) }},
	{"bwt_plus", "BWT⁺", "positive backward transfer", 0, false,
		func(m *Metrics) **float64 { return &m.BWTPlus },
		func(m measured) float64 { return metric.BWTPlus(m.matrix) }},
	{"fwt", "FWT", "forward transfer; only if tasks are tested before they are learned", 0, false,
		func(m *Metrics) **float64 { return &m.FWT },
		func(m measured) float64 { return metric.FWT(m.matrix) }},
	{"learning_accuracy", "learning accuracy", "mean accuracy on a task just learned", 0, false,
		func(m *Metrics) **float64 { return &m.LearningAccuracy },
		func(m measured) float64 { return metric.LearningAccuracy(m.matrix) }},
	{"average_incremental_accuracy", "average incremental accuracy", "mean of the average accuracy of all rows", 0, false,
		func(m *Metrics) **float64 { return &m.AverageIncrementalAccuracy },
		func(m measured) float64 { return metric.AverageIncrementalAccuracy(m.matrix) }},
	{"average_anytime_accuracy", "average anytime accuracy",
		"mean accuracy on the tasks seen so far, over the evaluations in the middle of tasks", 0, false,
		func(m *Metrics) **float64 { return &m.AverageAnytimeAccuracy },
		func(m measured) float64 { return metric.AverageAnytimeAccuracy(m.between) }},
	{"min_accuracy", "min-ACC",
		"mean over the earlier tasks of the least accuracy since each ended; with evaluations in the middle of tasks",
		0, false, func(m *Metrics) **float64 { return &m.MinAccuracy },
		func(m measured) float64 { return metric.MinAccuracy(m.trace) }},
	{"worst_case_accuracy", "WC-ACC",
		"the last accuracy on the last task and the least ones on the others; with evaluations in the middle of tasks",
		0, false, func(m *Metrics) **float64 { return &m.WorstCaseAccuracy },
		func(m measured) float64 { return metric.WorstCaseAccuracy(m.trace) }},
	{"largest_drop", "largest drop",
		"mean over tasks of the largest fall of an accuracy within ten evaluations; with evaluations in the middle of tasks",
		0, true, func(m *Metrics) **float64 { return &m.LargestDrop },
		func(m measured) float64 { return metric.LargestDrop(m.trace, dropWindow) }},
	{"stability_gap", "stability gap",
		"mean over the ends of tasks of how far the accuracy on earlier tasks falls in the next task; with evaluations in the middle of tasks",
		-1, true, func(m *Metrics) **float64 { return &m.StabilityGap },
		func(m measured) float64 { return metric.StabilityGap(m.trace) }},
	{"seen_auc", "A_AUC",
		"mean accuracy on the classes that have come so far, over the evaluations in the middle of tasks; of blurry streams",
		0, false, func(m *Metrics) **float64 { return &m.SeenAUC },
		func(m measured) float64 { return metric.Mean(m.seenBetween) }},
	{"seen_last", "A_last", "accuracy on the classes that have come, at the end; of blurry streams", 0, false,
		func(m *Metrics) **float64 { return &m.SeenLast },
		func(m measured) float64 { return m.seenLast }},
	{"cumulative_forgetting", "cumulative forgetting",
		"mean over the earlier tasks k of the best accuracy on the tasks up to k together, as one of their classes, minus the last",
		0, true, func(m *Metrics) **float64 { return &m.CumulativeForgetting },
		func(m measured) float64 { return metric.CumulativeForgetting(m.cumulative) }},
	{"retention", "retention",
		"mean over the earlier tasks of the last accuracy on held-out samples of what came in each", 0, false,
		func(m *Metrics) **float64 { return &m.Retention },
		func(m measured) float64 { return metric.Retention(m.retained) }},
	{"online_accuracy", "online accuracy", "share of the samples of the stream that were predicted correctly just before they were learned; with eval_online",
		0, false, func(m *Metrics) **float64 { return &m.OnlineAccuracy },
		func(m measured) float64 { return metric.OnlineAccuracy(m.online.Right, m.online.Samples) }},
	{"near_future_accuracy", "near-future accuracy",
		"share of the samples of the stream that were predicted correctly so many steps before they were learned; with eval_ahead",
		0, false, func(m *Metrics) **float64 { return &m.NearFutureAccuracy },
		func(m measured) float64 { return metric.NearFutureAccuracy(m.ahead.Right, m.ahead.Samples) }},
	{"probed_accuracy", "probed accuracy",
		"accuracy of a logistic regression on the features of the network after the last task; with eval_probe", 0, false,
		func(m *Metrics) **float64 { return &m.ProbedAccuracy },
		func(m measured) float64 { return metric.ProbedAccuracy(m.probe.Right, m.probe.Samples) }},
}

// dropWindow is w of [metric.LargestDrop].
const dropWindow = 10

// laterMetrics are those that older results lack.
var laterMetrics = []string{"min_accuracy", "worst_case_accuracy", "largest_drop", "stability_gap", "seen_auc",
	"seen_last", "cumulative_forgetting", "retention", "online_accuracy", "near_future_accuracy", "probed_accuracy"}

// Metric describes one field of [Metrics].
type Metric struct {
	Key   string  // in result.json
	Title string  // heads its column in tables
	Help  string  // what it is, for reports and docs/format/result.md
	Least float64 // its values are in [Least,1]
	Lower bool    // the smaller the better

	field func(*Metrics) **float64
	of    func(measured) float64 // NaN where undefined
}

// Later says that older results lack the metric.
func (d Metric) Later() bool { return slices.Contains(laterMetrics, d.Key) }

// Of is the metric's value in m, nil where it is undefined.
func (d Metric) Of(m Metrics) *float64 { return *d.field(&m) }

// AllMetrics are the metrics in the order of the schema.
func AllMetrics() []Metric { return slices.Clone(metrics) }

// Anytime is the mean accuracy on the tasks seen so far at the evaluation in the middle of a task after that step, a
// term of [metric.AverageAnytimeAccuracy]; NaN where there was none.
func (r *Result) Anytime(step int) float64 {
	i, found := slices.BinarySearchFunc(r.Evaluations, step, func(e Evaluation, step int) int { return e.Step - step })
	if !found {
		return math.NaN()
	}
	return metric.AverageAnytimeAccuracy([][]float64{orNaN(r.Evaluations[i].Accuracy)})
}

// AnytimeSteps are the steps of the evaluations in the middle of tasks, rising.
func (r *Result) AnytimeSteps() (steps []int) {
	for _, e := range r.Evaluations {
		steps = append(steps, e.Step)
	}
	return steps
}

// OneImage is the most by which one test image changes the average accuracy over all tasks, in (0,1]: 1/n for n images
// that all tasks share, else 1/(T·n) for T tasks, the smallest of which has n test images. 0 where no number of images
// is known, as of other programs.
func (r *Result) OneImage() float64 {
	most := 0.0
	for _, t := range r.Stream.Tasks {
		if t.Test > 0 {
			most = max(most, 1/float64(t.Test))
		}
	}
	if n := len(r.Stream.Tasks); n > 0 && !r.Stream.CommonTest {
		most /= float64(n)
	}
	return most
}

// measured has the accuracies from which metrics are computed. An accuracy that was not evaluated is NaN.
type measured struct {
	matrix  metric.Matrix // rows up to the last that was evaluated
	between [][]float64   // accuracies of the evaluations in the middle of tasks, by test set
	trace   metric.Trace  // nil where all tasks share one test set
	// accuracies on the classes that have come: in the middle of tasks, and at the end
	seenBetween []float64
	seenLast    float64

	cumulative    [][]float64 // as in Result, up to the last row that was evaluated
	retained      []float64   // at the end, by task
	online, ahead Incoming
	probe         Probe
}

// MetricsOf computes the metrics that follow from the accuracies of a classifier alone. accuracy, commonTest and
// evaluations are as in [Result] and [Stream]; evaluations are those of the first classifier of a run, and nil for the
// others.
func MetricsOf(accuracy [][]*float64, commonTest bool, evaluations []Evaluation) Metrics {
	return measuredOf(accuracy, commonTest, evaluations).metrics()
}

// Follow are the metrics that follow from all that a result has of its first classifier.
func (r *Result) Follow() Metrics {
	m := measuredOf(r.Accuracy, r.Stream.CommonTest, r.Evaluations)
	rows := len(m.matrix.Rows)
	if rows > 0 && rows <= len(r.Seen) && r.Seen[rows-1] != nil {
		m.seenLast = *r.Seen[rows-1]
	}
	m.cumulate(r.Cumulative)
	if r.Retained != nil {
		m.retained = orNaN(r.Retained)
	}
	for _, of := range r.Incoming {
		if of.Ahead == 0 {
			m.online = of
		} else {
			m.ahead = of
		}
	}
	if r.Probe != nil {
		m.probe = *r.Probe
	}
	return m.metrics()
}

// Follow are the metrics that follow from all that a result has of a further classifier, on a stream where all tasks
// share a test set or not.
func (c Classifier) Follow(commonTest bool) Metrics {
	m := measuredOf(c.Accuracy, commonTest, nil)
	m.cumulate(c.Cumulative)
	return m.metrics()
}

// cumulate takes the accuracies on the tasks so far together.
func (m *measured) cumulate(rows [][]*float64) {
	for _, row := range rows[:min(len(m.matrix.Rows), len(rows))] {
		m.cumulative = append(m.cumulative, orNaN(row))
	}
}

func measuredOf(accuracy [][]*float64, commonTest bool, evaluations []Evaluation) measured {
	m := measured{matrix: MatrixOf(accuracy, commonTest), seenLast: math.NaN()}
	for _, e := range evaluations {
		m.between = append(m.between, orNaN(e.Accuracy))
		if e.Seen != nil {
			m.seenBetween = append(m.seenBetween, *e.Seen)
		}
	}
	if rows := m.matrix.Rows; !commonTest {
		m.trace = traceOf(m.matrix, evaluations)
		if n := len(rows); n > 0 {
			m.retained = rows[n-1][:min(n, len(rows[n-1]))]
		}
	}
	return m
}

// metrics are those that are defined.
func (m measured) metrics() Metrics {
	var out Metrics
	for _, d := range metrics {
		if v := d.of(m); !math.IsNaN(v) {
			*d.field(&out) = &v
		}
	}
	return out
}

// traceOf are all evaluations in the order of their steps: those in the middle of a task come before its end.
func traceOf(m metric.Matrix, evaluations []Evaluation) (t metric.Trace) {
	at := 0
	for task, row := range m.Rows {
		for ; at < len(evaluations) && evaluations[at].Task <= task; at++ {
			t = append(t, metric.Evaluated{Task: evaluations[at].Task, Accuracy: orNaN(evaluations[at].Accuracy)})
		}
		t = append(t, metric.Evaluated{Task: task, Ended: true, Accuracy: row})
	}
	return t
}

// MatrixOf is a matrix of accuracies as package metric takes it, with the rows up to the last that was evaluated. Its
// arguments are those of [MetricsOf].
func MatrixOf(accuracy [][]*float64, commonTest bool) metric.Matrix {
	rows := 0
	for i, row := range accuracy {
		if len(row) > 0 && row[0] != nil {
			rows = i + 1
		}
	}
	m := metric.Matrix{Common: commonTest}
	for _, row := range accuracy[:rows] {
		m.Rows = append(m.Rows, orNaN(row))
	}
	return m
}

// orNaN copies a row, NaN where it is nil.
func orNaN(row []*float64) []float64 {
	out := make([]float64, len(row))
	for i, v := range row {
		out[i] = math.NaN()
		if v != nil {
			out[i] = *v
		}
	}
	return out
}

// ErrEdited says that a result is not what its run wrote.
var ErrEdited = errors.New("somebody has changed it")

// followed says whether metrics are those that follow; older results lack some.
func followed(at string, has, follows Metrics) error {
	for _, m := range AllMetrics() {
		a, b := m.Of(has), m.Of(follows)
		if a == nil && m.Later() {
			continue
		}
		if (a == nil) != (b == nil) || a != nil && *a != *b {
			return fmt.Errorf("its %s.%s does not follow from its accuracies: it is %s, but they give %s; %w", at, m.Key,
				optional(a), optional(b), ErrEdited)
		}
	}
	return nil
}

// CheckMetrics says whether the metrics of a result follow from its accuracies. The error wraps [ErrEdited]; it does
// not name the file.
func CheckMetrics(r *Result) error {
	if err := followed("metrics", r.Metrics, r.Follow()); err != nil {
		return err
	}
	for _, name := range r.Config.Classifiers {
		if c, there := r.Classifiers[name]; there {
			if err := followed("classifiers."+name+".metrics", c.Metrics,
				c.Follow(r.Stream.CommonTest)); err != nil {
				return err
			}
		}
	}
	return nil
}

// optional is a number that may not be there, for a message.
func optional(v *float64) string {
	if v == nil {
		return "missing"
	}
	return fmt.Sprint(*v)
}
