package main

import (
	"ocl/experiment/result"
	"ocl/reproduce"
)

// groupJSON is what `ocl verify --committed --json` prints of the runs that learned the same but for their seeds.
type groupJSON struct {
	Method   string        `json:"method"`
	Tricks   []string      `json:"tricks"`
	Memory   *int          `json:"memory"` // samples; null for a method without memory
	Data     string        `json:"data"`
	Protocol string        `json:"protocol"`
	Learned  []string      `json:"learned"` // lines KEY=VALUE of the config
	Seeds    []uint64      `json:"seeds"`
	Verdict  string        `json:"verdict"`
	Reason   string        `json:"reason,omitempty"` // why nothing is compared
	Notes    []string      `json:"notes"`
	Repeats  []repeatJSON  `json:"repeats"`
	Diverged []uint64      `json:"diverged"`
	Measures []measureJSON `json:"measures"`
}

// repeatJSON is a run with the seed and the engine of a committed run.
type repeatJSON struct {
	Seed        uint64              `json:"seed"`
	Same        bool                `json:"same"`
	Differences []result.Difference `json:"differences"`
}

// measureJSON is a comparison of a measure; fractions, null where there are too few committed seeds.
type measureJSON struct {
	Measure    string    `json:"measure"`
	Seeds      []uint64  `json:"seeds"`
	Values     []float64 `json:"values"`
	Committed  []float64 `json:"committed"`
	Difference *float64  `json:"difference"`
	HalfWidth  *float64  `json:"half_width"`
	P          *float64  `json:"p"`
	AdjustedP  *float64  `json:"adjusted_p"`
	Verdict    string    `json:"verdict"`
}

func checkedJSON(groups []*reproduce.Group) []groupJSON {
	list := []groupJSON{}
	for _, g := range groups {
		r := g.Runs[0]
		out := groupJSON{Method: r.Method.Name, Tricks: r.Method.Tricks, Data: r.Config.Data.Name, Protocol: r.Config.Protocol, Learned: reproduce.Learned(r.Config),
			Verdict: g.Verdict(), Reason: g.Why, Notes: append([]string{}, g.Notes...), Repeats: []repeatJSON{}, Diverged: append([]uint64{}, g.Diverged...), Measures: []measureJSON{}}
		if r.Memory != nil {
			out.Memory = &r.Memory.Capacity
		}
		for _, run := range g.Runs {
			out.Seeds = append(out.Seeds, run.Config.Seed)
		}
		for _, repeat := range g.Repeats {
			out.Repeats = append(out.Repeats, repeatJSON{repeat.Seed, len(repeat.Differences) == 0, append([]result.Difference{}, repeat.Differences...)})
		}
		for _, c := range g.Comparisons {
			own := measureJSON{Measure: c.Measure.Name, Seeds: c.Seeds, Values: c.Values, Committed: append([]float64{}, c.Committed...), Verdict: verdictOf(c)}
			if c.Made() {
				own.Difference, own.HalfWidth, own.P, own.AdjustedP = &c.Difference, &c.Half, &c.P, &c.Adjusted
			}
			out.Measures = append(out.Measures, own)
		}
		list = append(list, out)
	}
	return list
}
