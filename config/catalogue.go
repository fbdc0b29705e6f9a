package config

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Schema is the table of keys and the names that the program knows. The zero value knows no names and accepts any
// method with any options, which is enough to read what a program has written.
type Schema struct {
	Catalogue
}

// Catalogue is what the names in a config stand for.
type Catalogue struct {
	Data    []DataSet
	Streams []StreamKind
	Methods []Method
	Tricks  []Trick
	// ParseTricks reads the tricks of one run, such as "lb+ncm", and returns their names in order; nil where Tricks is
	// empty.
	ParseTricks func(text string) ([]string, error)
	// CheckShift says what is wrong with the disturbances of a stream; nil checks nothing.
	CheckShift func(Stream) error
	LeastSide  map[string]int // by name of a network, the smallest side in pixels of the images that it takes
}

// DataSet is what a config has to respect of a data set.
type DataSet struct {
	Name     string
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

// StreamKind is what a config has to respect of a kind of stream.
type StreamKind struct {
	Name string
	// CheckTasks says whether so many tasks can be made of so many classes; nil checks nothing.
	CheckTasks func(tasks, classes int) error
	AllClasses bool // every task has all classes, so that there is no list of them to order
}

// Method is what a config has to respect of a method.
type Method struct {
	Name       string
	About      string // what it is, in words; messages about unknown names look there too
	UsesMemory bool
	Scratch    bool // it trains its network from drawn weights each time, so it takes none of a file
	// OwnNetworks says that it makes its networks itself and reads no key network.*.
	OwnNetworks bool
	// OwnRule is the classifier that the method's own rule is, of those that any method may have; "" is none of them.
	OwnRule  string
	Settings []string // keys that it reads, of those that not every method reads
	Options  []Option
	Teacher  string                        // what replay.teacher is where nothing is said; "" is TeacherEvaluation
	Check    func(Config) error            // what options and settings must be to each other; nil is nothing
	Refuses  func(tricks []string) []error // an error for each trick that it does not take; nil takes all
}

// Trick is what a config has to respect of a trick.
type Trick struct {
	Name       string
	Settings   []string
	Classifies bool   // it changes the classifier alone, to ClassifierNCM
	Teacher    string // as Method.Teacher, where the method does not read the key itself
}

// Option is a setting of one method. Its type is that of Default: true or false, text, a whole number or a number.
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
func (o Option) Wanted() string {
	if o.Range != "" {
		return o.Range
	}
	kind := "a number"
	switch o.Default.(type) {
	case bool:
		return "true or false"
	case string:
		if len(o.Choices) == 0 {
			return "text"
		}
		return "one of " + strings.Join(o.Choices, ", ")
	case int:
		kind = "a whole number"
	}
	if o.Most == 0 {
		return fmt.Sprintf("%s, at least %v", kind, o.Least)
	}
	return fmt.Sprintf("%s from %v to %v", kind, o.Least, o.Most)
}

// Holds says whether v, of the type of Default, is in range.
func (o Option) Holds(v any) bool {
	switch v := v.(type) {
	case string:
		return len(o.Choices) == 0 || slices.Contains(o.Choices, v)
	case int:
		return o.spans(float64(v))
	case float64:
		return o.spans(v)
	}
	return true
}

func (o Option) spans(v float64) bool {
	return v >= o.Least && (o.Most == 0 || v <= o.Most) && !math.IsInf(v, 0)
}

// kind is the kind of the option's values.
func (o Option) kind() kind {
	switch o.Default.(type) {
	case bool:
		return kindTruth
	case int:
		return kindWhole
	case float64:
		return kindNumber
	}
	return kindText
}

// conform converts a value to the type of Default if nothing is lost: a whole number to a number, and the other way
// round. Other values stay as they are, and Validate reports them.
func (o Option) conform(v any) any {
	switch o.Default.(type) {
	case float64:
		if n, ok := v.(int); ok {
			return float64(n)
		}
	case int:
		if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return int(f)
		}
	}
	return v
}

// entry is what a catalogue lists by name.
type entry interface{ called() string }

func (d DataSet) called() string    { return d.Name }
func (k StreamKind) called() string { return k.Name }
func (m Method) called() string     { return m.Name }
func (t Trick) called() string      { return t.Name }
func (o Option) called() string     { return o.Name }

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

// meaning is what a key does, in words.
func (s *Schema) meaning(key string) string {
	if k, ok := find(key); ok {
		return k.Help
	}
	if _, option, err := s.find(key); err == nil {
		return option.Meaning
	}
	return ""
}

// Names lists every key: those of [Keys], then method.<name>.<option> of each option.
func (s *Schema) Names() []string {
	var names []string
	for _, k := range Keys() {
		names = append(names, k.Name)
	}
	for _, m := range s.Methods {
		for _, o := range m.Options {
			names = append(names, optionKey(m.Name, o.Name))
		}
	}
	return names
}

// Readers lists the methods and the tricks that read a key. Both are nil for a key that all runs read.
func (s *Schema) Readers(key string) (methods, tricks []string) {
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

// TrickText is how Config.Tricks writes tricks.
func TrickText(names []string) string {
	if len(names) == 0 {
		return NoTrick
	}
	return strings.Join(names, "+")
}

// Reads says whether a run of a method with tricks reads a key: every run reads those that no method and no trick lists, but
// a method that makes its networks itself reads none of network.*.
func (s *Schema) Reads(method string, tricks []string, key string) bool {
	m, _ := lookup(s.Methods, method)
	if m.OwnNetworks && isNetworkKey(key) {
		return false
	}
	return !s.selective(key) || slices.Contains(m.Settings, key) || slices.ContainsFunc(s.Tricks, func(t Trick) bool {
		return slices.Contains(tricks, t.Name) && slices.Contains(t.Settings, key)
	})
}

// OwnRule is the classifier that a method's own rule is: predictions by it are those of [ClassifierHead]. "" means none, and that of an unknown method.
func (s *Schema) OwnRule(method string) string {
	m, _ := lookup(s.Methods, method)
	return m.OwnRule
}

// isNetworkKey says whether a key is about the network that most methods share.
func isNetworkKey(key string) bool { return strings.HasPrefix(key, "network.") }

// makeNetworks says whether all methods of a list make their networks themselves.
func (s *Schema) makeNetworks(methods []string) bool {
	return len(methods) > 0 && !slices.ContainsFunc(methods, func(name string) bool {
		m, _ := lookup(s.Methods, name)
		return !m.OwnNetworks
	})
}

// selective says whether some methods or tricks read a key and others do not.
func (s *Schema) selective(key string) bool {
	methods, tricks := s.Readers(key)
	return len(methods)+len(tricks) > 0
}
