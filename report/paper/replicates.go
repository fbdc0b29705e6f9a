package paper

import (
	"math"
	"slices"

	"ocl/experiment/result"
	"ocl/method"
	"ocl/metric"
)

// Replicates is how far runs of one seed are apart that differ in their kernels alone, so in rounding, beside how far seeds are apart.
type Replicates struct {
	Method   string  // in the catalogue; "" is all of them
	Pairs    int     // pairs of kernels, one fewer than there are kernels of a seed
	Rounding float64 // standard deviation in points that rounding adds to a seed
	Seeds    float64 // standard deviation in points over the seeds of the same cells, by the runs that count; it includes that of rounding. NaN if none has two
}

// Replicates compares repeats of the same runs: by method in the order of the catalogue, and last of all together. What a run learns, tunes
// and measures is the same in a cell; runs that were tuned one by one and those that diverged are left out, and runs of equal kernels, which
// are the same, count once.
func (s *Study) Replicates() []Replicates {
	type spread struct{ squares, freedom float64 }
	var all [2]spread // of rounding, of seeds
	of := map[string]*[2]spread{}
	for _, seeds := range s.repeated() {
		var counted []float64
		var rounding spread
		name := ""
		for _, runs := range seeds {
			name = runs[0].Result.Method.Name
			first := runs[0]
			var values []float64
			for _, r := range runs {
				values = append(values, 100**r.Result.Metrics.AverageAccuracy)
				if r.before(first) {
					first = r
				}
			}
			rounding.squares += squares(values)
			rounding.freedom += float64(len(values) - 1)
			counted = append(counted, 100**first.Result.Metrics.AverageAccuracy)
		}
		if rounding.freedom == 0 {
			continue
		}
		if of[name] == nil {
			of[name] = &[2]spread{}
		}
		for _, sum := range []*[2]spread{&all, of[name]} {
			sum[0].squares += rounding.squares
			sum[0].freedom += rounding.freedom
			sum[1].squares += squares(counted)
			sum[1].freedom += float64(len(counted) - 1)
		}
	}
	line := func(name string, sum [2]spread) Replicates {
		return Replicates{name, int(sum[0].freedom), math.Sqrt(sum[0].squares / sum[0].freedom), math.Sqrt(sum[1].squares / sum[1].freedom)}
	}
	var lines []Replicates
	for _, i := range method.Catalogue() {
		if sum := of[i.Name]; sum != nil {
			lines = append(lines, line(i.Name, *sum))
		}
	}
	if len(lines) > 0 {
		lines = append(lines, line("", all))
	}
	return lines
}

// repeated are the runs of each cell by seed, one of each kernels, in the order of their paths.
func (s *Study) repeated() (cells []map[uint64][]*Run) {
	at := map[string]map[uint64][]*Run{}
	for _, r := range s.Runs {
		if r.Result.Tuning != nil || r.Result.Outcome.State != result.Finished || r.Result.Metrics.AverageAccuracy == nil {
			continue
		}
		cell := r.key + "\n" + r.settings
		if at[cell] == nil {
			at[cell] = map[uint64][]*Run{}
			cells = append(cells, at[cell])
		}
		if !slices.ContainsFunc(at[cell][r.Seed], func(other *Run) bool { return other.Kernels() == r.Kernels() }) {
			at[cell][r.Seed] = append(at[cell][r.Seed], r)
		}
	}
	return cells
}

// squares is the sum of the squared distances of values from their mean.
func squares(values []float64) float64 {
	mean, sum := metric.EstimateOf(values).Mean, 0.0
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return sum
}
