package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ocl/config"
	"ocl/data"
	"ocl/data/embed"
	"ocl/data/npz"
	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/interop/output"
	"ocl/run/experiment"
)

// embedFlags are the flags of `ocl embed`.
type embedFlags struct {
	config *configFlags
	out    string
	quiet  bool
	asJSON jsonFlag
}

func newEmbed() *cobra.Command {
	var f embedFlags
	cmd := &cobra.Command{
		Use:   "embed",
		Short: "Make embeddings of images by a pretrained network, once.",
		Example: `  ocl embed --backbone lite0.safetensors --data folder --data-dir photos
  ocl embed --backbone lite0.safetensors --data cifar100 --data-dir DIR -o cifar100.npz`,
		Long: "Each image goes through the network of --backbone, which does not learn. The embeddings stay in a cache, as numbers of 16 bits. `ocl run` " +
			"with the same --backbone and data reads them there, and makes those that are missing. The command first says how long it will take. After " +
			"Ctrl-C or a kill, the same command continues.\n" +
			"With -o the embeddings are also written to a NumPy file, for `--data npz` or other programs. docs/format/backbone.md says how to get a network.",
		RunE: func(cmd *cobra.Command, _ []string) error { return f.embed(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "",
		"FILE\tNumPy file for x_train, y_train, x_test, y_test and class_names, which ends in .npz (default: none is written)")
	addQuiet(flags, &f.quiet)
	addJSON(cmd, &f.asJSON, embedJSON{})
	f.config = addConfig(cmd, true, func(k config.Key) bool { return strings.HasPrefix(k.Name, "data.") })
	_ = cmd.MarkFlagFilename("out", "npz")
	return cmd
}

// embedJSON is the JSON that `ocl embed --json` prints.
type embedJSON struct {
	Data           string  `json:"data"`
	DataDigest     string  `json:"data_digest"` // of the embeddings
	Backbone       string  `json:"backbone"`
	BackboneDigest string  `json:"backbone_digest"`
	Numbers        int     `json:"numbers"` // of an embedding
	Train          int     `json:"train"`
	Test           int     `json:"test"`
	Made           int     `json:"made"` // the others were in the cache
	Bytes          int64   `json:"bytes"`
	Seconds        float64 `json:"seconds"`
	Out            string  `json:"out,omitempty"`
}

func (f *embedFlags) embed(cmd *cobra.Command) error {
	if f.out != "" && !strings.HasSuffix(f.out, ".npz") {
		return usage(fmt.Errorf("%s: -o %s does not end in .npz. Use a name that does", pathOf(cmd), escape.Line(f.out)))
	}
	ctx := cmd.Context()
	// it takes images of all sizes, and none is trained
	f.config.settle = func(c *config.Config) { c.Network.Name = "mlp" }
	c, err := f.config.config(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if c.Data.Backbone == "" {
		return usage(fmt.Errorf("%s: --backbone is missing. Give the file of a pretrained network; docs/format/backbone.md says how to get one",
			pathOf(cmd)))
	}
	began, made := time.Now(), 0
	show := newOpening(cmd.ErrOrStderr(), f.quiet)
	set, err := experiment.OpenData(ctx, c, experiment.Options{Progress: show.work, Embedding: func(w embed.Work) error {
		made = w.Images
		return show.embedding(w)
	}})
	show.end()
	if err != nil {
		return unfit(err)
	}
	if f.out != "" {
		if err := output.Write(pathOf(cmd), f.out, func(w io.Writer) error {
			return writeEmbeddings(ctx, w,
				set)
		}); err != nil {
			return err
		}
	}
	done := embedJSON{
		Data: set.Name, DataDigest: set.Digest, Backbone: set.By, BackboneDigest: set.ByDigest, Numbers: set.C,
		Train: set.Train.Len(), Test: set.Test.Len(),
		Made: made, Bytes: int64(set.Train.Len()+set.Test.Len()) * int64(set.ImageLen()),
		Seconds: time.Since(began).Seconds(), Out: f.out,
	}
	return f.asJSON.printOr(cmd.OutOrStdout(), done, done.text(c, f.config.given()))
}

// text says what there is, and what to do with it.
func (d embedJSON) text(c config.Config, given []setting) string {
	text := fmt.Sprintf("%s of %s, each of %s: %s, of which %s were made now\n", count.Of(d.Train+d.Test, "embedding"),
		escape.Line(d.Data), count.Of(d.Numbers, "number"),
		count.Bytes(d.Bytes), count.Number(d.Made))
	run := "ocl run --method slda --backbone " + escape.Word(c.Data.Backbone) + " --data " + escape.Word(c.Data.Name)
	if c.Data.Dir != "" {
		run += " --data-dir " + escape.Word(c.Data.Dir)
	}
	for _, g := range given {
		if !slices.Contains([]string{"data.name", "data.dir", "data.backbone"}, g.key) {
			run += " " + escape.Word(g.key+"="+g.text)
		}
	}
	if d.Out != "" { // a run of the file takes no pictures, so that the other one is told
		text += escape.Line(d.Out) + "\n"
	}
	return text + "Now: " + run + "\n"
}

// writeEmbeddings writes a set of embeddings as arrays of NumPy. Its metadata say what they are.
func writeEmbeddings(ctx context.Context, w io.Writer, set *data.Set) error {
	var arrays []npz.Source
	for _, half := range []struct {
		name string
		data.Split
	}{{"train", set.Train}, {"test", set.Test}} {
		arrays = append(arrays, npz.Source{Array: npz.Array{Name: "x_" + half.name, Type: "<f2",
			Shape: []int{half.Len(), set.C}}, Values: func(w io.Writer) error {
			buf := make([]uint8, set.ImageLen())
			for i := range half.Len() {
				x, err := half.Images.Image(i, buf)
				if err == nil {
					_, err = w.Write(x)
				}
				if err = errors.Join(err, ctx.Err()); err != nil {
					return err
				}
			}
			return nil
		}}, npz.Numbers("y_"+half.name, half.Y, half.Len()))
	}
	if texts := npz.Texts("class_names", set.ClassNames); texts != nil {
		arrays = append(arrays, *texts)
	}
	names, err := json.Marshal(set.ClassNames)
	if err != nil {
		return err
	}
	shape, err := json.Marshal(set.Of)
	if err != nil {
		return err
	}
	return npz.Write(w, arrays, map[string]string{"data": set.Name, "data_digest": set.Digest, "backbone": set.By,
		"backbone_digest": set.ByDigest,
		"image_shape":     string(shape), "class_names": string(names)})
}
