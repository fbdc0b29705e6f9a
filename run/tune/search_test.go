package tune

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"ocl/config"
	"ocl/run/result"
)

// TestRandomPoints: rates lie within the bounds of the grid, half of them below the geometric mean; other values are
// those of the list; the same seed draws the same points.
func TestRandomPoints(t *testing.T) {
	g := gridOf(t, "optimizer.lr: [0.0001, 0.1]\noptimizer.weight_decay: [0, 0.01]\nmethod.mir.candidates: [25, 50, 100]")
	s := Search{config.SearchRandom, 400, 7}
	points, err := s.points(*g)
	if err != nil || len(points) != s.Points {
		t.Fatalf("%d points, %v", len(points), err)
	}
	low := 0
	for i, p := range points {
		lr, err := strconv.ParseFloat(p[1], 64)
		if err != nil || lr < 0.0001 || lr > 0.1 || !slices.Contains(g.Axes[0].Values, p[0]) ||
			!slices.Contains(g.Axes[2].Values, p[2]) {
			t.Errorf("point %d is %q", i, p)
		}
		if lr < 0.00316 {
			low++
		}
		if slices.ContainsFunc(points[:i], func(q []string) bool { return slices.Equal(p, q) }) {
			t.Errorf("point %d, %q, is there before", i, p)
		}
	}
	if low < 150 || low > 250 {
		t.Errorf("%d of 400 rates are below the geometric mean, want about 200", low)
	}
	again, _ := s.points(*g)
	other, _ := Search{config.SearchRandom, 400, 8}.points(*g)
	if !slices.EqualFunc(points, again, slices.Equal[[]string]) ||
		slices.EqualFunc(points, other, slices.Equal[[]string]) {
		t.Error("the seed does not decide the points")
	}
	want := [][]string{{"50", "0.000609", "0.01"}, {"50", "0.00172", "0"}, {"100", "0.000627", "0.01"}}
	if got := points[:3]; !slices.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("the first points are %q, want %q", got, want)
	}
	few := gridOf(t, "method.mir.candidates: [25, 50]")
	if _, err := (Search{config.SearchRandom, 3, 1}).points(*few); err == nil ||
		!strings.Contains(err.Error(), "too few values for 3 different points") {
		t.Errorf("3 points of 2: %v", err)
	}
}

// TestHalving: nine points with a quarter of the images, the best three with half of them, the best of these with all.
// A diverged point is not among the best, and the last round is the run that a full grid makes.
func TestHalving(t *testing.T) {
	t.Parallel()
	c := tiny("er")
	c.Data.TrainPerClass = 8
	grid := gridOf(t, "optimizer.lr: [1e38, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3]")
	out := t.TempDir()
	r := mustTune(t, c, Spec{File: grid, Repeats: 1, Search: Search{Name: config.SearchHalving}}, outTo(out))[0]
	rounds := map[int]int{}
	for i, p := range r.Points {
		rounds[len(p.Trials)]++
		for k, trial := range p.Trials {
			if want := []float64{0.25, 0.5, 1}[k]; trial.Share != want {
				t.Errorf("trial %d of point %d has a share of %g, want %g", k, i, trial.Share, want)
			}
		}
		if last := len(p.Trials) == 3; (p.Outcome == result.Finished) != last {
			t.Errorf("point %d has %d trials and the outcome %s", i, len(p.Trials), p.Outcome)
		}
	}
	if rounds[1] != 6 || rounds[2] != 2 || rounds[3] != 1 || r.Points[0].Outcome != result.Diverged {
		t.Errorf("points by rounds: %v, and the first is %s", rounds, r.Points[0].Outcome)
	}
	if r.Steps >= r.GridSteps || r.GridSteps != 9*16 {
		t.Errorf("%d steps, and %d of the full grid, want 144", r.Steps, r.GridSteps)
	}
	if r.Chosen == nil {
		t.Fatal("nothing is chosen")
	}
	last := r.Points[*r.Chosen].Trials[2]
	full := mustTune(t, c, Spec{File: grid, Repeats: 1}, outTo(out))[0]
	if same := full.Points[*r.Chosen].Trials[0]; same.Key != last.Key || *same.Accuracy != *last.Accuracy {
		t.Errorf("the last trial is %+v, and that of the full grid %+v", last, same)
	}
	if full.Key == r.Key {
		t.Error("two searches have one key")
	}
}
