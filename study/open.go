package study

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"ocl/config"
	"ocl/experiment"
	"ocl/experiment/result"
)

// Entry is a job as the list of a study names it: what a store and a person have to know of it.
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
	// Tuned says that the run is tuned before it is made. Key is then that of its tuned result (result.Tuning.Key), and Steps and
	// FLOPs have those of the trials.
	Tuned bool `json:"tuned,omitempty"`
	// After is the folder of the job whose tuning chooses for this one, too; "" of one that waits for none.
	After string `json:"after,omitempty"`
	// Also are the keys of runs that learn the same and measure more (experiment.Job.Wider). The result of one of them serves, too.
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

// Open opens the data of a study and lists its jobs, longest first and those that are timed last, with what is made of the
// study: the engine is that of Made, or if it was not made yet that of this machine. Every data set is opened and hashed
// once. It writes nothing. It is an error if this program or machine cannot add to the study.
func (s *Study) Open(ctx context.Context, o experiment.Options) ([]Job, Made, error) {
	if err := s.Made.check(); err != nil {
		return nil, Made{}, err
	}
	made := Made{Numbers: result.Numbers, DataDir: s.Made.DataDir, Data: map[string]string{}, Kernel: s.Made.Kernel, Convolution: s.Made.Convolution}
	open := map[config.Data]*experiment.Experiment{}
	var jobs []Job
	place := map[string]int{} // in jobs, by key
	var faults expansion
	for _, g := range groups(s.Runs) {
		if err := ctx.Err(); err != nil {
			return nil, Made{}, err
		}
		c, want := g.config, g.config.Engine
		c.Engine.Kernel, c.Engine.Convolution = cmp.Or(want.Kernel, made.Kernel), cmp.Or(want.Convolution, made.Convolution)
		plain := c
		plain.Tune = config.Tune{}
		x, err := s.experiment(ctx, open, plain, o)
		if err != nil {
			faults.add(err) // others may be wrong in other ways
			continue
		}
		got := x.Config().Engine
		if !s.Made.IsZero() && c.Engine != got { // an environment variable has chosen another one
			return nil, Made{}, fmt.Errorf("study: its runs use %s kernels and %s convolutions, but here they would use %s and %s. Unset OCL_KERNEL and OCL_CONV",
				c.Engine.Kernel, c.Engine.Convolution, got.Kernel, got.Convolution)
		}
		if want.Kernel == "" {
			made.Kernel = got.Kernel
		}
		if want.Convolution == "" {
			made.Convolution = got.Convolution
		}
		if got.Kernel == "generic" {
			made.Processor = runtime.GOARCH
		}
		made.Data[describe(c.Data)] = x.DataDigest()
		listed := untuned(x)
		if c.Tune.Grid != "" {
			if listed, err = tunedJobs(x, c, o); err != nil {
				faults.add(err)
				continue
			}
		}
		for _, job := range listed {
			run := job.Run
			timing, wanted := g.seeds[run.Seed]
			if !wanted {
				continue
			}
			if i, there := place[job.Key]; there {
				jobs[i].Timing = jobs[i].Timing || timing
				continue
			}
			place[job.Key] = len(jobs)
			job.Name, job.Memory, job.Data, job.Seed, job.Timing = run.Name(), run.Config.Memory, run.Config.Data.Name, run.Seed, timing
			jobs = append(jobs, job)
		}
		if err := g.plan(listed[0].Experiment, jobs); err != nil {
			return nil, Made{}, err
		}
	}
	if err := faults.err(); err != nil {
		return nil, Made{}, err
	}
	made.Kernel, made.Convolution = cmp.Or(made.Kernel, s.Runs[0].Config.Engine.Kernel), cmp.Or(made.Convolution, s.Runs[0].Config.Engine.Convolution)
	for name, digest := range s.Made.Data {
		if here, known := made.Data[name]; known && here != digest {
			return nil, Made{}, fmt.Errorf("study: the study was made with other data: %s has the digest %s there and %s here. Use the same data, or make the study anew in another folder", name, digest, here)
		}
	}
	separate(jobs)
	shareTunings(jobs)
	slices.SortStableFunc(jobs, func(a, b Job) int {
		if a.Timing != b.Timing {
			return cmp.Compare(truth(a.Timing), truth(b.Timing))
		}
		return cmp.Or(cmp.Compare(b.FLOPs, a.FLOPs), cmp.Compare(a.Seed, b.Seed))
	})
	return jobs, made, nil
}

// untuned are the jobs of an experiment as they are.
func untuned(x *experiment.Experiment) (jobs []Job) {
	for _, run := range x.Jobs() {
		jobs = append(jobs, Job{Run: run, Experiment: x, Entry: Entry{Key: run.Key, Folder: run.Folder, Also: run.Wider()}})
	}
	return jobs
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// experiment opens the data of a config, or takes those that are open.
func (s *Study) experiment(ctx context.Context, open map[config.Data]*experiment.Experiment, c config.Config, o experiment.Options) (*experiment.Experiment, error) {
	if x, there := open[c.Data]; there {
		return x.With(c, o)
	}
	x, err := experiment.Open(ctx, c, o)
	if err == nil {
		open[c.Data] = x
	}
	return x, err
}

// describe is what a study says of its data, but for the place.
func describe(d config.Data) string {
	c, plain := config.Default(), config.Default()
	c.Data, c.Data.Dir, plain.Data.Name = d, "", d.Name
	text := d.Name
	if more := config.Difference(plain, c); more != "" {
		var parts []string
		for part := range strings.SplitSeq(more, ", ") {
			key, rest, _ := strings.Cut(part, " is ")
			_, here, _ := strings.Cut(rest, " there and ")
			parts = append(parts, strings.TrimPrefix(key, "data.")+" "+strings.TrimSuffix(here, " here"))
		}
		text += ", " + strings.Join(parts, ", ")
	}
	return text
}

// group is runs that differ in their seeds alone: one experiment plans them.
type group struct {
	config config.Config
	seeds  map[uint64]bool // whether they are timed
}

// mostSpan is how many seeds an experiment plans for one that is wanted. Beyond it, each seed has its own experiment.
const mostSpan = 4

func groups(runs []Run) []group {
	schema := experiment.Schema()
	place := map[string]int{}
	var all []group
	for _, r := range runs {
		c := r.Config.Clone()
		c.Seed = 0
		id := schema.Canonical(c) + c.Tune.Grid + " " + c.Engine.Kernel + " " + c.Engine.Convolution + " " + c.Data.Dir + " " + c.Network.Init + " " + c.Parent.Run
		i, there := place[id]
		if !there {
			i = len(all)
			place[id], all = i, append(all, group{config: r.Config, seeds: map[uint64]bool{}})
		}
		all[i].seeds[r.Config.Seed] = r.Timing
	}
	var out []group
	for _, g := range all {
		seeds := slices.Sorted(maps.Keys(g.seeds))
		first, last := seeds[0], seeds[len(seeds)-1]
		if last-first < uint64(mostSpan*len(seeds)) {
			g.config.Seed, g.config.Runs = first, int(last-first)+1
			out = append(out, g)
			continue
		}
		for _, seed := range seeds {
			c := g.config
			c.Seed = seed
			out = append(out, group{c, map[uint64]bool{seed: g.seeds[seed]}})
		}
	}
	return out
}

// plan fills in how much there is to do. All seeds of a group are taken to cost the same, as runs of an experiment are.
func (g group) plan(x *experiment.Experiment, jobs []Job) error {
	var p experiment.Plan
	for i := range jobs {
		j := &jobs[i]
		if j.Experiment != x {
			continue
		}
		if p.Steps == 0 {
			var err error
			if p, err = x.Plan(j.Run); err != nil {
				return err
			}
		}
		j.Plan, j.Steps, j.FLOPs = p, p.Steps, p.FLOPs()
	}
	return nil
}

// separate gives jobs with the same folder but other keys folders of their own: eight digits of two keys may be the same.
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

// Work does a job at a place, to its end or until ctx ends. [Learn] is the usual one.
type Work func(ctx context.Context, j Job, at experiment.Place) (*result.Result, error)

// Learn runs the job's experiment, after its tuning if it has one.
func Learn(ctx context.Context, j Job, at experiment.Place) (*result.Result, error) {
	if j.tuned != nil {
		return j.tuned.learn(ctx, j, at)
	}
	return j.Experiment.RunJobAt(ctx, j.Run, at)
}

// Entries are the entries of jobs.
func Entries(jobs []Job) []Entry {
	all := make([]Entry, len(jobs))
	for i, j := range jobs {
		all[i] = j.Entry
	}
	return all
}

// folderOf is where a job's run lies.
func folderOf(dir string, e Entry) string { return filepath.Join(dir, e.Folder) }
