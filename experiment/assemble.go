package experiment

import (
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"ocl"
	"ocl/checkpoint"
	"ocl/experiment/result"
)

// assembly is what a result is made of.
type assembly struct {
	x       *Experiment
	job     Job
	workers int
	plan    Plan
	stream  view
	learner ocl.Learner
	found   *record
}

func (r *run) assembly() assembly {
	r.countTogether()
	return assembly{r.x, r.job, r.on.workers, r.plan, r.stream, r.learner, &r.found}
}

// result assembles what a run leaves, from what was measured so far.
func (r assembly) result(outcome result.Outcome) (*result.Result, error) {
	state := checkpoint.NewContainer()
	defer state.Release()
	if err := r.learner.SaveState(state.Encoder()); err != nil {
		return nil, err
	}
	info := infoOf(r.job.Method)
	first := &r.found.measured[0]
	res := &result.Result{
		Format: result.Format, Version: result.Version, Key: r.job.Key, Config: r.job.Config,
		Method: result.Method{
			Name: info.Name, Title: info.Title, Tricks: append([]string{}, r.job.Tricks...),
			Options: r.job.Config.Method[info.Name], Signals: append([]string{}, info.SignalsWith(r.job.Tricks)...), Citation: info.Citation,
		},
		Provenance: r.provenance(),
		Tuning:     r.x.opts.Tuning,
		Stream:     r.streamResult(),
		Seconds:    r.found.seconds,
		Resources: result.Resources{
			PeakResidentBytes: max(r.found.peak, peakResident()), Parameters: r.learner.Cost().Parameters,
			StateBytes: stateBytes(state), FLOPsPerStep: r.plan.FLOPsPerStep,
		},
		Evaluations: r.found.evaluations,
		Outcome:     outcome,
	}
	if p := r.x.parent; p != nil {
		res.Parent = &p.Parent
	}
	if res.Method.Options == nil {
		res.Method.Options = map[string]any{}
	}
	for i, row := range first.accuracy {
		res.Accuracy = append(res.Accuracy, nullable(row))
		res.PerClass = append(res.PerClass, nullable(first.perClass[i]))
	}
	res.Metrics = result.MetricsOf(res.Accuracy, res.Stream.CommonTest, res.Evaluations)
	res.Classifiers, res.ErrorAnalysis = r.classifierResults(), first.analysis()
	if m, ok := r.learner.(ocl.MemoryReporter); ok && info.UsesMemory {
		if !paused(r.learner) { // a learner in the middle of a batch is asked for nothing but its state
			res.Resources.MemoryBytes = m.MemoryBytes()
		}
		res.Memory = &result.Memory{Capacity: r.job.Config.Memory, ClassCounts: r.found.counts, TaskCounts: r.found.taskCounts}
	}
	res.Experts = expertsOf(r.learner, r.stream, r.x.before().Steps)
	return res, nil
}

func (r assembly) provenance() result.Provenance {
	id := r.job.id
	return result.Provenance{
		Program: r.x.opts.Program, Revision: r.x.revision(), Numbers: id.Numbers, Kernel: id.Kernel, Convolution: id.Convolution,
		Workers: r.workers, Concurrency: r.found.together, Timed: r.found.timed, Go: runtime.Version(), Processor: processor(), Architecture: runtime.GOARCH,
		Started: r.found.started, Ended: time.Now().UTC().Format(time.RFC3339), Command: r.x.opts.Command, DataDigest: id.Data,
	}
}

func (r assembly) streamResult() result.Stream {
	info := r.stream.Info()
	s := result.Stream{
		Name: info.Name, Scenario: string(info.Scenario), Protocol: r.job.Config.Protocol, CommonTest: info.CommonTest,
		Shape: [3]int{info.Channels, info.Height, info.Width}, Classes: info.Classes, ClassNames: r.x.classNames(),
		Notes: slices.Clone(r.x.set.Notes),
	}
	for _, text := range []string{r.x.classes.note, skippedText(r.stream)} {
		if text != "" {
			s.Notes = append(s.Notes, text)
		}
	}
	for i, t := range info.Tasks {
		task := result.Task{Index: r.stream.Original(i), Name: r.stream.TaskName(r.stream.Original(i)), Train: t.Train, Test: t.Test}
		for _, k := range t.Classes {
			task.Classes = append(task.Classes, int(k))
		}
		s.Tasks = append(s.Tasks, task)
	}
	return s
}

// classifierResults are those of all classifiers but the primary one.
func (r assembly) classifierResults() map[string]result.Classifier {
	names := r.job.Config.Classifiers
	if len(names) == 1 {
		return nil
	}
	others := map[string]result.Classifier{}
	for i, name := range names[1:] {
		m := &r.found.measured[i+1]
		c := result.Classifier{ErrorAnalysis: m.analysis()}
		for _, row := range m.accuracy {
			c.Accuracy = append(c.Accuracy, nullable(row))
		}
		c.Metrics = result.MetricsOf(c.Accuracy, r.stream.Info().CommonTest, nil)
		others[name] = c
	}
	return others
}

// revision is the program's version control revision, as the caller or the build says.
func (x *Experiment) revision() string {
	if x.opts.Revision != "" {
		return x.opts.Revision
	}
	revision, dirty := "unknown", ""
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, s := range build.Settings {
			switch {
			case s.Key == "vcs.revision":
				revision = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = "+dirty"
			}
		}
	}
	return revision + dirty
}
