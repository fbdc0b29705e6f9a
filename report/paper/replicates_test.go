package paper

import (
	"math"
	"testing"

	"ocl/config"
	"ocl/experiment"
	"ocl/experiment/result"
)

// TestReplicates: the spread of rounding is that between the kernels of a seed, and equal kernels add nothing to it.
func TestReplicates(t *testing.T) {
	dir := t.TempDir()
	add := func(name string, spec Spec, seed uint64, kernel string, accuracy float64) {
		r := fake(spec, seed, config.EvalFinal)
		r.Provenance.Kernel = kernel
		last := r.Accuracy[len(r.Accuracy)-1]
		for i := range last {
			last[i] = &accuracy
		}
		r.Metrics = result.MetricsOf(r.Accuracy, r.Stream.CommonTest, r.Evaluations)
		r.Key = experiment.Key(r)
		write(t, dir, name, r)
	}
	gss := er
	gss.Method = "gss"
	add("a.json.gz", er, 1, "avx2", 0.20)
	add("b.json.gz", er, 1, "avx512", 0.18)
	add("c.json.gz", er, 1, "avx512", 0.18) // the same again
	add("d.json.gz", er, 2, "avx512", 0.22)
	add("e.json.gz", er, 2, "avx2", 0.21)
	add("f.json.gz", er, 3, "avx2", 0.25)
	add("g.json.gz", gss, 1, "avx2", 0.10)
	add("h.json.gz", gss, 2, "avx2", 0.12) // no repeat
	got := mustRead(t, dir).Replicates()
	rounding, seeds := math.Sqrt((2.0+0.5)/2), math.Sqrt((4.0+1+9)/2) // d²/2 of each pair; 20, 21 and 25 around 22
	if len(got) != 2 || got[0].Method != "er" || got[1].Method != "" {
		t.Fatalf("%+v, want ER and all", got)
	}
	for _, r := range got {
		if r.Pairs != 2 || math.Abs(r.Rounding-rounding) > 1e-9 || math.Abs(r.Seeds-seeds) > 1e-9 {
			t.Errorf("%+v, want 2 pairs, %g and %g", r, rounding, seeds)
		}
	}
}

// TestCommittedReplicates: rounding moves a run of ER or MIR by more than a point, which is not much less than another seed does.
func TestCommittedReplicates(t *testing.T) {
	of := map[string]Replicates{}
	for _, r := range committed(t).WithoutConfirmation().Replicates() {
		of[r.Method] = r
	}
	for name, want := range map[string]float64{"er": 1.06, "mir": 1.23, "": 0.75} {
		if r := of[name]; math.Abs(r.Rounding-want) > 0.006 || r.Pairs < 3 {
			t.Errorf("%s: %+v, want a spread of rounding of %g", name, r, want)
		}
	}
}
