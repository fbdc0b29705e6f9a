package report

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"ocl/config"
	"ocl/experiment/result"
	"ocl/report/chart"
)

// study is everything one report is about.
type study struct {
	runs     []*run
	settings []*setting
	rows     []*row
	warnings []string // what makes the numbers less comparable than they look
	notes    []string // runs that are missing
}

// setting is what rows must share to be compared in one figure: stream, protocol and number of tasks.
type setting struct {
	Name     string // "cifar100 in 20 tasks, survey protocol"
	slug     string // "" when the study has one setting only
	stream   result.Stream
	rows     []*row
	memories []int // the different capacities, ascending, for line widths
	all      bool  // all rows are drawn
}

// row is one line of the tables: a method with its memory, protocol and config; its runs differ in their seeds only.
type row struct {
	Label      string // "ER, memory 5,000": differs from all other rows of the setting
	Short      string // "ER 5k", or "ER" where the setting has one memory size: for figures
	special    string // "optimizer.lr 0.05": what else tells it from its twins
	slug       string // "er-m5000": names figures and tables
	method     result.Method
	classifier string // such as ncm
	memory     int
	style      chart.Look
	bound      Bound
	width      float64 // of its line in pixels: a larger memory draws a thicker line
	setting    *setting
	runs       []*run // by seed
	finished   []*run
	config     map[string]string // texts by key, what is averaged over left out
}

// averagedOver are the config keys in which the runs of one row may differ, or that the row's key holds in another
// form. An evaluation in the middle of a task changes no number.
var averagedOver = []string{"seed", "runs", "methods", "tricks", "memory", "classifiers", "eval_every"}

// rowConfig is the part of a run's config that must agree within a row. Which engine computed it, the provenance says.
func rowConfig(r *run) map[string]string {
	texts := map[string]string{}
	for _, k := range config.AllKeys() {
		if !k.Place && !k.Engine && !slices.Contains(averagedOver, k.Name) {
			texts[k.Name], _ = r.Config.Text(k.Name)
		}
	}
	for name, v := range r.Method.Options {
		texts[name] = fmt.Sprint(v)
	}
	texts["classifiers"] = r.classifier
	texts["tricks"] = strings.Join(tricksOf(r.Method), "+")
	texts["numbers"] = fmt.Sprint(r.Provenance.Numbers)
	return texts
}

// keyOf is the identity of a row, printed in one string.
func keyOf(r *run, cfg map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\x00%s\x00%d\x00%s", settingKey(r), r.Method.Name, r.memory, r.Provenance.DataDigest)
	for _, k := range slices.Sorted(maps.Keys(cfg)) {
		fmt.Fprintf(&b, "\x00%s=%s", k, cfg[k])
	}
	return b.String()
}

// settingKey is the identity of a setting.
func settingKey(r *run) string {
	s := r.Stream
	return fmt.Sprintf("%s\x00%s\x00%s\x00%d\x00%v\x00%d", s.Name, s.Scenario, s.Protocol, len(s.Tasks), s.Shape, s.Classes)
}

// otherEngine says in what two runs of the same configuration still differ, "" if in nothing.
func otherEngine(a, b *run) string {
	var parts []string
	for _, v := range []struct{ name, a, b string }{
		{"kernels", a.Provenance.Kernel, b.Provenance.Kernel}, {"convolutions", a.Provenance.Convolution, b.Provenance.Convolution},
	} {
		if v.a != v.b {
			parts = append(parts, fmt.Sprintf("the %s (%s and %s)", v.name, orUnknown(v.a), orUnknown(v.b)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " but for " + andList(parts)
}

// newStudy groups runs into rows and settings. The order is that of the first run of each, settings first.
// known are the methods that the caller knows.
func newStudy(runs []*run, notes []string, known []Known) *study {
	st := &study{notes: notes}
	methods := newCatalogue(known)
	rows, settings := map[string]*row{}, map[string]*setting{}
	var all []*run
	for _, r := range runs {
		all = append(all, r.byClassifier()...)
	}
	for _, r := range all {
		methods.add(r.Method.Name)
		cfg := rowConfig(r)
		key := keyOf(r, cfg)
		g := rows[key]
		if g == nil {
			s := settings[settingKey(r)]
			if s == nil {
				s = &setting{stream: r.Stream, Name: settingName(r.Stream)}
				settings[settingKey(r)] = s
				st.settings = append(st.settings, s)
			}
			g = &row{method: r.Method, classifier: r.classifier, memory: r.memory, setting: s, config: cfg,
				style: methods.look(r.Method.Name), bound: methods.bound(r.Method.Name)}
			rows[key] = g
			s.rows = append(s.rows, g)
		}
		if old := g.bySeed(r.seed); old != nil {
			st.warnings = append(st.warnings, fmt.Sprintf("%s and %s are the same run (same configuration, seed %d)%s; only the first is counted.",
				place(old, g), place(r, g), r.seed, otherEngine(old, r)))
			continue
		}
		g.runs = append(g.runs, r)
		if !r.beside {
			st.runs = append(st.runs, r)
		}
	}
	for _, s := range st.settings {
		s.finish(methods)
		st.rows = append(st.rows, s.rows...)
	}
	st.name()
	st.warnings = append(st.warnings, st.mixtures()...)
	return st
}

// place says where a run of row g was read from.
func place(r *run, g *row) string {
	if r.folder == "" {
		return "a run of " + g.title()
	}
	return r.folder
}

func (g *row) bySeed(seed uint64) *run {
	for _, r := range g.runs {
		if r.seed == seed {
			return r
		}
	}
	return nil
}

// settingName names the stream, the number of tasks and the protocol.
func settingName(s result.Stream) string {
	name := s.Name
	if name == "" {
		name = "an unnamed stream"
	}
	name += fmt.Sprintf(" in %s", count(len(s.Tasks), "task"))
	if s.Protocol != "" {
		name += ", " + s.Protocol + " protocol"
	}
	return name
}

// finish sorts the rows (methods in their order, bounds below those that they bound, then by memory) and gives them
// their line widths.
func (s *setting) finish(methods catalogue) {
	rank := func(g *row) int {
		place := methods.place(g.method.Name)
		if g.bound != NoBound {
			place += len(methods)
		}
		return place
	}
	slices.SortStableFunc(s.rows, func(a, b *row) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return a.memory - b.memory
	})
	for _, g := range s.rows {
		slices.SortStableFunc(g.runs, func(a, b *run) int {
			if a.seed < b.seed {
				return -1
			}
			return 1
		})
		for _, r := range g.runs {
			if r.Outcome.State == result.Finished {
				g.finished = append(g.finished, r)
			}
		}
		if g.memory >= 0 && !slices.Contains(s.memories, g.memory) {
			s.memories = append(s.memories, g.memory)
		}
	}
	sort.Ints(s.memories)
	for _, g := range s.rows {
		g.width = 2
		if i := slices.Index(s.memories, g.memory); i >= 0 && len(s.memories) > 1 {
			g.width = 1.3 + 1.9*float64(i)/float64(len(s.memories)-1)
		}
	}
}

// name gives every row a label that no other row of its setting has, and every file name a unique slug.
func (st *study) name() {
	if len(st.settings) > 1 {
		used := map[string]bool{}
		for _, s := range st.settings {
			s.slug = unique(used, slugify(fmt.Sprintf("%s-%d-%s", s.stream.Name, len(s.stream.Tasks), s.stream.Protocol)))
		}
	}
	used := map[string]bool{}
	for _, s := range st.settings {
		labels := map[string]bool{}
		for _, g := range s.rows {
			var twins []*row
			sizes := map[int]bool{g.memory: true}
			for _, o := range s.rows {
				if o.title() != g.title() {
					continue
				}
				sizes[o.memory] = true
				if o != g && o.memory == g.memory {
					twins = append(twins, o)
				}
			}
			g.special = strings.Join(differences(g, twins), ", ")
			g.Label, g.Short = g.title(), g.title()
			if g.memory >= 0 {
				g.Label += ", memory " + thousands(int64(g.memory))
				if len(sizes) > 1 {
					g.Short += " " + kilo(g.memory)
				}
			}
			if g.special != "" {
				g.Label += ", " + g.special
				g.Short += ", " + g.special
			}
			g.Label = unique(labels, g.Label)
			slug := plainName(g.method.Name)
			for _, t := range tricksOf(g.method) {
				slug += "+" + t
			}
			if g.classifier != ownRule {
				slug += "+" + g.classifier
			}
			if g.memory >= 0 {
				slug += fmt.Sprintf("-m%d", g.memory)
			}
			if s.slug != "" {
				slug = s.slug + "-" + slug
			}
			g.slug = unique(used, slugify(slug))
		}
	}
}

// title is the method's title with its tricks and a classifier that is not its own.
func (g *row) title() string {
	t := g.method.Title
	if t == "" {
		t = g.method.Name
	}
	for _, trick := range tricksOf(g.method) {
		t += " + " + strings.ToUpper(trick) // as the survey abbreviates it
	}
	if c := classifierTitle(g.classifier); c != "" {
		t += " + " + c
	}
	return t
}

// tricksOf are the tricks of a method but for one that is a classifier: the rows of the run are as if that had been
// named.
func tricksOf(m result.Method) []string {
	return slices.DeleteFunc(slices.Clone(m.Tricks), func(t string) bool { return slices.Contains(config.Classifiers(), t) })
}

// name is the title with what else tells the row from its twins; the memory has a column of its own in tables.
func (g *row) name() string {
	if g.special == "" {
		return g.title()
	}
	return g.title() + ", " + g.special
}

// prose names the row in a sentence.
func (g *row) prose() string {
	if g.memory < 0 {
		return g.name()
	}
	return g.name() + " with " + count(g.memory, "stored sample")
}

// differences prints the config keys in which g differs from other rows of the same method and memory, as
// "optimizer.lr 0.05".
func differences(g *row, twins []*row) []string {
	keys := map[string]bool{}
	for _, o := range twins {
		for _, k := range slices.Sorted(maps.Keys(o.config)) {
			if g.config[k] != o.config[k] {
				keys[k] = true
			}
		}
		for k := range g.config {
			if g.config[k] != o.config[k] {
				keys[k] = true
			}
		}
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		v := g.config[k]
		if v == "" {
			v = "unset"
		}
		out = append(out, strings.ReplaceAll(k, "_", " ")+" "+v)
	}
	if len(out) == 0 && len(twins) > 0 {
		out = append(out, "data "+shorten(g.runs[0].Provenance.DataDigest, 14))
	}
	return out
}

// unique returns name, or name with the first number that makes it new, and records it.
func unique(used map[string]bool, name string) string {
	try := name
	for i := 2; used[try]; i++ {
		try = fmt.Sprintf("%s-%d", name, i)
	}
	used[try] = true
	return try
}

// slugify keeps what is safe in a file name, an anchor and a link on every system.
func slugify(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '.':
			b.WriteRune(r)
		default:
			b.WriteByte('-')
		}
	}
	s = strings.Trim(b.String(), "-.")
	if s == "" {
		s = "x"
	}
	return shorten(s, 80)
}

// shorten cuts s to n bytes; it is used on plain ASCII.
func shorten(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
