package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/run/experiment"
	"ocl/run/plan"
	"ocl/sweep/study"
)

// plan prints the jobs of a study with the time and the space that they take.
func (f *sweepFlags) plan(cmd *cobra.Command, jobs []study.Job, archive *experiment.Archive) error {
	store := study.OpenFolder(f.opts.Out)
	var found *study.Reuse
	if archive != nil {
		found = study.Match(archive, store, jobs)
	}
	p := study.Plan(store, jobs, found)
	places, err := p.Places(f.opts.Workers, f.opts.Concurrency)
	if err != nil {
		return unfit(err)
	}
	fmt.Fprint(cmd.ErrOrStderr(), plan.Busy())
	if err := p.Estimate(cmd.Context(), 1); err != nil {
		return err
	}
	if err := f.json.printOr(cmd.OutOrStdout(), p.Runs, escape.Lines(f.planText(p, places))); err != nil ||
		found == nil || f.json.given {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), escape.Lines(strings.Join(f.taken(found, found.Match, "would be reused"),
		"\n")))
	return err
}

// planText is the plan of a study, of which so many jobs are at work at once.
func (f *sweepFlags) planText(p *plan.Plan, places int) string {
	t, have := p.Total(), ""
	if t.Done > 0 {
		have = fmt.Sprintf("%s has the results of %d of them. ", f.opts.Out, t.Done)
	}
	if f.opts.KeepCheckpoint {
		t.DiskBytes += t.CheckpointBytes
	}
	return fmt.Sprintf("%s\n%s. %sAbout %s on one core of this machine, and %s with %s at once.\n"+
		"About %s of disk space, and up to %s more for each job at work. Nothing was written.\n",
		planTable(p.Runs), count.Of(t.Runs, "job"), have, count.Duration(t.Seconds),
		count.Duration(t.Seconds/float64(places)), count.Of(places, "job"), count.Bytes(t.DiskBytes), count.Bytes(t.WorkBytes))
}
