package main

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"ocl/config"
	"ocl/experiment/result"
	"ocl/method"
	"ocl/metric"
	"ocl/report"
	"ocl/report/paper"
	"ocl/survey"
)

// reproductionText is docs/reproduction.md as people wrote it. Tables and figures are filled in by the methods of page.
//
//go:embed reproduction.md.tmpl
var reproductionText string

// page has what a generated page is filled in from.
type page struct {
	root  string // of the repository
	study *paper.Study
	runs  []run // all committed results, those of earlier numbers versions too
	cells map[string][]*paper.Cell
}

// measured are the tables of the survey with cells, in the order of the page.
var measured = []string{survey.ClassIncremental, survey.TricksCIFAR100, survey.TricksMiniImage, survey.DomainIncremental, survey.ErrorAnalysis, survey.TrickTimes}

// openPage reads the committed results. Only results of earlier numbers versions may be left out.
func openPage(root string, runs []run) (*page, error) {
	s, err := paper.Read([]string{filepath.Join(root, "results")})
	if err != nil && !errors.Is(err, report.ErrLeftOut) {
		return nil, err
	}
	for _, l := range s.LeftOut {
		if !slices.ContainsFunc(runs, func(r run) bool {
			return filepath.Join(root, "results", filepath.FromSlash(r.file)) == l.Path && r.Provenance.Numbers < result.Numbers
		}) {
			return nil, fmt.Errorf("%s: %s", l.Path, l.Reason)
		}
	}
	return newPage(root, s, runs)
}

func newPage(root string, s *paper.Study, runs []run) (*page, error) {
	p := &page{root: root, study: s, runs: runs, cells: map[string][]*paper.Cell{}}
	for _, label := range measured {
		cells, err := s.Cells(label)
		if err != nil {
			return nil, err
		}
		p.cells[label] = cells
	}
	return p, nil
}

// fill fills in a text.
func fill(name, text string, from any) ([]byte, error) {
	t, err := template.New(name).Parse(text)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, from)
	return b.Bytes(), err
}

// table is a Markdown table.
type table struct{ b strings.Builder }

func tableOf(columns ...string) *table {
	t := &table{}
	t.row(columns...)
	t.b.WriteString("|" + strings.Repeat("---|", len(columns)) + "\n")
	return t
}

func (t *table) row(values ...string) { t.b.WriteString("| " + strings.Join(values, " | ") + " |\n") }

// String is the table without its last line break.
func (t *table) String() string { return strings.TrimSuffix(t.b.String(), "\n") }

const dash = "–"

// plusMinus is a mean with its interval, which one of fewer than three runs does not have.
func plusMinus(e paper.Estimate) string {
	switch {
	case e.N == 0:
		return dash
	case e.N < leastSeeds:
		return fmt.Sprintf("%.1f", e.Mean)
	}
	return fmt.Sprintf("%.1f ± %.1f", e.Mean, e.Half)
}

func published(v survey.Value) string {
	if math.IsNaN(v.Interval) {
		return fmt.Sprintf("%.0f", v.Mean)
	}
	return fmt.Sprintf("%.1f ± %.1f", v.Mean, v.Interval)
}

// signed is a difference with its sign, never −0.0.
func signed(v float64) string {
	return strings.ReplaceAll(fmt.Sprintf("%+.1f", math.Round(v*10)/10+0), "-", "−")
}

// thousands is a size of the memory; none is a dash.
func thousands(n int) string {
	switch {
	case n == 0:
		return dash
	case n < 1000:
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// joined is the values that are numbers, "–" without one.
func joined(values []float64, format string) string {
	var words []string
	for _, v := range values {
		if !math.IsNaN(v) {
			words = append(words, fmt.Sprintf(format, v))
		}
	}
	if len(words) == 0 {
		return dash
	}
	return strings.Join(words, ", ")
}

// estimate is the mean of those values that are numbers.
func estimate(values []float64) paper.Estimate {
	v := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	e := paper.Estimate{Mean: none, Half: none, N: len(v)}
	if len(v) > 0 {
		e.Mean, e.Half = metric.Interval(v)
	}
	return e
}

var seedWord = regexp.MustCompile(`-s(\d+)`)

// files names results below results/, those that differ in their seed alone as the shell does: er-m5000-s{1,2}.json.gz.
func files(root string, paths []string) string {
	seeds := map[string][]string{}
	var order []string
	for _, path := range paths {
		name, err := filepath.Rel(filepath.Join(root, "results"), path)
		if err != nil {
			name = path
		}
		name = filepath.ToSlash(name)
		m := seedWord.FindStringSubmatchIndex(name)
		form := name
		if m != nil {
			form = name[:m[2]] + "*" + name[m[3]:]
			if seeds[form] = append(seeds[form], name[m[2]:m[3]]); len(seeds[form]) == 1 {
				order = append(order, form)
			}
			continue
		}
		order = append(order, form)
	}
	for i, form := range order {
		list := strings.Join(seeds[form], ",")
		if len(seeds[form]) > 1 {
			list = "{" + list + "}"
		}
		order[i] = "`" + strings.Replace(form, "*", list, 1) + "`"
	}
	if len(order) == 0 {
		return dash
	}
	return strings.Join(order, " ")
}

// words are a command in parts: what is run, and each flag with its value.
func words(command string) []string { return strings.Split(command, " --") }

// shared are the parts of commands that most of them have, in the order of the first one that has each. A flag that takes one value, such as
// --eval, is shared with the value that most have; a command that has another one says so, and the last one counts.
func shared(commands []string) []string {
	counts, flags := map[string]int{}, map[string]int{}
	var order []string
	for _, c := range commands {
		for _, w := range words(c) {
			if counts[w]++; counts[w] == 1 {
				order = append(order, w)
			}
			flags[flagOf(w)]++
		}
	}
	most := map[string]string{}
	for _, w := range order {
		if f := flagOf(w); most[f] == "" || counts[w] > counts[most[f]] {
			most[f] = w
		}
	}
	return slices.DeleteFunc(order, func(w string) bool {
		f := flagOf(w)
		return flags[f] < len(commands) || most[f] != w || slices.Contains([]string{"method", "memory", "lr"}, f)
	})
}

func flagOf(word string) string { f, _, _ := strings.Cut(word, " "); return f }

// own are the parts of a command that are not shared.
func own(command string, shared []string) string {
	var parts []string
	for _, w := range words(command) {
		if !slices.Contains(shared, w) {
			parts = append(parts, "--"+w)
		}
	}
	return "`" + strings.Join(parts, " ") + "`"
}

// Count is how many cells of each table have which verdict.
func (p *page) Count() string {
	var heads []string
	for _, v := range paper.Verdicts() {
		heads = append(heads, string(v))
	}
	t := tableOf(append(append([]string{"cells of", "on"}, heads...), "all")...)
	line := func(first, second string, cells []*paper.Cell) {
		counts := paper.CountVerdicts(cells)
		row := []string{first, second}
		for _, v := range paper.Verdicts() {
			row = append(row, strconv.Itoa(counts[v]))
		}
		t.row(append(row, strconv.Itoa(counts.Sum()))...)
	}
	var all []*paper.Cell
	for _, label := range measured[:4] { // the others have no intervals, so no verdicts
		columns := p.columns(label)
		for _, column := range columns {
			line(label, column, p.of(label, column))
		}
		all = append(all, p.cells[label]...)
	}
	line("all", "", all)
	return t.String()
}

// columns of a table that are data sets.
func (p *page) columns(label string) []string {
	switch label {
	case survey.TricksCIFAR100:
		return []string{survey.CIFAR100}
	case survey.TricksMiniImage:
		return []string{survey.MiniImageNet}
	}
	var columns []string
	for _, c := range p.cells[label] {
		if !slices.Contains(columns, c.Column) {
			columns = append(columns, c.Column)
		}
	}
	return columns
}

// of are the cells of a table that belong to a data set.
func (p *page) of(label, column string) []*paper.Cell {
	if label == survey.TricksCIFAR100 || label == survey.TricksMiniImage {
		return slices.Clone(p.cells[label])
	}
	return slices.DeleteFunc(slices.Clone(p.cells[label]), func(c *paper.Cell) bool { return c.Column != column })
}

// Cells is every cell of a table on a data set that no table before it has, below the command that they share.
func (p *page) Cells(label, column string) string {
	cells := slices.DeleteFunc(p.of(label, column), func(c *paper.Cell) bool { return c.Repeat != "" && c.Repeat != label })
	tricks := label == survey.TricksCIFAR100 || label == survey.TricksMiniImage
	slices.SortStableFunc(cells, func(a, b *paper.Cell) int { // by method, then by trick
		if !tricks {
			return 0
		}
		return strings.Compare(a.Column, b.Column)
	})
	var commands []string
	byMeans, kept := false, false
	for _, c := range cells {
		if command := c.Command(); command != "" {
			commands = append(commands, command)
		}
		byMeans = byMeans || p.means(c).N > 0
		kept = kept || held(c) != dash
	}
	common := shared(commands)
	heads := []string{"method"}
	if tricks {
		heads = append(heads, "trick")
	}
	heads = append(heads, "M", "ocl (runs)", "by seed", "the paper", "difference", "verdict")
	if byMeans {
		heads = append(heads, "class means")
	}
	if kept {
		heads = append(heads, "memory: first two, middle, last task")
	}
	t := tableOf(append(heads, "flags", "minutes", "results")...)
	for _, c := range cells {
		name, trick := c.Row, ""
		if tricks {
			name, trick = c.Column, c.Row
		}
		row := []string{name}
		if tricks {
			row = append(row, trick)
		}
		ours, difference := plusMinus(c.Ours), dash
		if c.Ours.N > 0 {
			ours += fmt.Sprintf(" (%d)", c.Ours.N)
			difference = signed(c.Difference())
		}
		if n := c.Diverged(); n > 0 {
			ours += fmt.Sprintf(", %d of %d diverged", n, len(c.Runs))
		}
		row = append(row, thousands(c.Memory), ours, joined(c.Values, "%.1f"), published(c.Published), difference, string(c.Verdict()))
		if byMeans {
			row = append(row, plusMinus(p.means(c)))
		}
		if kept {
			row = append(row, held(c))
		}
		flags, minutes := "ocl does not have it", dash
		if command := c.Command(); command != "" {
			flags = own(command, common)
		}
		if len(c.Runs) > 0 {
			minutes = fmt.Sprintf("%.0f", math.Ceil(c.Seconds()/float64(len(c.Runs))/60))
		}
		t.row(append(row, flags, minutes, files(p.root, c.Files()))...)
	}
	return "    " + strings.Join(common, " --") + "\n\n" + t.String()
}

// means is the accuracy of the runs of a cell by the nearest class mean; nothing for a cell that is by it itself.
func (p *page) means(c *paper.Cell) paper.Estimate {
	if c.Spec.Classifier == config.ClassifierNCM {
		return estimate(nil)
	}
	return estimate(accuracies(c.Runs, config.ClassifierNCM))
}

// accuracies are what a classifier of runs reached in per cent, NaN where it was not measured and for a run that diverged.
func accuracies(runs []*paper.Run, classifier string) []float64 {
	var values []float64
	for _, r := range runs {
		m, ok := r.Metrics(classifier)
		if !ok || m.AverageAccuracy == nil || r.Result.Outcome.State != result.Finished {
			values = append(values, none)
			continue
		}
		values = append(values, 100**m.AverageAccuracy)
	}
	return values
}

// held are the shares of the memory that the first two tasks, those in the middle and the last one have at the end of the run with the first
// seed, for the methods whose memories differ.
func held(c *paper.Cell) string {
	if len(c.Runs) == 0 || c.Spec.Classifier == config.ClassifierNCM || !slices.Contains([]string{"er", "gss", "gdumb"}, c.Spec.Method) {
		return dash
	}
	rows := c.Runs[0].Held
	if len(rows) == 0 || len(rows[len(rows)-1]) < 4 {
		return dash
	}
	counts := rows[len(rows)-1]
	last := len(counts) - 1
	parts := []int{sum(counts[:2]), sum(counts[2:last]), counts[last]}
	all := float64(sum(counts))
	return fmt.Sprintf("%.0f, %.0f, %.0f %%", 100*float64(parts[0])/all, 100*float64(parts[1])/all, 100*float64(parts[2])/all)
}

func sum(counts []int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

// specOf reads the short name of runs on CIFAR-100, survey protocol: method, tricks and classifier, as in "er rv/ncm".
func specOf(name string, memory int) paper.Spec {
	name, classifier, ok := strings.Cut(name, "/")
	if !ok {
		classifier = config.ClassifierHead
	}
	name, tricks, _ := strings.Cut(name, " ")
	return paper.Spec{Benchmark: survey.CIFAR100, Protocol: config.ProtocolSurvey, Method: name, Tricks: tricks, Classifier: classifier, Memory: memory}
}

// valuesOf are the accuracies of the runs of a spec by seed, in per cent.
func (p *page) valuesOf(s paper.Spec) map[uint64]float64 {
	runs, _ := p.study.Find(s, func(r *paper.Run) bool { _, ok := r.Metrics(s.Classifier); return ok })
	values := map[uint64]float64{}
	for i, v := range accuracies(runs, s.Classifier) {
		if !math.IsNaN(v) {
			values[runs[i].Seed] = v
		}
	}
	return values
}

func (p *page) estimateOf(name string, memory int) paper.Estimate {
	return estimate(slices.Sorted(maps.Values(p.valuesOf(specOf(name, memory)))))
}

// Mean is the mean accuracy of runs on CIFAR-100, by their short name.
func (p *page) Mean(name string, memory int) (string, error) {
	e := p.estimateOf(name, memory)
	if e.N == 0 {
		return "", fmt.Errorf("no result of %s with a memory of %d is committed", name, memory)
	}
	return fmt.Sprintf("%.1f", e.Mean), nil
}

// Full is Mean in per cent with its interval, or with the number of runs where there are too few for one.
func (p *page) Full(name string, memory int) (string, error) {
	e := p.estimateOf(name, memory)
	switch {
	case e.N == 0:
		return "", fmt.Errorf("no result of %s with a memory of %d is committed", name, memory)
	case e.N == 1:
		return fmt.Sprintf("%.1f %% (one seed)", e.Mean), nil
	case e.N < leastSeeds:
		return fmt.Sprintf("%.1f %% (two seeds)", e.Mean), nil
	}
	return plusMinus(e) + " %", nil
}

// examination is runs with something changed.
type examination struct {
	spec    paper.Spec
	changes []paper.Change
	runs    []*paper.Run
}

// key tells examinations apart.
func (e examination) key() string { return fmt.Sprint(e.spec, e.changes) }

// examinations are the runs in the folders examined, and those with a blur that no table has.
func (p *page) examinations() []examination {
	of := map[string]int{}
	var all []examination
	for _, r := range p.study.Runs {
		if path := filepath.ToSlash(r.Path); !strings.Contains(path, "/examined/") && !strings.Contains(path, "/"+perImage+"/") {
			continue
		}
		spec, changes, err := paper.Planned(r.Result.Config)
		if err != nil {
			continue // it belongs to no table
		}
		e := examination{spec: spec, changes: changes}
		i, there := of[e.key()]
		if !there {
			i = len(all)
			of[e.key()] = i
			all = append(all, e)
		}
		all[i].runs = append(all[i].runs, r)
	}
	order := func(name string) int {
		return slices.IndexFunc(method.Catalogue(), func(i method.Info) bool { return i.Name == name })
	}
	slices.SortStableFunc(all, func(a, b examination) int {
		if d := order(a.spec.Method) - order(b.spec.Method); d != 0 {
			return d
		}
		if d := strings.Compare(a.spec.Tricks, b.spec.Tricks); d != 0 {
			return d
		}
		return a.spec.Memory - b.spec.Memory
	})
	return all
}

// paired are the accuracies of an examination and of the unchanged runs, of the seeds that both have.
func (p *page) paired(e examination) (changed, unchanged []float64) {
	before := p.valuesOf(e.spec)
	for i, v := range accuracies(e.runs, config.ClassifierHead) {
		if old, ok := before[e.runs[i].Seed]; ok && !math.IsNaN(v) {
			changed, unchanged = append(changed, v), append(unchanged, old)
		}
	}
	return changed, unchanged
}

// Instead is the mean accuracy of runs with a change beside that of the same seeds without it: "8.7 % instead of 4.5", the unchanged first.
// change is a key and its value.
func (p *page) Instead(name string, memory int, change string) (string, error) {
	key, value, _ := strings.Cut(change, "=")
	e, err := p.examination(specOf(name, memory), paper.Change{Key: key, Value: value})
	if err != nil {
		return "", err
	}
	changed, unchanged := p.paired(e)
	return fmt.Sprintf("%.1f %% instead of %.1f", estimate(unchanged).Mean, estimate(changed).Mean), nil
}

// examination is the one of a spec with those changes.
func (p *page) examination(spec paper.Spec, changes ...paper.Change) (examination, error) {
	all := p.examinations()
	i := slices.IndexFunc(all, func(e examination) bool { return e.spec == spec && slices.Equal(e.changes, changes) })
	if i < 0 {
		return examination{}, fmt.Errorf("no result of %s %s with a memory of %d and %v is committed", spec.Method, spec.Tricks, spec.Memory, changes)
	}
	return all[i], nil
}

// Changed is the accuracies of runs with a change, by seed, with %.
func (p *page) Changed(name string, memory int, change string) (string, error) {
	key, value, _ := strings.Cut(change, "=")
	e, err := p.examination(specOf(name, memory), paper.Change{Key: key, Value: value})
	if err != nil {
		return "", err
	}
	return joined(accuracies(e.runs, config.ClassifierHead), "%.1f"), nil
}

// ChangedMean is the mean accuracy of runs with some changes.
func (p *page) ChangedMean(name string, memory int, changes ...string) (string, error) {
	var wanted []paper.Change
	for _, c := range changes {
		key, value, _ := strings.Cut(c, "=")
		wanted = append(wanted, paper.Change{Key: key, Value: value})
	}
	e, err := p.examination(specOf(name, memory), wanted...)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%.1f", estimate(accuracies(e.runs, config.ClassifierHead)).Mean), nil
}

// Seeds is the accuracies of runs by seed.
func (p *page) Seeds(name string, memory int) string {
	values := p.valuesOf(specOf(name, memory))
	var list []float64
	for _, seed := range slices.Sorted(maps.Keys(values)) {
		list = append(list, values[seed])
	}
	return joined(list, "%.1f")
}

// Examined is a row for each examination.
func (p *page) Examined() string {
	t := tableOf("changed", "ocl, seeds", "unchanged, same seeds", "the paper", "results")
	for _, e := range p.examinations() {
		cell := paper.Cell{Known: true, Spec: e.spec, Runs: e.runs}
		var flags []string
		for _, w := range words(cell.Command())[1:] {
			switch f := flagOf(w); {
			case slices.Contains([]string{"data-dir", "protocol", "eval", "runs"}, f), w == "data cifar100", w == "tasks 20", w == "weight-decay 0.0001",
				f == "blur":
			default:
				flags = append(flags, "--"+w)
			}
		}
		for _, c := range e.changes {
			if f := c.Flag(); !slices.Contains(flags, f) && c.Key != decayKey {
				flags = append(flags, f)
			}
		}
		before := p.valuesOf(e.spec)
		var old []float64
		for _, r := range e.runs {
			if v, ok := before[r.Seed]; ok {
				old = append(old, v)
			}
		}
		t.row("`"+strings.Join(flags, " ")+"`", joined(accuracies(e.runs, config.ClassifierHead), "%.1f"), joined(old, "%.1f"),
			p.publishedOf(e.spec), files(p.root, pathsOf(e.runs)))
	}
	return t.String()
}

func pathsOf(runs []*paper.Run) []string {
	var paths []string
	for _, r := range runs {
		paths = append(paths, r.Path)
	}
	return paths
}

// publishedOf is the published value of a spec.
func (p *page) publishedOf(s paper.Spec) string {
	for _, label := range measured[:4] {
		for _, c := range p.cells[label] {
			if c.Spec == s {
				return published(c.Published)
			}
		}
	}
	return dash
}

// comparisons that the survey makes at each memory: the first is ahead of the second, or (≈) as good.
var comparisons = []struct {
	memory        int
	first         string
	alike         bool
	second        string
	first0, last0 int // memories of the two
}{
	{5000, "gdumb", false, "icarl", 5000, 5000}, {5000, "gdumb", false, "er", 5000, 5000}, {5000, "gdumb", false, "mir", 5000, 5000},
	{5000, "gdumb", false, "gss", 5000, 5000}, {5000, "gdumb", false, "agem", 5000, 5000}, {5000, "mir", false, "er", 5000, 5000},
	{5000, "agem", true, "finetune", 5000, 0}, {1000, "icarl", false, "er", 1000, 1000}, {1000, "icarl", false, "gdumb", 1000, 1000},
	{1000, "lwf", true, "er", 0, 1000},
}

// alike is the most by which methods may differ that are as good as each other, in points.
const alike = 1

// Order is the differences of runs with the same seeds.
func (p *page) Order() string {
	t := tableOf("M", "the survey", "difference, same seeds", "")
	for _, c := range comparisons {
		a, b := p.valuesOf(specOf(c.first, c.first0)), p.valuesOf(specOf(c.second, c.last0))
		var x, y []float64
		for _, seed := range slices.Sorted(maps.Keys(a)) {
			if v, ok := b[seed]; ok {
				x, y = append(x, a[seed]), append(y, v)
			}
		}
		sign := ">"
		if c.alike {
			sign = "≈"
		}
		what := title(c.first) + " " + sign + " " + title(c.second)
		if len(x) < leastSeeds {
			t.row(thousands(c.memory), what, dash, fmt.Sprintf("undecided: %d of %d seeds", len(x), leastSeeds))
			continue
		}
		d := metric.Paired(x, y)
		t.row(thousands(c.memory), what, signed(d.Mean)+fmt.Sprintf(" ± %.1f", d.Half), orderOf(c.alike, d.Mean, d.Half))
	}
	return t.String()
}

// orderOf says whether an order holds: first > second by whether 0 is outside the interval, first ≈ second by whether the interval is within
// or outside one point to either side.
func orderOf(alikeIs bool, mean, half float64) string {
	switch {
	case alikeIs && math.Abs(mean)+half <= alike, !alikeIs && mean > half:
		return "holds"
	case alikeIs && math.Abs(mean)-half > alike, !alikeIs && mean < -half:
		return "fails"
	}
	return "undecided"
}

// title is what the survey calls a method.
func title(name string) string {
	info, err := method.Lookup(name)
	if err != nil {
		return name
	}
	return strings.TrimSuffix(info.Title, "-Greedy")
}

// Metrics is a row for each method that was tested on all tasks.
func (p *page) Metrics() string {
	t := tableOf("data", "method", "M", "seeds", "forgetting", "learning accuracy", "BWT⁺", "FWT", "results")
	for _, b := range paper.Benchmarks() {
		for _, info := range method.Catalogue() {
			for _, memory := range []int{0, 1000, 5000, 10000} {
				if info.UsesMemory != (memory > 0) {
					continue
				}
				s := specOf(info.Name, memory)
				s.Benchmark = b.Name
				runs, _ := p.study.Find(s, func(r *paper.Run) bool {
					return r.Result.Config.Eval == config.EvalAll && r.Result.Outcome.State == result.Finished
				})
				if len(runs) == 0 {
					continue
				}
				row := []string{b.Name, title(info.Name), thousands(memory), strconv.Itoa(len(runs))}
				for _, of := range []func(result.Metrics) *float64{
					func(m result.Metrics) *float64 { return m.AverageForgetting }, func(m result.Metrics) *float64 { return m.LearningAccuracy },
					func(m result.Metrics) *float64 { return m.BWTPlus }, func(m result.Metrics) *float64 { return m.FWT },
				} {
					var values []float64
					for _, r := range runs {
						if v := of(r.Result.Metrics); v != nil {
							values = append(values, 100**v)
						}
					}
					row = append(row, plusMinus(estimate(values)))
				}
				t.row(append(row, files(p.root, pathsOf(runs)))...)
			}
		}
	}
	return t.String()
}

// errorColumns of table:trick_motivation.
var errorColumns = []string{"e(n,o)", "e(n,n)", "e(o,o)", "e(o,n)", "er(n,o)", "er(o,n)"}

// errorRows are the methods of table:trick_motivation with their runs.
func (p *page) errorRows() (names []string, runs map[string][]*paper.Run) {
	runs = map[string][]*paper.Run{}
	for _, c := range p.cells[survey.ErrorAnalysis] {
		if runs[c.Row] == nil {
			names = append(names, c.Row)
			runs[c.Row] = c.Runs
		}
	}
	return names, runs
}

// Errors is a row for each method of table:trick_motivation.
func (p *page) Errors() string {
	t := tableOf(append(append([]string{"method", "runs"}, errorColumns...), "the paper", "flags", "minutes", "results")...)
	names, runs := p.errorRows()
	cells := p.cells[survey.ErrorAnalysis]
	for _, name := range names {
		row := []string{name, strconv.Itoa(len(runs[name]))}
		var theirs []string
		var cell *paper.Cell
		for _, column := range errorColumns {
			i := slices.IndexFunc(cells, func(c *paper.Cell) bool { return c.Row == name && c.Column == column })
			cell = cells[i]
			ours := dash
			switch {
			case cell.Ours.N == 0:
			case strings.HasPrefix(column, "er"):
				var samples []float64
				for _, r := range cell.Runs {
					last := lastErrors(r)
					if share := map[bool]*float64{true: last.NewAsOldOfSamples, false: last.OldAsNewOfSamples}[column == "er(n,o)"]; share != nil {
						samples = append(samples, 100**share)
					}
				}
				ours = fmt.Sprintf("%.0f %% (%.0f %%)", cell.Ours.Mean, estimate(samples).Mean)
			case cell.Ours.Mean >= 1000:
				ours = thousands(int(math.Round(cell.Ours.Mean)))
			default:
				ours = fmt.Sprintf("%.0f", cell.Ours.Mean)
			}
			row = append(row, ours)
			text := fmt.Sprintf("%.0f", cell.Published.Mean)
			if cell.Published.Mean >= 1000 {
				text = thousands(int(cell.Published.Mean))
			}
			if strings.HasPrefix(column, "er") {
				text += " %"
			}
			theirs = append(theirs, text)
		}
		minutes := dash
		if len(cell.Runs) > 0 {
			minutes = fmt.Sprintf("%.0f", math.Ceil(cell.Seconds()/float64(len(cell.Runs))/60))
		}
		var flags []string
		for _, w := range words(cell.Command()) {
			if f := flagOf(w); slices.Contains([]string{"method", "memory", "lr", "set"}, f) {
				flags = append(flags, "--"+w)
			}
		}
		t.row(append(row, strings.Join(theirs, ", "), "`"+strings.Join(flags, " ")+"`", minutes, files(p.root, cell.Files()))...)
	}
	return t.String()
}

func lastErrors(r *paper.Run) result.TaskErrors {
	tasks := r.Result.ErrorAnalysis.Tasks
	return tasks[len(tasks)-1]
}

// Share is the share of a kind of error among the samples at the end of the runs of a method of table:trick_motivation, in whole per cent.
func (p *page) Share(name string, old bool, classifier string) string {
	_, runs := p.errorRows()
	var values []float64
	for _, r := range runs[name] {
		a := r.Result.ErrorAnalysis
		if classifier != config.ClassifierHead {
			a = r.Result.Classifiers[classifier].ErrorAnalysis
		}
		if a == nil || len(a.Tasks) == 0 {
			continue
		}
		last := a.Tasks[len(a.Tasks)-1]
		share := last.NewAsOldOfSamples
		if old {
			share = last.OldAsNewOfSamples
		}
		if share != nil {
			values = append(values, 100**share)
		}
	}
	return fmt.Sprintf("%.0f", estimate(values).Mean)
}

// Reached is the accuracy of the runs of a method of table:trick_motivation.
func (p *page) Reached(name, classifier string) string {
	_, runs := p.errorRows()
	return fmt.Sprintf("%.1f", estimate(accuracies(runs[name], classifier)).Mean)
}

// courses are what the survey finds of each task with old classes.
var courses = []struct {
	text string
	is   func(result.TaskErrors) (yes, known bool)
}{
	{"er(o,n) > er(n,o), of the errors or of the samples (\"most of the times\")", func(t result.TaskErrors) (bool, bool) {
		errorsOf, samples := above(t.OldAsNewOfErrors, t.NewAsOldOfErrors), above(t.OldAsNewOfSamples, t.NewAsOldOfSamples)
		return errorsOf && samples, true
	}},
	{"the mean logit of new classes is above that of old ones (\"always\")", func(t result.TaskErrors) (bool, bool) {
		return t.Logits != nil && above(t.Logits.NewOwn, t.Logits.OldOwn), t.Logits != nil
	}},
	{"so is the mean weight of their rows in the last layer", func(t result.TaskErrors) (bool, bool) {
		return t.Head != nil && above(t.Head.NewWeight, t.Head.OldWeight), t.Head != nil
	}},
	{"and the mean bias (\"most of the times\")", func(t result.TaskErrors) (bool, bool) {
		return t.Head != nil && above(t.Head.NewBias, t.Head.OldBias), t.Head != nil
	}},
}

func above(a, b *float64) bool { return a != nil && b != nil && *a > *b }

// Course says in how many tasks each finding holds, a number for each run.
func (p *page) Course() string {
	names, runs := p.errorRows()
	t := tableOf(append([]string{"what the survey finds (§error_ana)"}, names...)...)
	for _, c := range courses {
		row := []string{c.text}
		for _, name := range names {
			var counts []string
			for _, r := range runs[name] {
				n := 0
				for _, task := range r.Result.ErrorAnalysis.Tasks {
					if yes, known := c.is(task); task.Old > 0 && known && yes {
						n++
					}
				}
				counts = append(counts, strconv.Itoa(n))
			}
			row = append(row, strings.Join(counts, ", "))
		}
		t.row(row...)
	}
	return t.String()
}

// Times is tab:trick_time: our seconds and the paper's, and both as multiples of ER without a trick.
func (p *page) Times() string {
	cells := p.cells[survey.TrickTimes]
	base := map[int]*paper.Cell{}
	var commands []string
	for _, c := range cells {
		if c.Row == "N/A" {
			base[c.Memory] = c
		}
		commands = append(commands, c.Command())
	}
	common := shared(commands)
	t := tableOf("trick", "M", "ocl, seconds (runs)", "the paper, seconds", "ocl, times ER alone", "the paper", "flags", "results")
	for _, c := range cells {
		ours, ratio := "not run", dash
		if c.Ours.N > 0 {
			ours = fmt.Sprintf("%.0f (%d)", c.Ours.Mean, c.Ours.N)
			if b := base[c.Memory]; b.Ours.N > 0 {
				ratio = fmt.Sprintf("%.2f", c.Ours.Mean/b.Ours.Mean)
			}
		}
		t.row(c.Row, thousands(c.Memory), ours, published(c.Published), ratio, fmt.Sprintf("%.2f", c.Published.Mean/base[c.Memory].Published.Mean),
			own(c.Command(), common), files(p.root, c.Files()))
	}
	return "    " + strings.Join(common, " --") + "\n\n" + t.String()
}

// Gate compares both gates of GSS: the accuracies, and how much of the memory the first tasks have.
func (p *page) Gate() (string, error) {
	t := tableOf("M", "authors' gate", "text's gate", "paper", "first tasks in the memory: authors'", "text's")
	for _, g := range []struct {
		memory, tasks int
		words         string
	}{{1000, 1, "the first task"}, {5000, 2, "the first two"}, {10000, 4, "the first four"}} {
		spec := specOf("gss", g.memory)
		plain, _ := p.study.Find(spec, func(*paper.Run) bool { return true })
		text, err := p.gated(g.memory)
		if err != nil {
			return "", err
		}
		t.row(thousands(g.memory), joined(accuracies(plain, config.ClassifierHead), "%.1f"), joined(accuracies(text, config.ClassifierHead), "%.1f"),
			strings.Split(p.publishedOf(spec), " ")[0], g.words+" "+firstTasks(plain, g.tasks)+" %", firstTasks(text, g.tasks)+" %")
	}
	return "  " + strings.ReplaceAll(t.String(), "\n", "\n  "), nil // in an entry of a list
}

// gated are the runs of GSS with the text's gate.
func (p *page) gated(memory int) ([]*paper.Run, error) {
	e, err := p.examination(specOf("gss", memory), paper.Change{Key: "method.gss.gate", Value: "sample"})
	return e.runs, err
}

// firstTasks is how much of the memory the first tasks have at the end of each run, in per cent.
func firstTasks(runs []*paper.Run, n int) string {
	var shares []float64
	for _, r := range runs {
		last := r.Held[len(r.Held)-1]
		shares = append(shares, 100*float64(sum(last[:n]))/float64(sum(last)))
	}
	return joined(shares, "%.0f")
}

// Forgotten is the number of tasks on which every run of GSS with the text's gate and 5,000 samples ends with an accuracy of exactly 0.
func (p *page) Forgotten() (string, error) {
	runs, err := p.gated(5000)
	if err != nil {
		return "", err
	}
	least := math.MaxInt
	for _, r := range runs {
		n := 0
		for _, a := range r.Result.Accuracy[len(r.Result.Accuracy)-1] {
			if a != nil && *a == 0 {
				n++
			}
		}
		least = min(least, n)
	}
	return strconv.Itoa(least), nil
}

// Of is a metric of the runs that were tested on all tasks, with a memory of 5,000 or without one: mean and interval in points.
func (p *page) Of(name, key string) (string, error) {
	info, err := method.Lookup(name)
	if err != nil {
		return "", err
	}
	memory := 0
	if info.UsesMemory {
		memory = 5000
	}
	runs, _ := p.study.Find(specOf(name, memory), func(r *paper.Run) bool { return r.Result.Config.Eval == config.EvalAll })
	for _, d := range result.AllMetrics() {
		if d.Key != key {
			continue
		}
		var values []float64
		for _, r := range runs {
			if v := d.Of(r.Result.Metrics); v != nil {
				values = append(values, 100**v)
			}
		}
		return plusMinus(estimate(values)), nil
	}
	return "", fmt.Errorf("there is no metric %s", key)
}

// Span is the least and the most of a metric over methods, in whole points.
func (p *page) Span(key string, names ...string) (string, error) {
	least, most := math.Inf(1), math.Inf(-1)
	for _, name := range names {
		text, err := p.Of(name, key)
		if err != nil {
			return "", err
		}
		first, _, _ := strings.Cut(text, " ")
		v, err := strconv.ParseFloat(first, 64)
		if err != nil {
			return "", fmt.Errorf("%s of %s: %w", key, name, err)
		}
		least, most = math.Min(least, v), math.Max(most, v)
	}
	return fmt.Sprintf("%.0f to %.0f", least, most), nil
}

// lambdaRow is a line of results/cifar100/lambda.csv.
type lambdaRow struct {
	lambda   float64
	diverged bool
	step     int
}

func readLambda(root string) ([]lambdaRow, error) {
	path := filepath.Join(root, "results", "cifar100", "lambda.csv")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(records) < 2 || len(records[0]) < 3 || strings.Join(records[0][:3], ",") != "lambda,outcome,step" {
		return nil, fmt.Errorf("%s: the first line does not begin with lambda,outcome,step, or no line follows", path)
	}
	var rows []lambdaRow
	for i, r := range records[1:] {
		lambda, bad := strconv.ParseFloat(r[0], 64)
		step, alsoBad := strconv.Atoi(r[2])
		if err := errors.Join(bad, alsoBad); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, i+2, err)
		}
		rows = append(rows, lambdaRow{lambda, r[1] == result.Diverged, step})
	}
	return rows, nil
}

// Lambda says from which λ EWC++ diverges at a learning rate of 0.1, and within how many steps of the second task, which begins with step 251.
func (p *page) Lambda() (string, error) {
	rows, err := readLambda(p.root)
	if err != nil {
		return "", err
	}
	const second = 250 // steps of the first task
	least, last := math.Inf(1), 0
	for _, r := range rows {
		if r.diverged {
			least, last = math.Min(least, r.lambda), max(last, r.step-second)
		}
	}
	return fmt.Sprintf("of %g or more, the loss is no longer a finite number within %d steps", least, last), nil
}

// Standard is the first table of docs/notes/reproduction.md: runs of numbers version 1 at a learning rate of 0.1.
func (p *page) Standard() (string, error) {
	t := tableOf("method", "M", "ocl", "seeds", "published", "by whom", "difference", "results")
	for _, row := range []struct {
		method      string
		memory      int
		published   float64
		byWhom, pre string
	}{
		{"finetune", 0, 0, "", "standard-finetune-m0-"}, {"er", 2000, 12.0, "independent study, best of a sweep", "standard-er-m2000-"},
		{"er", 5000, 16.2, "independent study, best of a sweep", "standard-er-m5000-"}, {"er", 5000, 16.1, "the authors' code, same rate, one seed", "standard-er-m5000-"},
		{"er", 10000, 17.5, "independent study, best of a sweep", "standard-er-m10000-"},
	} {
		var values []float64
		var paths []string
		for _, r := range p.runs {
			if strings.HasPrefix(r.file, "cifar100/"+row.pre) {
				values, paths = append(values, 100**r.Metrics.AverageAccuracy), append(paths, filepath.Join(p.root, "results", r.file))
			}
		}
		if len(values) == 0 {
			return "", fmt.Errorf("no result cifar100/%s… is committed", row.pre)
		}
		e := estimate(values)
		theirs, byWhom, difference := dash, dash, ""
		if row.byWhom != "" {
			theirs, byWhom, difference = fmt.Sprintf("%.1f", row.published), row.byWhom, signed(e.Mean-row.published)
		}
		t.row(title(row.method), thousands(row.memory), plusMinus(e), joined(values, "%.1f"), theirs, byWhom, difference, files(p.root, paths))
	}
	return t.String(), nil
}
