package result

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"ocl/config"
	"ocl/internal/samebits"
)

// whereAndWhen are the keys that say where and when a result was made. They and everything below them are not compared.
// docs/format/result.md has the same list.
var whereAndWhen = []string{
	"config.data.dir", "config.data.backbone", "config.network.init", "config.parent.run", "parent.run", "tuning",
	"provenance.program", "provenance.revision", "provenance.workers", "provenance.concurrency", "provenance.timed",
	"provenance.go",
	"provenance.processor", "provenance.architecture", "provenance.started", "provenance.ended", "provenance.command",
	"seconds",
	"resources.peak_resident_bytes",
}

// Difference is a key that two results have with different values, in words for messages.
type Difference struct {
	Key string `json:"key"`
	A   string `json:"recorded"`
	B   string `json:"run"`
}

func (d Difference) String() string { return fmt.Sprintf("%s is %s and %s", d.Key, d.A, d.B) }

// Same compares two results, except for the keys that say where and when they were made. difference names the first key
// that differs, with both values, and all keys of the configs that differ. Configs and options are compared by meaning,
// and engines by the bits of the kernels ([samebits.Same]) and the convolution that were used. An option that a result
// lacks has the value of its config, or its default in the catalogue, which may be nil. A result without a key, without
// counts of the memory by task, without names of tasks, or without a calibration counts as having the other's.
func Same(catalogue *config.Schema, a, b *Result) (difference string, same bool) {
	catalogue = cmp.Or(catalogue, new(config.Schema))
	if catalogue.Canonical(a.Config) != catalogue.Canonical(b.Config) {
		return "config: " + config.Difference(catalogue.Resolved(a.Config), catalogue.Resolved(b.Config)), false
	}
	differences, _, err := Compare(catalogue, a, b)
	switch {
	case err != nil:
		return err.Error(), false
	case len(differences) > 0:
		return differences[0].String(), false
	}
	return "", true
}

// Compare lists all keys but those of the configs in which two results differ, except for the keys that say where and
// when they were made. values is the number of texts, numbers, true, false and null that were compared. It compares as
// [Same] does.
func Compare(catalogue *config.Schema, a, b *Result) (differences []Difference, values int, err error) {
	catalogue = cmp.Or(catalogue, new(config.Schema))
	var trees [2]any
	for i, r := range []*Result{a, b} {
		whole := *r
		whole.Method.Options = r.options(catalogue)
		text, err := json.Marshal(&whole)
		if err == nil {
			d := json.NewDecoder(strings.NewReader(string(text)))
			d.UseNumber()
			err = d.Decode(&trees[i])
		}
		if err != nil {
			return nil, 0, fmt.Errorf("result: one cannot be written: %w", err)
		}
	}
	c := comparing{skip: func(at string) bool {
		return slices.Contains(whereAndWhen, at) || at == "config" ||
			at == "provenance.kernel" && samebits.Same(a.Provenance.Kernel, b.Provenance.Kernel) || at == "key" && (a.Key == "" || b.Key == "") ||
			at == "memory.task_counts" && (!a.countsByTask() || !b.countsByTask()) ||
			at == "calibration" && (a.Calibration == nil || b.Calibration == nil) ||
			strings.HasSuffix(at, "cumulative") && (a.Cumulative == nil || b.Cumulative == nil) ||
			at == "retained" && (a.Retained == nil || b.Retained == nil) ||
			laterMetric(at, a, b) ||
			laterCost.MatchString(at) && (a.Resources.NetworkBytes == 0 || b.Resources.NetworkBytes == 0) ||
			taskName.MatchString(at) && (!a.namesTasks() || !b.namesTasks())
	}}
	c.compare("", trees[0], trees[1])
	return c.differences, c.values, nil
}

// options returns the options of the method of a result. One that the result lacks has the value of its config, or its
// default in the catalogue.
func (r *Result) options(catalogue *config.Schema) map[string]any {
	name := r.Method.Name
	own := map[string]any{}
	maps.Copy(own, r.Config.Method[name])
	maps.Copy(own, r.Method.Options)
	c := config.Config{Methods: []string{name}, Method: map[string]map[string]any{name: own}}
	maps.Copy(own, catalogue.Resolved(c).Method[name])
	return own
}

// laterMetric says whether a key is that of a metric that older results lack, and one of two results lacks it.
func laterMetric(at string, a, b *Result) bool {
	of := metricKey.FindStringSubmatch(at)
	return of != nil && slices.ContainsFunc(metrics, func(m Metric) bool {
		lacks := func(r *Result) bool {
			all := r.Metrics
			if of[1] != "" {
				all = r.Classifiers[of[1]].Metrics
			}
			return m.Of(all) == nil
		}
		return m.Key == of[2] && m.Later() && (lacks(a) || lacks(b))
	})
}

// metricKey is the key of a metric, of the first classifier or of one that it names.
var metricKey = regexp.MustCompile(`^(?:classifiers\.([^.]+)\.)?metrics\.(\w+)$`)

// laterCost is a key of what a method costs that older results lack.
var laterCost = regexp.MustCompile(`^resources\.(rows_forward|rows_backward|network_bytes)$`)

// taskName is the key of the name of a task.
var taskName = regexp.MustCompile(`^stream\.tasks\[\d+\]\.name$`)

// namesTasks says whether a result has names of tasks, which older ones do not have.
func (r *Result) namesTasks() bool {
	return slices.ContainsFunc(r.Stream.Tasks, func(t Task) bool { return t.Name != "" })
}

// countsByTask says whether a result has counts of the memory by task, which older ones do not have.
func (r *Result) countsByTask() bool { return r.Memory != nil && len(r.Memory.TaskCounts) > 0 }

// comparing compares two trees of JSON.
type comparing struct {
	skip        func(at string) bool
	differences []Difference
	values      int
}

// differ keeps a difference.
func (c *comparing) differ(at, a, b string) {
	c.differences = append(c.differences, Difference{at, a, b})
}

// compare compares what two trees have below a path.
func (c *comparing) compare(at string, a, b any) {
	if c.skip(at) {
		return
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
				c.compare(below, v, w)
			case !c.skip(below):
				c.differ(below, brief(v, inX), brief(w, inY))
			}
		}
		return
	case []any:
		y, ok := b.([]any)
		if !ok {
			break
		}
		if len(x) != len(y) {
			c.differ(at, fmt.Sprintf("a list of %d", len(x)), fmt.Sprintf("a list of %d", len(y)))
			return
		}
		for i := range x {
			if equal(x[i], y[i]) { // before its path is written
				c.values++
				continue
			}
			c.compare(fmt.Sprintf("%s[%d]", at, i), x[i], y[i])
		}
		return
	default:
		if c.values++; equal(a, b) {
			return
		}
	}
	c.differ(at, brief(a, true), brief(b, true))
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
