package paper

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"ocl/config"
	"ocl/rng"
	"ocl/run/experiment"
	"ocl/run/metric"
	"ocl/run/result"
	"ocl/survey"
	"ocl/sweep/study"
)

// confirming is a cell with a published value and the accuracies of the confirmation's seeds.
func confirming(published, half float64, values ...float64) *Cell {
	c := &Cell{Spec: er, Published: survey.Value{Mean: published, Interval: half}, Values: values}
	c.Margin = 2
	for i := range values {
		c.Runs = append(c.Runs, &Run{Seed: confirmingSeed + uint64(i),
			Result: &result.Result{Outcome: result.Outcome{State: result.Finished}}})
	}
	return c
}

// TestAnchoringOfMadeData: with seeds that all cells share, the 90 % interval of the corrected mean has the true mean
// in about nine of ten cells, and the corrected mean is nearer to it than the mean is. Without what cells share it is
// hardly worse.
func TestAnchoringOfMadeData(t *testing.T) {
	const worlds, size = 1000, 20
	for _, world := range []struct {
		shared, apart float64 // sd of the effect of a seed, relative to the mean; sd of its part in a cell around 1
		least         float64 // coverage
	}{{0.08, 0, 0.87}, {0, 0, 0.87}, {0.08, 0.5, 0.87}} {
		shared := world.shared
		r := rng.New(1, "addendum")
		covered, plain, corrected, n := 0.0, 0.0, 0.0, 0.0
		for range worlds {
			effect, anchors := map[uint64]float64{}, map[uint64]float64{}
			for i := range uint64(anchorSeeds) {
				seed := confirmingSeed + i
				effect[seed] = 1 + shared*r.NormFloat64()
				for range 3 {
					anchors[seed] += (18*effect[seed] + 1.2*r.NormFloat64()) / 3
				}
			}
			var cells []*Cell
			var truth []float64
			for k := range size {
				p := 4 + float64(k)*1.3
				truth = append(truth, p*(1+0.05*r.NormFloat64()))
				var values []float64
				own := 1 + world.apart*r.NormFloat64()
				for i := range uint64(confirmingRuns) {
					values = append(values, truth[k]*(1+own*(effect[confirmingSeed+i]-1))+1.2*r.NormFloat64())
				}
				cells = append(cells, confirming(p, 0, values...)) // the interval is then ours alone
			}
			anchoring(cells, anchors)
			for k, c := range cells {
				a, p := c.Anchored, c.Published.Mean
				if truth[k] >= p+a.Low && truth[k] <= p+a.High {
					covered++
				}
				plain += math.Pow(metric.EstimateOf(c.Values).Mean-truth[k], 2)
				corrected += math.Pow(a.Mean-truth[k], 2)
				n++
			}
		}
		t.Logf("%v: the interval has %.3f, and the errors are %.3f and %.3f points", world, covered/n,
			math.Sqrt(plain/n), math.Sqrt(corrected/n))
		if c := covered / n; c < world.least || c > 0.95 {
			t.Errorf("%v: the 90 %% interval has the true mean in %.3f of the cells", world, c)
		}
		if better := math.Sqrt(corrected / plain); shared > 0 && better > 0.93 || better > 1.05 {
			t.Errorf("%v: the error is %.3f of that of the mean", world, better)
		}
	}
}

// TestAnchoringByHand: two cells and five seeds, beside the formulas of the addendum worked out by NumPy and SciPy.
func TestAnchoringByHand(t *testing.T) {
	anchors := map[uint64]float64{}
	for i := range uint64(anchorSeeds) {
		anchors[confirmingSeed+i] = 18 + float64(i*i%7)
	}
	cells := []*Cell{confirming(17, 1.9, 17, 18.5, 21, 19, 19.5), confirming(10, 1, 10, 10.4, 11.9, 10.7, 11.4)}
	anchoring(cells, anchors)
	for i, want := range [][3]float64{{19.059758, 0.398110, 3.721405}, {10.915152, 0.015412, 1.814891}} {
		a := cells[i].Anchored
		for k, got := range []float64{a.Mean, a.Low, a.High} {
			if !(math.Abs(got-want[k]) < 1e-5) {
				t.Errorf("cell %d: %.6f, want %.6f", i, got, want[k])
			}
		}
	}
}

// TestWholeByHand: three cells beside the rules of the addendum, worked out by SciPy.
func TestWholeByHand(t *testing.T) {
	cells := []*Cell{confirming(17, 1.9, 17, 18.5, 21, 19, 19.5), confirming(10, 1, 10, 10.4, 11.9, 10.7, 11.4),
		confirming(3.7, 0.3, 3.9, 4.1, 4.0, 3.8, 4.2)}
	for i, name := range []string{"er", "gss", "finetune"} {
		cells[i].Spec.Method, cells[i].Memory = name, []int{5000, 5000, 0}[i]
	}
	w := WholeOf(cells)
	for name, v := range map[string][2]float64{"shift": {w.Shift.Mean, 0.089522}, "error": {w.Shift.Error, 0.035948},
		"freedom": {w.Shift.Freedom, 16.7731}, "half": {w.Shift.Half(1 - FirstLook), 0.077791},
		"between": {w.Between, -0.002056}} {
		if !(math.Abs(v[0]-v[1]) < 1e-4) {
			t.Errorf("%s is %.6f, want %.6f", name, v[0], v[1])
		}
	}
	if w.Equal || w.SameOrder != 3 || w.OppositeOrder != 0 || w.NoOrder != 0 {
		t.Errorf("it is %+v, want the published order of three pairs, and no equality", w)
	}
	for i := range cells[0].Values { // now ER is the worst
		cells[0].Values[i] = 3 + 0.1*float64(i)
	}
	if w := WholeOf(cells); w.SameOrder != 1 || w.OppositeOrder != 2 || !(w.Uneven < 0.002) || !(w.Between > 0.25) {
		t.Errorf("with ER as the worst it is %+v", w)
	}
	cells[0].Memory = 1000 // GSS is at another size
	if w := WholeOf(cells); w.SameOrder+w.OppositeOrder+w.NoOrder != 2 {
		t.Errorf("at another size of the memory it is %+v", w)
	}
	near := []*Cell{confirming(17, 0.3, 17.1, 17, 17.2, 17.1, 16.9), confirming(10, 0.2, 10, 10.1, 9.9, 10.2, 10)}
	if w := WholeOf(near); !w.Equal {
		t.Errorf("near the paper it is %+v", w)
	}
	lb, ncm := er, er
	lb.Tricks, ncm.Classifier = "lb", config.ClassifierNCM
	for i, spec := range []Spec{lb, ncm} {
		if near[1].Spec = spec; WholeOf(near).SameOrder != 0 {
			t.Errorf("trick %d is compared as a method", i)
		}
	}
	cells[1].Runs[2].Result.Outcome.State = result.Diverged
	if w := WholeOf(cells); w != nil {
		t.Errorf("with a run that diverged it is %+v", w)
	}
	if w := WholeOf(nil); w != nil {
		t.Errorf("of no cell it is %+v", w)
	}
}

// TestUnevenOfMadeData: cells that share one shift look uneven as often as the probability says.
func TestUnevenOfMadeData(t *testing.T) {
	const worlds, cells = 150, 10
	r, few := rng.New(2, "uneven"), 0
	square := func(n int, v float64) (all float64) { // an estimate of the variance v with n degrees of freedom
		for range n {
			z := r.NormFloat64()
			all += v * z * z / float64(n)
		}
		return all
	}
	for range worlds {
		var d, own, published []float64
		for k := range cells {
			o, p := 0.002*float64(1+k), 0.001
			d = append(d, 0.1+r.NormFloat64()*math.Sqrt(o/confirmingRuns+p))
			own, published = append(own, square(confirmingRuns-1, o)), append(published, square(14, p))
		}
		if uneven(d, own, published) <= 0.2 {
			few++
		}
	}
	if share := float64(few) / worlds; share < 0.1 || share > 0.3 {
		t.Errorf("p is at most 0.2 in %.2f of the worlds", share)
	}
}

// TestAddendumFile: the jobs of survey/studies/addendum.yaml are the anchors, and its head has the numbers of the
// rules.
func TestAddendumFile(t *testing.T) {
	const name = "../studies/addendum.yaml"
	head := strings.Join(strings.Fields(strings.ReplaceAll(read(t, name), "#", "")), " ")
	for _, want := range []string{
		fmt.Sprintf("has the seeds %d to %d: the confirmation has %d to %d, and this file %d to %d", confirmingSeed,
			confirmingSeed+anchorSeeds-1, confirmingSeed, confirmingSeed+confirmingRuns-1, confirmingSeed+confirmingRuns,
			confirmingSeed+anchorSeeds-1),
		fmt.Sprintf("at the levels %g, 1.55 and 1.18 %%", 100*FirstLook),
		fmt.Sprintf("L is within ln(%g) of 0", alikeRatio),
		fmt.Sprintf("over the %d cells of the confirmation", len(confirmingKeys())+9), // NCM has the runs of others
	} {
		if !strings.Contains(head, want) {
			t.Errorf("its head does not say: %s", want)
		}
	}
	s, err := study.Parse(t.Context(), name, []byte(read(t, name)), "data", false)
	if err != nil {
		t.Fatal(err)
	}
	runs, held := runsOf(s), false
	for _, c := range runs {
		c.Stream.Kind, c.Stream.ClassOrder.Name, c.Stream.HeldOut = config.KindClasses, config.OrderRandom, &held
		r := &result.Result{Config: c, Method: result.Method{Name: c.Methods[0]},
			Provenance: result.Provenance{Kernel: c.Engine.Kernel, Convolution: c.Engine.Convolution}}
		if !Anchors(r) {
			t.Errorf("memory %d with seed %d is no anchor", c.Memory, c.Seed)
		}
	}
	if want := (anchorSeeds - confirmingRuns) * len((&Study{}).anchorCells()); len(runs) != want || want != 30 {
		t.Errorf("%d jobs, want %d", len(runs), want)
	}
}

// TestAnchorsAreApart: anchors count in no table, and correct the confirmation when all of them are there.
func TestAnchorsAreApart(t *testing.T) {
	dir := t.TempDir()
	add := func(spec Spec, seed uint64) {
		r := fake(spec, seed, config.EvalFinal)
		r.Provenance.Timed = false
		r.Key = experiment.Key(r)
		write(t, dir, fmt.Sprintf("%s-m%d-s%d.json.gz", spec.Method, spec.Memory, seed), r)
	}
	sized := func(memory int) Spec {
		spec := er
		spec.Memory = memory
		return spec
	}
	for _, memory := range []int{1000, 5000, 10000} {
		for i := range uint64(anchorSeeds) {
			if memory != 1000 || i < anchorSeeds-1 {
				add(sized(memory), confirmingSeed+i)
			}
		}
	}
	var others []Spec
	for _, v := range survey.Read(survey.ClassIncremental) {
		if spec, ok := specOf(survey.ClassIncremental, v); ok && confirmed(spec) && spec.Method != er.Method {
			others = append(others, spec)
		}
	}
	find := func(s *Study) *Cell {
		for _, c := range s.Cells(survey.ClassIncremental) {
			if c.Spec == er {
				return c
			}
		}
		return nil
	}
	s := mustRead(t, dir)
	if rows := s.AnchorRows(); rows != nil {
		t.Errorf("without one anchor they are %+v", rows)
	}
	if c := find(s.Confirmation()); c.Anchored != nil || len(c.Runs) != confirmingRuns {
		t.Errorf("without one anchor it is %+v, of %d runs", c.Anchored, len(c.Runs))
	}
	add(sized(1000), confirmingSeed+anchorSeeds-1)
	for _, spec := range others {
		if c := find(mustRead(t, dir).Confirmation()); c.Anchored != nil {
			t.Errorf("before %s at %d has its runs it is %+v", spec.Method, spec.Memory, c.Anchored)
		}
		for i := range uint64(confirmingRuns) {
			add(spec, confirmingSeed+i)
		}
	}
	s = mustRead(t, dir)
	rows := s.AnchorRows()
	if len(rows) != 4 || rows[0].Memory != 1000 || rows[3].Memory != 0 || rows[3].Ours.N != anchorSeeds {
		t.Errorf("with all anchors they are %+v", rows)
	}
	if c := s.anchorCells()[1]; rows[1].Excess != c.excess() {
		t.Errorf("the excess at 5,000 is %+v, and that of its cell %+v", rows[1].Excess, c.excess())
	}
	if c := find(s.Confirmation()); c.Anchored == nil || len(c.Runs) != confirmingRuns {
		t.Errorf("with all anchors it is %+v, of %d runs", c.Anchored, len(c.Runs))
	}
	if c := find(s.WithoutConfirmation()); len(c.Runs) != 0 {
		t.Errorf("the table has %d runs", len(c.Runs))
	}
	if got, _ := filepath.Glob(dir + "/*"); len(got) != 45+len(others)*confirmingRuns {
		t.Errorf("%d runs", len(got))
	}
	other := fake(er, confirmingSeed+confirmingRuns, config.EvalFinal)
	other.Provenance.Timed = false
	if !Anchors(other) {
		t.Error("seed 9 of ER is no anchor")
	}
	for name, change := range map[string]func(r *result.Result){
		"seed 19":   func(r *result.Result) { r.Config.Seed = confirmingSeed + anchorSeeds },
		"seed 8":    func(r *result.Result) { r.Config.Seed = confirmingSeed + confirmingRuns - 1 },
		"avx512":    func(r *result.Result) { r.Provenance.Kernel = "avx512" },
		"rate":      func(r *result.Result) { r.Config.Optimizer.LR = 0.5 },
		"a trick":   func(r *result.Result) { r.Config.Tricks, r.Method.Tricks = []string{"lb"}, []string{"lb"} },
		"gss":       func(r *result.Result) { r.Config.Methods, r.Method.Name = []string{"gss"}, "gss" },
		"was tuned": func(r *result.Result) { r.Tuning = &result.Tuning{} },
	} {
		r := fake(er, confirmingSeed+confirmingRuns, config.EvalFinal)
		if change(r); Anchors(r) {
			t.Errorf("%s is an anchor", name)
		}
	}
}

// TestAnchorRow: five values of 11 to 15 and five of 1 to 5 are ten apart, which is ten standard errors of one, with
// eight degrees of freedom. All of them are four above a published mean of 4.
func TestAnchorRow(t *testing.T) {
	values := map[uint64]float64{}
	for i := range uint64(confirmingRuns) {
		values[confirmingSeed+i], values[confirmingSeed+confirmingRuns+i] = float64(11+i), float64(1+i)
	}
	r := anchorRow(1000, values, 4, 0.5, 14)
	if r.Confirmation.Mean != 13 || r.Later.Mean != 3 || math.Abs(r.Luck.P()-2*metric.Tail(10, 8)) > 1e-12 {
		t.Errorf("the luck is %+v", r)
	}
	e := metric.ErrorOf(r.Ours.Half, 10)
	if r.Excess.Mean != 4 || math.Abs(r.Excess.Error-math.Sqrt(e*e+0.25)) > 1e-12 ||
		math.Abs(r.Published.Half-0.5*2.14479) > 1e-4 {
		t.Errorf("the excess is %+v", r)
	}
}
