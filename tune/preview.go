package tune

import "ocl/experiment"

// Preview is what a tuning is going to do.
type Preview struct {
	Folder string // the name of its folder in Options.Out
	Method string // of its run, whose first trial Job is
	Job    experiment.Job
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

// Previews says what each tuning is going to do, without learning or writing anything. Of a search with several rounds, the later ones are
// estimated, as nobody knows their points yet.
func (t *Tuner) Previews() []Preview {
	var all []Preview
	for _, u := range t.tunings {
		p := Preview{Folder: u.folder, Method: u.config.Methods[0], Grid: u.grid, Points: u.values, GridSteps: u.record.GridSteps, Kept: u.kept}
		if !u.kept {
			t.count(u, &p)
		}
		all = append(all, p)
	}
	return all
}

// count adds up the trials of a tuning.
func (t *Tuner) count(u *unit, p *Preview) {
	steps, work := 0, 0.0
	seen := map[*trial]bool{}
	for _, point := range u.points {
		for _, one := range point.rounds[0] {
			if p.Job.Key == "" {
				p.Job = one.job
			}
			if seen[one] {
				continue
			}
			seen[one] = true
			p.Trials++
			steps += one.plan.Steps
			work += one.plan.FLOPs()
			found := t.found(one)
			p.Left += one.plan.Left(found)
			if found.Ended() {
				p.Ended++
			}
		}
	}
	p.Steps = steps
	rungs, left := t.spec.Search.rungs(), len(u.points)
	for i, r := range rungs[1:] {
		left = rungs[i].after(left)
		part := float64(left) / float64(len(u.points)) * r.share / rungs[0].share
		p.Trials += left * u.record.Repeats
		p.Steps += int(part * float64(steps))
		p.Left += part * work
	}
}

// effort is how many trials a search makes in all rounds, and their work in trials with all images.
func (s Search) effort(points, repeats int) (trials int, whole float64) {
	for _, r := range s.rungs() {
		trials += points * repeats
		whole += float64(points*repeats) * r.share
		points = r.after(points)
	}
	return trials, whole
}
