package paper

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"ocl/config"
	"ocl/internal/count"
	"ocl/metric/compare"
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
			"or the ratio of the run times. Runs are compared if they have the same kernels. Higher, lower and undecided are by a paired t-test at 5 %, with Holm's correction over all differences of a comment; " +
			"below three seeds all are undecided. “Best other” is the method with the highest mean of all others that were run. The correction is then over the differences from all of them.",
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
	return p.linesOf(bearing[key])
}

// part is what a line says of a benchmark and a memory: the answer to a question of the comment's family, or a text alone.
type part struct {
	line, asked int // asked is -1 for a text alone
	at, text    string
}

// linesOf answers the questions of a comment, which are one family: a line for each that something was run for.
func (p *paper) linesOf(questions []question) []string {
	var family []compare.Question
	var parts []part
	for i, q := range questions {
		for _, name := range q.benchmarks {
			for _, m := range q.memories {
				at := name
				if m > 0 {
					at += ", M = " + kilo(m)
				}
				others := []arm{q.b}
				if q.b.method == bestOther {
					if others = p.othersOf(q.a, name, m); len(others) == 0 {
						continue
					}
				}
				if q.ratio {
					if x := p.seconds(q.a, name, m) / p.seconds(others[0], name, m); !math.IsNaN(x) {
						parts = append(parts, part{i, -1, at, fmt.Sprintf("%.2f on %s", x, at)})
					}
					continue
				}
				if q.b.method == bestOther {
					at += " (" + others[0].method + ")"
				}
				parts = append(parts, part{line: i, asked: len(family), at: at})
				// Which of the others is best is seen in the values, so all of them are asked.
				for _, b := range others {
					family = append(family, compare.Question{First: p.values(q.a, name, m), Second: p.values(b, name, m)})
				}
			}
		}
	}
	answers := compare.Family(family)
	of := make([][]string, len(questions))
	for _, x := range parts {
		if x.asked >= 0 {
			x.text = differenceText(answers[x.asked], x.at)
		}
		if x.text != "" {
			of[x.line] = append(of[x.line], x.text)
		}
	}
	var lines []string
	for i, q := range questions {
		word := " against "
		if q.ratio {
			word = " takes, of the time of "
		}
		if len(of[i]) > 0 {
			lines = append(lines, q.a.String()+word+q.b.String()+": "+strings.Join(of[i], "; "))
		}
	}
	return lines
}

// differenceText is a difference with its verdict, "" where one side was not run.
func differenceText(c compare.Comparison, at string) string {
	if c.N() == 0 {
		if c.Others > 0 {
			return "not compared on " + at + " (" + count.Of(c.Others, "seed") + ", but with other kernels)"
		}
		return ""
	}
	text := signed(c.Mean, oneDecimal)
	if !math.IsNaN(c.Half) {
		text += " ± " + oneDecimal(c.Half)
	}
	verdict := map[compare.Verdict]string{compare.FirstHigher: "higher", compare.SecondHigher: "lower", compare.Undecided: "undecided"}[c.Verdict]
	return fmt.Sprintf("%s on %s (%s, %s)", text, at, count.Of(c.N(), "seed"), verdict)
}

func (a arm) String() string {
	if a.trick != "" {
		return a.method + " + " + a.trick
	}
	return a.method
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

// values are the accuracies of an arm, in per cent.
func (p *paper) values(a arm, benchmark string, memory int) []compare.Value {
	spec, ok := a.spec(benchmark, memory)
	if !ok {
		return nil
	}
	return p.study.Values(spec, needOf(survey.ClassIncremental, "", spec.Classifier), func(r *Run) (float64, bool) {
		v, ok := measure(survey.ClassIncremental, "", spec.Classifier, r)
		return v, ok && !r.diverged()
	})
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

// othersOf are the methods without tricks that were run on a benchmark at a memory, but for that of a and the bounds, the most accurate first.
func (p *paper) othersOf(a arm, benchmark string, memory int) []arm {
	label := survey.ClassIncremental
	if slices.Contains(newDomains, benchmark) {
		label = survey.DomainIncremental
	}
	values, err := survey.Read(label)
	if err != nil {
		return nil
	}
	var others []arm
	means := map[arm]float64{}
	for _, v := range values {
		if v.Column != benchmark || v.Memory != memory && v.Memory != 0 || v.Row == a.method && a.trick == "" || slices.Contains(grids[label].bounds, v.Row) {
			continue
		}
		var found []float64
		seen := map[uint64]bool{}
		for _, x := range p.values(plain(v.Row), benchmark, v.Memory) {
			if !seen[x.Seed] { // the run that counts stands before its repeats
				seen[x.Seed] = true
				found = append(found, x.Value)
			}
		}
		if len(found) > 0 {
			others = append(others, plain(v.Row))
			means[plain(v.Row)] = estimateOf(found).Mean
		}
	}
	slices.SortStableFunc(others, func(a, b arm) int { return cmp.Compare(means[b], means[a]) })
	return others
}

// company is what runs must share to be counted together.
type company struct {
	place                       int // of the benchmark in the order of the tables
	benchmark, protocol, digest string
	numbers                     int
}

// String says which runs are counted.
func (c company) String() string {
	return fmt.Sprintf("%s, protocol %s, data %.8s, numbers version %d", c.benchmark, c.protocol, strings.TrimPrefix(c.digest, "sha256:"), c.numbers)
}

// companies are the runs of a method by what they must share, in the order of the tables. Results of one run, which differ in what they
// evaluate, count once.
func (p *paper) companies(method string) (order []company, of map[company][]*Run) {
	of = map[company][]*Run{}
	seen := map[string]bool{}
	for _, r := range p.study.Runs {
		i := slices.IndexFunc(benchmarks, func(b Benchmark) bool { return b.matches(r) })
		if r.Result.Method.Name != method || i < 0 {
			continue
		}
		v := r.Result.Provenance
		c := company{i, benchmarks[i].Name, r.Result.Config.Protocol, v.DataDigest, v.Numbers}
		run := fmt.Sprint(c, r.key, r.settings, r.Seed, v.Kernel, v.Convolution)
		if seen[run] {
			continue
		}
		seen[run] = true
		if of[c] == nil {
			order = append(order, c)
		}
		of[c] = append(of[c], r)
	}
	slices.SortFunc(order, func(a, b company) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.protocol, b.protocol), cmp.Compare(a.digest, b.digest), cmp.Compare(a.numbers, b.numbers))
	})
	return order, of
}

// explosions says how many runs of EWC++ diverged, by λ.
func (p *paper) explosions() (lines []string) {
	order, of := p.companies("ewc++")
	for _, c := range order {
		runs, diverged := map[float64]int{}, map[float64]int{}
		for _, r := range of[c] {
			text, ok := r.Result.Config.Text("method.ewc++.lambda")
			lambda, err := strconv.ParseFloat(text, 64)
			if !ok || err != nil {
				continue
			}
			runs[lambda]++
			if r.diverged() {
				diverged[lambda]++
			}
		}
		var parts []string
		for _, lambda := range slices.Sorted(maps.Keys(runs)) {
			parts = append(parts, fmt.Sprintf("λ = %g: %d of %s", lambda, diverged[lambda], runsText(runs[lambda], 0)))
		}
		if len(parts) > 0 {
			lines = append(lines, "Runs that diverged on "+c.String()+": "+strings.Join(parts, "; "))
		}
	}
	return lines
}

// settingsTried says how far the runs of a method are apart that differ in their settings.
func (p *paper) settingsTried(row string) (lines []string) {
	order, of := p.companies(MethodName(row))
	for _, c := range order {
		var v []float64
		for _, r := range of[c] {
			if a := r.Result.Metrics.AverageAccuracy; a != nil && !r.diverged() {
				v = append(v, 100**a)
			}
		}
		switch len(v) {
		case 0:
		case 1:
			lines = append(lines, fmt.Sprintf("%s: %s, %.1f %%", c, runsText(1, 0), v[0]))
		default:
			lines = append(lines, fmt.Sprintf("%s: %s, from %.1f to %.1f %%", c, runsText(len(v), 0), slices.Min(v), slices.Max(v)))
		}
	}
	return lines
}
