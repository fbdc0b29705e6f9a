package paper

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ocl/config"
	"ocl/metric"
	"ocl/survey"
)

// arm is a side of a comparison: a method as the survey calls it, with a trick as its tables call it. The method "best other" is the one with
// the highest mean of all others in the table of methods.
type arm struct{ method, trick string }

const bestOther = "best other"

// question is a measurement that bears on a comment: how far a is from b, over the same seeds, on each benchmark at each memory.
type question struct {
	a, b       arm
	benchmarks []string
	memories   []int
	ratio      bool // of run times, a divided by b, instead of the difference of accuracies
}

var (
	newClasses = []string{survey.CIFAR100, survey.MiniImageNet, survey.CORe50NC}
	newDomains = []string{survey.Noise, survey.Occlusion, survey.Blur, survey.CORe50NI}
	smallSets  = []string{survey.CIFAR100, survey.MiniImageNet}
	everywhere = append(slices.Clone(newClasses), newDomains...)
	cifar      = []string{survey.CIFAR100}
)

// plain is a method without trick, tricked ER with a trick.
func plain(name string) arm   { return arm{name, ""} }
func tricked(name string) arm { return arm{"ER", name} }

// times are questions about run times on CIFAR-100 at 5,000.
func times(a arm, others ...arm) (all []question) {
	for _, b := range others {
		all = append(all, question{a, b, cifar, []int{5000}, true})
	}
	return all
}

// gains are questions about what a trick adds to ER and MIR on CIFAR-100.
func gains(trick string) []question {
	return []question{{arm{"ER", trick}, plain("ER"), cifar, memories, false}, {arm{"MIR", trick}, plain("MIR"), cifar, memories, false}}
}

// passing are questions about whether ER and MIR with a trick pass the best method without tricks.
func passing(trick string, at []int) []question {
	return []question{{arm{"ER", trick}, plain(bestOther), smallSets, at, false}, {arm{"MIR", trick}, plain(bestOther), smallSets, at, false}}
}

// bearing are the measurements that bear on each comment, by table, row and number of the comment. What no measurement of a table bears on
// has its answer in another function.
var bearing = map[[3]string][]question{
	{survey.MethodComments, "EWC++", "1"}:  {{plain("EWC++"), plain("Finetune"), everywhere, []int{0}, false}},
	{survey.MethodComments, "LwF", "1"}:    {{plain("LwF"), plain("ER"), smallSets, []int{1000}, false}},
	{survey.MethodComments, "LwF", "2"}:    {{plain("LwF"), plain("Finetune"), newDomains, []int{0}, false}},
	{survey.MethodComments, "ER", "1"}:     times(plain("ER"), plain("MIR"), plain("GSS"), plain("A-GEM"), plain("iCaRL"), plain("GDumb")),
	{survey.MethodComments, "ER", "2"}:     {{plain("ER"), plain("GSS"), newClasses, memories, false}, {plain("ER"), plain("MIR"), newClasses, memories, false}},
	{survey.MethodComments, "MIR", "1"}:    {{plain("MIR"), plain(bestOther), everywhere, []int{5000}, false}},
	{survey.MethodComments, "MIR", "2"}:    {{plain("MIR"), plain("ER"), newClasses, memories, false}},
	{survey.MethodComments, "GSS", "1"}:    times(plain("GSS"), plain("ER")),
	{survey.MethodComments, "GSS", "2"}:    {{plain("GSS"), plain("ER"), everywhere, []int{5000}, false}, {plain("GSS"), plain("MIR"), everywhere, []int{5000}, false}},
	{survey.MethodComments, "iCaRL", "1"}:  {{plain("iCaRL"), plain(bestOther), smallSets, []int{1000}, false}},
	{survey.MethodComments, "A-GEM", "1"}:  {{plain("A-GEM"), plain("Finetune"), everywhere, []int{5000}, false}},
	{survey.MethodComments, "GDumb", "1"}:  {{plain("GDumb"), plain(bestOther), smallSets, []int{5000, 10000}, false}},
	{survey.MethodComments, "GDumb", "2"}:  {{plain("GDumb"), plain("ER"), newDomains, memories, false}},
	{survey.MethodComments, "GDumb", "3"}:  times(plain("GDumb"), plain("ER")),
	{survey.MethodComments, "CN-DPM", "1"}: {{plain("CN-DPM"), plain("ER"), newClasses, []int{1000}, false}},
	{survey.MethodComments, "CN-DPM", "3"}: {{plain("CN-DPM"), plain("ER"), cifar, []int{1000}, true}},

	{survey.TrickComments, "LB", "1"}:   gains("LB"),
	{survey.TrickComments, "LB", "2"}:   times(tricked("LB"), plain("ER")),
	{survey.TrickComments, "KDC", "1"}:  gains("KDC"),
	{survey.TrickComments, "KDC*", "1"}: append(gains("KDC*"), times(tricked("KDC*"), plain("ER"))...),
	{survey.TrickComments, "MI", "1"}:   gains("MI"),
	{survey.TrickComments, "MI", "2"}:   times(tricked("MI"), plain("ER")),
	{survey.TrickComments, "SS", "1"}:   append([]question{{tricked("SS"), tricked("KDC*"), cifar, memories, false}}, times(tricked("SS"), tricked("KDC*"))...),
	{survey.TrickComments, "NCM", "1"}:  gains("NCM"),
	{survey.TrickComments, "NCM", "2"}:  passing("NCM", []int{5000, 10000}),
	{survey.TrickComments, "NCM", "3"}:  {{tricked("NCM"), plain("ER"), cifar, memories, true}},
	{survey.TrickComments, "RV", "1"}:   gains("RV"),
	{survey.TrickComments, "RV", "2"}:   passing("RV", []int{5000, 10000}),
	{survey.TrickComments, "RV", "3"}:   {{tricked("RV"), plain("ER"), cifar, memories, true}, {tricked("RV"), tricked("NCM"), cifar, memories, true}},
}

// comments builds tab: comment_method and tab:comment_trick: each comment beside what was measured that bears on it.
func (p *paper) comments(label string) (*table, error) {
	records, err := survey.Words(label)
	if err != nil {
		return nil, err
	}
	kind := "method"
	if label == survey.TrickComments {
		kind = "trick"
	}
	t := &table{Label: label, Title: "What the survey says of each " + kind + ", and what was measured",
		Text: "Comments in short, in words of our own. Beside each is the difference of the accuracies in points, first minus second, mean ± 95 % interval over the seeds that both have, " +
			"or the ratio of the run times. “Best other” is the method with the highest mean of all others that were run.",
		Head: []column{{kind, kind, true}, {"the survey", "the survey", true}, {"measured", "measured", true}}}
	last := ""
	for _, r := range records {
		measured := missing(notRun)
		if lines := p.answers(label, r); len(lines) > 0 {
			measured = cell{Text: lines[0], Small: lines[1:]}
		}
		name := r[0]
		t.Rows = append(t.Rows, row{Cells: []cell{words(name), words(r[2]), measured}, Rule: last != "" && last != name})
		last = name
	}
	return t, nil
}

// answers are the measurements that bear on a comment, a line for each pair that is compared.
func (p *paper) answers(label string, record []string) []string {
	key := [3]string{label, record[0], record[1]}
	if key == [3]string{survey.MethodComments, "EWC++", "2"} {
		return p.explosions()
	}
	if key == [3]string{survey.MethodComments, "CN-DPM", "2"} {
		return p.settingsTried("CN-DPM")
	}
	var lines []string
	for _, q := range bearing[key] {
		if line := p.answer(q); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// answer is a question's line, "" where nothing was run for it.
func (p *paper) answer(q question) string {
	var parts []string
	for _, name := range q.benchmarks {
		for _, m := range q.memories {
			if text := p.compare(q, name, m); text != "" {
				parts = append(parts, text)
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	word := " against "
	if q.ratio {
		word = " takes, of the time of "
	}
	return q.a.String() + word + q.b.String() + ": " + strings.Join(parts, "; ")
}

func (a arm) String() string {
	if a.trick != "" {
		return a.method + " + " + a.trick
	}
	return a.method
}

// compare is the comparison on a benchmark, "" where one side was not run.
func (p *paper) compare(q question, benchmark string, memory int) string {
	at := benchmark
	if memory > 0 {
		at += ", M = " + kilo(memory)
	}
	b := q.b
	if b.method == bestOther {
		b = p.bestBeside(q.a, benchmark, memory)
	}
	if q.ratio {
		x, y := p.seconds(q.a, benchmark, memory), p.seconds(b, benchmark, memory)
		if math.IsNaN(x / y) {
			return ""
		}
		return fmt.Sprintf("%.2f on %s", x/y, at)
	}
	first, second := p.accuracies(q.a, benchmark, memory), p.accuracies(b, benchmark, memory)
	var x, y []float64
	for seed, v := range first {
		if w, ok := second[seed]; ok && !math.IsNaN(v+w) && len(x) < metric.MaxPairs {
			x, y = append(x, v), append(y, w)
		}
	}
	if len(x) == 0 {
		return ""
	}
	c := metric.Paired(x, y)
	text := signed(c.Mean, oneDecimal)
	if c.N > 1 {
		text += " ± " + oneDecimal(c.Half)
	}
	seeds := "1 seed"
	if c.N > 1 {
		seeds = strconv.Itoa(c.N) + " seeds"
	}
	if q.b.method == bestOther {
		at += " (" + b.method + ")"
	}
	return fmt.Sprintf("%s on %s (%s)", text, at, seeds)
}

// spec is what an arm is on a benchmark; ok is false for a method that ocl does not have.
func (a arm) spec(benchmark string, memory int) (Spec, bool) {
	v := survey.Value{Row: a.method, Column: benchmark, Memory: memory}
	s, ok := specOf(survey.ClassIncremental, v)
	switch a.trick {
	case "":
	case "NCM":
		s.Classifier = config.ClassifierNCM
	default:
		s.Tricks = strings.ToLower(a.trick)
	}
	return s, ok
}

// accuracies are those of an arm by seed, in per cent.
func (p *paper) accuracies(a arm, benchmark string, memory int) map[uint64]float64 {
	found := map[uint64]float64{}
	spec, ok := a.spec(benchmark, memory)
	if !ok {
		return found
	}
	runs, _ := p.study.Find(spec, needOf(survey.ClassIncremental, "", spec.Classifier))
	for _, r := range runs {
		if v, ok := measure(survey.ClassIncremental, "", spec.Classifier, r); ok && !r.diverged() {
			found[r.Seed] = v
		}
	}
	return found
}

// seconds is the mean run time of an arm, of jobs with timing: true and the same classifiers; NaN without one.
func (p *paper) seconds(a arm, benchmark string, memory int) float64 {
	spec, ok := a.spec(benchmark, memory)
	if !ok {
		return math.NaN()
	}
	runs, _ := p.study.Find(spec, func(r *Run) bool { return r.timed(spec.Classifier) && r.Result.Config.Eval == config.EvalFinal })
	var v []float64
	for _, r := range runs {
		v = append(v, r.Seconds())
	}
	return estimateOf(v).Mean
}

// bestBeside is the method without tricks that is best on a benchmark at a memory, of those that were run, but for that of a and the bounds.
func (p *paper) bestBeside(a arm, benchmark string, memory int) arm {
	label := survey.ClassIncremental
	if slices.Contains(newDomains, benchmark) {
		label = survey.DomainIncremental
	}
	best, top := arm{}, math.Inf(-1)
	values, err := survey.Read(label)
	if err != nil {
		return best
	}
	for _, v := range values {
		if v.Column != benchmark || v.Memory != memory && v.Memory != 0 || v.Row == a.method && a.trick == "" || slices.Contains(grids[label].bounds, v.Row) {
			continue
		}
		var found []float64
		for _, x := range p.accuracies(plain(v.Row), benchmark, v.Memory) {
			found = append(found, x)
		}
		slices.Sort(found) // so that the sum does not depend on the order of a map
		if e := estimateOf(found); e.N > 0 && e.Mean > top {
			best, top = plain(v.Row), e.Mean
		}
	}
	return best
}

// explosions says how many runs of EWC++ diverged, by λ.
func (p *paper) explosions() []string {
	type tally struct{ runs, diverged int }
	of := map[float64]*tally{}
	var order []float64
	for _, r := range p.study.Runs {
		text, ok := r.Result.Config.Text("method.ewc++.lambda")
		lambda, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil || r.Result.Method.Name != "ewc++" {
			continue
		}
		if of[lambda] == nil {
			of[lambda] = &tally{}
			order = append(order, lambda)
		}
		of[lambda].runs++
		if r.diverged() {
			of[lambda].diverged++
		}
	}
	slices.Sort(order)
	var parts []string
	for _, lambda := range order {
		parts = append(parts, fmt.Sprintf("λ = %g: %d of %s", lambda, of[lambda].diverged, runsText(of[lambda].runs, 0)))
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{"Runs that diverged, " + strings.Join(parts, "; ")}
}

// settingsTried says how far the runs of a method on each benchmark are apart that differ in their settings.
func (p *paper) settingsTried(row string) []string {
	name := MethodName(row)
	of := map[string][]float64{}
	for _, r := range p.study.Runs {
		if r.Result.Method.Name != name || r.Result.Metrics.AverageAccuracy == nil || r.diverged() {
			continue
		}
		for _, b := range benchmarks {
			if b.matches(r) {
				of[b.Name] = append(of[b.Name], 100**r.Result.Metrics.AverageAccuracy)
			}
		}
	}
	var lines []string
	for _, b := range benchmarks {
		if v := of[b.Name]; len(v) > 0 {
			lines = append(lines, fmt.Sprintf("%s: %s, from %.1f to %.1f %%", b.Name, runsText(len(v), 0), slices.Min(v), slices.Max(v)))
		}
	}
	return lines
}
