package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"ocl/config"
	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/samebits"
	"ocl/run/experiment"
	"ocl/run/result"
)

// Entry is a job in the list of a study, with what a store and the user need to know of it.
type Entry struct {
	Key    string  `json:"key"`    // of the run (experiment.Job.Key)
	Folder string  `json:"folder"` // the name of its folder
	Name   string  `json:"name"`   // of the method with its tricks
	Memory int     `json:"memory"`
	Data   string  `json:"data"` // the name of the data set
	Seed   uint64  `json:"seed"`
	Steps  int     `json:"steps"`
	FLOPs  float64 `json:"flops"` // of the whole run
	Timing bool    `json:"timing,omitempty"`
	// Tuned says that the run is tuned before it is made. Key is then that of its tuned result (result.Tuning.Key), and
	// Steps and FLOPs have those of the trials.
	Tuned bool `json:"tuned,omitempty"`
	// After is the folder of the job whose tuning chooses for this one, too; "" of one that waits for none.
	After string `json:"after,omitempty"`
	// Also are the keys of runs that learn the same and measure more (identity.Identity.Wider). The result of one of them
	// serves, too.
	Also []string `json:"also,omitempty"`
}

// String names the job for people.
func (e Entry) String() string {
	if e.Memory == 0 {
		return fmt.Sprintf("%s s%d", e.Name, e.Seed)
	}
	return fmt.Sprintf("%s m%d s%d", e.Name, e.Memory, e.Seed)
}

// Job is an entry with what is needed to do it. The last three are absent in simulations.
type Job struct {
	Entry
	Run        experiment.Job
	Plan       experiment.Plan
	Experiment *experiment.Experiment

	tuned *tuned // nil without tuning
}

// Open opens the data of a study and lists its jobs, with what is made of the study: the engine is that of Made, or if
// it was not made yet that of this machine. Jobs stand seed by seed, so that a study that is stopped early can be
// compared, the longest of a seed first. Those that are timed stand last. Every data set is opened and hashed once. It
// writes nothing. It is an error if this program or machine cannot add to the study.
func (s *Study) Open(ctx context.Context, o experiment.Options) ([]Job, Made, error) {
	if err := s.Made.check(); err != nil {
		return nil, Made{}, err
	}
	made := Made{Numbers: result.Numbers, DataDir: s.Made.DataDir, Data: map[string]string{}, Kernel: s.Made.Kernel,
		Convolution: s.Made.Convolution}
	open := map[config.Data]*experiment.Experiment{}
	var jobs []Job
	place := map[string]int{} // in jobs, by key
	var same []string         // runs that are another one's
	var faults, absent expansion
	left := 0
	for _, g := range s.Combinations {
		if err := ctx.Err(); err != nil {
			return nil, Made{}, err
		}
		listed, err := s.jobs(ctx, g, open, &made, o)
		if s.Part && errors.Is(err, experiment.ErrData) {
			absent.add(err)
			left += len(g.Seeds)
			continue
		}
		if err != nil {
			faults.add(err) // go on, to report the errors of all combinations together
			continue
		}
		for _, job := range listed {
			if i, there := place[job.Key]; there {
				jobs[i].Timing = jobs[i].Timing || job.Timing
				same = append(same, job.String())
				continue
			}
			place[job.Key] = len(jobs)
			jobs = append(jobs, job)
		}
	}
	if err := faults.err(); err != nil {
		return nil, Made{}, err
	}
	if len(jobs) == 0 && left > 0 {
		return nil, Made{}, absent.err()
	}
	if runs := s.Len() - left; len(jobs)+len(same) != runs {
		return nil, Made{}, fmt.Errorf("study: internal error: %s and %s were made of %s. Please report it with the study's file",
			count.Of(len(jobs), "job"), count.Of(len(same), "repeat"), count.Of(runs, "run"))
	}
	s.Notes = sameNotes(same)
	if left > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%s left to other machines, as their data are not here: %v",
			count.Of(left, "job"), absent.err()))
	}
	first := s.Combinations[0].Config.Engine
	made.Kernel, made.Convolution = cmp.Or(made.Kernel, first.Kernel), cmp.Or(made.Convolution, first.Convolution)
	for name, digest := range s.Made.Data {
		if here, known := made.Data[name]; known && here != digest {
			return nil, Made{}, fmt.Errorf("study: the study was made with other data: %s has the digest %s there and %s here. Use the same data, or make the study anew in another folder",
				name, digest, here)
		}
	}
	if err := s.Made.sameVersions(made.Registered); err != nil {
		return nil, Made{}, err
	}
	separate(jobs)
	shareTunings(jobs)
	slices.SortStableFunc(jobs, func(a, b Job) int {
		return cmp.Or(timedLast(a, b), cmp.Compare(a.Seed, b.Seed), cmp.Compare(b.FLOPs, a.FLOPs))
	})
	return jobs, made, nil
}

// timedLast orders jobs by whether they are timed.
func timedLast(a, b Job) int {
	if a.Timing == b.Timing {
		return 0
	}
	return map[bool]int{true: 1, false: -1}[a.Timing]
}

// sameNotes says that runs are those of other combinations of values, as different words may mean the same.
func sameNotes(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the study has %s more than once, such as %s, with other words. Each is made once",
		count.Of(len(names), "run"), names[0])}
}

// jobs are the jobs of a combination, one for each seed, planned. made takes what it says of the engine and the data.
func (s *Study) jobs(ctx context.Context, g Combination, open map[config.Data]*experiment.Experiment, made *Made,
	o experiment.Options) ([]Job, error) {
	var all []Job
	c, want := g.Config.Clone(), g.Config.Engine
	c.Engine.Kernel, c.Engine.Convolution = cmp.Or(want.Kernel, made.Kernel), cmp.Or(want.Convolution, made.Convolution)
	for _, span := range spans(slices.Sorted(maps.Keys(g.Seeds))) {
		c.Seed, c.Runs = span.first, span.n
		plain := c.Clone()
		plain.Tune = config.Tune{}
		x, err := s.experiment(ctx, open, plain, o)
		if err != nil {
			return nil, err
		}
		got := x.Config().Engine
		if samebits.Same(got.Kernel, c.Engine.Kernel) {
			got.Kernel = c.Engine.Kernel // of this machine, by the name that the study knows
		}
		if !s.Made.IsZero() && c.Engine != got { // an environment variable has chosen another one
			return nil, fmt.Errorf("study: its runs use %s kernels and %s convolutions, but here they would use %s and %s. Unset OCL_KERNEL and OCL_CONV",
				c.Engine.Kernel, c.Engine.Convolution, got.Kernel, got.Convolution)
		}
		if want.Kernel == "" {
			made.Kernel = got.Kernel
		}
		if want.Convolution == "" {
			made.Convolution = got.Convolution
		}
		if other := s.Made.Data[describe(c.Data)]; s.Part && other != x.DataDigest() {
			return nil, cause.As(fmt.Errorf("study: the study was made with other data: %s has the digest %s there and %s here. Use the same data",
				describe(c.Data), other, x.DataDigest()), experiment.ErrData)
		}
		made.Data[describe(c.Data)] = x.DataDigest()
		for _, run := range x.Jobs() {
			made.use(run.Identity.Registered)
		}
		listed := untuned(x)
		if c.Tune.Grid != "" {
			if listed, err = tunedJobs(x, c, o); err != nil {
				return nil, err
			}
		}
		all = append(all, listed...)
	}
	plan, err := all[0].Experiment.Plan(all[0].Run) // all seeds are taken to cost the same, as runs of an experiment are
	if err != nil {
		return nil, err
	}
	for i := range all {
		j, run := &all[i], all[i].Run
		j.Name, j.Memory, j.Data, j.Seed, j.Timing = run.Name(), run.Config.Memory, run.Config.Data.Name, run.Seed,
			g.Seeds[run.Seed]
		j.Plan, j.Steps, j.FLOPs = plan, plan.Steps, plan.FLOPs()
	}
	return all, nil
}

// span is seeds that follow each other, which one experiment has.
type span struct {
	first uint64
	n     int
}

// spans groups rising seeds into ranges without gaps.
func spans(seeds []uint64) (all []span) {
	for i, seed := range seeds {
		if i > 0 && seed == seeds[i-1]+1 {
			all[len(all)-1].n++
			continue
		}
		all = append(all, span{seed, 1})
	}
	return all
}

// untuned are the jobs of an experiment as they are.
func untuned(x *experiment.Experiment) (jobs []Job) {
	for _, run := range x.Jobs() {
		jobs = append(jobs, Job{Run: run, Experiment: x,
			Entry: Entry{Key: run.Key, Folder: run.Folder, Also: run.Identity.Wider()}})
	}
	return jobs
}

// experiment opens the data of a config, or takes those that are open.
func (s *Study) experiment(ctx context.Context, open map[config.Data]*experiment.Experiment, c config.Config,
	o experiment.Options) (*experiment.Experiment, error) {
	o.NewClasses = true // a config with a parent is that of an `ocl learn`
	if x, there := open[c.Data]; there {
		return x.With(c, o)
	}
	x, err := experiment.Open(ctx, c, o)
	if want := s.Made.Data[describe(c.Data)]; s.Part && s.Borrow != nil && want != "" &&
		(errors.Is(err, experiment.ErrData) || err == nil && x.DataDigest() != want) {
		set, failed := s.Borrow(ctx, want)
		if failed != nil {
			return nil, failed
		}
		if o.Data = set; set != nil {
			x, err = experiment.Open(ctx, c, o)
		}
	}
	if err == nil {
		open[c.Data] = x
	}
	return x, err
}

// describe returns the settings of a study's data in words, without their place.
func describe(d config.Data) string {
	c := config.Default()
	c.Data, c.Data.Dir = d, ""
	words := []string{d.Name}
	for _, v := range experiment.Schema().Values(c) {
		if key, is := strings.CutPrefix(v.Name, "data."); is && key != "name" && !v.Usual {
			words = append(words, key+" "+v.Text)
		}
	}
	return strings.Join(words, ", ")
}

// separate gives jobs with the same folder but other keys folders of their own: eight digits of two keys may be the
// same.
func separate(jobs []Job) {
	taken := map[string]string{}
	for i := range jobs {
		j := &jobs[i]
		if other, there := taken[j.Folder]; there && other != j.Key {
			j.Folder = strings.TrimSuffix(j.Folder, j.Key[:8]) + j.Key[:24]
		}
		taken[j.Folder] = j.Key
	}
}

// Work does a job at a place, to its end or until ctx ends.
type Work func(ctx context.Context, j Job, at experiment.RunIn) (*result.Result, error)

// learn is the usual work: the job's experiment, after its tuning if it has one.
func (r *session) learn(ctx context.Context, j Job, at experiment.RunIn) (*result.Result, error) {
	if j.tuned != nil {
		return j.tuned.learn(ctx, r.Store, j, at)
	}
	return j.Experiment.RunJob(ctx, j.Run, at)
}

// Entries are the entries of jobs.
func Entries(jobs []Job) []Entry {
	all := make([]Entry, len(jobs))
	for i, j := range jobs {
		all[i] = j.Entry
	}
	return all
}

// folderOf returns the folder of a job's run.
func folderOf(dir string, e Entry) string { return filepath.Join(dir, e.Folder) }
