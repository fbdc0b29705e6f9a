// Package method is the catalogue of methods and tricks. A method has a name, a constructor, a citation, options, and
// texts that explain it. The package knows nothing of data and streams. Start at [Catalogue], and at [Register] to add
// a method of your own.
//
// The command line, configs, studies and reports know every method of the catalogue. A program adds its own in an init
// function:
//
//	method.Register(method.Info{
//		Name: "er-ace", // and texts, traits and options
//		Build: func(s method.Setup) (ocl.Learner, error) {
//			r := s.Replay() // what ER has
//			r.Criterion = &ace{}
//			return r, nil
//		},
//	})
//
// and calls cli.Main, which has run, tune, sweep, report and all other commands with it.
package method

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"ocl"
	"ocl/internal/nearest"
	"ocl/internal/origin"
	"ocl/learn/learner"
	"ocl/learn/memory"
	"ocl/learn/optim"
	"ocl/nn"
)

// Info describes a method of the catalogue.
type Info struct {
	Name string // as on the command line: letters, digits and single hyphens, with plus signs at the end, such as ewc++
	Text
	Traits
	Signals  []string // supervisory signals used besides the labels of each batch (survey §3, tab: summary)
	Settings []string // keys of the config that it reads, beyond network and optimiser
	Teacher  string   // what replay.teacher is where nothing is said; "" is evaluation
	Options  []Option // method.<Name>.<option>; only what no shared setting says
	Tuning
	Refuses map[string]string // by name of a trick, why the method does not take it; it takes all others

	// Build makes the learner. It gets options, settings and tricks that are valid, and each option has its value or its
	// default ([OptionOf]). What it returns belongs to the caller; nil without an error is an error of [Info.New].
	Build func(Setup) (ocl.Learner, error)
	// Check says what options and settings must be to each other, before anything is built: Net and WS may be nil. The
	// error begins with the option, such as "option candidates: 5 is smaller than …". Nil is nothing.
	Check func(Setup) error
	// Head is the head of the network that the method needs; of the setup it reads Options, and Net and WS may be nil. A
	// config whose network.head says another kind is an error. Nil, and a head without a kind, take the head that the
	// config says.
	Head func(s Setup) nn.Head
	// Passes are the passes of one iteration of a step, without tricks, as [Info.StepPasses] has them with tricks: b
	// incoming samples, a full memory, at least one image in each batch. Nil is [ReplayPasses] with a memory and
	// [LearnPasses] without.
	Passes func(s Setup, b int) []Pass
	// Prepared estimates the work before an evaluation with so many stored samples: the number of images that go forward
	// and backward through the network. It reads only the options of the setup. Nil is 0.
	Prepared func(stored int, s Setup) int
	// Floats is how many numbers each memory slot carries beside its sample ([memory.Store.Carry]), for the estimate of
	// what a run needs; New checks it. Of the setup it reads Shape, Classes and Options. Nil is 0.
	Floats func(s Setup) int

	// Begins is the number of parameters that a new learner of a method with OwnNetworks has, before it has loaded a
	// state. Of the setup it reads Shape, Classes and Options.
	Begins func(s Setup) int
	// Grows estimates a learner of a method with OwnNetworks after so many samples in batches of b.
	Grows func(s Setup, samples, b int) Growth
	// Solves describes a method that computes its classifier from sums, without gradient: it reads no key network.* and
	// optimizer.*, and Setup.Net is the network of the [Solution]. Of the setup it reads Shape, Classes and Options. Nil
	// is a method that trains.
	Solves func(s Setup) Solution
	// CheckImages says whether the method takes images of a size in pixels; nil is all that its network takes. A method
	// that has it takes no embeddings.
	CheckImages func(height, width int) error

	origin origin.Origin
}

// Text explains a method to people.
type Text struct {
	Title       string
	Summary     string // one sentence
	Idea        string // a few sentences
	Formula     string
	Citation    string
	Since       bool     // it came after the survey
	CostPerStep string   // relative to Finetune
	Expect      string   // what a person will see, on CIFAR-100 among others
	Advice      []Advice // on the options that need some
}

// Groups of the catalogue, in the order of lists. Methods of another module are a group of that module.
const (
	OfSurvey   = "of the survey"
	Since      = "since then"
	OnFeatures = "on features"
)

// Group says where a method belongs in lists.
func (i Info) Group() string {
	switch module, _ := i.Origin(); {
	case module != "":
		return "of " + module
	case i.Text.Since:
		return Since
	case i.Solves != nil:
		return OnFeatures
	}
	return OfSurvey
}

// Grouped are all methods, group by group, sorted by name within a group.
func Grouped() (groups [][]Info) {
	order := []string{OfSurvey, Since, OnFeatures}
	for _, info := range Catalogue() {
		at := slices.Index(order, info.Group())
		if at < 0 {
			at, order = len(order), append(order, info.Group())
		}
		for len(groups) <= at {
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], info)
	}
	return groups
}

// Tuning is what to try when tuning a method.
type Tuning struct {
	Paper, Authors Grid          // the survey's table:hyper, and its authors' files
	PaperOn        map[Data]Grid // instead of Paper, on some data
	AuthorsOn      map[Data]Grid // instead of Authors, on some data
}

// Traits are the properties of a method that the rest of the program needs.
type Traits struct {
	UsesMemory     bool // it stores samples, Setup.Memory of them
	TaskBoundaries bool // it is told when a task begins and ends
	StoredTasks    bool // it needs to know which task a stored sample came from
	Deferred       bool // it learns when it prepares for an evaluation, and not step by step
	Baseline       bool // it does nothing about forgetting: the lower bound of all others
	Offline        bool // it learns all tasks at once; its options Epochs and Batch say how they are shown to it
	// it makes its networks itself, of another kind than network.* says, and has no use for Setup.Net
	OwnNetworks bool
	Vectors     int    // it keeps so many vectors with a number for each parameter
	ClassMeans  bool   // its own rule is the nearest class mean, as with the trick ncm
	OwnOutputs  bool   // output k of its network is that of the k-th class that appeared, and not of class k
	Prediction  string // the rule; "" is the class with the largest logit
}

// Rule is how the method predicts, in words.
func (t Traits) Rule() string {
	if t.Prediction == "" {
		return "the class with the largest logit"
	}
	return t.Prediction
}

// Setup is what a method is built from. Net and WS belong to the learner afterwards.
type Setup struct {
	Net         *nn.Network
	WS          *nn.Workspace
	Opt         optim.Settings
	Memory      int             // M, samples; 0 or more
	ReplayBatch int             // rows replayed beside each incoming batch; at least 1
	Iterations  int             // steps on each incoming batch; at least 1
	Joint       bool            // one concatenated pass instead of two
	Augment     bool            // images are cropped and flipped at each draw
	Update      string          // config.Replay.Update: which samples the memory keeps; "" is reservoir
	MemoryAlone bool            // steps learn from stored samples alone
	Training    bool            // a teacher's batch norm uses the statistics of the current batch
	Undistilled bool            // the trick kdc* has no teacher, as in the authors' code
	Shape       [3]int          // C, H, W of a sample
	Normalises  bool            // the stream has a mean or a deviation, so values of pixels may be outside [0,1]
	Pixels      ocl.PixelValues // [C], as ocl.StreamInfo has them; nil is k/255
	// of activations of frozen stages, which the learner observes and stores in place of images; nil has it learn from
	// images
	Latent     ocl.Encoding
	Embeddings bool           // samples are embeddings, see ocl.StreamInfo; Pixels is nil then
	Classes    int            // K
	Seed       uint64         // of everything that the learner draws, except InitSeed
	InitSeed   uint64         // of the initial parameters of networks that it makes later
	Options    map[string]any // by Option.Name; what is absent has its default
	Tricks     []string       // names of Tricks, as ParseTricks orders them
	// options of tricks, by the name of the trick and Option.Name; what is absent has its default
	TrickOptions map[string]map[string]any

	of    *Info  // the method in Build and Check; nil elsewhere
	asked *asked // in Build; nil elsewhere
}

// OptionOf is the value of an option of the method that is being built, or the option's default. It panics if T is not
// the type of the option, and in Build and Check also if the Options of the Info do not list it.
func OptionOf[T bool | string | int | float64](s Setup, o Option) T {
	name := ""
	if s.of != nil {
		name = s.of.Name + ": "
		if !slices.ContainsFunc(s.of.Options, func(own Option) bool { return own.Name == o.Name }) {
			panic(fmt.Sprintf("method: %soption %s: OptionOf asks for it, but the method does not declare it. Add it to Options of the Info",
				name, o.Name))
		}
	}
	v, given := s.Options[o.Name]
	if !given {
		v = o.Default
	}
	value, is := v.(T)
	if !is {
		panic(fmt.Sprintf("method: %soption %s: it is of type %T, but OptionOf[%T] asks for it. Use OptionOf[%T]", name,
			o.Name, v, value, v))
	}
	return value
}

// TrickOptionOf is the value of an option of a trick, or the option's default. It panics if T is not the type of the
// option.
func TrickOptionOf[T bool | string | int | float64](s Setup, trick string, o Option) T {
	v, given := s.TrickOptions[trick][o.Name]
	if !given {
		v = o.Default
	}
	return v.(T)
}

// Store is an empty memory for Memory samples.
func (s Setup) Store() *memory.Store { return memory.NewStore(s.Memory, s.Shape, s.Encoding()) }

// Encoding is how samples are stored.
func (s Setup) Encoding() ocl.Encoding {
	if s.Latent != nil {
		return s.Latent
	}
	if s.Embeddings {
		return ocl.Float16{}
	}
	return s.Pixels
}

// Catalogue returns all methods, sorted by name.
func Catalogue() []Info { return catalogue.All() }

// Lookup returns the method called name. The error names the nearest one.
func Lookup(name string) (Info, error) {
	info, err := catalogue.Lookup(name)
	if err != nil {
		return Info{}, fmt.Errorf("method: %w", err)
	}
	return info, nil
}

// New builds a learner. A fault of the setup or the options is an error that names the key of the config.
func (i Info) New(s Setup) (ocl.Learner, error) {
	s.of = &i
	if err := i.CheckOptions(s.Options); err != nil {
		return nil, err
	}
	for _, v := range []struct {
		key          string
		value, least int
	}{{"memory", s.Memory, 0}, {"replay.batch", s.ReplayBatch, 1}, {"replay.iterations", s.Iterations, 1}} {
		if v.value < v.least {
			return nil, fmt.Errorf("method: %s: %s: %d is too small. Use at least %d", i.Name, v.key, v.value, v.least)
		}
	}
	if err := i.CheckTogether(s); err != nil {
		return nil, fmt.Errorf("method: %s: %w", i.Name, err)
	}
	if err := errors.Join(i.CheckTricks(s.Tricks)...); err != nil {
		return nil, fmt.Errorf("method: %w", err)
	}
	s.asked = &asked{}
	l, err := i.Build(s)
	if err != nil {
		return nil, err
	}
	if isNil(l) {
		return nil, fmt.Errorf("method: %s: Build returned no learner and no error. Return one of them", i.Name)
	}
	if r, plain := l.(*learner.Replay); plain {
		switch {
		case s.Net != nil && r.Net == nil, s.WS != nil && r.WS == nil, s.Opt != nil && r.Opt == nil:
			return nil, fmt.Errorf("method: %s: Build returned a Replay without Net, WS or Opt. Begin with Setup.Replay, which sets them",
				i.Name)
		case s.Net != nil && !s.Net.Info().Head.PerClass():
			return nil, fmt.Errorf("method: %s: no output of a %s head is that of a class, and Build returned a Replay, which predicts by such outputs. Return a learner.Nearest around it, which predicts by class means",
				i.Name, s.Net.Info().Head.Kind)
		case i.UsesMemory && r.Memory == nil:
			return nil, fmt.Errorf("method: %s: UsesMemory is set, but Build returned a Replay without a memory. Set its Memory to Setup.Store, or clear UsesMemory",
				i.Name)
		}
	}
	if err := (built{s, l}).ignored(); err != nil {
		return nil, err
	}
	if m := learner.MemoryOf(l); m != nil && m.Floats() != i.floats(s) {
		return nil, fmt.Errorf("method: %s: its memory carries %d numbers with each sample, but Floats of its Info says %d. Let both say the same",
			i.Name, m.Floats(), i.floats(s))
	}
	if r, plain := l.(*learner.Replay); plain && s.fills().TaskBoundaries() {
		return learner.Bounded{Replay: r}, nil
	}
	return l, nil
}

// floats is what Floats says.
func (i Info) floats(s Setup) int {
	if i.Floats == nil {
		return 0
	}
	return i.Floats(s)
}

// SlotBytes is the number of bytes of the numbers that each memory slot carries.
func (i Info) SlotBytes(s Setup) int {
	const number, header = 4, 32 // where they are, and how many
	if n := i.floats(s); n > 0 {
		return number*n + header
	}
	return 0
}

// CarriedBytes is the number of bytes that a memory counts for the numbers of a slot ([memory.Store.Bytes]), with one
// more that says how many there are.
func (i Info) CarriedBytes(s Setup) int {
	if n := i.floats(s); n > 0 {
		return 4 * (n + 1)
	}
	return 0
}

// isNil says whether an interface is nil or holds a nil pointer.
func isNil(l ocl.Learner) bool {
	if l == nil {
		return true
	}
	v := reflect.ValueOf(l)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// Defaults returns the default value of each option.
func (i Info) Defaults() map[string]any {
	values := map[string]any{}
	for _, o := range i.Options {
		values[o.Name] = o.Default
	}
	return values
}

// CheckTogether says whether options and settings that are valid by themselves can be used together. The error begins
// with the option.
func (i Info) CheckTogether(s Setup) error {
	if i.Check == nil {
		return nil
	}
	s.of = &i
	return i.Check(s)
}

// Growth is an upper estimate of the size of a learner that makes networks as it learns.
type Growth struct {
	Experts    int
	Parameters int
	Learn      float64 // operations to learn all samples
	Image      float64 // to predict an image, on average over the stream
}

// CheckStream says whether a stream gives the method, with tricks, the supervisory signals that it uses, and images
// that it takes.
func (i Info) CheckStream(s ocl.StreamInfo, tricks ...string) error {
	if i.TaskBoundaries && s.NoBoundaries {
		return fmt.Errorf("method: %s: stream %s does not say where tasks begin and end, and the method needs this. "+
			"Remove stream.task_signals=false, or use a method that `ocl methods` lists without the signal task boundaries",
			i.Name, s.Name)
	}
	if i.CheckImages != nil && s.Embeddings {
		return fmt.Errorf("method: %s: stream %s has embeddings, and the method needs images. Use another method", i.Name,
			s.Name)
	}
	if i.CheckImages != nil {
		if err := i.CheckImages(s.Height, s.Width); err != nil {
			return fmt.Errorf("method: %s: stream %s: %w", i.Name, s.Name, err)
		}
	}
	return i.checkTrickStream(s, tricks)
}

// CheckOptions says whether all options are the method's own, of the type of their default and in their range.
func (i Info) CheckOptions(options map[string]any) error {
	names := make([]string, len(i.Options))
	for k, o := range i.Options {
		names[k] = o.Name
		v, ok := options[o.Name]
		switch {
		case !ok:
		case reflect.TypeOf(v) != reflect.TypeOf(o.Default):
			return fmt.Errorf("method: %s: option %s: %v is of type %T. Give %s, of type %T", i.Name, o.Name, v, v, o.Wanted(),
				o.Default)
		case !o.Holds(v):
			return fmt.Errorf("method: %s: option %s: %v is not allowed. Use %s", i.Name, o.Name, v, o.Wanted())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		switch {
		case slices.Contains(names, name):
		case len(names) == 0:
			return fmt.Errorf("method: %s: unknown option %q, as the method has no options of its own. Remove it", i.Name, name)
		default:
			return fmt.Errorf("method: %s: unknown option %q. %s", i.Name, name, nearest.Hint(name, names))
		}
	}
	return nil
}
