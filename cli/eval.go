package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ocl/config"
	"ocl/data"
	"ocl/internal/atomicfile"
	"ocl/internal/count"
	"ocl/interop/output"
	"ocl/predict"
	"ocl/run/experiment"
	"ocl/run/trained"
	"ocl/view/chart"
	"ocl/view/report"
)

// evalFlags are the flags of `ocl eval`.
type evalFlags struct {
	config  *configFlags
	half    string
	unseen  bool
	by      string // the classifier
	older   bool
	out     string
	workers int
	quiet   bool
	asJSON  jsonFlag
}

func newEval() *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use:   "eval RUN",
		Short: "Measure a trained learner on a data set with the same classes.",
		Example: `  ocl eval runs/er5k
  ocl eval runs/er5k --data cifar100 --data-dir DIR --json accuracy,images
  ocl eval runs/photos --data folder --data-dir new-photos --half all -o measured`,
		Long: "RUN is the folder of a run with a checkpoint (`ocl run` keeps it unless --keep-checkpoint=false), or of an experiment with one such run. The data are " +
			"those of the run unless flags say otherwise. Classes are matched by name if both have names, and else by number. Images " +
			"of classes that the learner has not learned or does not know are left out. Accuracy is the share of all images that are predicted right, so a class with more images " +
			"counts for more; the mean over classes is printed beside it. -o writes the confusion matrix as SVG, PNG, PDF and CSV, and all that --json prints as evaluation.json.",
		ValidArgsFunction: completeFolder,
		RunE:              func(cmd *cobra.Command, _ []string) error { return f.eval(cmd, f.config.words[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.half, "half", predict.Test, "HALF\timages to measure on: test, train or all")
	flags.BoolVar(&f.unseen, "unseen", false, "also measure images of classes that the learner has not learned")
	addClassifier(cmd, &f.by)
	addOlder(cmd, &f.older)
	addWorkers(flags, &f.workers, "goroutines (default: one per processor)")
	flags.StringVarP(&f.out, "out", "o", "", "DIR\tfolder for the tables and the confusion matrix (default: none is written)")
	addQuiet(flags, &f.quiet)
	addJSON(cmd, &f.asJSON, evalJSON{})
	f.config = addConfig(cmd, true, func(k config.Key) bool { return strings.HasPrefix(k.Name, "data.") }, "RUN")
	return cmd
}

func (f *evalFlags) eval(cmd *cobra.Command, run string) error {
	halves := []string{predict.Test, predict.Train, predict.All}
	if !slices.Contains(halves, f.half) {
		return usage(fmt.Errorf("%s: --half cannot be %q. Use %s", pathOf(cmd), f.half, strings.Join(halves, ", ")))
	}
	dir, _ := f.config.text("data.dir")
	if err := notSwapped(cmd, run, dir); err != nil {
		return err
	}
	ctx, notes := cmd.Context(), cmd.ErrOrStderr()
	file, _ := f.config.text("data.backbone")
	p, err := predict.Open(ctx, run, predict.Options{Classifier: f.by, Older: f.older, AtOnce: f.workers, Backbone: file})
	if err != nil {
		return unfit(err)
	}
	defer p.Close()
	info := p.Info()
	c, err := f.data(cmd, info)
	if err != nil {
		return err
	}
	show := newOpening(notes, f.quiet)
	options := predict.EvaluateOptions{Half: f.half, Unseen: f.unseen}
	set, err := experiment.OpenData(ctx, c, experiment.Options{Progress: show.work, Embedding: show.embedding,
		OneClass: true,
		Images:   func(set *data.Set) error { return p.Check(set, options) }}) // before the embeddings, which take long
	if err != nil {
		show.end()
		err = unfit(err)
		if _, given := f.config.text("data.dir"); !given && errors.Is(err, fs.ErrNotExist) && f.config.file == "" &&
			c.Data.Dir != "" && !filepath.IsAbs(c.Data.Dir) {
			err = fmt.Errorf("%w. %s was looked for here and in the folders above %s", err, c.Data.Dir, info.Folder)
		}
		return err
	}
	options.Progress = func(done, total int) { show.work(set.Name+": images measured", done, total) }
	e, err := p.Evaluate(ctx, set, options)
	show.end()
	if err != nil {
		return unfit(err)
	}
	e.Notes = slices.Concat(info.Notes, set.Notes, e.Notes)
	if c.Data.Name == info.Config.Data.Name && set.Digest != info.DataDigest {
		e.Notes = append(e.Notes, "these are not the data of the run, or only a part of them: their digest is another one")
	}
	if f.out != "" {
		if err := writeEvaluation(f.out, info, e); err != nil {
			return fmt.Errorf("%s: %w. %s", pathOf(cmd), err, output.Remedy(err))
		}
	}
	if !f.asJSON.given { // it has the notes
		printNotes(notes, e.Notes)
	}
	return f.asJSON.printOr(cmd.OutOrStdout(), newEvalJSON(info, e), evaluationText(info, e))
}

// data is the config of the data: those of the run, or others of flags, with images of the learner's shape.
func (f *evalFlags) data(cmd *cobra.Command, info predict.Info) (config.Config, error) {
	f.config.settle = func(c *config.Config) {
		if f.config.file == "" {
			c.Data, c.Engine = info.Config.Data, info.Config.Engine // the last bits of embeddings depend on the engine
			c.Data.Dir, c.Data.Backbone = trained.Located(c.Data.Dir, info.Folder), trained.Located(c.Data.Backbone, info.Folder)
		}
		if name, given := f.config.text("data.name"); given && name != info.Config.Data.Name {
			backbone := c.Data
			c.Data = config.Default().Data
			c.Data.Name, c.Data.Backbone, c.Data.BackboneDigest = name, backbone.Backbone, backbone.BackboneDigest
		}
		c.Network.Name = "mlp" // it takes images of all sizes, and none is trained
		if known, err := data.Lookup(c.Data.Name); err == nil {
			if c.Data.Size == 0 && known.MinSize <= info.H && info.H <= known.MaxSize && info.H == info.W {
				c.Data.Size = info.H
			}
			if info.C == 3 && c.Data.Backbone == "" { // a backbone takes grey images as they are
				c.Data.Channels = 3
			}
		}
	}
	return f.config.config(cmd.ErrOrStderr())
}

// evalJSON is the JSON that `ocl eval --json` prints.
type evalJSON struct {
	Run        string          `json:"run"`
	Checkpoint string          `json:"checkpoint"`
	Digest     string          `json:"checkpoint_digest"`
	Older      bool            `json:"older_checkpoint"` // newer ones could not be read
	Data       string          `json:"data"`
	DataDigest string          `json:"data_digest"`
	Half       string          `json:"half"`
	Classifier string          `json:"classifier"`
	Images     int             `json:"images"`
	Correct    int             `json:"correct"`
	LeftOut    int             `json:"left_out"`
	Accuracy   float64         `json:"accuracy"`            // over images
	ClassMean  float64         `json:"mean_class_accuracy"` // each class counts the same
	Classes    []evalClassJSON `json:"classes"`
	Confusion  [][]int         `json:"confusion"` // [class][predicted]
	Notes      []string        `json:"notes"`
}

// evalClassJSON is a class of the learner; accuracy is null without images.
type evalClassJSON struct {
	Class    int      `json:"class"`
	Name     string   `json:"name,omitempty"`
	Images   int      `json:"images"`
	Correct  int      `json:"correct"`
	Accuracy *float64 `json:"accuracy"`
}

func newEvalJSON(info predict.Info, e *predict.Evaluation) evalJSON {
	out := evalJSON{Run: info.Folder, Checkpoint: info.Checkpoint, Digest: info.Digest, Older: info.Older, Data: e.Data,
		DataDigest: e.Digest, Half: e.Half, Classifier: info.Classifier,
		Images: e.Images, Correct: e.Correct, LeftOut: e.LeftOut, Accuracy: e.Accuracy(), ClassMean: e.ClassAccuracy(),
		Confusion: e.Confusion, Notes: notNil(e.Notes)}
	for k := range e.Confusion {
		images, correct, accuracy := e.Class(k)
		c := evalClassJSON{Class: k, Images: images, Correct: correct}
		if info.ClassNames != nil {
			c.Name = info.ClassNames[k]
		}
		if images > 0 {
			c.Accuracy = &accuracy
		}
		out.Classes = append(out.Classes, c)
	}
	return out
}

// nameOf is a class in tables.
func nameOf(info predict.Info, k int) string {
	if info.ClassNames != nil {
		return info.ClassNames[k]
	}
	return "class " + strconv.Itoa(k)
}

// evaluationText says the accuracy, and of each class what it is mistaken for most.
func evaluationText(info predict.Info, e *predict.Evaluation) string {
	head := fmt.Sprintf("%s, %s images: accuracy %s (%s of %s); mean over classes %s\n\n", e.Data, e.Half,
		percent(e.Accuracy()),
		count.Number(e.Correct), count.Of(e.Images, "image"), percent(e.ClassAccuracy()))
	t := table{head: []string{"class", ">images", ">correct", ">accuracy", "mistaken most for"}}
	for k, row := range e.Confusion {
		images, correct, accuracy := e.Class(k)
		if images == 0 {
			continue
		}
		wrong := 0
		for j, n := range row {
			if j != k && (wrong == k || n > row[wrong]) {
				wrong = j
			}
		}
		most := "–"
		if len(row) > 1 && wrong != k && row[wrong] > 0 {
			most = fmt.Sprintf("%s (%s)", nameOf(info, wrong), count.Number(row[wrong]))
		}
		t.rows = append(t.rows, []string{nameOf(info, k), count.Number(images), count.Number(correct), percent(accuracy),
			most})
	}
	return head + t.String()
}

// writeEvaluation writes evaluation.json, which says what was measured and with which checkpoint, classes.csv,
// confusion.csv, and the confusion as a picture in three formats. Classes without images have no row in the picture.
func writeEvaluation(dir string, info predict.Info, e *predict.Evaluation) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	classes := [][]string{{"class", "name", "images", "correct", "accuracy"}}
	confusion := [][]string{{"class", "predicted", "images"}}
	heat := &chart.Heat{RowLabel: "true class", ColLabel: "predicted class"}
	for k, row := range e.Confusion {
		images, correct, accuracy := e.Class(k)
		heat.Cols = append(heat.Cols, strconv.Itoa(k))
		if images == 0 {
			continue
		}
		classes = append(classes, []string{strconv.Itoa(k), nameOf(info, k), strconv.Itoa(images), strconv.Itoa(correct),
			strconv.FormatFloat(accuracy, 'g', 6, 64)})
		shares := make([]float64, len(row))
		for j, n := range row {
			shares[j] = float64(n) / float64(images)
			if n > 0 {
				confusion = append(confusion, []string{strconv.Itoa(k), strconv.Itoa(j), strconv.Itoa(n)})
			}
		}
		heat.Rows, heat.V = append(heat.Rows, strconv.Itoa(k)), append(heat.V, shares)
	}
	title := fmt.Sprintf("%s, %s images: %s are predicted right", e.Data, e.Half, percent(e.Accuracy()))
	about := "The share of the images of a row's class that are predicted as a column's class, in per cent. Numbers are those of classes.csv."
	d := chart.Draw(heat, chart.File(title))
	var all bytes.Buffer
	if err := encodeJSON(&all, newEvalJSON(info, e), "  "); err != nil {
		return err
	}
	for name, text := range map[string][]byte{"evaluation.json": all.Bytes(), "classes.csv": report.CSV(classes),
		"confusion.csv": report.CSV(confusion),
		"confusion.svg": d.SVG(title, about), "confusion.png": d.PNG(), "confusion.pdf": d.PDF(title, about)} {
		if err := atomicfile.WriteBytes(filepath.Join(dir, name), text); err != nil {
			return err
		}
	}
	return nil
}
