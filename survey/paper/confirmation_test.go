package paper

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"ocl/config"
	"ocl/run/experiment"
	"ocl/run/result"
	"ocl/survey"
	"ocl/sweep/study"
)

// TestConfirmationFile: the rule here is that at the head of survey/studies/confirmation.yaml, word by word, and the
// runs that confirm are those of its jobs.
func TestConfirmationFile(t *testing.T) {
	const name = "../studies/confirmation.yaml"
	text := read(t, name)
	head := strings.Join(strings.Fields(strings.ReplaceAll(text[:strings.Index(text, "\nstudy: 1\n")], "#", "")), " ")
	for _, want := range []string{
		fmt.Sprintf("The seeds %d to %d,", confirmingSeed, confirmingSeed+confirmingRuns-1),
		"with the kernels avx2 and Winograd's convolutions",
		"Each cell has exactly these five runs, no more and no fewer. Until all five are there, a cell has no verdict.",
		"A run that diverges counts with the accuracy that its result has.",
		fmt.Sprintf("from N = %d runs", benchmark(survey.CIFAR100).Runs),
		"standard errors: ours a = s/sqrt(n), the published b = h/t(0.975, N-1), of the difference c = sqrt(a^2 + b^2)",
		"degrees of freedom (Welch and Satterthwaite): v = c^4/(a^4/(n-1) + b^4/(N-1))",
		fmt.Sprintf("agrees: |m-p| + t(%g, v)*c < min(%d, p/%d), which is two one-sided tests at %g %% each", 1-level, near,
			nearBy, 100*level),
		fmt.Sprintf("differs: it does not agree, and the two-sided p-value of (m-p)/c is at most %g %% after Holm's correction.",
			100*level),
		"Holm's correction is over all cells of its table and data set that have five runs",
		"undecided: everything else",
	} {
		if !strings.Contains(head, want) {
			t.Errorf("its head does not say: %s", want)
		}
	}
	s, err := study.Parse(t.Context(), name, []byte(text), "data", false)
	if err != nil {
		t.Fatal(err)
	}
	seeds := map[string][]uint64{}
	held := false
	for _, c := range runsOf(s) {
		stream := &c.Stream // what the data set says of its stream when it is opened
		stream.Kind, stream.ClassOrder.Name, stream.HeldOut = config.KindClasses, config.OrderRandom, &held
		res := &result.Result{Config: c, Provenance: result.Provenance{Kernel: c.Engine.Kernel,
			Convolution: c.Engine.Convolution}}
		if !Confirms(res) {
			t.Errorf("%s %v with seed %d is a job of the study and no run of the confirmation", c.Methods, c.Tricks, c.Seed)
		}
		key := runOf("", res).key
		seeds[key] = append(seeds[key], c.Seed)
	}
	if got, want := slices.Sorted(maps.Keys(seeds)), slices.Sorted(maps.Keys(confirmingKeys())); !slices.Equal(got, want) {
		t.Errorf("the study has %d cells, and the confirmation %d", len(got), len(want))
	}
	for key, list := range seeds {
		if slices.Sort(list); !slices.Equal(list, []uint64{4, 5, 6, 7, 8}) {
			t.Errorf("the seeds are %v of\n%s", list, key)
		}
	}
}

// TestConfirmation: its runs are apart from all others, and a cell has a verdict when all five are there.
func TestConfirmation(t *testing.T) {
	dir := t.TempDir()
	add := func(spec Spec, seed uint64, change func(*result.Result)) {
		r := fake(spec, seed, config.EvalFinal)
		r.Provenance.Timed = false
		change(r)
		r.Key = experiment.Key(r)
		write(t, dir, fmt.Sprintf("%s%s-s%d-%s-%d.json.gz", spec.Method, spec.Tricks, seed, r.Provenance.Kernel,
			len(r.Config.Classifiers)), r)
	}
	same := func(*result.Result) {}
	ncm, mirRV := er, er
	ncm.Classifier = config.ClassifierNCM
	mirRV.Method, mirRV.Tricks = "mir", "rv"
	gss := er
	gss.Method = "gss"
	for seed := uint64(1); seed <= 9; seed++ {
		add(ncm, seed, same)
		add(mirRV, seed, same)
		if seed < 8 {
			add(gss, seed, same)
		}
	}
	add(gss, 8, func(r *result.Result) { r.Provenance.Kernel = "avx512" })
	add(er, 10, func(r *result.Result) { r.Config.Optimizer.LR = 0.5 })
	s := mustRead(t, dir)
	c, rest := s.Confirmation(), s.WithoutConfirmation()
	if len(c.Runs) != 9 || len(c.Runs)+len(rest.Runs) != len(s.Runs)-1 { // ER with seed 9 is an anchor
		t.Errorf("%d runs confirm and %d do not, of %d", len(c.Runs), len(rest.Runs), len(s.Runs))
	}
	verdicts := map[Spec]*Cell{}
	counts := Counts{}
	for _, label := range []string{survey.ClassIncremental, survey.TricksCIFAR100} {
		cells := c.Cells(label)
		for v, n := range CountVerdicts(cells) {
			counts[v] += n
		}
		for _, cell := range cells {
			if cell.Repeat == "" {
				verdicts[cell.Spec] = cell
			}
		}
	}
	for spec, want := range map[Spec]int{er: 5, ncm: 5, gss: 4, mirRV: 0} {
		cell := verdicts[spec]
		decided := cell.Verdict == Agrees || cell.Verdict == Differs || cell.Verdict == Undecided
		if len(cell.Runs) != want || decided != (want == 5) {
			t.Errorf("%v has %d runs and is %q (%s)", spec, len(cell.Runs), cell.Verdict, cell.Note)
		}
	}
	if got := verdicts[gss]; got.Verdict != NotRun || got.Note != "4 of 5 runs" || got.Nearness == "" ||
		verdicts[er].Nearness != "" {
		t.Errorf("GSS is %q, %q, nearness %q", got.Verdict, got.Note, got.Nearness)
	}
	if verdicts[mirRV].Verdict != NoVerdict {
		t.Errorf("MIR with review, which is no cell of it, is %q", verdicts[mirRV].Verdict)
	}
	// 21 of table:nc, and 21 of ER and 6 of class means of the others of table:trick_cifar
	if counts.Sum() != 48 || counts[NotRun] != 46 {
		t.Errorf("its cells are %v, want 48", counts)
	}
}

// TestConfirmingDivergence: a run of the confirmation that diverged counts with the accuracy that its result has.
func TestConfirmingDivergence(t *testing.T) {
	dir := t.TempDir()
	for seed := uint64(4); seed <= 8; seed++ {
		r := fake(er, seed, config.EvalFinal)
		if seed == 8 {
			r.Outcome.State = result.Diverged
		}
		write(t, dir, fmt.Sprintf("s%d.json.gz", seed), r)
	}
	s := mustRead(t, dir)
	for study, want := range map[*Study]int{s: 4, s.Confirmation(): 5} {
		for _, c := range study.Cells(survey.ClassIncremental) {
			if c.Spec == er && c.Ours.N != want {
				t.Errorf("%d of %d runs count, want %d", c.Ours.N, len(c.Runs), want)
			}
		}
	}
}

// runsOf are the configs of all runs of a study.
func runsOf(s *study.Study) (all []config.Config) {
	for _, g := range s.Combinations {
		for seed := range g.Seeds {
			c := g.Config.Clone()
			c.Seed = seed
			all = append(all, c)
		}
	}
	return all
}
