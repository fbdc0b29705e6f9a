package study

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"ocl/experiment"
)

// Takeover says which results of an archive a study can use.
type Takeover struct {
	found  []experiment.Archived // by job; the zero value is none
	jobs   []Job
	Match  int            // results that jobs without one can use
	Have   int            // results of jobs that have theirs already
	Others map[string]int // of the other results, by the reason for which they do not count
}

// Reasons are the reasons why results do not count, those of most results first.
func (t *Takeover) Reasons() []string {
	return slices.SortedFunc(maps.Keys(t.Others), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.Others[b], t.Others[a]), cmp.Compare(a, b))
	})
}

// Matches says whether there is a result for a job that has none.
func (t *Takeover) Matches(i int) bool { return t.found[i].Result != nil }

// Match finds the results of an archive that are those of jobs, and says why the others are not. It writes nothing.
func Match(a *experiment.Archive, store Store, jobs []Job) *Takeover {
	t := &Takeover{found: make([]experiment.Archived, len(jobs)), jobs: jobs, Others: map[string]int{}}
	used, learns := map[string]bool{}, map[string]int{} // paths; jobs by what they learn
	for i, j := range jobs {
		r, there := a.Find(append([]string{j.Key}, j.Also...)...)
		if !j.Tuned {
			learns[experiment.Learns(j.Run.Config)] = i
		}
		if !there {
			continue
		}
		used[r.Path] = true
		if store.State(j.Entry).Phase == Done {
			t.Have++
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
		if i, same := learns[r.Learns]; same {
			reason = r.Differ(jobs[i].Run).Error()
			if slices.Contains(append([]string{jobs[i].Key}, jobs[i].Also...), r.Key) {
				reason = "there is another result of the same run"
			}
		}
		t.Others[reason]++
	}
	if len(a.Damaged) > 0 {
		t.Others["damaged"] = len(a.Damaged)
	}
	if len(a.Foreign) > 0 {
		t.Others["of other programs (ocl import)"] = len(a.Foreign)
	}
	return t
}

// Take copies the results that match into the folders of their jobs, which are then done. A job that another process is at work on is left to
// it. It returns how many it took.
func (t *Takeover) Take(store Store) (taken int, err error) {
	for i, r := range t.found {
		if r.Result == nil {
			continue
		}
		c, _, err := store.Claim(t.jobs[i].Entry)
		if err != nil {
			return taken, err
		}
		if c == nil {
			continue
		}
		if err := r.Copy(c.Place().Folder, c.Place().Permit); err != nil {
			return taken, fmt.Errorf("study: %w", errors.Join(err, c.Release()))
		}
		if err := c.Done(r.Result); err != nil {
			return taken, err
		}
		taken++
	}
	return taken, nil
}
