package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ocl/experiment"
	"ocl/experiment/result"
	"ocl/report"
)

// runFlags are the flags of `ocl run` that move no number.
type runFlags struct {
	config *configFlags
	opts   experiment.Options
	resume string
	dryRun bool
	quiet  bool
	json   bool
}

func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Train methods on a stream that is seen once, and measure what they learn and forget.",
		Example: `  ocl run
  ocl run --method er --memory 1000 --runs 3 --out runs/er1k
  ocl run --data cifar100 --data-dir DIR --tasks 20 --memory 5000 --protocol survey
  ocl run --config exp.yaml --set optimizer.lr=0.05 --dry-run
  ocl run --resume runs/er1k`,
		Long: "Without flags it learns the built-in glyphs in 10 tasks with Finetune and ER on the same stream, in under two minutes on two cores. " +
			"Ctrl-C ends it with what was measured so far; --resume continues.",
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.config = addConfigFlags(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.opts.Out, "out", "o", "", "experiment folder for configs, results, figures and checkpoints (default runs/<data>-<UTC time>)")
	flags.StringVar(&f.resume, "resume", "", "continue the experiment or run in a folder where it stopped; with --data-dir if the data have moved")
	flags.BoolVar(&f.opts.Force, "force", false, "replace a different experiment in --out, or use a folder with other files, which stay")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print steps, estimated time and memory, and run nothing")
	flags.IntVar(&f.opts.Workers, "workers", 0, "goroutines of one run; no number depends on it (default: chosen)")
	flags.IntVar(&f.opts.Concurrency, "concurrency", 0, "runs at once; no number depends on it (default: chosen)")
	flags.IntVar(&f.opts.CheckpointEvery, "checkpoint-every", 60, "time between checkpoints; negative: only at the end of each task")
	flags.BoolVar(&f.opts.KeepCheckpoint, "keep-checkpoint", true, "keep the last checkpoint of a finished run")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	flags.BoolVar(&f.json, "json", false, "print the array of results (with --dry-run: of plans) as JSON instead of the table")
	annotate(flags, groupOutput, map[string]string{"out": "DIR", "resume": "DIR", "force": "", "dry-run": "", "workers": "N",
		"concurrency": "N", "checkpoint-every": "SECONDS", "keep-checkpoint": "", "quiet": "", "json": ""})
	_ = cmd.MarkFlagDirname("out")
	_ = cmd.MarkFlagDirname("resume")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml", "json")
	return cmd
}

func (f *runFlags) run(cmd *cobra.Command) error {
	ctx, stdout, stderr := cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	if err := f.check(cmd); err != nil {
		return err
	}
	var cfg experiment.Config
	if f.resume == "" {
		var err error
		if cfg, err = f.config.config(stderr); err != nil {
			return err
		}
		if f.dryRun {
			return f.plan(ctx, stdout, cfg)
		}
		if f.opts.Out == "" {
			f.opts.Out = filepath.Join("runs", cfg.Data.Name+"-"+time.Now().UTC().Format("20060102-150405"))
		}
	} else {
		if _, err := os.Stat(f.resume); err != nil { // before it is said to continue there
			return fmt.Errorf("--resume: %w; want the --out of an experiment or the folder of a run in it; check the path", err)
		}
		f.opts.Out, f.opts.DataDir = f.resume, f.config.flags.Lookup("data-dir").Value.String()
	}
	f.announce(stderr)
	show := newProgress(stderr, f.quiet)
	f.opts.Events = show.events
	stopped := context.AfterFunc(ctx, func() {
		show.note("stopping after this step; Ctrl-C again quits at once")
	})
	var results []*result.Result
	var err error
	if f.resume == "" {
		results, err = experiment.Run(ctx, cfg, f.opts)
	} else {
		results, err = experiment.Resume(ctx, f.resume, f.opts)
	}
	stopped()
	show.stop()
	return f.finish(cmd, results, err)
}

// check refuses flags that contradict each other.
func (f *runFlags) check(cmd *cobra.Command) error {
	var faults []error
	fault := func(format string, a ...any) { faults = append(faults, fmt.Errorf(format, a...)) }
	if f.resume != "" {
		if given := f.config.given(); len(given) > 0 {
			fault("--resume: found it with %s; a resumed experiment keeps its config; take the other flags away, "+
				"or start a new one with `ocl run --config %s`", strings.Join(given, ", "), filepath.Join(f.resume, "experiment.yaml"))
		}
		for _, name := range []string{"out", "force", "dry-run"} {
			if cmd.Flags().Changed(name) {
				fault("--resume: found it with --%s; it writes where it reads; take --%s away", name, name)
			}
		}
	}
	if f.opts.Workers < 0 {
		fault("--workers: found %d; want at least 1, or 0 to choose; correct the number", f.opts.Workers)
	}
	if f.opts.Concurrency < 0 {
		fault("--concurrency: found %d; want at least 1, or 0 to choose; correct the number", f.opts.Concurrency)
	}
	return usage(errors.Join(faults...))
}

// announce says where the files go before the work begins.
func (f *runFlags) announce(w io.Writer) {
	if f.quiet {
		return
	}
	verb := "writing to"
	if f.resume != "" {
		verb = "continuing in"
	}
	fmt.Fprintf(w, "%s %s; Ctrl-C stops, `ocl run --resume %s` continues\n", verb, f.opts.Out, quoteWord(f.opts.Out))
}

// finish prints the results, writes the report and turns err into what the person should do next.
func (f *runFlags) finish(cmd *cobra.Command, results []*result.Result, err error) error {
	stdout, stderr := cmd.OutOrStdout(), cmd.ErrOrStderr()
	if f.json && (len(results) > 0 || err == nil) {
		if e := printJSON(stdout, results); e != nil {
			return e
		}
	}
	if len(results) > 0 {
		if !f.json {
			if e := report.Table(stdout, results, report.TableOptions{Known: knownMethods(), Width: terminalWidth(stdout)}); e != nil {
				return e
			}
		}
		written, e := report.Write([]string{f.opts.Out}, f.opts.Out, report.Options{Known: knownMethods()})
		switch {
		case written == nil:
		case f.json:
			fmt.Fprintf(stderr, "report: %s\n", written.Page)
		default:
			fmt.Fprintf(stdout, "\nreport: %s\n", written.Page)
		}
		switch {
		case e != nil && err == nil:
			err = e
		case e != nil:
			fmt.Fprintf(stderr, "ocl: %v\n", e)
		}
	}
	return err
}

// printJSON writes v as indented JSON and a newline.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// quoteWord writes s so that a shell reads one word.
func quoteWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+=:@%,", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
