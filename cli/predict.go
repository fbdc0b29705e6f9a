package cli

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

	"ocl/config"
	"ocl/data"
	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/predict"
	"ocl/run/trained"
)

// standardInput is the word for an image on standard input.
const standardInput = "-"

// silence is the longest time in which nothing arrives at standard input. Tests have less.
var silence = limit.SilenceSeconds * time.Second

// predictFlags are the flags of `ocl predict`.
type predictFlags struct {
	top        int
	classifier string
	older      bool
	backbone   string
	workers    int
	asJSON     jsonFlag
	asCSV      bool
	quiet      bool
	unknown    float64 // share of known images that may be refused; 0 refuses none
	coverage   float64
}

func newPredict() *cobra.Command {
	var f predictFlags
	cmd := &cobra.Command{
		Use:   "predict RUN IMAGE...",
		Short: "Label images by a trained learner.",
		Example: `  ocl predict runs/er5k cat.jpg
  ocl predict runs/er5k photos --top 5 --json all
  ocl predict runs/er5k - < cat.jpg`,
		Long: "RUN is the folder of a run with a checkpoint (`ocl run` keeps it unless --keep-checkpoint=false), or of an experiment with one such run. Images are " +
			"prepared exactly as the data of the run were. A learner of grey images gets coloured images as grey ones. IMAGE is a file, a folder or -, which is one image on " +
			"standard input. A folder stands for the files below it that end in " + strings.Join(data.PictureEndings(), ", ") +
			" or begin as such an image, in the order of their names; " +
			"other files and hidden ones are skipped and counted on standard error. An image that cannot be read is named there, and --json and --csv have an error in its place. " +
			"The other images are labelled, and the exit code is 1. Probabilities are calibrated: of guesses with 80 %, about 80 % are right. An image that looks stranger than 95 % of those of the classes that were learned is marked. docs/pictures.md explains both.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage(fmt.Errorf("%s: a run and at least one image are needed. Write `ocl predict RUN IMAGE`", pathOf(cmd)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.predict(cmd, args[0], args[1:]) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.top, "top", 1, "N\tguesses for each image, the best first")
	addClassifier(cmd, &f.classifier)
	addOlder(cmd, &f.older)
	addBackbone(cmd, &f.backbone)
	addWorkers(flags, &f.workers, "images that are worked on at the same time (default: one per processor)")
	addJSON(cmd, &f.asJSON, labelledJSON{})
	flags.Lookup("json").Usage += "; one object a line for each image"
	flags.BoolVar(&f.asCSV, "csv", false, "print CSV")
	addUnknown(flags, &f.unknown)
	addCoverage(flags, &f.coverage)
	addQuiet(flags, &f.quiet)
	return cmd
}

func (f *predictFlags) predict(cmd *cobra.Command, run string, places []string) error {
	switch {
	case f.top < 1:
		return usage(fmt.Errorf("%s: --top %d is out of range. Use at least 1", pathOf(cmd), f.top))
	case f.asJSON.given && f.asCSV:
		return usage(fmt.Errorf("%s: both --json and --csv are given. Use one of them", pathOf(cmd)))
	}
	ctx, notes := cmd.Context(), cmd.ErrOrStderr()
	if file, is := cmd.InOrStdin().(*os.File); is && slices.Contains(places, standardInput) &&
		term.IsTerminal(int(file.Fd())) {
		return usage(fmt.Errorf("%s: - is an image on standard input, but that is a terminal. Write `ocl predict %s - < IMAGE`",
			pathOf(cmd), escape.Word(run)))
	}
	if err := notSwapped(cmd, run, places...); err != nil {
		return err
	}
	files, err := listImages(ctx, places, notes)
	if err != nil {
		return fmt.Errorf("%s: %w", pathOf(cmd), err)
	}
	p, err := predict.Open(ctx, run, predict.Options{Classifier: f.classifier, Older: f.older, AtOnce: f.workers,
		Backbone: f.backbone, Unknown: f.unknown, Coverage: f.coverage})
	if err != nil {
		return unfit(err)
	}
	defer p.Close()
	printNotes(notes, p.Info().Notes)
	if most := p.Info().Guesses; f.top > most {
		fmt.Fprintf(notes, "--top %s: there are %s for each image, as the learner can name no more classes.\n",
			count.Number(f.top), count.Of(most, "guess"))
	}
	in := input.Stream(ctx, cmd.InOrStdin(), silence)
	l := &labelling{p: p, in: in, top: min(f.top, p.Info().Guesses), out: f.printer(cmd.OutOrStdout(), p.Info())}
	if f.coverage > 0 {
		l.top = p.Info().Guesses
	}
	show := newOpening(notes, f.quiet)
	l.progress = func(done int) { show.work("images labelled", done, len(files)) }
	l.fault = func(err error) {
		show.end()
		fmt.Fprintf(notes, "%s %s\n", paint(cmd, notes, red, "ocl:"), sentence(err.Error()))
	}
	err = l.all(ctx, files)
	show.end()
	l.strangers(notes)
	if err = errors.Join(err, l.out.end()); err == nil && l.faults > 0 {
		err = fmt.Errorf("%s: %s of %s could not be labelled. The messages above name them", pathOf(cmd),
			count.Number(l.faults), count.Of(len(files), "image"))
	}
	return err
}

// notSwapped refuses something else in the place of a run, where one of the places of pictures is a run.
func notSwapped(cmd *cobra.Command, run string, places ...string) error {
	if trained.HasRun(run) {
		return nil
	}
	for _, place := range places {
		if place != "" && trained.HasRun(place) {
			return usage(fmt.Errorf("%s: there is no run in %s, but in %s: swapped? Give the run first, and then the pictures",
				pathOf(cmd), run, place))
		}
	}
	return nil
}

// addClassifier defines --classifier.
func addClassifier(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "classifier", "", "NAME\twhat predicts, if the run has several: "+
		strings.Join(config.Classifiers(),
			", ")+" (default: the first of the run's --classifiers)")
	completeFlag(cmd, "classifier", config.Classifiers)
}

// share is the value of a flag that is a number between 0 and 1.
type share struct{ to *float64 }

func (s share) String() string {
	if s.to == nil || *s.to == 0 {
		return ""
	}
	return strconv.FormatFloat(*s.to, 'g', -1, 64)
}

func (share) Type() string { return "share" }

func (s share) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v < 1) {
		return errors.New(valueWords(&pflag.Flag{Value: s}))
	}
	*s.to = v
	return nil
}

// addUnknown defines --unknown-below.
func addUnknown(flags *pflag.FlagSet, to *float64) {
	flags.Var(share{to}, "unknown-below",
		"Q\tcall images unknown that look stranger than all but a share Q of those of known classes, such as 0.05; "+
			"about half of the images of other classes are found so (default: 0.05, as a note)")
}

// addCoverage defines --coverage.
func addCoverage(flags *pflag.FlagSet, to *float64) {
	flags.Var(share{to}, "coverage",
		"C\tname as many classes as are needed to have the right one among them for a share C of the images, such as 0.95")
}

// addOlder defines --older.
func addOlder(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "older", false, "if the newest checkpoint is damaged, take the one before it, and record that")
}

// addBackbone defines --backbone of a command that takes the pretrained network of a run.
func addBackbone(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "backbone", "",
		"FILE\tfile of the run's pretrained network on this machine (default: where the run had it)")
	_ = cmd.MarkFlagFilename("backbone", "safetensors")
}

// listImages lists what to label: files that are named, and the images below folders, in the order of their names. A
// place that cannot be read has its error, so that the others are labelled. A note counts the files that are skipped.
func listImages(ctx context.Context, places []string, notes io.Writer) (files []labelled, err error) {
	var hidden, others skippedFiles
	var unread data.Unread
	stdin := 0
	for _, place := range places {
		if place == standardInput {
			if stdin++; stdin > 1 {
				return nil, usage(errors.New("- is given twice, but standard input has one image. Write it once"))
			}
		}
		if info, err := os.Stat(place); place == standardInput || err != nil || !info.IsDir() {
			files = append(files, labelled{file: place}) // reading it later returns the error
			continue
		}
		before := len(files)
		_ = input.Walk(place, func(path string, e fs.DirEntry, err error) error {
			secret := path != place && strings.HasPrefix(filepath.Base(path), ".")
			switch {
			case ctx.Err() != nil:
				return filepath.SkipAll
			case err != nil:
				files = append(files, labelled{file: path, err: fmt.Errorf("%s: %w. Give a folder that can be read", path,
					cause.Of(err))})
			case secret:
				hidden.add(path)
				if e.IsDir() {
					return filepath.SkipDir
				}
			case e.IsDir():
			case e.Type()&^fs.ModeSymlink == 0 && data.IsPictureFile(path): // reading a pipe may never end
				files = append(files, labelled{file: path})
			case e.Type()&^fs.ModeSymlink == 0 && unread.Add(path):
			default:
				others.add(path)
			}
			return nil
		})
		if len(files) == before {
			files = append(files, labelled{file: place,
				err: fmt.Errorf("%s: there is no image below this folder. Give a folder of files that end in %s",
					place, strings.Join(data.PictureEndings(), ", "))})
		}
	}
	hidden.note(notes, "hidden path")
	others.note(notes, "non-image file")
	printNotes(notes, unread.Notes())
	return files, ctx.Err()
}

// skippedFiles are files of folders that are not labelled.
type skippedFiles struct {
	n    int
	such string
}

func (s *skippedFiles) add(path string) { s.n, s.such = s.n+1, path }

func (s *skippedFiles) note(w io.Writer, what string) {
	if s.n > 0 {
		fmt.Fprintf(w, "%s skipped, such as %s\n", count.Of(s.n, what), escape.Line(s.such))
	}
}

// labelling labels files, several at the same time, and prints them in their order.
type labelling struct {
	p        *predict.Predictor
	in       io.Reader // standard input
	top      int
	out      labelPrinter
	progress func(done int)
	fault    func(error)
	faults   int
	unknown  int
}

// atOnce is the number of files after which their labels are printed.
const atOnce = 64

// labelled is the result for one file: its guesses or an error.
type labelled struct {
	file string
	predict.Answer
	err error
}

func (l *labelling) all(ctx context.Context, files []labelled) error {
	for from := 0; from < len(files); from += atOnce {
		results := files[from:min(from+atOnce, len(files))]
		var group errgroup.Group
		group.SetLimit(2 * runtime.GOMAXPROCS(0)) // one may wait for the disk while another is decoded
		for i := range results {
			if results[i].err != nil {
				continue // its folder could not be read
			}
			group.Go(func() error {
				if results[i].err = ctx.Err(); results[i].err == nil {
					results[i].Answer, results[i].err = l.one(ctx, results[i].file)
				}
				return nil // so that the others go on
			})
		}
		_ = group.Wait()
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, r := range results {
			if r.err != nil {
				l.faults++
				l.fault(r.err)
			}
			if r.Unknown {
				l.unknown++
			}
			if err := l.out.print(r); err != nil {
				return err
			}
		}
		clear(results) // there may be very many files
		l.progress(from + len(results))
	}
	return nil
}

// one labels a file. An error names it.
func (l *labelling) one(ctx context.Context, name string) (a predict.Answer, err error) {
	if err = l.answer(ctx, name, &a); err != nil {
		return a, fmt.Errorf("%s: %w", name, err)
	}
	if a.Set > 0 {
		a.Guesses = a.Guesses[:a.Set]
	}
	return a, nil
}

// strangers says what unknown means, where an image is.
func (l *labelling) strangers(w io.Writer) {
	s := l.p.Info().Sureness
	if s == nil || l.unknown == 0 {
		return
	}
	fmt.Fprintf(w, "Unknown: %s. Such images look stranger than %s of those of known classes; of images of other classes %s, are found so.\n",
		count.Of(l.unknown, "image"), percent(1-s.Unknown), found(s))
}

func (l *labelling) answer(ctx context.Context, name string, a *predict.Answer) (err error) {
	if name == standardInput {
		text, err := data.ReadPicture(l.in)
		if errors.Is(err, input.ErrSilent) {
			err = fmt.Errorf("%w on standard input. Write `ocl predict RUN - < IMAGE`", err)
		}
		if err != nil {
			return err
		}
		*a, err = l.p.AnswerFile(ctx, text, l.top)
		return err
	}
	var fault error // of the prediction
	err = data.UsePictureFile(ctx, name, func(file []byte) error {
		*a, fault = l.p.AnswerFile(ctx, file, l.top)
		return nil
	})
	if err != nil && !errors.Is(err, input.ErrSize) {
		err = fmt.Errorf("%w. Give image files, folders, or - for standard input", err)
	}
	return errors.Join(err, fault)
}

// labelPrinter prints the result for each file; end is called last.
type labelPrinter struct {
	print func(labelled) error
	end   func() error
}

func (f *predictFlags) printer(w io.Writer, info predict.Info) labelPrinter {
	switch {
	case f.asJSON.given: // a line for each file
		return labelPrinter{func(r labelled) error {
			picked, err := f.asJSON.pick(newLabelledJSON(r, info))
			if err != nil {
				return err
			}
			return encodeJSON(w, picked, "")
		}, func() error { return nil }}
	case f.asCSV: // a line for each guess, and one with the error for a file without guesses
		c := csv.NewWriter(w)
		head := []string{"image", "rank", "class", "name", string(info.Measure), "error", "unknown"}
		write := func(line ...string) error { return c.Write(escape.CSV(line)) }
		if info.Older {
			head = append(head, "older_checkpoint")
			write = func(line ...string) error { return c.Write(escape.CSV(append(line, info.Checkpoint))) }
		}
		_ = c.Write(head) // end tells of errors
		return labelPrinter{func(r labelled) error {
			if r.err != nil {
				return write(r.file, "", "", "", "", r.err.Error(), "")
			}
			unknown := ""
			if info.Sureness != nil {
				unknown = strconv.FormatBool(r.Unknown)
			}
			for i, g := range r.Guesses {
				if err := write(r.file, strconv.Itoa(i+1), strconv.Itoa(g.Class), g.Name, strconv.FormatFloat(g.Value, 'g', 6, 64),
					"", unknown); err != nil {
					return err
				}
			}
			return nil
		}, func() error { c.Flush(); return c.Error() }}
	}
	t := table{head: []string{"image", ">rank", "class", ">" + string(info.Measure)}}
	return labelPrinter{func(r labelled) error {
		if r.Unknown && f.unknown > 0 {
			t.rows = append(t.rows, []string{r.file, "1", "unknown", ""})
			return nil
		}
		for i, g := range r.Guesses {
			value := percent(g.Value)
			if info.Measure == predict.Distance {
				value = fmt.Sprintf("%.3f", g.Value)
			}
			class := cmp.Or(g.Name, "class "+strconv.Itoa(g.Class))
			if r.Unknown && i == 0 {
				class += " (unknown?)"
			}
			t.rows = append(t.rows, []string{r.file, strconv.Itoa(i + 1), class, value})
		}
		return nil
	}, func() error { // columns depend on all guesses
		if len(t.rows) == 0 {
			return nil
		}
		if err := t.write(w); err != nil || !info.Older {
			return err
		}
		_, err := fmt.Fprintf(w, "\nThe labels are those of the older checkpoint %s.\n", escape.Line(info.Checkpoint))
		return err
	}}
}

// labelledJSON is a line of `ocl predict --json`: guesses, or why there are none, and what made them.
type labelledJSON struct {
	Image string `json:"image"`
	// Bytes is the name where it is not UTF-8. JSON has no other texts, so Image has U+FFFD for what is none.
	Bytes   []byte      `json:"image_base64,omitempty"`
	Guesses []guessJSON `json:"guesses,omitempty"`
	// Familiarity is the share of images of known classes that look as strange, in (0,1], where the learner is calibrated.
	// If it is small, the image is unknown: it looks like none of the classes.
	Familiarity *float64 `json:"familiarity,omitempty"`
	Unknown     *bool    `json:"unknown,omitempty"`
	Error       string   `json:"error,omitempty"`
	Run         string   `json:"run"`
	Digest      string   `json:"checkpoint_digest"`
	Step        int      `json:"step"`                       // of the learner
	Older       bool     `json:"older_checkpoint,omitempty"` // newer checkpoints could not be read
}

// guessJSON is a guess. Either probability or distance is there.
type guessJSON struct {
	Class       int      `json:"class"`
	Name        string   `json:"name,omitempty"`
	Probability *float64 `json:"probability,omitempty"`
	Distance    *float64 `json:"distance,omitempty"`
}

func newLabelledJSON(r labelled, info predict.Info) labelledJSON {
	line := labelledJSON{Image: r.file, Run: info.Folder, Digest: info.Digest, Step: info.Steps, Older: info.Older}
	if !utf8.ValidString(r.file) {
		line.Bytes = []byte(r.file)
	}
	if r.err != nil {
		line.Error = r.err.Error()
	}
	if info.Sureness != nil && r.err == nil {
		line.Familiarity, line.Unknown = &r.Familiarity, &r.Unknown
	}
	for _, g := range r.Guesses {
		out := guessJSON{Class: g.Class, Name: g.Name, Probability: &g.Value}
		if info.Measure == predict.Distance {
			out.Probability, out.Distance = nil, &g.Value
		}
		line.Guesses = append(line.Guesses, out)
	}
	return line
}
