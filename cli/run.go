package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ocl/config"
	"ocl/data"
	"ocl/internal/atomicfile"
	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/run/experiment"
	"ocl/run/plan"
	"ocl/run/result"
	"ocl/run/tune"
	"ocl/view/known"
	"ocl/view/report"
)

// runFlags are the flags of `ocl run` on which no number depends.
type runFlags struct {
	config *configFlags
	opts   experiment.Options
	resume string
	dryRun bool
	quiet  bool
	json   jsonFlag

	noReport bool
	old      *oldClasses // what the run is held to, of `ocl learn`; nil where nothing is
	sets     []*data.Set // that are open
	images   *data.Set   // of which embeddings are made; nil without a pretrained network
}

func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run an experiment: train methods on a stream of tasks, and measure what they learn and forget.",
		Example: `  ocl run
  ocl run --method er --memory 1000 --runs 3 --out runs/er1k
  ocl run --data cifar100 --data-dir DIR --tasks 20 --memory 5000 --protocol survey
  ocl run --config exp.yaml optimizer.name=adam --lr 0.001 --dry-run
  ocl run --resume runs/er1k`,
		Long: "Without flags, the methods Finetune and ER learn the built-in data set glyphs in 10 tasks, which takes under two " +
			"minutes on two cores. Ctrl-C stops the experiment and writes the results so far; --resume continues it.",
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.opts.NewClasses = true // a config with a parent is that of an `ocl learn`
	f.config = addConfig(cmd, true, nil)
	f.addOutput(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.resume, "resume", "",
		"DIR\tcontinue the experiment or the run in this folder; add --data-dir, --backbone or network.init=FILE if the data, the pretrained network or the first weights have moved")
	addConcurrency(flags, &f.opts.Concurrency, "runs at the same time")
	return cmd
}

// addOutput defines the flags on which no number depends.
func (f *runFlags) addOutput(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.opts.Out, "out", "o", "",
		"DIR\tfolder of the experiment: configs, results, report and checkpoints (default runs/<data>-<UTC time>)")
	flags.BoolVar(&f.opts.Force, "force", false,
		"delete the experiment in --out and start again; other files in the folder are kept")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the steps, the estimated time and the memory, but run nothing")
	addWorkers(flags, &f.opts.Workers, "goroutines of each run; results do not depend on it (default: chosen)")
	addCheckpointEvery(flags, &f.opts.CheckpointEvery)
	flags.BoolVar(&f.opts.KeepCheckpoint, "keep-checkpoint", true, "keep the last checkpoint of a finished run")
	flags.BoolVar(&f.noReport, "no-report", false, "do not write a report; `ocl report` writes one later")
	addQuiet(flags, &f.quiet)
	addJSON(cmd, &f.json, ran{}, plan.Runs{})
}

func (f *runFlags) run(cmd *cobra.Command) error {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	if err := f.check(cmd); err != nil {
		return err
	}
	if cfg, is := f.tuned(); is {
		return f.runTuned(cmd, cfg)
	}
	if f.dryRun {
		cfg, err := f.config.config(stderr)
		if err != nil {
			return err
		}
		return f.plan(ctx, cmd.OutOrStdout(), stderr, cfg)
	}
	f.opts.Program, f.opts.Revision, f.opts.Command = program()
	show := newRunsView(stderr, f.quiet)
	defer show.stop()
	f.opts.Events = show.job
	x, err := f.open(ctx, stderr)
	if err == nil {
		err = x.SetUp()
	}
	if err != nil {
		return unfit(err)
	}
	f.announce(stderr)
	show.note(x.Notes()...)
	f.sets = []*data.Set{x.Data()}
	if !f.quiet {
		show.note(worstOf(ctx, x.Config().Data.Dir, f.images, x.Data())...)
	}
	results, err := until(ctx, show.screen, stopping, func() ([]*result.Result, error) { return x.Run(ctx) })
	return f.finish(cmd, results, err)
}

// stopping is said of runs that a signal stops.
const stopping = "stopping after this step; press Ctrl-C again to quit at once"

// until does work that ctx may stop, says note then, and takes the progress away.
func until[R any](ctx context.Context, show *screen, note string, work func() (R, error)) (R, error) {
	stopped := context.AfterFunc(ctx, func() { show.note(note) })
	done, err := work()
	stopped()
	show.stop()
	return done, err
}

// program returns the facts about this program that results have: its version, the revision of its source, and the
// command line.
func program() (version, revision string, command []string) {
	v := readVersion()
	return v.Version, v.source(), append([]string{"ocl"}, os.Args[1:]...)
}

// open opens the experiment that the flags describe, or the one to continue.
func (f *runFlags) open(ctx context.Context, stderr io.Writer) (*experiment.Experiment, error) {
	show := newOpening(stderr, f.quiet)
	f.opts.Progress, f.opts.Embedding = show.work, show.embedding
	f.opts.Images = func(s *data.Set) error { f.images = s; return nil }
	if f.resume != "" {
		if _, err := os.Stat(f.resume); err != nil { // checked before announce, which says that the run continues there
			return nil, fmt.Errorf("--resume: %s: %w. Give the folder of an experiment or of one of its runs", f.resume,
				cause.Of(err))
		}
		f.resumed(&f.opts)
		return experiment.OpenResumed(ctx, f.resume, f.opts)
	}
	cfg, err := f.config.config(stderr)
	if err != nil {
		return nil, err
	}
	x, err := experiment.Open(ctx, cfg, f.opts)
	if err == nil {
		err = f.keepsNetwork(x)
	}
	if err != nil || f.opts.Out != "" {
		return x, err
	}
	// A folder is made only for an experiment that can start.
	if f.opts.Out, err = newFolder(cfg.Data.Name); err != nil {
		return nil, err
	}
	return x.With(cfg, f.opts)
}

// resumed sets the folder to continue, and where what the experiment takes lies now.
func (f *runFlags) resumed(o *experiment.Options) {
	o.Out = f.resume
	o.DataDir, _ = f.config.text("data.dir")
	o.Backbone, _ = f.config.text("data.backbone")
	o.Init, _ = f.config.text("network.init")
}

// keepsNetwork is an error where somebody has named a network for images, and the data are embeddings, for which the
// experiment takes another one.
func (f *runFlags) keepsNetwork(x *experiment.Experiment) error {
	name, named := f.config.text("network.name")
	if c := x.Config(); named && c.Network.Name != name {
		return usage(fmt.Errorf("--network %s takes images, and %s has embeddings. Use linear or mlp, or leave out --network",
			name, c.Data.Name))
	}
	return nil
}

// newFolder makes a new folder in runs, called by a name and the time or, if that exists, with -2, -3, … behind it.
func newFolder(name string) (string, error) {
	const parent = "runs"
	name += "-" + time.Now().UTC().Format("20060102-150405")
	err := atomicfile.MakeFolder(parent)
	for n := 1; err == nil; n++ {
		path := filepath.Join(parent, name)
		if n > 1 {
			path += fmt.Sprintf("-%d", n)
		}
		made := os.Mkdir(path, 0o755)
		if made == nil {
			return path, atomicfile.SyncFolder(parent)
		}
		if !errors.Is(made, fs.ErrExist) {
			err = made
		}
	}
	return "", fmt.Errorf("%w. Use --out to choose a folder that can be written", err)
}

// check refuses flags that contradict each other.
func (f *runFlags) check(cmd *cobra.Command) error {
	var faults []error
	fault := func(format string, a ...any) { faults = append(faults, fmt.Errorf(format, a...)) }
	if f.resume != "" {
		if given := f.config.fixed(); len(given) > 0 {
			file := filepath.Join(f.resume, experiment.ConfigFile)
			if _, err := os.Stat(file); err != nil {
				file = filepath.Join(f.resume, experiment.RunConfigFile)
			}
			fault("--resume cannot be used with %s, because a resumed experiment keeps its config. Remove what is given of it, "+
				"or start a new experiment with `ocl run --config %s`", strings.Join(given, ", "), file)
		}
		for _, name := range []string{"out", "force", "dry-run"} {
			if cmd.Flags().Changed(name) {
				fault("--resume cannot be used with --%s, because it continues the experiment in its own folder. Remove --%s", name,
					name)
			}
		}
	}
	return usage(errors.Join(faults...))
}

// announce prints the folder of the experiment before the work begins.
func (f *runFlags) announce(w io.Writer) {
	if f.quiet {
		return
	}
	verb := "writing to"
	if f.resume != "" {
		verb = "continuing in"
	}
	fmt.Fprintf(w, "%s %s. Ctrl-C stops, and `ocl run --resume %s` continues\n", verb, escape.Line(f.opts.Out),
		escape.Word(f.opts.Out))
}

// ran is a run as --json prints it.
type ran struct {
	*result.Result
	OldClasses *oldMeasured `json:"old_classes,omitempty"` // of a run with a parent that has ended
}

// finish prints the results and writes the report, and says what old classes lose of a run that continues another one.
// Its error is err, with those of all these and of runs that diverged.
func (f *runFlags) finish(cmd *cobra.Command, results []*result.Result, err error) error {
	var old *oldClasses
	if err == nil && divergence(results) == nil && len(results) == 1 && results[0].Config.Parent.Run != "" {
		if old = f.old; old == nil { // the run was resumed, or is repeated
			old = &oldClasses{run: results[0].Config.Parent.Run, older: true, accepted: 100}
		}
		old.backbone, _ = f.config.text("data.backbone")
		old.out, old.quiet = f.opts.Out, f.quiet
		old.measure(cmd)
	}
	switch {
	case f.json.given && (len(results) > 0 || err == nil):
		all := make([]ran, len(results))
		for i, r := range results {
			all[i].Result = r
			if old != nil {
				all[i].OldClasses = &old.oldMeasured
			}
		}
		err = errors.Join(err, f.json.print(cmd.OutOrStdout(), all))
	case len(results) > 0:
		err = errors.Join(err, printResults(cmd, results, f.folder()))
	}
	if len(results) > 0 && !f.noReport {
		err = errors.Join(err, reportOn(cmd, f.folder(), f.json.given, f.quiet, f.sets...))
	}
	if err == nil {
		err = divergence(results)
	}
	if err == nil && old != nil {
		err = old.say(cmd, f.json.given)
	}
	return err
}

// folder is the folder of the experiment, also where one of its runs is continued.
func (f *runFlags) folder() string {
	if _, fault := os.Stat(filepath.Join(f.opts.Out, experiment.ConfigFile)); fault != nil {
		return filepath.Dir(filepath.Clean(f.opts.Out))
	}
	return f.opts.Out
}

// printResults prints the table of results, which are of the experiment in a folder; "" is none.
func printResults(cmd *cobra.Command, results []*result.Result, folder string) error {
	w := cmd.OutOrStdout()
	o := report.Options{Known: known.Methods(), Tricks: known.Tricks(), Catalogue: experiment.Schema(), Experiment: folder}
	return report.Table(w, results, o, terminalWidth(w))
}

// reportOn writes the report of a folder into it, and says where; on standard error if the output is JSON. Its images
// may be of data that are open.
func reportOn(cmd *cobra.Command, folder string, asJSON, quiet bool, open ...*data.Set) error {
	written, err := leaveReport(cmd, folder, folder, quiet, open...)
	if written == nil {
		return err
	}
	w := cmd.OutOrStdout()
	if asJSON {
		w = cmd.ErrOrStderr()
	}
	_, printed := fmt.Fprintf(w, "\nreport: %s\n", escape.Line(written.Page))
	return errors.Join(err, printed)
}

// leaveReport writes the report of a folder, also after a signal: what stopped the runs does not stop their report. It
// opens no data then.
func leaveReport(cmd *cobra.Command, folder, out string, quiet bool, open ...*data.Set) (*report.Written, error) {
	ctx := cmd.Context()
	images := &examples{stderr: cmd.ErrOrStderr(), quiet: quiet, sets: open}
	if ctx.Err() != nil {
		ctx, images.closed = context.WithoutCancel(ctx), true
	}
	return report.Write(ctx, []string{folder}, out,
		report.Options{Known: known.Methods(), Tricks: known.Tricks(), Catalogue: experiment.Schema(), Examples: images.of,
			Mistaken: images.mistaken})
}

// divergence is an error where runs diverged: exit code 3.
func divergence(results []*result.Result) error {
	var runs []string
	for _, r := range results {
		if r.Outcome.State == result.Diverged {
			runs = append(runs, fmt.Sprintf("%s seed %d", strings.Join(append([]string{r.Method.Name}, r.Method.Tricks...), "+"),
				r.Config.Seed))
		}
	}
	if len(runs) == 0 {
		return nil
	}
	return coded{fmt.Errorf("%s of %d diverged: %s. Use a smaller --lr",
		count.Of(len(runs), "run"), len(results), count.Some(runs)), exitDiverged}
}

// tuned says whether the flags, their file or the experiment to continue ask for tuning, and with which config. Faults
// of the config are left to who reads it without tuning.
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
		return usage(errors.New("--force cannot be used with --tune, because ocl never deletes trials. Choose another --out, or delete the folder yourself"))
	}
	show := newRunsView(stderr, f.quiet || f.dryRun)
	defer show.stop()
	o := tune.Options{Options: f.opts, Events: func(r tune.Running) experiment.Events {
		return show.named(r.Name,
			r.Total)
	}}
	o.Progress, o.ReadOnly = newOpening(stderr, f.quiet).work, f.dryRun
	o.Program, o.Revision, o.Command = program()
	if f.resume != "" {
		f.resumed(&o.Options)
		f.opts.Out = f.resume
	}
	d, err := tune.OpenTuned(ctx, cfg, o)
	if err != nil {
		return unfit(err)
	}
	show.note(d.Tuner().Notes()...)
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
	results, err := until(ctx, show.screen, stopping, func() ([]*result.Result, error) { return d.Run(ctx) })
	show.note(d.Tuner().Luck()...)
	return errors.Join(f.finish(cmd, results, err), nothingChosen(d.Diverged()))
}

// planTuned prints the tunings and the runs that follow.
func (f *runFlags) planTuned(cmd *cobra.Command, cfg config.Config, t *tune.Tuner) error {
	of := tuneFlags{opts: tune.Options{Options: f.opts}, json: f.json}
	if f.json.given {
		return usage(errors.New("--dry-run --json cannot be used with --tune, because there are two lists. Use `ocl tune --dry-run --json all`, and `ocl run` without --tune"))
	}
	if err := of.plan(cmd.Context(), cmd.OutOrStdout(), io.Discard, t); err != nil {
		return err
	}
	fmt.Fprint(cmd.OutOrStdout(), "\nThen, with the chosen values:\n\n")
	cfg.Tune, cfg.Data, f.opts.Out = config.Tune{}, t.Experiment().Config().Data, ""
	x, err := t.Experiment().With(cfg, experiment.Options{Workers: f.opts.Workers})
	if err != nil {
		return unfit(err)
	}
	return f.planOf(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), x, 0) // the plan of the tuning has them
}
