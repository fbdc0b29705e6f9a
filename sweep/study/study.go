// Package study makes a list of jobs of one file, the study, and has them done by any number of processes and machines
// that share a folder. A study is data: where a config takes one value, it may have a list. A job is one run; it is
// done when the folder has its result, whoever made it.
//
// The package does not know how a run learns (package experiment does), and how a job is done is a function that can be
// replaced ([Work]). Where jobs, claims and results are kept is a [Store]; [Folder] keeps them in plain files. Start at
// [Parse], [Study.Open] and [Worker.Run].
package study

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"ocl/config"
	"ocl/data"
	"ocl/internal/count"
	"ocl/internal/limit"
	"ocl/run/experiment"
)

// Study is a file with the runs that it describes.
type Study struct {
	Name         string // of the file, for messages
	Combinations []Combination
	// Notes are for the person, once [Study.Open] has found the jobs.
	Notes []string
	// Made is what was fixed when the study was made; the zero value if it was not made yet.
	Made Made
	// Part says that jobs whose data this machine does not have are left out, for others; a note counts them.
	Part bool
	// Borrow asks another machine for data of a digest that this one does not have, where Part is set; nil data are not
	// lent, too. It may be nil.
	Borrow func(ctx context.Context, digest string) (*data.Set, error)
	Text   []byte // of the file, without what was made
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

// Parse reads a study: a study file, or a config of `ocl run`, which is the smallest study. Everything that is wrong
// with it is reported at once, with its line. yes allows more than [limit.StudyRuns] runs. dataDir is where the data
// lie that are read from files; "" leaves what the file says.
//
// Runs are counted before any is made. It ends when ctx does.
func Parse(ctx context.Context, name string, text []byte, dataDir string, yes bool) (*Study, error) {
	x := expansion{schema: experiment.Schema(), name: name, dataDir: dataDir, yes: yes}
	return x.parse(ctx, text)
}

// ErrTooMany is wrapped by the error about a study of more than [limit.StudyRuns] runs, which a person may allow.
var ErrTooMany = errors.New("too many runs")

// expansion turns the text of a study into runs.
type expansion struct {
	schema  *config.Schema
	name    string
	dataDir string
	yes     bool

	combinations []Combination
	place        map[string]int // of each combination by all that it says but for the seed, so that none is there twice
	runs         int            // of all combinations
	listed       float64        // runs that were listed so far, also those that are there twice or excluded
	partly       bool           // the file could not be read whole, so that what is missing is no fault
	faults       []error
	seen         map[string]bool
}

func (x *expansion) parse(ctx context.Context, text []byte) (*Study, error) {
	is, err := config.IsSheet(x.name, text)
	if err != nil {
		return nil, err
	}
	var sheet config.Sheet
	if !is {
		c, places, err := x.schema.ParseAt(x.name, text)
		if err != nil {
			return nil, fmt.Errorf("%w\nconfig: %s: if this is a study, in which keys may have lists of values, begin it with `study: %d`",
				err, x.name, config.SheetVersion)
		}
		x.plain(ctx, c, places)
		sheet.Text = text
	} else {
		if sheet, err = x.schema.ParseSheet(x.name, text); err != nil {
			x.partly = true
			x.add(err)
		}
		if err := new(Made).read(sheet.Made); err != nil {
			return nil, err // it may be the cause of all others
		}
		x.sheet(ctx, sheet)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("study: %s: interrupted while its runs were listed: %w", x.name, err)
	}
	if err := x.err(); err != nil {
		return nil, err
	}
	s := &Study{Name: x.name, Combinations: x.combinations, Text: sheet.Text}
	return s, s.Made.read(sheet.Made)
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
		x.faults = append(x.faults[:limit.Faults:limit.Faults],
			errors.New("study: there may be more errors. Fix these first"))
	}
	return errors.Join(x.faults...)
}

const noMethods = "it names no methods. Add them, such as `methods: [er]`"

// plain adds the runs of a config.
func (x *expansion) plain(ctx context.Context, c config.Config, places config.Places) {
	if _, names := places.Lines["methods"]; !names {
		x.fault(0, noMethods)
	}
	x.settle(&c)
	if err := x.schema.ValidateAt(c, places); err != nil {
		x.add(err)
		return
	}
	if x.fits(float64(c.Runs)*float64(len(c.Methods))*float64(len(c.Tricks)), 0, "") {
		for _, one := range x.schema.Runs(c) {
			if ctx.Err() != nil {
				return
			}
			x.include(one, false)
		}
	}
}

// sheet adds the runs of a study file.
func (x *expansion) sheet(ctx context.Context, s config.Sheet) {
	if _, names := s.Top.Find("methods"); names || len(s.Include) == 0 {
		if !names {
			x.fault(s.Top.Line, noMethods)
		}
		x.grid(ctx, s.Top, s.Exclude)
	} else if len(s.Exclude) > 0 {
		x.fault(s.Exclude[0].Line,
			"exclude removes runs of the methods at the top, but none are given there. Add methods at the top, or remove exclude")
	}
	for _, g := range s.Include {
		if ctx.Err() != nil || len(x.faults) > limit.Faults {
			return
		}
		whole := g.Over(s.Top)
		if _, names := whole.Find("methods"); !names {
			x.fault(g.Line, "this entry of include names no methods. Add them, such as `methods: [er]`")
			continue
		}
		before, faults := x.runs, len(x.faults)
		if x.grid(ctx, whole, nil); x.runs == before && len(x.faults) == faults {
			x.fault(g.Line, "this entry of include adds no run, because the study has all of its runs already. Remove it")
		}
	}
	if x.runs == 0 && len(x.faults) == 0 {
		x.fault(s.Top.Line, "the study has no runs, because exclude removes all of them. Remove an entry of exclude")
	}
}

// grid adds the runs of a grid but for those that exclude removes.
func (x *expansion) grid(ctx context.Context, g config.Grid, exclude []config.Grid) {
	combinations, runs := 1.0, 1.0
	largest, most := "", 1.0 // the key that makes most runs
	var many []config.Setting
	base := config.Default()
	for _, s := range g.Settings {
		n := float64(len(s.Values))
		if len(s.Values) == 1 {
			s.Apply(&base, s.Values[0])
		} else {
			many = append(many, s)
		}
		if s.Key == "runs" { // each value is as many runs; other than positive numbers are faults later
			n, runs = 0, 0
			for _, v := range s.Values {
				one, _ := v.(int)
				n += float64(max(1, one))
			}
		}
		if n > most {
			largest, most = s.Key, n
		}
		combinations *= n
	}
	if runs > 0 { // the file does not give them
		combinations *= float64(max(1, base.Runs))
	}
	if _, given := g.Find("methods"); !given {
		combinations *= float64(len(base.Methods))
	}
	if !x.fits(combinations, g.Line, largest) {
		return
	}
	removed := excluding(exclude)
	places := g.Places(x.name)
	timing := g.Timing != nil && *g.Timing
	for c := range product(base, many) {
		if ctx.Err() != nil || len(x.faults) > limit.Faults {
			return
		}
		x.settle(&c)
		for _, name := range c.Methods { // several if the file names none
			for _, tricks := range c.Tricks {
				one := c.Clone()
				one.Methods, one.Tricks = []string{name}, []string{tricks}
				x.combination(ctx, one, places, timing, removed)
			}
		}
	}
	for i, e := range exclude {
		if !removed.used[i] && len(x.faults) == 0 {
			x.fault(e.Line, "this entry of exclude removes nothing, because no run has these values. Correct or remove it")
		}
	}
}

// combination adds the runs of one method with its tricks, a run for each seed.
func (x *expansion) combination(ctx context.Context, c config.Config, places config.Places, timing bool,
	removed *exclusion) {
	var kept []config.Config
	for i := range c.Runs {
		if ctx.Err() != nil {
			return
		}
		one := c
		one.Seed, one.Runs = c.Seed+uint64(i), 1
		if !removed.removes(one) {
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
		if ctx.Err() != nil {
			return
		}
		x.include(x.schema.Runs(one)[0], timing)
	}
}

// exclusion finds the entries of exclude that remove a run. An entry removes a run that has one of the values of every
// key of the entry. Each is found by the values of one of its keys, that which the fewest entries share, so that many
// entries and many runs together cost little.
type exclusion struct {
	entries []map[string]map[string]bool // their values, by key
	by      map[string]map[string][]int  // entries by the value of their key
	used    []bool                       // by entry, whether it removes a run
}

func excluding(exclude []config.Grid) *exclusion {
	e := &exclusion{by: map[string]map[string][]int{}, used: make([]bool, len(exclude))}
	shared := map[[2]string]int{} // how many entries have the value of a key
	for _, g := range exclude {
		entry := map[string]map[string]bool{}
		for _, s := range g.Settings {
			entry[s.Key] = map[string]bool{}
			for _, v := range s.Values {
				text := config.FormatValue(v)
				entry[s.Key][text] = true
				shared[[2]string{s.Key, text}]++
			}
		}
		e.entries = append(e.entries, entry)
	}
	for i, entry := range e.entries {
		key, least := "", math.MaxInt
		for _, k := range slices.Sorted(maps.Keys(entry)) {
			most := 0
			for text := range entry[k] {
				most = max(most, shared[[2]string{k, text}])
			}
			if most < least {
				key, least = k, most
			}
		}
		if e.by[key] == nil {
			e.by[key] = map[string][]int{}
		}
		for text := range entry[key] {
			e.by[key][text] = append(e.by[key][text], i)
		}
	}
	return e
}

// unset is no value of any key.
const unset = "\x00"

// removes says whether an entry removes the run, and marks all that do as used.
func (e *exclusion) removes(c config.Config) (out bool) {
	texts := map[string]string{} // of the run, by key
	has := func(key string, values map[string]bool) bool {
		text, known := texts[key]
		if !known {
			value, set := c.Text(key)
			if text = value; !set { // an option of another method
				text = unset
			}
			texts[key] = text
		}
		return values[text]
	}
	for key, entries := range e.by {
		text, _ := c.Text(key)
		for _, i := range entries[text] {
			if out && e.used[i] {
				continue
			}
			matches := true
			for k, values := range e.entries[i] {
				matches = matches && has(k, values)
			}
			if matches {
				out, e.used[i] = true, true
			}
		}
	}
	return out
}

// product is every combination of the values.
func product(c config.Config, many []config.Setting) iter.Seq[config.Config] {
	return func(yield func(config.Config) bool) { combine(c, many, yield) }
}

func combine(c config.Config, many []config.Setting, yield func(config.Config) bool) bool {
	if len(many) == 0 {
		return yield(c)
	}
	for _, v := range many[0].Values {
		one := c.Clone()
		many[0].Apply(&one, v)
		if !combine(one, many[1:], yield) {
			return false
		}
	}
	return true
}

// fits is false, with a fault, if a grid has more runs than are allowed. key is the one that makes most of them.
func (x *expansion) fits(runs float64, line int, key string) bool {
	all := x.listed + runs
	switch {
	case all > limit.StudyRunsConfirmed:
		why := "Divide it into several studies"
		if key != "" {
			why = fmt.Sprintf("%s makes most of them. Give it less, or divide the study", key)
		}
		x.fault(line, "the study has about %s, but at most %s are possible. %s",
			count.Of(int64(min(all, math.MaxInt64/2)), "run"), count.Number(limit.StudyRunsConfirmed), why)
		return false
	case all > limit.StudyRuns && !x.yes:
		x.add(fmt.Errorf("study: %s: the study has about %s, which is more than %s: %w. Make it smaller, or add --yes",
			x.name, count.Of(int64(all), "run"), count.Number(limit.StudyRuns), ErrTooMany))
		return false
	}
	x.listed = all
	return true
}

// settle sets what does not depend on the file.
func (x *expansion) settle(c *config.Config) {
	if x.dataDir == "" {
		return
	}
	if i := slices.IndexFunc(x.schema.Data, func(d config.DataSet) bool { return d.Name == c.Data.Name }); i >= 0 &&
		x.schema.Data[i].NeedsDir {
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
