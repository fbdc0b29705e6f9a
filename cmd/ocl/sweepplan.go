package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ocl/experiment"
	"ocl/internal/count"
	"ocl/study"
)

// plannedCell is what `ocl sweep --dry-run` prints about the jobs that differ in their seeds alone.
type plannedCell struct {
	Method          string   `json:"method"` // with its tricks
	Data            string   `json:"data"`
	Memory          int      `json:"memory"`
	Seeds           []uint64 `json:"seeds"`
	Folders         []string `json:"folders"`
	Timing          bool     `json:"timing"`
	Tuned           bool     `json:"tuned"` // before the run; steps and work are with the trials
	After           string   `json:"after"` // the job that tunes for these
	Steps           int      `json:"steps"` // of a job
	FLOPs           float64  `json:"flops"`
	MemoryBytes     int64    `json:"memory_bytes"`     // estimated peak of a job
	CheckpointBytes int64    `json:"checkpoint_bytes"` // of one; a job at work has two
	Seconds         float64  `json:"seconds"`          // estimated for a job on one core
	Done            int      `json:"done"`             // jobs that --out has the results of
	Taken           int      `json:"taken"`            // jobs whose results --results has

	job study.Job
}

// resultBytes is about what a finished job leaves: its result and, for each step, a line of events.jsonl. They were measured
// on runs of Split CIFAR-100.
const (
	resultBytes = 40_000
	eventBytes  = 110
)

// plan prints the jobs of a study with the time and the space that they take. A short trial of each method on each data set
// gives the speed; it writes nothing.
func (f *sweepFlags) plan(cmd *cobra.Command, jobs []study.Job, archive *experiment.Archive) error {
	store := study.OpenFolder(f.opts.Out, "")
	defer store.Close()
	var found *study.Reuse
	if archive != nil {
		found = study.Match(archive, store, jobs)
	}
	var cells []*plannedCell
	for n, j := range jobs {
		same := func(c *plannedCell) bool {
			return c.job.Experiment == j.Experiment && c.Method == j.Name && c.Timing == j.Timing && (c.job.After == "") == (j.After == "")
		}
		i := slices.IndexFunc(cells, same)
		if i < 0 {
			i = len(cells)
			cells = append(cells, &plannedCell{Method: j.Name, Data: j.Data, Memory: j.Memory, Timing: j.Timing, Tuned: j.Tuned, After: j.After, Steps: j.Steps, FLOPs: j.FLOPs,
				MemoryBytes: j.Plan.MemoryBytes, CheckpointBytes: j.Plan.CheckpointBytes, job: j})
		}
		c := cells[i]
		c.Seeds, c.Folders = append(c.Seeds, j.Seed), append(c.Folders, j.Folder)
		switch {
		case store.State(j.Entry).Phase == study.Done:
			c.Done++
		case found != nil && found.Matches(n):
			c.Taken++
		}
	}
	if err := f.time(cmd, cells); err != nil {
		return err
	}
	if f.json.given {
		return f.json.print(cmd.OutOrStdout(), cells)
	}
	if err := f.printPlan(cmd, jobs, cells); err != nil || found == nil {
		return err
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), strings.Join(f.taken(found, found.Match, "would be reused"), "\n"))
	return err
}

// time estimates the seconds of a job of each cell on one core, by trials.
func (f *sweepFlags) time(cmd *cobra.Command, cells []*plannedCell) error {
	clock := timer{workers: 1}
	for _, c := range cells {
		if c.Done+c.Taken == len(c.Seeds) {
			continue
		}
		speed, err := clock.speed(cmd.Context(), c.job.Experiment, c.job.Run.Method)
		if err != nil {
			return err
		}
		c.Seconds = c.FLOPs / speed
	}
	return stopped(cmd.Context())
}

func (f *sweepFlags) printPlan(cmd *cobra.Command, jobs []study.Job, cells []*plannedCell) error {
	w := cmd.OutOrStdout()
	t := table{head: []string{"method", "data", "memory", "runs", "steps", "RAM", "time each"}, right: []bool{false, false, true, true, true, true, true}}
	var costs []float64
	total, kept, disk, peak := 0.0, 0, int64(0), int64(0)
	for _, c := range cells {
		memory := "–"
		if c.Memory > 0 {
			memory = count.Number(c.Memory)
		}
		name := c.Method
		if c.Timing {
			name += " (timed)"
		}
		switch {
		case c.After != "":
			name += " (tuned by another)"
		case c.Tuned:
			name += " (with tuning)"
		}
		each := count.Duration(c.Seconds)
		left := len(c.Seeds) - c.Done - c.Taken
		if left == 0 {
			each = "done"
		}
		t.rows = append(t.rows, []string{name, c.Data, memory, count.Number(len(c.Seeds)), count.Number(c.Steps), count.Bytes(c.MemoryBytes), each})
		total += float64(left) * c.Seconds
		kept += c.Done
		disk += int64(left) * (resultBytes + int64(c.Steps)*eventBytes)
		if left > 0 {
			peak = max(peak, 2*c.CheckpointBytes)
		}
		if f.opts.KeepCheckpoint {
			disk += int64(left) * 2 * c.CheckpointBytes
		}
		for range left {
			if c.Timing {
				break // they run alone
			}
			costs = append(costs, c.FLOPs)
		}
	}
	if err := t.write(w); err != nil {
		return err
	}
	places := max(1, f.opts.Concurrency)
	if len(costs) > 0 {
		_, places = experiment.Share(runtime.GOMAXPROCS(0), costs, f.opts.Workers, f.opts.Concurrency)
	}
	have := ""
	if kept > 0 {
		have = fmt.Sprintf("%s has the results of %d of them. ", f.opts.Out, kept)
	}
	_, err := fmt.Fprintf(w, "\n%s. %sAbout %s on one core of this machine, and %s with %s at once.\nAbout %s of disk space, and up to %s more for each job at work. Nothing was written.\n",
		count.Of(len(jobs), "job"), have, count.Duration(total), count.Duration(total/float64(max(places, 1))), count.Of(places, "job"),
		count.Bytes(disk), count.Bytes(peak))
	return err
}
