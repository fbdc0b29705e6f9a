package progress

import (
	"slices"
	"time"
)

// mark says how much work of a run was done at a time.
type mark struct {
	at   time.Time
	work float64
}

const (
	// mostMarks bounds the marks of a run.
	mostMarks = 200
	// leastSpent is the least time that says how fast runs are.
	leastSpent = time.Second
)

// Share is the part of the run's work that is done, in [0,1]. The work of a run whose plan is known is counted in
// operations, and that of others in steps.
func (r *Run) Share() float64 {
	switch {
	case r.Phase == Done:
		return 1
	case r.plan.FLOPs > 0 && r.Steps == r.plan.Steps:
		return max(0, min(1, r.done()/r.plan.FLOPs))
	case r.Steps > 0:
		return max(0, min(1, float64(r.Progress.Step)/float64(r.Steps)))
	}
	return 0
}

// done is the work that the run has done so far by its plan. Each step counts with its share of the long work inside
// steps, so that the rest of that work is taken off while it lasts.
func (r *Run) done() float64 {
	learned := float64(r.Progress.Step-r.ahead) * float64(r.plan.StepFLOPs)
	if r.working > 0 {
		learned = max(0, learned-(1-r.working)*r.pause)
	}
	return learned + float64(r.predicted+r.predicting)*float64(r.plan.ImageFLOPs) + r.prepared + r.between +
		r.working*at(r.plan.PrepareFLOPs, r.Progress.Task-1)
}

// mark notes how much is done now, to tell how fast the run is.
func (r *Run) mark(now time.Time) {
	work := r.Share() * r.Work
	// What was done before work that goes down was counted too early: a step with long work in it counts when it ends.
	for n := len(r.marks); n > 0 && r.marks[n-1].work > work; n-- {
		r.marks = r.marks[:n-1]
	}
	if n := len(r.marks); n > 1 && work < r.marks[n-2].work+r.Work/mostMarks {
		r.marks = r.marks[:n-1] // the last one moves until it is far enough
	}
	r.marks = append(r.marks, mark{now, work})
}

// since is the work that the run has done since a time, as its marks tell.
func (r *Run) since(t time.Time) float64 {
	n := len(r.marks)
	if n == 0 {
		return 0
	}
	i, _ := slices.BinarySearchFunc(r.marks, t, func(m mark, t time.Time) int { return m.at.Compare(t) })
	switch last := r.marks[n-1].work; {
	case i == n:
		return 0
	case i == 0:
		return last - r.marks[0].work
	default:
		a, b := r.marks[i-1], r.marks[i]
		return last - b.work + (b.work-a.work)*float64(b.at.Sub(t))/float64(b.at.Sub(a.at))
	}
}

// Todo returns the work of all runs and how much of it is left. A run whose work is not known is taken to be like the
// others, and of one that has failed nothing is left: its rest will not be done.
func Todo(runs []*Run) (all, left float64) {
	known, n := 0.0, 0
	for _, r := range runs {
		if r.Work > 0 {
			known += r.Work
			n++
		}
	}
	usual := 1.0
	if n > 0 {
		usual = known / float64(n)
	}
	for _, r := range runs {
		work := r.Work
		if work <= 0 {
			work = usual
		}
		all += work
		if r.Phase != Done && r.Phase != Failed {
			left += work * (1 - r.Share())
		}
	}
	return all, left
}

// ShareOf is the part of the work of all runs that is not left ([Todo]), so that it is 1 once each has ended or failed;
// 0 where there are none.
func ShareOf(runs []*Run) float64 {
	all, left := Todo(runs)
	if all == 0 {
		return 0
	}
	return 1 - left/all
}

// Left is the time until all runs have ended, at the speed of the latter half of what was done while somebody looked; 0
// where that is not known. A pause, such as of a run that was stopped and goes on, counts no longer once it lies in the
// first half.
func Left(runs ...*Run) time.Duration {
	var times []time.Time
	for _, r := range runs {
		if len(r.marks) > 1 {
			for _, m := range r.marks {
				times = append(times, m.at)
			}
		}
	}
	if len(times) == 0 {
		return 0
	}
	slices.SortFunc(times, time.Time.Compare)
	done := func(since time.Time) (sum float64) {
		for _, r := range runs {
			sum += r.since(since)
		}
		return sum
	}
	half := done(times[0]) / 2
	after, _ := slices.BinarySearchFunc(times, half, func(t time.Time, half float64) int {
		if done(t) >= half {
			return -1
		}
		return 1
	})
	from := times[max(after-1, 0)]
	spent, work := times[len(times)-1].Sub(from), done(from)
	if spent < leastSpent { // of a half that came at once, all of it
		from = times[0]
		spent, work = times[len(times)-1].Sub(from), done(from)
	}
	if spent < leastSpent || work <= 0 {
		return 0
	}
	_, left := Todo(runs)
	return time.Duration(left * float64(spent) / work).Round(time.Millisecond)
}
