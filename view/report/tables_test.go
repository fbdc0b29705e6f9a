package report

import (
	"strings"
	"testing"

	"ocl/config"
	"ocl/run/result"
)

// TestFacts: what was run comes from the typed config, the settings of a network from what its keys say reads them.
func TestFacts(t *testing.T) {
	f := fake{method: "er", title: "ER", memory: 10, seed: 1, tasks: 2, perTask: 1, level: 0.5, decay: 0.5}
	for _, c := range []struct {
		change func(*config.Config)
		name   string
		want   string
	}{
		{func(*config.Config) {}, "Network", "resnet18, width 20, 1,109,240 parameters"},
		{func(c *config.Config) { c.Network.Name = "mlp" }, "Network", "mlp, hidden 256,256, 1,109,240 parameters"},
		{func(c *config.Config) { c.Network.Name = "lenet" }, "Network", "lenet, 1,109,240 parameters"},
		{func(c *config.Config) { c.Network.Name, c.Network.Width = "lenet", 7 }, "Network",
			"lenet, width 7, 1,109,240 parameters"},
		{func(c *config.Config) { c.Network.Name, c.Network.Width = "mlp", 7 }, "Network",
			"mlp, hidden 256,256, 1,109,240 parameters"},
		{func(*config.Config) {}, "Optimiser", "sgd, lr 0.1, weight decay 0"},
		{func(c *config.Config) { c.Optimizer.Momentum = 0.9 }, "Optimiser", "sgd, lr 0.1, weight decay 0, momentum 0.9"},
		{func(*config.Config) {}, "Batches", "10 incoming, 10 replayed if there is a memory"},
		{func(c *config.Config) { c.Replay.Iterations = 3 }, "Batches",
			"10 incoming, 10 replayed if there is a memory, 3 steps on each"},
		{func(*config.Config) {}, "Evaluation", "after each task, on the tasks seen so far"},
		{func(c *config.Config) { c.Eval, c.EvalEvery = config.EvalFinal, 50 }, "Evaluation",
			"after the last task only, and every 50 steps on the tasks seen"},
	} {
		r := f.make()
		c.change(&r.Config)
		got := ""
		for _, fact := range studyOf([]*run{newRun(r, "")}, nil).settings[0].facts() {
			if fact.Name == c.name {
				got = fact.Value
			}
		}
		if got != c.want {
			t.Errorf("%s is %q, want %q", c.name, got, c.want)
		}
	}
}

// TestRowsAreOfOneConfig: runs are averaged that differ in where and by what they were computed, and told apart by the
// rest.
func TestRowsAreOfOneConfig(t *testing.T) {
	f := fake{method: "er", title: "ER", memory: 10, tasks: 2, perTask: 1, level: 0.5, decay: 0.5}
	seven := uint64(7)
	for _, c := range []struct {
		change func(*result.Result)
		label  string // of the second row; "" is one row
	}{
		{func(r *result.Result) { r.Config.Data.Dir = "elsewhere" }, ""},
		{func(r *result.Result) { r.Config.Engine.Kernel = "avx2" }, ""},
		{func(r *result.Result) { r.Config.EvalEvery = 5 }, ""},
		{func(r *result.Result) { r.Config.Methods, r.Config.Runs = []string{"er", "mir"}, 3 }, ""},
		{func(r *result.Result) { r.Config.Optimizer.WeightDecay = 0.5 }, "ER, memory 10, weight decay 0.5"},
		{func(r *result.Result) { r.Config.Seeds.Init = &seven }, "ER, memory 10, seeds init 7"},
		{func(r *result.Result) { r.Config.Replay.Teacher = "training" }, "ER, memory 10, teacher training"},
		{func(r *result.Result) { r.Config.Replay.Augment = true }, "ER, memory 10, replay augment"},
		{func(r *result.Result) { r.Config.Method = map[string]map[string]any{"er": {"subset": 5.0}} },
			"ER, memory 10, subset 5"},
	} {
		one, other := f, f
		one.seed, other.seed = 1, 2
		second := other.make()
		c.change(second)
		rows := studyOf([]*run{newRun(one.make(), ""), newRun(second, "")}, nil).rows
		switch {
		case c.label == "" && len(rows) != 1:
			t.Errorf("%d rows, want one; the second is %s", len(rows), rows[1].Label)
		case c.label != "" && (len(rows) != 2 || !strings.Contains(rows[1].Label, c.label)):
			t.Errorf("%d rows, want a second one %q; the last is %q", len(rows), c.label, rows[len(rows)-1].Label)
		}
	}
}

// TestRecords: what newer results record of where and when is in the tables, and one test set is counted once.
func TestRecords(t *testing.T) {
	r := (fake{method: "er", title: "ER", memory: 10, seed: 1, tasks: 2, perTask: 1, level: 0.5, decay: 0.5}).make()
	r.Provenance.Program, r.Provenance.Processor, r.Provenance.Started = "1.2.0", "a fast one", "2026-01-31T12:00:00Z"
	r.Stream.CommonTest = true
	for i := range r.Accuracy {
		r.Accuracy[i] = r.Accuracy[i][:1]
	}
	st := studyOf([]*run{newRun(r, "")}, nil)
	for table, want := range map[*table]string{st.provenanceTable(): "1.2.0", st.runsTable(): "2026-01-31T12:00:00Z"} {
		if text := string(table.csvBytes()); !strings.Contains(text, want) {
			t.Errorf("%s lacks %s:\n%s", table.ID, want, text)
		}
	}
	if got := st.settings[0].facts()[1].Value; got != "2 tasks with 2 classes in all, 200 training images and 25 test images" {
		t.Errorf("tasks: %s", got)
	}
}

// TestClassesText: the classes of the tasks are counted once each, beside those of the network where it has more; an
// older file does not say them.
func TestClassesText(t *testing.T) {
	tasks := func(classes ...[]int) (all []result.Task) {
		for _, c := range classes {
			all = append(all, result.Task{Classes: c})
		}
		return all
	}
	many := make([]int, 1200)
	for i := range many {
		many[i] = i
	}
	for want, st := range map[string]result.Stream{
		"4 classes":              {Classes: 4, Tasks: tasks([]int{0, 1}, []int{2, 3})},
		"2 of 4 classes":         {Classes: 4, Tasks: tasks([]int{0, 3}, []int{3, 0})},
		"100 classes":            {Classes: 100, Tasks: tasks(nil, nil)},
		"1,200 of 1,500 classes": {Classes: 1500, Tasks: tasks(many)},
	} {
		if got := classesText(st); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}

// TestSharedIsSaidOnce: what all lines have in common is no column of the page but a sentence, and the files have it.
func TestSharedIsSaidOnce(t *testing.T) {
	for seeds, want := range map[int]string{1: "In every row: protocol standard, 1 run, outcome finished.",
		2: "In every row: protocol standard, runs 2, outcome finished."} {
		var runs []*run
		for _, r := range results(pair(seeds)) {
			runs = append(runs, newRun(r, ""))
		}
		p, _, _ := newPage(studyOf(runs, nil))
		if got := p.Results.Shared(); got != want {
			t.Errorf("the page says %q, want %q", got, want)
		}
		html := string(render(p))
		_, table, _ := strings.Cut(html, `data-id="results"`)
		table, _, _ = strings.Cut(table, "</table>")
		if strings.Contains(table, "standard") || !strings.Contains(table, "<td class=\"n\">500") {
			t.Errorf("the table has the protocol, or no memory: %s", table)
		}
		if !strings.Contains(string(p.Results.csvBytes()), ",standard,") {
			t.Error("the file lacks the protocol")
		}
	}
}

// TestFolderFront: what stands before all folders is said once on the page, and the CSV file has each folder whole. A
// folder from elsewhere has its own.
func TestFolderFront(t *testing.T) {
	of := func(folders ...string) (string, string, string) {
		var runs []*run
		for i, r := range results(pair(2)[:len(folders)]) {
			runs = append(runs, newRun(r, folders[i]))
		}
		p, _, _ := newPage(studyOf(runs, nil))
		_, html, _ := strings.Cut(string(render(p)), `data-id="runs"`)
		html, _, _ = strings.Cut(html, "</section>")
		return p.Runs.Front, html, string(p.Runs.csvBytes())
	}
	front, html, csv := of("/far/away/study/one", "/far/away/study/two")
	if front != "/far/away/" || !strings.Contains(html, "<td>study/one<") ||
		!strings.Contains(html, "All folders are in /far/away/.") || !strings.Contains(csv, "/far/away/study/two") {
		t.Errorf("%q stands in front on\n%s\nin the file\n%s", front, html, csv)
	}
	if front, html, _ = of("/far/away/study/one", "/near/study/two"); front != "" ||
		!strings.Contains(html, `data-v="/near/study/two">study/two`) {
		t.Errorf("%q stands in front on\n%s", front, html)
	}
}
