package main

import (
	"errors"
	"fmt"
	"image/png"
	"os"

	"github.com/spf13/cobra"

	"ocl/data"
)

func newDataPreview() *cobra.Command {
	var (
		spec data.Spec
		opts data.PreviewOptions
		out  string
	)
	cmd := &cobra.Command{
		Use:   "preview NAME",
		Short: "Draw a sheet with some images of each class.",
		Example: `  ocl data preview glyphs -o sheet.png
  ocl data preview cifar100 --data-dir DIR -o sheet.png --test`,
		Args:              exactly("NAME"),
		ValidArgsFunction: completeFirst(data.Names),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := lookupData(args[0]); err != nil {
				return err
			}
			if opts.Samples < 1 || opts.Classes < 0 {
				return usage(fmt.Errorf("%s: --samples %d or --classes %d is out of range. Use at least 1 sample, and at least 0 classes",
					pathOf(cmd), opts.Samples, opts.Classes))
			}
			spec.Name = args[0]
			spec.Progress = newOpening(cmd.ErrOrStderr()).work
			set, err := data.Open(cmd.Context(), spec)
			if err != nil {
				return err
			}
			return writePreview(cmd, set, opts, out)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&out, "out", "o", "", "PNG file to write (default <name>.png)")
	flags.StringVar(&spec.Dir, "data-dir", "", "folder, archive or file of the data set")
	flags.IntVar(&spec.Size, "size", 0, "side of the images, for data sets that are drawn (default: the data set's own)")
	flags.IntVar(&opts.Samples, "samples", 8, "images per class")
	flags.IntVar(&opts.Classes, "classes", 0, "number of classes, from the first on (default: all, at most 200)")
	flags.BoolVar(&opts.Test, "test", false, "draw test images instead of training images")
	annotate(flags, "Flags", map[string]string{"out": "FILE", "data-dir": "PATH", "size": "PIXELS", "samples": "N", "classes": "N"})
	_ = cmd.MarkFlagFilename("out", "png")
	return cmd
}

func writePreview(cmd *cobra.Command, set *data.Set, opts data.PreviewOptions, out string) error {
	sheet, err := data.Preview(set, opts)
	if err != nil {
		return err
	}
	if out == "" {
		out = set.Name + ".png"
	}
	f, err := os.Create(out)
	if err != nil {
		return fmt.Errorf("%s: %w. Use -o to choose a file that can be written", pathOf(cmd), err)
	}
	if err := errors.Join(png.Encode(f, sheet), f.Close()); err != nil {
		return fmt.Errorf("%s: %s is incomplete: %w. Make room on the disk and try again", pathOf(cmd), out, err)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), out)
	return err
}
