package cli

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/sweep/study"
)

// resultBytes is about what a finished job leaves: its result and, for each step, a line of events.jsonl. They were
// measured on runs of Split CIFAR-100.
const (
	resultBytes = 40_000
	eventBytes  = 110
)

// plan prints the jobs of a study with the time and the space that they take. A short trial of each method on each data
// set gives the speed; it writes nothing.
func (f *sweepFlags) plan(cmd *cobra.Command, jobs []study.Job, archive *experiment.Archive) error {
	store := study.OpenFolder(f.opts.Out)
	var found *study.Reuse
	if archive != nil {
		found = study.Match(archive, store, jobs)
	}
	cells, costs, plans := plannedJobs(store, jobs, found)
	_, places, err := experiment.ShareMemory(runtime.GOMAXPROCS(0), costs, plans, f.opts.Workers, f.opts.Concurrency)
	if err != nil {
		return unfit(err)
	}
	noteBusy(cmd.ErrOrStderr())
	if err := estimate(cmd.Context(), cells, 1); err != nil {
		return err
	}
	if err := f.json.printOr(cmd.OutOrStdout(), cells, escape.Lines(f.planText(len(jobs), places, cells))); err != nil ||
		found == nil || f.json.given {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), escape.Lines(strings.Join(f.taken(found, found.Match, "would be reused"),
		"\n")))
	return err
}

// plannedJobs are the jobs of a study with what is left of each, and work and plans of those that are not timed: the
// others run alone. found has the results that are reused; nil is none.
func plannedJobs(store study.Store, jobs []study.Job, found *study.Reuse) (cells []*planned, costs []float64,
	plans []experiment.Plan) {
	for n, j := range jobs {
		one := planned{Method: j.Name, Data: j.Data, Memory: j.Memory, Seeds: []uint64{j.Seed}, Folders: []string{j.Folder},
			Timing: j.Timing, Tuned: j.Tuned, After: j.After,
			Steps: j.Steps, TestSamples: j.Plan.TestSamples, FLOPs: j.FLOPs, MemoryBytes: j.Plan.MemoryBytes,
			CheckpointBytes: j.Plan.CheckpointBytes,
			Experts:         j.Plan.Experts, x: j.Experiment, run: j.Run}
		switch {
		case store.State(j.Entry).Phase == progress.Done:
			one.Done = 1
		case found != nil && found.Matches(n):
			one.Taken = 1
		default:
			one.left = j.FLOPs
		}
		cells = withPlanned(cells, one)
		if !j.Timing {
			costs, plans = append(costs, one.left), append(plans, j.Plan)
		}
	}
	return cells, costs, plans
}

// planText is the plan of a study, of which so many jobs are at work at once.
func (f *sweepFlags) planText(jobs, places int, cells []*planned) string {
	total, kept, disk, peak := 0.0, 0, int64(0), int64(0)
	for _, c := range cells {
		left := c.open()
		total += float64(left) * c.Seconds
		kept += c.Done
		disk += int64(left) * (resultBytes + int64(c.Steps)*eventBytes)
		if left > 0 {
			peak = max(peak, 2*c.CheckpointBytes)
		}
		if f.opts.KeepCheckpoint {
			disk += int64(left) * 2 * c.CheckpointBytes
		}
	}
	have := ""
	if kept > 0 {
		have = fmt.Sprintf("%s has the results of %d of them. ", f.opts.Out, kept)
	}
	return fmt.Sprintf("%s\n%s. %sAbout %s on one core of this machine, and %s with %s at once.\nAbout %s of disk space, and up to %s more for each job at work. Nothing was written.\n",
		planTable(cells), count.Of(jobs, "job"), have, count.Duration(total), count.Duration(total/float64(places)),
		count.Of(places, "job"),
		count.Bytes(disk), count.Bytes(peak))
}
