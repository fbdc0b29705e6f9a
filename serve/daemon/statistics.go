package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"

	"ocl/internal/atomicfile"
	"ocl/internal/input"
	"ocl/internal/limit"
)

// statisticsFile has what was measured, for the next start. It is no part of the state: a kill loses what was measured
// since the last snapshot.
const statisticsFile = "statistics.json"

// statistics are the numbers of a meter that survive a restart.
type statistics struct {
	Format  int                   `json:"v"`
	Right   []bool                `json:"right"` // of the last samples whose answer was served; a ring
	Next    int                   `json:"next"`  // in it
	Window  adwin                 `json:"window"`
	Drift   Drift                 `json:"drift"`
	History []Point               `json:"history"`
	Every   int64                 `json:"every"` // samples between two points
	HeldOut *HeldOut              `json:"held_out"`
	HeldAt  int64                 `json:"held_at"` // samples learned when that was measured
	Classes map[string]*ClassInfo `json:"classes"`
}

// measured returns the statistics of the meter as the content of a file.
func (m *meter) measured() ([]byte, error) {
	m.gauge.Lock()
	defer m.gauge.Unlock()
	m.kept.Format = bodyFormat
	return json.Marshal(&m.kept)
}

// resume takes what an earlier process has measured.
func (m *meter) resume(text []byte) error {
	var s statistics
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	w := s.Window
	bad := s.Format != bodyFormat || len(s.Right) > mostTimes || s.Next < 0 || s.Next > len(s.Right) ||
		s.Next == mostTimes || len(s.History) > mostHistory || s.Every < 0 || s.HeldAt < 0 ||
		len(s.Classes) > limit.KnownClasses || len(w.Rows) > 62 || w.Ticks < 0 || !(w.Sum >= 0 && w.Dev >= 0)
	n := 0
	for r, row := range w.Rows {
		for _, b := range row {
			bad = bad || !(b[0] >= 0 && b[0] <= math.Ldexp(1, r)) || !(b[1] >= 0)
		}
		bad = bad || len(row) > adwinBuckets
		n += len(row) << r
	}
	for _, c := range s.Classes {
		bad = bad || c == nil
	}
	if bad || n != w.N {
		return fmt.Errorf("these are no statistics of format %d", bodyFormat)
	}
	m.gauge.Lock()
	defer m.gauge.Unlock()
	m.kept = s
	return nil
}

// keepStatistics writes what was measured. A disk without room costs nothing else.
func (d *Daemon) keepStatistics() {
	text, err := d.measured()
	if err == nil {
		err = atomicfile.WritePrivateBytes(filepath.Join(d.dir, statisticsFile), text)
	}
	if err != nil {
		d.o.Log.Warn("what was measured is not kept for the next start", "error", err)
	}
}

// readStatistics goes on with what the last process has measured.
func (d *Daemon) readStatistics() {
	text, err := input.ReadFile(filepath.Join(d.dir, statisticsFile), input.Want{Most: limit.ServeStatistics})
	if err == nil {
		err = d.resume(text)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if d.trainer.Stats().Images > 0 {
			d.o.Log.Info("nothing is there of what was measured before, so accuracy, forgetting and drift begin anew", "file",
				statisticsFile)
		}
		return
	}
	if err != nil {
		d.o.Log.Warn("what was measured before is lost, and nothing else", "file", statisticsFile, "error", err)
	}
}
