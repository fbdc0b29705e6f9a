package tune

import (
	"math"
	"slices"
)

// Preview says how much work a tuning will do.
type Preview struct {
	Folder string // the name of its folder in Options.Out
	Method string // of its run
	Grid   Grid
	Points [][]string // that are tried, by axis
	Trials int        // in all rounds
	Steps  int        // of all trials
	// GridSteps are the steps of the full grid.
	GridSteps int
	Kept      bool    // there is a record already
	Ended     int     // trials of the first round that have a result
	Left      float64 // work that is left, in floating-point operations
}

// Previews says what each tuning is going to do, without learning or writing anything. Of a search with several rounds,
// the later ones are estimated, as nobody knows their points yet.
func (t *Tuner) Previews() []Preview {
	var all []Preview
	for _, u := range t.tunings {
		p := Preview{Folder: u.folder, Method: u.config.Methods[0], Grid: u.grid, GridSteps: u.record.GridSteps, Kept: u.kept}
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
