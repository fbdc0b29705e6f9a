package result

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"ocl/config"
	"ocl/internal/limit"
	"ocl/run/metric"
)

// Check returns what [Read] would refuse in the file of a result, nil if nothing: a value that is not a finite number,
// shapes that do not fit each other, or a value out of its range.
func Check(r *Result) error {
	if _, err := json.Marshal(r); err != nil {
		return fmt.Errorf("a value is not a finite number, or cannot be written as JSON: %w", err)
	}
	return check(r)
}

// check checks the shapes and ranges.
func check(r *Result) error {
	for _, f := range []func(*Result) error{checkNumbers, checkKey, checkForeign, checkStream, checkTuning, checkParent,
		checkMeasured, checkEvaluations, checkMemory, checkExperts, checkOutcome} {
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

var (
	keyPattern    = regexp.MustCompile(`^[0-9a-f]{64}$`)
	digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// matches refuses a text that is no key, or no digest.
func matches(at, text string, pattern *regexp.Regexp) error {
	if pattern.MatchString(text) {
		return nil
	}
	want := "64 digits of 0-9 and a-f"
	if pattern == digestPattern {
		want = "sha256: and " + want
	}
	return fmt.Errorf("%s is %s, but must be %s", at, cut(text), want)
}

func checkKey(r *Result) error {
	if r.Key == "" {
		return nil
	}
	return matches("key", r.Key, keyPattern)
}

// checkForeign wants a config of what ocl has run, and of anything else nothing that only a run of ocl has.
func checkForeign(r *Result) error {
	f, none := r.Foreign, reflect.ValueOf(r.Config).IsZero()
	switch {
	case f == nil && none:
		return errors.New("config is missing (an object)")
	case f == nil:
		return nil
	case !none:
		return errors.New("foreign and config are both given, but ocl has no config of what another program has run")
	case f.Program == "" || f.File == "":
		return errors.New("foreign.program or foreign.file is empty")
	}
	if err := matches("foreign.digest", f.Digest, digestPattern); err != nil {
		return err
	}
	if r.Key != "" || r.Tuning != nil || r.Parent != nil || r.Classifiers != nil || r.ErrorAnalysis != nil ||
		r.Evaluations != nil || r.Memory != nil {
		return errors.New("foreign and what only a run of ocl has are both given, such as key or memory")
	}
	if err := followed("metrics", r.Metrics, MetricsOf(r.Accuracy, r.Stream.CommonTest, nil)); err != nil {
		return fmt.Errorf("metrics do not follow from accuracy, but those of a foreign result must: %w", err)
	}
	return nil
}

// checkTuning wants a value for each key, chosen and of each point.
func checkTuning(r *Result) error {
	t := r.Tuning
	switch {
	case t == nil:
		return nil
	case len(t.Chosen) != len(t.Keys):
		return fmt.Errorf("tuning.chosen has %d values, but there are %d keys", len(t.Chosen), len(t.Keys))
	}
	if err := errors.Join(matches("tuning.key", t.Key, keyPattern),
		matches("tuning.grid_digest", t.GridDigest, digestPattern)); err != nil {
		return err
	}
	least := 0.0
	if t.By != "" {
		at := slices.IndexFunc(metrics, func(m Metric) bool { return m.Key == t.By })
		if at < 0 {
			return fmt.Errorf("tuning.by is %s, but must be a metric", cut(t.By))
		}
		least = metrics[at].Least
	}
	for i, p := range t.Points {
		if len(p.Values) != len(t.Keys) {
			return fmt.Errorf("tuning.points[%d].values has %d values, but there are %d keys", i, len(p.Values), len(t.Keys))
		}
		if v := p.Score; v != nil && !(*v >= least && *v <= 1) {
			return fmt.Errorf("tuning.points[%d].score is %g, but must be a fraction in [%g,1]", i, *v, least)
		}
	}
	return nil
}

func checkParent(r *Result) error {
	p := r.Parent
	switch {
	case p == nil:
		return nil
	case p.Run == "":
		return errors.New("parent.run is empty, but must be the name of a folder")
	case p.Classes > r.Stream.Classes:
		return fmt.Errorf("parent.classes is %d, but must be at most stream.classes, which is %d", p.Classes,
			r.Stream.Classes)
	}
	return errors.Join(matches("parent.key", p.Key, keyPattern), matches("parent.checkpoint", p.Checkpoint, digestPattern))
}

func checkStream(r *Result) error {
	s := &r.Stream
	if n := len(s.Tasks); n > limit.ResultTasks {
		return fmt.Errorf("stream.tasks has %d tasks, but must have at most %d", n, limit.ResultTasks)
	}
	if s.Classes > limit.ResultClasses {
		return fmt.Errorf("stream.classes is %d, but must be 0 to %d", s.Classes, limit.ResultClasses)
	}
	for i, t := range s.Tasks {
		at := fmt.Sprintf("stream.tasks[%d]", i)
		if t.Index >= limit.ResultTasks {
			return fmt.Errorf("%s.index is %d, but must be 0 to %d", at, t.Index, limit.ResultTasks-1)
		}
		for _, c := range t.Classes {
			if c >= s.Classes {
				return fmt.Errorf("%s has class %d, but classes must be 0 to %d", at, c, s.Classes-1)
			}
		}
	}
	if n := len(s.ClassNames); n > s.Classes {
		return fmt.Errorf("stream.class_names has %d names, but must have at most %d", n, s.Classes)
	}
	return nil
}

// testSets is the number of columns of the accuracy matrix: one for each task, or one if all tasks share a test set.
func (r *Result) testSets() int {
	if r.Stream.CommonTest {
		return 1
	}
	return len(r.Stream.Tasks)
}

// check wants fractions, and bins that rise.
func (c *Calibration) check() error {
	if c == nil {
		return nil
	}
	bad := c.By != LeftOut && c.By != Tested || c.Samples < 1 || !(c.Temperature > 0) || !(c.Slope > 0 && c.Slope <= 1)
	for _, v := range []*float64{&c.ECE, c.Before} {
		bad = bad || fraction(v) != ""
	}
	last := -1
	for _, b := range c.Bins {
		bad = bad || b.Bin <= last || b.Bin >= metric.ReliabilityBins || b.N < 1 || fraction(&b.Confidence) != "" ||
			fraction(&b.Accuracy) != ""
		last = b.Bin
	}
	if bad {
		return fmt.Errorf("calibration is by %s, of %d samples, with a temperature of %g and %d bins, but must be as docs/format/result.md says",
			cut(c.By), c.Samples, c.Temperature, len(c.Bins))
	}
	return nil
}

func checkMeasured(r *Result) error {
	tasks, classes, sets := len(r.Stream.Tasks), r.Stream.Classes, r.testSets()
	if err := checkMatrix("accuracy", r.Accuracy, tasks, sets, fraction); err != nil {
		return err
	}
	if err := checkMatrix("accuracy_per_class", r.PerClass, tasks, classes, fraction); err != nil {
		return err
	}
	if err := checkMetrics("metrics", r.Metrics); err != nil {
		return err
	}
	if x := r.Resources; !(min(x.RowsForward, x.RowsBackward) >= 0) {
		return fmt.Errorf("resources.rows_forward and rows_backward are %g and %g, but must be 0 or more", x.RowsForward,
			x.RowsBackward)
	}
	if s := r.Seconds; min(s.Train, s.Prepare, s.Test) < 0 {
		return fmt.Errorf("seconds are %g, %g and %g, but must be 0 or more", s.Train, s.Prepare, s.Test)
	}
	if err := r.Calibration.check(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(r.Classifiers)) {
		c, at := r.Classifiers[name], "classifiers."+name
		if !plain(name) {
			at = "classifiers." + cut(name)
		}
		if err := checkMatrix(at+".accuracy", c.Accuracy, tasks, sets, fraction); err != nil {
			return err
		}
		if err := checkMatrix(at+".cumulative", c.Cumulative, tasks, tasks, fraction); err != nil {
			return err
		}
		if err := checkMetrics(at+".metrics", c.Metrics); err != nil {
			return err
		}
		if err := checkErrors(at+".error_analysis", c.ErrorAnalysis, tasks, classes); err != nil {
			return err
		}
	}
	return checkErrors("error_analysis", r.ErrorAnalysis, tasks, classes)
}

// checkEvaluations checks the evaluations in the middle of tasks against the steps and tasks of the run.
func checkEvaluations(r *Result) error {
	for i, e := range r.Evaluations {
		at := fmt.Sprintf("evaluations[%d]", i)
		least, first := 1, 0
		if i > 0 {
			least, first = r.Evaluations[i-1].Step+1, r.Evaluations[i-1].Task
		}
		if e.Step < least || e.Step > r.Outcome.Step {
			return fmt.Errorf("%s.step is %d, but must be %d to outcome.step, which is %d", at, e.Step, least, r.Outcome.Step)
		}
		if e.Task < first || e.Task >= len(r.Stream.Tasks) {
			return fmt.Errorf("%s.task is %d, but must be %d to %d", at, e.Task, first, len(r.Stream.Tasks)-1)
		}
		if err := checkRow(at+".accuracy", e.Accuracy, r.testSets(), fraction); err != nil {
			return err
		}
		if err := checkRow(at+".seen", []*float64{e.Seen}, 1, fraction); err != nil {
			return err
		}
	}
	tasks := len(r.Stream.Tasks)
	for i, of := range r.Incoming {
		at := fmt.Sprintf("incoming[%d]", i)
		if i > 0 && of.Ahead <= r.Incoming[i-1].Ahead {
			return fmt.Errorf("%s.ahead is %d, but must rise", at, of.Ahead)
		}
		if len(of.Right) > tasks || len(of.Right) != len(of.Samples) {
			return fmt.Errorf("%s counts %d and %d tasks, but must count the same, at most %d", at, len(of.Right),
				len(of.Samples), tasks)
		}
		for t, n := range of.Right {
			if n > of.Samples[t] {
				return fmt.Errorf("%s.right[%d] is %d, but there are %d samples", at, t, n, of.Samples[t])
			}
		}
	}
	if p := r.Probe; p != nil && p.Right > p.Samples {
		return fmt.Errorf("probe.right is %d, but there are %d samples", p.Right, p.Samples)
	}
	return errors.Join(checkRow("seen", r.Seen, tasks, fraction), checkRow("retained", r.Retained, tasks, fraction),
		checkMatrix("cumulative", r.Cumulative, tasks, tasks, fraction))
}

func checkMemory(r *Result) error {
	m := r.Memory
	if m == nil {
		return nil
	}
	if n, tasks := len(m.ClassCounts), len(r.Stream.Tasks); n > tasks {
		return fmt.Errorf("memory.class_counts has %d rows, but must have at most %d, one per task", n, tasks)
	}
	for i, counts := range m.ClassCounts {
		for c, n := range counts {
			if c >= r.Stream.Classes {
				return fmt.Errorf("memory.class_counts[%d] says %d samples of class %d, but must have those of classes 0 to %d", i,
					n, c, r.Stream.Classes-1)
			}
		}
	}
	return checkTaskCounts(m, r.Parent != nil)
}

// Bounds of the pictures of experts.
const (
	MostPictured    = 8  // experts
	MostPictures    = 4  // images of each
	MostPictureSide = 32 // pixels
)

func checkExperts(r *Result) error {
	x := r.Experts
	if x == nil {
		return nil
	}
	for i, e := range x.List {
		if i > 0 && e.Step < x.List[i-1].Step || e.Step < 1 || e.Task < -1 || e.Task == -1 && r.Parent == nil ||
			e.Task >= len(r.Stream.Tasks) {
			return fmt.Errorf("experts.list[%d] began at step %d in task %d, but steps must rise from 1, and tasks be 0 to %d",
				i, e.Step, e.Task, len(r.Stream.Tasks)-1)
		}
		if !(e.Count >= 1 && e.Count <= limit.ResultCount) {
			return fmt.Errorf("experts.list[%d].count is %v, but must be 1 to %d", i, e.Count, limit.ResultCount)
		}
	}
	return checkPictures(x)
}

func checkPictures(x *Experts) error {
	p := x.Pictures
	if p == nil {
		return nil
	}
	for i, k := range p.Experts {
		if k < 0 || k >= len(x.List) || i > 0 && k <= p.Experts[i-1] {
			return fmt.Errorf("experts.pictures.experts[%d] is %d, but must rise within 0 to %d", i, k, len(x.List)-1)
		}
	}
	if len(p.Experts) < 1 || len(p.Experts) > MostPictured || p.Images < 1 || p.Images > MostPictures ||
		min(p.Height, p.Width) < 1 || max(p.Height, p.Width) > MostPictureSide {
		return fmt.Errorf("experts.pictures has %d experts with %d images of %d×%d pixels, but must have 1 to %d with 1 to %d of at most %d×%d",
			len(p.Experts), p.Images, p.Height, p.Width, MostPictured, MostPictures, MostPictureSide, MostPictureSide)
	}
	b, err := base64.StdEncoding.DecodeString(p.Pixels)
	if want := len(p.Experts) * p.Images * 2 * p.Height * p.Width * 3; err != nil || len(b) != want {
		return fmt.Errorf("experts.pictures.pixels has %d bytes in base64, but must have %d", len(b), want)
	}
	return nil
}

// checkTaskCounts holds the counts by task to those by class: the same samples are counted twice, but for those of a
// parent, which came with no task.
func checkTaskCounts(m *Memory, inherited bool) error {
	if n := len(m.TaskCounts); n > 0 && n != len(m.ClassCounts) {
		return fmt.Errorf("memory.task_counts has %d rows, but must have %d, as memory.class_counts has", n,
			len(m.ClassCounts))
	}
	for i, row := range m.TaskCounts {
		byTask, byClass := 0, 0
		for t, n := range row {
			if t > i {
				return fmt.Errorf("memory.task_counts[%d] says %d samples of task %d, but must have those of tasks 0 to %d", i, n,
					t, i)
			}
			byTask += n
		}
		for _, n := range m.ClassCounts[i] {
			byClass += n
		}
		if byTask > byClass || byTask < byClass && !inherited {
			return fmt.Errorf("memory.task_counts[%d] counts %d samples, but must count %d, as memory.class_counts[%d] does", i,
				byTask, byClass, i)
		}
	}
	return nil
}

func checkOutcome(r *Result) error {
	switch r.Outcome.State {
	case Finished, Interrupted, Diverged:
	default:
		return fmt.Errorf("outcome.state is %s, but must be %s, %s or %s", cut(r.Outcome.State), Finished, Interrupted,
			Diverged)
	}
	return nil
}

// checkMetrics checks the ranges of metrics.
func checkMetrics(at string, m Metrics) error {
	for _, d := range metrics {
		if v := d.Of(m); v != nil && !(*v >= d.Least && *v <= 1) {
			return fmt.Errorf("%s.%s is %g, but must be a fraction in [%g,1]", at, d.Key, *v, d.Least)
		}
	}
	return nil
}

// checkErrors checks the shape of an error analysis.
func checkErrors(at string, a *ErrorAnalysis, tasks, classes int) error {
	if a == nil {
		return nil
	}
	if len(a.Tasks) > tasks {
		return fmt.Errorf("%s.tasks has %d entries, but must have at most %d, one per task", at, len(a.Tasks), tasks)
	}
	for i, t := range a.Tasks {
		at := fmt.Sprintf("%s.tasks[%d]", at, i)
		if t.Task < 0 || t.Task >= tasks || i > 0 && t.Task <= a.Tasks[i-1].Task {
			return fmt.Errorf("%s.task is %d, but tasks must rise and be below %d", at, t.Task, tasks)
		}
		for _, share := range []*float64{t.NewAsOldOfSamples, t.OldAsNewOfSamples, t.NewAsOldOfErrors, t.OldAsNewOfErrors} {
			if f := fraction(share); f != "" {
				return fmt.Errorf("%s: a share %s", at, f)
			}
		}
		if err := checkMatrix(at+".confusion", t.Confusion, t.Task+1, t.Task+2, anyCount); err != nil {
			return err
		}
		if err := checkRow(at+".predictions", t.Predictions, t.Task+2, anyCount); err != nil {
			return err
		}
	}
	return checkMatrix(at+".confusion", a.Confusion, classes, classes, anyCount)
}

// checkMatrix allows at most rows × cols values; fault says what is wrong with a value, "" for nothing.
func checkMatrix[T any](at string, m [][]T, rows, cols int, fault func(T) string) error {
	if len(m) > rows {
		return fmt.Errorf("%s has %d rows, but must have at most %d", at, len(m), rows)
	}
	for i, row := range m {
		if err := checkRow(fmt.Sprintf("%s[%d]", at, i), row, cols, fault); err != nil {
			return err
		}
	}
	return nil
}

func checkRow[T any](at string, row []T, cols int, fault func(T) string) error {
	if len(row) > cols {
		return fmt.Errorf("%s has %d values, but must have at most %d", at, len(row), cols)
	}
	for j, v := range row {
		if f := fault(v); f != "" {
			return fmt.Errorf("%s[%d] %s", at, j, f)
		}
	}
	return nil
}

func fraction(v *float64) string {
	if v != nil && !(*v >= 0 && *v <= 1) {
		return fmt.Sprintf("is %g, but must be a fraction in [0,1]", *v)
	}
	return ""
}

// anyCount accepts all numbers: [checkNumbers] has looked at them.
func anyCount(int) string { return "" }

// checkNumbers refuses whole numbers that are negative, and those of things that are more than limit.ResultCount.
func checkNumbers(r *Result) error {
	if at := outOfRange(reflect.ValueOf(r).Elem()); at != "" {
		return errors.New(strings.TrimPrefix(at, "."))
	}
	return nil
}

// outOfRange is the first such number below v with its path, "" where there is none. Numbers of bytes and operations,
// which are int64, have no upper bound.
func outOfRange(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		if n := v.Int(); n < 0 || n > limit.ResultCount && v.Kind() == reflect.Int {
			return fmt.Sprintf(" is %d, but must be 0 to %d", n, limit.ResultCount)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return outOfRange(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		if _, numbers := v.Interface().([]*float64); numbers {
			return ""
		}
		for i := range v.Len() {
			if at := outOfRange(v.Index(i)); at != "" {
				return fmt.Sprintf("[%d]%s", i, at)
			}
		}
	case reflect.Map:
		for k, value := range v.Seq2() {
			if at := outOfRange(k) + outOfRange(value); at != "" {
				return "." + cut(fmt.Sprint(k)) + at
			}
		}
	case reflect.Struct:
		if _, is := v.Interface().(config.Config); is {
			return ""
		}
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if name == "task" && v.Type() == reflect.TypeFor[Expert]() {
				continue // -1 is before the run
			}
			if at := outOfRange(v.Field(i)); at != "" {
				return "." + name + at
			}
		}
	}
	return ""
}
