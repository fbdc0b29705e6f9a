package report

import (
	"fmt"
	"maps"
	"slices"

	"ocl/internal/count"
)

// mixtures returns warnings if the runs of a report have different numbers versions, kernels, convolutions or concurrencies.
func (st *study) mixtures() []string {
	var out []string
	distinct := func(f func(*run) string) []string {
		set := map[string]bool{}
		for _, r := range st.runs {
			if r.Foreign == nil {
				set[f(r)] = true
			}
		}
		return slices.Sorted(maps.Keys(set))
	}
	if v := distinct(func(r *run) string { return fmt.Sprint(r.Provenance.Numbers) }); len(v) > 1 {
		out = append(out, fmt.Sprintf("The results mix numbers versions %s: a change between them moved benchmark figures, so rows of different versions cannot be compared (CHANGELOG, [NUMBERS]). They are never averaged together.", count.And(v)))
	}
	if v := distinct(func(r *run) string { return orUnknown(r.Provenance.Kernel) }); len(v) > 1 {
		out = append(out, fmt.Sprintf("The results mix the kernels %s: with them, runs of one seed differ by rounding, which may move an accuracy by a point or more. Times cannot be compared.", count.And(v)))
	}
	if v := distinct(func(r *run) string { return orUnknown(r.Provenance.Convolution) }); len(v) > 1 {
		out = append(out, fmt.Sprintf("The results mix the convolutions %s: with them, runs of one seed differ by rounding, which may move an accuracy by a point or more. Times cannot be compared.", count.And(v)))
	}
	if v := distinct(func(r *run) string { return fmt.Sprintf("%d", max(r.Provenance.Concurrency, 1)) }); len(v) > 1 {
		st.together = fmt.Sprintf("The results mix concurrencies (%s runs at once), so times cannot be compared.", count.And(v))
		out = append(out, st.together)
	}
	return out
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
