package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/run/experiment"
	"ocl/run/identity"
	"ocl/run/metric"
	"ocl/run/result"
	"ocl/survey/reproduce"
)

// committedHelp is the part of the help of `ocl verify` about --committed.
var committedHelp = "With --committed, each RESULT may also be the folder of an experiment, of a study or of compressed results (NAME.json.gz). What the committed " +
	"runs have measured is part of ocl. Results are compared with committed runs of the same data and the same config. Seed, evaluations, classifiers and engine may differ. " +
	"One with the seed and the engine of a committed run must have the same bits. The others are tested by their seeds: average accuracy, accuracy by class means and " +
	fmt.Sprintf("forgetting, each with Student's t-test against at least %d committed seeds. p is the chance that runs of the same distribution ",
		reproduce.Least) +
	"differ so much, after Holm's correction for all tests of the command. Below 0.05 the runs lie outside. One seed shows little: give three or more.\n" +
	"The exit code is then 0 if nothing lies outside or differs, and 1 if something does, if a result cannot be read, or if nothing could be compared."

// compareCommitted compares results with those of the committed runs.
func (f *verifyFlags) compareCommitted(cmd *cobra.Command, paths []string) error {
	for _, name := range []string{"data-dir", "init", "parent", "out", "workers"} {
		if cmd.Flags().Changed(name) {
			return usage(fmt.Errorf("%s: --%s is about a run, and --committed runs nothing. Remove one of them", pathOf(cmd),
				name))
		}
	}
	runs, faults, err := readEnded(cmd.Context(), cmd.ErrOrStderr(), paths)
	if err != nil {
		return fmt.Errorf("%s: %w", pathOf(cmd), err)
	}
	groups := reproduce.Check(reproduce.Committed(), runs)
	err = f.asJSON.printOr(cmd.OutOrStdout(), checkedJSON(groups), checkedText(cmd, groups))
	if text := reproduce.Failure(groups); text != "" {
		err = errors.Join(err, fmt.Errorf("%s: %s", pathOf(cmd), text))
	}
	return errors.Join(err, faults)
}

// readEnded reads the results of runs that have ended, each once, by path. Those of other runs are noted; faults are
// about results that cannot be used. It is an error if no result is left.
func readEnded(ctx context.Context, notes io.Writer, paths []string) (runs []*result.Result, faults, err error) {
	found, err := identity.ReadAll(ctx, experiment.Schema(), identity.Want{Ended: true}, paths...)
	if err != nil {
		return nil, nil, err
	}
	note := func(format string, args ...any) { fmt.Fprintln(notes, escape.Line(fmt.Sprintf(format, args...))) }
	for _, folder := range found.Pending {
		note("%s is left out: %s.", folder, result.Pending(folder))
	}
	for _, f := range found.Refused {
		switch {
		case errors.Is(f.Why, result.ErrForeign):
			note("%s is left out: another program has run it, so its config is not known.", f.Path)
		case errors.Is(f.Why, identity.ErrStopped):
			note("%s is left out: the run was interrupted at step %s. `ocl run --resume %s` continues it.", f.Path,
				count.Number(f.Result.Outcome.Step), f.Folder)
		default:
			faults = errors.Join(faults, f.Why)
		}
	}
	runs = found.Results
	if len(runs) == 0 {
		return nil, nil, errors.Join(errors.New("no run that has ended can be used, so nothing is compared"), faults)
	}
	return runs, faults, nil
}

// checkedText returns the results of a check: a table for each stream, and below it sentences about the cells.
func checkedText(cmd *cobra.Command, groups []*reproduce.Group) string {
	var b strings.Builder
	names := reproduce.Names(groups)
	var streams []string
	for _, g := range groups {
		if s := g.Stream(); !slices.Contains(streams, s) {
			streams = append(streams, s)
		}
	}
	for i, stream := range streams {
		if i > 0 {
			fmt.Fprintln(&b)
		}
		fmt.Fprintln(&b, paint(cmd, cmd.OutOrStdout(), bold, escape.Line(stream)))
		t := table{head: []string{"verdict", "measured", ">here", ">committed", ">difference", ">p", "seeds", "runs"}}
		var below []string
		for i, g := range groups {
			if g.Stream() != stream {
				continue
			}
			rows, notes := checkedRows(names[i], g)
			t.rows, below = append(t.rows, rows...), append(below, notes...)
		}
		b.WriteString(t.String())
		for _, line := range below {
			fmt.Fprintln(&b, strings.Join(fold(escape.Line(line), plainWidth), "\n"))
		}
	}
	return b.String()
}

// checkedRows are the rows of a group, and sentences to stand below the table.
func checkedRows(name string, g *reproduce.Group) (rows [][]string, notes []string) {
	name = escape.Line(name)
	add := func(seeds []uint64, measured, here, committed, difference, p, verdict string) {
		rows = append(rows, []string{verdict, measured, here, committed, difference, p, listSeeds(seeds), name})
	}
	var same, differ []uint64
	for _, r := range g.Repeats {
		if len(r.Differences) == 0 {
			same = append(same, r.Seed)
			continue
		}
		differ = append(differ, r.Seed)
		for _, d := range r.Differences {
			notes = append(notes, fmt.Sprintf("%s, seed %d: %s is %s, and %s in the same committed run.", name, r.Seed, d.Key,
				d.B, d.A))
		}
	}
	if len(same) > 0 {
		add(same, "bits", "", "", "", "", reproduce.Same)
	}
	if len(differ) > 0 {
		add(differ, "bits", "", "", "", "", reproduce.Differs)
	}
	if len(g.Diverged) > 0 {
		add(g.Diverged, "outcome", "diverged", "finished", "", "", reproduce.Outside)
	}
	for _, c := range g.Comparisons {
		difference, p := "", ""
		if c.Made() {
			difference, p = fmt.Sprintf("%+.1f ± %.1f", 100*c.Difference, 100*c.Half), probability(c.Adjusted)
		}
		add(c.Seeds, c.Measure.Title, fmt.Sprintf("%.1f", 100*mean(c.Values)), committedText(c.Committed), difference, p,
			c.Verdict())
	}
	if len(rows) == 0 {
		var seeds []uint64
		for _, r := range g.Runs {
			seeds = append(seeds, r.Config.Seed)
		}
		add(seeds, "", "", "", "", "", reproduce.None)
	}
	if g.Why != "" {
		notes = append(notes, fmt.Sprintf("%s: %s.", name, g.Why))
	}
	for _, note := range g.Notes {
		notes = append(notes, name+": "+note)
	}
	return rows, notes
}

// committedText is the mean of the committed values and their number.
func committedText(values []float64) string {
	if len(values) == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f (%d)", 100*mean(values), len(values))
}

func mean(values []float64) float64 {
	mean, _ := metric.Interval(values)
	return mean
}

// probability prints a probability.
func probability(p float64) string {
	if p < 0.001 {
		return "<0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

// listSeeds prints seeds in order, "1 to 3" where they follow each other.
func listSeeds(seeds []uint64) string {
	seeds = slices.Compact(slices.Sorted(slices.Values(seeds)))
	var parts []string
	for len(seeds) > 0 {
		n := 1
		for n < len(seeds) && seeds[n] == seeds[0]+uint64(n) {
			n++
		}
		parts = append(parts, count.Range(seeds[0], seeds[n-1]))
		seeds = seeds[n:]
	}
	return joinWords(parts)
}

// groupJSON is the JSON that `ocl verify --committed --json` prints of the runs that learned the same but for their
// seeds.
type groupJSON struct {
	Method   string        `json:"method"`
	Tricks   []string      `json:"tricks"`
	Memory   *int          `json:"memory"` // samples; null for a method without memory
	Data     string        `json:"data"`
	Protocol string        `json:"protocol"`
	Learned  []string      `json:"learned"` // lines KEY=VALUE of the config
	Seeds    []uint64      `json:"seeds"`
	Verdict  string        `json:"verdict"`
	Reason   string        `json:"reason,omitempty"` // why nothing is compared
	Notes    []string      `json:"notes"`
	Repeats  []repeatJSON  `json:"repeats"`
	Diverged []uint64      `json:"diverged"`
	Measures []measureJSON `json:"measures"`
}

// repeatJSON is a run with the seed and the engine of a committed run.
type repeatJSON struct {
	Seed        uint64              `json:"seed"`
	Same        bool                `json:"same"`
	Differences []result.Difference `json:"differences"`
}

// measureJSON is a comparison of a measure; fractions, null where there are too few committed seeds.
type measureJSON struct {
	Measure    string    `json:"measure"`
	Seeds      []uint64  `json:"seeds"`
	Values     []float64 `json:"values"`
	Committed  []float64 `json:"committed"`
	Difference *float64  `json:"difference"`
	HalfWidth  *float64  `json:"half_width"`
	P          *float64  `json:"p"`
	AdjustedP  *float64  `json:"adjusted_p"`
	Verdict    string    `json:"verdict"`
}

func checkedJSON(groups []*reproduce.Group) []groupJSON {
	list := []groupJSON{}
	for _, g := range groups {
		r := g.Runs[0]
		out := groupJSON{Method: r.Method.Name, Tricks: r.Method.Tricks, Data: r.Config.Data.Name,
			Protocol: r.Config.Protocol, Learned: reproduce.Learned(r.Config),
			Verdict: g.Verdict(), Reason: g.Why, Notes: append([]string{}, g.Notes...), Repeats: []repeatJSON{},
			Diverged: append([]uint64{}, g.Diverged...), Measures: []measureJSON{}}
		if r.Memory != nil {
			out.Memory = &r.Memory.Capacity
		}
		for _, run := range g.Runs {
			out.Seeds = append(out.Seeds, run.Config.Seed)
		}
		for _, repeat := range g.Repeats {
			out.Repeats = append(out.Repeats, repeatJSON{repeat.Seed, len(repeat.Differences) == 0,
				append([]result.Difference{}, repeat.Differences...)})
		}
		for _, c := range g.Comparisons {
			own := measureJSON{Measure: c.Measure.Name, Seeds: c.Seeds, Values: c.Values,
				Committed: append([]float64{}, c.Committed...), Verdict: c.Verdict()}
			if c.Made() {
				own.Difference, own.HalfWidth, own.P, own.AdjustedP = &c.Difference, &c.Half, &c.P, &c.Adjusted
			}
			out.Measures = append(out.Measures, own)
		}
		list = append(list, out)
	}
	return list
}
