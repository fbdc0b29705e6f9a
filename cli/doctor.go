package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ocl/config"
	"ocl/data"
	"ocl/data/embed"
	"ocl/doctor"
	"ocl/internal/atomicfile"
	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/interop/output"
	"ocl/run/experiment"
	"ocl/view/report"
)

// doctorFlags are the flags of `ocl doctor`.
type doctorFlags struct {
	config *configFlags
	out    string
	move   string
	quiet  bool
	asJSON jsonFlag
}

func newDoctor() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for wrong labels, duplicates and useless files in a data set, and show them, the worst first.",
		Example: `  ocl doctor photos --backbone lite0.safetensors -o doctor
  ocl doctor photos
  ocl doctor --data cifar100 --data-dir DIR --backbone lite0.safetensors --json findings`,
		Long: "The first word is a folder of your own images, a list of them, or an .npz file; --data and --data-dir name any other data set. The command finds labels that the " +
			"other images contradict, images that are there several times, test images in the training half, classes that look alike or have few images, and files " +
			"that are tiny or cannot be read. With --backbone images are compared by the embeddings of that network, and otherwise by their pixels, which tell photographs apart badly.\n" +
			"Nothing is changed. -o writes a page with the pictures and findings.csv. --move DIR moves images that are surely mislabelled, and further copies of " +
			"images, into DIR, with their folders, and never over a file. Images with two labels stay where the others do not surely say which is right, as a person has to choose.",
		RunE: func(cmd *cobra.Command, _ []string) error { return f.examine(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "", "DIR\tfolder for doctor.html and findings.csv (default: none is written)")
	flags.StringVar(&f.move, "move", "",
		"DIR\tmove the images that findings.csv marks with move into this folder (default: none is moved)")
	addQuiet(flags, &f.quiet)
	addJSON(cmd, &f.asJSON, doctor.Findings{})
	f.config = addConfig(cmd, false, func(k config.Key) bool { return strings.HasPrefix(k.Name, "data.") })
	cmd.Use = "doctor [DATA] [KEY=VALUE...]"
	cmd.ValidArgsFunction = nil // files
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		f.config.pairs, f.config.words = pairsOf(args)
		return atMostOne("DATA")(cmd, f.config.words)
	}
	_ = cmd.MarkFlagDirname("out")
	_ = cmd.MarkFlagDirname("move")
	return cmd
}

// open makes the config of what is to be examined.
func (f *doctorFlags) open(cmd *cobra.Command) (config.Config, error) {
	name, named := f.config.text("data.name")
	dir, placed := f.config.text("data.dir")
	switch words := f.config.words; {
	case len(words) == 0 && !named:
		return config.Config{}, usage(fmt.Errorf("%s: nothing says what to examine. Give a folder of images, such as `ocl doctor photos`, or --data with the name of a data set",
			pathOf(cmd)))
	case len(words) > 0 && placed:
		return config.Config{}, usage(fmt.Errorf("%s: both %s and --data-dir %s are given. Remove one of them", pathOf(cmd),
			escape.Line(words[0]), escape.Line(dir)))
	case len(words) > 0:
		dir = words[0]
		if info, known := data.ByPath(dir); known && !named {
			name = info.Name
		}
	}
	if name == "" {
		name = "folder"
	}
	f.config.settle = func(c *config.Config) {
		c.Data.Name, c.Data.Dir, c.Network.Name = name, dir, "mlp" // which takes images of all sizes
		if info, err := data.Lookup(name); err == nil && info.Cached() {
			c.Data.Unreadable = config.UnreadableSkip
		}
	}
	return f.config.config(cmd.ErrOrStderr())
}

func (f *doctorFlags) examine(cmd *cobra.Command) error {
	ctx := cmd.Context()
	c, err := f.open(cmd)
	if err != nil {
		return err
	}
	info, err := data.Lookup(c.Data.Name)
	if err == nil && len(info.Readings) > 0 && c.Data.Backbone == "" && c.Data.Size == 0 {
		c.Data.Size = pageSide
	}
	show := newOpening(cmd.ErrOrStderr(), f.quiet)
	var images *data.Set
	set, err := experiment.OpenData(ctx, c, experiment.Options{Progress: show.work, Whole: true,
		Images:    func(s *data.Set) error { images = s; return nil },
		Embedding: func(w embed.Work) error { return show.embedding(w) }})
	var found *doctor.Findings
	if err == nil {
		o := doctor.Options{Progress: show.work}
		if images == nil {
			images = set
		} else {
			o.Features = set
		}
		found, err = doctor.Examine(ctx, images, o)
	}
	show.end()
	if err != nil {
		return unfit(named(err, "Use --data-dir with", "Give"))
	}
	if f.out != "" {
		err = f.write(cmd, c.Data.Dir, images, found)
	}
	moved := 0
	if err == nil && f.move != "" {
		moved, err = moveImages(pathOf(cmd), c.Data.Dir, f.move, images, found)
	}
	if err != nil {
		return err
	}
	var b strings.Builder
	writeFindings(&b, c.Data.Dir, found)
	if f.out != "" {
		fmt.Fprintf(&b, "\n%s\n", escape.Line(filepath.Join(f.out, "doctor.html")))
	}
	if f.move != "" {
		fmt.Fprintf(&b, "\n%s moved to %s\n", count.Of(moved, "image"), escape.Line(f.move))
	}
	return f.asJSON.printOr(cmd.OutOrStdout(), found, b.String())
}

// write writes the page and the table of all findings.
func (f *doctorFlags) write(cmd *cobra.Command, dir string, images *data.Set, found *doctor.Findings) error {
	page, err := doctorPage(dir, images, found)
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{"doctor.html": page, "findings.csv": report.CSV(findingRecords(dir, found))} {
		if err := output.Write(pathOf(cmd), filepath.Join(f.out, name), func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// findingRecords are a line for each image of each finding.
func findingRecords(dir string, found *doctor.Findings) [][]string {
	records := [][]string{{"finding", "kind", "image", "half", "label", "suggested", "probability", "sure", "near", "move",
		"text"}}
	for n, one := range found.List {
		images := one.Images
		if len(images) == 0 {
			images = []doctor.Image{{Label: strings.Join(one.Classes, ", ")}}
		}
		for _, m := range images {
			name, half := m.Name(dir), map[bool]string{false: "train", true: "test"}[m.Test]
			if len(one.Images) == 0 {
				name, half = "", ""
			}
			records = append(records, []string{strconv.Itoa(n + 1), string(one.Kind), name, half, m.Label, one.Suggested,
				strconv.FormatFloat(one.Probability, 'g', 4, 64), strconv.FormatBool(one.Sure), strconv.FormatBool(one.Near),
				strconv.FormatBool(m.Move), one.Text})
		}
	}
	return records
}

// listedFindings bounds the findings of a kind that are printed.
const listedFindings = 10

// kindTitles are the kinds as headings.
var kindTitles = map[doctor.Kind]string{
	doctor.Unreadable: "files that cannot be read", doctor.TwoLabels: "images with several labels",
	doctor.TestInTraining: "test images in the training half", doctor.WrongLabel: "labels to look at",
	doctor.Duplicate: "images that are there several times", doctor.Tiny: "tiny files",
	doctor.Few: "classes with few images", doctor.Alike: "classes that look alike",
}

// writeFindings prints the summary and the first findings of each kind.
func writeFindings(b *strings.Builder, dir string, found *doctor.Findings) {
	for _, line := range fold(escape.Line(summaryOf(found)), plainWidth) {
		fmt.Fprintln(b, line)
	}
	for _, kind := range doctor.Kinds {
		list := found.Of(kind)
		if len(list) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n%s: %s\n", kindTitles[kind], count.Number(len(list)))
		var t table
		for _, one := range list[:min(listedFindings, len(list))] {
			var row []string
			t.head, row = rowOf(dir, one)
			t.rows = append(t.rows, row)
		}
		for line := range strings.Lines(t.String()) {
			b.WriteString("  " + line)
		}
		if more := len(list) - listedFindings; more > 0 {
			fmt.Fprintf(b, "  and %s more, which --json and -o list\n", count.Number(more))
		}
	}
	if slices.ContainsFunc(found.List, func(one doctor.Finding) bool { return one.Kind == doctor.WrongLabel && !one.Sure }) {
		b.WriteString("\n(perhaps): the picture may also be a hard one of its own class; --move leaves it.\n")
	}
}

// summaryOf are sentences on all findings.
func summaryOf(found *doctor.Findings) string {
	text := fmt.Sprintf("%s: %s of %s.", found.Data, count.Of(found.Images, "image"), count.Of(found.Classes, "class"))
	if found.Looked {
		text += fmt.Sprintf(" By %s, the other images find the label of %s %%; an estimated %s %% of the labels are wrong.",
			found.Features, count.Percent(found.Accuracy), count.Percent(found.WrongShare))
	}
	for _, note := range found.Notes {
		text += " " + ended(strings.ToUpper(note[:1])+note[1:])
	}
	if len(found.List) == 0 {
		text += " Nothing was found."
	}
	return text
}

// rowOf is a finding in the table of its kind, and the heads of that.
func rowOf(dir string, one doctor.Finding) (head, row []string) {
	names := func(labels bool) string {
		var list []string
		for _, m := range one.Images {
			name := m.Name(dir)
			if labels {
				name += " (" + m.Label + ")"
			}
			list = append(list, name)
		}
		return count.First(4, list)
	}
	near := map[bool]string{false: "same", true: "near"}[one.Near]
	switch one.Kind {
	case doctor.WrongLabel:
		looks := one.Suggested
		if !one.Sure {
			looks += " (perhaps)"
		}
		return []string{">probability", "label", "looks like", "image"},
			[]string{count.Percent(one.Probability) + " %", one.Images[0].Label, looks, names(false)}
	case doctor.Alike:
		return []string{">confused", "classes"}, []string{count.Percent(one.Probability) + " %",
			strings.Join(one.Classes, ", ")}
	case doctor.Few:
		return []string{"images", "class"}, []string{one.Text, one.Classes[0]}
	case doctor.TwoLabels:
		return []string{"pixels", "images"}, []string{near, names(true)}
	case doctor.Duplicate, doctor.TestInTraining:
		return []string{"pixels", "images"}, []string{near, names(false)}
	}
	return []string{"image", "why"}, []string{names(false), one.Text}
}

// What `ocl run` says of one's own images: the three worst kinds of findings, where that takes seconds.
const (
	worstKinds  = 3
	worstImages = 10_000
)

// worstOf are the worst findings in the images of a run, a line for each kind. images are those that a pretrained
// network has made embeddings of; nil is the set itself. Published data sets are as they are, and have none.
func worstOf(ctx context.Context, dir string, images, set *data.Set) (lines []string) {
	if images == nil {
		images = set
	}
	if set.Reading == "" || set.Train.Len()+set.Test.Len() > worstImages {
		return nil
	}
	o := doctor.Options{Quick: true}
	if set.Embeddings {
		o.Features = set
	}
	found, err := doctor.Examine(ctx, images, o)
	if err != nil {
		return nil // what the run cannot do without, it says itself
	}
	for _, kind := range doctor.Kinds {
		list := slices.DeleteFunc(found.Of(kind), func(one doctor.Finding) bool {
			return kind == doctor.WrongLabel && !one.Sure || toldByData(one)
		})
		if len(list) == 0 || len(lines) == worstKinds {
			continue
		}
		such := strings.Join(list[0].Classes, " and ")
		if such == "" {
			such = list[0].Images[len(list[0].Images)-1].Name(dir)
		}
		lines = append(lines, escape.Line(fmt.Sprintf("%s: %s, such as %s", kindTitles[kind], count.Number(len(list)),
			such)))
	}
	if len(lines) > 0 {
		lines[len(lines)-1] += ". `ocl doctor " + escape.Word(dir) + "` lists what it finds"
	}
	return lines
}

// toldByData says whether the notes of a data set tell of a finding already: of files that cannot be read, and of the
// same pixels in both halves or under two labels.
func toldByData(one doctor.Finding) bool {
	return one.Kind == doctor.Unreadable ||
		!one.Near && (one.Kind == doctor.TwoLabels || one.Kind == doctor.TestInTraining)
}

// moveImages moves the images that findings call better away into a folder, and keeps the folders that they lie in.
// It checks all before it moves the first.
func moveImages(command, dir, to string, set *data.Set, found *doctor.Findings) (n int, err error) {
	fault := func(format string, a ...any) (int, error) {
		return n, fmt.Errorf("%s: --move: %w", command, fmt.Errorf(format, a...))
	}
	switch {
	case set.Train.Files == nil:
		return fault("the images lie in one file. Use findings.csv of -o")
	case set.Reading == "":
		return fault("%s is published as it is. Only your own images are moved", set.Name)
	case set.List != "":
		return fault("%s names the images, and would name files that are gone. Remove the rows that findings.csv of -o marks",
			escape.Line(set.List))
	}
	full, err := filepath.Abs(to)
	root, failed := filepath.Abs(dir)
	if err = errors.Join(err, failed); err != nil {
		return fault("%w", err)
	}
	if inside, err := filepath.Rel(root, full); err == nil && filepath.IsLocal(inside) {
		return fault("%s lies in %s, where it would be a class. Choose a folder outside", escape.Line(to), escape.Line(dir))
	}
	var from, into []string
	seen := map[string]bool{}
	for _, one := range found.List {
		for _, m := range one.Images {
			if !m.Move || seen[m.File] {
				continue
			}
			seen[m.File] = true
			name, err := filepath.Rel(dir, m.File)
			if err != nil || !filepath.IsLocal(name) {
				return fault("%s does not lie in %s. Move it yourself", escape.Line(m.File), escape.Line(dir))
			}
			target := filepath.Join(to, name)
			if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
				return fault("%s is there already. Choose an empty folder", escape.Line(target))
			}
			from, into = append(from, m.File), append(into, target)
		}
	}
	for i, file := range from {
		err := atomicfile.MakeFolder(filepath.Dir(into[i]))
		if err == nil {
			err = os.Rename(file, into[i])
		}
		if err != nil {
			return fault("%s of %s were moved, and then %s could not be: %w. Choose a folder on the same disk that can be written",
				count.Number(n), count.Of(len(from), "image"), escape.Line(file), cause.Of(err))
		}
		n++
	}
	return n, nil
}
