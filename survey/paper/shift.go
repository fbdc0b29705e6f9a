package paper

import (
	"math"
	"strings"

	"gonum.org/v1/gonum/mathext"

	"ocl/config"
	"ocl/run/experiment"
	"ocl/run/metric"
	"ocl/run/metric/compare"
	"ocl/run/result"
	"ocl/survey"
)

// shifted is the cell by which it is asked why ocl lies above the paper: survey/studies/shift.yaml tunes its runs, and
// PyTorch has made them too.
var shifted = Spec{Benchmark: survey.CIFAR100, Protocol: config.ProtocolSurvey, Method: "er",
	Classifier: config.ClassifierHead, Memory: 5000}

// shiftGrid is the grid by which that study tunes.
const shiftGrid = "paper"

// Shift is ER at M = 5,000 with the seeds of the confirmation, each run tuned as the authors tuned theirs, beside the
// runs of the confirmation, which share one setting. The head of survey/studies/shift.yaml says what is printed.
type Shift struct {
	Seeds          []uint64
	Tuned, Untuned []float64 // accuracies in per cent, in the order of Seeds
	Chosen         []string  // the settings of the tuned run of each seed, such as "optimizer.lr=0.1"
	Published      survey.Value
	// Moved is the mean of tuned less untuned, paired by seed, in points. Above is the mean of tuned less the published
	// one.
	Moved, Above metric.Difference
	// standard deviations of runs; PublishedSpread is what the published interval implies
	TunedSpread, UntunedSpread, PublishedSpread Spread
}

// Moves says whether tuning each run by itself moves the mean.
func (s *Shift) Moves() bool { return s.Moved.P() <= level }

// Spread is the standard deviation of single runs in points, with its 95 % interval by chi-square.
type Spread struct{ Deviation, Low, High float64 }

// spreadOf is the spread of n runs whose mean has a 95 % interval of this half width.
func spreadOf(half float64, n int) Spread {
	deviation, freedom := metric.ErrorOf(half, n)*math.Sqrt(float64(n)), float64(n-1)
	end := func(q float64) float64 { return deviation * math.Sqrt(freedom/2/mathext.GammaIncRegInv(freedom/2, q)) }
	return Spread{deviation, end(0.975), end(0.025)}
}

// Shifts says whether a result is of a run of survey/studies/shift.yaml.
func Shifts(r *result.Result) bool {
	seed, tuning := r.Config.Seed, r.Tuning
	if tuning == nil || tuning.Grid != shiftGrid || tuning.Search != config.SearchGrid || tuning.By != "" ||
		seed < confirmingSeed || seed >= confirmingSeed+confirmingRuns || engineOf(r) != compare.StudyEngine {
		return false
	}
	cell, _ := cellOf(experiment.IdentityOf(r))
	wanted, _ := keysOf(shifted)
	return cell.String() == wanted
}

// shiftedCell is the cell of [shifted] made of some runs.
func (s *Study) shiftedCell(keep func(*result.Result) bool) *Cell {
	for _, c := range s.only(func(r *Run) bool { return keep(r.Result) }).Cells(survey.ClassIncremental) {
		if c.Spec == shifted {
			return c
		}
	}
	panic("paper: table:nc has no cell of ER at M = 5,000")
}

// Shift compares the tuned runs with those of the confirmation; nil if one of them is missing or has diverged.
func (s *Study) Shift() *Shift {
	tuned, untuned := s.shiftedCell(Shifts), s.shiftedCell(Confirms)
	n, theirs := confirmingRuns, benchmark(shifted.Benchmark).Runs
	if tuned.Ours.N < n || untuned.Ours.N < n {
		return nil
	}
	x := &Shift{Tuned: tuned.Values, Untuned: untuned.Values, Published: tuned.Published,
		Moved:       paired(tuned.Values, untuned.Values),
		Above:       tuned.excess(),
		TunedSpread: spreadOf(tuned.Ours.Half, n), UntunedSpread: spreadOf(untuned.Ours.Half, n),
		PublishedSpread: spreadOf(tuned.Published.Interval, theirs)}
	for _, r := range tuned.Runs {
		var chosen []string
		for i, key := range r.Result.Tuning.Keys {
			chosen = append(chosen, key+"="+r.Result.Tuning.Chosen[i])
		}
		x.Seeds, x.Chosen = append(x.Seeds, r.Seed), append(x.Chosen, strings.Join(chosen, " "))
	}
	return x
}

// Peer is ER of another program with the orders of classes of some seeds, beside the registered runs of these seeds.
// The head of survey/studies/addendum.yaml has the rule of the verdict.
type Peer struct {
	Seeds        []uint64
	Ours, Theirs []float64         // accuracies in per cent, in the order of Seeds
	Difference   metric.Difference // mean of theirs less ours, paired by seed, in points
	// Verdict is Differs if the paired t-test says so at 5 %, Agrees if two one-sided tests at 5 % say that the difference
	// is below two points, and else Undecided.
	Verdict Verdict
}

// FirstPeer and LastPeer are the ends of the seeds that can be compared with another program: those of the confirmation
// and of the anchors.
const (
	FirstPeer = confirmingSeed
	LastPeer  = confirmingSeed + anchorSeeds - 1
)

// Peer compares accuracies of another program by seed, in per cent, with the confirmation and the anchors, from the
// first seed to the last; nil if a run of these seeds is missing on either side or has diverged.
func (s *Study) Peer(theirs map[uint64]float64, first, last uint64) *Peer {
	x := &Peer{}
	cell := s.shiftedCell(func(r *result.Result) bool {
		return (Confirms(r) || Anchors(r)) && r.Config.Seed >= first && r.Config.Seed <= last
	})
	for i, r := range cell.Runs {
		if v, ok := theirs[r.Seed]; ok && !math.IsNaN(cell.Values[i]) {
			x.Seeds, x.Ours, x.Theirs = append(x.Seeds, r.Seed), append(x.Ours, cell.Values[i]), append(x.Theirs, v)
		}
	}
	if uint64(len(x.Seeds)) <= last-first {
		return nil
	}
	x.Difference = paired(x.Theirs, x.Ours)
	switch {
	case x.Difference.P() <= level:
		x.Verdict = Differs
	case math.Abs(x.Difference.Mean)+x.Difference.Half(1-level) < near:
		x.Verdict = Agrees
	default:
		x.Verdict = Undecided
	}
	return x
}

// paired is the mean of a less b, value by value.
func paired(a, b []float64) metric.Difference {
	mean, half := metric.Interval(less(a, b, 1))
	return metric.Difference{Mean: mean, Error: metric.ErrorOf(half, len(a)), Freedom: float64(len(a) - 1)}
}
