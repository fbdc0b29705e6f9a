package result

import (
	"strings"
	"testing"
)

func TestSame(t *testing.T) {
	if d, same := Same(example(), example()); !same || d != "" {
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
		if d, same := Same(pair[0], pair[1]); !same {
			t.Errorf("where and when count: %s", d)
		}
	}
	named := func() *Result {
		r := example()
		r.Stream.Tasks[0].Name = "spring"
		return r
	}
	for _, pair := range [][2]*Result{{example(), named()}, {named(), example()}} { // from before tasks had names
		if d, same := Same(pair[0], pair[1]); !same {
			t.Errorf("names count where there are none: %s", d)
		}
	}
	other := named()
	other.Stream.Tasks[0].Name = "autumn"
	if d, same := Same(named(), other); same || d != `stream.tasks[0].name is "spring" and "autumn"` {
		t.Errorf("other names: %q", d)
	}
	neon := example()
	neon.Provenance.Kernel, neon.Provenance.Architecture = "neon", "arm64"
	if d, same := Same(example(), neon); !same { // it has the bits of AVX2
		t.Errorf("results of kernels with the same bits: %s", d)
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
		if d, same := Same(example(), r); same || !strings.HasPrefix(d, c.want) {
			t.Errorf("got  %q\nwant %q", d, c.want)
		}
		if d, same := Same(r, example()); same || d == "" {
			t.Errorf("the other way round: %q, want a difference like %q", d, c.want)
		}
	}
}
