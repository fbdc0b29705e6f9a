package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ocl/data/npz"
	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/internal/nearest"
	"ocl/interop/output"
	"ocl/interop/runs"
	"ocl/nn/onnx"
	"ocl/nn/safetensors"
	"ocl/run/build"
	"ocl/run/experiment"
	"ocl/run/identity"
	"ocl/run/trained"
)

// exportFormat is a form in which other programs read runs.
type exportFormat struct {
	name, about string
	ending      string // of the file that is written; "" is a folder
	results     bool   // it takes results, and no checkpoint
	// write writes what run names to out, or to a place beside it if out is "". It returns the path that was written, and
	// below it what else a person should know, a line each.
	write func(ctx context.Context, run, out string, from exportSource) (string, error)
}

// exportSource says what of a run is exported.
type exportSource struct {
	older    bool   // see [trained.Options.Older]
	backbone string // the file of the pretrained network of the run; "" is where the run had it
}

// exportFormats are all of them, in the order of the help.
var exportFormats = []exportFormat{
	{"safetensors", "weights of the network, for PyTorch and `ocl run network.init=FILE`", ".safetensors", false,
		exportWeights(".safetensors", safetensors.Write)},
	{"npz", "weights of the network, for NumPy", ".npz", false, exportWeights(".npz", tensorsNPZ)},
	{"onnx", "classifier from image to class, for onnxruntime and others", ".onnx", false, exportONNX},
	{"tensorboard", "curves and confusion of one or more runs, for TensorBoard", "", true, exportTensorboard},
	{"csv", "every number of one or more runs in one table", ".csv", true, exportCSV},
}

func newExport() *cobra.Command {
	var to, out string
	var from exportSource
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
			if other := filepath.Ext(out); format.ending != other &&
				slices.ContainsFunc(exportFormats, func(f exportFormat) bool { return other != "" && f.ending == other }) {
				return usage(fmt.Errorf("export: -o %s has the ending of another format than %s. Use a name with another ending, or another --to",
					out, format.name))
			}
			if from.older && format.results {
				return usage(fmt.Errorf("export: --to %s takes results, and no checkpoint. Remove --older", format.name))
			}
			if from.backbone != "" && format.name != "onnx" {
				return usage(fmt.Errorf("export: --to %s does not take a pretrained network along. Remove --backbone, or use --to onnx",
					format.name))
			}
			text, err := format.write(cmd.Context(), args[0], out, from)
			if text == "" {
				return err
			}
			path, notes, _ := strings.Cut(text, "\n")
			for note := range strings.Lines(notes) {
				fmt.Fprintln(cmd.ErrOrStderr(), ended(escape.Line(strings.TrimSpace(note))))
			}
			_, printed := fmt.Fprintln(cmd.OutOrStdout(), escape.Line(path))
			return errors.Join(err, printed)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&to, "to", "", "FORMAT\tformat to write: "+strings.Join(formatNames(), ", "))
	flags.StringVarP(&out, "out", "o", "", "PATH\tfile or folder to write (default: beside the run or its results)")
	addOlder(cmd, &from.older)
	addBackbone(cmd, &from.backbone)
	completeFlag(cmd, "to", formatNames)
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

// exportTrained writes a file of what a run learned. run is the folder of a run, or of an experiment with one run. out
// is the file, which is replaced as a whole or stays as it was; "" is a file with that ending beside the folder of the
// run. prepare gives what writes the content. The data are not needed. It returns the path that was written, and below
// it what else a person should know, a line each.
func exportTrained(ctx context.Context, run, out, ending string, from exportSource,
	prepare func(*trained.Model) (func(io.Writer) error, error)) (string, error) {
	if info, err := os.Stat(out); err == nil && info.IsDir() {
		return "", fmt.Errorf("export: %s: this is a folder. Give the name of a file, such as %s", out,
			filepath.Join(out, "model"+ending))
	}
	t, err := trained.Open(ctx, run, trained.Options{Workers: runtime.GOMAXPROCS(0), Older: from.older})
	if err != nil {
		return "", err
	}
	defer t.Close()
	write, err := prepare(t)
	if err != nil {
		return "", err
	}
	if out == "" {
		folder, err := filepath.Abs(t.Folder) // it may be "."
		if err != nil {
			return "", fmt.Errorf("export: %s: %w. Give its whole path", t.Folder, err)
		}
		out = folder + ending
	}
	if err := output.Write("export", out, write); err != nil {
		return "", err
	}
	return strings.Join(append([]string{out}, t.Notes...), "\n"), nil
}

// exportWeights exports the weights of a run to files with an ending.
func exportWeights(ending string, write func(io.Writer, []safetensors.Tensor,
	map[string]string) error) func(ctx context.Context, run, out string, from exportSource) (string, error) {
	return func(ctx context.Context, run, out string, from exportSource) (string, error) {
		return exportTrained(ctx, run, out, ending, from, func(t *trained.Model) (func(io.Writer) error, error) {
			tensors, metadata, err := t.Weights(ctx, release)
			return func(w io.Writer) error { return write(w, tensors, metadata) }, err
		})
	}
}

// tensorsNPZ writes tensors as arrays of NumPy.
func tensorsNPZ(w io.Writer, tensors []safetensors.Tensor, metadata map[string]string) error {
	var arrays []npz.Source
	for _, t := range tensors {
		if t.Floats == nil && t.Ints != nil {
			arrays = append(arrays, npz.Numbers(t.Name, t.Ints, t.Shape...))
		} else {
			arrays = append(arrays, npz.Numbers(t.Name, t.Floats, t.Shape...))
		}
	}
	return npz.Write(w, arrays, metadata)
}

// exportONNX exports the classifier of a run as an ONNX model.
func exportONNX(ctx context.Context, run, out string, from exportSource) (string, error) {
	return exportTrained(ctx, run, out, ".onnx", from, func(t *trained.Model) (func(io.Writer) error, error) {
		m, err := onnxModel(ctx, t, from.backbone)
		return func(w io.Writer) error { return onnx.Write(w, m) }, err
	})
}

// onnxModel returns the network of a trained learner with its rules, as package onnx writes it. file has its pretrained
// network, see [exportSource].
func onnxModel(ctx context.Context, t *trained.Model, file string) (onnx.Model, error) {
	c, err := t.Exported(ctx)
	if err != nil {
		return onnx.Model{}, err
	}
	var made *onnx.Frozen
	switch {
	case t.Info.Of != [3]int{} && cmp.Or(file, t.Config.Data.Backbone) != "": // and not embeddings of a file
		if made, err = frozen(t, file); err != nil {
			return onnx.Model{}, err
		}
	case file != "":
		return onnx.Model{}, errors.New("export: the run has no pretrained network. Leave out --backbone")
	}
	return c.ONNX(release, made)
}

// frozen is the pretrained network of a run.
func frozen(t *trained.Model, file string) (*onnx.Frozen, error) {
	c := t.Config
	c.Data.Backbone = cmp.Or(file, trained.Located(c.Data.Backbone, t.Folder))
	net, err := build.Backbone(c)
	if err != nil {
		return nil, fmt.Errorf("export: %w. If the file has moved, say where it is with --backbone FILE", err)
	}
	layers, err := net.Layers(c.Data.Backbone)
	return &onnx.Frozen{Net: net, Layers: layers, Of: t.Info.Of}, err
}

// exportTensorboard writes the runs in a folder of a run or an experiment for TensorBoard. out is the folder for its
// --logdir, or for a single run an event file; "" is a folder beside the results. It returns the path. A result that
// cannot be used is an error, and then nothing is written.
func exportTensorboard(ctx context.Context, run, out string, _ exportSource) (string, error) {
	found, err := identity.ReadAll(ctx, experiment.Schema(), identity.Want{}, run)
	if err != nil {
		return "", err
	}
	for _, f := range found.Refused {
		err = errors.Join(err, fmt.Errorf("export: %w", f.Why))
	}
	if err != nil {
		return "", err
	}
	return runs.Tensorboard(ctx, run, out)
}

// exportCSV writes every number of the runs in a folder of a run, an experiment or a study into one table. out is a
// file or a folder; "" is a file beside the results. It returns the path, and below it which runs have no result yet.
// Results that cannot be used are left out, and are the error.
func exportCSV(ctx context.Context, run, out string, _ exportSource) (string, error) {
	found, err := identity.ReadAll(ctx, experiment.Schema(), identity.Want{}, run)
	if err != nil {
		return "", err
	}
	var faults error
	for _, f := range found.Refused {
		faults = errors.Join(faults, fmt.Errorf("export: left out: %w", f.Why))
	}
	if len(found.Used) == 0 {
		return "", faults
	}
	path, err := runs.CSVOf(ctx, found.Used, run, out)
	if err != nil {
		return "", err
	}
	if len(found.Pending) > 0 {
		path += "\n" + "not in the table, as they have no result yet: " + strings.TrimSuffix(count.Some(found.Pending), ".")
	}
	return path, faults
}
