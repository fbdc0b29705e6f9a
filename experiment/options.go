package experiment

import (
	"fmt"

	"ocl/internal/nearest"
	"ocl/method"
)

// checkOptions holds the options given for a method against what the catalogue declares. Options for a method that is
// not in the list are allowed: a config may serve several lists.
func (c Config) checkOptions(info method.Info, f *faults) {
	var names []string
	for _, o := range info.Options {
		names = append(names, o.Name)
	}
	for _, name := range sortedKeys(c.Method[info.Name]) {
		key := "method." + info.Name + "." + name
		o, ok := methodOption(key)
		v := c.Method[info.Name][name]
		switch {
		case !ok && len(names) == 0:
			f.add(key, "unknown option", "want none, "+info.Name+" has no options", "take it away")
		case !ok:
			f.add(key, "unknown option", "want one that `ocl methods "+info.Name+"` lists", nearest.Hint(name, names))
		case info.CheckOptions(map[string]any{name: v}) != nil:
			f.add(key, fmt.Sprint(v), "want "+o.Wanted(), remedyOf(o, v))
		}
	}
}

// checkTogether holds the options of a method that runs against its settings, unless one is out of order by itself.
func (c Config) checkTogether(info method.Info, f *faults) {
	s := method.Setup{Memory: c.Memory, ReplayBatch: c.Replay.Batch, Iterations: c.Replay.Iterations, Joint: c.Replay.Joint, Options: c.Method[info.Name]}
	if info.CheckOptions(s.Options) != nil {
		return
	}
	if err := info.CheckTogether(s); err != nil {
		f.list = append(f.list, fmt.Errorf("config: method.%s: %w", info.Name, err))
	}
}

// remedyOf is what to do about a value out of range.
func remedyOf(o method.Option, v any) string {
	if text, ok := v.(string); ok && len(o.Choices) > 0 {
		return nearest.Hint(text, o.Choices)
	}
	return "correct the value"
}
