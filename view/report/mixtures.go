package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"ocl/internal/count"
	"ocl/internal/origin"
)

// mixtures returns warnings if the runs of a report have different numbers versions, kernels, convolutions or
// concurrencies.
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
		out = append(out, fmt.Sprintf("The results mix numbers versions %s: a change between them moved benchmark figures, so rows of different versions cannot be compared (CHANGELOG, [NUMBERS]). They are never averaged together.",
			count.And(v)))
	}
	rounding := func(what string, of func(*run) string) {
		if v := distinct(of); len(v) > 1 {
			out = append(out, fmt.Sprintf("The results mix the %s %s: with them, runs of one seed differ by rounding, which may move an accuracy by a point or more. Times cannot be compared.",
				what, count.And(v)))
		}
	}
	rounding("kernels", func(r *run) string { return orUnknown(r.engine().Kernel) })
	rounding("convolutions", func(r *run) string { return orUnknown(r.Provenance.Convolution) })
	versions := map[string]map[string]bool{} // of modules, by what they registered
	inexact := map[string]bool{}             // modules whose version names no state of their code
	for _, r := range st.runs {
		for _, registered := range r.Provenance.Registered {
			what := registered.What()
			if versions[what] == nil {
				versions[what] = map[string]bool{}
			}
			versions[what][registered.From()] = true
			if !origin.Exact(registered.Version) {
				inexact[registered.From()] = true
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(versions)) {
		if v := slices.Sorted(maps.Keys(versions[what])); len(v) > 1 {
			out = append(out, fmt.Sprintf("The results mix versions of the %s: %s. Rows of different versions are never averaged together.",
				what, count.And(v)))
		}
	}
	for _, from := range slices.Sorted(maps.Keys(inexact)) {
		out = append(out, fmt.Sprintf("The results that use %s may be of several states of its code, because this version does not name one.",
			from))
	}
	if v := distinct(func(r *run) string { return fmt.Sprintf("%d", max(r.Provenance.Concurrency, 1)) }); len(v) > 1 {
		st.together = fmt.Sprintf("The results mix concurrencies (%s runs at once), so times cannot be compared.",
			count.And(v))
		out = append(out, st.together)
	}
	return out
}

func orUnknown(s string) string { return cmp.Or(s, "unknown") }
