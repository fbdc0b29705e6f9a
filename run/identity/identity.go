// Package identity says what a run is: what its numbers depend on, and what it has in common with other runs. Jobs,
// studies, takeovers, reports and the tables of the survey all ask here, so that two runs which one of them takes for
// the same are the same for all. It knows no method: the caller gives the catalogue. Start at [Identity].
package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"ocl/config"
	"ocl/internal/samebits"
	"ocl/run/result"
)

// Identity is everything that the numbers of a run depend on, with how its settings were tuned.
type Identity struct {
	Config      config.Config // of the run
	Data        string        // digest
	Numbers     int           // result.Numbers
	Kernel      string        // kernel set
	Convolution string        // algorithm of the network's convolutions
	// Registered are the names of the config that stand for something of another module.
	Registered []config.Registered
	Tuning     *result.Tuning

	catalogue *config.Schema
}

// Of is the identity of the run that left a result.
func Of(catalogue *config.Schema, r *result.Result) Identity {
	id := New(catalogue, r.Config)
	id.Data, id.Numbers, id.Kernel, id.Convolution = r.Provenance.DataDigest, r.Provenance.Numbers, r.Provenance.Kernel,
		r.Provenance.Convolution
	id.Registered, id.Tuning = r.Provenance.Registered, r.Tuning
	return id
}

// New is the identity of a run of which only the config is known. The zero catalogue knows no names, so that every run
// reads every key.
func New(catalogue *config.Schema, c config.Config) Identity {
	return Identity{Config: c, Registered: catalogue.Registered(c), catalogue: catalogue}
}

// Key is a hash of what the numbers depend on. Configs with the same meaning have the same key
// ([config.Schema.Canonical]), and so have kernel sets of the same bits ([samebits.Of]).
func (id Identity) Key() string {
	registered := "" // so that runs without anything of another module keep their keys
	for _, r := range id.Registered {
		registered += fmt.Sprintf("registered %q %q %q %q\n", r.Key, r.Name, r.Module, r.Version)
	}
	return hashed("ocl-key 1\ndata %s\nnumbers %d\nkernel %s\nconvolution %s\n%s%s", id.Data, id.Numbers,
		samebits.Of(id.Kernel), id.Convolution, registered, id.catalogue.Canonical(id.Config))
}

// TuningKey is the key of a tuning: which run is tried first, and what is tried and how.
func TuningKey(first, gridDigest, search string, repeats int, by string) string {
	if by != "" {
		search += "\nby " + by
	}
	return hashed("ocl-tuning 1\nrun %s\ngrid %s\nsearch %s\nrepeats %d\n", first, gridDigest, search, repeats)
}

// TunedKey is the key of a run that is tuned before it is made: that of the run with the first values of the grid, and
// that of the tuning.
func TunedKey(run, tuning string) string {
	return hashed("ocl-tuned 1\nrun %s\ntuning %s\n", run, tuning)
}

func hashed(format string, a ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, format, a...))
	return hex.EncodeToString(sum[:])
}

// Wider returns the keys of runs that learn the same as this run and measure more: with further classifiers or more
// evaluations. Their results can be used for this run.
func (id Identity) Wider() (keys []string) {
	evals := []string{config.EvalFinal, config.EvalSeen, config.EvalAll}
	own, key := id.Config.Classifiers, id.Key()
	lists := [][]string{own}
	for _, name := range config.Classifiers() {
		if !slices.Contains(own, name) {
			lists = append(lists, append(slices.Clone(own), name))
		}
	}
	for _, eval := range evals[max(0, slices.Index(evals, id.Config.Eval)):] {
		for _, list := range lists {
			wide := id
			wide.Config.Eval, wide.Config.Classifiers = eval, list
			if k := wide.Key(); k != key {
				keys = append(keys, k)
			}
		}
	}
	return keys
}

// Part is a list of keys with their values, by which runs are compared.
type Part []config.Value

// String has a line for each value that is not the usual one.
func (p Part) String() string {
	var b strings.Builder
	for _, v := range p {
		if !v.Usual {
			fmt.Fprintf(&b, "%s=%s\n", v.Name, v.Text)
		}
	}
	return b.String()
}

// Keys returns the names of the keys.
func (p Part) Keys() []string {
	keys := make([]string, len(p))
	for i, v := range p {
		keys[i] = v.Name
	}
	return keys
}

// Words are all values in one line: "grid paper 1f2e3d4c, search grid, repeats 3".
func (p Part) Words() string {
	words := make([]string, len(p))
	for i, v := range p {
		words[i] = v.Name + " " + v.Text
	}
	return strings.Join(words, ", ")
}

// Texts are all values by key.
func (p Part) Texts() map[string]string {
	texts := make(map[string]string, len(p))
	for _, v := range p {
		texts[v.Name] = v.Text
	}
	return texts
}

// Only is the part whose keys are wanted.
func (p Part) Only(wanted func(key string) bool) Part {
	return slices.DeleteFunc(slices.Clone(p), func(v config.Value) bool { return !wanted(v.Name) })
}

// Without is the part without some keys.
func (p Part) Without(keys ...string) Part {
	return p.Only(func(key string) bool { return !slices.Contains(keys, key) })
}

// Learned returns the keys on which the learned network depends: those of the config that the run reads, without the
// keys of measurements and of the engine, and the versions of the modules that registered its parts. First weights and
// a parent are known by their digests, or by their paths before a run has read them. Two runs with the same Learned
// have the same numbers if their data, engine and numbers version are the same too. Values say what was written, also
// where another text means the same for this seed.
func (id Identity) Learned() (p Part) {
	c := id.Config
	name, tricks := "", id.tricks()
	if len(c.Methods) > 0 {
		name = c.Methods[0]
	}
	for _, v := range id.catalogue.Values(c) {
		read := id.catalogue.Concerns(v.Key, c) && id.catalogue.Reads(name, tricks, v.Name)
		switch {
		case v.Engine, v.Measured, strings.HasPrefix(v.Name, tuneSection), v.Name == "runs":
			continue
		case v.Place && !(v.Name == "network.init" && c.Network.InitDigest == "" ||
			v.Name == "data.backbone" && c.Data.BackboneDigest == "" || v.Name == "parent.run" && c.Parent.Checkpoint == ""):
			continue
		case v.Name == "memory" &&
			!read: // a method without memory has the value 0, but a file without the key means the default
			v.Text, v.Usual = "0", false
		case !read:
			continue
		case v.Name == "tricks":
			v.Text, v.Usual = config.TrickText(tricks), len(tricks) == 0
		}
		p = append(p, v)
	}
	for _, r := range id.Registered {
		name := "module"
		if r.Key != "methods" { // which everybody thinks of
			name = "module of " + r.Kind()
		}
		p = append(p, value(name, r.Module+" "+r.Version))
	}
	return p
}

// tuneSection begins the keys that say how the others are chosen.
const tuneSection = "tune."

// tricks returns the tricks of the run, without one that is a classifier.
func (id Identity) tricks() []string {
	return slices.DeleteFunc(strings.Split(strings.Join(id.Config.Tricks, "+"), "+"), func(name string) bool {
		return name == "" || name == config.NoTrick || slices.Contains(config.Classifiers(), name)
	})
}

// Measured returns the keys that say what a run measures: when it evaluates, and by which classifiers.
func (id Identity) Measured() Part {
	return slices.DeleteFunc(Part(id.catalogue.Values(id.Config)), func(v config.Value) bool { return !v.Measured })
}

// Tuned returns how a run was tuned; nothing if it was not. Of a result these are the grid with its digest, the search,
// the points of a random search and the repetitions; of a config that is still to be tuned they are its own keys of
// section tune.
func (id Identity) Tuned() Part {
	t := id.Tuning
	if t == nil {
		return slices.DeleteFunc(Part(id.catalogue.Values(id.Config)), func(v config.Value) bool {
			return !strings.HasPrefix(v.Name, tuneSection) || id.Config.Tune.Grid == ""
		})
	}
	digest := strings.TrimPrefix(t.GridDigest, "sha256:")
	p := Part{value("grid", t.Grid+" "+digest[:min(8, len(digest))]), value("search", t.Search)}
	if t.Search == config.SearchRandom {
		p = append(p, value("points", fmt.Sprint(len(t.Points))))
	}
	return append(p, value("repeats", fmt.Sprint(t.Repeats)))
}

func value(name, text string) config.Value {
	return config.Value{Key: config.Key{Name: name}, Text: text}
}

// Row returns what the runs of one row of a report have in common: what they learn, without the seed, and how they were
// tuned. The tuned values themselves may differ.
func (id Identity) Row() Part {
	p := id.Learned().Without("seed")
	if t := id.Tuning; t != nil {
		for i, v := range p {
			if slices.Contains(t.Keys, v.Name) {
				p[i].Text, p[i].Usual = TunedText, false
			}
		}
	}
	return append(p, id.Tuned()...)
}

// TunedText replaces a value that each run of a row has chosen by its own tuning.
const TunedText = "tuned"
