package result

import (
	"strings"
	"testing"

	"ocl/config"
)

func TestSame(t *testing.T) {
	if d, same := Same(nil, example(), example()); !same || d != "" {
		t.Errorf("a result is not the same as itself: %s", d)
	}
	// Where and when it was made is no part of it.
	r := example()
	r.Config = elsewhereConfig()
	r.Provenance.Program, r.Provenance.Revision, r.Provenance.Go, r.Provenance.Processor = "9", "abc", "go9", "another"
	r.Provenance.Workers, r.Provenance.Concurrency = 17, 18
	r.Provenance.Started, r.Provenance.Ended, r.Provenance.Command = "", "2027-01-01T00:00:00Z", nil
	r.Seconds = Seconds{1, 2, 3}
	r.Resources.PeakResidentBytes = 99
	r.Key = "" // from before there were keys
	r.Memory.TaskCounts = nil
	for _, pair := range [][2]*Result{{example(), r}, {r, example()}} {
		if d, same := Same(nil, pair[0], pair[1]); !same {
			t.Errorf("where and when count: %s", d)
		}
	}
	named := func() *Result {
		r := example()
		r.Stream.Tasks[0].Name = "spring"
		return r
	}
	for _, pair := range [][2]*Result{{example(), named()}, {named(), example()}} { // from before tasks had names
		if d, same := Same(nil, pair[0], pair[1]); !same {
			t.Errorf("names count where there are none: %s", d)
		}
	}
	other := named()
	other.Stream.Tasks[0].Name = "autumn"
	if d, same := Same(nil, named(), other); same || d != `stream.tasks[0].name is "spring" and "autumn"` {
		t.Errorf("other names: %q", d)
	}
	neon := example()
	neon.Provenance.Kernel, neon.Provenance.Architecture = "neon", "arm64"
	if d, same := Same(nil, example(), neon); !same { // it has the bits of AVX2
		t.Errorf("results of kernels with the same bits: %s", d)
	}
	// An option that is younger than a result has its default there, or what the config says.
	gated := &config.Schema{Catalogue: config.Catalogue{Methods: []config.Method{{Name: "er",
		Options: []config.Option{{Name: "gate", Default: "batch"}}}}}}
	older, newer := example(), example()
	older.Method.Options, older.Config.Method = map[string]any{}, nil
	newer.Method.Options, newer.Config.Method = map[string]any{"gate": "batch"}, nil
	for _, pair := range [][2]*Result{{older, newer}, {newer, older}} {
		if d, same := Same(gated, pair[0], pair[1]); !same {
			t.Errorf("an option with its default is another one: %s", d)
		}
	}
	newer.Method.Options["gate"] = "class"
	if d, same := Same(gated, older, newer); same || d != `method.options.gate is "batch" and "class"` {
		t.Errorf("another value than the default: %q", d)
	}
	older.Config.Method = map[string]map[string]any{"er": {"gate": "class"}}
	if d, _, err := Compare(gated, older, newer); err != nil || len(d) > 0 {
		t.Errorf("an option that the config has: %v (%v)", d, err)
	}
	quarter := 0.25
	for _, c := range []struct {
		change func(*Result)
		want   string
	}{
		{func(r *Result) { r.Key = strings.Repeat("0b", 32) }, `key is "0a0a`},
		{func(r *Result) { r.Config = otherConfig() }, "config: seed is "},
		{func(r *Result) { r.Accuracy[1][1] = &quarter }, "accuracy[1][1] is 0.5 and 0.25"},
		{func(r *Result) { r.Accuracy[0][1] = &quarter }, "accuracy[0][1] is null and 0.25"},
		{func(r *Result) { r.Accuracy = r.Accuracy[:1] }, "accuracy is a list of 2 and a list of 1"},
		{func(r *Result) { r.Metrics.FWT = &quarter }, "metrics.fwt is missing and 0.25"},
		{func(r *Result) { r.Memory = nil }, "memory is an object and missing"},
		{func(r *Result) { r.Memory.TaskCounts[1][0] = 2 }, "memory.task_counts[1].0 is 1 and 2"},
		{func(r *Result) { r.Memory.Capacity, r.Memory.TaskCounts = 4, nil }, "memory.capacity is 3 and 4"},
		{func(r *Result) { r.Provenance.Kernel = "generic" }, `provenance.kernel is "avx2" and "generic"`},
		{func(r *Result) { r.Provenance.Kernel = "\x1b[31m" }, `provenance.kernel is "avx2" and "\x1b[31m"`},
		{func(r *Result) { r.Method.Options["a\x1bb"] = true }, `method.options."a\x1bb" is missing and true`},
		{func(r *Result) { r.Method.Options["gate"] = []int{1} }, `method.options.gate is "batch" and a list`},
		{func(r *Result) { r.Evaluations[1].Step = 2 }, "evaluations[1].step is 3 and 2"},
		{func(r *Result) { r.Resources.StateBytes = 1 }, "resources.state_bytes is 0 and 1"},
	} {
		r := example()
		c.change(r)
		if d, same := Same(nil, example(), r); same || !strings.HasPrefix(d, c.want) {
			t.Errorf("got  %q\nwant %q", d, c.want)
		}
		if d, same := Same(nil, r, example()); same || d == "" {
			t.Errorf("the other way round: %q, want a difference like %q", d, c.want)
		}
	}
}
