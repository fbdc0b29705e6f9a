package paper

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ocl/config"
	"ocl/run/experiment"
	"ocl/run/identity"
)

// Change is a key of a config whose value is not the one that a run of the plan has.
type Change struct{ Key, Value string }

// Flag is the change as `ocl run` takes it.
func (c Change) Flag() string {
	return config.Argument(c.Key, c.Value)
}

// Planned says which runs of the tables a config is nearest to, and in which keys it differs from them, in the order of
// their names: settings other than those that were chosen on CIFAR-100, and options that no table has. The classifier
// of the spec is the method's own rule. An error says that no benchmark of the survey has such a stream.
func Planned(c config.Config) (spec Spec, changes []Change, err error) {
	if len(c.Methods) == 0 {
		return spec, nil, errors.New("paper: the config names no method, as that of a result of another program")
	}
	spec = Spec{Protocol: c.Protocol, Method: c.Methods[0], Classifier: config.ClassifierHead}
	if len(c.Tricks) > 0 {
		spec.Tricks = withoutNCM(c.Tricks[0])
	}
	id := identity.New(experiment.Schema(), c)
	ours := learned(id)
	if text := id.Learned().Texts()["memory"]; text != "0" { // of a method with a memory
		spec.Memory = c.Memory
	}
	found := false
	for _, b := range benchmarks {
		if b.Data != c.Data.Name || b.Kind != c.Stream.Kind || b.Shift != c.Stream.Shift.Kind {
			continue
		}
		of := spec
		of.Benchmark = b.Name
		theirs := learned(of.identity())
		var differ []Change
		for key := range ours {
			theirs[key] += "" // so that both have it
		}
		for key := range theirs {
			if ours[key] != theirs[key] && key != "tricks" {
				differ = append(differ, Change{key, valueOf(c, key)})
			}
		}
		if !found || len(differ) < len(changes) {
			found, spec, changes = true, of, differ
		}
	}
	if !found {
		return spec, nil, fmt.Errorf("paper: the survey has no stream %q of %s", c.Stream.Kind, c.Data.Name)
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Key, b.Key) })
	return spec, changes, nil
}

// valueOf is the text of a key; one that is not set has the word for what it stands for then.
func valueOf(c config.Config, key string) string {
	text, _ := c.Text(key)
	if i := slices.IndexFunc(config.Keys(), func(k config.Key) bool { return k.Name == key }); i >= 0 && text == "" {
		return config.Keys()[i].Unset
	}
	return text
}

// learned is what a run learns, by key, without its seed and without what files mean that lack the key.
func learned(id identity.Identity) map[string]string {
	return slices.DeleteFunc(id.Learned().Without("seed"), func(v config.Value) bool { return v.Usual }).Texts()
}
