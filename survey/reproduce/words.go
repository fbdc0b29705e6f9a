package reproduce

import (
	"fmt"
	"slices"
	"strings"

	"ocl/config"
	"ocl/internal/count"
)

// Verdict is Outside, Inside, or None without enough committed seeds.
func (c Comparison) Verdict() string {
	switch {
	case !c.Made():
		return None
	case c.Outside():
		return Outside
	}
	return Inside
}

// Failure says in what a check fails, "" for nothing.
func Failure(groups []*Group) string {
	compared := 0
	var outside, differs []string
	names := Names(groups)
	for i, g := range groups {
		switch g.Verdict() {
		case Outside:
			outside = append(outside, names[i])
		case Differs:
			differs = append(differs, names[i])
		}
		if g.Why == "" {
			compared++
		}
	}
	switch {
	case compared == 0:
		return "there is no reference for any of the runs, so nothing is compared. `ocl report paper` names the commands of the survey's runs"
	case len(outside) > 0:
		return "outside the committed distribution: " + count.Some(outside)
	case len(differs) > 0:
		return "other numbers than the same committed run: " + count.Some(differs)
	}
	return ""
}

// Stream names the stream of a group.
func (g *Group) Stream() string {
	c := g.Runs[0].Config
	text := c.Data.Name
	switch kind := c.Stream.Kind; kind {
	case "", config.KindClasses:
	case config.KindShift:
		text += " with " + c.Stream.Shift.Kind
	default:
		text += " by " + kind
	}
	return text + ", " + c.Protocol + " protocol"
}

// Names are the names of groups: method, tricks and memory, and where groups of one stream have the same, what
// differs in their configs.
func Names(groups []*Group) []string {
	names := make([]string, len(groups))
	alike := map[string][]int{}
	for i, g := range groups {
		r := g.Runs[0]
		names[i] = r.Method.Title
		for _, t := range r.Method.Tricks {
			if !slices.Contains(config.Classifiers(), t) {
				names[i] += " + " + strings.ToUpper(t)
			}
		}
		if r.Memory != nil {
			names[i] += fmt.Sprintf(", memory %d", r.Memory.Capacity)
		}
		id := g.Stream() + "\n" + names[i]
		alike[id] = append(alike[id], i)
	}
	for _, twins := range alike {
		for _, i := range twins {
			for _, line := range Learned(groups[i].Runs[0].Config) {
				if slices.ContainsFunc(twins, func(j int) bool {
					return !slices.Contains(Learned(groups[j].Runs[0].Config),
						line)
				}) {
					names[i] += ", " + line
				}
			}
		}
	}
	return names
}
