package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/spf13/cobra"

	"ocl/data"
	"ocl/internal/count"
	"ocl/predict"
)

// standardInput is the word for an image on standard input.
const standardInput = "-"

// predictFlags are the flags of `ocl predict`.
type predictFlags struct {
	top     int
	workers int
	asJSON  bool
	asCSV   bool
}

func newPredict() *cobra.Command {
	var f predictFlags
	cmd := &cobra.Command{
		Use:   "predict RUN IMAGE...",
		Short: "Label images by a trained learner.",
		Example: `  ocl predict runs/er5k cat.jpg
  ocl predict runs/er5k photos --top 5 --json
  ocl predict runs/er5k - < cat.jpg`,
		Long: "RUN is the folder of a run with a checkpoint (`ocl run` keeps it unless --keep-checkpoint=false), or of an experiment with one such run. Images are " +
			"prepared exactly as the data of the run were. IMAGE is a file, a folder or -. A folder stands for all images below it, in the order of their names, and - " +
			"for one image on standard input. Files in folders that are no images are skipped. An image that cannot be read is named, " +
			"and the others are labelled; the exit code is then 1.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage(fmt.Errorf("%s: a run and at least one image are needed. Write `ocl predict RUN IMAGE`", pathOf(cmd)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.predict(cmd, args[0], args[1:]) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntVar(&f.top, "top", 1, "guesses for each image, the best first")
	addWorkers(flags, &f.workers, "images that are worked on at the same time (default: one per processor)")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object for each image")
	flags.BoolVar(&f.asCSV, "csv", false, "print CSV")
	annotate(flags, "Flags", map[string]string{"top": "N", "workers": "N"})
	return cmd
}

func (f *predictFlags) predict(cmd *cobra.Command, run string, places []string) error {
	switch {
	case f.top < 1:
		return usage(fmt.Errorf("%s: --top %d is out of range. Use at least 1", pathOf(cmd), f.top))
	case f.asJSON && f.asCSV:
		return usage(fmt.Errorf("%s: both --json and --csv are given. Use one of them", pathOf(cmd)))
	}
	ctx, notes := cmd.Context(), cmd.ErrOrStderr()
	files, err := listImages(ctx, places, notes)
	if err != nil {
		return fmt.Errorf("%s: %w", pathOf(cmd), err)
	}
	p, err := predict.Open(ctx, run, predict.Options{AtOnce: f.workers})
	if err != nil {
		return err
	}
	defer p.Close()
	for _, note := range p.Info().Notes {
		fmt.Fprintln(notes, ended(printable(note)))
	}
	l := &labelling{p: p, in: cmd.InOrStdin(), top: min(f.top, p.Info().Guesses), out: f.printer(cmd.OutOrStdout(), p.Info())}
	show := newOpening(notes)
	l.progress = func(done int) { show.work("images labelled", done, len(files)) }
	l.fault = func(err error) {
		show.end()
		fmt.Fprintf(notes, "%s %s\n", paint(cmd, notes, red, "ocl:"), ended(printable(err.Error())))
	}
	err = l.all(ctx, files)
	show.end()
	if err = errors.Join(err, l.out.end()); err == nil && l.faults > 0 {
		err = fmt.Errorf("%s: %s of %s could not be labelled. The messages above name them", pathOf(cmd), count.Number(l.faults), count.Of(len(files), "image"))
	}
	return err
}

// listImages lists the files to label: those that are named, and the images below folders, in the order of their names. A
// note counts files in folders that are no images.
func listImages(ctx context.Context, places []string, notes io.Writer) (files []string, err error) {
	skipped, such, stdin := 0, "", 0
	for _, place := range places {
		if place == standardInput {
			if stdin++; stdin > 1 {
				return nil, usage(errors.New("- is given twice, but standard input has one image. Write it once"))
			}
			files = append(files, place)
			continue
		}
		info, err := os.Stat(place)
		if err != nil {
			return nil, fmt.Errorf("%w. Give image files, folders, or - for standard input", err)
		}
		if !info.IsDir() {
			files = append(files, place)
			continue
		}
		before := len(files)
		err = filepath.WalkDir(place, func(path string, e fs.DirEntry, err error) error {
			if err == nil {
				err = ctx.Err()
			}
			switch {
			case err != nil || e.IsDir():
			case data.IsPicture(path):
				files = append(files, path)
			default:
				skipped, such = skipped+1, path
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%w. Give folders that can be read", err)
		}
		if len(files) == before {
			return nil, fmt.Errorf("%s: there is no image below this folder. Give a folder of JPEG, PNG, GIF, WebP or BMP files", place)
		}
	}
	if skipped > 0 {
		fmt.Fprintf(notes, "%s skipped that %s no image, such as %s\n", count.Of(skipped, "file"), map[bool]string{true: "is", false: "are"}[skipped == 1], printable(such))
	}
	return files, nil
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
}

// atOnce is the number of files after which their labels are printed.
const atOnce = 64

// labelled is what became of a file.
type labelled struct {
	file    string
	guesses []predict.Guess
	err     error
}

func (l *labelling) all(ctx context.Context, files []string) error {
	for from := 0; from < len(files); from += atOnce {
		results := make([]labelled, min(atOnce, len(files)-from))
		var wg sync.WaitGroup
		for i := range results {
			results[i].file = files[from+i]
			wg.Go(func() {
				if results[i].err = ctx.Err(); results[i].err == nil {
					results[i].guesses, results[i].err = l.one(results[i].file)
				}
			})
		}
		wg.Wait()
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, r := range results {
			if r.err != nil {
				l.faults++
				l.fault(r.err)
			}
			if err := l.out.print(r); err != nil {
				return err
			}
		}
		l.progress(from + len(results))
	}
	return nil
}

// one labels a file. An error names it.
func (l *labelling) one(name string) ([]predict.Guess, error) {
	guesses := make([]predict.Guess, l.top)
	text, err := l.read(name)
	if err == nil {
		err = l.p.PredictFile(guesses, text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return guesses, nil
}

func (l *labelling) read(name string) ([]byte, error) {
	if name == standardInput {
		return data.ReadPicture(l.in)
	}
	file, err := os.Open(name)
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err // the name stands in front
		}
		return nil, err
	}
	defer file.Close()
	return data.ReadPicture(file)
}

// labelPrinter prints what became of each file; end is the last call.
type labelPrinter interface {
	print(labelled) error
	end() error
}

func (f *predictFlags) printer(w io.Writer, info predict.Info) labelPrinter {
	switch {
	case f.asJSON:
		return &labelJSON{json.NewEncoder(w), info.Measure}
	case f.asCSV:
		c := &labelCSV{csv.NewWriter(w)}
		_ = c.w.Write([]string{"image", "rank", "class", "name", string(info.Measure)}) // end tells of errors
		return c
	}
	return &labelTable{w: w, info: info, t: table{head: []string{"image", "rank", "class", string(info.Measure)}, right: []bool{false, true, false, true}}}
}

// labelJSON prints a line for each file.
type labelJSON struct {
	w       *json.Encoder
	measure predict.Measure
}

// guessJSON is a guess as `ocl predict --json` prints it. Either probability or distance is there.
type guessJSON struct {
	Class       int      `json:"class"`
	Name        string   `json:"name,omitempty"`
	Probability *float64 `json:"probability,omitempty"`
	Distance    *float64 `json:"distance,omitempty"`
}

// labelledJSON is a line: guesses, or why there are none.
type labelledJSON struct {
	Image   string      `json:"image"`
	Guesses []guessJSON `json:"guesses,omitempty"`
	Error   string      `json:"error,omitempty"`
}

func (l *labelJSON) print(r labelled) error {
	line := labelledJSON{Image: r.file}
	if r.err != nil {
		line.Error = r.err.Error()
	}
	for _, g := range r.guesses {
		out := guessJSON{Class: g.Class, Name: g.Name}
		if l.measure == predict.Distance {
			out.Distance = &g.Value
		} else {
			out.Probability = &g.Value
		}
		line.Guesses = append(line.Guesses, out)
	}
	return l.w.Encode(line)
}

func (l *labelJSON) end() error { return nil }

// labelCSV prints a line for each guess. Files without guesses have none.
type labelCSV struct{ w *csv.Writer }

func (l *labelCSV) print(r labelled) error {
	for i, g := range r.guesses {
		if err := l.w.Write([]string{r.file, strconv.Itoa(i + 1), strconv.Itoa(g.Class), g.Name, strconv.FormatFloat(g.Value, 'g', 6, 64)}); err != nil {
			return err
		}
	}
	return nil
}

func (l *labelCSV) end() error {
	l.w.Flush()
	return l.w.Error()
}

// labelTable prints all guesses at the end, as columns depend on all of them.
type labelTable struct {
	w    io.Writer
	info predict.Info
	t    table
}

func (l *labelTable) print(r labelled) error {
	for i, g := range r.guesses {
		name, value := g.Name, percent(g.Value)
		if name == "" {
			name = "class " + strconv.Itoa(g.Class)
		}
		if l.info.Measure == predict.Distance {
			value = fmt.Sprintf("%.3f", g.Value)
		}
		l.t.rows = append(l.t.rows, []string{printable(r.file), strconv.Itoa(i + 1), printable(name), value})
	}
	return nil
}

func (l *labelTable) end() error {
	if len(l.t.rows) == 0 {
		return nil
	}
	return l.t.write(l.w)
}
