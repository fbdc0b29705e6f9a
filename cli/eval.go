package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
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
	"ocl/internal/escape"
	"ocl/interop/output"
	"ocl/predict"
	"ocl/run/experiment"
	"ocl/run/metric"
	"ocl/run/result"
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
	unknown float64 // share of known images that may be called unknown
	foreign string  // images of other classes; "" is none
	cover   float64 // of sets of classes; 0 is none
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
			"counts for more; the mean over classes is printed beside it. Probabilities are measured too: the calibration error is how far they are from the share that is right (docs/pictures.md). -o writes the confusion matrix and the reliability of the probabilities as SVG, PNG, PDF and CSV, and all that --json prints as evaluation.json.",
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
	addUnknown(flags, &f.unknown)
	addCoverage(flags, &f.cover)
	flags.StringVar(&f.foreign, "unknown", "",
		"DIR\talso measure how many images of this folder are called unknown: they are of classes that the learner does not know")
	_ = cmd.MarkFlagDirname("unknown")
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
	p, err := predict.Open(ctx, run, predict.Options{Classifier: f.by, Older: f.older, AtOnce: f.workers, Backbone: file,
		Unknown: f.unknown, Coverage: f.cover})
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
	// Where the parents are gone, names are those that the run has now.
	past, _ := trained.Learned(info.Folder)
	own := dir == "" && c.Data.Name == info.Config.Data.Name && f.config.file == "" // read as the run has read them
	set, err := experiment.OpenData(ctx, c, experiment.Options{Progress: show.work, Embedding: show.embedding,
		OneClass: !own || info.Config.Parent.Run != "",
		Images: func(set *data.Set) error { // before the embeddings, which take long
			err := p.Check(set, options)
			for _, run := range past { // before it is known whether these are its data
				o := options
				o.Changes = run.Changes
				if err != nil && p.Check(set, o) == nil {
					return nil
				}
			}
			return err
		}})
	if err != nil {
		show.end()
		err = unfit(err)
		if _, given := f.config.text("data.dir"); !given && errors.Is(err, fs.ErrNotExist) && f.config.file == "" &&
			c.Data.Dir != "" && !filepath.IsAbs(c.Data.Dir) {
			err = fmt.Errorf("%w. %s was looked for here and in the folders above %s", err, c.Data.Dir, info.Folder)
		}
		return err
	}
	if at := slices.IndexFunc(past, func(run trained.Past) bool { return run.Data == set.Digest }); at >= 0 {
		options.Changes = past[at].Changes
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
	foreign, err := f.strangers(cmd, p, e)
	if err != nil {
		return err
	}
	if f.out != "" {
		if err := writeEvaluation(f.out, info, e, foreign); err != nil {
			return fmt.Errorf("%s: %w. %s", pathOf(cmd), err, output.Remedy(err))
		}
	}
	if !f.asJSON.given { // it has the notes
		printNotes(notes, e.Notes)
	}
	text := evaluationText(info, e, foreign)
	if f.out != "" {
		text += "\nwritten to " + escape.Line(f.out) + ": evaluation.json, and tables and figures of the same\n"
	}
	return f.asJSON.printOr(cmd.OutOrStdout(), newEvalJSON(info, e, foreign), text)
}

// data is the config of the data: those of the run, or others of flags, with images of the learner's shape.
func (f *evalFlags) data(cmd *cobra.Command, info predict.Info) (config.Config, error) {
	f.config.settle = func(c *config.Config) {
		if f.config.file == "" {
			c.Data, c.Engine = info.Config.Data, info.Config.Engine // the last bits of embeddings depend on the engine
			if _, moved := f.config.text("data.dir"); moved {
				c.Data.Reading = "" // of the images there
			}
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
	// expected calibration error of the probabilities, in [0,1]; null where values are distances
	ECE         *float64         `json:"ece"`
	Reliability []reliabilityBin `json:"reliability"`
	Unknown     *unknownJSON     `json:"unknown"` // null where the learner is not calibrated
	Sets        *setsJSON        `json:"sets"`    // null without --coverage
	Notes       []string         `json:"notes"`
}

// reliabilityBin has the images whose best class has a probability in (Low, High].
type reliabilityBin struct {
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Images   int     `json:"images"`
	Mean     float64 `json:"mean_probability"`
	Accuracy float64 `json:"accuracy"`
}

// unknownJSON says what is called unknown, where a share of the known images may be.
type unknownJSON struct {
	Share   float64      `json:"share"`   // that may be
	Known   int          `json:"known"`   // images measured that are
	Foreign *foreignJSON `json:"foreign"` // of --unknown
}

// setsJSON says what sets of classes are worth.
type setsJSON struct {
	Coverage float64 `json:"coverage"` // that was asked for
	Covered  float64 `json:"covered"`  // share of the images whose right class is in the set
	Classes  float64 `json:"classes"`  // a set, the mean
}

// foreignJSON has what was measured on images of other classes.
type foreignJSON struct {
	Folder  string  `json:"folder"`
	Images  int     `json:"images"`
	Unknown int     `json:"unknown"`
	AUROC   float64 `json:"auroc"` // how often a known image looks more familiar than one of them
}

// reliability lists the bins of an evaluation that have images.
func reliability(e *predict.Evaluation) []reliabilityBin {
	list := []reliabilityBin{}
	for i, b := range e.Reliability {
		if n := float64(b.N); b.N > 0 {
			list = append(list, reliabilityBin{float64(i) / metric.ReliabilityBins, float64(i+1) / metric.ReliabilityBins, b.N,
				b.Confidence / n, float64(b.Right) / n})
		}
	}
	return list
}

// strangers measures the images of --unknown; nil without.
func (f *evalFlags) strangers(cmd *cobra.Command, p *predict.Predictor, e *predict.Evaluation) (*foreignJSON, error) {
	if f.foreign == "" {
		return nil, nil
	}
	if p.Info().Sureness == nil {
		return nil, fmt.Errorf("%s: the learner is not calibrated, so nothing is unknown to it. Leave out --unknown",
			pathOf(cmd))
	}
	ctx, notes := cmd.Context(), cmd.ErrOrStderr()
	files, err := listImages(ctx, []string{f.foreign}, notes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pathOf(cmd), err)
	}
	found, show := &foreignJSON{Folder: f.foreign}, newOpening(notes, f.quiet)
	defer show.end()
	var scores []float64
	l := &labelling{p: p, top: 1, progress: func(done int) { show.work("images of other classes", done, len(files)) }}
	l.fault = func(err error) {
		show.end()
		fmt.Fprintf(notes, "%s %s\n", paint(cmd, notes, red, "ocl:"), sentence(err.Error()))
	}
	l.out = labelPrinter{print: func(r labelled) error {
		if r.err == nil {
			scores = append(scores, r.Score)
		}
		return nil
	}}
	if err := l.all(ctx, files); err != nil {
		return nil, err
	}
	if len(scores) == 0 {
		return nil, fmt.Errorf("%s: --unknown %s: no image of it can be read. Give a folder of images", pathOf(cmd), f.foreign)
	}
	found.Images, found.Unknown, found.AUROC = len(scores), l.unknown, metric.AUROC(e.Familiar, scores)
	return found, nil
}

// evalClassJSON is a class of the learner; accuracy is null without images.
type evalClassJSON struct {
	Class    int      `json:"class"`
	Name     string   `json:"name,omitempty"`
	Images   int      `json:"images"`
	Correct  int      `json:"correct"`
	Accuracy *float64 `json:"accuracy"`
}

func newEvalJSON(info predict.Info, e *predict.Evaluation, foreign *foreignJSON) evalJSON {
	out := evalJSON{Run: info.Folder, Checkpoint: info.Checkpoint, Digest: info.Digest, Older: info.Older, Data: e.Data,
		DataDigest: e.Digest, Half: e.Half, Classifier: info.Classifier,
		Images: e.Images, Correct: e.Correct, LeftOut: e.LeftOut, Accuracy: e.Accuracy(), ClassMean: e.ClassAccuracy(),
		Confusion: e.Confusion, Notes: notNil(e.Notes), Reliability: reliability(e)}
	if ece := e.Reliability.ECE(); !math.IsNaN(ece) {
		out.ECE = &ece
	}
	if s := info.Sureness; s != nil {
		out.Unknown = &unknownJSON{s.Unknown, e.Unknown, foreign}
		if s.Coverage > 0 {
			n := float64(e.Images)
			out.Sets = &setsJSON{s.Coverage, float64(e.Covered) / n, float64(e.Named) / n}
		}
	}
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
func evaluationText(info predict.Info, e *predict.Evaluation, foreign *foreignJSON) string {
	head := fmt.Sprintf("%s, %s images: accuracy %s (%s of %s); mean over classes %s\n", e.Data, e.Half,
		percent(e.Accuracy()),
		count.Number(e.Correct), count.Of(e.Images, "image"), percent(e.ClassAccuracy())) + surenessText(info, e, foreign) + "\n"
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

// found says which share of the images of other classes is called unknown: docs/pictures.md has what was measured.
func found(s *predict.Sureness) string {
	if s.Unknown == result.UnknownShare {
		return "about half, often fewer"
	}
	return fmt.Sprintf("about half at %s, often fewer", percent(result.UnknownShare))
}

// surenessText says what the probabilities are worth, and what is called unknown.
func surenessText(info predict.Info, e *predict.Evaluation, foreign *foreignJSON) (text string) {
	s := info.Sureness
	if ece := e.Reliability.ECE(); !math.IsNaN(ece) {
		text = fmt.Sprintf("calibration error of the probabilities: %.1f points\n", 100*ece)
		if s == nil {
			text = "The probabilities are not calibrated. " + text
		}
	}
	if s == nil {
		return text
	}
	text += fmt.Sprintf("unknown where %s of known images may be: %s of these; of images of other classes %s\n",
		percent(s.Unknown), percent(float64(e.Unknown)/float64(e.Images)), found(s))
	if s.Coverage > 0 {
		n := float64(e.Images)
		text += fmt.Sprintf("sets for a coverage of %s: the right class is in %s of them; they have %.2f classes on average\n",
			percent(s.Coverage), percent(float64(e.Covered)/n), float64(e.Named)/n)
	}
	if foreign != nil {
		text += fmt.Sprintf("%s: %s of %s are unknown; AUROC of known against these %.3f\n", escape.Line(foreign.Folder),
			percent(float64(foreign.Unknown)/float64(foreign.Images)), count.Of(foreign.Images, "image"), foreign.AUROC)
	}
	if foreign != nil && min(foreign.Images, e.Images) < fewImages {
		text += fmt.Sprintf("Of fewer than %d images, these shares are rough: give more images\n", fewImages)
	}
	return text
}

// fewImages are too few to measure a share by: with 100 images, a share of a half is uncertain by ten points.
const fewImages = 100

// writeEvaluation writes evaluation.json, which says what was measured and with which checkpoint, classes.csv,
// confusion.csv, the confusion as a picture in three formats, and so the reliability of the
// probabilities. Classes without images have no row in the picture.
func writeEvaluation(dir string, info predict.Info, e *predict.Evaluation, foreign *foreignJSON) error {
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
	if err := encodeJSON(&all, newEvalJSON(info, e, foreign), "  "); err != nil {
		return err
	}
	files := map[string][]byte{}
	if !math.IsNaN(e.Reliability.ECE()) {
		title := fmt.Sprintf("%s, %s images: calibration error %.1f points", e.Data, e.Half, 100*e.Reliability.ECE())
		d := chart.Draw(report.Reliability(e.Reliability), chart.File(title))
		rows := [][]string{{"low", "high", "images", "mean_probability", "accuracy"}}
		for _, b := range reliability(e) {
			text := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
			rows = append(rows, []string{text(b.Low), text(b.High), strconv.Itoa(b.Images), text(b.Mean), text(b.Accuracy)})
		}
		files["reliability.svg"], files["reliability.png"], files["reliability.pdf"] = d.SVG(title, report.ReliabilityCaption),
			d.PNG(), d.PDF(title, report.ReliabilityCaption)
		files["reliability.csv"] = report.CSV(rows)
	}
	for name, text := range map[string][]byte{"evaluation.json": all.Bytes(), "classes.csv": report.CSV(classes),
		"confusion.csv": report.CSV(confusion),
		"confusion.svg": d.SVG(title, about), "confusion.png": d.PNG(), "confusion.pdf": d.PDF(title, about)} {
		files[name] = text
	}
	for name, text := range files {
		if err := atomicfile.WriteBytes(filepath.Join(dir, name), text); err != nil {
			return err
		}
	}
	return nil
}
