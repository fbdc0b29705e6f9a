package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// checkMethods holds the list and the options against the catalogue.
func (s *Schema) checkMethods(f *faults, c Config) {
	if len(s.Methods) == 0 {
		return
	}
	for _, name := range c.Methods {
		m, known := lookup(s.Methods, name)
		if !known {
			f.add("methods", "unknown method %q. %s", name, s.meantMethod(name))
			continue
		}
		if m.Check == nil || s.checkOptions(&faults{}, name, c) {
			continue
		}
		one := c
		one.Methods = []string{name}
		if err := m.Check(one); err != nil {
			f.add("method."+name, "%w", err)
		}
	}
	for _, name := range sortedKeys(c.Method) {
		if _, known := s.owned(name); !known {
			f.add("method."+name, "unknown method. %s", s.meantMethod(name))
			continue
		}
		s.checkOptions(f, name, c)
	}
}

// checkOptions holds the options given for a method or a trick against what the catalogue declares, and says whether
// there are faults. Options for one that is not in the list are allowed: a config may serve several lists.
func (s *Schema) checkOptions(f *faults, of string, c Config) bool {
	before := len(f.list)
	for _, name := range sortedKeys(c.Method[of]) {
		key := optionKey(of, name)
		k, known := s.find(key)
		if !known {
			f.add(key, "%w", s.unknown(key))
			continue
		}
		v := k.conform(k.value(&c))
		if reflect.TypeOf(v) != reflect.TypeOf(k.preset) {
			f.add(key, "%v has the wrong type. Use %s", v, k.wanted())
			continue
		}
		k.check(f, v)
	}
	return len(f.list) > before
}

// checkMemory holds a memory size against the methods that would fill it.
func (s *Schema) checkMemory(f *faults, c Config) {
	var using []string
	replaying := false
	for _, name := range c.Methods {
		m, _ := lookup(s.Methods, name)
		if m.UsesMemory {
			using = append(using, name)
		}
		if slices.Contains(m.Settings, "replay.batch") {
			replaying = true
		}
	}
	preset := Default()
	if c.Replay.Passes > 0 && c.Replay.Iterations != preset.Replay.Iterations {
		f.add("replay.passes", "%d chooses the iterations, but replay.iterations (%d) is given too. Remove one of them",
			c.Replay.Passes, c.Replay.Iterations)
	}
	switch {
	case c.MemoryBytes > 0 && c.Memory != preset.Memory && c.Memory != 0:
		f.add("memory_bytes", "%d chooses the size of the memory, but memory (%d) is given too. Remove one of them",
			c.MemoryBytes, c.Memory)
	case c.MemoryBytes > 0 && len(using) == 0 && len(c.Methods) > 0:
		f.add("memory_bytes", "%d is given, but %s stores no samples. Remove it, or add a method with a memory",
			c.MemoryBytes, strings.Join(c.Methods, ", "))
	case c.MemoryBytes > 0: // the data say how many samples these are
	case c.Memory == 0 && len(using) > 0:
		f.add("memory", "0 is too small for %s: stored samples are needed. Set --memory, or use --method finetune, which stores none",
			strings.Join(using, ", "))
	case c.Memory > 0 && c.Replay.Batch > c.Memory && replaying:
		f.add("memory", "%d is smaller than replay.batch (%d). Use --memory %d or replay.batch=%d", c.Memory, c.Replay.Batch,
			c.Replay.Batch, c.Memory)
	}
}

// checkClassifiers holds the classifiers against the methods, some of which keep no memory.
func (s *Schema) checkClassifiers(f *faults, c Config) {
	if !slices.Contains(c.Classifiers, ClassifierNCM) {
		return
	}
	var without []string
	for _, name := range c.Methods {
		m, known := lookup(s.Methods, name)
		if known && !m.UsesMemory {
			without = append(without, name)
		}
		if m.OwnNetworks {
			f.add("classifiers", "ncm needs the features of one network, but %s has several. Remove ncm from --classifiers, or %s from --method",
				name, name)
		}
	}
	if len(without) > 0 {
		f.add("classifiers",
			"ncm needs stored samples, but there are none with %s. Remove ncm from --classifiers, or %s from --method",
			strings.Join(without, ", "), strings.Join(without, ", "))
	}
}

// checkMeasured holds what is measured beside the evaluations against the methods, some of which cannot predict between
// two steps, or have no features.
func (s *Schema) checkMeasured(f *faults, c Config) {
	for _, name := range c.Methods {
		m, _ := lookup(s.Methods, name)
		for key, given := range map[string]bool{"eval_online": c.EvalOnline, "eval_ahead": c.EvalAhead > 0} {
			switch {
			case given && m.Scratch:
				f.add(key, "%s trains a network from scratch before each prediction, so it cannot predict at every step. Remove %s, or %s from --method",
					name, key, name)
			case given && m.Offline:
				f.add(key, "%s learns all images at once, several times, so no image is new to it. Remove %s, or %s from --method",
					name, key, name)
			}
		}
		if c.EvalProbe > 0 && m.OwnNetworks {
			f.add("eval_probe", "a probe needs the features of one network, but %s has several. Remove eval_probe, or %s from --method",
				name, name)
		}
	}
}

// digests matches the digest of a file of weights.
var digests = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

func (s *Schema) checkTraining(f *faults, c Config) {
	if c.Network.Name == "mlp" && len(c.Network.Hidden) == 0 {
		f.add("network.hidden", "the list is empty, but mlp needs at least one hidden layer. Use 256 or 256,256")
	}
	for _, w := range []struct{ key, file, digest string }{
		{"network.init", c.Network.Init, c.Network.InitDigest}, {"data.backbone", c.Data.Backbone, c.Data.BackboneDigest},
	} {
		switch key := w.key + "_digest"; {
		case w.digest == "":
		case !digests.MatchString(w.digest):
			f.add(key, "%s is not a digest. Use sha256: and 64 hexadecimal digits, as a result has it, or remove it",
				shown(w.digest))
		case w.file == "" && w.key != "data.backbone": // embeddings in a file say which network made them
			f.add(key, "a digest is given, but no file of weights. Set %s, or remove the digest", w.key)
		}
	}
	if c.Data.Backbone != "" && c.Replay.Augment {
		f.add("replay.augment",
			"images are cropped and flipped, but with data.backbone embeddings are learned. Remove one of them")
	}
	s.checkLatent(f, c)
	if c.Data.Backbone != "" && c.Stream.Shift.Kind != "" {
		f.add("stream.shift.kind", "images are disturbed, but with data.backbone embeddings are learned. Remove one of them")
	}
	if c.Data.Backbone != "" && len(c.Stream.Mean)+len(c.Stream.Std) > 0 {
		f.add("stream.mean",
			"stream.mean and stream.std are those of pixels, but with data.backbone embeddings are learned. Remove them")
	}
	if c.Network.Init != "" && c.Parent.Run != "" {
		f.add("network.init",
			"the run has the network of its parent, so it cannot start from a file too. Remove network.init or parent.run")
	}
	for _, name := range c.Methods {
		m, known := lookup(s.Methods, name)
		if known && m.OwnNetworks && c.Network.Init != "" {
			f.add("network.init", "%s makes networks of its own, which cannot start from a file. Remove network.init, or %s from --method",
				name, name)
		}
		if known && m.NoGradient && c.Network.Init != "" {
			f.add("network.init", "%s computes its classifier from sums, so it cannot start from a file. Remove network.init, or %s from --method",
				name, name)
		}
		if known && m.Scratch && c.Network.Init != "" && c.Network.Freeze == 0 {
			f.add("network.init", "%s trains a new network from drawn weights for each evaluation, so it cannot start from a file. Freeze stages of it (--freeze), remove network.init, or %s from --method",
				name, name)
		}
	}
	if c.Optimizer.Name == "adam" && c.Optimizer.Momentum != 0 {
		f.add("optimizer.momentum", "%s is given, but adam has its own momentum. Remove it, or use optimizer.name=sgd",
			number(c.Optimizer.Momentum))
	}
}

// checkLatent says what latent replay needs.
func (s *Schema) checkLatent(f *faults, c Config) {
	bits := c.Replay.LatentBits
	switch {
	case bits != LatentFloats && bits != LatentCodes:
		f.add("replay.latent_bits", "%d is given. Use %d or %d", bits, LatentFloats, LatentCodes)
	case bits != LatentFloats && !c.Replay.Latent:
		f.add("replay.latent_bits", "%d is given, but images are stored. Set replay.latent=true, or remove it", bits)
	}
	if !c.Replay.Latent {
		return
	}
	if c.Network.Freeze == 0 {
		f.add("replay.latent",
			"no stage of the network is frozen, so its activations change as it learns. Freeze at least one with --freeze, or remove replay.latent")
	}
	if c.Replay.Augment {
		f.add("replay.augment",
			"images are cropped and flipped, but with replay.latent activations are learned. Remove one of them")
	}
}

// checkTricks holds every method against the tricks of every run; each pair that does not go together is a fault.
func (s *Schema) checkTricks(f *faults, c Config) {
	if s.ParseTricks == nil {
		return
	}
	var sets [][]string
	var texts []string
	for _, text := range c.Tricks {
		names, err := s.ParseTricks(text)
		if err != nil {
			f.add("tricks", "%w", err)
			continue
		}
		twin := slices.IndexFunc(sets, func(other []string) bool {
			return slices.Equal(s.effective(c, other),
				s.effective(c, names))
		})
		switch {
		case twin < 0:
		case texts[twin] == text: // the range of the key tells it
			continue
		case slices.Equal(sets[twin], names):
			f.add("tricks", "%s and %s are the same tricks. Remove one of them", texts[twin], text)
			continue
		default:
			f.add("tricks", "%s and %s are the same run when %s is set. Remove one of them, or that setting",
				texts[twin], text, s.anyways(c, slices.Concat(sets[twin], names)))
			continue
		}
		sets, texts = append(sets, names), append(texts, text)
		var takes []string
		refused := false
		for _, name := range c.Methods {
			m, known := lookup(s.Methods, name)
			if known && m.Refuses != nil {
				errs := m.Refuses(names)
				for _, err := range errs {
					f.add("tricks", "%w", err)
				}
				if refused = refused || len(errs) > 0; len(errs) > 0 {
					continue
				}
			}
			takes = append(takes, name)
		}
		if refused && len(takes) > 0 {
			f.add("tricks", "%s is taken by %s alone. %s", shown(text), strings.Join(takes, ", "), s.forSome(c, names))
		}
	}
}

// forSome says how to give tricks to some methods of a list.
func (s *Schema) forSome(c Config, tricks []string) string {
	const remedy = "Give these methods with the trick in a command of their own, or leave the pairs out by `exclude` in a study"
	t, _ := lookup(s.Tricks, strings.Join(tricks, "+"))
	for _, name := range c.Methods {
		if m, _ := lookup(s.Methods, name); !m.UsesMemory || m.OwnNetworks {
			return remedy
		}
	}
	if !t.Classifies {
		return remedy
	}
	return "Use --classifiers head,ncm without the trick, which evaluates the class means of all methods beside their own rules"
}

// effective are the tricks that change the trained network or add a classifier.
func (s *Schema) effective(c Config, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return s.anyway(c, name) != "" })
}

// anyways names the settings that already do what some of the tricks would.
func (s *Schema) anyways(c Config, tricks []string) string {
	var settings []string
	for _, name := range tricks {
		if text := s.anyway(c, name); text != "" && !slices.Contains(settings, text) {
			settings = append(settings, text)
		}
	}
	return strings.Join(settings, " and ")
}

// anyway names the setting that already does what a trick would: several iterations, or classification by class means
// beside the head.
func (s *Schema) anyway(c Config, name string) string {
	t, _ := lookup(s.Tricks, name)
	switch {
	case c.Replay.Iterations > 1 && t.Steps:
		return fmt.Sprintf("replay.iterations %d", c.Replay.Iterations)
	case t.Classifies && slices.Contains(c.Classifiers, ClassifierNCM):
		return "classifiers " + joined(c.Classifiers, shown)
	}
	return ""
}
