package study

import (
	"os"
	"path/filepath"

	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/result"
)

// doneFile says of the result beside it that it was found whole, and what it has in short. Reading a result takes
// milliseconds, and every process of a study asks after every job. The file is dispensable: without it, or if the
// result has another size or time than the one that it names, the result itself is read.
const doneFile = ".done"

// doneNote is the content of the file, one line of JSON with a checksum.
type doneNote struct {
	Key string `json:"key"` // of the job
	stamp
	Outcome  string   `json:"outcome"`
	Accuracy *float64 `json:"accuracy,omitempty"`
	Step     int      `json:"step"`
}

func (n doneNote) state() progress.State {
	return progress.State{Phase: progress.Done, Outcome: n.Outcome, Accuracy: n.Accuracy,
		Progress: progress.Progress{Step: n.Step}}
}

// stamp identifies a version of a result.json.
type stamp struct {
	Size     int64 `json:"size"`
	Modified int64 `json:"modified"` // nanoseconds since 1970
}

// stampOf is the stamp of the result in a folder; ok is false if there is none. A result that is replaced meanwhile has
// another time.
func stampOf(folder string) (s stamp, ok bool) {
	info, err := os.Stat(filepath.Join(folder, experiment.ResultFile))
	if err != nil || !info.Mode().IsRegular() {
		return s, false
	}
	return stamp{info.Size(), info.ModTime().UnixNano()}, true
}

// noted is the state of a job whose result is the one that was noted as whole.
func noted(folder string, e Entry) (progress.State, bool) {
	text, err := input.ReadFile(filepath.Join(folder, doneFile), input.Want{Most: limit.StudyNote})
	var n doneNote
	if err != nil || len(text) == 0 || !parseLine(text[:len(text)-1], &n) || n.Key != e.Key {
		return progress.State{}, false
	}
	if n.Outcome != result.Finished && n.Outcome != result.Diverged {
		return progress.State{}, false
	}
	now, ok := stampOf(folder)
	return n.state(), ok && now == n.stamp
}

// write writes the file of a result that is known to be whole, as its run has written it or somebody has read it. Two
// processes write the same bytes. It is not synced, and a fault changes nothing: a file that is not whole counts as
// none.
func (n doneNote) write(folder string) {
	line, err := checkedLine(n)
	if err != nil {
		return
	}
	path := filepath.Join(folder, doneFile)
	_ = os.Remove(path) // a new file is no link to another one
	if f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err == nil {
		_, _ = f.Write(line)
		_ = f.Close()
	}
}

func noteOf(e Entry, r *result.Result, s stamp) doneNote {
	return doneNote{Key: e.Key, stamp: s, Outcome: r.Outcome.State, Accuracy: r.Metrics.AverageAccuracy,
		Step: r.Outcome.Step}
}
