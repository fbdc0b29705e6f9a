package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ocl/config"
	"ocl/data"
	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/run/build"
)

// shownFaults bounds the faults of a data set that are printed. The others are counted, and --json has them.
const shownFaults = 50

func newDataVerify() *cobra.Command {
	var (
		keys   *configFlags
		quiet  bool
		asJSON jsonFlag
	)
	cmd := &cobra.Command{
		Use:   "verify NAME",
		Short: "Check the files of a data set: counts, digest, every image and the cache.",
		Example: `  ocl data verify cifar100 --data-dir DIR
  ocl data verify cifar100 --data-dir cifar-100-binary.tar.gz --json faults
  ocl data verify glyphs`,
		Long: "The command lists all faults, and the exit code is 1 if there is one. An unknown digest is a note and no fault, because a copy of a data set " +
			"may have another order or another encoding of the images. Image files are decoded without their cache. If there is a cache, it is checked too; none is made.",
		ValidArgsFunction: completeFirst(data.Names),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := lookupData(keys.words[0]); err != nil {
				return err
			}
			spec, err := keys.spec(cmd, keys.words[0])
			if err != nil {
				return err
			}
			show := newOpening(cmd.ErrOrStderr(), quiet)
			spec.Progress = show.work
			r, err := data.Verify(cmd.Context(), spec)
			show.end()
			if err != nil {
				return err
			}
			if asJSON.given {
				err = asJSON.print(cmd.OutOrStdout(), reportJSON{spec.Name, r.Images, r.Digest, each(r.Faults, error.Error),
					notNil(r.Notes)})
			} else {
				err = writeReport(cmd.OutOrStdout(), spec.Name, r)
			}
			if n := len(r.Faults); n > 0 {
				err = errors.Join(err, fmt.Errorf("%s: %s has %s. Each fault says what to do",
					pathOf(cmd), spec.Name, count.Of(n, "fault")))
			}
			return err
		},
	}
	keys = addConfig(cmd, false, ofData, "NAME")
	addQuiet(cmd.Flags(), &quiet)
	addJSON(cmd, &asJSON, reportJSON{})
	return cmd
}

// ofData says whether a key is about the files and the images of a data set that a command names.
func ofData(k config.Key) bool {
	return strings.HasPrefix(k.Name, "data.") && k.Name != "data.name" && !strings.HasPrefix(k.Name, "data.backbone")
}

// spec returns the data set that the command line selects.
func (c *configFlags) spec(cmd *cobra.Command, name string) (data.Spec, error) {
	c.settle = func(cfg *config.Config) {
		cfg.Data.Name, cfg.Network.Name = name, "mlp" // which takes images of all sizes
	}
	cfg, err := c.config(cmd.ErrOrStderr())
	return build.Data(cfg), err
}

// reportJSON is the JSON that `ocl data verify --json` prints.
type reportJSON struct {
	Name   string   `json:"name"`
	Images int      `json:"images"`
	Digest string   `json:"digest"`
	Faults []string `json:"faults"`
	Notes  []string `json:"notes"`
}

// writeReport prints what was checked, the first faults and the notes, each in one line.
func writeReport(w io.Writer, name string, r data.Report) error {
	var b strings.Builder
	state := "no fault"
	if n := len(r.Faults); n > 0 {
		state = count.Of(n, "fault")
	}
	fmt.Fprintf(&b, "%s: %s checked, %s\n", name, count.Of(r.Images, "image"), state)
	for _, f := range r.Faults[:min(shownFaults, len(r.Faults))] {
		fmt.Fprintln(&b, "fault: "+ended(escape.Line(f.Error())))
	}
	if more := len(r.Faults) - shownFaults; more > 0 {
		fmt.Fprintf(&b, "and %s more, which --json lists\n", count.Of(more, "fault"))
	}
	if r.Digest != "" {
		fmt.Fprintln(&b, "digest: "+r.Digest)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(&b, "note: "+ended(escape.Line(n)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
