package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"ocl/data"
	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/run/experiment"
	"ocl/run/result"
)

// dataVariable is the environment variable with the folder of the data sets.
const dataVariable = "OCL_DATA"

// shownDifferences is how many differences are printed; the others are counted, and --json has them.
const shownDifferences = 20

// verifyFlags are the flags of `ocl verify`.
type verifyFlags struct {
	opts   experiment.Options
	parent string
	quiet  bool
	asJSON jsonFlag

	committed bool // compare with the committed results, and run nothing
}

func newVerify() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify RESULT...",
		Short: "Run the experiment of a result again and compare bit for bit, or compare runs with the committed results.",
		Example: `  ocl verify runs/first/er-m1000-s1-1f2e3d4c/result.json
  ocl verify survey/results/cifar100/methods/er-m5000-s1.json.gz --data-dir DIR
  ocl verify result.json --quiet --json same,differences
  ocl verify --committed runs/er runs/mir`,
		Long: "RESULT is a result.json, also compressed (.json.gz), or the folder of a run. The run uses the recorded config, kernels and convolutions. " +
			"Everything is compared but what says where and when the result was made. Each key that differs is named, with the recorded value and that of the new run. " +
			"The exit code is 0 if the results are the same, 4 if they differ, and 1 if the run cannot be made again here.\n" +
			"The data are in --data-dir, in the recorded folder if that exists, or in $" + dataVariable +
			". Their digest must be the recorded one.\n\n" +
			committedHelp,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.committed {
				return atLeastOne("RESULT", "at least one folder with results, such as runs/er5k")(cmd, args)
			}
			if len(args) > 1 {
				return usage(fmt.Errorf("%s: %d results are given, and one is run again at a time. Give one, or add --committed, which compares all of them and runs nothing",
					pathOf(cmd), len(args)))
			}
			return exactly("RESULT")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.committed {
				return f.compareCommitted(cmd, args)
			}
			return f.verify(cmd, args[0])
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.committed, "committed", false,
		"say whether results reproduce what the committed runs of the same config have measured; nothing is run")
	flags.StringVar(&f.opts.DataDir, "data-dir", "",
		"PATH\twhere the data lie on this machine, for a data set that is read from files (default: the recorded folder, or $"+dataVariable+")")
	addBackbone(cmd, &f.opts.Backbone)
	flags.StringVar(&f.opts.Init, "init", "",
		"FILE\tfile of the first weights on this machine, for a run that began with some (default: the recorded file)")
	flags.StringVar(&f.parent, "parent", "",
		"RUN\tfolder of the parent run, for a result of `ocl learn` (default: the recorded folder)")
	flags.StringVarP(&f.opts.Out, "out", "o", "",
		"DIR\tnew folder for the run; the same command then continues it after Ctrl-C (default: nothing is written)")
	addWorkers(flags, &f.opts.Workers, "goroutines of the run; results do not depend on it (default: chosen)")
	addQuiet(flags, &f.quiet)
	addJSON(cmd, &f.asJSON, verdict{}, groupJSON{})
	_ = cmd.MarkFlagDirname("data-dir")
	_ = cmd.MarkFlagDirname("parent")
	_ = cmd.MarkFlagFilename("init", "safetensors")
	return cmd
}

func (f *verifyFlags) verify(cmd *cobra.Command, path string) error {
	found, _, err := result.Find(path)
	if err == nil && len(found) > 1 {
		err = usage(fmt.Errorf("%s has %d results. Give one of them, such as %s", path, len(found), found[0].Path))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", pathOf(cmd), err)
	}
	path = found[0].Path
	recorded, err := result.Read(path)
	if err != nil {
		return fmt.Errorf("%s: %w", pathOf(cmd), err)
	}
	v, err := f.again(cmd.Context(), cmd.ErrOrStderr(), recorded)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", pathOf(cmd), path, err)
	}
	v.Result = path
	err = f.asJSON.printOr(cmd.OutOrStdout(), v, escape.Lines(v.text()))
	if n := len(v.Differences); n > 0 {
		err = errors.Join(err, coded{fmt.Errorf("%s: %s: it differs from its run, in %s of the %s compared", pathOf(cmd),
			path, count.Number(n), count.Of(v.Values, "value")), exitDifferent})
	}
	return err
}

// again runs the experiment of a result again and compares.
func (f *verifyFlags) again(ctx context.Context, stderr io.Writer, recorded *result.Result) (*verdict, error) {
	opts := f.opts
	opts.Program, opts.Revision, opts.Command = program()
	opts.DataDir = dataFolder(opts.DataDir, recorded)
	opening := newOpening(stderr, f.quiet)
	opts.Progress, opts.Embedding = opening.work, opening.embedding
	show := newRunsView(stderr, f.quiet)
	defer show.stop()
	opts.Events = show.job
	x, err := experiment.OpenRerun(ctx, recorded, f.parent, opts)
	opening.end()
	if err != nil {
		return nil, err
	}
	if opts.Out != "" {
		there, err := x.Found(x.Jobs()[0])
		if err == nil && there.Ended() {
			return nil, fmt.Errorf("%s has the result of this run already, so it would be compared with itself. Choose another --out",
				opts.Out)
		}
		if err := errors.Join(err, x.SetUp()); err != nil {
			return nil, err
		}
	}
	show.note(x.Notes()...)
	results, err := until(ctx, show.screen, stopping, func() ([]*result.Result, error) { return x.Run(ctx) })
	switch {
	case err != nil && ctx.Err() != nil && opts.Out != "":
		return nil, fmt.Errorf("the run was stopped. The same command continues it: %w", ctx.Err())
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("the run was stopped, and nothing was saved. Give -o DIR to be able to continue it: %w",
			ctx.Err())
	case err != nil:
		return nil, err
	}
	differences, values, err := result.Compare(experiment.Schema(), recorded, results[0])
	if err != nil {
		return nil, err
	}
	out := &verdict{Same: len(differences) == 0, Values: values, Steps: results[0].Outcome.Step,
		Differences: append([]result.Difference{}, differences...)}
	return out, nil
}

// dataFolder is where the data of a result lie on this machine: where the person says, else where they were, else in
// the folder of the data sets; "" is as the result says, or nowhere.
func dataFolder(given string, r *result.Result) string {
	d := r.Config.Data
	if info, err := data.Lookup(d.Name); given != "" || err != nil || !info.NeedsDir {
		return given
	}
	if _, err := os.Stat(d.Dir); d.Dir != "" && err == nil {
		return ""
	}
	all := os.Getenv(dataVariable)
	if all == "" {
		return ""
	}
	own := filepath.Join(all, d.Name)
	if _, err := os.Stat(own); err == nil {
		return own
	}
	return all
}

// verdict is the JSON that `ocl verify --json` prints of one result.
type verdict struct {
	Result      string              `json:"result"`
	Same        bool                `json:"same"`
	Values      int                 `json:"values"` // that were compared
	Steps       int                 `json:"steps"`  // of the new run
	Differences []result.Difference `json:"differences"`
}

// text says what was found.
func (v *verdict) text() string {
	if v.Same {
		return fmt.Sprintf("%s: the same as its run, bit for bit: %s compared after %s\n", v.Result,
			count.Of(v.Values, "value"), count.Of(v.Steps, "step"))
	}
	t := table{head: []string{"key", "recorded", "this run"}}
	for _, d := range v.Differences[:min(shownDifferences, len(v.Differences))] {
		t.rows = append(t.rows, []string{d.Key, d.A, d.B})
	}
	text := t.String()
	if more := len(v.Differences) - shownDifferences; more > 0 {
		text += fmt.Sprintf("and %s more, which --json lists\n", count.Number(more))
	}
	return text
}
