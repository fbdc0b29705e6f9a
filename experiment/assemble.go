package experiment

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"ocl"
	"ocl/checkpoint"
	"ocl/config"
	"ocl/experiment/result"
	"ocl/metric"
)

// result assembles what the run leaves, from what was measured so far.
func (r *run) result(outcome result.Outcome) (*result.Result, error) {
	config, err := record(r.config)
	if err != nil {
		return nil, err
	}
	state, err := r.stateBytes()
	if err != nil {
		return nil, err
	}
	info := infoOf(r.job.Method)
	res := &result.Result{
		Format: result.Format, Version: result.Version, Config: config,
		Method: result.Method{
			Name: info.Name, Title: info.Title, Tricks: append([]string{}, r.job.Tricks...),
			Options: r.config.Method[info.Name], Signals: append([]string{}, info.SignalsWith(r.job.Tricks)...), Citation: info.Citation,
		},
		Provenance: result.Provenance{
			Revision: r.revision(), Numbers: result.Numbers, Kernel: r.net.KernelName(),
			Convolution: r.net.ConvolutionName(), Workers: r.workers, Concurrency: r.concurrency, Go: runtime.Version(), DataDigest: r.stream.Info().Digest,
		},
		Stream:  r.streamResult(),
		Metrics: metricsOf(r.measured[0].accuracy, r.stream.Info().CommonTest),
		Seconds: r.seconds,
		Resources: result.Resources{
			PeakResidentBytes: max(r.peak, peakResident()), Parameters: len(r.net.Params()),
			StateBytes: state, FLOPsPerStep: r.plan.FLOPsPerStep,
		},
		Outcome: outcome,
	}
	if res.Method.Options == nil {
		res.Method.Options = map[string]any{}
	}
	for i, row := range r.measured[0].accuracy {
		res.Accuracy = append(res.Accuracy, nullable(row))
		res.PerClass = append(res.PerClass, nullable(r.measured[0].perClass[i]))
	}
	res.Classifiers, res.ErrorAnalysis = r.classifierResults(), r.measured[0].analysis()
	if m, ok := r.learner.(ocl.MemoryReporter); ok && info.UsesMemory {
		res.Resources.MemoryBytes = m.MemoryBytes()
		res.Memory = &result.Memory{Capacity: r.config.Memory, ClassCounts: r.counts}
	}
	return res, nil
}

// record is a config as a result holds it.
func record(c Config) (config.Config, error) {
	var out config.Config
	text, err := json.Marshal(c)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return out, fmt.Errorf("config: it does not marshal: %w", err)
	}
	return out, nil
}

func (r *run) streamResult() result.Stream {
	info := r.stream.Info()
	s := result.Stream{
		Name: info.Name, Scenario: string(info.Scenario), Protocol: r.config.Protocol,
		Shape: [3]int{info.Channels, info.Height, info.Width}, Classes: info.Classes, ClassNames: r.set.ClassNames,
	}
	for i, t := range info.Tasks {
		task := result.Task{Index: r.stream.Original(i), Train: t.Train, Test: t.Test}
		for _, k := range t.Classes {
			task.Classes = append(task.Classes, int(k))
		}
		s.Tasks = append(s.Tasks, task)
	}
	return s
}

// writeResult puts the result into the folder. The checkpoint of a run that ended goes away unless it is to be kept; it
// goes last, so that a crash in between loses nothing.
func (r *run) writeResult(res *result.Result) error {
	if r.folder == "" {
		return nil
	}
	text, err := result.Encode(res)
	if err != nil {
		return err
	}
	if err := r.log.sync(); err != nil {
		return err
	}
	if err := checkpoint.WriteBytesAtomic(filepath.Join(r.folder, ResultFile), text); err != nil {
		return fmt.Errorf("%w; want a folder with room; make room, then run the same again", err)
	}
	if res.Outcome.State == result.Interrupted || r.KeepCheckpoint {
		return nil
	}
	return r.checkpoints.Clear()
}

// revision is the program's version control revision, as the caller or the build says.
func (r *run) revision() string {
	if r.Revision != "" {
		return r.Revision
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

// metricsOf summarises the rows that were measured; what is undefined for them is nil.
func metricsOf(accuracy [][]float64, common bool) result.Metrics {
	rows := 0
	for i := range accuracy {
		if !math.IsNaN(accuracy[i][0]) {
			rows = i + 1
		}
	}
	m := metric.Matrix{Rows: accuracy[:rows], Common: common}
	defined := func(v float64) *float64 {
		if math.IsNaN(v) {
			return nil
		}
		return &v
	}
	return result.Metrics{
		AverageAccuracy:            defined(metric.AverageAccuracy(m, rows-1)),
		AverageForgetting:          defined(metric.AverageForgetting(m, rows-1)),
		ForgettingAllTasks:         defined(metric.ForgettingAllTasks(m)),
		BWTPlus:                    defined(metric.BWTPlus(m)),
		FWT:                        defined(metric.FWT(m)),
		LearningAccuracy:           defined(metric.LearningAccuracy(m)),
		AverageIncrementalAccuracy: defined(metric.AverageIncrementalAccuracy(m)),
	}
}
