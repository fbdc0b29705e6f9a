package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ocl/data"
	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/internal/nearest"
)

func newDataInfo() *cobra.Command {
	var (
		keys   *configFlags
		stats  bool
		quiet  bool
		asJSON jsonFlag
	)
	cmd := &cobra.Command{
		Use:   "info NAME",
		Short: "Describe a data set: what it holds, where to get it and how it must lie on disk; with --data-dir, what is there.",
		Example: `  ocl data info cifar100
  ocl data info csv --data-dir photos.csv
  ocl data info cifar100 --stats --data-dir DIR > exp.yaml`,
		Long: "--data-dir opens the files that are there, and prints how they are read, how many images, classes, tasks and domains they have, with the names, " +
			"the digest and notes. --stats reads the training images, and prints mean and standard deviation of each channel as keys of a " +
			"config: a run with them has inputs of mean 0 and deviation 1.",
		ValidArgsFunction: completeFirst(data.Names),
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, err := lookupData(keys.words[0])
			if err != nil {
				return err
			}
			switch {
			case stats || cmd.Flags().Changed("data-dir") || len(keys.pairs) > 0:
				spec, err := keys.spec(cmd, info.Name)
				if err != nil {
					return err
				}
				return printOpened(cmd, info, spec, stats, quiet, &asJSON)
			case asJSON.given:
				return asJSON.print(cmd.OutOrStdout(), newDataJSON(info))
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), infoText(info))
			return err
		},
	}
	cmd.Flags().BoolVar(&stats, "stats", false, "print mean and standard deviation of each channel of the training images")
	addQuiet(cmd.Flags(), &quiet)
	keys = addConfig(cmd, false, ofData, "NAME")
	addJSON(cmd, &asJSON, dataJSON{}, contentsJSON{}, statsJSON{})
	return cmd
}

// statsJSON is the JSON that `ocl data info --stats --json` prints.
type statsJSON struct {
	Name   string    `json:"name"`
	Images int       `json:"images"` // for training
	Mean   []float64 `json:"mean"`
	Std    []float64 `json:"std"`
	Digest string    `json:"digest"` // of the data
}

// contentsJSON is the JSON that `ocl data info NAME --data-dir PATH --json` prints. Lists are never null.
type contentsJSON struct {
	Name       string   `json:"name"`
	Reading    string   `json:"reading"` // what says the classes of one's own images; "" of other data sets
	Train      int      `json:"train"`   // images
	Test       int      `json:"test"`
	Shape      [3]int   `json:"shape"` // C, H, W
	Classes    int      `json:"classes"`
	ClassNames []string `json:"class_names"`
	Tasks      int      `json:"tasks"` // that the files give
	TaskNames  []string `json:"task_names"`
	Domains    []string `json:"domains"`
	Digest     string   `json:"digest"`
	Notes      []string `json:"notes"`
}

// infoText describes a data set.
func infoText(info data.Info) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n%s\n\n", info.Name, info.Title, strings.Join(fold(info.Summary, 96), "\n"))
	field := func(name, text string) { writeField(&b, "  %-10s %s\n", name, text) }
	number := func(n int) string {
		if n == 0 {
			return "as in the file"
		}
		return count.Number(n)
	}
	field("classes", number(info.Classes))
	if info.Train == 0 {
		field("images", "as in the file, "+info.Shape)
	} else {
		field("images", fmt.Sprintf("%s for training, %s for testing, %s", number(info.Train), number(info.Test), info.Shape))
	}
	if info.MaxSize > 0 {
		field("size", fmt.Sprintf("%d pixels a side; with data.size, %d to %d", info.Size, info.MinSize, info.MaxSize))
	}
	field("layout", info.Layout)
	field("source", info.Source)
	field("licence", info.Licence)
	field("citation", info.Citation)
	field("example", info.Example)
	return b.String()
}

// writeField writes the name of a field and its text, folded.
func writeField(b *strings.Builder, format, name, text string) {
	for text := range strings.Lines(text) {
		for _, line := range fold(text, 84) {
			fmt.Fprintf(b, format, name, escape.Line(line))
			name = ""
		}
	}
}

// printOpened opens a data set and says what is in it, or prints its statistics.
func printOpened(cmd *cobra.Command, info data.Info, spec data.Spec, stats, quiet bool, asJSON *jsonFlag) error {
	show := newOpening(cmd.ErrOrStderr(), quiet)
	spec.Progress = show.work
	set, err := data.Open(cmd.Context(), spec)
	var st data.Stats
	if err == nil && stats {
		st, err = data.Statistics(cmd.Context(), set,
			func(done, total int) { show.work(set.Name+": images read", done, total) })
	}
	show.end()
	switch {
	case err != nil:
		return err
	case stats && asJSON.given:
		return asJSON.print(cmd.OutOrStdout(), statsJSON{set.Name, st.Images, st.Mean, st.Std, set.Digest})
	case asJSON.given:
		return asJSON.print(cmd.OutOrStdout(), contentsJSON{
			set.Name, set.Reading, set.Train.Len(), set.Test.Len(), [3]int{set.C, set.H, set.W}, set.Classes,
			notNil(set.ClassNames),
			set.Tasks, notNil(set.TaskNames), notNil(set.Domains), set.Digest, notNil(set.Notes),
		})
	case !stats:
		return writeContents(cmd.OutOrStdout(), info, set)
	}
	printNotes(cmd.ErrOrStderr(), set.Notes)
	return writeStats(cmd.OutOrStdout(), set, st)
}

// writeStats prints statistics as YAML. A deviation of 0 is no value of stream.std, so 1 stands in its place.
func writeStats(w io.Writer, set *data.Set, st data.Stats) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s, pixels from 0 to 1\n", set.Name, count.Of(st.Images, "training image"))
	mean, std := make([]string, set.C), make([]string, set.C)
	for c := range mean {
		mean[c], std[c] = fmt.Sprintf("%.4g", st.Mean[c]), fmt.Sprintf("%.4g", st.Std[c])
		if st.Std[c] == 0 {
			std[c] = "1"
			fmt.Fprintf(&b, "# channel %d has one value everywhere: its deviation is 0, and 1 stands in its place\n", c+1)
		}
	}
	fmt.Fprintf(&b, "stream:\n  mean: [%s]\n  std: [%s]\n", joinWords(mean), joinWords(std))
	_, err := io.WriteString(w, b.String())
	return err
}

// listedNames bounds the names of classes, tasks or domains that are printed.
const listedNames = 40

// writeContents prints a data set that is open: a line for each fact, longer ones folded.
func writeContents(w io.Writer, info data.Info, set *data.Set) error {
	var b strings.Builder
	field := func(name, text string) { writeField(&b, "%-9s %s\n", name, text) }
	field("data set", set.Name)
	if set.Reading != "" {
		text := set.Reading + "."
		if len(info.Readings) > 0 {
			text += " To choose another, add data.reading=" + nearest.Or(info.Readings) + "."
		}
		field("reading", text)
	}
	field("images", fmt.Sprintf("%s for training, %s for testing, %s", count.Number(set.Train.Len()),
		count.Number(set.Test.Len()), shapeOf(set)))
	field("classes", withNames(set.Classes, set.ClassNames))
	if set.Tasks > 0 {
		field("tasks", withNames(set.Tasks, set.TaskNames))
	}
	if len(set.Domains) > 0 {
		field("domains", withNames(len(set.Domains), set.Domains))
	}
	field("digest", set.Digest)
	for _, note := range set.Notes {
		if note != set.Reading { // which stands above
			field("note", ended(note))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// withNames is a number and the names behind it, as many as are printed.
func withNames(n int, names []string) string {
	text := count.Number(n)
	if len(names) == 0 {
		return text
	}
	return text + ": " + count.First(listedNames, names)
}

// shapeOf says what a sample of a set is.
func shapeOf(set *data.Set) string {
	if set.Embeddings {
		return "embeddings of " + count.Of(set.C, "number")
	}
	return fmt.Sprintf("%d×%d×%d", set.C, set.H, set.W)
}
