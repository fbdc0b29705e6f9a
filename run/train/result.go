package train

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"ocl/checkpoint"
	"ocl/internal/origin"
	"ocl/internal/processor"
	"ocl/learn/learner"
	"ocl/run/build"
	"ocl/run/result"
)

// result makes the result of a run from what was measured so far.
func (r *run) result(outcome result.Outcome) (*result.Result, error) {
	r.countConcurrent()
	state := checkpoint.NewContainer()
	if err := r.learner.SaveState(state.Encoder()); err != nil {
		return nil, err
	}
	info := build.Method(r.Job.Method)
	first := &r.found.measured[0]
	res := &result.Result{
		Format: result.Format, Version: result.Version, Key: r.Job.Key, Config: r.Job.Config,
		Method: result.Method{
			Name: info.Name, Title: info.Title, Tricks: append([]string{}, r.Job.Tricks...),
			Options: r.Job.Config.Method[info.Name], Signals: append([]string{}, info.SignalsWith(r.Job.Tricks)...),
			Citation: info.Citation,
		},
		Provenance: r.provenance(),
		Tuning:     r.Tuning,
		Stream:     r.streamResult(),
		Seconds:    r.found.Seconds,
		Resources: result.Resources{
			PeakResidentBytes: max(r.found.Peak, peakResident()), Parameters: r.learner.Cost().Parameters,
			StateBytes: stateBytes(state), FLOPsPerStep: r.Plan.FLOPsPerStep,
			RowsForward: r.Plan.RowsForward, RowsBackward: r.Plan.RowsBackward, NetworkBytes: r.Plan.NetworkBytes,
		},
		Evaluations: r.found.Evaluations,
		Outcome:     outcome,
	}
	if p := r.Parent; p != nil {
		res.Parent = &p.Parent
	}
	if res.Method.Options == nil {
		res.Method.Options = map[string]any{}
	}
	for i, row := range first.accuracy {
		res.Accuracy = append(res.Accuracy, nullable(row))
		res.PerClass = append(res.PerClass, nullable(first.perClass[i]))
	}
	if slices.ContainsFunc(r.found.Seen, func(v *float64) bool { return v != nil }) {
		res.Seen = r.found.Seen
	}
	res.Cumulative, res.Retained, res.Probe = first.cumulative, r.found.Retained, r.found.Probe
	res.Incoming = r.found.Incoming.Counts
	res.Metrics = res.Follow()
	res.Calibration = r.found.Calibration
	res.Classifiers, res.ErrorAnalysis = r.classifierResults(), first.analysis()
	if m := learner.MemoryOf(r.learner); m != nil && info.UsesMemory {
		if !paused(r.learner) { // in the middle of a batch a learner can only save its state
			res.Resources.MemoryBytes = m.Bytes()
		}
		res.Memory = &result.Memory{Capacity: r.Job.Config.Memory, ClassCounts: r.found.Counts,
			TaskCounts: r.found.TaskCounts}
	}
	res.Experts = expertsOf(r.learner, r.Stream, r.before().Steps)
	return res, nil
}

func (r *run) provenance() result.Provenance {
	id := r.Job.Identity
	return result.Provenance{
		Program: r.Program, Revision: revision(r.Revision), Numbers: id.Numbers, Kernel: id.Kernel,
		Convolution: id.Convolution,
		Workers:     r.Workers, Concurrency: r.found.Concurrent, Timed: r.found.Timed, Go: runtime.Version(),
		Processor: processor.Name(), Architecture: runtime.GOARCH,
		Started: r.found.Started, Ended: time.Now().UTC().Format(time.RFC3339), Command: r.Command, DataDigest: id.Data,
		Registered: id.Registered,
	}
}

func (r *run) streamResult() result.Stream {
	info := r.Stream.Info()
	s := result.Stream{
		Name: info.Name, Scenario: string(info.Scenario), Protocol: r.Job.Config.Protocol, CommonTest: info.CommonTest,
		Shape: [3]int{info.Channels, info.Height, info.Width}, Classes: info.Classes, ClassNames: r.ClassNames,
		Embeddings: info.Embeddings, By: info.By, Of: info.Of,
		Notes: slices.Clone(r.Notes),
	}
	if text := SkippedText(r.Stream); text != "" {
		s.Notes = append(s.Notes, text)
	}
	for i, t := range info.Tasks {
		task := result.Task{Index: r.Stream.Original(i), Name: r.Stream.TaskName(r.Stream.Original(i)), Train: t.Train,
			Test: t.Test}
		for _, k := range t.Classes {
			task.Classes = append(task.Classes, int(k))
		}
		s.Tasks = append(s.Tasks, task)
	}
	return s
}

// classifierResults returns the results of all classifiers but the first, by name; nil if there is one alone.
func (r *run) classifierResults() map[string]result.Classifier {
	names := r.Job.Config.Classifiers
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
		c.Cumulative = m.cumulative
		c.Metrics = c.Follow(r.Stream.Info().CommonTest)
		others[name] = c
	}
	return others
}

// revision is the program's version control revision, as the caller or else the build says.
func revision(given string) string {
	if given != "" {
		return given
	}
	build, _ := debug.ReadBuildInfo()
	revision, modified := origin.Revision(build)
	if modified {
		return revision + "+dirty"
	}
	return cmp.Or(revision, result.UnknownRevision)
}

// SkippedText names the tasks that are left out because images are absent or cannot be read; "" means none.
func SkippedText(st build.Stream) string {
	skipped := st.Skipped()
	if len(skipped) == 0 {
		return ""
	}
	words := make([]string, len(skipped))
	for i, t := range skipped {
		words[i] = fmt.Sprintf("task %d", t+1)
		if name := st.TaskName(t); name != "" {
			words[i] += " (" + name + ")"
		}
	}
	return fmt.Sprintf("left out, as images are absent or cannot be read: %s; the other tasks keep their numbers",
		strings.Join(words, ", "))
}
