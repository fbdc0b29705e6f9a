package runs

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ocl/internal/input"
	"ocl/interop/output"
	"ocl/interop/tensorboard"
	"ocl/run/result"
	"ocl/view/chart"
)

// Tensorboard writes the runs at a path for TensorBoard: an event file in a folder for each run, below one folder, the
// --logdir. path is what [result.Find] takes. out is that folder; "" is the folder tensorboard in the folder of the
// runs, or NAME.tensorboard beside a file. For a single run, out may also be the event file itself, with the word
// tfevents in its name, by which TensorBoard knows event files. Each file appears whole or not at all, and the same
// run gives the same bytes. Tensorboard returns the path of the folder, or of that file.
func Tensorboard(ctx context.Context, path, out string) (string, error) {
	found, _, err := result.Find(path)
	if err != nil {
		return "", err
	}
	if out == "" {
		out = beside(path, "tensorboard", ".tensorboard")
	}
	single := strings.Contains(filepath.Base(out), eventFile) && !isFolder(out)
	if _, err := os.Stat(out); err == nil && !single && !isFolder(out) {
		return "", fmt.Errorf("export: %s: TensorBoard reads only files with %q in their names. Use -o with such a name, or with a folder",
			out, eventFile)
	}
	if single && len(found) > 1 {
		return "", fmt.Errorf("export: %s: it is one file, but %s has %d runs. Use -o with a folder", out, path, len(found))
	}
	for _, s := range found {
		r, err := Open(s)
		if err != nil {
			return "", err
		}
		file := out
		if !single {
			if file, err = r.eventFileIn(out); err != nil {
				return "", err
			}
		}
		if err := output.Write("export", file, func(w io.Writer) error { return r.board(ctx, w) }); err != nil {
			return "", err
		}
	}
	return out, nil
}

// eventFile is what the name of a file must have for TensorBoard to read it.
const eventFile = "tfevents"

// eventFileIn is the path of the run's event file in a folder. TensorBoard joins all event files of a folder to one
// run, so a file of another run there is an error.
func (r *Run) eventFileIn(logdir string) (string, error) {
	seconds := int64(0)
	if !r.started.IsZero() {
		seconds = r.started.Unix()
	}
	name := fmt.Sprintf("events.out.%s.%010d.ocl", eventFile, seconds)
	if key := r.Result.Key; key != "" {
		name += "." + key[:8]
	}
	folder := filepath.Join(logdir, r.Name)
	entries, err := input.ReadDir(folder)
	if err != nil && !os.IsNotExist(err) {
		return "", fmt.Errorf("export: %w. Choose another folder with -o", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "events.out."+eventFile) && e.Name() != name {
			return "", fmt.Errorf("export: %s: it has %q of another run. Remove that file, or choose another folder with -o",
				folder, e.Name())
		}
	}
	return filepath.Join(folder, name), nil
}

// board writes the event file of the run.
func (r *Run) board(ctx context.Context, w io.Writer) error {
	t, err := tensorboard.NewWriter(w, r.started)
	if err != nil {
		return err
	}
	if err := r.Each(func(v Value) error {
		if err := ctx.Err(); err != nil || quantityOf[v.Quantity].group == "" {
			return err
		}
		s, step := r.series(v)
		return t.Scalar(s, tensorboard.At{Step: step, Time: v.Time}, v.Value)
	}); err != nil {
		return err
	}
	for name, c := range r.classifiers() {
		for _, p := range r.pictures(name, c.ErrorAnalysis) {
			if err := ctx.Err(); err != nil {
				return err
			}
			encoded := chart.Draw(p.heat, chart.File(p.title)).PNG()
			if err := t.Image(p.series, tensorboard.At{Step: int64(p.task + 1), Time: r.afterTask(p.task).at},
				encoded); err != nil {
				return err
			}
		}
	}
	return nil
}

// series is the chart that a value belongs to, and its place there.
func (r *Run) series(v Value) (s tensorboard.Series, step int64) {
	q := quantityOf[v.Quantity]
	s = tensorboard.Series{Tag: strings.TrimPrefix(q.Name, q.group+"_"), Name: q.title, Help: sentence(q.Help)}
	step, against := int64(v.Step), "learner steps"
	if q.against == tasks {
		step, against = int64(v.Task+1), "the number of tasks learned"
	}
	if v.TestSet != None && (v.Quantity == memoryOfTask || !r.Result.Stream.CommonTest) {
		s.Tag, s.Name = "task_"+r.padded(v.TestSet), s.Name+" "+strconv.Itoa(v.TestSet+1)
	}
	s.Tag = r.group(q.group, v.Classifier) + "/" + s.Tag
	s.Name, s.Help = r.whose(s.Name, v.Classifier), s.Help+" Against "+against+"."
	return s, step
}

// group is the group of charts of a classifier. That of the first one has no suffix, so that the charts of runs with
// different classifiers are shown together.
func (r *Run) group(name, classifier string) string {
	if classifier == "" || classifier == r.classifier() {
		return name
	}
	return name + "-" + strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' {
			return c
		}
		return '_'
	}, classifier)
}

// whose adds the name of the classifier to a text, unless it is the first one.
func (r *Run) whose(name, classifier string) string {
	if classifier == "" || classifier == r.classifier() {
		return name
	}
	return name + ", " + classifier
}

// padded is a task, counted from 1, with zeros before it, so that sorting by name keeps the order.
func (r *Run) padded(task int) string {
	return fmt.Sprintf("%0*d", len(strconv.Itoa(len(r.Result.Stream.Tasks))), task+1)
}

// sentence makes a help text one.
func sentence(help string) string {
	return strings.ToUpper(help[:1]) + help[1:] + "."
}
