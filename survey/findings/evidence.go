package findings

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"ocl/config"
	"ocl/learn/method"
	"ocl/run/metric/compare"
	"ocl/survey"
	"ocl/survey/paper"
)

// arm is a set of runs that is compared with another one.
type arm struct {
	spec    paper.Spec
	changes []paper.Change // from the spec
	name    string         // "" is by the spec
}

// of is the arm of a method with tricks on a benchmark, by its own classifier. A method without memory has none of any
// size.
func of(benchmark, name, tricks string, memory int) arm {
	if info, err := method.Lookup(name); err == nil && !info.UsesMemory {
		memory = 0
	}
	a := arm{spec: paper.Spec{Benchmark: benchmark, Protocol: config.ProtocolSurvey, Method: name,
		Classifier: config.ClassifierHead, Memory: memory}}
	switch tricks {
	case "none":
	case config.ClassifierNCM:
		a.spec.Classifier = config.ClassifierNCM
	default:
		a.spec.Tricks = tricks
	}
	return a
}

// named is the arm under another name.
func (a arm) named(name string) arm {
	a.name = name
	return a
}

// with is the arm with other values of some keys.
func (a arm) with(changes ...paper.Change) arm {
	a.changes = changes
	return a
}

// String is the arm as the survey would call it.
func (a arm) String() string {
	if a.name != "" {
		return a.name
	}
	name := titleOf(a.spec.Method)
	for _, trick := range strings.Split(a.spec.Tricks, "+") {
		if trick != "" {
			name += " + " + strings.ToUpper(trick)
		}
	}
	if a.spec.Classifier == config.ClassifierNCM {
		name += " + NCM"
	}
	return name
}

// titleOf is what the survey calls a method.
func titleOf(name string) string {
	info, err := method.Lookup(name)
	if err != nil {
		return name
	}
	return strings.TrimSuffix(info.Title, "-Greedy")
}

// published are the survey's values of the arms without changes.
var published = sync.OnceValue(func() map[paper.Spec]survey.Value {
	all := map[paper.Spec]survey.Value{}
	for _, label := range []string{survey.ClassIncremental, survey.TricksCIFAR100, survey.TricksMiniImage,
		survey.DomainIncremental} {
		for _, c := range new(paper.Study).Cells(label) {
			if c.Spec != (paper.Spec{}) && c.Repeat != survey.ClassIncremental {
				all[c.Spec] = c.Published
			}
		}
	}
	return all
})

// publishedMean is the survey's accuracy of an arm; ok is false where it has none.
func (a arm) publishedMean() (mean float64, ok bool) {
	v, ok := published()[a.spec]
	return v.Mean, ok && len(a.changes) == 0
}

// evidence has the results.
type evidence struct {
	find    func(paper.Spec, paper.Need) (runs []*paper.Run, settings string) // [paper.Study.Find]
	engines []compare.Engine                                                  // of all runs
	// runs with something changed, by spec and changes
	changed map[string][]*paper.Run
	// the comparisons that claims have made so far, by [question.comparison]
	answered map[string]answered
}

func newEvidence(s *paper.Study) *evidence {
	e := &evidence{find: s.Find, changed: map[string][]*paper.Run{}, answered: map[string]answered{}}
	for _, r := range s.Runs {
		if engine := r.Engine(); !slices.Contains(e.engines, engine) {
			e.engines = append(e.engines, engine)
		}
		spec, changes, err := paper.Planned(r.Result.Config)
		if err == nil && len(changes) > 0 {
			key := changedKey(spec, changes)
			e.changed[key] = append(e.changed[key], r)
		}
	}
	slices.SortFunc(e.engines, compare.Engine.Compare)
	return e
}

// changedKey returns the key of a spec and its changes in evidence.changed. The classifier is no part of it.
func changedKey(spec paper.Spec, changes []paper.Change) string {
	spec.Classifier = config.ClassifierHead
	return fmt.Sprint(spec, changes)
}

// runs are those of an arm that have a measure, one for each seed and engine. All have the same settings.
func (e *evidence) runs(a arm, m measure) (all []*paper.Run) {
	has := func(r *paper.Run) bool { _, ok := m.of(r); return ok }
	if len(a.changes) > 0 {
		for _, r := range e.changed[changedKey(a.spec, a.changes)] {
			if has(r) && !slices.ContainsFunc(all, func(o *paper.Run) bool {
				return o.Seed == r.Seed &&
					o.Engine() == r.Engine()
			}) {
				all = append(all, r)
			}
		}
		return all
	}
	_, settings := e.find(a.spec, has)
	for _, engine := range e.engines {
		runs, of := e.find(a.spec, func(r *paper.Run) bool { return r.Engine() == engine && has(r) })
		if of == settings {
			all = append(all, runs...)
		}
	}
	return all
}
