// Package study makes a list of jobs of one file, the study, and has them done by any number of processes and machines
// that share a folder. A study is data: where a config takes one value, it may have a list. A job is one run; it is done
// when the folder has its result, whoever made it.
//
// The package does not know how a run learns (package experiment does), and how a job is done is a function that can be
// replaced ([Work]). Where jobs, claims and results are kept is a [Store]; [Folder] keeps them in plain files. Start at
// [Parse], [Study.Open] and [Worker.Run].
package study

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"ocl/config"
	"ocl/experiment"
	"ocl/internal/count"
	"ocl/internal/limit"
)

// Study is a file with the runs that it describes.
type Study struct {
	Name         string // of the file, for messages
	Combinations []Combination
	// Notes are for the person, once [Study.Open] has found the jobs.
	Notes []string
	// Made is what was fixed when the study was made; the zero value if it was not made yet.
	Made Made
	Text []byte // of the file, without what was made
}

// Combination is runs that differ in their seed alone, before their data are open.
type Combination struct {
	Config config.Config // one method with its tricks; its seed is one of Seeds
	// Seeds are those of the runs, with whether the run time is wanted: such a run is to be alone on its machine.
	Seeds map[uint64]bool
}

// Len counts the runs of the study.
func (s *Study) Len() int {
	n := 0
	for _, c := range s.Combinations {
		n += len(c.Seeds)
	}
	return n
}

// Parse reads a study: a study file, or a config of `ocl run`, which is the smallest study. Everything that is wrong with
// it is reported at once, with its line. yes allows more than [limit.StudyRuns] runs. dataDir is where the data lie that are read from
// files; "" leaves what the file says.
func Parse(name string, text []byte, dataDir string, yes bool) (*Study, error) {
	schema := experiment.Schema()
	is, err := config.IsSheet(name, text)
	if err != nil {
		return nil, err
	}
	var sheet config.Sheet
	x := expansion{schema: schema, name: name, dataDir: dataDir, yes: yes}
	if !is {
		c, places, err := schema.ParseAt(name, text)
		if err != nil {
			return nil, fmt.Errorf("%w\nconfig: %s: if this is a study, in which keys may have lists of values, begin it with `study: %d`", err, name, config.SheetVersion)
		}
		x.plain(c, places)
		sheet.Text = text
	} else {
		if sheet, err = schema.ParseSheet(name, text); err != nil {
			x.partly = true
			x.add(err)
		}
		x.sheet(sheet)
	}
	if err := x.err(); err != nil {
		return nil, err
	}
	s := &Study{Name: name, Combinations: x.combinations, Text: sheet.Text}
	return s, s.Made.read(sheet.Made)
}

// ErrTooMany is wrapped by the error about a study of more than [limit.StudyRuns] runs, which a person may allow.
var ErrTooMany = errors.New("too many runs")

// expansion turns grids into runs.
type expansion struct {
	schema  *config.Schema
	name    string
	dataDir string
	yes     bool

	combinations []Combination
	place        map[string]int // of each combination by all that it says but for the seed, so that none is there twice
	runs         int            // of all combinations
	partly       bool           // the file could not be read whole, so that what is missing is no fault
	faults       []error
	seen         map[string]bool
}

func (x *expansion) fault(line int, format string, a ...any) {
	if x.partly {
		return
	}
	where := x.name
	if line > 0 {
		where = fmt.Sprintf("%s:%d", x.name, line)
	}
	x.add(fmt.Errorf("study: %s: "+format, append([]any{where}, a...)...))
}

// add notes an error once: many runs have the same.
func (x *expansion) add(err error) {
	if x.seen == nil {
		x.seen = map[string]bool{}
	}
	if text := err.Error(); !x.seen[text] {
		x.seen[text] = true
		x.faults = append(x.faults, err)
	}
}

func (x *expansion) err() error {
	if n := len(x.faults); n > limit.Faults {
		x.faults = append(x.faults[:limit.Faults:limit.Faults], fmt.Errorf("study: there are %d more errors. Fix these first", n-limit.Faults))
	}
	return errors.Join(x.faults...)
}

const noMethods = "it names no methods. Add them, such as `methods: [er]`"

// plain adds the runs of a config.
func (x *expansion) plain(c config.Config, places config.Places) {
	if _, names := places.Lines["methods"]; !names {
		x.fault(0, noMethods)
	}
	x.settle(&c)
	if err := x.schema.ValidateAt(c, places); err != nil {
		x.add(err)
		return
	}
	if x.fits(float64(c.Runs)*float64(len(c.Methods))*float64(len(c.Tricks)), 0) {
		for _, one := range x.schema.Runs(c) {
			x.include(one, false)
		}
	}
}

// sheet adds the runs of a study file.
func (x *expansion) sheet(s config.Sheet) {
	if _, names := s.Top.Find("methods"); names || len(s.Include) == 0 {
		if !names {
			x.fault(s.Top.Line, noMethods)
		}
		x.grid(s.Top, s.Exclude)
	} else if len(s.Exclude) > 0 {
		x.fault(s.Exclude[0].Line, "exclude removes runs of the methods at the top, but none are given there. Add methods at the top, or remove exclude")
	}
	for _, g := range s.Include {
		whole := g.Over(s.Top)
		if _, names := whole.Find("methods"); !names {
			x.fault(g.Line, "this entry of include names no methods. Add them, such as `methods: [er]`")
			continue
		}
		before, faults := x.runs, len(x.faults)
		if x.grid(whole, nil); x.runs == before && len(x.faults) == faults {
			x.fault(g.Line, "this entry of include adds no run, because the study has all of its runs already. Remove it")
		}
	}
	if x.runs == 0 && len(x.faults) == 0 {
		x.fault(s.Top.Line, "the study has no runs, because exclude removes all of them. Remove an entry of exclude")
	}
}

// grid adds the runs of a grid but for those that exclude removes.
func (x *expansion) grid(g config.Grid, exclude []config.Grid) {
	combinations := 1.0
	var many []config.Setting
	base := config.Default()
	for _, s := range g.Settings {
		if len(s.Values) == 1 {
			s.Apply(&base, s.Values[0])
			continue
		}
		many = append(many, s)
		combinations *= float64(len(s.Values))
	}
	if _, given := g.Find("methods"); !given {
		combinations *= float64(len(base.Methods))
	}
	if !x.fits(combinations*float64(max(1, base.Runs)), g.Line) {
		return
	}
	used := make([]bool, len(exclude))
	places := g.Places(x.name)
	timing := g.Timing != nil && *g.Timing
	product(base, many, func(c config.Config) {
		x.settle(&c)
		for _, name := range c.Methods { // several if the file names none
			for _, tricks := range c.Tricks {
				one := c.Clone()
				one.Methods, one.Tricks = []string{name}, []string{tricks}
				x.combination(one, places, timing, exclude, used)
			}
		}
	})
	for i, e := range exclude {
		if !used[i] && len(x.faults) == 0 {
			x.fault(e.Line, "this entry of exclude removes nothing, because no run has these values. Correct or remove it")
		}
	}
}

// combination adds the runs of one method with its tricks, a run for each seed.
func (x *expansion) combination(c config.Config, places config.Places, timing bool, exclude []config.Grid, used []bool) {
	var kept []config.Config
	for i := range c.Runs {
		one := c
		one.Seed, one.Runs = c.Seed+uint64(i), 1
		out := false
		for e, g := range exclude {
			if matches(g, one) {
				out, used[e] = true, true
			}
		}
		if !out {
			kept = append(kept, one)
		}
	}
	if len(kept) == 0 && c.Runs > 0 {
		return // what is wrong with it does not matter
	}
	if err := x.schema.ValidateAt(c, places); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			x.add(errors.New(line))
		}
		return
	}
	for _, one := range kept {
		x.include(x.schema.Runs(one)[0], timing)
	}
}

// matches says whether a run has one of the values of every key of an entry of exclude.
func matches(g config.Grid, c config.Config) bool {
	return !slices.ContainsFunc(g.Settings, func(s config.Setting) bool { return !s.Matches(c) })
}

// product calls f with every combination of the values.
func product(c config.Config, many []config.Setting, f func(config.Config)) {
	if len(many) == 0 {
		f(c)
		return
	}
	for _, v := range many[0].Values {
		one := c.Clone()
		many[0].Apply(&one, v)
		product(one, many[1:], f)
	}
}

// fits is false, with a fault, if a grid has more runs than are allowed.
func (x *expansion) fits(runs float64, line int) bool {
	all := runs + float64(x.runs)
	switch {
	case all > limit.StudyRunsConfirmed:
		x.fault(line, "the study has about %s, but at most %s are possible. Divide it into several studies", count.Of(int64(min(all, math.MaxInt64/2)), "run"), count.Number(limit.StudyRunsConfirmed))
		return false
	case all > limit.StudyRuns && !x.yes:
		x.add(fmt.Errorf("study: %s: the study has about %s, which is more than %s: %w. Make it smaller, or add --yes",
			x.name, count.Of(int64(all), "run"), count.Number(limit.StudyRuns), ErrTooMany))
		return false
	}
	return true
}

// settle sets what does not depend on the file.
func (x *expansion) settle(c *config.Config) {
	if x.dataDir == "" {
		return
	}
	if i := slices.IndexFunc(x.schema.Data, func(d config.DataSet) bool { return d.Name == c.Data.Name }); i >= 0 && x.schema.Data[i].NeedsDir {
		c.Data.Dir = x.dataDir
	}
}

// include adds a run, unless it is there. A run that is timed anywhere is timed.
func (x *expansion) include(c config.Config, timing bool) {
	if x.place == nil {
		x.place = map[string]int{}
	}
	var text strings.Builder
	for _, v := range x.schema.Values(c) {
		if v.Name != "seed" {
			fmt.Fprintf(&text, "%s=%q\n", v.Name, v.Text)
		}
	}
	i, there := x.place[text.String()]
	if !there {
		i = len(x.combinations)
		x.place[text.String()] = i
		x.combinations = append(x.combinations, Combination{Config: c, Seeds: map[uint64]bool{}})
	}
	seeds := x.combinations[i].Seeds
	if _, there := seeds[c.Seed]; !there {
		x.runs++
	}
	seeds[c.Seed] = seeds[c.Seed] || timing
}
