package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ocl/data"
	"ocl/internal/count"
)

func newDataInfo() *cobra.Command {
	var (
		spec          data.Spec
		stats, asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "info NAME",
		Short: "Describe a data set: what it holds, where to get it and how it must lie on disk; with --data-dir, what is there.",
		Example: `  ocl data info cifar100
  ocl data info csv --data-dir photos.csv
  ocl data info cifar100 --stats --data-dir DIR > exp.yaml`,
		Long: "--data-dir opens the files that are there, and prints how many images, classes, tasks and domains they have, with the names, " +
			"the digest and notes. --stats reads the training images, and prints mean and standard deviation of each channel as keys of a " +
			"config: a run with them has inputs of mean 0 and deviation 1.",
		Args:              exactly("NAME"),
		ValidArgsFunction: completeFirst(data.Names),
		RunE: func(cmd *cobra.Command, args []string) error {
			info, err := lookupData(args[0])
			if err != nil {
				return err
			}
			reads := stats || slices.ContainsFunc([]string{"data-dir", "size", "unreadable"}, cmd.Flags().Changed)
			if reads {
				if spec.Name, err = needsDir(cmd, args[0], spec.Dir); err != nil {
					return err
				}
			}
			switch {
			case stats:
				return printStats(cmd, spec, asJSON)
			case reads:
				return printContents(cmd, spec, asJSON)
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), newDataJSON(info))
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), info.Text())
			return err
		},
	}
	cmd.Flags().BoolVar(&stats, "stats", false, "print mean and standard deviation of each channel of the training images")
	addDataDir(cmd, &spec)
	addJSON(cmd, &asJSON)
	return cmd
}

// statsJSON is what `ocl data info --stats --json` prints.
type statsJSON struct {
	Name   string    `json:"name"`
	Images int       `json:"images"` // for training
	Mean   []float64 `json:"mean"`
	Std    []float64 `json:"std"`
	Digest string    `json:"digest"` // of the data
}

// printStats opens a data set and prints its statistics.
func printStats(cmd *cobra.Command, spec data.Spec, asJSON bool) error {
	show := newOpening(cmd.ErrOrStderr())
	set, st, err := statistics(cmd.Context(), spec, show)
	show.end()
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), statsJSON{set.Name, st.Images, st.Mean, st.Std, set.Digest})
	}
	for _, note := range set.Notes {
		fmt.Fprintln(cmd.ErrOrStderr(), printable(note))
	}
	return writeStats(cmd.OutOrStdout(), set, st)
}

func statistics(ctx context.Context, spec data.Spec, show *opening) (*data.Set, data.Stats, error) {
	set, err := opened(ctx, spec, show)
	if err != nil {
		return nil, data.Stats{}, err
	}
	st, err := data.Statistics(ctx, set, func(done, total int) { show.work(set.Name+": images read", done, total) })
	return set, st, err
}

// writeStats prints statistics as YAML. A deviation of 0 is no value of stream.std, so 1 stands in its place.
func writeStats(w io.Writer, set *data.Set, st data.Stats) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s, pixels from 0 to 1\n", set.Name, count.Of(st.Images, "training image"))
	mean, std := make([]string, set.C), make([]string, set.C)
	for c := range mean {
		mean[c], std[c] = fourDigits(st.Mean[c]), fourDigits(st.Std[c])
		if st.Std[c] == 0 {
			std[c] = "1"
			fmt.Fprintf(&b, "# channel %d has one value everywhere: its deviation is 0, and 1 stands in its place\n", c+1)
		}
	}
	fmt.Fprintf(&b, "stream:\n  mean: [%s]\n  std: [%s]\n", joinWords(mean), joinWords(std))
	_, err := io.WriteString(w, b.String())
	return err
}

// fourDigits is a number with four significant digits.
func fourDigits(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
