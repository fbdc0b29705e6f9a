package tune

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"

	"ocl/run/plan"
)

// Preview says how much work a tuning will do.
type Preview struct {
	Folder    string     `json:"tuning"` // its name in Options.Out
	Keys      []string   `json:"keys"`
	Points    [][]string `json:"points"`     // that are tried, by axis
	Trials    int        `json:"trials"`     // in all rounds
	Ended     int        `json:"ended"`      // trials of the first round that have a result
	Steps     int        `json:"steps"`      // of all trials
	GridSteps int        `json:"grid_steps"` // of the whole grid
	Seconds   float64    `json:"seconds"`    // of what is left, on the whole machine; see [Tuner.Estimate]
	Kept      bool       `json:"kept"`       // there is a record already, so nothing is left to do

	Method string  `json:"-"` // of its run
	Left   float64 `json:"-"` // work that is left, in floating-point operations
}

// Estimate are the previews with the time that each takes, by a short trial of each method that writes nothing, and how
// many trials are at work at the same time.
func (t *Tuner) Estimate(ctx context.Context) (all []Preview, places int, err error) {
	clock := plan.Timer{Workers: cmp.Or(t.opts.Workers, 1)}
	all, places = t.Previews(), cmp.Or(t.opts.Concurrency, runtime.GOMAXPROCS(0))
	for i, p := range all {
		if p.Kept {
			continue
		}
		speed, err := clock.Speed(ctx, t.Experiment(), p.Method)
		if err != nil {
			return nil, 0, err
		}
		all[i].Seconds = p.Left / speed / float64(places)
	}
	return all, places, plan.Stopped(ctx)
}

// Previews says what each tuning is going to do, without learning or writing anything. Of a search with several rounds,
// the later ones are estimated, as nobody knows their points yet.
func (t *Tuner) Previews() []Preview {
	var all []Preview
	for _, u := range t.tunings {
		p := Preview{Folder: u.folder, Method: u.config.Methods[0], GridSteps: u.record.GridSteps, Kept: u.kept}
		for _, a := range u.grid.Axes {
			p.Keys = append(p.Keys, a.Key)
		}
		work := 0.0 // of the first round
		for _, point := range u.points {
			p.Points = append(p.Points, point.values)
			for _, one := range slices.Concat(point.rounds...) { // the first round, none if the record is kept
				found := t.found(one)
				p.Steps += one.plan.Steps
				p.Left += one.plan.Left(found)
				work += one.plan.FLOPs()
				if found.Ended() {
					p.Ended++
				}
			}
		}
		if !u.kept {
			search, trials := t.spec.Search, len(u.points)*u.record.Repeats
			var whole float64
			p.Trials, whole = search.effort(len(u.points), u.record.Repeats)
			later := whole/(float64(trials)*search.rungs()[0].share) - 1
			p.Left += later * work
			p.Steps += int(math.Round(later * float64(p.Steps)))
		}
		all = append(all, p)
	}
	return all
}

// effort returns the number of trials over all rounds of a search, and their work as a number of trials with all
// images.
func (s Search) effort(points, repeats int) (trials int, whole float64) {
	for _, r := range s.rungs() {
		trials += points * repeats
		whole += float64(points*repeats) * r.share
		points = r.after(points)
	}
	return trials, whole
}
