package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ocl/config"
	"ocl/experiment/result"
	"ocl/method"
	"ocl/report"
	"ocl/report/chart"
	"ocl/report/known"
	"ocl/report/paper"
)

// expertFolder has the runs of CN-DPM.
const expertFolder = "cifar100/cndpm/"

// sgd is the optimizer of the survey, and fullSleep its steps of a sleep.
const (
	sgd       = "sgd"
	fullSleep = 5000
)

// expertRuns are the runs of CN-DPM on CIFAR-100.
type expertRuns struct {
	tries   []run // of settings, on the first two tasks
	whole   run   // all tasks, with the best of these settings and sleeps shorter than the authors'
	changed []run // with something else; they may have been stopped after some tasks
}

// expertRuns finds the runs in the folder of CN-DPM.
func (p *page) expertRuns() (e expertRuns, err error) {
	for _, r := range p.runs {
		if !strings.HasPrefix(r.file, expertFolder) {
			continue
		}
		if r.Outcome.State == result.Diverged || r.Experts == nil || len(seenAfter(r)) == 0 {
			return e, fmt.Errorf("%s has diverged, or has no experts or no tested task, so the text about CN-DPM cannot use it. Remove it", r.file)
		}
		switch {
		case r.Config.Protocol == config.ProtocolTuning && r.Outcome.State == result.Finished:
			e.tries = append(e.tries, r)
		case sleepOf(r) < fullSleep && r.Config.Optimizer.Name == sgd && r.Outcome.State == result.Finished:
			e.whole = r
		default:
			e.changed = append(e.changed, r)
		}
	}
	if len(e.tries) == 0 || e.whole.Result == nil || len(e.changed) == 0 {
		return e, fmt.Errorf("%s has %d tries and %d runs with something changed, but needs some of both, and a whole run with short sleeps. Run studies/cndpm.yaml and store its results",
			expertFolder, len(e.tries), len(e.changed))
	}
	slices.SortFunc(e.tries, func(a, b run) int {
		return cmp.Or(cmp.Compare(b.Config.Optimizer.LR, a.Config.Optimizer.LR), cmp.Compare(chillOf(a), chillOf(b)))
	})
	slices.SortStableFunc(e.changed, func(a, b run) int { return cmp.Compare(sleepOf(b), sleepOf(a)) })
	return e, nil
}

// ofCNDPM is an option of CN-DPM in a result, as a number.
func ofCNDPM(r run, name string) float64 {
	switch v := r.Config.Method["cndpm"][name].(type) {
	case int:
		return float64(v)
	case float64:
		return v
	}
	return none
}

func chillOf(r run) float64 { return ofCNDPM(r, "classifier_chill") }

// sleepOf is the number of steps of a sleep.
func sleepOf(r run) int {
	return int(ofCNDPM(r, "sleep_vae_steps") + ofCNDPM(r, "sleep_classifier_steps"))
}

// seenAfter is the mean accuracy on the tasks learned so far after each task, in per cent, as far as the run came.
func seenAfter(r run) []float64 {
	var values []float64
	for i, row := range r.Accuracy {
		var of []float64
		for _, v := range row[:min(i+1, len(row))] {
			if v != nil {
				of = append(of, 100**v)
			}
		}
		if len(of) <= i { // the run was stopped before it
			break
		}
		values = append(values, estimate(of).Mean)
	}
	return values
}

// expertsAfter is how many experts had been made by the end of a task; an expert is of the task in which it was begun.
func expertsAfter(r run, task int) int {
	n := 0
	for _, e := range r.Experts.List {
		if e.Task <= task {
			n++
		}
	}
	return n
}

// CNDPMTries is a row for each try of CN-DPM's settings.
func (p *page) CNDPMTries() (string, error) {
	e, err := p.expertRuns()
	if err != nil {
		return "", err
	}
	t := tableOf("learning rate", "chill", "experts", "first task, when learned", "first task, at the end", "second task", "mean at the end", "minutes", "result")
	for _, r := range e.tries {
		a := func(i, j int) string { return fmt.Sprintf("%.1f", 100**r.Accuracy[i][j]) }
		t.row(fmt.Sprintf("%g", r.Config.Optimizer.LR), fmt.Sprintf("%g", chillOf(r)), fmt.Sprint(len(r.Experts.List)), a(0, 0), a(1, 0), a(1, 1),
			fmt.Sprintf("%.1f", 100**r.Metrics.AverageAccuracy), minutesOf(r), "`"+r.file+"`")
	}
	return t.String(), nil
}

// minutesOf is how long a run learned and predicted.
func minutesOf(r run) string {
	return fmt.Sprintf("%.0f", (r.Seconds.Train+r.Seconds.Prepare+r.Seconds.Test)/60)
}

// CNDPMChanges is a row for the whole run and each of those with something changed, as far as these came.
func (p *page) CNDPMChanges() (string, error) {
	e, err := p.expertRuns()
	if err != nil {
		return "", err
	}
	const tasks = 4 // that all of them learned
	head := []string{"changed"}
	for i := range tasks {
		head = append(head, fmt.Sprintf("seen after task %d", i+1))
	}
	t := tableOf(append(head, "new tasks, mean of "+fmt.Sprint(tasks), "experts then", "seen at its end", "tasks learned", "minutes", "result")...)
	for i, r := range append([]run{e.whole}, e.changed...) {
		what := "nothing: sleeps of " + thousands(sleepOf(r)) + " steps"
		if i > 0 {
			if what, err = changedFrom(r, e.whole); err != nil {
				return "", err
			}
		}
		row, seen := []string{what}, seenAfter(r)
		var learned []float64
		if len(seen) < tasks {
			return "", fmt.Errorf("%s has %d tasks, but the table is about the first %d. Let it learn more", r.file, len(seen), tasks)
		}
		for i := range tasks {
			row = append(row, fmt.Sprintf("%.1f", seen[i]))
			learned = append(learned, 100**r.Accuracy[i][i])
		}
		t.row(append(row, fmt.Sprintf("%.1f", estimate(learned).Mean), fmt.Sprint(expertsAfter(r, tasks-1)),
			fmt.Sprintf("%.1f", seen[len(seen)-1]), fmt.Sprint(len(seen)), minutesOf(r), "`"+r.file+"`")...)
	}
	return t.String(), nil
}

// changedFrom are the settings of a run that another one does not have, as flags.
func changedFrom(r, other run) (string, error) {
	_, ours, err := paper.Planned(r.Config)
	if err != nil {
		return "", err
	}
	_, theirs, err := paper.Planned(other.Config)
	if err != nil {
		return "", err
	}
	var flags []string
	for _, c := range ours {
		if !slices.Contains(theirs, c) {
			flags = append(flags, "`"+c.Flag()+"`")
		}
	}
	if sleepOf(r) != sleepOf(other) {
		flags = append(flags, "sleeps of "+thousands(sleepOf(r))+" steps")
	}
	return strings.Join(flags, ", "), nil
}

// CNDPM is a figure of the text about the whole run with SGD, or about that with Adam.
func (p *page) CNDPM(optimizer, what string) (string, error) {
	e, err := p.expertRuns()
	if err != nil {
		return "", err
	}
	all := append([]run{e.whole}, e.changed...)
	i := slices.IndexFunc(all, func(r run) bool { return r.Config.Optimizer.Name == optimizer })
	if i < 0 {
		return "", fmt.Errorf("cifar100/cndpm has no run with the optimizer %s", optimizer)
	}
	r, seen := all[i], seenAfter(all[i])
	switch what {
	case "accuracy":
		return fmt.Sprintf("%.1f", seen[len(seen)-1]), nil
	case "beside": // after as many tasks as the shortest of the runs with another optimizer learned
		n := len(seen)
		for _, c := range e.changed {
			if c.Config.Optimizer.Name != sgd {
				n = min(n, len(seenAfter(c)))
			}
		}
		return fmt.Sprintf("%.1f", seen[n-1]), nil
	case "tasks":
		return fmt.Sprint(len(seen)), nil
	case "experts":
		return fmt.Sprint(len(r.Experts.List)), nil
	case "minutes":
		return minutesOf(r), nil
	case "learning", "forgetting":
		v := r.Metrics.LearningAccuracy
		if what == "forgetting" {
			v = r.Metrics.AverageForgetting
		}
		if v == nil {
			return "", fmt.Errorf("%s has no %s", r.file, what)
		}
		return fmt.Sprintf("%.1f", 100**v), nil
	case "file":
		return "`" + r.file + "`", nil
	}
	return "", fmt.Errorf("there is no figure %s of the run of CN-DPM", what)
}

// cndpmChart draws the accuracy on the tasks seen, with short sleeps and with the authors'.
func cndpmChart(p *page) ([]byte, error) {
	e, err := p.expertRuns()
	if err != nil {
		return nil, err
	}
	info, err := method.Lookup("cndpm")
	if err != nil {
		return nil, err
	}
	c := &chart.Lines{XLabel: "tasks learned", YLabel: "accuracy on the tasks seen, %", XMin: 1, XMax: len(seenAfter(e.whole)),
		Say: func(y, _ float64) string { return fmt.Sprintf("%.1f %%", y) }}
	said := "Mean accuracy on the tasks seen after each task, one seed."
	for i, r := range append([]run{e.whole}, e.changed...) {
		name, seen := "SGD, sleeps of "+thousands(sleepOf(r))+" steps", seenAfter(r)
		if r.Config.Optimizer.Name != sgd {
			name = "Adam, sleeps of " + thousands(sleepOf(r)) + " steps"
		}
		look := known.Method(info)
		look.Look = (look.Look+4*i-1)%9 + 1 // one of nine
		c.Series = append(c.Series, chart.Series{Label: name, Look: report.LookOf(look), Width: 2, Y: seen})
		said += fmt.Sprintf(" %s: %s %%.", name, joined(seen, "%.1f"))
	}
	c.Scale(0, 100, 10)
	title := "CN-DPM on CIFAR-100, short-term memory of 1,000 images"
	return chart.Draw(c, chart.File(title)).Adaptive(title, said), nil
}
