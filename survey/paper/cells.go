package paper

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"ocl/config"
	"ocl/internal/count"
	"ocl/run/metric"
	"ocl/run/metric/compare"
	"ocl/run/result"
	"ocl/survey"
)

// tables are the labels of the tables whose cells are measured, in the order of the paper. A cell that several have
// belongs to the first.
var tables = []string{survey.ClassIncremental, survey.ErrorAnalysis, survey.TricksCIFAR100, survey.TrickTimes,
	survey.DomainIncremental, survey.TricksMiniImage}

// Cell is a cell of a table of the survey, and our runs of it.
type Cell struct {
	Table, Row, Column string
	Memory             int // samples; 0 where the table names none
	Published          survey.Value
	Spec               Spec   // which runs it is made of; the zero value for a row of others, such as "Best OCI"
	Known              bool   // ocl has the method
	Repeat             string // the table that has the same cell first; "" is this one

	Runs     []*Run          // that it is made of, by seed; those that diverged too
	Values   []float64       // what each of them measured, in the unit of the table; NaN of one that diverged
	Settings string          // of the runs, such as "optimizer.lr=0.01", or "tuned"
	Ours     metric.Estimate // the survey gives it as mean ± 95 %

	Others      []*Run    // further runs of these seeds and settings, by path, which do not count ([Study.Find])
	OtherValues []float64 // what each of them measured

	// why its setting is one that was chosen because it came nearer to the published value; "" is one that was not
	Nearness string
	Judgement
}

// Difference is our mean minus the published one; NaN without runs.
func (c *Cell) Difference() float64 { return c.Ours.Mean - c.Published.Mean }

// Diverged is the number of runs that diverged.
func (c *Cell) Diverged() int { return len(c.Runs) - c.Ours.N }

// Files are the paths of the results.
func (c *Cell) Files() []string {
	var paths []string
	for _, r := range c.Runs {
		paths = append(paths, r.Path)
	}
	return paths
}

// Seconds is the wall time of all runs.
func (c *Cell) Seconds() float64 {
	sum := 0.0
	for _, r := range c.Runs {
		sum += r.Seconds()
	}
	return sum
}

// Seconds is the run time of a run.
func (r *Run) Seconds() float64 { return r.Result.Seconds.All() }

// bestRow is a row of the tables of tricks: the best method of the table of methods.
const bestRow = "Best OCI"

// specOf says which runs a cell of a table needs. ok is false for a row such as "Best OCI", which repeats another row,
// and for a method that ocl does not have.
func specOf(label string, v survey.Value) (s Spec, ok bool) {
	s = Spec{Benchmark: survey.CIFAR100, Protocol: config.ProtocolSurvey, Classifier: config.ClassifierHead,
		Memory: v.Memory}
	trick := v.Row
	switch label {
	case survey.ClassIncremental, survey.DomainIncremental:
		s.Benchmark, s.Method, trick = v.Column, MethodName(v.Row), ""
	case survey.ErrorAnalysis:
		s.Protocol, s.Method, trick = config.ProtocolStandard, MethodName(v.Row), "" // docs/deviations.md
	case survey.TrickTimes:
		s.Method = MethodName("ER")
	default:
		if label == survey.TricksMiniImage {
			s.Benchmark = survey.MiniImageNet
		}
		if s.Method = MethodName(v.Column); v.Column == "" { // Finetune and Offline stand above all columns
			s.Method, trick = MethodName(v.Row), ""
		}
	}
	switch trick {
	case "", "N/A", "NA":
	case bestRow:
		return Spec{}, false
	case "NCM":
		s.Classifier = config.ClassifierNCM
	default:
		s.Tricks = strings.ToLower(trick)
	}
	return s, s.Method != ""
}

// measure is what a table measures of a run, in its unit: per cent, seconds or test images.
func measure(label, column, classifier string, r *Run) (float64, bool) {
	switch label {
	case survey.TrickTimes:
		return r.Seconds(), true
	case survey.ErrorAnalysis:
		return lastErrors(column, r)
	}
	m, ok := r.Metrics(classifier)
	if !ok || m.AverageAccuracy == nil {
		return math.NaN(), false
	}
	return 100 * *m.AverageAccuracy, true
}

// needOf is what a run must have for a table.
func needOf(label, column, classifier string) Need {
	return func(r *Run) bool {
		if label == survey.TrickTimes {
			return r.timed(classifier)
		}
		_, ok := measure(label, column, classifier, r)
		return ok || r.diverged()
	}
}

// timed says whether the seconds of a run are those of one classifier, and of a job that a study kept the machine free
// for.
func (r *Run) timed(classifier string) bool {
	c := r.Result.Config.Classifiers
	return r.Result.Provenance.Timed && len(c) == 1 && c[0] == classifier
}

func (r *Run) diverged() bool { return r.Result.Outcome.State == result.Diverged }

// lastErrors is a column of the error analysis after the last task.
func lastErrors(column string, r *Run) (float64, bool) {
	last := r.Result.ErrorAnalysis.Last()
	if last == nil {
		return math.NaN(), false
	}
	key, ratio := map[string]string{"e(n,o)": "errors_new_as_old", "e(n,n)": "errors_new_as_new",
		"e(o,o)": "errors_old_as_old", "e(o,n)": "errors_old_as_new"}[column], 1.0
	if key == "" { // the published table has shares of the errors (docs/deviations.md)
		key, ratio = map[string]string{"er(n,o)": "errors_new_as_old_of_errors",
			"er(o,n)": "errors_old_as_new_of_errors"}[column], 100
	}
	v := result.ErrorOf(key)(last)
	if v == nil {
		return math.NaN(), false
	}
	return ratio * *v, true
}

// Metrics are those of one of the classifiers that a run measured; ok is false for another one. The method's own rule
// is config.ClassifierHead.
func (r *Run) Metrics(classifier string) (m result.Metrics, ok bool) {
	if list := r.Result.Config.Classifiers; len(list) == 0 || list[0] == classifier {
		return r.Result.Metrics, true
	}
	c, ok := r.Result.Classifiers[classifier]
	return c.Metrics, ok
}

// Need says whether a run has measured what a table needs. Other runs are ignored.
type Need func(*Run) bool

// Find returns the runs of a spec that have what is needed, one for each seed in rising order, all with the same
// settings where the survey has a grid. Those that were chosen on CIFAR-100 come first, then those of runs that were
// tuned one by one, then those that most runs have. Of several runs of a seed the first by [compare.Engine.Compare]
// counts.
func (s *Study) Find(spec Spec, need Need) (runs []*Run, settings string) {
	runs, _, settings = s.find(spec, need)
	return runs, settings
}

// find is Find with the other runs of these seeds and settings, by path.
func (s *Study) find(spec Spec, need Need) (runs, others []*Run, settings string) {
	key, wanted := keysOf(spec)
	of := map[string]map[uint64]*Run{}
	var order []string
	for _, r := range s.byKey[key] {
		if !need(r) {
			continue
		}
		if of[r.settings] == nil {
			of[r.settings] = map[uint64]*Run{}
			order = append(order, r.settings)
		}
		if old := of[r.settings][r.Seed]; old == nil || r.before(old) {
			of[r.settings][r.Seed] = r
		}
	}
	rank := func(settings string) int {
		switch {
		case settings == wanted:
			return 0
		case strings.HasPrefix(settings, tunedText):
			return 1
		}
		return 2
	}
	slices.SortStableFunc(order, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return len(of[b]) - len(of[a])
	})
	if len(order) == 0 {
		return nil, nil, ""
	}
	for _, r := range s.byKey[key] {
		switch {
		case r.settings != order[0] || !need(r):
		case of[r.settings][r.Seed] == r:
			runs = append(runs, r)
		default:
			others = append(others, r)
		}
	}
	slices.SortFunc(runs, func(a, b *Run) int { return cmp.Compare(a.Seed, b.Seed) })
	return runs, others, order[0]
}

// Kernels are what computed a run: the kernel set and the algorithm of convolutions. Others differ in rounding, which
// moves an accuracy about as far as another seed does. So runs of one method are compared seed by seed only with the
// same kernels.
func (r *Run) Kernels() string {
	return r.Result.Provenance.Kernel + " " + r.Result.Provenance.Convolution
}

// Engine are the kernels as package compare has them.
func (r *Run) Engine() compare.Engine { return engineOf(r.Result) }

func engineOf(r *result.Result) compare.Engine {
	return compare.EngineOf(r.Provenance.Kernel, r.Provenance.Convolution)
}

// before says whether a run counts rather than another one of the same seed. Runs of equal kernels have the same
// accuracies, so of those the order says only which file is named.
func (r *Run) before(other *Run) bool {
	if by := r.Engine().Compare(other.Engine()); by != 0 {
		return by < 0
	}
	if timed := r.Result.Provenance.Timed; timed != other.Result.Provenance.Timed {
		return !timed
	}
	return r.evaluations() < other.evaluations()
}

// evaluations returns a rank that is higher the more a run evaluates.
func (r *Run) evaluations() int {
	return slices.Index([]string{config.EvalFinal, config.EvalSeen, config.EvalAll}, r.Result.Config.Eval)
}

// Cells are those of a table with published values, in the order of its data file. It panics for the label of another
// table.
func (s *Study) Cells(label string) []*Cell {
	var cells []*Cell
	for _, v := range survey.Read(label) {
		c := &Cell{Table: label, Row: v.Row, Column: v.Column, Memory: v.Memory, Published: v, Ours: metric.EstimateOf(nil)}
		if c.Spec, c.Known = specOf(label, v); c.Known {
			s.fill(c)
			c.Repeat = firstTable(c)
			if label != survey.TrickTimes {
				c.Nearness = nearness(c.Spec)
			}
		} else if v.Row == bestRow {
			c.Known, c.Repeat = true, survey.ClassIncremental
		}
		cells = append(cells, c)
	}
	for _, c := range cells {
		if c.Row == bestRow {
			s.fillBest(c)
		}
	}
	s.judge(cells)
	return cells
}

// fill finds the runs of a cell and measures them.
func (s *Study) fill(c *Cell) {
	c.Runs, c.Others, c.Settings = s.find(c.Spec, needOf(c.Table, c.Column, c.Spec.Classifier))
	values := func(runs []*Run) (values []float64) {
		for _, r := range runs {
			v, ok := measure(c.Table, c.Column, c.Spec.Classifier, r)
			if !ok || r.diverged() && !s.confirms {
				v = math.NaN()
			}
			values = append(values, v)
		}
		return values
	}
	c.Values, c.OtherValues = values(c.Runs), values(c.Others)
	c.Ours = metric.EstimateOf(c.Values)
}

// fillBest makes a cell that of the method without tricks that is best at its memory, of those that were run.
func (s *Study) fillBest(c *Cell) {
	column := survey.CIFAR100
	if c.Table == survey.TricksMiniImage {
		column = survey.MiniImageNet
	}
	for _, m := range s.Cells(survey.ClassIncremental) {
		if m.Column == column && m.Memory == c.Memory && m.Ours.N > 0 && !(m.Ours.Mean <= c.Ours.Mean) {
			c.Spec, c.Runs, c.Values, c.Settings, c.Ours = m.Spec, m.Runs, m.Values, m.Settings, m.Ours
			c.Others, c.OtherValues = m.Others, m.OtherValues
		}
	}
}

// firstTable is the table that has the same cell before this one; "" means none. Tables of accuracies alone share
// cells.
func firstTable(c *Cell) string {
	for _, label := range []string{survey.ClassIncremental, survey.TricksCIFAR100, survey.TricksMiniImage,
		survey.DomainIncremental} {
		if label == c.Table || c.Table == survey.ErrorAnalysis || c.Table == survey.TrickTimes {
			return ""
		}
		for _, v := range survey.Read(label) {
			if spec, ok := specOf(label, v); ok && spec == c.Spec {
				return label
			}
		}
	}
	return ""
}

// Counts are numbers of cells by verdict.
type Counts map[Verdict]int

// Sum is the number of all cells that were counted.
func (c Counts) Sum() int {
	sum := 0
	for _, n := range c {
		sum += n
	}
	return sum
}

// String says how many cells have which verdict. Those that no cell has are left out, but for the first three.
func (c Counts) String() string {
	words := []string{fmt.Sprintf("%d agree", c[Agrees]), fmt.Sprintf("%d differ", c[Differs]),
		fmt.Sprintf("%d are undecided", c[Undecided])}
	for _, v := range []Verdict{Undecidable, NotRun} {
		if c[v] > 0 {
			words = append(words, fmt.Sprintf("%d are %s", c[v], v))
		}
	}
	return count.And(words)
}

// countMeasured counts cells, without those that repeat a cell of another table, and of these those that were measured.
func countMeasured(cells []*Cell) (all, measured int) {
	for _, c := range cells {
		if c.Repeat == "" {
			all++
			measured += min(c.Ours.N, 1)
		}
	}
	return all, measured
}

// CountVerdicts counts cells by verdict, without those that repeat a cell of another table or have no verdict.
func CountVerdicts(cells []*Cell) Counts {
	return countBy(cells, func(c *Cell) Verdict { return c.Verdict })
}

// CountFormer is CountVerdicts by the former rule.
func CountFormer(cells []*Cell) Counts {
	return countBy(cells, func(c *Cell) Verdict { return c.Former })
}

func countBy(cells []*Cell, of func(*Cell) Verdict) Counts {
	counts := Counts{}
	for _, c := range cells {
		if v := of(c); v != NoVerdict && c.Repeat == "" {
			counts[v]++
		}
	}
	return counts
}
