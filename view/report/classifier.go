package report

import (
	"maps"
	"slices"
	"strings"

	"ocl/config"
	"ocl/run/result"
)

// ownRule is the classifier of a result that names none: the method's own rule.
const ownRule = config.ClassifierHead

// byClassifier returns the run, and further runs with the measurements of its other classifiers. own is the classifier
// that equals the method's own rule: its predictions are the same, so it gets no row.
func (r *run) byClassifier(own string) []*run {
	if r.classifier == own {
		r.classifier = ownRule
	}
	all := []*run{r}
	for _, name := range slices.Sorted(maps.Keys(r.Classifiers)) {
		if name == r.classifier || name == own && r.classifier == ownRule {
			continue
		}
		c := r.Classifiers[name]
		res := *r.Result
		res.Accuracy, res.PerClass, res.Metrics, res.Classifiers = c.Accuracy, nil, c.Metrics, nil
		res.ErrorAnalysis = c.ErrorAnalysis
		o := *r
		o.Result, o.classifier, o.beside = &res, name, true
		o.matrix = result.MatrixOf(o.Accuracy, o.Stream.CommonTest)
		all = append(all, &o)
	}
	return all
}

// measures orders runs of one seed by how much they measure.
func (r *run) measures() int {
	return 2*max(0, slices.Index([]string{config.EvalFinal, config.EvalSeen, config.EvalAll}, r.Config.Eval)) +
		min(r.Config.EvalEvery, 1)
}

// classifierTitle is the title of a classifier, as the survey abbreviates it; "" is the method's own.
func classifierTitle(name string) string {
	if name == ownRule {
		return ""
	}
	return strings.ToUpper(name)
}
