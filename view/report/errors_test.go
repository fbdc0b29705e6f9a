package report

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ocl/run/result"
)

// analysed is an experiment of ER and iCaRL with error analyses, in 4 tasks of 8 classes, more than a table of cells
// holds.
func analysed() []fake {
	return []fake{
		{method: "er", title: "ER", memory: 500, seed: 1, tasks: 4, perTask: 8, level: 0.5, decay: 0.5, errors: true},
		{method: "icarl", title: "iCaRL", memory: 500, seed: 1, tasks: 4, perTask: 8, level: 0.4, decay: 0.9, errors: true},
	}
}

func TestErrorsOnPage(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, analysed())
	page := writePage(t, []string{dir}, "")
	checkPage(t, page, dir)
	for _, want := range []string{
		"Old and new classes confused", "iCaRL: the classifier does not predict by logits", "ER, old", `class="pixels"`,
		"Hollow marks on a thinner line", "By the other definition",
	} {
		if !strings.Contains(strings.ReplaceAll(page, "\u00a0", " "), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, id := range []string{
		"error-ratio", "error-ratio-samples", "logits", "logits-all", "head-weights", "head-biases", "predictions", "taken",
		"confusion-er-m500", "confusion-icarl-m500", "class-confusion-er-m500",
	} {
		for _, name := range []string{"figures/" + id + ".svg", "figures/" + id + ".pdf", "tables/" + id + ".csv",
			"tables/" + id + ".md"} {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	plain := studyOf([]*run{newRun(pair(1)[1].make(), "")}, nil)
	if b := plain.settings[0].errors(); plain.errorsTable() != nil || !strings.Contains(b[0].Note, "no error analysis") {
		t.Error("results without error analysis have a table of it, or the page does not say that they have none")
	}
}

// TestErrorsTable: the table holds the counts of the last task, means over the runs.
func TestErrorsTable(t *testing.T) {
	one := fake{method: "er", title: "ER", memory: 500, seed: 1, tasks: 2, perTask: 2, errors: true, level: 0.5,
		decay: 0.5}
	two := one
	two.seed = 2
	a, b := one.make(), two.make()
	*a.ErrorAnalysis = result.ErrorAnalysis{Tasks: []result.TaskErrors{published(37, 148, 2269, 5852)}}
	*b.ErrorAnalysis = result.ErrorAnalysis{Tasks: []result.TaskErrors{published(54, 113, 2770, 5330)}}
	for _, c := range []struct {
		runs []*run
		want []string
	}{
		{[]*run{newRun(a, "")}, []string{"37", "148", "2,269", "5,852", "0", "20.0", "72.1", "7.4", "61.6"}},
		{[]*run{newRun(a, ""), newRun(b, "")}, []string{"46", "131", "2,520", "5,591", "0", "26.2 ± 78.4", "68.9 ± 39.8",
			"9.1 ± 21.6", "58.9 ± 34.9"}},
	} {
		var got []string
		st := studyOf(c.runs, nil)
		tb := st.errorsTable()
		for i, cell := range tb.Rows[0] {
			if i >= len(rowHead) && !tb.Head[i].Hidden {
				got = append(got, cell.Text)
			}
		}
		if strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%d runs:\ngot  %v\nwant %v", len(c.runs), got, c.want)
		}
	}
}

// published is a row of the survey's table:trick_motivation, of 500 new and 9,500 old samples.
func published(no, nn, oo, on int) result.TaskErrors {
	share := func(n, all int) *float64 { v := float64(n) / float64(all); return &v }
	return result.TaskErrors{
		Task: 1, New: 500, Old: 9500, NewAsOld: no, NewAsNew: nn, OldAsOld: oo, OldAsNew: on,
		NewAsOldOfErrors: share(no, no+nn), OldAsNewOfErrors: share(on, oo+on),
		NewAsOldOfSamples: share(no, 500), OldAsNewOfSamples: share(on, 9500),
	}
}

// TestClassesAreCountedFrom0: every figure by class names a class by its index from 0, as configs and results do, and
// says so. Where runs have their own orders, the confusion has places in the stream instead, from 0 too.
func TestClassesAreCountedFrom0(t *testing.T) {
	base := fake{method: "er", title: "ER", memory: 500, seed: 1, tasks: 2, perTask: 3, level: 0.5, decay: 0.5,
		errors: true}
	other := base
	other.seed = 2
	one, two := base.make(), other.make()
	one.Stream.ClassNames, two.Stream.ClassNames = nil, nil
	order := one.Stream.Order()
	if slices.Equal(order, two.Stream.Order()) || slices.IsSorted(order) {
		t.Fatalf("the orders %v and %v tell nothing apart", order, two.Stream.Order())
	}
	text := func(list []int) (words []string) {
		for _, v := range list {
			words = append(words, strconv.Itoa(v))
		}
		return words
	}
	for _, tt := range []struct {
		runs        []*result.Result
		label, says string
		rows        []string
	}{
		{[]*result.Result{one}, "true class", "classes are counted from 0, in the order in which the stream brings them",
			text(order)},
		{[]*result.Result{one, two}, "true place", "by their place in the stream, counted from 0",
			text([]int{0, 1, 2, 3, 4, 5})},
	} {
		var runs []*run
		for _, r := range tt.runs {
			runs = append(runs, &run{Result: r, seed: r.Config.Seed})
		}
		row := studyOf(runs, nil).rows[0]
		f := row.classConfusion()
		if !slices.Equal(f.Heat.Rows, tt.rows) || f.Heat.RowLabel != tt.label || !strings.Contains(f.Caption, tt.says) {
			t.Errorf("%d runs: %q of %q, %s", len(runs), f.Heat.RowLabel, f.Heat.Rows, f.Caption)
		}
		if f := row.classFigure(); f.Heat.Cols[0] != "0" ||
			!strings.Contains(f.Caption, "classes are counted from 0, as in the config") {
			t.Errorf("accuracy by class: %q, %s", f.Heat.Cols, f.Caption)
		}
	}
}

// TestTaken: the parts of the bars are the shares of all test images of new and of old classes.
func TestTaken(t *testing.T) {
	var runs []*run
	for _, r := range results(analysed()[:1]) {
		runs = append(runs, newRun(r, ""))
	}
	last := runs[0].ErrorAnalysis.Last()
	f := studyOf(runs, nil).settings[0].takenFigure()
	if len(f.Bars.Bars) != 2 || f.Bars.Bars[0].Label != "ER, new classes" || f.Bars.Bars[1].Label != "ER, old classes" {
		t.Fatalf("the bars are %+v", f.Bars.Bars)
	}
	other := []float64{float64(last.NewAsOld) / float64(last.New), float64(last.OldAsNew) / float64(last.Old)}
	for i, b := range f.Bars.Bars {
		if sum := b.Sum(); sum < 1-1e-9 || sum > 1+1e-9 || b.Parts[2] != other[i] || len(b.Tips) != len(b.Parts) ||
			!strings.Contains(b.Tips[2], "taken for the other kind: ") {
			t.Errorf("%s: parts %v with the sum %g, want the third %g; tips %q", b.Label, b.Parts, sum, other[i], b.Tips)
		}
	}
	if last.OldAsNew == 0 || len(f.Data.Rows) != 2 {
		t.Errorf("%d old images are taken for new ones, and the table has %d rows", last.OldAsNew, len(f.Data.Rows))
	}
}
