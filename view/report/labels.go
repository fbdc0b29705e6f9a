package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ocl/config"
	"ocl/internal/count"
	"ocl/run/result"
)

// name gives every row a label that no other row of its setting has, and every file name a unique slug.
func (st *study) name() {
	nameSettings(st.settings)
	used := map[string]bool{}
	for _, s := range st.settings {
		s.tellApart()
		labels := map[string]bool{}
		for _, g := range s.rows {
			sizes := map[int]bool{}
			for _, o := range s.rows {
				if o.title() == g.title() {
					sizes[o.memory] = true
				}
			}
			g.Label, g.Short = g.title(), g.title()
			if g.memory >= 0 {
				g.Label += ", memory " + count.Number(g.memory)
				if len(sizes) > 1 {
					g.Short += " " + count.Short(g.memory)
				}
			}
			if g.special != "" {
				g.Label += ", " + g.special
			}
			if g.mark != "" {
				g.Short += ", " + g.mark
			}
			g.Label = unique(labels, g.Label)
			g.slug = unique(used, g.fileName())
		}
	}
}

// fileName is the stem of the names of the row's files.
func (g *row) fileName() string {
	name := plainName(g.method.Name)
	if g.foreign() {
		name = foreignSlug(g.method.Name)
	}
	for _, t := range tricksOf(g.method) {
		name += "+" + t
	}
	if g.classifier != ownRule {
		name += "+" + g.classifier
	}
	if g.memory >= 0 {
		name += fmt.Sprintf("-m%d", g.memory)
	}
	if g.mark != "" {
		name += "-" + strings.NewReplacer(",", "", ":", "").Replace(g.mark)
	}
	if g.setting.slug != "" {
		name = g.setting.slug + "-" + name
	}
	return slugify(name)
}

// methodTitle is the method's title, or its name where it has none.
func (g *row) methodTitle() string { return cmp.Or(g.method.Title, g.method.Name) }

// title is the method's title with its tricks and a classifier that is not its own.
func (g *row) title() string {
	t := g.methodTitle()
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
	return slices.DeleteFunc(slices.Clone(m.Tricks),
		func(t string) bool { return slices.Contains(config.Classifiers(), t) })
}

// tricks returns the tricks of the row, with a classifier that is not the method's own, in the order of the title.
func (g *row) tricks() []string {
	list := tricksOf(g.method)
	if classifierTitle(g.classifier) != "" {
		list = append(list, g.classifier)
	}
	return list
}

// name returns the title, and the settings in which the row differs from rows of the same method. The memory is left
// out, because tables have a column for it.
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
	return g.name() + " with " + count.Of(g.memory, "stored sample")
}

// full is the label, with the setting where the study has several.
func (g *row) full() string {
	if g.setting.slug == "" {
		return g.Label
	}
	return g.Label + " (" + g.setting.Name + ")"
}

// tellApart finds the settings in which rows differ. Each row whose method reads such a setting shows its value, even
// if that is the default.
func (s *setting) tellApart() {
	special := s.differences(func(*row) string { return "" })
	mark := s.differences((*row).title)
	for _, g := range s.rows {
		g.special, g.mark, g.marks = wordsOf(special[g]), wordsOf(mark[g]), mark[g]
	}
}

// said is a setting that the label of a row says, in words.
type said struct{ key, words string }

// wordsOf joins the words of settings, without the settings of some facets.
func wordsOf(list []said, but ...facet) string {
	var words []string
	for _, s := range list {
		if !slices.Contains(but, facet(s.key)) {
			words = append(words, s.words)
		}
	}
	return strings.Join(words, ", ")
}

// outside says that a value of a setting takes a run out of the survey's setting, where all of a network learns; so it
// is always said.
func outside(key, value string) bool {
	return key == "network.freeze" && value != "" && value != "0" || key == "replay.latent" && value == "true"
}

// differences are the settings in which rows of one group differ, as "lr 0.05", and those that are always said.
func (s *setting) differences(group func(*row) string) map[*row][]said {
	found := map[*row][]said{}
	for _, key := range s.keys() {
		values := map[string]map[string]bool{}
		for _, g := range s.rows {
			if v, ok := g.value(key); ok {
				of := group(g)
				if values[of] == nil {
					values[of] = map[string]bool{}
				}
				values[of][v] = true
			}
		}
		for _, g := range s.rows {
			if v, ok := g.value(key); ok && (len(values[group(g)]) > 1 || outside(key, v)) {
				found[g] = append(found[g], said{key, inWords(key, v)})
			}
		}
	}
	return found
}

// keys returns the keys of the rows' configs: first the keys of all methods in the order of files, then the others.
func (s *setting) keys() []string {
	all := map[string]bool{}
	for _, g := range s.rows {
		for k := range g.config {
			all[k] = true
		}
	}
	var keys []string
	for _, k := range config.Keys() {
		if all[k.Name] {
			keys = append(keys, k.Name)
			delete(all, k.Name)
		}
	}
	return append(keys, slices.Sorted(maps.Keys(all))...)
}

// value is the row's value of a key; ok is false if its method does not read it. An older result may lack an option.
func (g *row) value(key string) (v string, ok bool) {
	if key == "replay.latent_bits" && g.config["replay.latent"] != "true" {
		return "", false
	}
	if v, ok = g.config[key]; !ok && slices.ContainsFunc(append([]string{g.method.Name}, g.method.Tricks...),
		func(of string) bool { return strings.HasPrefix(key, "method."+of+".") }) {
		return "not recorded", true
	}
	return v, ok
}

// longestUnset bounds the words in a label for a value that is not set, in bytes. Longer words become "default".
const longestUnset = 20

// inWords prints a key with its value as a person would write it: "lr 0.05", "joint" or "no joint", "freeze: none".
func inWords(key, value string) string {
	name := key
	for _, k := range config.Keys() {
		if k.Name != key {
			continue
		}
		name = cmp.Or(k.Short, k.Name)
		if k.IsUnset(value) {
			value = "default"
			if len(k.Unset) <= longestUnset {
				name, value = name+":", k.Unset
			}
		}
	}
	if option, ok := strings.CutPrefix(name, "method."); ok {
		_, name, _ = strings.Cut(option, ".")
	}
	name = strings.NewReplacer("_", " ", "-", " ", ".", " ").Replace(name)
	switch value {
	case "true":
		return name
	case "false":
		return "no " + name
	}
	return name + " " + value
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
