package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ocl/config"
	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/predict"
	"ocl/run/experiment"
	"ocl/run/trained"
)

func newLearn() *cobra.Command {
	var f runFlags
	var older bool
	var accepted float64
	cmd := &cobra.Command{
		Use:   "learn RUN",
		Short: "Let the learner of a finished run learn another stream, with all that it knows and stores.",
		Example: `  ocl learn runs/er1k --data folder --data-dir photos
  ocl learn runs/er1k --data folder --data-dir photos --lr 0.01 --out runs/er1k-photos
  ocl learn runs/first --data cifar100 --data-dir DIR --tasks 20 --protocol survey`,
		Long: "RUN is the folder of a run, or of an experiment that has one run. Method, tricks, memory, network and seed stay as they are; " +
			"data and stream are new. A class with a new name is a new class, and the network grows by it. " +
			"If at least half of its pictures are those of an old class that is not there under its name, or two classes have exchanged names, the command learns nothing, " +
			"and says how to rename the classes of RUN; --new-classes learns them as they are. Images must have the size and " +
			"channels of those of RUN, and are scaled to that size where the data set can.\n" +
			"The result is a new run, whose parent is RUN. After Ctrl-C, `ocl run --resume DIR` continues it, and then measures the old classes without --accept-forgetting.\n" +
			"One image is enough. If no class has three images, all images are learned, in batches of at most their number. At the end, RUN and the new run are " +
			"measured on the test images of RUN and of its parents, where these data are still there. If the old classes lose more points than --accept-forgetting allows, " +
			"the exit code is 1, and the command says to go on with RUN.",
		ValidArgsFunction: completeFolder,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.config.checkKept(cmd); err != nil {
				return err
			}
			if _, given := f.config.text("data.name"); !given {
				return usage(errors.New("learn: --data is missing, and nothing else says what to learn. Give a data set, such as --data folder --data-dir photos"))
			}
			dir, _ := f.config.text("data.dir")
			if err := notSwapped(cmd, f.config.words[0], dir); err != nil {
				return err
			}
			parent, err := trained.LearnOn(f.config.words[0], older)
			if err != nil {
				return err
			}
			f.config.settle = func(c *config.Config) { *c = parent }
			if accepted < 0 || accepted > 100 || accepted != accepted {
				return usage(fmt.Errorf("learn: --accept-forgetting %g is out of range. Use 0 to 100 points", accepted))
			}
			f.old = &oldClasses{run: f.config.words[0], older: older, accepted: accepted,
				bounded: cmd.Flags().Changed("accept-forgetting")}
			return f.run(cmd)
		},
	}
	f.config = addConfig(cmd, false, func(k config.Key) bool { return k.Anew }, "RUN")
	// The other keys have hidden flags, so that all of them that are given can be named in one message.
	for _, k := range experiment.Schema().Keys() {
		if k.Flag() != "" && !k.Anew {
			addKey(cmd, k, k.Flag(), k.Group, k.Value)
			cmd.Flags().Lookup(k.Flag()).Hidden = true
		}
	}
	for _, name := range []string{"batch", "classifiers", "lr"} {
		flag := cmd.Flags().Lookup(name)
		usage, _, _ := strings.Cut(flag.Usage, " (default")
		flag.Usage, flag.DefValue = usage+" (default: that of RUN)", ""
	}
	cmd.Flags().Lookup("data").DefValue = "" // it must be given
	f.addOutput(cmd)
	addOlder(cmd, &older)
	cmd.Flags().BoolVar(&f.opts.NewClasses, "new-classes", false,
		"learn classes as they are named, also those whose pictures RUN has learned under another name")
	cmd.Flags().Float64Var(&accepted, "accept-forgetting", 100,
		"POINTS\tpoints of accuracy that the old classes may lose, from 0 to 100; of a hundred test images, five to ten points are often luck")
	return cmd
}

// oldClasses compares what a run and the one that continues it know of the classes that were learned before.
type oldClasses struct {
	run, out string // folders
	older    bool
	backbone string // where the pretrained network lies, if it has moved
	accepted float64
	quiet    bool
	bounded  bool // somebody has given accepted, so that it must be measured

	oldMeasured
	fault error // why it could not be measured
}

// oldMeasured is how many test images there are, and how many of them each run labels right.
type oldMeasured struct {
	Data   []string `json:"data"` // data sets
	Images int      `json:"images"`
	Before int      `json:"correct_before"`
	After  int      `json:"correct_after"`
	Fault  string   `json:"not_measured,omitempty"` // why
}

// share is the part of the images that are labelled right.
func (m *oldMeasured) share(right int) float64 { return float64(right) / float64(max(1, m.Images)) }

// say prints the accuracies before and after. It is an error if they fell by more points than accepted, or if that was
// asked for and could not be measured.
func (o *oldClasses) say(cmd *cobra.Command, asJSON bool) error {
	w := cmd.OutOrStdout()
	if asJSON {
		w = cmd.ErrOrStderr()
	}
	var err error
	switch {
	case cmd.Context().Err() != nil:
		return fmt.Errorf("interrupted. The new run is complete, but the accuracy on the old classes was not measured: %w",
			cmd.Context().Err())
	case o.fault == nil:
		_, err = fmt.Fprintf(w, "\nold classes: %s %% before, %s %% after, of %s of %s\n", count.Percent(o.share(o.Before)),
			count.Percent(o.share(o.After)),
			count.Of(o.Images, "test image"), escape.Line(strings.Join(o.Data, ", ")))
	case o.bounded:
		return fmt.Errorf("learn: what the old classes lose was not measured, so --accept-forgetting %g cannot be checked: %w. The new run is in %s",
			o.accepted, o.fault, o.out)
	default:
		_, err = fmt.Fprintf(w, "\nold classes: not measured. %s\n", ended(escape.Line(o.Fault)))
	}
	if err != nil || o.fault != nil {
		return err
	}
	if lost := 100 * (o.share(o.Before) - o.share(o.After)); lost > o.accepted {
		return fmt.Errorf("learn: the old classes lose %.1f points, more than --accept-forgetting %g. Go on with %s; the new run is in %s",
			lost, o.accepted, o.run, o.out)
	}
	return nil
}

// measure measures both runs, or notes why it could not.
func (o *oldClasses) measure(cmd *cobra.Command) {
	if o.fault = o.measureAll(cmd); o.fault != nil {
		o.oldMeasured = oldMeasured{Fault: o.fault.Error()}
	}
}

// measureAll measures both runs on the test images of the first one, and of all runs that it continues.
func (o *oldClasses) measureAll(cmd *cobra.Command) error {
	ctx := cmd.Context()
	before, err := predict.Open(ctx, o.run, predict.Options{Older: o.older, Backbone: o.backbone})
	if err != nil {
		return err
	}
	defer before.Close()
	after, err := predict.Open(ctx, o.out, predict.Options{Backbone: o.backbone})
	if err != nil {
		return err
	}
	defer after.Close()
	runs, err := trained.Learned(before.Info().Folder)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, past := range runs {
		if err := o.add(cmd, past, before, after, seen); err != nil {
			return err
		}
	}
	return nil
}

// add measures both runs on the test images of a run, but for those seen before.
func (o *oldClasses) add(cmd *cobra.Command, past trained.Past, before, after *predict.Predictor,
	seen map[string]bool) error {
	ctx, show := cmd.Context(), newOpening(cmd.ErrOrStderr(), o.quiet)
	defer show.end()
	c := past.Config
	c.Data.Backbone = cmp.Or(o.backbone, c.Data.Backbone)
	set, err := experiment.OpenData(ctx, c, experiment.Options{Progress: show.work, Embedding: show.embedding})
	if err != nil {
		return err
	}
	if set.Digest != past.Data {
		return fmt.Errorf("%s: %s are other images than those of %s, by their digest. Measure with `ocl eval`", set.Name,
			cmp.Or(c.Data.Dir, "the data"), past.Folder)
	}
	if !slices.Contains(o.Data, set.Name) {
		o.Data = append(o.Data, set.Name)
	}
	var found [2]*predict.Evaluation
	for i, p := range []*predict.Predictor{before, after} {
		own := seen
		if i == 0 {
			own = maps.Clone(seen)
		}
		found[i], err = p.Evaluate(ctx, set, predict.EvaluateOptions{Changes: past.Changes, Seen: own,
			Progress: func(done, total int) {
				show.work(p.Info().Folder+": test images of "+set.Name+" measured", done, total)
			}})
		if err != nil {
			return err
		}
	}
	o.Images += found[0].Images
	o.Before += found[0].Correct
	for k := range found[0].Confusion { // the new run may have learned other classes of these data
		if n, _, _ := found[0].Class(k); n > 0 {
			_, right, _ := found[1].Class(k)
			o.After += right
		}
	}
	return nil
}

// checkKept refuses settings that a run keeps from its parent. It names them all, before their values are checked:
// advice about a value would be of no use.
func (c *configFlags) checkKept(cmd *cobra.Command) error {
	kept := map[string]bool{}
	for _, name := range experiment.Schema().Names() {
		kept[name] = true
	}
	for _, k := range config.Keys() {
		kept[k.Name] = !k.Anew
	}
	var given []string
	for _, g := range c.given() {
		if kept[g.key] {
			given = append(given, g.as)
		}
	}
	if len(given) == 0 {
		return nil
	}
	return usage(fmt.Errorf("%s: the learner keeps these settings of RUN: %s. Remove them, or start anew with `ocl run`",
		pathOf(cmd), strings.Join(given, ", ")))
}
