package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ocl/config"
	"ocl/experiment/result"
	"ocl/report/paper"
	"ocl/survey"
)

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
