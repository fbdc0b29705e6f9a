package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ocl/config"
	"ocl/run/identity"
	"ocl/run/metric/compare"
	"ocl/run/result"
	"ocl/view/chart"
)

// study is everything one report is about.
type study struct {
	runs     []*run
	settings []*setting
	rows     []*row
	warnings []string // what makes the numbers less comparable than they look
	together string   // the warning about runs that had company, which the terminal's footnote says too
	notes    []string // runs that are missing
	png      bool     // figures are files of this kind too
}

// row is one line of the tables: a method with its memory, protocol and config. Its runs differ in their seeds, and in
// when they were evaluated.
type row struct {
	Label      string // "ER, memory 5,000": differs from all other rows of the setting
	Short      string // "ER 5k", or "ER" where the setting has one memory size: for figures, which have little room
	special    string // "lr 0.05": in what else it differs from other rows of the setting
	mark       string // the same of the other rows with its title, for Short
	marks      []said // its parts
	slug       string // "er-m5000": names figures and tables
	method     result.Method
	classifier string // such as ncm
	memory     int
	style      chart.Look
	bound      Bound
	width      float64 // of its line in pixels: a larger memory draws a thicker line
	setting    *setting
	runs       []*run // by seed
	more       []*run // of seeds that have one in runs, which measured what that one did not
	// all of seeds that have one in runs; they may have other kernels, and only runs of equal kernels are compared
	repeats  []*run
	finished []*run
	config   map[string]string // texts by key: what its runs have learned, and how they were tuned
}

// elsewhere are the keys that the keys of the row and of its setting hold in another form: the data digest says more
// than they do.
var elsewhere = []string{"methods", "tricks", "memory", "data.name", "data.size", "data.train_per_class",
	"data.test_per_class", "stream.class_order"}

// rowConfig is the part of a run's config that must agree within a row. Which engine computed it, the provenance says.
func rowConfig(r *run) map[string]string {
	if r.Foreign != nil { // nothing is known of it
		return nil
	}
	texts := r.id.Row().Without(elsewhere...).Texts()
	texts["numbers version"] = fmt.Sprint(r.Provenance.Numbers)
	return texts
}

// keyOf is the identity of a row, printed in one string.
func keyOf(r *run, setting string, cfg map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\x00%s\x00%s\x00%s\x00%d", setting, r.Method.Name, strings.Join(tricksOf(r.Method), "+"),
		r.classifier, r.memory)
	for _, k := range slices.Sorted(maps.Keys(cfg)) {
		fmt.Fprintf(&b, "\x00%s=%s", k, cfg[k])
	}
	return b.String()
}

// otherEngine says in what two runs of the same configuration still differ, "" if in nothing.
func otherEngine(a, b *run) string {
	if a.engine() == b.engine() {
		return ""
	}
	return fmt.Sprintf(" but for the kernels (%s and %s)", a.engine(), b.engine())
}

// engine returns the kernels and the convolutions of the run.
func (r *run) engine() compare.Engine {
	return compare.EngineOf(r.Provenance.Kernel, r.Provenance.Convolution)
}

// newStudy groups runs into rows and settings. The order is that of the first run of each, settings first.
// known are the methods that the caller knows, and schema is what they read; nil says that they read every key.
func newStudy(runs []*run, notes []string, known []Known, schema *config.Schema) *study {
	st := &study{notes: notes}
	methods := newCatalogue(known)
	if schema == nil {
		schema = new(config.Schema)
	}
	rows, settings := map[string]*row{}, map[string]*setting{}
	var all, foreign []*run
	for _, r := range runs {
		r.id = identity.Of(schema, r.Result)
		if split := r.byClassifier(schema.OwnRule(r.Method.Name)); r.Foreign == nil {
			all = append(all, split...)
		} else {
			foreign = append(foreign, split...)
		}
	}
	all = append(all, foreign...) // last, because settingOf needs the settings of all other runs
	for _, r := range all {
		methods.add(r.Method.Name, r.Foreign != nil)
		cfg := rowConfig(r)
		home := st.settingOf(r)
		key := keyOf(r, home, cfg)
		g := rows[key]
		if g == nil {
			s := settings[home]
			if s == nil {
				s = &setting{first: r, stream: r.Stream}
				settings[home] = s
				st.settings = append(st.settings, s)
			}
			g = &row{method: r.Method, classifier: r.classifier, memory: r.memory, setting: s, config: cfg,
				style: methods.look(r.Method.Name), bound: methods.bound(r.Method.Name)}
			rows[key] = g
			s.rows = append(s.rows, g)
		}
		if old := g.bySeed(r.seed); old != nil {
			counted := "only the first is counted"
			g.repeats = append(g.repeats, r)
			if g.moreOf(old).measures() < r.measures() {
				counted = "the second counts only for what the first did not measure"
				g.more = append(g.more, r)
			}
			st.warn(fmt.Sprintf("%s and %s are the same run (same configuration, seed %d)%s; %s.", place(old, g), place(r, g),
				r.seed, otherEngine(old, r), counted))
			continue
		}
		g.runs = append(g.runs, r)
	}
	for _, s := range st.settings {
		s.among = len(st.settings)
		s.share()
		s.finish(methods)
		st.rows = append(st.rows, s.rows...)
	}
	st.runs = slices.DeleteFunc(all, func(r *run) bool {
		return r.beside || !slices.ContainsFunc(st.rows,
			func(g *row) bool { return slices.Contains(g.runs, r) || slices.Contains(g.more, r) })
	})
	st.name()
	st.warnings = append(st.warnings, st.mixtures()...)
	for _, s := range st.settings {
		if text := s.chance(); text != "" {
			st.warn(s.titled(text))
		}
	}
	return st
}

// ownSeeds are the keys of seeds that a run may have beside its seed.
var ownSeeds = []string{"seeds.order", "seeds.init", "seeds.memory"}

// share lets a run count in each row that it belongs to. A seed of its own that is the run's seed anyway changes
// nothing, so such a run belongs to the row that has this seed of its own, and to the row that has none.
func (s *setting) share() {
	runs := map[*row][]*run{} // before any is shared
	for _, g := range s.rows {
		runs[g] = slices.Clone(g.runs)
	}
	for _, g := range s.rows {
		for _, other := range s.rows {
			if g == other || !g.sameButSeeds(other) {
				continue
			}
			for _, r := range runs[other] {
				same := !slices.ContainsFunc(ownSeeds, func(key string) bool { return seedOf(g, key, r) != seedOf(other, key, r) })
				if same && g.bySeed(r.seed) == nil {
					g.runs = append(g.runs, r)
				}
			}
		}
	}
}

// sameButSeeds says whether two rows of a setting differ in seeds of their own alone.
func (g *row) sameButSeeds(other *row) bool {
	if g.method.Name != other.method.Name || !slices.Equal(tricksOf(g.method), tricksOf(other.method)) ||
		g.classifier != other.classifier || g.memory != other.memory {
		return false
	}
	plain := func(config map[string]string) map[string]string {
		config = maps.Clone(config)
		for _, key := range ownSeeds {
			delete(config, key)
		}
		return config
	}
	return maps.Equal(plain(g.config), plain(other.config))
}

// seedOf is a seed of a run as a row has it: that of the row, or the run's.
func seedOf(g *row, key string, r *run) string {
	if text := g.config[key]; text != "" {
		return text
	}
	return fmt.Sprint(r.seed)
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
