package report

import (
	"maps"
	"slices"

	"ocl/experiment/result"
)

// ownRule is the classifier of a result that names none: the method's own rule.
const ownRule = "head"

// classifierTitles are the names for people of the classifiers that are no method's own rule.
var classifierTitles = map[string]string{"ncm": "NCM"}

// primary is the classifier that accuracy and metrics of a config's run are of.
func primary(config map[string]any) string {
	if list, ok := config["classifiers"].([]any); ok && len(list) > 0 {
		if name, ok := list[0].(string); ok && name != "" {
			return name
		}
	}
	return ownRule
}

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

// checkClassifiers holds what is measured of further classifiers to the shape of the accuracy matrix.
func checkClassifiers(classifiers map[string]result.Classifier, tasks, classes int) error {
	for _, name := range slices.Sorted(maps.Keys(classifiers)) {
		at := "classifiers." + name
		if err := checkMatrix(at+".accuracy", classifiers[name].Accuracy, tasks, tasks); err != nil {
			return err
		}
		if err := checkMetrics(at+".metrics", classifiers[name].Metrics); err != nil {
			return err
		}
		if err := checkErrors(at+".error_analysis", classifiers[name].ErrorAnalysis, tasks, classes); err != nil {
			return err
		}
	}
	return nil
}

// classifierTitle is the title of a classifier; "" is the method's own.
func classifierTitle(name string) string {
	if name == ownRule {
		return ""
	}
	if t, ok := classifierTitles[name]; ok {
		return t
	}
	return name
}
