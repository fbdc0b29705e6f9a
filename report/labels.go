package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ocl/config"
	"ocl/experiment/result"
)

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
