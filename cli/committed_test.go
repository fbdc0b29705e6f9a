package cli

import (
	"os"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ocl/run/experiment"
	"ocl/run/result"
)

// moved writes the result of a run with another seed and other accuracies.
func moved(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: moved RESULT FILE SEED POINTS")
	}
	r, err := result.Read(ts.MkAbs(args[0]))
	ts.Check(err)
	r.Config.Seed, err = strconv.ParseUint(args[2], 10, 64)
	ts.Check(err)
	points, err := strconv.ParseFloat(args[3], 64)
	ts.Check(err)
	for i, v := range r.Accuracy[len(r.Accuracy)-1] {
		higher := min(*v+points/100, 1)
		r.Accuracy[len(r.Accuracy)-1][i] = &higher
	}
	r.Classifiers, r.ErrorAnalysis, r.PerClass = nil, nil, nil
	r.Config.Classifiers = r.Config.Classifiers[:1]
	r.Metrics = result.MetricsOf(r.Accuracy, r.Stream.CommonTest, r.Evaluations)
	r.Key = experiment.Key(r)
	text, err := result.Encode(r)
	ts.Check(err)
	_, err = result.Parse(text)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), text, 0o644))
}

// TestSeedsInWords holds the list of seeds to its form.
func TestSeedsInWords(t *testing.T) {
	for _, c := range []struct {
		seeds []uint64
		want  string
	}{
		{[]uint64{3, 1, 2}, "1 to 3"}, {[]uint64{7}, "7"}, {[]uint64{1, 1, 2, 4, 9, 8}, "1 to 2, 4, 8 to 9"}, {nil, ""},
	} {
		if got := listSeeds(c.seeds); got != c.want {
			t.Errorf("%v are %q, want %q", c.seeds, got, c.want)
		}
	}
}
