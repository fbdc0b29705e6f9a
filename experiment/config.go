package experiment

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"ocl/method"
)

// Values of Config.Protocol (docs/deviations.md: evaluation protocol).
const (
	ProtocolStandard = "standard" // all tasks
	ProtocolSurvey   = "survey"   // the first two tasks are left to tuning; learn and report on the rest
	ProtocolTuning   = "tuning"   // those first two tasks alone
)

// Values of Config.Eval.
const (
	EvalSeen  = "seen"  // after each task, the test sets of the tasks learned so far
	EvalAll   = "all"   // after each task, the test sets of all tasks
	EvalFinal = "final" // after the last task only, all test sets
)

// Values of ReplayConfig.Teacher.
const (
	TeacherEvaluation = "evaluation" // the running statistics
	TeacherTraining   = "training"   // the statistics of the images it is shown
)

// DefaultMemory is the memory size M of [Default], in samples.
const DefaultMemory = 500

// Config describes an experiment: one stream, one or more methods, one or more seeds. It is resolved as defaults, then
// file, then flags ([Default], [Load] or [Config.LoadFile], [Config.Set]); the resolved struct is saved with every
// result. A Config may be copied; its maps and slices are then shared until [Config.Resolved] copies them.
type Config struct {
	Data    DataConfig                `yaml:"data" json:"data"`
	Stream  StreamConfig              `yaml:"stream" json:"stream"`
	Methods []string                  `yaml:"methods" json:"methods"`                   // names of the catalogue
	Method  map[string]map[string]any `yaml:"method,omitempty" json:"method,omitempty"` // method.<name>.<option>
	Memory  int                       `yaml:"memory" json:"memory"`                     // M, samples; ignored by methods without memory
	// Classifiers are those whose predictions are evaluated: head, ncm. Accuracy and metrics are the first one's.
	Classifiers []string        `yaml:"classifiers" json:"classifiers"`
	Replay      ReplayConfig    `yaml:"replay" json:"replay"`
	Network     NetworkConfig   `yaml:"network" json:"network"`
	Optimizer   OptimizerConfig `yaml:"optimizer" json:"optimizer"`
	Protocol    string          `yaml:"protocol" json:"protocol"` // standard | survey | tuning
	Eval        string          `yaml:"eval" json:"eval"`         // seen | all | final; "" = by scenario
	Seed        uint64          `yaml:"seed" json:"seed"`
	Runs        int             `yaml:"runs" json:"runs"` // seeds seed, seed+1, … for each method

	// Tricks are those of each run of a method: none, or names joined by plus signs, such as lb+ncm.
	Tricks []string `yaml:"tricks" json:"tricks"`

	memoryGiven bool // the memory was chosen by a person, so methods without one are worth a word
	numbers     int  // see Numbers
}

// Numbers is the numbers version (result.Numbers) of the result.json that the config was loaded from, 0 when it comes from
// elsewhere. Where it is not the program's, the same run again may end in other figures.
func (c Config) Numbers() int { return c.numbers }

// DataConfig names the data set and where it lies.
type DataConfig struct {
	Name string `yaml:"name" json:"name"` // glyphs | cifar100 | npz
	Dir  string `yaml:"dir" json:"dir"`   // folder or archive
	// Size is the side in pixels and TrainPerClass, TestPerClass the images a class, for glyphs; 0 is the data set's own.
	Size          int `yaml:"size" json:"size"`
	TrainPerClass int `yaml:"train_per_class" json:"train_per_class"`
	TestPerClass  int `yaml:"test_per_class" json:"test_per_class"`
}

// StreamConfig says how the data become tasks and batches.
type StreamConfig struct {
	Tasks      int       `yaml:"tasks" json:"tasks"`
	Batch      int       `yaml:"batch" json:"batch"`             // b, samples in an incoming batch
	ClassOrder any       `yaml:"class_order" json:"class_order"` // random | given | list of all classes
	DropLast   *bool     `yaml:"drop_last" json:"drop_last"`     // nil: by protocol (survey drops, standard learns)
	Augment    bool      `yaml:"augment" json:"augment"`         // crop and flip
	Mean       []float64 `yaml:"mean" json:"mean,omitempty"`     // normalisation, a value a channel
	Std        []float64 `yaml:"std" json:"std,omitempty"`
}

// ReplayConfig holds what the replay methods share.
type ReplayConfig struct {
	Batch      int    `yaml:"batch" json:"batch"`           // rows replayed beside each incoming batch
	Iterations int    `yaml:"iterations" json:"iterations"` // steps on each incoming batch
	Joint      bool   `yaml:"joint" json:"joint"`           // one concatenated pass instead of two
	Teacher    string `yaml:"teacher" json:"teacher"`       // evaluation | training: the statistics that a teacher's batch norm goes by
}

// NetworkConfig names the network.
type NetworkConfig struct {
	Name   string `yaml:"name" json:"name"`     // resnet18 | mlp
	Width  int    `yaml:"width" json:"width"`   // nf of resnet18
	Hidden []int  `yaml:"hidden" json:"hidden"` // hidden layers of mlp
}

// OptimizerConfig describes the optimiser.
type OptimizerConfig struct {
	Name        string  `yaml:"name" json:"name"` // sgd | adam
	LR          float64 `yaml:"lr" json:"lr"`
	WeightDecay float64 `yaml:"weight_decay" json:"weight_decay"`
	Momentum    float64 `yaml:"momentum" json:"momentum"`
}

// Default is the experiment of `ocl run` without flags: the built-in glyphs in ten tasks, Finetune and ER side by side.
// Batch sizes, learning rate and network are those of the survey's experiments (§5).
func Default() Config {
	return Config{
		Data:        DataConfig{Name: "glyphs"},
		Stream:      StreamConfig{Tasks: 10, Batch: 10, ClassOrder: "random"},
		Methods:     []string{"finetune", "er"},
		Memory:      DefaultMemory,
		Classifiers: []string{ClassifierHead},
		Replay:      ReplayConfig{Batch: 10, Iterations: 1, Teacher: TeacherEvaluation},
		Network:     NetworkConfig{Name: "resnet18", Width: 20, Hidden: []int{256, 256}},
		Optimizer:   OptimizerConfig{Name: "sgd", LR: 0.1},
		Protocol:    ProtocolStandard,
		Seed:        1,
		Runs:        1,
		Tricks:      []string{method.NoTrick},
	}
}

// Resolved returns a deep copy of c in which what depends on circumstances is filled in: drop_last by protocol, the options of
// the methods by their defaults, and memory 0 where no method keeps one. Eval stays empty until the scenario of the stream
// is known; [Run] fills it in.
func (c Config) Resolved() Config {
	c = c.withoutIdleMemory()
	c.Methods, c.Classifiers = slices.Clone(c.Methods), slices.Clone(c.Classifiers)
	c.Stream.Mean, c.Stream.Std = slices.Clone(c.Stream.Mean), slices.Clone(c.Stream.Std)
	c.Network.Hidden = append([]int{}, c.Network.Hidden...) // never nil: an empty list is written []
	if order, ok := c.Stream.ClassOrder.([]int); ok {
		c.Stream.ClassOrder = slices.Clone(order)
	}
	c.Tricks = c.resolvedTricks()
	drop := c.Protocol != ProtocolStandard
	if c.Stream.DropLast != nil {
		drop = *c.Stream.DropLast
	}
	c.Stream.DropLast = &drop
	given := c.Method
	c.Method = map[string]map[string]any{}
	for name, options := range given {
		if len(options) > 0 {
			c.Method[name] = maps.Clone(options)
		}
	}
	for _, name := range c.Methods {
		if info, err := method.Lookup(name); err == nil && len(info.Options) > 0 {
			c.Method[name] = info.Defaults()
			maps.Copy(c.Method[name], given[name])
		}
	}
	return c
}

// withoutIdleMemory returns c with memory 0 if no method of the list keeps one.
func (c Config) withoutIdleMemory() Config {
	if len(c.usingMemory()) == 0 && !c.hasUnknownMethod() {
		c.Memory = 0
	}
	return c
}

// usingMemory lists the methods of the config that keep a memory.
func (c Config) usingMemory() []string {
	return c.methodsWhere(func(info method.Info) bool { return info.UsesMemory })
}

// withoutMemory lists the methods of the config that keep no memory.
func (c Config) withoutMemory() []string {
	return c.methodsWhere(func(info method.Info) bool { return !info.UsesMemory })
}

func (c Config) methodsWhere(is func(method.Info) bool) []string {
	var names []string
	for _, name := range c.Methods {
		if info, err := method.Lookup(name); err == nil && is(info) {
			names = append(names, name)
		}
	}
	return names
}

// hasUnknownMethod tells whether the list has a name that is not in the catalogue: nobody knows then what it would use.
func (c Config) hasUnknownMethod() bool {
	return len(c.methodsWhere(func(method.Info) bool { return true })) < len(c.Methods)
}

// canonical is the text that two equal experiments share: the resolved config without where the data lie.
func (c Config) canonical() string {
	c = c.Resolved()
	c.Data.Dir = ""
	b, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("experiment: a config does not marshal: %v", err))
	}
	return string(b)
}
