package trained

import (
	"context"
	"fmt"

	"ocl"
	"ocl/config"
	"ocl/learn/learner"
)

// Rule says how a classifier of a run chooses a class from the outputs of the network: the class of the largest logit,
// logit k being that of class k, or the class of the nearest mean (see learner.NCM).
type Rule struct {
	Classifier string      // of the config, such as "head"
	Classes    []ocl.Label // those with a mean, rising; nil is by logits
	Means      []float32   // [len(Classes),D], each of length 1 or 0
}

// Rules returns the rules of the run's classifiers, in the order of its config. If there are several classifiers, it
// computes the class means of the memory, which takes a while and ends with ctx. It is an error if the learner shows
// only its predictions.
func (t *Model) Rules(ctx context.Context) ([]Rule, error) {
	all := t.Classifiers
	if names := t.Config.Classifiers; len(names) > len(all.Names) {
		var err error
		if all, err = t.fitted(ctx, names...); err != nil {
			return nil, err
		}
	}
	if _, several := t.Learner.(learner.Scored); several {
		return nil, fmt.Errorf("experiment: %s: %s predicts by several networks together, but an export holds one. Use `ocl predict`, or a run of another method",
			t.Folder, t.Config.Methods[0])
	}
	if all.Open == nil {
		return nil, fmt.Errorf("experiment: %s: %s shows its predictions but not how it makes them. Use a run of another method",
			t.Folder, t.Config.Methods[0])
	}
	rules := make([]Rule, len(all.Names))
	for i, name := range all.Names {
		rules[i].Classifier = name
		means := all.NCM
		if name == config.ClassifierHead {
			means = all.Open.Parts().Means
		}
		if means != nil {
			rules[i].Classes, rules[i].Means = means.Means()
		} else if !all.ByLogits(i) || !t.Net.Info().Head.PerClass() {
			return nil, fmt.Errorf("experiment: %s: %s predicts neither by logits nor by class means. Use a run of another method",
				t.Folder, t.Config.Methods[0])
		}
	}
	return rules, nil
}
