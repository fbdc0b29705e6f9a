package report

import (
	"maps"
	"slices"
	"strings"

	"ocl/config"
)

// ownRule is the classifier of a result that names none: the method's own rule.
const ownRule = config.ClassifierHead

// byClassifier returns the run and, as if they were runs of their own, what it measured of further classifiers.
func (r *run) byClassifier() []*run {
	all := []*run{r}
	for _, name := range slices.Sorted(maps.Keys(r.Classifiers)) {
		c := r.Classifiers[name]
		res := *r.Result
		res.Accuracy, res.PerClass, res.Metrics, res.Classifiers = c.Accuracy, nil, c.Metrics, nil
		res.ErrorAnalysis = c.ErrorAnalysis
		o := *r
		o.Result, o.classifier, o.beside = &res, name, true
		o.matrix = o.fullMatrix()
		all = append(all, &o)
	}
	return all
}

// classifierTitle is the title of a classifier, as the survey abbreviates it; "" is the method's own.
func classifierTitle(name string) string {
	if name == ownRule {
		return ""
	}
	return strings.ToUpper(name)
}
