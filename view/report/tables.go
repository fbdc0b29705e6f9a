package report

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ocl/config"
	"ocl/internal/count"
	"ocl/run/metric"
	"ocl/run/result"
)

// resultsTable is the main table.
func (st *study) resultsTable() *table {
	t := &table{ID: "results", Head: append(st.rowHead(),
		numCol("average accuracy, %", "average_accuracy"), hidden("average_accuracy_half_width_95"),
		numCol("forgetting, points", "average_forgetting"), hidden("average_forgetting_half_width_95"),
		numCol("learning accuracy, %", "learning_accuracy"), hidden("learning_accuracy_half_width_95"),
		numCol("time a run", "seconds"), numCol("runs", "runs"), textCol("outcome", "outcome"),
		hidden("average_accuracy_runs"), hidden("average_forgetting_runs"), hidden("learning_accuracy_runs"),
		hidden("seconds_runs"), hidden("rows_forward"), hidden("rows_backward"), hidden("memory_bytes"),
		hidden("network_bytes"),
	)}
	for _, g := range st.rows {
		row, seconds := st.head(g), g.seconds((*run).seconds)
		var runs []cell
		for _, of := range []func(result.Metrics) *float64{averageAccuracy, averageForgetting, learningAccuracy} {
			cells := g.metricCells(g.metricOf(of))
			row, runs = append(row, cells[:2]...), append(runs, cells[2])
		}
		row = append(row, numCell(g.timeText(), seconds.Mean), cell{Text: g.runsText(), Raw: strconv.Itoa(len(g.counted()))},
			textCell(g.outcomeText()))
		t.Rows = append(t.Rows, append(append(append(row, runs...), textCell(strconv.Itoa(seconds.N))), g.costs()...))
	}
	return t
}

// maxCosts is the largest number of rows whose costs are a table of the page. The CSV file of the main table has all.
const maxCosts = 12

// costs are the rows that go forward and backward for each incoming sample, and the bytes of stored samples and of the
// network with its copies.
func (g *row) costs() []cell {
	cells := []cell{{Text: "unknown"}, {Text: "unknown"}, {Text: "unknown"}, {Text: "unknown"}}
	for _, r := range g.counted() {
		x := r.Resources
		if x.NetworkBytes == 0 { // an older result
			continue
		}
		for i, v := range []float64{x.RowsForward, x.RowsBackward} {
			if cells[i] = numCell(count.Significant(v), v); v == 0 && x.RowsForward == 0 {
				cells[i] = cell{Text: "not by step"}
			}
		}
		for i, v := range []int64{x.MemoryBytes, x.NetworkBytes} {
			cells[2+i] = cell{Text: count.Bytes(v), Raw: strconv.FormatInt(v, 10)}
		}
		return cells
	}
	return cells
}

// costTable says what each row costs in rows and bytes; nil where no result says it, and for many rows.
func (s *setting) costTable() *table {
	if len(s.rows) > maxCosts {
		return nil
	}
	t := &table{ID: s.id("cost"), Title: s.titled("What a method does with each incoming sample, and what it keeps"),
		Head: headed(numCol("rows forward", "rows_forward"), numCol("rows backward", "rows_backward"),
			numCol("stored samples", "memory_bytes"), numCol("network and its copies", "network_bytes"))}
	known := false
	for _, g := range s.rows {
		cells := g.costs()
		known = known || cells[3].Raw != ""
		t.Rows = append(t.Rows, append(g.head(), cells...))
	}
	if !known {
		return nil
	}
	return t
}

// hidden is a column for machines alone, such as a half width, which people read behind the ± of the column before.
func hidden(name string) column { return column{Text: name, Name: name, Num: true, Hidden: true} }

// metricCells are a mean with its interval, and the half width and the number of runs for machines.
func (g *row) metricCells(e metric.Estimate) []cell {
	return []cell{numCell(g.text(e), e.Mean), numCell("1 run", e.Half), textCell(strconv.Itoa(e.N))}
}

// measured are the metrics of old, and of the later ones those that some row has.
func (st *study) measured() []result.Metric {
	return slices.DeleteFunc(result.AllMetrics(), func(m result.Metric) bool {
		return m.Later() && !slices.ContainsFunc(st.rows, func(g *row) bool { return g.metricOf(m.Of).N > 0 })
	})
}

// metricsTable holds every recorded metric in per cent.
func (st *study) metricsTable() *table {
	t := &table{ID: "metrics", Title: "All metrics, in per cent or percentage points", Head: st.rowHead()}
	metrics := st.measured()
	for _, m := range metrics {
		t.Head = append(t.Head, numCol(m.Title, m.Key), hidden(m.Key+"_half_width_95"), hidden(m.Key+"_runs"))
	}
	for _, g := range st.rows {
		row := st.head(g)
		for _, m := range metrics {
			row = append(row, g.metricCells(g.metricOf(m.Of))...)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// meanings say what each metric is.
func (st *study) meanings() []fact {
	var f []fact
	for _, m := range st.measured() {
		f = append(f, fact{upper(m.Title), upper(m.Help) + "."})
	}
	return f
}

// signalsTable says which supervisory signals each method used.
func (st *study) signalsTable() *table {
	used := map[string]bool{}
	for _, g := range st.rows {
		for _, s := range g.method.Signals {
			used[s] = true
		}
	}
	names := slices.Sorted(maps.Keys(used))
	t := &table{ID: "signals", Head: []column{textCol("method", "method")}}
	for _, n := range names {
		t.Head = append(t.Head, textCol(n, slugify(n)))
	}
	if len(names) == 0 {
		t.Head = append(t.Head, textCol("signals", "signals"))
	}
	done := map[string]bool{}
	for _, g := range st.rows {
		if done[g.title()] {
			continue
		}
		done[g.title()] = true
		row := []cell{{Text: g.title(), Raw: g.method.Name, Mark: g.style.Class}}
		for _, n := range names {
			c := cell{Text: "–", Raw: "no"}
			switch {
			case g.foreign():
				c = textCell("unknown")
			case slices.Contains(g.method.Signals, n):
				c = cell{Text: "uses", Raw: "yes"}
			}
			row = append(row, c)
		}
		switch {
		case len(names) == 0 && g.foreign():
			row = append(row, textCell("unknown"))
		case len(names) == 0:
			row = append(row, cell{Text: "none besides the labels", Raw: "none"})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// runsTable lists every run with what its numbers depend on.
func (st *study) runsTable() *table {
	t := &table{ID: "runs", Head: []column{
		textCol("run", "folder"), textCol("method", "method"), numCol("seed", "seed"),
		numCol("accuracy, %", "average_accuracy"),
		textCol("outcome", "outcome"), numCol("steps", "steps"), numCol("training", "train_seconds"),
		numCol("preparing", "prepare_seconds"),
		numCol("testing", "test_seconds"), numCol("peak memory", "peak_resident_bytes"), hidden("parameters"),
		hidden("started"), hidden("ended"),
	}}
	for _, g := range st.rows {
		for _, r := range slices.Concat(g.runs, g.more) {
			acc := orNaN(r.Metrics.AverageAccuracy)
			text := "not measured"
			if acc == acc {
				text = count.Percent(acc)
			}
			outcome := r.Outcome.State
			if r.Outcome.Reason != "" {
				outcome += ": " + r.Outcome.Reason
			}
			what := []cell{
				folderCell(r.folder), {Text: g.full(), Raw: g.full(), row: g},
				textCell(strconv.FormatUint(r.seed, 10)), numCell(text, acc),
			}
			if r.Foreign != nil {
				what = append(what, textCell("foreign"))
				for len(what) < len(t.Head) {
					what = append(what, cell{Text: count.None})
				}
				t.Rows = append(t.Rows, what)
				continue
			}
			t.Rows = append(t.Rows, append(what, []cell{
				textCell(outcome), {Text: count.Number(r.Outcome.Step), Raw: strconv.Itoa(r.Outcome.Step)},
				numCell(count.Duration(r.Seconds.Train), r.Seconds.Train),
				numCell(count.Duration(r.Seconds.Prepare), r.Seconds.Prepare),
				numCell(count.Duration(r.Seconds.Test), r.Seconds.Test),
				sizeCell(r.Resources.PeakResidentBytes), {Text: count.Number(r.Resources.Parameters),
					Raw: strconv.Itoa(r.Resources.Parameters)},
				textCell(r.Provenance.Started), textCell(r.Provenance.Ended),
			}...))
		}
	}
	for i, line := range t.Rows {
		front := strings.TrimSuffix(line[0].Raw, line[0].Text)
		if i > 0 && front != t.Front {
			t.Front = ""
			break
		}
		t.Front = front
	}
	return t
}

// folderCell shows the last two names of a folder's path.
func folderCell(folder string) cell {
	raw := filepath.ToSlash(folder)
	parts := strings.Split(raw, "/")
	return cell{Text: strings.Join(parts[max(0, len(parts)-2):], "/"), Raw: raw}
}

func sizeCell(n int64) cell {
	if n <= 0 {
		return cell{Text: "not measured"}
	}
	return cell{Text: count.Bytes(n), Raw: strconv.FormatInt(n, 10)}
}

// provenanceTable groups the runs by what else their numbers depend on.
func (st *study) provenanceTable() *table {
	t := &table{ID: "provenance", Head: []column{
		numCol("runs", "runs"), textCol("kernel", "kernel"), textCol("convolution", "convolution"),
		numCol("workers", "workers"), numCol("runs at once", "concurrency"),
		numCol("numbers", "numbers"), textCol("program", "program"), textCol("revision", "revision"), textCol("Go", "go"),
		textCol("processor", "processor"), textCol("data", "stream"), textCol("data digest", "data_digest"),
	}}
	var order []string
	n, rows := map[string]int{}, map[string][]cell{}
	for _, r := range st.runs {
		p := r.Provenance
		digest := p.DataDigest
		row := []cell{
			textCell(orUnknown(p.Kernel)), textCell(orUnknown(p.Convolution)),
			textCell(strconv.Itoa(p.Workers)), textCell(strconv.Itoa(p.Concurrency)), textCell(strconv.Itoa(p.Numbers)),
			textCell(orUnknown(p.Program)), {Text: shorten(orUnknown(p.Revision), 12), Raw: p.Revision},
			textCell(orUnknown(p.Go)),
			textCell(orUnknown(p.Processor)), textCell(orUnknown(r.Stream.Name)),
			{Text: shorten(orUnknown(digest), 19), Raw: digest},
		}
		if r.Foreign != nil {
			row = foreignOrigin(r, len(row))
		}
		var b strings.Builder
		for _, c := range row {
			b.WriteString(c.Raw + "\x00")
		}
		key := b.String()
		if n[key] == 0 {
			order = append(order, key)
			rows[key] = row
		}
		n[key]++
	}
	for _, key := range order {
		t.Rows = append(t.Rows, append([]cell{textCell(strconv.Itoa(n[key]))}, rows[key]...))
	}
	return t
}

// foreignOrigin are the cells of the table of provenance, so many, for what another program has measured.
func foreignOrigin(r *run, cells int) []cell {
	row := slices.Repeat([]cell{{Text: count.None}}, cells)
	const program, stream, digest = 5, 9, 10
	row[program] = textCell("foreign: " + r.Foreign.Program)
	row[stream] = textCell(orUnknown(r.Stream.Name))
	row[digest] = cell{Text: "unknown"}
	return row
}

// classesText counts the classes of the tasks, beside those of the network where it has more.
func classesText(st result.Stream) string {
	of := map[int]bool{}
	for _, t := range st.Tasks {
		for _, c := range t.Classes {
			of[c] = true
		}
	}
	if n := len(of); n > 0 && n < st.Classes { // files may not say the classes of tasks
		return count.Number(n) + " of " + count.Of(st.Classes, "class")
	}
	return count.Of(st.Classes, "class")
}

// fact is a line of "what was run".
type fact struct{ Name, Value string }

// facts say what was run in one setting.
func (s *setting) facts() []fact {
	st := s.stream
	train, test := images(st)
	f := []fact{
		{"Stream", fmt.Sprintf("%s, %s, %s", orUnknown(st.Name), orUnknown(st.Scenario), st.Sample())},
		{"Tasks", fmt.Sprintf("%s%s with %s in all, %s training images and %s test images", count.Of(len(st.Tasks), "task"),
			s.numbersText(), classesText(st), count.Number(train), count.Number(test))},
	}
	if s.first.Foreign != nil {
		f = []fact{{"Stream", orUnknown(st.Name) + ", " + orUnknown(st.Scenario)}, {"Tasks", count.Of(len(st.Tasks), "task")}}
	}
	if names := s.namesText(); names != "" {
		f = append(f, fact{"Names of tasks", names})
	}
	f = append(f, fact{"Protocol", orUnknown(st.Protocol)})
	values := func(of func(*run) string) string {
		var out []string
		for _, g := range s.rows {
			for _, r := range g.runs {
				if v := of(r); v != "" && !slices.Contains(out, v) {
					out = append(out, v)
				}
			}
		}
		return strings.Join(out, "; ")
	}
	add := func(name, v string) {
		if v != "" {
			f = append(f, fact{name, v})
		}
	}
	add("Special", streamText(s.first))
	add("Parent", values(parentText))
	add("Other modules", values(func(r *run) string { return registeredText([]*run{r}) }))
	add("Data", strings.Join(st.Notes, "; "))
	add("Evaluation", values(evaluationText))
	add("Network", values(networkText))
	add("Optimiser", values(optimizerText))
	add("Batches", values(batchesText))
	var methods, sets []string
	for _, g := range s.rows {
		var seeds []string
		for _, r := range g.runs {
			seeds = append(seeds, strconv.FormatUint(r.seed, 10))
		}
		methods, sets = append(methods, g.Label), append(sets, seedList(seeds))
	}
	if len(slices.Compact(slices.Clone(sets))) == 1 {
		return append(f, fact{"Methods", strings.Join(methods, "; ")}, fact{"Runs", sets[0] + " of each method"})
	}
	for i := range methods {
		methods[i] += " (" + sets[i] + ")"
	}
	return append(f, fact{"Methods", strings.Join(methods, "; ")})
}

// registeredText lists what runs use of other modules: "method er-ace of example.com/ace v1.2.0".
func registeredText(runs []*run) string {
	var list []string
	for _, r := range runs {
		for _, registered := range r.Provenance.Registered {
			if text := registered.String(); !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	return count.And(list)
}

// parentText says which run a run has continued.
func parentText(r *run) string {
	p := r.Parent
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%s, %s and %s steps, %s, checkpoint %s", p.Run, count.Of(p.Tasks, "task"), count.Number(p.Steps),
		count.Of(p.Classes, "class"), shorten(p.Checkpoint, 19))
}

// numbersText says which tasks of the whole stream these are, where they are not its first ones: " (2, 4 to 8 of the
// stream)".
func (s *setting) numbersText() string {
	numbers := s.taskNumbers()
	if n := len(numbers); n == 0 || numbers[n-1] == n {
		return ""
	}
	var parts []string
	for from := 0; from < len(numbers); {
		to := from
		for to+1 < len(numbers) && numbers[to+1] == numbers[to]+1 {
			to++
		}
		parts = append(parts, count.Range(numbers[from], numbers[to]))
		from = to + 1
	}
	return " (" + strings.Join(parts, ", ") + " of the stream)"
}

// namesText lists the names of the tasks with their numbers: "1 spring, 2 autumn"; "" where no task has a name.
func (s *setting) namesText() string {
	var words []string
	for _, t := range s.stream.Tasks {
		if t.Name != "" {
			words = append(words, fmt.Sprintf("%d %s", t.Index+1, t.Name))
		}
	}
	return strings.Join(words, ", ")
}

// evaluationText says when a run was evaluated.
func evaluationText(r *run) string {
	text := map[string]string{
		config.EvalSeen: "after each task, on the tasks seen so far", config.EvalAll: "after each task, on all tasks",
		config.EvalFinal: "after the last task only",
	}[r.Config.Eval]
	if n := r.Config.EvalEvery; n > 0 && text != "" {
		text += fmt.Sprintf(", and every %s on the tasks seen", count.Of(n, "step"))
	}
	return text
}

// networkText names the network with its own settings: those that no network of another name reads. What a network of
// another module reads is known where it is not the default.
func networkText(r *run) string {
	if r.Experts != nil {
		v := r.Method.Title + ": networks of its own"
		if r.Resources.Parameters > 0 {
			v += ", " + count.Number(r.Resources.Parameters) + " parameters at the end"
		}
		return v
	}
	v := r.Config.Network.Name
	ours := slices.ContainsFunc(config.Keys(), func(k config.Key) bool { return v != "" && k.ReadBy == v })
	for _, k := range config.Keys() {
		name, ok := strings.CutPrefix(k.Name, "network.")
		if text, _ := r.Config.Text(k.Name); ok && text != "" &&
			(k.ReadBy == r.Config.Network.Name || !ours && k.ReadBy != "" && text != k.Default()) {
			v += ", " + strings.ReplaceAll(name, "_", " ") + " " + text
		}
	}
	if v != "" && r.Resources.Parameters > 0 {
		v += ", " + count.Number(r.Resources.Parameters) + " parameters"
	}
	return v
}

// optimizerText names the optimiser with its settings.
func optimizerText(r *run) string {
	o := r.Config.Optimizer
	if o.Name == "" {
		return ""
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	v := o.Name + ", lr " + number(o.LR) + ", weight decay " + number(o.WeightDecay)
	if o.Momentum != 0 {
		v += ", momentum " + number(o.Momentum)
	}
	return v
}

// batchesText says how many samples a step has.
func batchesText(r *run) string {
	c := r.Config
	if c.Stream.Batch == 0 {
		return ""
	}
	if r.Experts != nil {
		return fmt.Sprintf("%d incoming", c.Stream.Batch)
	}
	v := fmt.Sprintf("%d incoming, %d replayed if there is a memory", c.Stream.Batch, c.Replay.Batch)
	if c.Replay.Iterations > 1 {
		v += fmt.Sprintf(", %d steps on each", c.Replay.Iterations)
	}
	return v
}
