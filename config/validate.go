package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxNames is the most names in a list of a config, far more than there are: names are compared with each other.
const maxNames = 1000

// Validate tells everything that is wrong with a config at once, one fault a line; nil when an experiment can start. What
// only the data can tell (that tasks divide the classes, that files are whole) is found when they are opened.
func (s *Schema) Validate(c Config) error {
	var f faults
	for _, k := range table {
		if names, ok := k.value(&c).([]string); ok && len(names) > maxNames {
			f.add(k.Name, "the list has %d names. A list has at most %d; give the right file", len(names), maxNames)
		}
	}
	if len(f.list) > 0 {
		return f.err()
	}
	for _, k := range table {
		checkText(&f, k.Name, k.value(&c))
		s.checkRange(&f, c, k)
		if d := Default(); k.Retired != "" && !equal(k.value(&c), k.value(&d)) {
			f.add(k.Name, "%s is a setting of an earlier program. Set it to %s and use %s, or use that program", k.text(&c), k.text(&d), k.Instead)
		}
	}
	for key, v := range options(c) {
		checkText(&f, key, v)
	}
	s.checkData(&f, c)
	s.checkStream(&f, c)
	s.checkMethods(&f, c)
	s.checkMemory(&f, c)
	s.checkClassifiers(&f, c)
	s.checkTraining(&f, c)
	s.checkTricks(&f, c)
	if c.Runs >= 1 && c.Seed > math.MaxUint64-uint64(c.Runs-1) {
		f.add("seed", "%d with %d runs goes beyond the largest seed, 18446744073709551615. Use a smaller seed", c.Seed, c.Runs)
	}
	if own := c.Seeds; c.Runs > 1 && own.Order != nil && own.Init != nil && own.Memory != nil {
		f.add("runs", "%d runs with seeds.order, seeds.init and seeds.memory all set are one run again and again. Use --runs 1, or take one of those seeds away", c.Runs)
	}
	return f.err()
}

// checkText refuses bytes that no file of ours can hold, such as those of a folder named in another encoding.
func checkText(f *faults, key string, v any) {
	for _, text := range slices.Concat(texts(v), []string{key}) {
		if !utf8.ValidString(text) {
			f.add(key, "the text %+q is not UTF-8, and no file could hold it. Write it in UTF-8; a folder can be renamed, or linked to under another name", text)
		}
	}
}

func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []string:
		return v
	}
	return nil
}

// checkRange holds one key against its declaration.
func (s *Schema) checkRange(f *faults, c Config, k Key) {
	switch v := k.value(&c).(type) {
	case string:
		if len(k.Choices) > 0 && !slices.Contains(k.Choices, v) && (v != "" || k.Unset == "") {
			f.add(k.Name, "unknown value %q. %s", v, meant(v, k.Choices))
		}
	case int:
		k.checkNumber(f, float64(v), k.Name)
	case float64:
		k.checkNumber(f, v, k.Name)
	case []int:
		for i, x := range v {
			k.checkNumber(f, float64(x), lazy(func() string { return fmt.Sprintf("%s: value %d", k.Name, i+1) }))
		}
	case []float64:
		for i, x := range v {
			k.checkNumber(f, x, lazy(func() string { return fmt.Sprintf("%s: value %d", k.Name, i+1) }))
		}
	case []string:
		if len(v) == 0 {
			f.add(k.Name, "the list is empty. It needs at least one name; the default is %s", k.Default())
		}
		for i, name := range v {
			switch {
			case len(k.Choices) > 0 && !slices.Contains(k.Choices, name):
				f.add(k.Name, "unknown value %q. %s", name, meant(name, k.Choices))
			case slices.Contains(v[:i], name):
				f.add(k.Name, "%s is listed twice. Take one away", shown(name))
			}
		}
	}
}

func (k Key) checkNumber(f *faults, v float64, where any) {
	if !k.holds(v) {
		f.add(where, "%s is out of range. Want %s", lazy(func() string { return number(v) }), lazy(k.Wanted))
	}
}

func (s *Schema) checkData(f *faults, c Config) {
	d := c.Data
	if len(s.Data) == 0 {
		return
	}
	set, known := lookup(s.Data, d.Name)
	switch {
	case !known:
		f.add("data.name", "unknown data set %q. %s", d.Name, meant(d.Name, namesOf(s.Data)))
		return
	case set.NeedsDir && d.Dir == "":
		f.add("data.dir", "%s needs the folder or file that holds it. Use --data-dir DIR; `ocl data info %s` says where to get it", d.Name, d.Name)
	case !set.NeedsDir && d.Dir != "":
		f.add("data.dir", "%s is built in and reads no files, but the folder %q is given. Take it away", d.Name, d.Dir)
	}
	for _, v := range []struct {
		key           string
		asked, lo, hi int
	}{
		{"data.size", d.Size, set.MinSize, set.MaxSize},
		{"data.train_per_class", d.TrainPerClass, 1, set.MaxPerClass},
		{"data.test_per_class", d.TestPerClass, 1, set.MaxPerClass},
	} {
		switch {
		case v.asked == 0:
		case v.hi > 0 && (v.asked < v.lo || v.asked > v.hi):
			f.add(v.key, "%d is out of range. %s takes %d to %d", v.asked, d.Name, v.lo, v.hi)
		case v.hi == 0 && v.key != "data.size": // files may be asked for the size that they have
			f.add(v.key, "%d is given, but the images of %s are in files. Take it away", v.asked, d.Name)
		}
	}
	if least := s.LeastSide[c.Network.Name]; d.Size != 0 && d.Size < least {
		remedy := "Use larger images (--size), or --network mlp"
		if set.MaxSize == 0 {
			remedy = "The images are in files and have their own size; take --size away, or use --network mlp"
		}
		f.add("data.size", "%d is too small for %s, which takes at least %d pixels a side. %s", d.Size, c.Network.Name, least, remedy)
	}
}

func (s *Schema) checkStream(f *faults, c Config) {
	least := map[string]int{ProtocolSurvey: 3, ProtocolTuning: 3}[c.Protocol]
	set, _ := lookup(s.Data, c.Data.Name)
	kind, known := lookup(s.Streams, c.Stream.Kind)
	if !known && len(s.Streams) > 0 {
		f.add("stream.kind", "unknown kind %q. %s", c.Stream.Kind, meant(c.Stream.Kind, namesOf(s.Streams)))
	}
	switch tasks := c.Stream.Tasks; {
	case tasks < 1:
	case tasks < least:
		f.add("stream.tasks", "%d is too few under the protocol %s, which needs at least %d. Use more tasks or --protocol standard", tasks, c.Protocol, least)
	case set.Classes > 0 && kind.CheckTasks != nil:
		if err := kind.CheckTasks(tasks, set.Classes); err != nil {
			f.add("stream.tasks", "%w", err)
		}
	}
	if kind.AllClasses && len(c.Stream.ClassOrder.Classes) > 0 {
		f.add("stream.class_order", "a list of classes is given, but every task of the kind %s has all classes. Use random or given", kind.Name)
	} else {
		s.checkOrder(f, c.Stream.ClassOrder, set)
	}
	if m, d := len(c.Stream.Mean), len(c.Stream.Std); m != d {
		f.add("stream.mean", "there are %d means and %d deviations. Give one of each for every channel, or none", m, d)
	}
}

// checkOrder holds an order of classes against the classes of a data set whose number is known before it is opened.
func (s *Schema) checkOrder(f *faults, order Order, set DataSet) {
	const key = "stream.class_order"
	switch classes := order.Classes; {
	case order.Name != "" && order.Name != OrderRandom && order.Name != OrderGiven:
		f.add(key, "unknown order %q. %s, or give a list of all classes, such as 2,0,1", order.Name,
			strings.TrimSuffix(meant(order.Name, []string{OrderRandom, OrderGiven}).String(), "."))
	case order.Name != "" && len(classes) > 0:
		f.add(key, "both %s and a list of %d classes are given. Give one of them", order.Name, len(classes))
	case order.Name != "":
	case len(classes) == 0:
		f.add(key, "the order is empty. Use random, given or a list of all classes, such as 2,0,1")
	case set.Classes > 0 && len(classes) != set.Classes:
		f.add(key, "the list has %d classes, and %s has %d. List each class once, or use random", len(classes), set.Name, set.Classes)
	default:
		for i, k := range slices.Sorted(slices.Values(classes)) {
			if k != i {
				f.add(key, "class %d is missing or listed twice among %d classes. List each of 0 to %d once, or use random", i, len(classes), len(classes)-1)
				return
			}
		}
	}
}

// checkMethods holds the list and the options against the catalogue.
func (s *Schema) checkMethods(f *faults, c Config) {
	if len(s.Methods) == 0 {
		return
	}
	for _, name := range c.Methods {
		m, known := lookup(s.Methods, name)
		if !known {
			f.add("methods", "unknown method %q. %s", name, meant(name, namesOf(s.Methods)))
			continue
		}
		if m.Check == nil || s.checkOptions(nil, m, c) > 0 {
			continue
		}
		one := c
		one.Methods = []string{name}
		if err := m.Check(one); err != nil {
			f.add("method."+name, "%w", err)
		}
	}
	for _, name := range sortedKeys(c.Method) {
		m, known := lookup(s.Methods, name)
		if !known {
			f.add("method."+name, "unknown method. %s", meant(name, namesOf(s.Methods)))
			continue
		}
		s.checkOptions(f, m, c)
	}
}

// checkOptions holds the options given for a method against what the catalogue declares, and counts the faults; f may be nil.
// Options for a method that is not in the list are allowed: a config may serve several lists.
func (s *Schema) checkOptions(f *faults, m Method, c Config) int {
	var found faults
	for _, name := range sortedKeys(c.Method[m.Name]) {
		key, v := optionKey(m.Name, name), c.Method[m.Name][name]
		o, known := lookup(m.Options, name)
		if !known {
			_, _, err := s.find(key)
			found.add(key, "%w", err)
			continue
		}
		v = o.conform(v)
		switch {
		case reflect.TypeOf(v) != reflect.TypeOf(o.Default):
			found.add(key, "%v is of the wrong kind. Want %s", v, o.Wanted())
		case o.Holds(v):
		case len(o.Choices) > 0:
			found.add(key, "unknown value %q. %s", v, meant(plain(v), o.Choices))
		default:
			found.add(key, "%s is out of range. Want %s", plain(v), o.Wanted())
		}
	}
	if f != nil {
		f.join(found)
	}
	return len(found.list)
}

// checkMemory holds a memory size against the methods that would fill it.
func (s *Schema) checkMemory(f *faults, c Config) {
	var using, replaying []string
	for _, name := range c.Methods {
		m, _ := lookup(s.Methods, name)
		if m.UsesMemory {
			using = append(using, name)
		}
		if slices.Contains(m.Settings, "replay.batch") {
			replaying = append(replaying, name)
		}
	}
	switch {
	case c.Memory == 0 && len(using) > 0:
		f.add("memory", "0 leaves no room, and %s learns from stored samples. Set --memory, or use --method finetune, which is replay without memory",
			strings.Join(using, ", "))
	case c.Memory > 0 && c.Replay.Batch > c.Memory && len(replaying) > 0:
		f.add("memory", "%d is smaller than replay.batch (%d), from which %s replays. Use --memory %d or --replay-batch %d",
			c.Memory, c.Replay.Batch, strings.Join(replaying, ", "), c.Replay.Batch, c.Memory)
	}
}

// checkClassifiers holds the classifiers against the methods, some of which keep no memory.
func (s *Schema) checkClassifiers(f *faults, c Config) {
	if !slices.Contains(c.Classifiers, ClassifierNCM) {
		return
	}
	var without []string
	for _, name := range c.Methods {
		if m, known := lookup(s.Methods, name); known && !m.UsesMemory {
			without = append(without, name)
		}
	}
	if len(without) > 0 {
		f.add("classifiers", "ncm takes class means of the memory, and %s has none. Take ncm out of --classifiers, or those methods out of --method",
			strings.Join(without, ", "))
	}
}

func (s *Schema) checkTraining(f *faults, c Config) {
	if c.Network.Name == "mlp" && len(c.Network.Hidden) == 0 {
		f.add("network.hidden", "the list is empty, and mlp has at least one hidden layer. Use 256 or 256,256")
	}
	if c.Optimizer.Name == "adam" && c.Optimizer.Momentum != 0 {
		f.add("optimizer.momentum", "%s is given with adam, which has momentum of its own. Take it away", number(c.Optimizer.Momentum))
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
		twin := slices.IndexFunc(sets, func(other []string) bool { return slices.Equal(s.effective(c, other), s.effective(c, names)) })
		switch {
		case twin < 0:
		case texts[twin] == text: // the range of the key tells it
			continue
		case slices.Equal(sets[twin], names):
			f.add("tricks", "%s and %s are the same tricks. Take one of them away", texts[twin], text)
			continue
		default:
			f.add("tricks", "%s and %s are the same run with %s. Take one of them away, or that setting",
				texts[twin], text, s.anyways(c, slices.Concat(sets[twin], names)))
			continue
		}
		sets, texts = append(sets, names), append(texts, text)
		for _, name := range c.Methods {
			if m, known := lookup(s.Methods, name); known && m.Refuses != nil {
				for _, err := range m.Refuses(names) {
					f.add("tricks", "%w", err)
				}
			}
		}
	}
}

// effective are the tricks that train another network or show something more.
func (s *Schema) effective(c Config, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return s.anyway(c, name) != "" })
}

// anyways names the settings that do what some of the tricks would.
func (s *Schema) anyways(c Config, tricks []string) string {
	var settings []string
	for _, name := range tricks {
		if text := s.anyway(c, name); text != "" && !slices.Contains(settings, text) {
			settings = append(settings, text)
		}
	}
	return strings.Join(settings, " and ")
}

// anyway names the setting that does what a trick would: several iterations, or a classification by class means beside the
// head's.
func (s *Schema) anyway(c Config, name string) string {
	t, _ := lookup(s.Tricks, name)
	switch {
	case c.Replay.Iterations > 1 && slices.Contains(t.Settings, "replay.iterations"):
		return fmt.Sprintf("replay.iterations %d", c.Replay.Iterations)
	case t.Classifies && slices.Contains(c.Classifiers, ClassifierNCM):
		return "classifiers " + joined(c.Classifiers, shown)
	}
	return ""
}

// CheckGiven says so where nothing in c reads key: an option of a method that is not in the list, a setting that no method and
// no trick of the lists reads, or one of another network. That is no fault of a config, which may serve several lists or be that of one run of a
// list, but one of a person who asks for it beside the list.
func (s *Schema) CheckGiven(c Config, key string) error {
	names := make([]string, len(c.Methods))
	for i, name := range c.Methods {
		names[i] = shown(name)
	}
	listed := strings.Join(names, ", ")
	if name, option, ok := cutOption(key); ok && option != "" {
		if !slices.Contains(c.Methods, name) {
			return fmt.Errorf("%s is an option of %s, which is not in the list of methods (%s). Add %s to --method, or take the option away", shown(key), shown(name), listed, shown(name))
		}
		return nil
	}
	methods, tricks := s.Readers(key)
	k, _ := find(key)
	if d, own := Default(), k.network(); own != "" && own != c.Network.Name && !equal(k.value(&c), k.value(&d)) {
		return fmt.Errorf("%s: %s is given, but %s does not read it. Use --network %s, or take it away", key, shown(k.text(&c)), shown(c.Network.Name), own)
	}
	if len(methods)+len(tricks) == 0 || slices.ContainsFunc(c.Methods, func(name string) bool { _, known := lookup(s.Methods, name); return !known }) {
		return nil
	}
	for _, name := range c.Methods {
		for _, text := range c.Tricks {
			if s.reads(name, s.tricks(text), key) {
				return nil
			}
		}
	}
	if d := Default(); equal(k.value(&c), k.value(&d)) && key != "memory" || key == "memory" && c.Memory == 0 {
		return nil
	}
	remedy := "Add a method that does (" + strings.Join(methods, ", ") + ")"
	if len(tricks) > 0 {
		remedy += " or a trick (" + strings.Join(tricks, ", ") + ")"
	}
	return fmt.Errorf("%s: %s is given, but %s does not read it. %s, or take it away", key, shown(k.text(&c)), listed, remedy)
}
