package reproduce

import (
	"fmt"
	"slices"
	"strings"

	"ocl/config"
	"ocl/internal/count"
	"ocl/run/result"
)

// near is the largest number of keys by which a reference that is named as near differs.
const near = 4

// why says why there is no reference for a run: no committed run has its data, or which config is the nearest.
func why(references []Reference, r *result.Result) string {
	learned := Learned(r.Config)
	method := keyed(learned)["methods"]
	var nearest []string
	for _, ref := range references {
		if keyed(ref.Learned)["methods"] != method {
			continue
		}
		differences := differ(learned, ref.Learned)
		if len(differences) == 0 { // found by its config, so the data are others
			return fmt.Sprintf("the committed runs of this config have other data: the digest is %.18q here and %.18q there. "+
				"Check the data with \"ocl data verify %s\"", r.Provenance.DataDigest, ref.Data, r.Config.Data.Name)
		}
		if len(ref.values(Measures[0])) >= Least && (nearest == nil || len(differences) < len(nearest)) {
			nearest = differences
		}
	}
	switch {
	case nearest == nil:
		return fmt.Sprintf("no method %q is among the committed runs with %d seeds", method, Least)
	case len(nearest) > near:
		return fmt.Sprintf("no committed run is near: the nearest of this method differs in %s: %s",
			count.Of(len(nearest), "key"), count.Some(nearest))
	}
	return "no committed run has this config; in the nearest, " + strings.Join(nearest, ", ")
}

// tooFew says how many committed seeds there are for runs that could be compared with them.
func tooFew(r *Reference) string {
	seeds := 0
	for _, m := range Measures {
		seeds = max(seeds, len(r.values(m)))
	}
	if seeds >= Least {
		return "the runs have measured nothing that the committed ones have"
	}
	return fmt.Sprintf("the committed runs of this config have only %s, and %d are needed", count.Of(seeds, "seed"), Least)
}

// differ lists the keys in which two lists of lines differ, in words: those of a first, then those that only b has.
func differ(a, b []string) (differences []string) {
	own, other := keyed(a), keyed(b)
	var keys []string
	for _, line := range slices.Concat(a, b) {
		if key, _, _ := strings.Cut(line, "="); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		if own[key] != other[key] {
			differences = append(differences, fmt.Sprintf("%s is %s and not %s", key, value(other, key), value(own, key)))
		}
	}
	return differences
}

// value is that of a key, also of one without a line.
func value(lines map[string]string, key string) string {
	if v, there := lines[key]; there {
		return v
	}
	if v, known := config.Default().Text(key); known && v != "" {
		return v
	}
	return "not set"
}

// keyed are the values of lines by their keys.
func keyed(lines []string) map[string]string {
	values := map[string]string{}
	for _, line := range lines {
		key, v, _ := strings.Cut(line, "=")
		values[key] = v
	}
	return values
}
