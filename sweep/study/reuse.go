package study

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"ocl/run/experiment"
	"ocl/run/progress"
)

// Reuse says which results of an archive a study can use.
type Reuse struct {
	found  []experiment.Archived // by job; the zero value means none
	jobs   []Job
	Match  int            // results that jobs without one can use
	Have   int            // results of jobs that have theirs already
	Others map[string]int // of the other results, by the reason for which they do not count
}

// untimed is why a result is not that of a job whose run time is wanted.
const untimed = "not timed, and their jobs have timing: true"

// Reasons are the reasons why results do not count, those of most results first.
func (t *Reuse) Reasons() []string {
	return slices.SortedFunc(maps.Keys(t.Others), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.Others[b], t.Others[a]), cmp.Compare(a, b))
	})
}

// Matches says whether there is a result for a job that has none.
func (t *Reuse) Matches(i int) bool { return t.found[i].Result != nil }

// Match finds the results of an archive that are those of jobs, and says why the others are not. It writes nothing.
func Match(a *experiment.Archive, store Store, jobs []Job) *Reuse {
	t := &Reuse{found: make([]experiment.Archived, len(jobs)), jobs: jobs, Others: map[string]int{}}
	used, learned := map[string]bool{}, map[string]int{} // paths; jobs by what they learn
	for i, j := range jobs {
		r, there := a.Find(j.keys()...)
		if !j.Tuned {
			learned[j.Run.Identity.Learned().String()] = i
		}
		if !there {
			continue
		}
		used[r.Path] = true
		if store.State(j.Entry).Phase == progress.Done {
			t.Have++
			continue
		}
		if j.Timing && !r.Result.Provenance.Timed {
			t.Others[untimed]++
			continue
		}
		t.found[i] = r
		t.Match++
	}
	for _, r := range a.Results {
		if used[r.Path] {
			continue
		}
		reason := "of runs that the study does not have"
		if i, same := learned[r.Learned]; same {
			switch j := jobs[i]; {
			case slices.Contains(j.keys(), r.Key):
				reason = "there is another result of the same run"
			case slices.Contains(j.Also, r.Key):
				reason = "they measured more, which takes longer, and their jobs have timing: true"
			default:
				reason = r.Differ(j.Run).Error()
			}
		}
		t.Others[reason]++
	}
	if len(a.Damaged) > 0 {
		t.Others["damaged"] = len(a.Damaged)
	}
	if len(a.Foreign) > 0 {
		t.Others["of other programs (ocl report import)"] = len(a.Foreign)
	}
	return t
}

// keys are the keys of the results that the job can use: those of its run, and of runs that measure more, which takes
// longer.
func (j Job) keys() []string {
	if j.Timing {
		return []string{j.Key}
	}
	return append([]string{j.Key}, j.Also...)
}

// Copy copies the results that match into the folders of their jobs, which are then done. A job that another process is
// at work on is left to it. It returns how many it took.
func (t *Reuse) Copy(store Store) (copied int, err error) {
	for i, r := range t.found {
		if r.Result == nil {
			continue
		}
		c, _, err := store.Claim(t.jobs[i].Entry)
		if err != nil {
			return copied, err
		}
		if c == nil {
			continue
		}
		if err := r.Copy(c.Place().Folder); err != nil {
			return copied, fmt.Errorf("study: %w", errors.Join(err, c.Release()))
		}
		if err := c.Done(r.Result); err != nil {
			return copied, err
		}
		copied++
	}
	return copied, nil
}
