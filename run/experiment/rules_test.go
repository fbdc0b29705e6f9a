package experiment

import (
	"math"
	"slices"
	"testing"

	"ocl"
	"ocl/config"
	"ocl/learn/learner"
	"ocl/run/build"
	"ocl/run/trained"
)

// By its first rule alone, logits or means, an image gets the class that Predict gives it.
func TestRulesPredictAsTheLearner(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		method      string
		classifiers []string
		means       []bool // of each rule
	}{
		"er":    {"er", []string{config.ClassifierHead, config.ClassifierNCM}, []bool{false, true}},
		"ncm":   {"er", []string{config.ClassifierNCM}, []bool{true}},
		"icarl": {"icarl", []string{config.ClassifierHead}, []bool{true}},
		"gdumb": {"gdumb", []string{config.ClassifierHead}, []bool{false}},
	} {
		c := one(want.method)
		c.Classifiers = want.classifiers
		folder, _ := trainedRun(t, c)
		model, err := trained.Open(t.Context(), folder, trained.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer model.Close()
		rules, err := model.Rules(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var names []string
		var means []bool
		for _, r := range rules {
			names, means = append(names, r.Classifier), append(means, r.Means != nil)
			if len(r.Means) != len(r.Classes)*model.Net.Info().FeatureDim {
				t.Errorf("%s: %d values of %d means", name, len(r.Means), len(r.Classes))
			}
		}
		if !slices.Equal(names, want.classifiers) || !slices.Equal(means, want.means) {
			t.Errorf("%s: rules %v, by means %v; want %v, %v", name, names, means, want.classifiers, want.means)
		}
		x := mustOpen(t, c, Options{})
		view, err := build.NewStream(x.set, x.Jobs()[0].Config)
		if err != nil {
			t.Fatal(err)
		}
		for b, err := range view.Test(0) {
			if err != nil {
				t.Fatal(err)
			}
			got := make([]ocl.Label, b.Len())
			predict(t, model, got, b.X)
			out := model.Net.Predict(model.Learner.(learner.Open).Parts().WS, b.X)
			for i, label := range got {
				values := out.Logits.Row(i)
				if r := rules[0]; r.Means != nil {
					values = cosines(out.Features.Row(i), r)
				}
				if best := ocl.Label(slices.Index(values, slices.Max(values))); len(rules[0].Classes) == 0 && best != label ||
					len(rules[0].Classes) > 0 && rules[0].Classes[best] != label {
					t.Errorf("%s: image %d: class %d by the rule, and the learner says %d", name, i, best, label)
				}
			}
		}
	}
}

// cosines are those of the angles between features and the means of a rule, which have length 1.
func cosines(f []float32, r trained.Rule) []float32 {
	all, length := make([]float32, len(r.Classes)), 0.0
	for _, v := range f {
		length += float64(v) * float64(v)
	}
	for j := range all {
		for d, v := range f {
			all[j] += float32(float64(v) / math.Sqrt(length) * float64(r.Means[j*len(f)+d]))
		}
	}
	return all
}
