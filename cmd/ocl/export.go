package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ocl/internal/nearest"
	"ocl/interop/npz"
	"ocl/interop/safetensors"
)

// exportFormat is a form in which other programs read runs.
type exportFormat struct {
	name, about string
	ending      string // of the file that is written; "" is a folder
	// write writes what run names to out, or to a place beside it if out is "". It returns the path that was written, and
	// below it what else a person should know, a line each.
	write func(ctx context.Context, run, out string) (string, error)
}

// exportFormats are all of them, in the order of the help.
var exportFormats = []exportFormat{
	{"safetensors", "weights of the network, for PyTorch and `ocl run network.init=FILE`", ".safetensors", exportWeights(".safetensors", safetensors.Write)},
	{"npz", "weights of the network, for NumPy", ".npz", exportWeights(".npz", npz.Write)},
	{"onnx", "classifier from image to class, for onnxruntime and others", ".onnx", exportONNX},
	{"tensorboard", "curves and confusion of one or more runs, for TensorBoard", "", exportTensorboard},
	{"csv", "every number of one or more runs in one table", ".csv", exportCSV},
}

func newExport() *cobra.Command {
	var to, out string
	cmd := &cobra.Command{
		Use:   "export RUN",
		Short: "Write what a run learned, or what runs measured, in a form that other programs read.",
		Example: `  ocl export runs/er5k --to safetensors
  ocl export runs/er5k --to onnx -o er.onnx
  ocl export runs/study --to csv`,
		Long: "RUN is the folder of a run or of an experiment. safetensors, npz and onnx take the newest checkpoint of one run, which " +
			"`ocl run` keeps; tensorboard and csv take the results of all runs there. The data are not needed. The path of what was " +
			"written is printed. The formats are\n" + formatList(),
		Args:              exactly("RUN"),
		ValidArgsFunction: completeFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := formatOf(cmd, to)
			if err != nil {
				return err
			}
			if other := filepath.Ext(out); format.ending != other && slices.ContainsFunc(exportFormats, func(f exportFormat) bool { return other != "" && f.ending == other }) {
				return usage(fmt.Errorf("export: -o %s ends like a file of another format than %s. Choose a path that ends otherwise, or another --to", out, format.name))
			}
			text, err := format.write(cmd.Context(), args[0], out)
			if text == "" {
				return err
			}
			path, notes, _ := strings.Cut(text, "\n")
			for note := range strings.Lines(notes) {
				fmt.Fprintln(cmd.ErrOrStderr(), ended(printable(strings.TrimSpace(note))))
			}
			_, printed := fmt.Fprintln(cmd.OutOrStdout(), path)
			return errors.Join(err, printed)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&to, "to", "", "format to write: "+strings.Join(formatNames(), ", "))
	flags.StringVarP(&out, "out", "o", "", "file or folder to write (default: beside the run or its results)")
	annotate(flags, groupOutput, map[string]string{"to": "FORMAT", "out": "PATH"})
	_ = cmd.RegisterFlagCompletionFunc("to", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return formatNames(), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

// completeFolder completes one word that is a folder.
func completeFolder(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

func formatNames() []string {
	return each(exportFormats, func(f exportFormat) string { return f.name })
}

// formatList describes the forms and what they write, for the help.
func formatList() string {
	width := 0
	for _, f := range exportFormats {
		width = max(width, len(f.name))
	}
	var b strings.Builder
	for _, f := range exportFormats {
		kind := "a folder"
		if f.ending != "" {
			kind = f.ending
		}
		fmt.Fprintf(&b, "\t%-*s  %s (%s)\n", width, f.name, f.about, kind)
	}
	return b.String()
}

// formatOf is the format called name.
func formatOf(cmd *cobra.Command, name string) (exportFormat, error) {
	for _, f := range exportFormats {
		if f.name == name {
			return f, nil
		}
	}
	if name == "" {
		return exportFormat{}, usage(errors.New("export: no format is given. Add --to " + nearest.Or(formatNames())))
	}
	names := nearest.Names{List: formatNames(), All: fmt.Sprintf("`%s --help` lists all formats", cmd.CommandPath())}
	return exportFormat{}, usage(fmt.Errorf("--to: unknown format %q. %s", name, names.Hint(name)))
}
