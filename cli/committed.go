package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ocl/config"
	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/run/experiment"
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
	if text := failure(groups); text != "" {
		err = errors.Join(err, fmt.Errorf("%s: %s", pathOf(cmd), text))
	}
	return errors.Join(err, faults)
}

// readEnded reads the results of runs that have ended, each once, by path. Those of other runs are noted; faults are
// about results that cannot be used. It is an error if no result is left.
func readEnded(ctx context.Context, notes io.Writer, paths []string) (runs []*result.Result, faults, err error) {
	seen := map[string]bool{}
	note := func(format string, args ...any) { fmt.Fprintln(notes, escape.Line(fmt.Sprintf(format, args...))) }
	for _, path := range paths {
		found, pending, err := result.Find(path)
		if err != nil {
			return nil, nil, err
		}
		for _, folder := range pending {
			note("%s is left out: the run has not ended. `ocl run --resume %s` continues it.", folder, folder)
		}
		for _, f := range found {
			if ctx.Err() != nil {
				return nil, nil, ctx.Err()
			}
			if whole, err := filepath.Abs(f.Path); err == nil && seen[whole] {
				continue
			} else if err == nil {
				seen[whole] = true
			}
			r, err := experiment.Usable(f.Path, result.Want{Ended: true})
			switch {
			case errors.Is(err, result.ErrForeign):
				note("%s is left out: another program has run it, so its config is not known.", f.Path)
			case errors.Is(err, result.ErrStopped):
				note("%s is left out: the run was interrupted at step %s. `ocl run --resume %s` continues it.", f.Path,
					count.Number(r.Outcome.Step), f.Folder)
			case err != nil:
				faults = errors.Join(faults, err)
			default:
				runs = append(runs, r)
			}
		}
	}
	if len(runs) == 0 {
		return nil, nil, errors.Join(errors.New("no run that has ended can be used, so nothing is compared"), faults)
	}
	return runs, faults, nil
}

// failure says in what a check fails, "" for nothing.
func failure(groups []*reproduce.Group) string {
	compared := 0
	var outside, differs []string
	names := namesOf(groups)
	for i, g := range groups {
		switch g.Verdict() {
		case reproduce.Outside:
			outside = append(outside, names[i])
		case reproduce.Differs:
			differs = append(differs, names[i])
		}
		if g.Why == "" {
			compared++
		}
	}
	switch {
	case compared == 0:
		return "there is no reference for any of the runs, so nothing is compared. `ocl report paper` names the commands of the survey's runs"
	case len(outside) > 0:
		return "outside the committed distribution: " + count.Some(outside)
	case len(differs) > 0:
		return "other numbers than the same committed run: " + count.Some(differs)
	}
	return ""
}

// streamText names the stream of a group.
func streamText(g *reproduce.Group) string {
	c := g.Runs[0].Config
	text := c.Data.Name
	switch kind := c.Stream.Kind; kind {
	case "", config.KindClasses:
	case config.KindShift:
		text += " with " + c.Stream.Shift.Kind
	default:
		text += " by " + kind
	}
	return text + ", " + c.Protocol + " protocol"
}

// namesOf are the names of groups: method, tricks and memory, and where groups of one stream have the same, what
// differs in their configs.
func namesOf(groups []*reproduce.Group) []string {
	names := make([]string, len(groups))
	alike := map[string][]int{}
	for i, g := range groups {
		r := g.Runs[0]
		names[i] = r.Method.Title
		for _, t := range r.Method.Tricks {
			if !slices.Contains(config.Classifiers(), t) {
				names[i] += " + " + strings.ToUpper(t)
			}
		}
		if r.Memory != nil {
			names[i] += fmt.Sprintf(", memory %d", r.Memory.Capacity)
		}
		id := streamText(g) + "\n" + names[i]
		alike[id] = append(alike[id], i)
	}
	for _, twins := range alike {
		for _, i := range twins {
			for _, line := range reproduce.Learned(groups[i].Runs[0].Config) {
				if slices.ContainsFunc(twins, func(j int) bool {
					return !slices.Contains(reproduce.Learned(groups[j].Runs[0].Config),
						line)
				}) {
					names[i] += ", " + line
				}
			}
		}
	}
	return names
}

// checkedText returns the results of a check: a table for each stream, and below it sentences about the cells.
func checkedText(cmd *cobra.Command, groups []*reproduce.Group) string {
	var b strings.Builder
	names := namesOf(groups)
	var streams []string
	for _, g := range groups {
		if s := streamText(g); !slices.Contains(streams, s) {
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
			if streamText(g) != stream {
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
		add(c.Seeds, c.Measure.Title, fmt.Sprintf("%.1f", 100*average(c.Values)), committedText(c.Committed), difference, p,
			verdictOf(c))
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

func verdictOf(c reproduce.Comparison) string {
	switch {
	case !c.Made():
		return reproduce.None
	case c.Outside():
		return reproduce.Outside
	}
	return reproduce.Inside
}

// committedText is the mean of the committed values and their number.
func committedText(values []float64) string {
	if len(values) == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f (%d)", 100*average(values), len(values))
}

// probability prints a probability.
func probability(p float64) string {
	if p < 0.001 {
		return "<0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

func average(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
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
				Committed: append([]float64{}, c.Committed...), Verdict: verdictOf(c)}
			if c.Made() {
				own.Difference, own.HalfWidth, own.P, own.AdjustedP = &c.Difference, &c.Half, &c.P, &c.Adjusted
			}
			out.Measures = append(out.Measures, own)
		}
		list = append(list, out)
	}
	return list
}
