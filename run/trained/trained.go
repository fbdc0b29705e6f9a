// Package trained opens the learner of a run from its checkpoint: to predict, to be exported, or to be the parent of
// another run. Start at [Open] and [LearnOn].
package trained

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ocl"
	"ocl/checkpoint"
	"ocl/config"
	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/learn/calibrate"
	"ocl/learn/learner"
	"ocl/nn"
	"ocl/run/build"
	"ocl/run/identity"
	"ocl/run/result"
	"ocl/run/train"
)

// Model is the learner of a run as a checkpoint has it. One goroutine uses it at a time, and Close ends it.
type Model struct {
	Folder     string         // of the run
	Checkpoint string         // the file that was read
	Digest     string         // "sha256:…" of that file
	Older      bool           // newer checkpoints could not be read ([Options])
	Config     config.Config  // of the run
	Tasks      int            // that the learner has learned to their end, those before its run too
	Steps      int            // of the learner, those before its run too
	Info       ocl.StreamInfo // Name, Digest, shape of the images, Classes and Pixels; nothing of the tasks
	ClassNames []string       // nil where the data have none
	Learned    []ocl.Label    // classes of the tasks that were learned, rising; nil where no file says them
	Learner    ocl.Learner
	Net        *nn.Network
	// Classifiers has the first classifier of the run, or that which Choose chose.
	Classifiers train.Classifiers
	Notes       []string // what a person should know, such as a damaged checkpoint that was passed over

	ws     *nn.Workspace
	known  train.Known
	tested *calibrate.Calibration // of the first classifier, by test images; nil where there is none
}

// Options say how a learner is opened.
type Options struct {
	Workers int // goroutines; 0 is 1
	// Older takes the newest checkpoint that can be read, if the newest one cannot. Model.Older and a note record it.
	Older bool
}

// Open restores the learner of a run from its newest checkpoint. folder is that of a run, or of an experiment that has
// one run. The learner is ready to predict: it has prepared for it, which trains for a while if nothing was measured
// since it last learned. With its recorded engine the learner predicts with the same bits as in the run; a machine that
// lacks those kernels uses its own, with a note. The data are not needed. A run that has not ended a task is an error,
// and so are a newest checkpoint that cannot be read, without Options.Older, and one of another run.
func Open(ctx context.Context, folder string, o Options) (*Model, error) {
	t, err := restore(folder, o)
	if err == nil {
		err = t.prepare(ctx)
	}
	if err != nil {
		if t != nil {
			t.Close()
		}
		return nil, fmt.Errorf("experiment: %w", err)
	}
	return t, nil
}

// ErrClassifier is wrapped by errors about a classifier that a run does not have.
var ErrClassifier = errors.New("the run has no such classifier")

// Choose makes Classifiers and Means those of another classifier of the run. Class means are computed, which takes a
// while and ends with ctx. A classifier that the run was not measured with is an error that wraps [ErrClassifier].
func (t *Model) Choose(ctx context.Context, name string) error {
	all := t.Config.Classifiers
	if !slices.Contains(all, name) {
		return cause.As(fmt.Errorf("experiment: %s: the run has no classifier %.40q. Use %s", t.Folder, name,
			strings.Join(all, " or ")), ErrClassifier)
	}
	if name == t.Classifiers.Names[0] {
		return nil
	}
	chosen, err := t.fitted(ctx, name)
	if err == nil {
		t.Classifiers = chosen
	}
	return err
}

// fitted are classifiers of the run that can predict.
func (t *Model) fitted(ctx context.Context, names ...string) (train.Classifiers, error) {
	c, err := train.NewClassifiers(names, t.Learner)
	if err == nil {
		err = c.Fit(ctx)
	}
	if err != nil {
		return c, fmt.Errorf("experiment: %s: %w", t.Folder, err)
	}
	return c, nil
}

// Classifier is the name of the one that was chosen.
func (t *Model) Classifier() string { return t.Classifiers.Names[0] }

// Means are the class means that it predicts by; nil where it predicts the class of the largest
// logit, or where the learner shows its predictions alone. They do not change any more.
func (t *Model) Means() *learner.NCM {
	if t.Classifiers.NCM != nil {
		return t.Classifiers.NCM
	}
	if t.Classifiers.Open == nil {
		return nil
	}
	return t.Classifiers.Open.Parts().Means
}

// Calibration says how sure the classifier that was chosen may be; nil, and why, where nobody knows. Methods without
// gradient find it out by samples that they have learned. Others have it by the test images of their run, after its
// last task.
func (t *Model) Calibration(ctx context.Context) (c *learner.Calibration, why string, err error) {
	if t.Classifier() != t.Config.Classifiers[0] {
		return nil, "only the first classifier of a run is calibrated", nil
	}
	if c, why, err = learner.CalibrationOf(ctx, t.Learner); err != nil {
		return nil, "", fmt.Errorf("experiment: %s: %w", t.Folder, err)
	}
	switch {
	case c != nil || why != "":
	case t.tested != nil:
		c = &learner.Calibration{Calibration: t.tested}
	default:
		why = "the run has not tested its learner on ten images or more after its last task, or an older program has run it"
	}
	return c, why, nil
}

// Close ends the workers of the learner.
func (t *Model) Close() {
	if t.ws != nil {
		t.ws.Close()
	}
}

// prepare lets the learner and the first classifier of its run prepare for predictions.
func (t *Model) prepare(ctx context.Context) error {
	if p, ok := t.Learner.(ocl.Preparer); ok {
		if err := p.Prepare(ctx); err != nil {
			return err
		}
	}
	return t.Classifiers.Fit(ctx)
}

// restore reads a run's checkpoint.
func restore(folder string, o Options) (*Model, error) {
	folder, err := runFolder(folder)
	if err != nil {
		return nil, err
	}
	got, err := choose(folder, "", o.Older)
	if err != nil {
		return nil, err
	}
	t := &Model{Folder: folder, Checkpoint: got.Path, Digest: digestOf(got.File), Older: got.older}
	t.Notes = got.notes()
	if err := t.decode(got, max(1, o.Workers)); err != nil {
		t.Close()
		return nil, fmt.Errorf("%s: %w", got.Path, err)
	}
	return t, nil
}

// notes say which newer checkpoints were passed over, and what of other modules has another version here.
func (c chosen) notes() (notes []string) {
	for _, skipped := range c.Skipped {
		notes = append(notes, fmt.Sprintf("%v. Using the checkpoint before it, %s", skipped, filepath.Base(c.Path)))
	}
	made := c.saved.Identity
	if what := config.OtherVersions(made.Registered, build.Schema().Registered(made.Config)); what != "" {
		notes = append(notes, what+". It may compute other numbers")
	}
	return notes
}

// runAgain is the end of messages about a run that has diverged.
const runAgain = "Run it again, with a smaller --lr"

// decode makes the learner of a checkpoint.
func (t *Model) decode(from chosen, workers int) (err error) {
	d, read := from.Decoder(), from.saved
	made, images := read.Identity, read.Known
	t.Config, t.ClassNames, t.known = made.Config, images.ClassNames, images
	t.Tasks, t.Steps = images.Tasks, images.Steps
	res, unread := result.Read(filepath.Join(t.Folder, train.ResultFile))
	diverged := unread == nil && res.Outcome.State == result.Diverged
	learned := count.Of(t.Tasks, "task")
	switch {
	case t.Tasks == 0 && diverged:
		return fmt.Errorf("the run has diverged before it had learned a task to its end. %s", runAgain)
	case t.Tasks == 0:
		return fmt.Errorf("the run has not learned a task to its end. Continue it with `ocl run --resume %s`", t.Folder)
	case diverged:
		t.Notes = append(t.Notes, fmt.Sprintf("the run has diverged at step %d; this is its learner of before, after %s. %s",
			res.Outcome.Step, learned, runAgain))
	case unread != nil && !errors.Is(unread, fs.ErrNotExist):
		t.Notes = append(t.Notes, fmt.Sprintf("nobody can say whether the run has ended or diverged: %v", unread))
	case read.At.Within():
		t.Notes = append(t.Notes,
			fmt.Sprintf("the run was stopped within task %d, so its learner has learned a part of that task. "+
				"Continue it with `ocl run --resume %s`", read.At.Task+1, t.Folder))
	case unread != nil && len(images.Changes) > 0: // nothing was measured since
	case unread != nil || res.Outcome.State == result.Interrupted:
		t.Notes = append(t.Notes,
			fmt.Sprintf("the run has not ended, and its learner has learned %s so far. If it was stopped, "+
				"continue it with `ocl run --resume %s`", learned, t.Folder))
	}
	for _, k := range images.Learned {
		t.Learned = append(t.Learned, ocl.Label(k))
	}
	s := made.Config.Stream
	t.Info = ocl.StreamInfo{Name: made.Config.Data.Name, Channels: images.Shape[0], Height: images.Shape[1],
		Width:   images.Shape[2],
		Classes: images.Classes, Embeddings: images.Embeddings, Of: images.Of, Batch: s.Batch, Digest: made.Data}
	if !images.Embeddings {
		t.Info.Pixels = ocl.NewPixelValues(images.Shape[0], s.Mean, s.Std)
	}
	if t.tested, err = train.ReadCalibration(d); err != nil {
		return err
	}
	return t.make(t.engine(made), 0, workers, d.Sub("learner"))
}

// make makes the learner of a state, which knows as many classes as Info has, or so many where inherited is not 0.
func (t *Model) make(engine config.Engine, inherited, workers int, state *checkpoint.Decoder) (err error) {
	c := t.Config
	c.Engine = engine
	if t.Net, err = build.NewNetwork(t.Info, c, inherited); err != nil {
		return err
	}
	t.ws = t.Net.NewWorkspace(workers)
	if t.Learner, err = build.NewLearner(t.Net, t.ws, t.Info, c); err != nil {
		return err
	}
	if t.Classifiers, err = train.NewClassifiers(t.Config.Classifiers[:1], t.Learner); err != nil {
		return err
	}
	if err = t.Learner.LoadState(state); err != nil {
		return err
	}
	if shows, is := t.Learner.(learner.Open); is && shows.Parts().Net != nil {
		t.Net = shows.Parts().Net // which predicts; with the trick ema it is not the one that learns
	}
	return nil
}

// readSaved reads all of a checkpoint but the measurements and the learner.
func readSaved(d *checkpoint.Decoder) (train.Saved, error) {
	s, err := train.ReadSaved(d)
	if err == nil {
		err = checkSize(s.Identity.Config, s.Known, d.Len("learner/net/params"))
	}
	return s, err
}

// checkSize refuses images that do not fit the config of a checkpoint, and sizes of networks that do not fit the file,
// before a network claims memory. params is the length in bytes of the network's section, negative where there is none:
// GDumb trains a new network for each prediction.
func checkSize(c config.Config, images train.Known, params int) error {
	channels := images.Shape[0]
	if n := len(c.Stream.Mean); n != 0 && n != channels {
		return fmt.Errorf("checkpoint: stream.mean has %d values for images of %d channels. Use a file that ocl wrote", n,
			channels)
	}
	values := channels * images.Shape[1] * images.Shape[2]
	if channels > limit.KnownChannels && !images.Embeddings || values > limit.KnownValues ||
		images.Classes > limit.KnownClasses {
		return fmt.Errorf("checkpoint: section %s says images of %v and %d classes, more than any data have. Use a file that ocl wrote",
			"stream", images.Shape, images.Classes)
	}
	info, s := build.Method(c.Methods[0]), build.Setup(c)
	s.Shape, s.Classes = images.Shape, images.Classes
	if info.OwnNetworks { // it makes the others as it reads them
		if first := info.Begins(s); first > limit.UnsavedParameters {
			return fmt.Errorf("checkpoint: the networks would have %d parameters from the start. Use a run whose networks have at most %d then",
				first, limit.UnsavedParameters)
		}
		return nil
	}
	least, err := build.LeastParameters(ocl.StreamInfo{Channels: channels, Height: images.Shape[1], Width: images.Shape[2],
		Classes: images.Classes}, c)
	switch {
	case err != nil:
		return fmt.Errorf("checkpoint: %w", err)
	case params < 0 && least > limit.UnsavedParameters:
		return fmt.Errorf("checkpoint: the network would have %d parameters or more, and the file has none of them. Use a run with a network of at most %d",
			least, limit.UnsavedParameters)
	case params >= 0 && params/4 < least:
		return fmt.Errorf("checkpoint: the network has %d parameters, but this config with images of %v and %d classes needs %d or more. Use a file that ocl wrote",
			params/4, images.Shape, images.Classes, least)
	}
	return nil
}

// engine is the one of the run, or this machine's where it cannot have that.
func (t *Model) engine(made identity.Identity) config.Engine {
	want := nn.Engine{Kernel: made.Kernel, Convolution: made.Convolution}
	if want.Check() != nil {
		t.Notes = append(t.Notes, fmt.Sprintf("the run used the %s kernels, and this machine has others. Numbers may differ in the last digits",
			cause.Shown(made.Kernel)))
		want = nn.DefaultEngine()
	}
	return config.Engine{Kernel: want.Kernel, Convolution: want.Convolution}
}

// runFolder is the folder of the run that folder names: itself, or the only run of an experiment.
func runFolder(folder string) (string, error) {
	if isRun(folder) {
		return folder, nil
	}
	entries, err := input.ReadDir(folder)
	if err != nil {
		return "", fmt.Errorf("%w. Give the folder of a run", err)
	}
	var runs []string
	for _, e := range entries {
		run := filepath.Join(folder, e.Name())
		if isRun(run) {
			runs = append(runs, run)
		}
	}
	switch len(runs) {
	case 0:
		return "", fmt.Errorf("%s: there is no run here. Give the folder of a run that `ocl run --out` made", folder)
	case 1:
		return runs[0], nil
	}
	return "", fmt.Errorf("%s: the experiment has %d runs. Give one of them: %s", folder, len(runs), count.First(3, runs))
}

// HasRun says whether a folder is that of a run, or of an experiment with one or more.
func HasRun(folder string) bool {
	if isRun(folder) {
		return true
	}
	entries, err := input.ReadDir(folder)
	return err == nil && slices.ContainsFunc(entries,
		func(e fs.DirEntry) bool { return isRun(filepath.Join(folder, e.Name())) })
}

// isRun says whether a folder is that of a run.
func isRun(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, train.ConfigFile))
	return err == nil
}

// chosen is a checkpoint that was read, with what it says of its run.
type chosen struct {
	checkpoint.Loaded
	saved train.Saved
	older bool // newer ones could not be read
}

// choose reads a checkpoint of a run: that with a digest if one is given, else the newest. If that cannot be read, it
// is an error that names the newest one that can be read, which is taken with older. A checkpoint of another run is an
// error too.
func choose(folder, digest string, older bool) (got chosen, err error) {
	files, err := checkpoint.Files(filepath.Join(folder, train.CheckpointDir))
	if errors.Is(err, fs.ErrNotExist) {
		return got, fmt.Errorf("%s: the run has no checkpoint. Run it again, without --keep-checkpoint=false", folder)
	}
	if err != nil {
		return got, err
	}
	var faults []error
	unreadable := false
	for _, file := range files {
		got, err = readChosen(folder, file)
		sum := digestOf(got.File)
		switch got.older = unreadable; {
		case errors.Is(err, errOtherRun), errors.Is(err, config.ErrLacks):
			return got, err
		case err != nil:
			unreadable = true
		case digest != "" && digest != sum:
			err = fmt.Errorf("%s has the digest %s", file, sum)
		case digest == "" && unreadable && !older:
			return got, fmt.Errorf("%w. The checkpoint before it, %s, can be read: --older of predict, eval, export and learn takes it, and records that",
				errors.Join(faults...), filepath.Base(file))
		default:
			got.Skipped = faults
			return got, nil
		}
		faults = append(faults, err)
	}
	if digest != "" {
		return got, fmt.Errorf("%w, but parent.checkpoint is %s. Give the run that has this checkpoint, or remove parent.checkpoint",
			errors.Join(faults...), cause.Shown(digest))
	}
	return got, fmt.Errorf("%w. No other checkpoint of the run can be read", errors.Join(faults...))
}

// errOtherRun is wrapped by the error about a checkpoint of another run.
var errOtherRun = errors.New("a checkpoint of another run")

// readChosen reads a checkpoint in the folder of a run.
func readChosen(folder, file string) (got chosen, err error) {
	if got.Loaded, err = checkpoint.Read(file); err != nil {
		return got, err
	}
	if got.saved, err = readSaved(got.Decoder()); err != nil {
		return got, fmt.Errorf("%s: %w", file, err)
	}
	if err := train.OfRun(folder, got.saved.Identity); err != nil {
		return got, cause.As(fmt.Errorf("%s: %w", file, err), errOtherRun)
	}
	return got, nil
}

// digestOf is the digest of a file that was read. The file itself may be another one by now.
func digestOf(file []byte) string {
	sum := sha256.Sum256(file)
	return "sha256:" + hex.EncodeToString(sum[:])
}
