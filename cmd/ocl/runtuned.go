package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"ocl/config"
	"ocl/experiment"
	"ocl/experiment/result"
	"ocl/tune"
)

// tuned says whether the flags, their file or the experiment to continue ask for tuning, and with which config. Faults of the config are
// left to who reads it without tuning.
func (f *runFlags) tuned() (cfg config.Config, is bool) {
	if f.resume != "" {
		cfg, _, _, err := experiment.Load(filepath.Join(f.resume, experiment.ConfigFile))
		return cfg, err == nil && cfg.Tune.Grid != ""
	}
	cfg, err := f.config.config(io.Discard)
	return cfg, err == nil && cfg.Tune.Grid != ""
}

// runTuned tunes each run of a config, and then makes it.
func (f *runFlags) runTuned(cmd *cobra.Command, cfg config.Config) error {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	if f.opts.Force {
		return usage(errors.New("--force cannot be used with --tune, as trials are kept for ever. Choose another --out, or delete the folder yourself"))
	}
	show := newProgress(stderr, f.quiet || f.dryRun)
	defer show.stop()
	o := tune.Options{Options: f.opts, Events: func(r tune.Running) experiment.Events { return show.named(r.Name, r.Total) }}
	o.Progress, o.ReadOnly = newOpening(stderr).work, f.dryRun
	o.Program, o.Revision, o.Command = program()
	if f.resume != "" {
		f.opts.Out, o.Out = f.resume, f.resume
		o.DataDir, _ = f.config.text("data.dir")
		o.Init, _ = f.config.text("network.init")
	}
	d, err := tune.OpenTuned(ctx, cfg, o)
	if err != nil {
		return unfit(err)
	}
	for _, note := range d.Tuner().Notes() {
		show.note(note)
	}
	if f.dryRun {
		return f.planTuned(cmd, cfg, d.Tuner())
	}
	if f.opts.Out == "" {
		if f.opts.Out, err = newFolder(cfg.Data.Name); err != nil {
			return err
		}
		d.Into(f.opts.Out)
	}
	if err := d.SetUp(); err != nil {
		return err
	}
	f.announce(stderr)
	results, err := until(ctx, show, func() ([]*result.Result, error) { return d.Run(ctx) })
	return errors.Join(f.finish(cmd, results, err), nothingChosen(d.Diverged()))
}

// planTuned prints the tunings and the runs that follow.
func (f *runFlags) planTuned(cmd *cobra.Command, cfg config.Config, t *tune.Tuner) error {
	of := tuneFlags{opts: tune.Options{Options: f.opts}, json: f.json}
	if f.json.given {
		return usage(errors.New("--dry-run --json cannot be used with --tune, because there are two lists. Use `ocl tune --dry-run --json all`, and `ocl run` without --tune"))
	}
	if err := of.plan(cmd.Context(), cmd.OutOrStdout(), t); err != nil {
		return err
	}
	fmt.Fprint(cmd.OutOrStdout(), "\nThen, with the chosen values:\n\n")
	cfg.Tune, cfg.Data, f.opts.Out = config.Tune{}, t.Experiment().Config().Data, ""
	x, err := t.Experiment().With(cfg, experiment.Options{Workers: f.opts.Workers})
	if err != nil {
		return unfit(err)
	}
	return f.planOf(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), x)
}
