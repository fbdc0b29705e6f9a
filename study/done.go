package study

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"ocl/experiment"
	"ocl/experiment/result"
)

// doneFile says of the result beside it that it was found whole, and what it has in short. Reading a result takes
// milliseconds, and every process of a study asks after every job. The file is dispensable: without it, or if the result is
// no longer the one that it names, the result itself is read.
const doneFile = ".done"

// mostResult is the most that is hashed of a result; a longer one is read as a whole, which refuses it in words.
const mostResult = 64 << 20

// doneNote is what the file says, on one line with a checksum.
type doneNote struct {
	Key      string   `json:"key"`    // of the job
	SHA256   string   `json:"sha256"` // of result.json
	Outcome  string   `json:"outcome"`
	Accuracy *float64 `json:"accuracy,omitempty"`
	Step     int      `json:"step"`
}

func (n doneNote) state() State {
	return State{Phase: Done, Outcome: n.Outcome, Accuracy: n.Accuracy, Progress: Progress{Step: n.Step}}
}

// hashOf is the hash of the result in a folder; ok is false if there is none that can be hashed.
func hashOf(folder string) (sum string, ok bool) {
	path := filepath.Join(folder, experiment.ResultFile)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > mostResult {
		return "", false
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", false
	}
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:]), true
}

// noted is the state of a job whose result is the one that was noted as whole.
func noted(folder string, e Entry) (State, bool) {
	text, err := os.ReadFile(filepath.Join(folder, doneFile))
	var n doneNote
	if err != nil || len(text) == 0 || !parseLine(text[:len(text)-1], &n) || n.Key != e.Key {
		return State{}, false
	}
	sum, ok := hashOf(folder)
	return n.state(), ok && sum == n.SHA256 && (n.Outcome == result.Finished || n.Outcome == result.Diverged)
}

// write writes the file of a result that is known to be whole, as its run has written it or somebody has read it. Two
// processes write the same bytes. It is not synced, and a fault changes nothing: a file that is not whole counts as none.
func (n doneNote) write(folder string) {
	if line, err := checkedLine(n); err == nil {
		_ = os.WriteFile(filepath.Join(folder, doneFile), line, 0o644)
	}
}

func noteOf(e Entry, r *result.Result, sum string) doneNote {
	return doneNote{Key: e.Key, SHA256: sum, Outcome: r.Outcome.State, Accuracy: r.Metrics.AverageAccuracy, Step: r.Outcome.Step}
}
