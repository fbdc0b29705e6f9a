package cli

import (
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ocl/config"
	"ocl/data"
	"ocl/data/sheet"
	"ocl/data/stream"
	"ocl/internal/escape"
	"ocl/interop/output"
	"ocl/run/experiment"
)

// sheetQuality is the JPEG quality of a sheet, at which the edges of text stay sharp.
const sheetQuality = 88

// previewFlags are the flags of `ocl data preview`.
type previewFlags struct {
	config  *configFlags
	out     string
	samples int
	classes int
	test    bool
	same    bool
	quiet   bool
	shift   string // disturbances that stand side by side
}

func newDataPreview() *cobra.Command {
	var f previewFlags
	cmd := &cobra.Command{
		Use:   "preview NAME",
		Short: "Draw a sheet of images: a row for each class, or for each task of a stream.",
		Example: `  ocl data preview glyphs -o sheet.png
  ocl data preview cifar100 --data-dir DIR --test
  ocl data preview glyphs --tasks 20
  ocl data preview glyphs --stream domains --samples 12
  ocl data preview cifar100 --data-dir DIR --shift noise,occlusion,blur --samples 3 -o shift.jpg`,
		Long: "Rows are classes. They are tasks if a flag or a config says something about the stream; these flags are those of `ocl run`. The images of a task are " +
			"then the first ones that a learner gets. --shift noise,blur shows both disturbances side by side.\n" +
			"With stream.shift.kind, all tasks show the same images, so that the disturbance can be seen. In a run, each task has other images; --same=false shows those.",
		ValidArgsFunction: completeFirst(data.Names),
		RunE:              func(cmd *cobra.Command, _ []string) error { return f.preview(cmd, f.config.words[0]) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "", "FILE\tPNG or JPEG file to write (default <name>.png)")
	flags.IntVar(&f.samples, "samples", 8, "N\timages in a row")
	flags.IntVar(&f.classes, "classes", 0,
		"N\tnumber of classes, from the first on, if rows are classes (default: all, at most 200)")
	flags.BoolVar(&f.test, "test", false, "draw test images instead of training images")
	flags.StringVar(&f.shift, "shift", "", "KIND,...\tdisturbances (stream.shift.kind), each as in a stream of its own")
	flags.BoolVar(&f.same, "same", true, "with stream.shift.kind, show the same images in every task")
	addQuiet(flags, &f.quiet)
	f.config = addConfig(cmd, true, seenInPreview, "NAME")
	_ = cmd.MarkFlagFilename("out", "png", "jpg", "jpeg")
	return cmd
}

// seenInPreview says whether the command takes a key: those of data and stream, but for the data set, which is a word.
func seenInPreview(k config.Key) bool {
	return ofData(k) || strings.HasPrefix(k.Name, "stream.") || k.Name == "protocol" || k.Name == "seed"
}

// ofTasks says whether the command line says something about the stream.
func (f *previewFlags) ofTasks() bool {
	is := f.config.file != "" || f.shift != ""
	for _, key := range f.config.names() {
		_, given := f.config.text(key)
		is = is || given && !strings.HasPrefix(key, "data.")
	}
	return is
}

func (f *previewFlags) preview(cmd *cobra.Command, name string) error {
	if _, err := lookupData(name); err != nil {
		return err
	}
	tasks := f.ofTasks()
	switch {
	case f.samples < 1 || f.classes < 0:
		return usage(fmt.Errorf("%s: --samples %d or --classes %d is out of range. Use at least 1 sample, and at least 0 classes",
			pathOf(cmd), f.samples, f.classes))
	case tasks && f.classes > 0:
		return usage(fmt.Errorf("%s: --classes is given, but each row is a task. Remove --classes, or the flags of the stream",
			pathOf(cmd)))
	case cmd.Flags().Changed("same") && f.shift == "" && f.config.file == "":
		return usage(fmt.Errorf("%s: --same is given, but the images of a task are only disturbed with stream.shift.kind. Add stream.shift.kind, or remove --same",
			pathOf(cmd)))
	}
	if f.out == "" {
		f.out = name + ".png"
	}
	if ext := strings.ToLower(filepath.Ext(f.out)); ext != ".png" && ext != ".jpg" && ext != ".jpeg" {
		return usage(fmt.Errorf("%s: -o %s is neither a PNG nor a JPEG file. Use a name that ends in .png or .jpg",
			pathOf(cmd), f.out))
	}
	configs, err := f.configs(cmd, name)
	if err != nil {
		return err
	}
	show := newOpening(cmd.ErrOrStderr(), f.quiet)
	var drawn image.Image
	if tasks {
		o := stream.PreviewOptions{Samples: f.samples, Test: f.test, Same: f.same}
		drawn, err = experiment.Preview(cmd.Context(), configs, o, show.work)
	} else {
		var set *data.Set
		if set, err = experiment.OpenData(cmd.Context(), configs[0], experiment.Options{Progress: show.work}); err == nil {
			drawn, err = sheet.Classes(set, sheet.Options{Samples: f.samples, Classes: f.classes, Test: f.test})
		}
	}
	show.end()
	if err != nil {
		return unfit(err)
	}
	if err := cmd.Context().Err(); err != nil { // nothing was written yet
		return err
	}
	if err := writeSheet(cmd, drawn, f.out); err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), escape.Line(f.out))
	return err
}

// configs returns the configs of the streams to draw, one for each disturbance that stream.shift.kind lists. They have
// the network that takes images of all sizes, as none is trained.
func (f *previewFlags) configs(cmd *cobra.Command, name string) ([]config.Config, error) {
	f.config.settle = func(c *config.Config) {
		c.Data.Name, c.Network.Name = name, "mlp"
	}
	var list []config.Config
	given := f.config.pairs
	for _, kinds := range strings.Split(f.shift, ",") {
		if f.shift != "" {
			f.config.pairs = append(slices.Clone(given), "stream.shift.kind="+kinds)
		}
		c, err := f.config.config(cmd.ErrOrStderr())
		if err != nil {
			return nil, err
		}
		c.Data.Backbone, c.Data.BackboneDigest = "", "" // there is nothing to see of embeddings
		list = append(list, c)
	}
	return list, nil
}

// writeSheet writes a sheet as its name says: PNG, or JPEG.
func writeSheet(cmd *cobra.Command, sheet image.Image, name string) error {
	return output.Write(pathOf(cmd), name, func(w io.Writer) error {
		if strings.EqualFold(filepath.Ext(name), ".png") {
			return png.Encode(w, sheet)
		}
		return jpeg.Encode(w, sheet, &jpeg.Options{Quality: sheetQuality})
	})
}
