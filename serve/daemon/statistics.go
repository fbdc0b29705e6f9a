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
	Right   []bool                `json:"right"` // of the last samples
	Next    int                   `json:"next"`
	Window  window                `json:"window"`
	Drift   Drift                 `json:"drift"`
	History []Point               `json:"history"`
	Every   int64                 `json:"every"`
	HeldOut *HeldOut              `json:"held_out"`
	HeldAt  int64                 `json:"held_at"`
	Classes map[string]*ClassInfo `json:"classes"`
}

// window is the window of [adwin] as JSON: rows of buckets, each a sum and a sum of squared deviations.
type window struct {
	Rows  [][][2]float64 `json:"rows"`
	Ticks int            `json:"ticks"`
	Found bool           `json:"found"`
	N     int            `json:"n"`
	Sum   float64        `json:"sum"`
	Dev   float64        `json:"dev"`
}

// measured returns the statistics of the meter as the content of a file.
func (m *meter) measured() ([]byte, error) {
	m.gauge.Lock()
	defer m.gauge.Unlock()
	a := m.drift
	w := window{Ticks: a.ticks, Found: a.found, N: a.n, Sum: a.sum, Dev: a.dev}
	for _, row := range a.rows {
		buckets := [][2]float64{}
		for _, b := range row {
			buckets = append(buckets, [2]float64{b.sum, b.dev})
		}
		w.Rows = append(w.Rows, buckets)
	}
	return json.Marshal(statistics{bodyFormat, m.right, m.nextRight, w, m.drifts, m.history, m.every, m.held, m.heldAt,
		m.classes})
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
	a := adwin{n: w.N, sum: w.Sum, dev: w.Dev, ticks: w.Ticks, found: w.Found}
	n := 0
	for r, row := range w.Rows {
		var buckets []bucket
		for _, b := range row {
			bad = bad || !(b[0] >= 0 && b[0] <= math.Ldexp(1, r)) || !(b[1] >= 0)
			buckets = append(buckets, bucket{b[0], b[1]})
		}
		bad = bad || len(row) > adwinBuckets
		n += len(row) << r
		a.rows = append(a.rows, buckets)
	}
	for _, c := range s.Classes {
		bad = bad || c == nil
	}
	if bad || n != w.N {
		return fmt.Errorf("these are no statistics of format %d", bodyFormat)
	}
	m.gauge.Lock()
	defer m.gauge.Unlock()
	m.right, m.nextRight, m.drift, m.drifts, m.history, m.every, m.held, m.heldAt, m.classes = s.Right, s.Next, a, s.Drift,
		s.History, s.Every, s.HeldOut, s.HeldAt, s.Classes
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
