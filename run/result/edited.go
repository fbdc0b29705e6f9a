package result

import (
	"errors"
	"fmt"
)

// ErrEdited says that a result is not what its run wrote.
var ErrEdited = errors.New("somebody has changed it")

// CheckMetrics says whether the metrics of a result follow from its accuracies. The error wraps [ErrEdited]; it does
// not name the file.
func CheckMetrics(r *Result) error {
	check := func(at string, has, follows Metrics) error {
		for _, m := range AllMetrics() {
			if a, b := m.Of(has), m.Of(follows); (a == nil) != (b == nil) || a != nil && *a != *b {
				return fmt.Errorf("its %s.%s does not follow from its accuracies: it is %s, but they give %s; %w", at, m.Key,
					optional(a), optional(b), ErrEdited)
			}
		}
		return nil
	}
	if err := check("metrics", r.Metrics, MetricsOf(r.Accuracy, r.Stream.CommonTest, r.Evaluations)); err != nil {
		return err
	}
	for _, name := range r.Config.Classifiers {
		if c, there := r.Classifiers[name]; there {
			if err := check("classifiers."+name+".metrics", c.Metrics,
				MetricsOf(c.Accuracy, r.Stream.CommonTest, nil)); err != nil {
				return err
			}
		}
	}
	return nil
}

// optional is a number that may not be there, for a message.
func optional(v *float64) string {
	if v == nil {
		return "missing"
	}
	return fmt.Sprint(*v)
}
