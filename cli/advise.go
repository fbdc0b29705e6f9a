package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ocl/config"
	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/run/experiment"
	"ocl/run/metric"
	"ocl/run/result"
)

// candidate is a way to learn that `ocl advise` tries.
type candidate struct {
	Name  string   // what it is called in the table
	Keys  []string // KEY=VALUE, beside the data and what is held out
	Words string   // the same as words of `ocl run`
}

// advised are the settings, the cheapest first, so that most of them fit any time. Ten classes of sixty photographs
// ended at chance with a rate of 0.1, so all steps have 0.01.
var advised = []candidate{
	// A network without convolutions takes a second, and says whether colours and places alone tell the classes apart.
	{"ER, small network", []string{"methods=er", "optimizer.lr=0.01", "data.size=32", "network.name=mlp",
		"replay.iterations=5"},
		"--method er --network mlp --lr 0.01 data.size=32 replay.iterations=5"},
	// Images of 32 pixels take a quarter of the time of 64.
	{"ER, images of 32 pixels", []string{"methods=er", "optimizer.lr=0.01", "data.size=32"},
		"--method er --lr 0.01 data.size=32"},
	// Few images are learned better in several steps each, and class means forget less than the head.
	{"ER, five steps, class means", []string{"methods=er", "optimizer.lr=0.01", "data.size=32", "replay.iterations=5",
		"classifiers=ncm"},
		"--method er --lr 0.01 --classifiers ncm data.size=32 replay.iterations=5"},
	// The size of the default shows what is lost on 32 pixels.
	{"ER, five steps, 64 pixels", []string{"methods=er", "optimizer.lr=0.01", "replay.iterations=5"},
		"--method er --lr 0.01 replay.iterations=5"},
	// GDumb stores images and learns them at the end, many times over: the best of few images where the time does not
	// count.
	{"GDumb", []string{"methods=gdumb", "data.size=32"}, "--method gdumb data.size=32"},
}

// onFeatures are the settings that take the features of a pretrained network, of --backbone. They come before all
// others: they learn in seconds.
var onFeatures = []candidate{
	{"ncm (class means), pretrained", []string{"methods=ncm"}, "--method ncm"},
	{"slda (linear discriminant analysis), pretrained", []string{"methods=slda"}, "--method slda"},
	{"ranpac (ridge regression), pretrained", []string{"methods=ranpac"}, "--method ranpac"},
}

// advisedTime is the time that `ocl advise` takes unless --time sets another.
const advisedTime = 2 * time.Minute

// adviseFlags are the flags of `ocl advise`.
type adviseFlags struct {
	time     time.Duration
	backbone string
	reading  string
	workers  int
	quiet    bool
	json     jsonFlag
}

func newAdvise() *cobra.Command {
	var f adviseFlags
	cmd := &cobra.Command{
		Use:   "advise DIR",
		Short: "Try cheap settings on your own images, and say with which to go on.",
		Example: `  ocl advise photos
  ocl advise photos --time 10m --backbone lite0.safetensors`,
		Long: "DIR has images in any layout that `ocl run --data folder` takes. Each setting learns nine tenths of the training images and is measured on the last tenth. " +
			"The test images are not used, so that `ocl run` can be measured on them later. The cheapest setting is tried first. --time does not include the decoding of the images and the making of their " +
			"features. The table shows the settings that ended in that time, or before Ctrl-C. The error of a setting that failed stands below the table. Only the cache of decoded images is written.",
		Args:              exactly("DIR"),
		ValidArgsFunction: completeFolder,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.advise(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.time, "time", advisedTime, "TIME\ttime for all settings")
	flags.StringVar(&f.backbone, "backbone", "",
		"FILE\talso try settings that learn from the features of this pretrained network (docs/format/backbone.md)")
	_ = cmd.MarkFlagFilename("backbone", "safetensors")
	flags.StringVar(&f.reading, "reading", "",
		"READING\tdata.reading of each setting (default: what the files call for)")
	addWorkers(flags, &f.workers, "goroutines of each run; results do not depend on it (default: chosen)")
	addQuiet(flags, &f.quiet)
	addJSON(cmd, &f.json, triedJSON{})
	return cmd
}

// failed is the state of a setting that ended with an error.
const failed = "failed"

// triedJSON is a setting of `ocl advise --json`. One that has not ended has no numbers.
type triedJSON struct {
	Setting    string   `json:"setting"`
	State      string   `json:"state"` // finished, diverged, interrupted or failed
	Error      string   `json:"error,omitempty"`
	Accuracy   *float64 `json:"accuracy"`
	Forgetting *float64 `json:"forgetting"`
	Seconds    float64  `json:"seconds"`
	Chance     bool     `json:"chance"` // guessing may reach the accuracy
	Images     int      `json:"images"` // that were held out
	Command    string   `json:"command"`
}

func (f *adviseFlags) advise(cmd *cobra.Command, dir string) error {
	if f.time <= 0 {
		return usage(fmt.Errorf("%s: --time %v is out of range. Use a time above 0, such as 2m", pathOf(cmd), f.time))
	}
	stderr := cmd.ErrOrStderr()
	show := newRunsView(stderr, f.quiet)
	defer show.stop()
	var tried []triedJSON
	classes := 0
	left, settings := f.time, f.settings()
	for i, s := range settings {
		made := triedJSON{Setting: s.Name, State: result.Interrupted,
			Command: "ocl run --data folder --data-dir " + escape.Word(dir) + " " + s.Words}
		if left > 0 && cmd.Context().Err() == nil {
			r, took, err := f.try(cmd.Context(), show, s, dir, i, left)
			switch left -= took; {
			case cmd.Context().Err() != nil || errors.Is(err, context.DeadlineExceeded):
			case err != nil && i == 0: // the images, or the network, which the others have too
				if errors.Is(err, experiment.ErrUnfit) {
					err = fmt.Errorf("%s measures on a tenth of the training images of each class, so each class needs 13 images: %w",
						pathOf(cmd), err)
				}
				return unfit(err)
			case err != nil:
				made.State, made.Error = failed, err.Error()
			default:
				classes = r.Stream.Classes
				made.add(r)
			}
		}
		tried = append(tried, made)
	}
	show.stop()
	slices.SortStableFunc(tried, func(a, b triedJSON) int { return cmp.Compare(b.accuracy(), a.accuracy()) })
	var err error
	if f.json.given {
		err = f.json.print(cmd.OutOrStdout(), tried)
	} else {
		_, err = io.WriteString(cmd.OutOrStdout(), advice(tried, classes, f.backbone != ""))
	}
	return errors.Join(err, cmd.Context().Err())
}

// settings returns the settings to try, in order.
func (f *adviseFlags) settings() (all []candidate) {
	if f.backbone != "" {
		for _, s := range onFeatures {
			s.Keys = append([]string{"data.backbone=" + f.backbone}, s.Keys...)
			s.Words += " --backbone " + escape.Word(f.backbone)
			all = append(all, s)
		}
	}
	all = append(all, advised...)
	if f.reading == "" {
		return all
	}
	for i, s := range all {
		reading := "data.reading=" + f.reading
		all[i].Keys, all[i].Words = append([]string{reading}, s.Keys...), s.Words+" "+escape.Word(reading)
	}
	return all
}

// try runs setting number i with images held out, at most for the time that is left. The images are decoded before,
// which takes none of it: otherwise little time would hide that they cannot be read.
func (f *adviseFlags) try(ctx context.Context, show *runsView, s candidate, dir string, i int,
	left time.Duration) (r *result.Result, took time.Duration, err error) {
	c, held := config.Default(), true
	c.Data.Name, c.Data.Dir, c.Stream.HeldOut = "folder", dir, &held
	for _, pair := range s.Keys {
		key, value, _ := strings.Cut(pair, "=")
		if err := experiment.Schema().Set(&c, key, value); err != nil {
			return nil, 0, err
		}
	}
	o := experiment.Options{Workers: f.workers, Progress: newOpening(show.notes, f.quiet).work}
	o.Events = func(experiment.Job) experiment.Events { return show.named(s.Name, len(f.settings())) }
	x, err := experiment.Open(ctx, c, o)
	if err != nil {
		return nil, 0, err
	}
	if i == 0 && !f.quiet {
		show.note(x.Notes()...)
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	results, err := x.Run(ctx)
	if took = time.Since(began); err != nil {
		return nil, took, err
	}
	return results[0], took, nil
}

// add takes what a result says.
func (t *triedJSON) add(r *result.Result) {
	t.State, t.Seconds = r.Outcome.State, r.Seconds.All()
	if t.State != result.Finished {
		return
	}
	t.Accuracy, t.Forgetting = r.Metrics.AverageAccuracy, r.Metrics.AverageForgetting
	for _, task := range r.Stream.Tasks {
		t.Images += task.Test
	}
	t.Chance = t.Images > 0 && t.accuracy()*float64(t.Images) <= float64(metric.Luck(t.Images, r.Stream.Classes))+1e-6
}

// accuracy is -1 where there is none.
func (t *triedJSON) accuracy() float64 {
	if t.Accuracy == nil {
		return -1
	}
	return *t.Accuracy
}

// advice is the table and the command to go on with. pretrained says whether settings with a pretrained network were
// among them.
func advice(tried []triedJSON, classes int, pretrained bool) string {
	t := table{head: []string{"setting", ">accuracy", ">forgetting, points", ">seconds"}}
	faults := ""
	for _, s := range tried {
		row := []string{s.Setting, s.State, "–", "–"}
		switch s.State {
		case result.Interrupted:
			row[1] = "no time"
		case failed:
			faults += fmt.Sprintf("\n%s failed: %s\n", s.Setting, ended(escape.Line(s.Error)))
		default:
			row[3] = fmt.Sprintf("%.1f", s.Seconds)
		}
		if s.Accuracy != nil {
			row[1] = percent(*s.Accuracy)
		}
		if s.Forgetting != nil {
			row[2] = count.Fixed(100**s.Forgetting, 1)
		}
		t.rows = append(t.rows, row)
	}
	text, best := t.String()+faults, tried[0]
	switch {
	case best.Accuracy == nil:
		return text + "\nNo setting has ended. Give more time, such as --time 10m.\n"
	case best.Chance:
		text += fmt.Sprintf("\nNo setting that has ended is better than guessing one of %s, as far as %s can show. Take more images of each class.\nThe best so far:\n",
			count.Of(classes, "class"), count.Of(best.Images, "held-out image"))
	default:
		text += fmt.Sprintf("\nThe accuracies are those on %s that were not learned. Differences of a few points are luck. Go on with:\n",
			count.Of(best.Images, "training image"))
	}
	text += "\n  " + strings.TrimSpace(best.Command) + "\n"
	if !pretrained {
		text += "\nA pretrained network usually helps most. docs/format/backbone.md says how to get one; then add --backbone FILE.\n"
	}
	return text
}
