package main

import (
	"errors"
	"fmt"
	"image/png"
	"os"

	"github.com/spf13/cobra"

	"ocl/data"
	"ocl/internal/nearest"
	"ocl/stream"
)

func newData() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "List and describe data sets and kinds of streams, and draw sheets of images.",
		Example: `  ocl data list
  ocl data preview glyphs -o sheet.png`,
	}
	return group(cmd, newDataList(), newDataInfo(), newDataPreview(), newDataStreams())
}

func newDataList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the data sets: name, classes, images, and whether they need files.",
		Example: `  ocl data list
  ocl data list --json`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(cmd.OutOrStdout(), each(data.Catalogue(), newDataJSON))
			}
			t := table{head: []string{"name", "classes", "images", "needs", "size"}, right: []bool{false, true, true, false, false}}
			for _, info := range data.Catalogue() {
				needs := "nothing"
				if info.NeedsDir {
					needs = "--data-dir"
				}
				classes, images := "any", "any"
				if info.Classes > 0 {
					classes, images = fmt.Sprint(info.Classes), thousands(int64(info.Train+info.Test))
				}
				t.rows = append(t.rows, []string{info.Name, classes, images, needs, info.Shape})
			}
			return t.write(cmd.OutOrStdout())
		},
	}
	addJSON(cmd, &asJSON)
	return cmd
}

// addJSON adds the flag --json.
func addJSON(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print JSON")
	annotate(cmd.Flags(), groupOutput, map[string]string{"json": ""})
}

func newDataStreams() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "streams",
		Short: "List the kinds of streams (for --stream of `ocl run`), and how the tasks of each differ.",
		Example: `  ocl data streams
  ocl data streams --json`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(cmd.OutOrStdout(), each(stream.Kinds(), newKindJSON))
			}
			t := table{head: []string{"name", "scenario", "tasks"}, right: make([]bool, 3)}
			for _, k := range stream.Kinds() {
				t.rows = append(t.rows, []string{k.Name, string(k.Scenario), k.Summary})
			}
			return t.write(cmd.OutOrStdout())
		},
	}
	addJSON(cmd, &asJSON)
	return cmd
}

func newDataInfo() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "info NAME",
		Short: "Describe a data set: what it holds, where to get it and how it must lie on disk.",
		Example: `  ocl data info cifar100
  ocl data info npz`,
		Args:              exactly("NAME"),
		ValidArgsFunction: completeFirst(data.Names),
		RunE: func(cmd *cobra.Command, args []string) error {
			info, err := lookupData(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), newDataJSON(info))
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), info.Text())
			return err
		},
	}
	addJSON(cmd, &asJSON)
	return cmd
}

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

// lookupData finds a data set, or says which name was probably meant.
func lookupData(name string) (data.Info, error) {
	info, err := data.Lookup(name)
	if err == nil {
		return info, nil
	}
	return info, usage(fmt.Errorf("unknown data set %q. %s", name,
		nearest.Names{List: data.Names(), All: "`ocl data list` describes them"}.Hint(name)))
}

// completeFirst completes the first word of a command.
func completeFirst(names func() []string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(), cobra.ShellCompDirectiveNoFileComp
	}
}
