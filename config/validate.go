package config

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ocl/internal/count"
	"ocl/internal/limit"
	"ocl/internal/nearest"
)

// Validate reports everything that is wrong with a config at once, one fault a line; nil if an experiment can start.
// What only the data can show (that tasks divide the classes, that files are whole) is checked when they are opened.
func (s *Schema) Validate(c Config) error { return s.ValidateAt(c, Places{}) }

// ValidateAt is Validate for a config that a file gave, in part or whole: faults name the lines there
// ([Schema.ParseAt]).
func (s *Schema) ValidateAt(c Config, from Places) error {
	f := faults{places: from}
	for _, k := range table {
		if n, most := k.length(&c); n > most {
			f.add(k.Name, "the list has %s entries, but at most %s are allowed. Shorten the list", count.Number(n),
				count.Number(most))
		}
	}
	if all := float64(c.Runs) * float64(len(c.Methods)) * float64(len(c.Tricks)); len(f.list) == 0 &&
		c.Runs <= limit.StudyRuns && all > limit.StudyRunsConfirmed {
		f.add("runs", "%d runs of each of %d methods with %d entries of tricks are %s, but at most %s are possible. Use fewer",
			c.Runs, len(c.Methods), len(c.Tricks), count.Of(int64(all), "run"), count.Number(limit.StudyRunsConfirmed))
	}
	if len(f.list) > 0 {
		return f.err()
	}
	for _, k := range table {
		k.checkText(&f, c)
		s.chosen(k).check(&f, k.value(&c))
	}
	for _, key := range optionKeys(c) {
		keyCalled(key).checkText(&f, c)
	}
	s.checkData(&f, c)
	s.checkStream(&f, c)
	s.checkMethods(&f, c)
	s.checkMemory(&f, c)
	s.checkClassifiers(&f, c)
	s.checkMeasured(&f, c)
	s.checkTraining(&f, c)
	s.checkTricks(&f, c)
	checkTune(&f, c)
	if c.Runs >= 1 && c.Seed > math.MaxUint64-uint64(c.Runs-1) {
		f.add("seed", "%d is too large for %d runs, as the largest seed is 18446744073709551615. Use a smaller seed", c.Seed,
			c.Runs)
	}
	if c.Parent.Checkpoint != "" && c.Parent.Run == "" {
		f.add("parent.checkpoint",
			"a checkpoint is given, but not its run. Set parent.run to the folder of the run, or remove parent.checkpoint")
	}
	if own := c.Seeds; c.Runs > 1 && own.Order != nil && own.Init != nil && own.Memory != nil {
		f.add("runs", "all %d runs would be the same, because seeds.order, seeds.init and seeds.memory are all set. Use --runs 1, or remove one of these seeds",
			c.Runs)
	}
	return f.err()
}

// checkTune says what does not fit a tuning before each run.
func checkTune(f *faults, c Config) {
	t := c.Tune
	switch {
	case t.Grid == "":
		for _, v := range []struct {
			key   string
			given bool
		}{{"tune.by", t.By != ""}, {"tune.search", t.Search != ""},
			{"tune.points", t.Points != 0}, {"tune.repeats", t.Repeats != 0},
			{"tune.seed", t.Seed != nil}} {
			if v.given {
				f.add(v.key, "it is given, but nothing is tuned. Add --tune paper, or remove it")
			}
		}
		return
	case c.Protocol != ProtocolSurvey:
		f.add("tune.grid", "a tuning learns the first two tasks, and the protocol %s keeps them for the run. Use --protocol survey, or remove --tune",
			shown(c.Protocol))
	case c.Parent.Run != "":
		f.add("tune.grid", "the run has the settings of its parent, so they cannot be tuned. Remove tune.grid (--tune) or parent.run")
	}
	preset := Default()
	if key := metricNeeds[t.By]; key != "" && keyCalled(key).text(&c) == keyCalled(key).text(&preset) {
		f.add("tune.by", "%s is not measured without %s. Set %s, or choose another metric", t.By, key, key)
	}
	switch random := t.Search == SearchRandom; {
	case random && t.Points == 0:
		f.add("tune.points",
			"a random search draws points, but nothing says how many. Use tune.points=20, for example, or --points 20 with `ocl tune`")
	case !random && t.Points != 0:
		f.add("tune.points",
			"only the search random draws points. Remove tune.points (--points of `ocl tune`), or use tune.search=random (--search)")
	}
}

// checkText refuses bytes that no file of ours can hold, such as those of a folder named in another encoding.
func (k Key) checkText(f *faults, c Config) {
	texts := []string{k.Name}
	switch v := k.value(&c).(type) {
	case string:
		texts = append(texts, v)
	case []string:
		texts = append(texts, v...)
	}
	for _, text := range texts {
		if !utf8.ValidString(text) {
			f.add(k.Name, "the text %+q is not UTF-8. Use UTF-8; if it names a folder, rename the folder or give a link to it",
				text)
		}
	}
}

// length returns the number of entries in the list of a key, and the largest number allowed.
func (k Key) length(c *Config) (n, most int) {
	switch v := k.value(c).(type) {
	case []string:
		return len(v), limit.Names
	case []int:
		if k.Name == "network.hidden" {
			return len(v), limit.Layers
		}
		return len(v), limit.Labels
	case []float64:
		return len(v), limit.Labels
	case Order:
		return v.listed(), limit.Labels
	}
	return 0, 0
}

// check holds a value of the key's type against its declaration.
func (k Key) check(f *faults, v any) {
	switch v := v.(type) {
	case string:
		if len(k.Choices) > 0 && !slices.Contains(k.Choices, v) && (v != "" || k.Unset == "") {
			f.add(k.Name, "unknown value %q. %s", v, meant(v, k.Choices, ""))
		}
	case int:
		k.checkNumber(f, float64(v), strconv.Itoa(v), 0)
	case float64:
		k.checkNumber(f, v, number(v), 0)
	case []int:
		for i, x := range v {
			k.checkNumber(f, float64(x), strconv.Itoa(x), i+1)
		}
	case []float64:
		for i, x := range v {
			k.checkNumber(f, x, number(x), i+1)
		}
	case []string:
		if len(v) == 0 {
			f.add(k.Name, "the list is empty. Give at least one name; the default is %s", k.Default())
		}
		seen := make(map[string]bool, len(v))
		for _, name := range v {
			switch {
			case len(k.Choices) > 0 && !slices.Contains(k.Choices, name):
				f.add(k.Name, "unknown value %q. %s", name, meant(name, k.Choices, ""))
			case seen[name]:
				f.add(k.Name, "%s is listed twice. Remove one of them", shown(name))
			}
			seen[name] = true
		}
	}
}

// checkNumber holds a number, which messages write as text, against the range of the key; nth is its place in a list,
// from 1, or 0.
func (k Key) checkNumber(f *faults, v float64, text string, nth int) {
	if k.holds(v) || f.full() {
		return
	}
	value := ""
	if nth > 0 {
		value = fmt.Sprintf("value %d: ", nth)
	}
	f.add(k.Name, "%s%s is out of range. Use %s", value, text, k.wanted())
}

func (s *Schema) checkData(f *faults, c Config) {
	d := c.Data
	if len(s.Data) == 0 {
		return
	}
	set, known := lookup(s.Data, d.Name)
	switch {
	case !known:
		f.add("data.name", "unknown data set %q. %s", d.Name, meant(d.Name, namesOf(s.Data), allSets))
		return
	case set.NeedsDir && d.Dir == "":
		f.add("data.dir", "%s is read from files, but no folder is given. Use --data-dir; `ocl data info %s` says where to get the files",
			d.Name, d.Name)
	case !set.NeedsDir && d.Dir != "":
		f.add("data.dir", "%s is built in and reads no files, but the folder %q is given. For a folder of your own images add --data folder; otherwise remove data.dir (--data-dir)",
			d.Name, d.Dir)
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
			f.add(v.key, "%d is out of range for %s. Use %s from %d to %d", v.asked, d.Name, v.key, v.lo, v.hi)
		}
	}
	domains, _ := find("data.domains")
	switch domains = s.chosen(domains); {
	case d.Domains == "" || slices.Contains(set.Domains, d.Domains):
	case len(set.Domains) == 0:
		f.add("data.domains", "%s is given, but %s has no domains to choose from. Remove data.domains", d.Domains, d.Name)
	case slices.Contains(domains.Choices, d.Domains): // others are no value of the key
		f.add("data.domains", "%s is given, but the domains of %s are others. Use %s", d.Domains, d.Name,
			nearest.Or(set.Domains))
	}
	if d.Unreadable == UnreadableSkip && !set.Files {
		f.add("data.unreadable", "%s is given, but %s is not made of image files, so no image can be left out. Remove data.unreadable",
			d.Unreadable, d.Name)
	}
	network, _ := lookup(s.Networks, c.Network.Name)
	if least := network.LeastSide; d.Backbone == "" && d.Size != 0 && d.Size < least && !s.makeNetworks(c.Methods) {
		remedy := "Use a larger data.size, or network.name=mlp"
		if set.MaxSize == 0 {
			remedy = "Remove data.size, as the files have a fixed size, or use network.name=mlp"
		}
		f.add("data.size", "%d is too small for %s, which needs images of at least %d pixels a side. %s", d.Size,
			c.Network.Name, least, remedy)
	}
}

func (s *Schema) checkStream(f *faults, c Config) {
	least := map[string]int{ProtocolSurvey: 3, ProtocolTuning: 3}[c.Protocol]
	set, _ := lookup(s.Data, c.Data.Name)
	order := c.Stream.ClassOrder
	name := c.Stream.Kind
	if name == "" {
		name = KindClasses
		if c.Data.Domains != "" {
			name = KindDomains
		}
		if c.Stream.Shift.Kind != "" {
			name = KindShift
		}
	}
	if c.Data.Domains != "" && name != KindDomains {
		f.add("data.domains", "%s is given, but in a stream of the kind %s the domains make no difference. Use --stream domains, or remove data.domains",
			c.Data.Domains, name)
	}
	kind, known := lookup(s.Streams, name)
	if !known && len(s.Streams) > 0 && c.Stream.Kind != "" {
		f.add("stream.kind", "unknown kind %q. %s", c.Stream.Kind, meant(c.Stream.Kind, namesOf(s.Streams), allStreams))
	}
	switch tasks := c.Stream.Tasks; {
	case tasks < 1:
	case tasks < least:
		f.add("stream.tasks", "%d is too few for the protocol %s, which needs at least %d. Use --tasks %d or more, or --protocol standard",
			tasks, c.Protocol, least, least)
	case len(c.Stream.TaskClasses) > 0:
		if n := len(c.Stream.TaskClasses); n != tasks {
			f.add("stream.task_classes", "the list has %d entries, but stream.tasks (--tasks) is %d. Give one entry for each task, or use stream.task_classes= for tasks of equal size",
				n, tasks)
		}
	case set.Ordered && (order.official() || order.IsUnset()):
	case set.Classes > 0 && kind.CheckTasks != nil:
		if err := kind.CheckTasks(tasks, set.Classes); err != nil {
			f.add("stream.tasks", "%w", err)
		}
	}
	if kind.AllClasses && order.listed() > 0 {
		f.add("stream.class_order", "a list of classes is given, but in a stream of the kind %s every task has all classes. Use stream.class_order=random or given",
			kind.Name)
	} else {
		s.checkOrder(f, order, set)
	}
	if s.CheckShift != nil {
		if err := s.CheckShift(c.Stream); err != nil {
			f.add("stream.shift", "%w", err)
		}
	}
	if c.Stream.LongTail > 0 && len(c.Stream.ClassCounts) > 0 {
		f.add("stream.class_counts",
			"a list of counts and a long tail are both given. Remove stream.class_counts or stream.long_tail")
	}
	mixed := name == KindIBlurry || name == KindSIBlurry
	if c.Stream.IBlurry != Default().Stream.IBlurry && !mixed {
		f.add("stream.iblurry", "percentages are given, but in a stream of the kind %s they make no difference. Use --stream iblurry or siblurry, or remove stream.iblurry",
			name)
	}
	if c.EvalSample > 0 && c.EvalEvery == 0 {
		f.add("eval_sample", "%d is given, but nothing is evaluated in the middle of tasks. Add eval_every, or remove it",
			c.EvalSample)
	}
	if c.Stream.Blurry > 0 && c.Stream.Tasks == 1 {
		f.add("stream.blurry", "%s of the images are to come in a neighbouring task, but there is one task. Use more --tasks, or remove stream.blurry",
			number(c.Stream.Blurry))
	}
	if m, d := len(c.Stream.Mean), len(c.Stream.Std); m != d {
		f.add("stream.mean", "there are %d means but %d standard deviations. Give one of each for every channel, or remove both",
			m, d)
	}
}

// checkOrder holds an order of classes against the classes of a data set whose number is known before it is opened.
func (s *Schema) checkOrder(f *faults, order Order, set DataSet) {
	const key = "stream.class_order"
	switch classes := order.Classes; {
	case order.Name != "" && order.Name != OrderRandom && order.Name != OrderGiven && !order.official():
		f.add(key, "unknown order %q. Use stream.class_order=random, given, official, official:N with N from 0, or a list of all classes, such as 2,0,1",
			order.Name)
	case order.official() && set.Name != "" && !set.Ordered:
		f.add(key, "%s has no published orders. Use stream.class_order=random, given or a list of all classes", set.Name)
	case order.Name != "" && order.listed() > 0, len(classes) > 0 && len(order.Called) > 0:
		f.add(key, "%s and a list of %d classes are given. Remove one of them", cmp.Or(order.Name, "names"), order.listed())
	case order.listed() == 0:
	case set.Classes > 0 && order.listed() != set.Classes:
		f.add(key, "the list has %d classes, but %s has %d. List each class once, or use stream.class_order=random",
			order.listed(), set.Name, set.Classes)
	case len(order.Called) > 0: // the data say whether they are there
	default:
		for i, k := range slices.Sorted(slices.Values(classes)) {
			if k != i {
				f.add(key, "class %d is missing or listed twice. List each class from 0 to %d once, or use stream.class_order=random",
					i, len(classes)-1)
				return
			}
		}
	}
}

// CheckGiven is an error if nothing in c reads key: an option of a method that is not in the list, a setting that no
// method and no trick of the lists reads, or a setting of another network. A config may have such keys, as it may serve
// several lists or be that of one run of a list. A person who gives the key beside the list made a mistake.
func (s *Schema) CheckGiven(c Config, key string) error {
	names := make([]string, len(c.Methods))
	for i, name := range c.Methods {
		names[i] = shown(name)
	}
	listed := strings.Join(names, ", ")
	if name, option, ok := cutOption(key); ok && option != "" {
		if !slices.Contains(c.Methods, name) {
			return fmt.Errorf("%s is an option of %s, but %s is not in the list of methods (%s). Add it to --method, or remove the option",
				shown(key), shown(name), shown(name), listed)
		}
		return nil
	}
	methods, tricks := s.readers(key)
	k, _ := find(key)
	if d := Default(); !s.ReadsNetwork(c.Network.Name, key) && !equal(k.value(&c), k.value(&d)) {
		return fmt.Errorf("%s: %s is given, but %s does not use it. Use --network %s, or remove it", key, shown(k.text(&c)),
			shown(c.Network.Name), nearest.Or(s.networksOf(k)))
	}
	if d := Default(); s.ignored(c.Methods, key) && !equal(k.value(&c), k.value(&d)) {
		why := "makes networks of its own and"
		if slices.ContainsFunc(c.Methods, func(name string) bool { m, _ := lookup(s.Methods, name); return m.NoGradient }) {
			why = "trains no network by gradients and"
		}
		return fmt.Errorf("%s: %s is given, but %s %s does not use it. Remove it", key, shown(k.text(&c)), listed, why)
	}
	if len(methods)+len(tricks) == 0 || slices.ContainsFunc(c.Methods,
		func(name string) bool { _, known := lookup(s.Methods, name); return !known }) {
		return nil
	}
	for _, name := range c.Methods {
		for _, text := range c.Tricks {
			if s.Reads(name, s.tricks(text), key) {
				return nil
			}
		}
	}
	if d := Default(); equal(k.value(&c), k.value(&d)) && key != "memory" || key == "memory" && c.Memory == 0 {
		return nil
	}
	var able []string
	if len(methods) > 0 {
		able = append(able, "a method that does ("+strings.Join(methods, ", ")+")")
	}
	if len(tricks) > 0 {
		able = append(able, "a trick that does ("+strings.Join(tricks, ", ")+")")
	}
	remedy := "Add " + strings.Join(able, " or ")
	users := listed + " does not use it"
	if len(c.Methods) > 1 {
		users = "none of " + listed + " uses it"
	}
	return fmt.Errorf("%s: %s is given, but %s. %s, or remove it", key, shown(k.text(&c)), users, remedy)
}
