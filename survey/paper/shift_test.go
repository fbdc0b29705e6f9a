package paper

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"ocl/config"
	"ocl/run/experiment"
	"ocl/run/result"
	"ocl/survey"
	"ocl/sweep/study"
)

// shiftTuning is how the runs of survey/studies/shift.yaml are tuned.
func shiftTuning() *result.Tuning {
	digits := strings.Repeat("0", 64)
	score := 0.5
	return &result.Tuning{Key: digits, Grid: shiftGrid, GridDigest: "sha256:" + digits,
		Search: config.SearchGrid, Repeats: 3, Steps: 1500, Keys: []string{"optimizer.lr", "optimizer.weight_decay"},
		Chosen: []string{"0.0031", "0.01"},
		Points: []result.TuningPoint{{Values: []string{"0.0031", "0.01"}, Outcome: result.Finished, Score: &score}}}
}

// shiftingRun is a made-up run of survey/studies/shift.yaml, or of the confirmation, which has this accuracy.
func shiftingRun(tuned bool, seed uint64, accuracy float64) *result.Result {
	r := fake(shifted, seed, config.EvalFinal)
	r.Provenance.Timed = false
	for _, v := range r.Accuracy[len(r.Accuracy)-1] {
		*v = accuracy
	}
	r.Metrics = result.MetricsOf(r.Accuracy, false, r.Evaluations)
	if tuned {
		r.Config.Optimizer.LR, r.Config.Optimizer.WeightDecay, r.Tuning = 0.0031, 0.01, shiftTuning() // a rate of no study
	}
	if r.Key = experiment.Key(r); tuned {
		r.Tuning.Key = r.Key
	}
	return r
}

// TestShiftByHand: five tuned runs beside five of the confirmation, and the spreads, worked out by SciPy.
func TestShiftByHand(t *testing.T) {
	dir := t.TempDir()
	tuned, untuned := []float64{15.3, 16.3, 21, 18.2, 20.1}, []float64{20.1, 18.9, 19.4, 20.3, 18.8}
	add := func(name string, r *result.Result) { write(t, dir, name+".json.gz", r) }
	for i := range tuned {
		seed := confirmingSeed + uint64(i)
		add(fmt.Sprintf("untuned-s%d", seed), shiftingRun(false, seed, untuned[i]/100))
		if i > 0 {
			add(fmt.Sprintf("tuned-s%d", seed), shiftingRun(true, seed, tuned[i]/100))
		}
	}
	if s := mustRead(t, dir).Shift(); s != nil {
		t.Errorf("with four tuned runs it is %+v", s)
	}
	add("tuned-s4", shiftingRun(true, confirmingSeed, tuned[0]/100))
	study := mustRead(t, dir)
	s := study.Shift()
	for name, v := range map[string][2]float64{
		"moved": {s.Moved.Mean, -1.32}, "error": {s.Moved.Error, 1.219590}, "p": {s.Moved.P(), 0.339992},
		"above": {s.Above.Mean, 1.18}, "half": {s.Above.Half(0.975), 3.123194},
		"tuned": {s.TunedSpread.Deviation, 2.422189}, "low": {s.TunedSpread.Low, 1.451214},
		"high":    {s.TunedSpread.High, 6.960295},
		"untuned": {s.UntunedSpread.Deviation, 0.681909}, "published": {s.PublishedSpread.Deviation, 3.430956},
		"its low": {s.PublishedSpread.Low, 2.511894}, "its high": {s.PublishedSpread.High, 5.410957}} {
		if !(math.Abs(v[0]-v[1]) < 1e-5) {
			t.Errorf("%s is %.6f, want %.6f", name, v[0], v[1])
		}
	}
	if s.Moves() || len(s.Seeds) != 5 || s.Chosen[4] != "optimizer.lr=0.0031 optimizer.weight_decay=0.01" {
		t.Errorf("it is %+v", s)
	}
	for _, c := range study.WithoutConfirmation().Cells(survey.ClassIncremental) {
		if len(c.Runs) > 0 {
			t.Errorf("table:nc counts %v", c.Files())
		}
	}
	diverged := shiftingRun(true, confirmingSeed, 0.01)
	diverged.Outcome.State = result.Diverged
	add("tuned-s4", diverged)
	if s := mustRead(t, dir).Shift(); s != nil {
		t.Errorf("with a run that diverged it is %+v", s)
	}
}

// TestShifts: another grid, search, seed or kernel, and a run that is not tuned, are no runs of shift.yaml.
func TestShifts(t *testing.T) {
	if !Shifts(shiftingRun(true, confirmingSeed, 0.2)) {
		t.Error("a run of shift.yaml is not known as one")
	}
	for name, change := range map[string]func(r *result.Result){
		"seed 9":  func(r *result.Result) { r.Config.Seed = confirmingSeed + confirmingRuns },
		"seed 3":  func(r *result.Result) { r.Config.Seed = confirmingSeed - 1 },
		"avx512":  func(r *result.Result) { r.Provenance.Kernel = "avx512" },
		"grid":    func(r *result.Result) { r.Tuning.Grid = "authors" },
		"search":  func(r *result.Result) { r.Tuning.Search = config.SearchRandom },
		"measure": func(r *result.Result) { r.Tuning.By = "forgetting" },
		"memory":  func(r *result.Result) { r.Config.Memory = 1000 },
		"trick":   func(r *result.Result) { r.Config.Tricks, r.Method.Tricks = []string{"lb"}, []string{"lb"} },
		"untuned": func(r *result.Result) { r.Tuning = nil },
	} {
		r := shiftingRun(true, confirmingSeed, 0.2)
		if change(r); Shifts(r) {
			t.Errorf("%s: it is taken for a run of shift.yaml", name)
		}
	}
}

// TestShiftFile: the jobs of survey/studies/shift.yaml have the seeds, the grid and the cell of Shift.
func TestShiftFile(t *testing.T) {
	const name = "../studies/shift.yaml"
	s, err := study.Parse(t.Context(), name, []byte(read(t, name)), "data", false)
	if err != nil {
		t.Fatal(err)
	}
	runs := runsOf(s)
	for _, c := range runs {
		tune, held := c.Tune, false
		c.Stream.Kind, c.Stream.ClassOrder.Name, c.Stream.HeldOut = config.KindClasses, config.OrderRandom, &held
		c.Tune, c.Optimizer.LR, c.Optimizer.WeightDecay = config.Tune{}, 0.0031, 0.01
		r := &result.Result{Config: c, Method: result.Method{Name: c.Methods[0]}, Tuning: shiftTuning(),
			Provenance: result.Provenance{Kernel: c.Engine.Kernel, Convolution: c.Engine.Convolution}}
		if !Shifts(r) || tune.Grid != shiftGrid || tune.Search != "" {
			t.Errorf("seed %d, tuned by %+v, is no run of Shift", c.Seed, tune)
		}
	}
	if len(runs) != confirmingRuns {
		t.Errorf("%d jobs, want %d", len(runs), confirmingRuns)
	}
}

// TestPeer: three differences of another program, whose verdict follows from the paired tests.
func TestPeer(t *testing.T) {
	dir := t.TempDir()
	ours := map[uint64]float64{4: 20.1, 5: 18.9, 6: 19.4}
	for seed, v := range ours {
		write(t, dir, fmt.Sprintf("s%d.json.gz", seed), shiftingRun(false, seed, v/100))
	}
	s := mustRead(t, dir)
	for _, c := range []struct {
		less []float64 // ours by more than theirs, seed by seed
		want Verdict
	}{{[]float64{0.1, -0.2, 0.3}, Agrees}, {[]float64{3.1, 2.9, 3}, Differs}, {[]float64{4, -3, 0}, Undecided}} {
		theirs := maps.Clone(ours)
		for i, d := range c.less {
			theirs[uint64(4+i)] -= d
		}
		x := s.Peer(theirs, 4, 6)
		if x == nil || x.Verdict != c.want || len(x.Seeds) != 3 {
			t.Errorf("%v: %+v, want %s", c.less, x, c.want)
		}
		if c.want == Undecided && !(math.Abs(x.Difference.Mean+1.0/3) < 1e-9 && math.Abs(x.Difference.P()-0.884530) < 1e-5) {
			t.Errorf("the difference is %+v with p = %.6f", x.Difference, x.Difference.P())
		}
	}
	for _, theirs := range []map[uint64]float64{nil, {4: 20, 5: 19}, {4: 20, 5: 19, 7: 20}} {
		if x := s.Peer(theirs, 4, 6); x != nil {
			t.Errorf("of %v it is %+v", theirs, x)
		}
	}

	// The second comparison has the twelve other seeds and no other.
	theirs := map[uint64]float64{4: 10, 5: 10, 6: 10}
	for seed := uint64(7); seed <= LastPeer; seed++ {
		if x := s.Peer(theirs, 7, 18); x != nil {
			t.Errorf("without seed %d it is %+v", seed, x)
		}
		theirs[seed] = 19 + float64(int(seed%3)-1)/10
		write(t, dir, fmt.Sprintf("s%d.json.gz", seed), shiftingRun(false, seed, 0.19))
		s = mustRead(t, dir)
	}
	x := s.Peer(theirs, 7, 18)
	if x == nil || len(x.Seeds) != 12 || x.Seeds[0] != 7 || x.Seeds[11] != 18 || x.Verdict != Agrees {
		t.Errorf("twelve seeds are %+v", x)
	}
}
