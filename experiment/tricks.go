package experiment

import (
	"fmt"
	"slices"
	"strings"

	"ocl/method"
)

// trickSets are the tricks of each run of a method: the names that Config.Tricks joins by plus signs, nil for none. What
// is no list of tricks is left out; [Config.Validate] reports it.
func (c Config) trickSets() [][]string {
	var sets [][]string
	for _, text := range c.Tricks {
		if names, err := method.ParseTricks(text); err == nil {
			sets = append(sets, names)
		}
	}
	return sets
}

// resolvedTricks are c.Tricks with the names of each run in order.
func (c Config) resolvedTricks() []string {
	var texts []string
	for _, names := range c.trickSets() {
		texts = append(texts, tricksText(names))
	}
	return texts
}

// checkTricks holds every method against every list of tricks; each pair that does not go together is a fault.
func (c Config) checkTricks(f *faults) {
	if len(c.Tricks) == 0 {
		f.add("tricks", "the list is empty", "want at least "+method.NoTrick, "choose from `ocl methods --tricks`, or take the key away")
	}
	for _, text := range c.Tricks {
		if _, err := method.ParseTricks(text); err != nil {
			f.list = append(f.list, fmt.Errorf("config: tricks: %w", err))
		}
	}
	sets := c.trickSets()
	for i, names := range sets {
		twin := slices.IndexFunc(sets[:i], func(other []string) bool { return slices.Equal(c.effective(other), c.effective(names)) })
		switch {
		case twin < 0:
		case slices.Equal(sets[twin], names):
			f.add("tricks", tricksText(names)+" is listed twice", "want each list of tricks once", "take one away")
			continue
		default:
			var settings []string
			for _, name := range slices.Concat(sets[twin], names) {
				if s := c.anyway(name); s != "" && !slices.Contains(settings, s) {
					settings = append(settings, s)
				}
			}
			f.add("tricks", fmt.Sprintf("%s and %s are the same run with %s", tricksText(sets[twin]), tricksText(names), strings.Join(settings, " and ")),
				"want each run once", "take one of them away, or that setting")
			continue
		}
		for _, name := range c.Methods {
			info, err := method.Lookup(name)
			if err != nil {
				continue // reported with the methods
			}
			for _, err := range info.CheckTricks(names) {
				f.list = append(f.list, fmt.Errorf("config: tricks: %w", err))
			}
		}
	}
}

// effective are the tricks that train another network or show something more.
func (c Config) effective(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return c.anyway(name) != "" })
}

// anyway names the setting that does what a trick would: several iterations, or a classification by class means beside the head's.
func (c Config) anyway(name string) string {
	t, err := method.LookupTrick(name)
	switch {
	case err != nil:
	case c.Replay.Iterations > 1 && slices.Contains(t.Settings, "replay.iterations"):
		return fmt.Sprintf("replay.iterations %d", c.Replay.Iterations)
	case t.Classifies && slices.Contains(c.Classifiers, ClassifierNCM):
		return "classifiers " + strings.Join(c.Classifiers, ",")
	}
	return ""
}

// tricksText is how Config.Tricks writes tricks.
func tricksText(names []string) string {
	if len(names) == 0 {
		return method.NoTrick
	}
	return strings.Join(names, "+")
}
