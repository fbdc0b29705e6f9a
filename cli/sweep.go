package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ocl/data"
	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/internal/nearest"
	"ocl/interop/runs"
	"ocl/run/experiment"
	"ocl/run/identity"
	"ocl/run/plan"
	"ocl/sweep/study"
)

// sweepFlags are the flags of `ocl sweep` and `ocl sweep join`. No number depends on them.
type sweepFlags struct {
	opts     experiment.Options
	maxTime  time.Duration
	yes      bool
	dryRun   bool
	quiet    bool
	json     jsonFlag
	noReport bool
	results  string // folder of results that are reused
	part     string // of the study, such as 3/64; "" is all of it
	shard    study.Shard
	job      string // the engine for which a job file is printed
	shards   int    // of the job file; 0 is chosen
	hosts    []string
	status   string // address of the page of the study; "" is none
	listen   string // address at which the study is served; "" is none
	nats     string // servers by which it is served; "" is none
	share    bool   // data are lent to workers that do not have them
	attend   bool   // it is served only: others do the jobs
	notes    *notes // of the store, while it is served; nil has none
}

func newSweep() *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep STUDY",
		Short: "Do all runs of a study: methods, tricks, memories, data sets and seeds in one file.",
		Example: `  ocl sweep survey/studies/quick.yaml
  ocl sweep study.yaml --dry-run --data-dir DIR
  ocl sweep study.yaml --out runs/study --data-dir DIR
  ocl sweep study.yaml --shard 3/64
  ocl sweep study.yaml --job slurm
  ocl sweep study.yaml --listen :4222 --concurrency 0
  ocl sweep status runs/study`,
		Long: "STUDY is a study file, whose keys may have lists of values, or a config of `ocl run`. Each run is a job with a folder in --out. " +
			"All jobs of a seed come before those of the next. " +
			"After Ctrl-C or SIGTERM, the jobs at work save their state, and the same command continues the study. " +
			"`ocl sweep join DIR` does jobs of the same study at the same time, here or on another machine.",
		Args: func(cmd *cobra.Command, args []string) error {
			if err := exactly("STUDY")(cmd, args); err != nil {
				return err
			}
			_, err := os.Stat(args[0])
			if near := nearest.Word(args[0], commandNames(cmd)); err != nil && near != "" &&
				!strings.ContainsAny(args[0], "./") {
				return usage(fmt.Errorf("sweep: there is no file %q. Did you mean `ocl sweep %s`?", args[0], near))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.sweep(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.opts.Out, "out", "o", "", "DIR\tfolder of the study (default: runs/ and the name of the file)")
	f.addWorker(cmd)
	flags.StringVar(&f.part, "shard", "",
		"I/N\tdo one of N parts of the study, such as 3/64; the others may be done anywhere (default: all of it)")
	flags.StringVar(&f.job, "job", "",
		"ENGINE\tprint a job file that does the study in shards, and do nothing else: slurm, kubernetes or skypilot")
	flags.IntVar(&f.shards, "shards", 0,
		"N\twith --job: the number of shards (default: one for every four jobs, at most 1,000, which is the limit with slurm)")
	flags.StringSliceVar(&f.hosts, "hosts", nil,
		"A,B\tprint ssh commands that do a shard on each of these hosts, and do nothing else")
	flags.StringVar(&f.listen, "listen", "",
		"ADDRESS\tserve the study at this address to machines that share nothing, such as :4222; they join by the file DIR/join")
	flags.StringVar(&f.nats, "nats", "",
		"URL\tserve the study by NATS servers that run already, such as nats://host:4222; OCL_NATS_CREDS, or OCL_NATS_USER and OCL_NATS_PASSWORD, have the credentials")
	flags.BoolVar(&f.share, "share-data", false,
		"with --listen or --nats, lend the data to workers that do not have them; each needs memory for all of the images")
	flags.StringVar(&f.status, "status", "",
		"ADDRESS\tshow how far the study is in browsers of this machine at this port, such as :8080, or at an address and port (default: nowhere)")
	flags.BoolVar(&f.dryRun, "dry-run", false,
		"print the jobs, the estimated time, memory and disk space, but run nothing")
	flags.StringVar(&f.results, "results", "",
		"DIR\tfolder with results; those of runs of the study are copied and not computed again (default: none)")
	flags.BoolVar(&f.yes, "yes", false, "allow more than 10,000 runs")
	flags.BoolVar(&f.noReport, "no-report", false, "do not write a report when all is done; `ocl report` writes one later")
	addJSON(cmd, &f.json, studyStatus{}, plan.Runs{})
	cmd.AddCommand(newSweepJoin(), newSweepStatus(), newSweepRetry(), newSweepCancel())
	return cmd
}

func newSweepJoin() *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use:   "join DIR|FILE",
		Short: "Join a study as a worker: do its jobs until none is left to take.",
		Example: `  ocl sweep join runs/study
  ocl sweep join /shared/study --max-time 3h45m --data-dir DIR
  ocl sweep join join-file --data-dir DIR`,
		Long: "DIR is the folder of a study that `ocl sweep` has made. Any number of workers can do its jobs, on one machine or on many that share the folder. " +
			"A worker ends when every job is done or has another worker. Ctrl-C, SIGTERM and the end of --max-time save the jobs at work and give them back.\n\n" +
			"FILE is a copy of the join file that `ocl sweep --listen` writes. Such a worker shares nothing with the machine that serves the study, and ends when all jobs are done. " +
			"Jobs whose data this machine does not have are left to others.",
		Args:              exactly("DIR|FILE"),
		ValidArgsFunction: completeFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.checkTime("sweep join"); err != nil {
				return usage(err)
			}
			if info, err := os.Stat(args[0]); err == nil && !info.IsDir() {
				return f.joinServed(cmd, args[0])
			}
			if cmd.Flags().Changed("out") {
				return usage(errors.New("sweep join: --out is for a join file, as the runs of a folder lie in that folder. Leave it out"))
			}
			f.opts.Out = args[0]
			return f.join(cmd)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.opts.Out, "out", "o", "",
		"DIR\twith FILE: folder of this machine for the runs at work (default: a folder of the user's cache)")
	flags.BoolVar(&f.share, "share-data", false,
		"with --listen or --nats, lend the data to workers that do not have them; each needs memory for all of the images")
	f.addWorker(cmd)
	return cmd
}

// addWorker defines the flags of commands that do jobs.
func (f *sweepFlags) addWorker(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.opts.DataDir, "data-dir", "",
		"PATH\twhere the data are on this machine, for data sets that are read from files (default: as the study says)")
	addConcurrency(flags, &f.opts.Concurrency, "jobs at the same time")
	addWorkers(flags, &f.opts.Workers, "goroutines of each job; results do not depend on it (default: chosen)")
	flags.DurationVar(&f.maxTime, "max-time", 0,
		"TIME\ttime after which jobs at work are saved and given back, such as 3h45m (default: none)")
	addCheckpointEvery(flags, &f.opts.CheckpointEvery)
	flags.BoolVar(&f.opts.KeepCheckpoint, "keep-checkpoint", false, "keep the last checkpoint of a finished job")
	addQuiet(flags, &f.quiet)
	_ = cmd.MarkFlagDirname("data-dir")
}

// checkTime refuses a time that is over before it begins.
func (f *sweepFlags) checkTime(command string) error {
	if f.maxTime < 0 {
		return fmt.Errorf("%s: --max-time %v is negative. Use a time such as 3h45m, or leave it out", command, f.maxTime)
	}
	return nil
}

// sweep makes the folder of a study and does its jobs.
func (f *sweepFlags) sweep(cmd *cobra.Command, file string) error {
	f.attend = f.served() && cmd.Flags().Changed("concurrency") && f.opts.Concurrency == 0
	if err := errors.Join(f.checkTime("sweep"), f.checkJob(), f.checkStatus(), f.checkServed()); err != nil {
		return usage(err)
	}
	if f.part != "" {
		var err error
		if f.shard, err = study.ParseShard(f.part); err != nil {
			return usage(err)
		}
	}
	text, err := input.ReadFile(file, input.Want{Most: limit.Config})
	if err != nil {
		return fmt.Errorf("sweep: %w. Give the path of a study file", err)
	}
	if f.opts.Out == "" {
		f.opts.Out = filepath.Join("runs", strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
	}
	there, _, err := study.ReadMade(f.opts.Out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if f.opts.DataDir != "" { // workers may be started in other folders
		if f.opts.DataDir, err = filepath.Abs(f.opts.DataDir); err != nil {
			return fmt.Errorf("sweep: %w", err)
		}
	}
	there.DataDir = cmp.Or(f.opts.DataDir, there.DataDir)
	s, err := study.Parse(cmd.Context(), file, text, there.DataDir, f.yes)
	if err != nil {
		return usage(err)
	}
	s.Made = there // its engine; data and numbers must be the same
	jobs, made, err := f.open(cmd, s)
	if err != nil {
		return err
	}
	if f.job != "" || len(f.hosts) > 0 {
		return f.writeJob(cmd, file, jobs)
	}
	var archive *experiment.Archive
	if f.results != "" {
		if archive, err = experiment.OpenArchive(cmd.Context(), f.results); err != nil {
			return err
		}
	}
	all := jobs
	jobs = f.shard.Jobs(all)
	if f.dryRun {
		return f.plan(cmd, jobs, archive)
	}
	if err := notServed(f.opts.Out); err != nil {
		return err
	}
	if err := study.Make(f.opts.Out, s, all, made); err != nil {
		return err
	}
	if err := f.shard.Begin(f.opts.Out); err != nil {
		return err
	}
	if err := f.takeOver(cmd, jobs, archive); err != nil {
		return err
	}
	if !f.quiet && f.part != "" {
		fmt.Fprintf(cmd.ErrOrStderr(),
			"%s in %s, shard %s. Ctrl-C saves the jobs at work, and the same command continues the shard\n",
			count.Of(len(jobs), "job"), escape.Line(f.opts.Out), f.shard)
	} else if !f.quiet && !f.served() {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s in %s. Ctrl-C saves the jobs at work, and the same command continues the study.\n"+
			"`ocl sweep join %s` does jobs of it at the same time\n", count.Of(len(jobs), "job"), escape.Line(f.opts.Out),
			escape.Word(f.opts.Out))
	}
	store := study.OpenFolder(f.opts.Out)
	if f.served() {
		return f.serve(cmd, store, jobs)
	}
	return f.work(cmd, store, jobs, true)
}

// takeOver takes the results that exist already.
func (f *sweepFlags) takeOver(cmd *cobra.Command, jobs []study.Job, archive *experiment.Archive) error {
	if archive == nil {
		return nil
	}
	store := study.OpenFolder(f.opts.Out)
	t := study.Match(archive, store, jobs)
	taken, err := t.Copy(store)
	if !f.quiet || err != nil {
		for _, line := range f.taken(t, taken, "were reused") {
			fmt.Fprintln(cmd.ErrOrStderr(), escape.Line(line))
		}
	}
	return err
}

// taken says how many results of an archive count, and why the others do not.
func (f *sweepFlags) taken(t *study.Reuse, n int, verb string) []string {
	lines := []string{fmt.Sprintf("%s: %s %s", f.results, count.Of(n, "result"), verb)}
	if n == 1 {
		lines[0] = strings.Replace(lines[0], verb, strings.Replace(verb, "were", "was", 1), 1)
	}
	if t.Have > 0 {
		lines = append(lines, fmt.Sprintf("  %s not needed: the study has the result already", count.Number(t.Have)))
	}
	for _, reason := range t.Reasons() {
		lines = append(lines, fmt.Sprintf("  %s left out: %s", count.Number(t.Others[reason]), reason))
	}
	return lines
}

// join does jobs of the study in a folder.
func (f *sweepFlags) join(cmd *cobra.Command) error {
	if err := notServed(f.opts.Out); err != nil {
		return err
	}
	jobs, err := f.load(cmd, nil)
	if err != nil {
		return err
	}
	return f.work(cmd, study.OpenFolder(f.opts.Out), jobs, false)
}

// load opens the jobs of the study in --out for a worker. One that is served elsewhere is there in part: borrow fetches
// data that this machine does not have.
func (f *sweepFlags) load(cmd *cobra.Command, borrow func(context.Context, string) (*data.Set, error)) ([]study.Job,
	error) {
	s, err := study.Load(cmd.Context(), f.opts.Out, f.opts.DataDir)
	if err != nil {
		return nil, err
	}
	s.Part, s.Borrow = borrow != nil, borrow
	jobs, _, err := f.open(cmd, s)
	if err == nil {
		err = study.Join(f.opts.Out, s, jobs)
	}
	return jobs, err
}

// open opens the data and lists the jobs.
func (f *sweepFlags) open(cmd *cobra.Command, s *study.Study) ([]study.Job, study.Made, error) {
	o := f.opts
	o.Out, o.DataDir = "", "" // the configs have the place of the data
	o.Program, o.Revision, o.Command = program()
	o.Progress, o.ReadOnly = newOpening(cmd.ErrOrStderr(), f.quiet).work, f.dryRun || f.job != "" || len(f.hosts) > 0
	jobs, made, err := s.Open(cmd.Context(), o)
	if err == nil {
		several := slices.ContainsFunc(jobs, func(j study.Job) bool { return j.Data != jobs[0].Data })
		printNotes(cmd.ErrOrStderr(), s.Notes)
		printed := map[string]bool{}
		for _, j := range jobs {
			for _, note := range j.Experiment.Notes() {
				text := note
				if several {
					text = j.Data + ": " + note
				}
				if !printed[text] {
					printed[text] = true
					fmt.Fprintln(cmd.ErrOrStderr(), escape.Line(text))
				}
			}
		}
	}
	return jobs, made, unfit(err)
}

// work does jobs and shows how far they are.
func (f *sweepFlags) work(cmd *cobra.Command, store study.Store, jobs []study.Job, stay bool) error {
	if store.Cancelled() {
		return fmt.Errorf("sweep: the study in %s was cancelled. `ocl sweep retry %s` lets it go on", f.opts.Out,
			escape.Word(f.opts.Out))
	}
	if err := cmd.Context().Err(); err != nil {
		return fmt.Errorf("interrupted before the first job: %w", err)
	}
	show := newSweepView(cmd.ErrOrStderr(), f.quiet, f.status != "", f.opts.Out, store, jobs)
	defer show.stop()
	note := func(text string) { show.note(text) }
	if f.notes != nil {
		defer f.notes.to.Store(f.notes.to.Swap(&note))
	}
	stop, err := show.servePage(cmd.Context(), f.status, cmd.ErrOrStderr(), f.quiet)
	if err != nil {
		return err
	}
	defer stop()
	w := study.Worker{Store: store, Jobs: jobs, Concurrency: f.opts.Concurrency, Workers: f.opts.Workers,
		MaxTime: f.maxTime, Stay: stay, Attend: f.attend, Poll: f.poll(),
		Quiet: f.opts.Out, Watch: show.watch, Changed: show.changed, Note: note}
	sum, err := until(cmd.Context(), show.screen, "the jobs at work save their state and are given back",
		func() (study.Sum, error) { return w.Run(cmd.Context()) })
	for _, text := range store.Aside() {
		fmt.Fprintln(cmd.ErrOrStderr(), escape.Line(text))
	}
	return f.finish(cmd, store, jobs, sum, err)
}

// finish prints the results of the jobs. err is the worker's error.
func (f *sweepFlags) finish(cmd *cobra.Command, store study.Store, jobs []study.Job, sum study.Sum, err error) error {
	stdout := cmd.OutOrStdout()
	status := statusOf(f.opts.Out, store, study.Entries(jobs))
	if f.json.given {
		err = errors.Join(err, f.json.print(stdout, status))
	} else if _, e := fmt.Fprintln(stdout, status.Line("job")); e != nil {
		err = errors.Join(err, e)
	}
	switch {
	case cmd.Context().Err() != nil && sum.Left > 0:
		return errors.Join(err, fmt.Errorf("interrupted with %s left. The same command continues: %w",
			count.Of(sum.Left, "job"), context.Canceled))
	case sum.Left > 0 && store.Cancelled():
		return errors.Join(err, fmt.Errorf("sweep: the study was cancelled with %s left. `ocl sweep retry %s` lets it go on",
			count.Of(sum.Left, "job"), escape.Word(f.opts.Out)))
	case f.maxTime > 0 && sum.Left > 0 && sum.Released > 0:
		return err // the next worker goes on
	case sum.AllFailed > 0 && err == nil:
		err = fmt.Errorf("sweep: %s failed. `ocl sweep status %s` says why, and `ocl sweep retry %s` tries them again",
			count.Of(sum.AllFailed, "job"), escape.Word(f.opts.Out), escape.Word(f.opts.Out))
	}
	if sum.Left == 0 && cmd.Name() == "sweep" && f.part == "" { // the other shards may not be done
		err = errors.Join(err, f.report(cmd))
	}
	if n := status.Diverged; err == nil && n > 0 && cmd.Name() == "sweep" {
		err = coded{fmt.Errorf("%s of %d diverged. Use a smaller learning rate for them, or keep the divergence as their result",
			count.Of(n, "job"), len(jobs)), exitDiverged}
	}
	return err
}

// report prints the main table and writes the report of a study, and a line for each run into a CSV file. Results that
// cannot be used are in neither; the report names them.
func (f *sweepFlags) report(cmd *cobra.Command) error {
	found, err := identity.ReadAll(context.WithoutCancel(cmd.Context()), experiment.Schema(), identity.Want{}, f.opts.Out)
	if err != nil {
		return err
	}
	if !f.noReport {
		if !f.json.given {
			err = printResults(cmd, found.Results, "")
		}
		err = errors.Join(err, reportOn(cmd, f.opts.Out, f.json.given, f.quiet))
	}
	if len(found.Used) == 0 {
		return err
	}
	path, fault := runs.WideOf(cmd.Context(), found.Used, f.opts.Out)
	if fault != nil {
		return errors.Join(err, fault)
	}
	w := cmd.OutOrStdout()
	if f.json.given {
		w = cmd.ErrOrStderr()
	}
	_, fault = fmt.Fprintf(w, "a line for each run: %s\n", escape.Line(path))
	return errors.Join(err, fault)
}
