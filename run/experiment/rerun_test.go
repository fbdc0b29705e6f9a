package experiment

import (
	"errors"
	"strings"
	"testing"

	"ocl/nn"
	"ocl/run/result"
)

// TestRerun: a run that is made again from its result has the same result, and a value that was changed in the result
// is found, also where everything in the file still fits together.
func TestRerun(t *testing.T) {
	t.Setenv("OCL_KERNEL", "")
	t.Setenv("OCL_CONV", "")
	made := mustRun(t, one("er"), Options{Workers: 1})[0]
	again := func(r *result.Result) []result.Difference {
		t.Helper()
		d, values := rerun(t, r, Options{Workers: 2})
		if values < 100 {
			t.Fatalf("%d values are compared", values)
		}
		return d
	}
	if d := again(made); len(d) > 0 {
		t.Errorf("a run that is made again differs: %v", d)
	}
	if one := "avx2"; (nn.Engine{Kernel: one}).Check() == nil { // here, or in its place a set of the same bits
		for _, name := range []string{one, "neon"} {
			c := made.Config
			c.Engine.Kernel = name
			elsewhere := *mustRun(t, c, Options{Workers: 1})[0]
			elsewhere.Provenance.Kernel, elsewhere.Provenance.Architecture = name, "pdp11"
			if d := again(&elsewhere); len(d) > 0 {
				t.Errorf("a run of the %s kernels that is made again here differs: %v", name, d)
			}
		}
	}
	changed := *made
	changed.Accuracy = append([][]*float64{}, made.Accuracy...)
	last := len(changed.Accuracy) - 1
	changed.Accuracy[last] = append([]*float64{}, made.Accuracy[last]...)
	other := 1 - *made.Accuracy[last][0]/2
	changed.Accuracy[last][0] = &other
	changed.Metrics = result.MetricsOf(changed.Accuracy, false, nil)
	d := again(&changed)
	if len(d) < 2 || d[0].Key != "accuracy[4][0]" || !strings.HasPrefix(d[1].Key, "metrics.") {
		t.Errorf("differences are %v, want the accuracy and metrics", d)
	}
}

func TestRerunRefuses(t *testing.T) {
	t.Setenv("OCL_KERNEL", "")
	t.Setenv("OCL_CONV", "")
	for _, c := range []struct {
		change func(*result.Result)
		parent string
		says   string
		edited bool
	}{
		{func(r *result.Result) { r.Outcome.State = result.Interrupted }, "", "was interrupted at step 60", false},
		{func(r *result.Result) { r.Provenance.Numbers = 1 }, "", "numbers version 1, but this ocl has", false},
		{func(r *result.Result) { r.Provenance.Kernel = "s\x1bve" }, "", `the "s\x1bve" kernels, but this machine has only`,
			false},
		{func(r *result.Result) { r.Config.Memory = 31 }, "", "does not give the recorded key", true},
		{func(r *result.Result) { r.Metrics.FWT = r.Metrics.AverageAccuracy }, "",
			"metrics.fwt does not follow from its accuracies: it is 0.", true},
		{func(r *result.Result) { r.Metrics.AverageAccuracy = nil }, "",
			"metrics.average_accuracy does not follow from its accuracies: it is missing", true},
		{func(r *result.Result) { r.Provenance.DataDigest = "sha256:0"; r.Key = Key(r) }, "",
			"the data have the digest sha256:", false},
		{func(r *result.Result) { r.Provenance.Convolution = "wonky"; r.Key = Key(r) }, "", "this ocl makes another run",
			false},
		{func(*result.Result) {}, "x", "began with a new learner", false},
	} {
		r := mustRun(t, one("er"), Options{Workers: 1})[0]
		c.change(r)
		_, err := OpenRerun(t.Context(), r, c.parent, Options{})
		if err == nil || !strings.Contains(err.Error(), c.says) || errors.Is(err, result.ErrEdited) != c.edited {
			t.Errorf("got  %v\nwant %s", err, c.says)
		}
	}
}
