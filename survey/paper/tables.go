package paper

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"ocl/internal/count"
	"ocl/learn/method"
	"ocl/run/result"
	"ocl/survey"
)

// builders are the tables in the order of the paper.
var builders = []struct {
	label string
	build func(*paper, string) *table
}{
	{survey.Signals, (*paper).signals},
	{survey.Datasets, (*paper).datasets},
	{survey.Disturbances, (*paper).disturbances},
	{survey.ClassIncremental, (*paper).grid},
	{survey.ErrorAnalysis, (*paper).grid},
	{survey.TricksCIFAR100, (*paper).grid},
	{survey.TrickTimes, (*paper).grid},
	{survey.DomainIncremental, (*paper).grid},
	{survey.MethodComments, (*paper).comments},
	{survey.TrickComments, (*paper).comments},
	{survey.Hyperparameters, (*paper).hyperparameters},
	{survey.TricksMiniImage, (*paper).grid},
}

// streamOf is the stream of the first run of a benchmark, whatever else the run did; nil without one. Its protocol may
// leave out tasks.
func (s *Study) streamOf(b Benchmark) *result.Stream {
	for _, r := range s.Runs {
		c := r.Result.Config.Stream
		if r.Result.Config.Data.Name == b.Data && c.Kind == b.Kind && c.Tasks == b.Tasks && c.Shift.Kind == b.Shift &&
			c.Shift.Blur == b.Blur {
			return &r.Result.Stream
		}
	}
	return nil
}

// datasets builds tab:dataset: what the survey says of each stream, and what the results say.
func (p *paper) datasets(label string) *table {
	t := &table{Label: label, Title: "The data sets and what they are cut into",
		Text: "As the results have it. OCI streams bring new classes, ODI streams new domains. Images by task are those of the tasks in the results.",
		Head: heads([]string{"data set"}, "tasks", "training images a task", "test images a task", "classes", "image",
			"setting")}
	for _, r := range survey.Words(label) {
		name := r[0]
		if name == "NS-MiniImageNet" {
			name = survey.Noise
		}
		b := benchmark(name)
		ours := make([]string, 6)
		if s := p.streamOf(b); s != nil {
			ours = streamWords(b, s)
		}
		line := row{Cells: []cell{words(r[0])}}
		for i, published := range r[1:] {
			published = strings.ReplaceAll(published, "~", " to ")
			c := words(ours[i])
			switch {
			case ours[i] == "":
				c = missing(notRun)
				c.Small = []string{"paper " + published}
			case ours[i] != published || p.beside:
				c.Small = []string{"paper " + published}
			}
			line.Cells = append(line.Cells, c)
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// streamWords are the columns of tab:dataset.
func streamWords(b Benchmark, s *result.Stream) []string {
	var train, test []int
	for _, task := range s.Tasks {
		train, test = append(train, task.Train), append(test, task.Test)
	}
	span := func(v []int) string {
		if len(v) == 0 {
			return ""
		}
		return count.Range(slices.Min(v), slices.Max(v))
	}
	setting := "OCI"
	if b.DomainIncremental() {
		setting = "ODI"
	}
	return []string{strconv.Itoa(b.Tasks), span(train), span(test), strconv.Itoa(s.Classes),
		fmt.Sprintf("%dx%dx%d", s.Shape[0], s.Shape[1], s.Shape[2]), setting}
}

// disturbances builds tab: ns_mini. Result files hold no images, so the table has their strengths, and the command that
// draws them.
func (p *paper) disturbances(label string) *table {
	t := &table{Label: label, Title: "How strongly each task of NS-MiniImageNet is disturbed",
		Text: "Strengths of the survey and of the results. Results hold no images: `ocl data preview mini-imagenet --data-dir DIR --tasks 10 --shift noise -o sheet.png` draws some of each task.",
		Head: heads([]string{"kind"})}
	for i := range 10 {
		t.Head = append(t.Head, heads(nil, "task "+strconv.Itoa(i+1))...)
	}
	t.Head = append(t.Head, heads([]string{"results"})...)
	of := map[string][]string{}
	var kinds []string
	for _, r := range survey.Words(label) {
		if of[r[0]] == nil {
			kinds = append(kinds, r[0])
		}
		of[r[0]] = append(of[r[0]], r[2])
	}
	for _, kind := range kinds {
		line := row{Cells: []cell{words(kind)}}
		for _, v := range of[kind] {
			line.Cells = append(line.Cells, words(v))
		}
		t.Rows = append(t.Rows, row{Cells: append(line.Cells, p.strengthsOf(strings.ToLower(kind), of[kind]))})
	}
	return t
}

// strengthsOf says whether the results of a kind of disturbance have the survey's strengths.
func (p *paper) strengthsOf(kind string, published []string) cell {
	same, other := 0, 0
	for _, r := range p.Runs {
		s := r.Result.Config.Stream
		if s.Shift.Kind != kind || s.Tasks != len(published) {
			continue
		}
		list := s.Shift.Strengths(kind)
		if len(list) == 0 || slices.EqualFunc(list, published,
			func(v float64, text string) bool { w, err := strconv.ParseFloat(text, 64); return err == nil && v == w }) {
			same++
		} else {
			other++
		}
	}
	switch {
	case same+other == 0:
		return missing(notRun)
	case other == 0:
		return words("the same in " + runsText(same, 0))
	}
	return words(fmt.Sprintf("the same in %s, others in %s", runsText(same, 0), runsText(other, 0)))
}

// signals builds tab: summary: what the methods need and how they work, and what ocl tells each.
func (p *paper) signals(label string) *table {
	columns := survey.WordColumns(label)
	columns[0] = "method"
	t := &table{Label: label, Title: "What each method is told, and how it works",
		Text: "The marks are the survey's. The last two columns say what ocl tells the method besides the images and labels of each batch, and how many results there are of it.",
		Head: heads(append(columns, "ocl tells it"), "runs")}
	for _, r := range survey.Words(label) {
		line := row{}
		for i, v := range r {
			if v == "no" && i > 0 {
				v = "–"
			}
			line.Cells = append(line.Cells, words(v))
		}
		line.Cells = append(line.Cells, p.told(MethodName(r[0]))...)
		t.Rows = append(t.Rows, line)
	}
	return t
}

// told are the signals of a method, and the number of its results.
func (p *paper) told(name string) []cell {
	info, err := method.Lookup(name)
	if err != nil {
		return []cell{missing("not in ocl"), missing(notRun)}
	}
	signals := strings.Join(info.Signals, ", ")
	if signals == "" {
		signals = "nothing"
	}
	n := 0
	for _, r := range p.Runs {
		if r.Result.Method.Name == name {
			n++
		}
	}
	if n == 0 {
		return []cell{words(signals), missing(notRun)}
	}
	return []cell{words(signals), {Text: strconv.Itoa(n), Value: float64(n), Number: true}}
}

// parameters are the names that the survey has for the keys of a config, by method for its options.
var parameters = map[string]string{"LR": "optimizer.lr", "WD": "optimizer.weight_decay",
	"lambda": "method.ewc++.lambda", "C": "method.mir.candidates", "n": "method.gss.subset_size",
	"cc": "method.cndpm.classifier_chill", "alpha": "method.cndpm.log_alpha"}

// hyperColumns are the columns of table:hyper, and hyperColumn is that of each benchmark.
var (
	hyperColumns = []string{"CIFAR-100", "Mini-ImageNet", "CORe50-NC", "NS-MiniImageNet", "CORe50-NI"}
	hyperColumn  = map[string]string{survey.CIFAR100: "CIFAR-100", survey.MiniImageNet: "Mini-ImageNet",
		survey.CORe50NC: "CORe50-NC",
		survey.Noise:    "NS-MiniImageNet", survey.Occlusion: "NS-MiniImageNet", survey.Blur: "NS-MiniImageNet",
		survey.CORe50NI: "CORe50-NI"}
)

// hyperparameters builds table:hyper: the values that the survey tried, and those that our runs of the tables have.
func (p *paper) hyperparameters(label string) *table {
	t := &table{Label: label, Title: "The hyperparameters that were tried, and those of our runs",
		Text: "The survey's grids, and below each data set the values of the runs in the tables of methods. The survey did not record what it chose.",
		Head: heads([]string{"method", "parameter", "grid"}, hyperColumns...)}
	used := p.usedValues()
	last := ""
	for _, g := range survey.Grids() {
		line := row{Cells: []cell{words(g.Method), words(strings.TrimSpace(g.Parameter + " " + g.Dataset)),
			words(strings.Join(g.Values, ", "))}, Rule: last != "" && g.Method != last}
		last = g.Method
		for _, c := range hyperColumns {
			switch counts := used[[3]string{MethodName(g.Method), g.Parameter, c}]; {
			case g.Dataset != "" && g.Dataset != c:
				line.Cells = append(line.Cells, words("–"))
			case len(counts) == 0:
				line.Cells = append(line.Cells, missing(notRun))
			default:
				line.Cells = append(line.Cells, valuesCell(counts))
			}
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// usedValues counts the values of the runs in the tables of methods, by method, parameter and column of table:hyper.
func (p *paper) usedValues() map[[3]string]map[string]int {
	used := map[[3]string]map[string]int{}
	for _, label := range []string{survey.ClassIncremental, survey.DomainIncremental} {
		for _, c := range p.Cells(label) {
			for _, r := range c.Runs {
				for parameter, key := range parameters {
					if v, ok := r.Result.Config.Text(key); ok {
						k := [3]string{c.Spec.Method, parameter, hyperColumn[c.Column]}
						if used[k] == nil {
							used[k] = map[string]int{}
						}
						used[k][v]++
					}
				}
			}
		}
	}
	return used
}

// valuesCell lists values with the number of their runs, most runs first.
func valuesCell(counts map[string]int) cell {
	values := slices.Sorted(maps.Keys(counts))
	slices.SortStableFunc(values, func(a, b string) int { return counts[b] - counts[a] })
	if len(values) == 1 {
		return cell{Text: values[0], Small: []string{runsText(counts[values[0]], 0)}}
	}
	var parts []string
	for _, v := range values {
		parts = append(parts, fmt.Sprintf("%s (%d)", v, counts[v]))
	}
	return words(strings.Join(parts, ", "))
}
