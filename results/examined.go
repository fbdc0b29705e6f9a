package main

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"ocl/config"
	"ocl/internal/count"
	"ocl/method"
	"ocl/report/paper"
)

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

// unchanged is the accuracy of the run of a spec beside which a run stands: it has the same seed, and the same kernels if there is such a run.
func (p *page) unchanged(r *paper.Run, spec paper.Spec) (value float64, kernels string) {
	value = none
	for _, u := range p.study.Repeats(spec, func(u *paper.Run) bool { return u.Seed == r.Seed }) {
		if v := accuracies([]*paper.Run{u}, spec.Classifier)[0]; math.IsNaN(value) || u.Kernels() == r.Kernels() && !math.IsNaN(v) {
			value, kernels = v, u.Kernels()
		}
	}
	return value, kernels
}

// paired are the accuracies of an examination and of the unchanged runs, of the seeds that both have; alike says that they have the same kernels. If
// any pair has, the others are left out.
func (p *page) paired(e examination) (changed, unchanged []float64, alike bool) {
	var same [2][]float64
	for i, v := range accuracies(e.runs, config.ClassifierHead) {
		old, kernels := p.unchanged(e.runs[i], e.spec)
		if math.IsNaN(v + old) {
			continue
		}
		changed, unchanged = append(changed, v), append(unchanged, old)
		if kernels == e.runs[i].Kernels() {
			same[0], same[1] = append(same[0], v), append(same[1], old)
		}
	}
	if len(same[0]) > 0 {
		return same[0], same[1], true
	}
	return changed, unchanged, false
}

// Instead is the mean accuracy of runs with a change beside that of the same seeds without it: "8.7 % instead of 4.5 over 3 seeds", the unchanged
// first. change is a key and its value.
func (p *page) Instead(name string, memory int, change string) (string, error) {
	key, value, _ := strings.Cut(change, "=")
	e, err := p.examination(specOf(name, memory), paper.Change{Key: key, Value: value})
	if err != nil {
		return "", err
	}
	changed, unchanged, alike := p.paired(e)
	text := fmt.Sprintf("%.1f %% instead of %.1f over %s", estimate(unchanged).Mean, estimate(changed).Mean, count.Of(len(changed), "seed"))
	if !alike {
		text += " with other kernels each"
	}
	return text, nil
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
		var old []string
		for _, r := range e.runs {
			v, kernels := p.unchanged(r, e.spec)
			if math.IsNaN(v) {
				continue
			}
			text := fmt.Sprintf("%.1f", v)
			if kernels != r.Kernels() {
				text += "†"
			}
			old = append(old, text)
		}
		if len(old) == 0 {
			old = []string{dash}
		}
		t.row("`"+strings.Join(flags, " ")+"`", joined(accuracies(e.runs, config.ClassifierHead), "%.1f"), strings.Join(old, ", "),
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
