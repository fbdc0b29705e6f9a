package report

import (
	"math"
	"strings"

	"ocl/run/metric"
	"ocl/run/result"
)

// Summary is a row of the main table for programs: the means over its runs.
type Summary struct {
	Label      string          `json:"label"`
	Foreign    *string         `json:"foreign"` // the program that measured it; nil for ocl
	Method     string          `json:"method"`
	Tricks     []string        `json:"tricks"`
	Classifier string          `json:"classifier"`
	Memory     *int            `json:"memory"` // samples; nil for a method without memory
	Stream     string          `json:"stream"`
	Tasks      int             `json:"tasks"`
	Protocol   string          `json:"protocol"`
	Seeds      []uint64        `json:"seeds"` // of all runs
	Runs       int             `json:"runs"`  // behind the means: those that finished, or all where none did
	Outcome    string          `json:"outcome"`
	Metrics    map[string]Mean `json:"metrics"` // by the names of result.json, fractions
	Seconds    Mean            `json:"seconds"` // of one run
}

// Mean is a mean over runs with the half width of its 95 % interval.
type Mean struct {
	Mean      *float64 `json:"mean"`          // nil where nothing was measured
	HalfWidth *float64 `json:"half_width_95"` // nil for fewer than two runs
	Runs      int      `json:"runs"`
}

func meanOf(e metric.Estimate) Mean {
	defined := func(v float64) *float64 {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return &v
	}
	return Mean{Mean: defined(e.Mean), HalfWidth: defined(e.Half), Runs: e.N}
}

// summaries are the rows of the main table, in its order.
func (st *study) summaries() []Summary {
	out := []Summary{}
	for _, g := range st.rows {
		s := Summary{
			Label: g.full(), Method: g.method.Name, Tricks: append([]string{}, tricksOf(g.method)...), Classifier: g.classifier,
			Stream: g.setting.stream.Name, Tasks: len(g.setting.stream.Tasks), Protocol: g.setting.stream.Protocol,
			Runs: len(g.counted()), Outcome: strings.TrimSpace(g.outcomeText()), Metrics: map[string]Mean{},
			Seconds: meanOf(g.seconds((*run).seconds)),
		}
		if g.foreign() {
			s.Foreign = &g.runs[0].Foreign.Program
		}
		if g.memory >= 0 {
			s.Memory = &g.memory
		}
		for _, r := range g.runs {
			s.Seeds = append(s.Seeds, r.seed)
		}
		for _, m := range result.AllMetrics() {
			s.Metrics[m.Key] = meanOf(g.metricOf(m.Of))
		}
		out = append(out, s)
	}
	return out
}
