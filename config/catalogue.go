package config

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"ocl/internal/nearest"
)

// Schema is the table of keys and the names that the program knows. The zero value knows no names and accepts any
// method with any options, which is enough to read what a program has written.
type Schema struct {
	Catalogue
}

// Catalogue describes everything that a config can name: data sets, kinds of streams, networks, methods and tricks.
type Catalogue struct {
	Data     []DataSet
	Streams  []StreamKind
	Networks []NetworkKind
	Methods  []Method
	Tricks   []Trick
	// ParseTricks reads the tricks of one run, such as "lb+ncm", and returns their names in order; nil where Tricks is
	// empty.
	ParseTricks func(text string) ([]string, error)
	// CheckShift says what is wrong with the disturbances of a stream; nil checks nothing.
	CheckShift func(Stream) error
}

// DataSet has the properties of a data set that limit a config.
type DataSet struct {
	Name string
	Origin
	NeedsDir bool
	Classes  int      // 0: as the files have
	Domains  []string // the values of data.domains that it takes
	Ordered  bool     // there are published orders of its tasks
	Files    bool     // its images are files, each of which may be unreadable
	Size     int      // its own side in pixels; 0 is unknown
	// Bounds of the side in pixels, both 0 where the images have their own, and of the images per class that are drawn, 0
	// where none are.
	MinSize, MaxSize, MaxPerClass int
}

// StreamKind has the properties of a kind of stream that limit a config.
type StreamKind struct {
	Name string
	Origin
	// CheckTasks says whether so many tasks can be made of so many classes; nil checks nothing.
	CheckTasks func(tasks, classes int) error
	AllClasses bool // every task has all classes, so that there is no list of them to order
}

// NetworkKind has the properties of a network that limit a config.
type NetworkKind struct {
	Name string
	Origin
	About     string   // a few words; "" is none
	Settings  []string // keys that it reads, of those that not every network reads
	LeastSide int      // smallest side in pixels of the images that it takes; 0 is any
}

// Method has the properties of a method that limit a config.
type Method struct {
	Name string
	Origin
	About      string // what it is, in words; messages about unknown names look there too
	UsesMemory bool
	Scratch    bool // it trains its network from drawn weights each time, so it takes none of a file
	Offline    bool // it learns all tasks at once, several times
	// OwnNetworks says that it makes its networks itself and reads no key network.*.
	OwnNetworks bool
	// NoGradient says that it computes its classifier from sums and reads no key network.* and optimizer.*.
	NoGradient bool
	// OwnRule is the classifier that the method's own rule is, of those that any method may have; "" is none of them.
	OwnRule  string
	Settings []string // keys that it reads, of those that not every method reads
	Options  []Option
	Teacher  string                        // what replay.teacher is where nothing is said; "" is TeacherEvaluation
	Check    func(Config) error            // what options and settings must be to each other; nil is nothing
	Refuses  func(tricks []string) []error // an error for each trick that it does not take; nil takes all
}

// Trick has the properties of a trick that limit a config.
type Trick struct {
	Name       string
	Settings   []string
	Classifies bool   // it changes the classifier alone, to ClassifierNCM
	Steps      bool   // it changes the number of steps alone, as replay.iterations does
	Teacher    string // as Method.Teacher, where the method does not read the key itself
	Options    []Option
}

// Option is a setting of one method or trick. Its type is that of Default: true or false, text, a whole number or a
// number.
type Option struct {
	Name    string
	Default any
	Meaning string
	Range   string   // the values that make sense, in words; "" has Wanted say them
	Least   float64  // of a number
	Most    float64  // of a number; 0 is no bound
	Choices []string // of text; none is any text
}

// Wanted is the range in words.
func (o Option) Wanted() string { return o.key("").wanted() }

// Holds says whether v, of the type of Default, is in range.
func (o Option) Holds(v any) bool {
	var f faults
	o.key("").check(&f, v)
	return len(f.list) == 0
}

// key is the key by which a config sets the option of a method or a trick.
func (o Option) key(method string) Key {
	k := Key{Name: optionKey(method, o.Name), Help: o.Meaning, Choices: o.Choices, ReadBy: method, preset: o.Default,
		values: o.Range}
	switch o.Default.(type) {
	case int, float64:
		k.Least, k.Most = o.Least, cmp.Or(o.Most, math.MaxFloat64)
	}
	return k
}

// entry is an element of a list of the [Catalogue]. called returns its name.
type entry interface{ called() string }

func (d DataSet) called() string     { return d.Name }
func (k StreamKind) called() string  { return k.Name }
func (n NetworkKind) called() string { return n.Name }
func (m Method) called() string      { return m.Name }
func (t Trick) called() string       { return t.Name }
func (o Option) called() string      { return o.Name }

// lookup finds an entry by its name.
func lookup[T entry](list []T, name string) (T, bool) {
	for _, e := range list {
		if e.called() == name {
			return e, true
		}
	}
	var none T
	return none, false
}

func namesOf[T entry](list []T) []string {
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.called()
	}
	return names
}

// owner is a method or a trick with its options. No two have one name.
type owner struct {
	name    string
	options []Option
}

// owners are all methods, and then all tricks.
func (s *Schema) owners() (list []owner) {
	for _, m := range s.Methods {
		list = append(list, owner{m.Name, m.Options})
	}
	for _, t := range s.Tricks {
		list = append(list, owner{t.Name, t.Options})
	}
	return list
}

// owned are the options of a method or a trick.
func (s *Schema) owned(name string) (options []Option, known bool) {
	for _, o := range s.owners() {
		if o.name == name {
			return o.options, true
		}
	}
	return nil, false
}

// used says whether a config lists a method or a trick.
func (s *Schema) used(c Config, name string) bool {
	return slices.Contains(c.Methods, name) ||
		slices.ContainsFunc(c.Tricks, func(text string) bool { return slices.Contains(s.tricks(text), name) })
}

// keys returns [Schema.Keys], and then the key method.<name>.<option> of each option of a method or a trick.
func (s *Schema) keys() []Key {
	keys := s.Keys()
	for _, of := range s.owners() {
		for _, o := range of.options {
			keys = append(keys, o.key(of.name))
		}
	}
	return keys
}

// Keys returns the keys of [Keys] with what the catalogue adds: the networks, as choices of network.name and in its
// help, and the range of data.domains.
func (s *Schema) Keys() []Key {
	keys := Keys()
	for i := range keys {
		keys[i] = s.chosen(keys[i])
	}
	return keys
}

// chosen is a key with the networks and the data sets of the schema.
func (s *Schema) chosen(k Key) Key {
	if k.Name == "data.domains" {
		k.Choices = slices.Clone(k.Choices)
		for _, set := range s.Data {
			for _, name := range set.Domains {
				if !slices.Contains(k.Choices, name) {
					k.Choices = append(k.Choices, name)
				}
			}
		}
		return k
	}
	if k.Name != networkName || len(s.Networks) == 0 {
		return k
	}
	k.Choices = namesOf(s.Networks)
	words := make([]string, len(s.Networks))
	for i, n := range s.Networks {
		if words[i] = n.Name; n.About != "" {
			words[i] += " (" + n.About + ")"
		}
	}
	k.Help = nearest.Or(words)
	return k
}

// Names lists the names of all keys: those of [Keys], then method.<name>.<option> of each option.
func (s *Schema) Names() []string {
	var names []string
	for _, k := range s.keys() {
		names = append(names, k.Name)
	}
	return names
}

// Choices are the values of a key, or of each entry of its list, where they can be listed.
func (s *Schema) Choices(k Key) []string {
	switch k.Name {
	case networkName:
		return namesOf(s.Networks)
	case "data.name":
		return namesOf(s.Data)
	case "stream.kind":
		return namesOf(s.Streams)
	case "methods":
		return namesOf(s.Methods)
	}
	return k.Choices
}

// find finds a key, or an option of a method or a trick. A schema without methods knows every option of any method.
func (s *Schema) find(key string) (Key, bool) {
	if k, ok := find(key); ok {
		return k, true
	}
	method, option, ok := cutOption(key)
	if ok && len(s.Methods) == 0 {
		return Key{Name: key}, true
	}
	options, _ := s.owned(method)
	o, ok := lookup(options, option)
	return o.key(method), ok
}

// readers lists the methods and the tricks that read a key. Both are nil for a key that all runs read.
func (s *Schema) readers(key string) (methods, tricks []string) {
	for _, m := range s.Methods {
		if slices.Contains(m.Settings, key) {
			methods = append(methods, m.Name)
		}
	}
	for _, t := range s.Tricks {
		if slices.Contains(t.Settings, key) {
			tricks = append(tricks, t.Name)
		}
	}
	return methods, tricks
}

// tricks are the names in the text of the tricks of one run; nil for none and for a text that cannot be read.
func (s *Schema) tricks(text string) []string {
	if text == NoTrick || text == "" {
		return nil
	}
	if s.ParseTricks == nil {
		return strings.Split(text, "+")
	}
	names, err := s.ParseTricks(text)
	if err != nil {
		return nil // Validate reports it
	}
	return names
}

// TrickText returns the text of some tricks in Config.Tricks.
func TrickText(names []string) string {
	if len(names) == 0 {
		return NoTrick
	}
	return strings.Join(names, "+")
}

// Reads says whether a run of a method with tricks reads a key: every run reads those that no method and no trick
// lists, but a method that makes its networks itself reads none of network.*.
func (s *Schema) Reads(method string, tricks []string, key string) bool {
	m, _ := lookup(s.Methods, method)
	if m.ignores(key) {
		return false
	}
	return !s.selective(key) || slices.Contains(m.Settings, key) || slices.ContainsFunc(s.Tricks, func(t Trick) bool {
		return slices.Contains(tricks, t.Name) && slices.Contains(t.Settings, key)
	})
}

// OwnRule is the classifier that a method's own rule is: predictions by it are those of [ClassifierHead]. "" means
// none, and that of an unknown method.
func (s *Schema) OwnRule(method string) string {
	m, _ := lookup(s.Methods, method)
	return m.OwnRule
}

// ReadsNetwork says whether a network reads a key of configs: every network reads those that are no setting of some
// networks alone. An unknown one may read all but those of the networks of this module.
func (s *Schema) ReadsNetwork(name, key string) bool {
	k, known := find(key)
	if !known || k.network() == "" {
		return true
	}
	if n, known := lookup(s.Networks, name); known {
		return slices.Contains(n.Settings, key)
	}
	return k.network() == name || !slices.ContainsFunc(table, func(k Key) bool { return k.network() == name })
}

// networksOf are the names of the networks that read a key which not every network reads.
func (s *Schema) networksOf(k Key) []string {
	if k.network() == "" {
		return nil
	}
	var names []string
	for _, n := range s.Networks {
		if slices.Contains(n.Settings, k.Name) {
			names = append(names, n.Name)
		}
	}
	if names == nil {
		names = []string{k.network()}
	}
	return names
}

// Concerns says whether a key is about the network or the optimiser of a config, and not about another one.
func (s *Schema) Concerns(k Key, c Config) bool {
	if k.network() != "" {
		return s.ReadsNetwork(c.Network.Name, k.Name)
	}
	section, _, _ := strings.Cut(k.Name, ".")
	named, ok := find(section + ".name")
	return !ok || !slices.Contains(named.Choices, k.ReadBy) || named.text(&c) == k.ReadBy
}

// networkName is the key of the network.
const networkName = "network.name"

// isNetworkKey says whether a key is about the network that most methods share.
func isNetworkKey(key string) bool { return strings.HasPrefix(key, "network.") }

// ignores says whether the method does not read a key of the network or the optimiser, which most read.
func (m Method) ignores(key string) bool {
	return (isNetworkKey(key) || strings.HasPrefix(key, "replay.latent")) && (m.OwnNetworks || m.NoGradient) ||
		m.NoGradient && strings.HasPrefix(key, "optimizer.")
}

// ignored says whether all methods of a list ignore a key.
func (s *Schema) ignored(methods []string, key string) bool {
	return len(methods) > 0 && !slices.ContainsFunc(methods, func(name string) bool {
		m, _ := lookup(s.Methods, name)
		return !m.ignores(key)
	})
}

// makeNetworks says whether all methods of a list make their networks themselves.
func (s *Schema) makeNetworks(methods []string) bool {
	return len(methods) > 0 && !slices.ContainsFunc(methods, func(name string) bool {
		m, _ := lookup(s.Methods, name)
		return !m.OwnNetworks && !m.NoGradient
	})
}

// selective says whether some methods or tricks read a key and others do not.
func (s *Schema) selective(key string) bool {
	methods, tricks := s.readers(key)
	return len(methods)+len(tricks) > 0
}
