package report

import (
	"fmt"
	"slices"
	"sort"

	"ocl/experiment/result"
)

// setting is what rows must share to be compared in one figure: stream, protocol and number of tasks.
type setting struct {
	Name     string // "cifar100 in 20 tasks, survey protocol"
	slug     string // "" when the study has one setting only
	stream   result.Stream
	rows     []*row
	memories []int // the different capacities, ascending, for line widths
	all      bool  // all rows are drawn
}

// settingKey is the identity of a setting.
func settingKey(r *run) string {
	s := r.Stream
	return fmt.Sprintf("%s\x00%s\x00%s\x00%d\x00%v\x00%d", s.Name, s.Scenario, s.Protocol, len(s.Tasks), s.Shape, s.Classes)
}

// settingName names the stream, the number of tasks and the protocol.
func settingName(s result.Stream) string {
	name := s.Name
	if name == "" {
		name = "an unnamed stream"
	}
	name += fmt.Sprintf(" in %s", count(len(s.Tasks), "task"))
	if s.Protocol != "" {
		name += ", " + s.Protocol + " protocol"
	}
	return name
}

// finish sorts the rows (methods in their order, bounds below those that they bound, then by memory) and gives them
// their line widths.
func (s *setting) finish(methods catalogue) {
	rank := func(g *row) int {
		place := methods.place(g.method.Name)
		if g.bound != NoBound {
			place += len(methods)
		}
		return place
	}
	slices.SortStableFunc(s.rows, func(a, b *row) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return a.memory - b.memory
	})
	for _, g := range s.rows {
		slices.SortStableFunc(g.runs, func(a, b *run) int {
			if a.seed < b.seed {
				return -1
			}
			return 1
		})
		for _, r := range g.runs {
			if r.Outcome.State == result.Finished {
				g.finished = append(g.finished, r)
			}
		}
		if g.memory >= 0 && !slices.Contains(s.memories, g.memory) {
			s.memories = append(s.memories, g.memory)
		}
	}
	sort.Ints(s.memories)
	for _, g := range s.rows {
		g.width = 2
		if i := slices.Index(s.memories, g.memory); i >= 0 && len(s.memories) > 1 {
			g.width = 1.3 + 1.9*float64(i)/float64(len(s.memories)-1)
		}
	}
}
