package tune

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"ocl/config"
	"ocl/internal/cause"
	"ocl/internal/limit"
	"ocl/internal/portable"
	"ocl/rng"
)

// Search says which points are tried, and with how many images.
type Search struct {
	Name   string `json:"name"`
	Points int    `json:"points,omitempty"` // of config.SearchRandom, how many are drawn
	Seed   uint64 `json:"seed,omitempty"`   // of the draws of config.SearchRandom: that of the run which is tuned
}

// Searches lists the names of all searches.
func Searches() []string {
	return []string{config.SearchGrid, config.SearchRandom, config.SearchHalving}
}

// check says what is wrong with a search.
func (s Search) check() error {
	switch {
	case !slices.Contains(Searches(), s.Name):
		return fmt.Errorf("tune: there is no search %s. Use %s, %s or %s", cause.Shown(s.Name), config.SearchGrid,
			config.SearchRandom, config.SearchHalving)
	case s.Name == config.SearchRandom && (s.Points < 1 || s.Points > limit.GridPoints):
		return fmt.Errorf("tune: a random search of %d points is not possible. Use 1 to %d points", s.Points,
			limit.GridPoints)
	case s.Name != config.SearchRandom && s.Points != 0:
		return fmt.Errorf("tune: only the search %s takes a number of points. Remove it, or use that search",
			config.SearchRandom)
	}
	return nil
}

// of is the search for the run of a seed. A random one draws by it, so that the points of a run do not depend on the
// other runs of an experiment.
func (s Search) of(seed uint64) Search {
	if s.Name == config.SearchRandom {
		s.Seed = seed
	}
	return s
}

// text is the search for the key of a tuning.
func (s Search) text() string { return fmt.Sprintf("%s %d %d", s.Name, s.Points, s.Seed) }

// rung is a round of a search: its trials have a share of the training images, and the best of its points go on to the
// next one.
type rung struct {
	share float64
	keep  int // one of so many points goes on; 1 in the last rung
}

// rungs are the rounds of a search. Halving as in Jamieson and Talwalkar, Non-stochastic Best Arm Identification and
// Hyperparameter Optimization, 2016, but with a third of the points: of 28 points 10 and then 4 go on, which is 16 full
// trials instead of 28.
func (s Search) rungs() []rung {
	if s.Name == config.SearchHalving {
		return []rung{{0.25, 3}, {0.5, 3}, {1, 1}}
	}
	return []rung{{1, 1}}
}

// after is the number of points, of n, that remain after a rung.
func (r rung) after(n int) int { return (n + r.keep - 1) / r.keep }

// points lists the values of every point that is tried, by axis.
func (s Search) points(g Grid) ([][]string, error) {
	if s.Name != config.SearchRandom {
		return g.Points(), nil
	}
	src := rng.New(s.Seed, "tune/random")
	draws := make([]func() string, len(g.Axes))
	for i, a := range g.Axes {
		draws[i] = a.draw(src)
	}
	points := make([][]string, 0, s.Points)
	for range s.Points {
		p, tries := make([]string, len(draws)), 0
		for {
			for i, draw := range draws {
				p[i] = draw()
			}
			if !slices.ContainsFunc(points, func(q []string) bool { return slices.Equal(p, q) }) {
				break
			}
			if tries++; tries == 1000 {
				return nil, fmt.Errorf("tune: the grid %s has too few values for %d different points. Use fewer points, or the search %s",
					cause.Shown(g.Name), s.Points, config.SearchGrid)
			}
		}
		points = append(points, p)
	}
	return points, nil
}

// rates are the keys whose values are drawn between the least and the largest one, uniformly in their logarithm.
var rates = []string{"optimizer.lr", "optimizer.weight_decay"}

// draw draws a value of an axis: a rate between the bounds, of three digits, or one of the values.
func (a Axis) draw(src *rng.Source) func() string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range a.Values {
		f, err := strconv.ParseFloat(v, 64)
		if err != nil {
			f = 0
		}
		low, high = min(low, f), max(high, f)
	}
	if !slices.Contains(rates, a.Key) || low <= 0 || low == high {
		return func() string { return a.Values[src.IntN(len(a.Values))] }
	}
	return func() string {
		v := portable.Exp(portable.Log(low) + float64(src.Float64()*(portable.Log(high)-portable.Log(low))))
		return formatted(v)
	}
}

// formatted is a rate with three digits, as a config writes it.
func formatted(v float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return config.FormatValue(rounded)
}
