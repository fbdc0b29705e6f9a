package report

import (
	"fmt"
	"maps"
	"slices"
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
	together string   // the warning about runs that had company, which the terminal's footnote says too
	notes    []string // runs that are missing
}

// row is one line of the tables: a method with its memory, protocol and config; its runs differ in their seeds only.
type row struct {
	Label      string // "ER, memory 5,000": differs from all other rows of the setting
	Short      string // "ER 5k", or "ER" where the setting has one memory size: for figures, which have little room
	special    string // "lr 0.05": in what else it differs from other rows of the setting
	mark       string // the same of the other rows with its title, for Short
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
	config     map[string]string // texts by key: those that the method reads, without what is averaged over
}

// averagedOver are the config keys in which the runs of one row may differ, or that the row's key holds in another
// form. An evaluation in the middle of a task changes no number.
var averagedOver = []string{"seed", "runs", "methods", "tricks", "memory", "classifiers", "eval_every"}

// ofSetting are those that the setting's key holds in another form: the data digest says more than they do.
var ofSetting = []string{"data.name", "data.size", "data.train_per_class", "data.test_per_class", "stream.class_order"}

// rowConfig is the part of a run's config that must agree within a row. Which engine computed it, the provenance says.
func rowConfig(r *run, methods catalogue) map[string]string {
	if r.Foreign != nil { // nothing is known of it
		return nil
	}
	texts := map[string]string{"numbers version": fmt.Sprint(r.Provenance.Numbers)}
	for _, k := range config.AllKeys() {
		if !k.Place && !k.Engine && !slices.Contains(averagedOver, k.Name) && !slices.Contains(ofSetting, k.Name) &&
			concerns(k, r.Config) && methods.reads(r.Method, k.Name) {
			texts[k.Name], _ = r.Config.Text(k.Name)
		}
	}
	for name, v := range r.Method.Options {
		texts[optionPrefix(r.Method.Name)+name] = fmt.Sprint(v)
	}
	if t := r.Tuning; t != nil { // each seed may have values of its own
		for _, key := range t.Keys {
			texts[key] = "tuned"
		}
		texts["grid"] = t.Grid + " " + shorten(strings.TrimPrefix(t.GridDigest, "sha256:"), 8)
	}
	return texts
}

// optionPrefix begins the keys of a method's options.
func optionPrefix(method string) string { return "method." + method + "." }

// concerns says whether a key is about the network or the optimiser of a config, and not about another one.
func concerns(k config.Key, c config.Config) bool {
	section, _, _ := strings.Cut(k.Name, ".")
	for _, named := range config.AllKeys() {
		if named.Name == section+".name" && slices.Contains(named.Choices, k.ReadBy) {
			name, _ := c.Text(named.Name)
			return name == k.ReadBy
		}
	}
	return true
}

// keyOf is the identity of a row, printed in one string.
func keyOf(r *run, setting string, cfg map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\x00%s\x00%s\x00%s\x00%d", setting, r.Method.Name, strings.Join(tricksOf(r.Method), "+"), r.classifier, r.memory)
	for _, k := range slices.Sorted(maps.Keys(cfg)) {
		fmt.Fprintf(&b, "\x00%s=%s", k, cfg[k])
	}
	return b.String()
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
	slices.SortStableFunc(all, foreignLast)
	for _, r := range all {
		methods.add(r.Method.Name)
		cfg := rowConfig(r, methods)
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
