package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ocl/config"
	"ocl/data"
	"ocl/internal/count"
)

// shownFaults is how many faults of a data set are printed; the others are counted, and --json has them.
const shownFaults = 50

func newDataVerify() *cobra.Command {
	var (
		spec   data.Spec
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "verify NAME",
		Short: "Check the files of a data set: counts, digest, every image and the cache.",
		Example: `  ocl data verify cifar100 --data-dir DIR
  ocl data verify cifar100 --data-dir cifar-100-binary.tar.gz --json
  ocl data verify glyphs`,
		Long: "All faults are listed, and not only the first; the exit code is then 1. Counts and images decide. Copies of a data set " +
			"may have its images in another order or encoded anew, so an unknown digest is a note and no fault. " +
			"Image files are decoded without their cache. A cache that exists is checked too, but none is made.",
		Args:              exactly("NAME"),
		ValidArgsFunction: completeFirst(data.Names),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if spec.Name, err = needsDir(cmd, args[0], spec.Dir); err != nil {
				return err
			}
			show := newOpening(cmd.ErrOrStderr())
			spec.Progress = show.work
			r, err := data.Verify(cmd.Context(), spec)
			show.end()
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), newReportJSON(spec.Name, r))
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
	addDataDir(cmd, &spec)
	addJSON(cmd, &asJSON)
	return cmd
}

// addDataDir adds the flags that say where a data set is, and of which size its images are.
func addDataDir(cmd *cobra.Command, spec *data.Spec) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&spec.Dir, "data-dir", "", "folder, archive or file of the data set")
	flags.IntVar(&spec.Size, "size", 0, "side of the images, for data sets that are drawn, scaled or padded (default: the data set's own)")
	flags.Var((*unreadableValue)(&spec.SkipUnreadable), "unreadable", "what an image does that cannot be read: fail (a fault) or skip (it is left out, with a note)")
	annotate(flags, "Flags", map[string]string{"data-dir": "PATH", "size": "PIXELS", "unreadable": "WHAT"})
}

// unreadableValue is the value of --unreadable: whether images are left out that cannot be read.
type unreadableValue bool

func (v *unreadableValue) String() string {
	if *v {
		return config.UnreadableSkip
	}
	return config.UnreadableFail
}

func (v *unreadableValue) Type() string { return "fail or skip" }

func (v *unreadableValue) Set(word string) error {
	if word != config.UnreadableFail && word != config.UnreadableSkip {
		return errors.New("neither fail nor skip") // flagError says what is wanted
	}
	*v = word == config.UnreadableSkip
	return nil
}

// needsDir is the name of a data set of the catalogue. It is wrong usage if the set needs files and no folder is given.
func needsDir(cmd *cobra.Command, name, dir string) (string, error) {
	info, err := lookupData(name)
	if err == nil && info.NeedsDir && dir == "" {
		err = usage(fmt.Errorf("%s: %s is read from files, but no folder is given. Use --data-dir; `ocl data info %s` describes the files", pathOf(cmd), name, name))
	}
	return info.Name, err
}

// reportJSON is what `ocl data verify --json` prints.
type reportJSON struct {
	Name   string   `json:"name"`
	Images int      `json:"images"`
	Digest string   `json:"digest"`
	Faults []string `json:"faults"`
	Notes  []string `json:"notes"`
}

func newReportJSON(name string, r data.Report) reportJSON {
	return reportJSON{name, r.Images, r.Digest, each(r.Faults, error.Error), notNil(r.Notes)}
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
		fmt.Fprintln(&b, "fault: "+ended(printable(f.Error())))
	}
	if more := len(r.Faults) - shownFaults; more > 0 {
		fmt.Fprintf(&b, "and %s more, which --json lists\n", count.Of(more, "fault"))
	}
	if r.Digest != "" {
		fmt.Fprintln(&b, "digest: "+r.Digest)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(&b, "note: "+ended(printable(n)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
