package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ocl/config"
	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/run/experiment"
	"ocl/run/plan"
	"ocl/run/result"
	"ocl/run/tune"
)

// tuneFlags are the flags of `ocl tune` besides those of the config.
type tuneFlags struct {
	config *configFlags
	opts   tune.Options
	dryRun bool
	quiet  bool
	json   jsonFlag

	results string // folder of results that are reused
}

// groupTuning is the group of flags that say what is tried.
const groupTuning = "Tuning"

func newTune() *cobra.Command {
	var f tuneFlags
	cmd := &cobra.Command{
		Use:   "tune",
		Short: "Choose hyperparameters: try the points of a grid on the first two tasks of a stream.",
		Example: `  ocl tune --method er --memory 1000
  ocl tune --data cifar100 --data-dir DIR --tasks 20 --method mir --memory 5000 --out runs/tune-mir
  ocl tune --method er,gdumb --grid authors --repeats 1 --dry-run
  ocl tune --method er --search halving`,
		Long: "Every point of the grid learns the first two tasks of the stream. Its score is its mean accuracy on their test sets, or the metric of --by. The point " +
			"with the best score is chosen, and of equal ones the first. Each method, each trick and each seed is tuned by itself. The same command with " +
			"the same --out continues after Ctrl-C, and makes no trial twice.",
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.config = addConfig(cmd, true, func(k config.Key) bool { return !slices.Contains(decidedByTuning, k.Name) })
	f.config.several = func(key, values string) string {
		return fmt.Sprintf("Write `%s: [%s]` in a file, and give it with --grid FILE", key,
			strings.ReplaceAll(values, ",", ", "))
	}
	flags := cmd.Flags()
	f.config.addOwn(cmd, "tune.grid", "grid", "GRID")
	grid := flags.Lookup("grid")
	grid.Usage, grid.DefValue = "what is tried: paper (the survey's table), authors (its authors' files), or a YAML file of keys and values",
		tune.Paper
	f.config.addOwn(cmd, "tune.by", "by", "METRIC")
	f.config.addOwn(cmd, "tune.search", "search", "NAME")
	f.config.addOwn(cmd, "tune.points", "points", "N")
	f.config.addOwn(cmd, "tune.repeats", "repeats", "N")
	flags.StringVarP(&f.opts.Out, "out", "o", "",
		"DIR\tfolder of the records and the trials (default runs/tune-<data>-<UTC time>)")
	flags.StringVar(&f.results, "results", "",
		"DIR\tfolder with results, such as the --out of another tuning; those of trials are copied and not computed again (default: none)")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the points, the steps and the estimated time, but run nothing")
	addWorkers(flags, &f.opts.Workers, "goroutines of each trial; results do not depend on it (default: chosen)")
	addConcurrency(flags, &f.opts.Concurrency, "trials at the same time")
	addCheckpointEvery(flags, &f.opts.CheckpointEvery)
	addQuiet(flags, &f.quiet)
	addJSON(cmd, &f.json, tune.Record{}, tune.Preview{})
	return cmd
}

// decidedByTuning are the keys that a tuning sets itself.
var decidedByTuning = []string{"protocol", "tune.grid", "tune.seed"}

func (f *tuneFlags) run(cmd *cobra.Command) error {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	f.config.settle = func(c *config.Config) { // a file may be that of a run with tuning
		c.Tune, c.Protocol = config.Tune{Grid: tune.Paper}, config.ProtocolSurvey
	}
	cfg, err := f.config.config(stderr)
	if err != nil {
		return err
	}
	spec, err := tune.SpecOf(cfg.Tune)
	if err != nil {
		return unfit(err)
	}
	for _, k := range config.Keys() {
		if _, given := f.config.text(k.Name); given && k.Measured && spec.By == "" {
			return usage(fmt.Errorf("%s: %s is given, but a point is scored by its average accuracy at the end. Add --by METRIC, or remove it",
				pathOf(cmd), k.Name))
		}
	}
	cfg.Tune, cfg.Protocol = config.Tune{}, config.ProtocolTuning
	f.opts.Program, f.opts.Revision, f.opts.Command = program()
	f.opts.Progress, f.opts.ReadOnly = newOpening(stderr, f.quiet).work, f.dryRun
	show := newRunsView(stderr, f.quiet || f.dryRun)
	defer show.stop()
	f.opts.Events = func(r tune.Running) experiment.Events { return show.named(r.Name, r.Total) }
	if f.results != "" {
		if f.opts.Archive, err = experiment.OpenArchive(ctx, f.results); err != nil {
			return err
		}
	}
	t, err := tune.Open(ctx, cfg, spec, f.opts)
	if err != nil {
		return unfit(err)
	}
	show.note(t.Notes()...)
	if f.dryRun {
		return f.plan(ctx, cmd.OutOrStdout(), stderr, t)
	}
	if f.opts.Out == "" {
		if f.opts.Out, err = newFolder("tune-" + cfg.Data.Name); err != nil {
			return err
		}
		t.Into(f.opts.Out)
	}
	if !f.quiet {
		fmt.Fprintf(stderr, "writing to %s. Ctrl-C stops, and the same command with --out %s continues\n",
			escape.Line(f.opts.Out), escape.Word(f.opts.Out))
	}
	records, err := until(ctx, show.screen, stopping, func() ([]*tune.Record, error) { return t.Run(ctx) })
	if err != nil {
		return err
	}
	show.note(t.Luck()...)
	if f.json.given {
		err = f.json.print(cmd.OutOrStdout(), records)
	} else {
		err = f.print(cmd.OutOrStdout(), records, t.Previews())
	}
	return errors.Join(err, noChoice(records))
}

// noChoice is an error where all points of a tuning diverged: exit code 3.
func noChoice(records []*tune.Record) error {
	var names []string
	for _, r := range records {
		if r.Chosen == nil {
			names = append(names, tunedName(r))
		}
	}
	return nothingChosen(names)
}

// nothingChosen is an error about runs whose points all diverged; no names are no error.
func nothingChosen(names []string) error {
	if len(names) == 0 {
		return nil
	}
	return coded{fmt.Errorf("all points of %s diverged, so nothing is chosen. Use a grid with smaller learning rates",
		count.Some(names)), exitDiverged}
}

// tunedName names the run that a record is about.
func tunedName(r *tune.Record) string {
	name := r.Config.Methods[0]
	if trick := r.Config.Tricks[0]; trick != config.NoTrick {
		name += "+" + trick
	}
	return fmt.Sprintf("%s s%d", name, r.Config.Seed)
}

// print prints a table of the points of each record, the best first, and the command that uses the choice.
func (f *tuneFlags) print(w io.Writer, records []*tune.Record, plans []tune.Preview) error {
	for i, r := range records {
		if i > 0 {
			fmt.Fprintln(w)
		}
		saved := ""
		if r.Search.Name != config.SearchGrid && r.GridSteps > 0 {
			saved = fmt.Sprintf(" instead of %s for the whole grid", count.Number(r.GridSteps))
		}
		fmt.Fprintf(w, "%s: %s, %s each, %s%s\n\n", tunedName(r), count.Of(len(r.Points), "point"),
			count.Of(r.Repeats, "trial"), count.Of(r.Steps, "step"), saved)
		if err := pointTable(r).write(w); err != nil {
			return err
		}
		fmt.Fprintf(w, "\nrecord: %s\n", escape.Line(filepath.Join(f.opts.Out, plans[i].Folder, tune.RecordFile)))
		if r.Chosen != nil {
			fmt.Fprintf(w, "to use it: %s\n", escape.Line(f.commandFor(r)))
		}
	}
	return nil
}

// pointTable lists the points of a record: first those that were tried to the end, then those that were stopped, then
// those that diverged.
func pointTable(r *tune.Record) table {
	by := cmp.Or(r.By, "accuracy")
	lower := slices.ContainsFunc(result.AllMetrics(), func(m result.Metric) bool { return m.Key == r.By && m.Lower })
	t := table{head: []string{">" + by}}
	for _, a := range r.Grid.Axes {
		t.head = append(t.head, ">"+tune.ShortKey(a.Key))
	}
	t.head = append(t.head, "outcome")
	order := make([]int, len(r.Points))
	for i := range order {
		order[i] = i
	}
	rank := map[string]int{result.Finished: 0, tune.Stopped: 1, result.Diverged: 2}
	slices.SortStableFunc(order, func(a, b int) int {
		p, q := r.Points[a], r.Points[b]
		if c := cmp.Or(cmp.Compare(rank[p.Outcome], rank[q.Outcome]), cmp.Compare(len(q.Trials), len(p.Trials))); c != 0 ||
			p.Score == nil || q.Score == nil {
			return c
		}
		if lower {
			p, q = q, p
		}
		return cmp.Compare(*q.Score, *p.Score)
	})
	for _, i := range order {
		p := r.Points[i]
		row := []string{"–"}
		if p.Score != nil {
			row[0] = fmt.Sprintf("%.1f %%", 100**p.Score)
		}
		row = append(row, p.Values...)
		outcome := p.Outcome
		switch {
		case r.Chosen != nil && i == *r.Chosen:
			outcome = "chosen"
		case p.Outcome == result.Finished:
			outcome = ""
		case p.Outcome == tune.Stopped:
			outcome = fmt.Sprintf("stopped at %g of the images", p.Trials[len(p.Trials)-1].Share)
		}
		t.rows = append(t.rows, append(row, outcome))
	}
	return t
}

// commandFor is the command line of the run that uses a choice: what was given of the config, and the chosen values.
func (f *tuneFlags) commandFor(r *tune.Record) string {
	words := []string{"ocl", "run"}
	chosen := map[string]string{}
	for _, s := range r.Best() {
		chosen[s.Key] = s.Value
	}
	chosen["methods"], chosen["tricks"] = r.Config.Methods[0], r.Config.Tricks[0]
	if _, given := f.config.text("runs"); given {
		chosen["seed"], chosen["runs"] = strconv.FormatUint(r.Config.Seed, 10), "1"
	}
	if f.config.file != "" {
		words = append(words, "--config", escape.Word(f.config.file))
	}
	add := func(key, value string) { words = append(words, config.Argument(key, escape.Word(value))) }
	for _, key := range f.config.names() {
		if value, given := f.config.text(key); given && chosen[key] == "" && !strings.HasPrefix(key, "tune.") {
			add(key, value)
		}
	}
	add("protocol", config.ProtocolSurvey)
	for _, key := range experiment.Schema().Names() { // in the order of the help, and then the options of the method
		if value := chosen[key]; value != "" && (key != "tricks" || value != config.NoTrick) {
			add(key, value)
		}
	}
	return strings.Join(words, " ")
}

// plan prints what `ocl tune` would do. The time is that of a short trial of each method, which writes nothing.
func (f *tuneFlags) plan(ctx context.Context, w, notes io.Writer, t *tune.Tuner) error {
	fmt.Fprint(notes, plan.Busy())
	list, places, err := t.Estimate(ctx)
	if err != nil {
		return err
	}
	if f.json.given {
		return f.json.print(w, list)
	}
	total := 0.0
	for len(list) > 0 { // runs of other seeds mostly have the same points, which stand there once
		var others []tune.Preview
		for _, one := range list {
			if !slices.Equal(one.Keys, list[0].Keys) || !slices.EqualFunc(one.Points, list[0].Points, slices.Equal) {
				others = append(others, one)
				continue
			}
			total += one.Seconds
			state := ""
			switch {
			case one.Kept:
				state = "; all of it was done before, and its record is kept"
			case one.Ended > 0:
				state = fmt.Sprintf("; %s of them done before", count.Of(one.Ended, "trial"))
			}
			fmt.Fprintf(w, "%s: %s, %s, %s%s\n", one.Folder, count.Of(len(one.Points), "point"), count.Of(one.Trials, "trial"),
				count.Of(one.Steps, "step"), state)
		}
		fmt.Fprintln(w)
		points := table{rows: list[0].Points}
		for _, k := range list[0].Keys {
			points.head = append(points.head, ">"+tune.ShortKey(k))
		}
		if err := points.write(w); err != nil {
			return err
		}
		fmt.Fprintln(w)
		list = others
	}
	_, err = fmt.Fprintf(w, "About %s, %s at the same time, on this machine. Nothing was written.\n",
		count.Duration(total), count.Of(places, "trial"))
	return err
}
