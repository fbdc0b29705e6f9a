package result

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"ocl/config"
)

// whereAndWhen are the keys that say where and when a result was made. They and everything below them are not compared.
// docs/format/result.md has the same list.
var whereAndWhen = []string{
	"config.data.dir", "config.network.init", "config.parent.run", "parent.run", "tuning",
	"provenance.program", "provenance.revision", "provenance.workers", "provenance.concurrency", "provenance.go",
	"provenance.processor", "provenance.started", "provenance.ended", "provenance.command",
	"seconds",
	"resources.peak_resident_bytes",
}

// Same compares two results, except for the keys that say where and when they were made. difference names the first key
// that differs, with both values, and all keys of the configs that differ. Configs are compared by meaning, and engines
// by the kernel and the convolution that were used. A result without a key, without counts of the memory by task, or
// without names of tasks counts as having the other's.
func Same(a, b *Result) (difference string, same bool) {
	if a.Config.Canonical() != b.Config.Canonical() {
		return "config: " + config.Difference(a.Config, b.Config), false
	}
	var trees [2]any
	for i, r := range []*Result{a, b} {
		text, err := json.Marshal(r)
		if err == nil {
			d := json.NewDecoder(strings.NewReader(string(text)))
			d.UseNumber()
			err = d.Decode(&trees[i])
		}
		if err != nil {
			return fmt.Sprintf("one cannot be written: %v", err), false
		}
	}
	skip := func(at string) bool {
		return slices.Contains(whereAndWhen, at) || at == "config" || at == "key" && (a.Key == "" || b.Key == "") ||
			at == "memory.task_counts" && (!a.countsByTask() || !b.countsByTask()) ||
			taskName.MatchString(at) && (!a.namesTasks() || !b.namesTasks())
	}
	difference = differ("", trees[0], trees[1], skip)
	return difference, difference == ""
}

// taskName is the key of the name of a task.
var taskName = regexp.MustCompile(`^stream\.tasks\[\d+\]\.name$`)

// namesTasks says whether a result has names of tasks, which older ones do not have.
func (r *Result) namesTasks() bool {
	return slices.ContainsFunc(r.Stream.Tasks, func(t Task) bool { return t.Name != "" })
}

// countsByTask says whether a result has counts of the memory by task, which older ones do not have.
func (r *Result) countsByTask() bool { return r.Memory != nil && len(r.Memory.TaskCounts) > 0 }

// differ names the first difference of two trees of JSON below a path, "" if there is none.
func differ(at string, a, b any, skip func(at string) bool) string {
	if skip(at) {
		return ""
	}
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			break
		}
		all := maps.Clone(x)
		maps.Copy(all, y)
		for _, k := range slices.Sorted(maps.Keys(all)) {
			name := k
			if !plain(k) {
				name = cut(k)
			}
			below := strings.TrimPrefix(at+"."+name, ".")
			v, inX := x[k]
			w, inY := y[k]
			switch {
			case inX && inY:
				if d := differ(below, v, w, skip); d != "" {
					return d
				}
			case !skip(below):
				return fmt.Sprintf("%s is %s and %s", below, brief(v, inX), brief(w, inY))
			}
		}
		return ""
	case []any:
		y, ok := b.([]any)
		if !ok {
			break
		}
		if len(x) != len(y) {
			return fmt.Sprintf("%s has %d and %d values", at, len(x), len(y))
		}
		for i := range x {
			if equal(x[i], y[i]) { // before its path is written
				continue
			}
			if d := differ(fmt.Sprintf("%s[%d]", at, i), x[i], y[i], skip); d != "" {
				return d
			}
		}
		return ""
	default:
		if equal(a, b) {
			return ""
		}
	}
	return fmt.Sprintf("%s is %s and %s", at, brief(a, true), brief(b, true))
}

// equal compares texts, numbers, true, false and null; lists and objects it calls different.
func equal(a, b any) bool {
	switch a.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b // a list or an object on the other side is of another type
}

// brief is a value as a message shows it.
func brief(v any, there bool) string {
	if !there {
		return "missing"
	}
	switch v := v.(type) {
	case string:
		return cut(v)
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case nil:
		return "null"
	}
	return fmt.Sprint(v)
}
