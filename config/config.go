// Package config describes an experiment: one stream, one or more methods, one or more seeds. It holds plain structs,
// one table of all keys ([Keys]), and what comes of that table: parsing, validation, flags, the page
// docs/format/config.md and a JSON Schema for editors.
//
//	c := config.Default() // the built-in glyphs, Finetune and ER
//	c.Methods, c.Memory = []string{"er", "mir"}, 1000
//	schema := experiment.Schema() // what this program knows
//	err := schema.Set(&c, "method.mir.candidates", "25")
//	err = schema.Validate(c) // all faults at once
//	text, err := c.YAML()
//
// It imports no other package of this program that knows methods or data. Its callers give it the methods, tricks and
// data sets in a [Catalogue], which is part of a [Schema]; package experiment has the one of this program. Start at
// [Config] and [Schema].
//
// No library does this job. Libraries that make flags of structs (kong, cobra) do not read YAML with its lines.
// Libraries that merge sources (koanf, viper) do not check ranges and types. Libraries that make a JSON Schema of
// structs (invopop) have no flags. The YAML itself is read and written by go.yaml.in/yaml.
package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Values of Config.Protocol (docs/deviations.md: evaluation protocol).
const (
	ProtocolStandard = "standard" // all tasks
	ProtocolSurvey   = "survey"   // the first two tasks are left to tuning; learn and report on the rest
	ProtocolTuning   = "tuning"   // those first two tasks alone
)

// Values of Tune.Search.
const (
	SearchGrid    = "grid"    // every point
	SearchRandom  = "random"  // points that are drawn within the bounds of the grid
	SearchHalving = "halving" // every point with a part of the images, and only the best of them with more
)

// Values of Config.Eval.
const (
	EvalSeen  = "seen"  // after each task, the test sets of the tasks learned so far
	EvalAll   = "all"   // after each task, the test sets of all tasks
	EvalFinal = "final" // after the last task only, all test sets
)

// Values of Replay.Teacher.
const (
	TeacherEvaluation = "evaluation" // the running statistics
	TeacherTraining   = "training"   // the statistics of the images it is shown
)

// Values of Replay.KDCStar.
const (
	KDCStarText    = "text"    // with a teacher, as the survey's text describes it
	KDCStarAuthors = "authors" // without one, as its authors' code has it
)

// Values of Replay.Update.
const (
	UpdateReservoir = "reservoir" // every sample with the same probability
	UpdateBalanced  = "balanced"  // class-balancing reservoir sampling
	UpdateGreedy    = "greedy"    // every sample is stored, in place of one of a largest class
)

// Values of Replay.From.
const (
	FromBoth   = "both"   // the incoming batch and stored samples
	FromMemory = "memory" // stored samples alone, as many
)

// Values of Config.Classifiers.
const (
	ClassifierHead = "head" // the method's own rule, for most methods the largest logit of the network's head
	ClassifierNCM  = "ncm"  // the nearest class mean of the memory
)

// Values of Stream.Kind that are defaults in some cases.
const (
	KindClasses = "classes"
	KindTasks   = "tasks"   // where the data set gives the tasks
	KindShift   = "shift"   // with Shift.Kind
	KindDomains = "domains" // with Data.Domains
	// some classes belong to one task, the others come in any; with Mixture
	KindIBlurry  = "iblurry"
	KindSIBlurry = "siblurry"
)

// Class orders of Order.Name.
const (
	OrderRandom   = "random"   // drawn from the seed
	OrderGiven    = "given"    // 0, 1, 2, …
	OrderOfficial = "official" // the published one whose number is the seed - 1; "official:N" is order N, from 0
)

// Values of Data.Domains, for the glyphs.
const (
	DomainsFont     = "font"     // the typeface
	DomainsNoise    = "noise"    // the strength of noise and blur
	DomainsRotation = "rotation" // the angle of the character
)

// Values of Data.Unreadable.
const (
	UnreadableFail = "fail" // an image that cannot be read is an error
	UnreadableSkip = "skip" // it is left out, and the result says so
)

// Values of Shift.Occlusion and Shift.Blur. The first of each is the default (docs/deviations.md).
const (
	OcclusionPerTask  = "per-task" // one place for the training images of a task, one for its test images
	OcclusionPerImage = "per-image"
	BlurPerImage      = "per-image"
	BlurCrossImage    = "cross-image" // also across the images of a task, as in the published rows
)

// MetricDefault is the value of Tune.By where nothing is said.
const MetricDefault = "average_accuracy"

// Metrics lists the metrics of a result, which are the values of Tune.By.
func Metrics() []string {
	return []string{MetricDefault, "average_forgetting", "forgetting_all_tasks", "bwt_plus", "fwt", "learning_accuracy",
		"average_incremental_accuracy", "average_anytime_accuracy", "min_accuracy", "worst_case_accuracy", "largest_drop",
		"stability_gap", "seen_auc", "seen_last", "cumulative_forgetting", "retention", "online_accuracy",
		"near_future_accuracy", "probed_accuracy"}
}

// metricNeeds has the key without which a metric is not measured.
var metricNeeds = map[string]string{"average_anytime_accuracy": "eval_every", "min_accuracy": "eval_every",
	"worst_case_accuracy": "eval_every", "largest_drop": "eval_every", "stability_gap": "eval_every",
	"seen_auc": "eval_every", "online_accuracy": "eval_online", "near_future_accuracy": "eval_ahead",
	"probed_accuracy": "eval_probe"}

// DefaultMemory is the memory size M of [Default], in samples.
const DefaultMemory = 500

// Config is an experiment. The zero value is not valid; start from [Default]. A Config may be copied: its maps, slices
// and pointers are then shared, and [Config.Clone] copies them too.
type Config struct {
	Data    Data
	Stream  Stream
	Methods []string                  // names of the catalogue
	Method  map[string]map[string]any // method.<name>.<option>
	Memory  int                       // M, samples; ignored by methods without memory
	// MemoryBytes says it in bytes instead, with the copies of the network that a method keeps; 0 leaves it to Memory.
	MemoryBytes int
	// Classifiers are the classifiers that are evaluated: head, ncm. The first one gives accuracy and metrics.
	Classifiers []string
	Replay      Replay
	Network     Network
	Optimizer   Optimizer
	Protocol    string // standard | survey | tuning
	Eval        string // seen | all | final; "" is by scenario
	EvalEvery   int    // also evaluate after every so many steps, on the tasks seen; 0 is never
	EvalSample  int    // test images of each class in these evaluations; 0 is all
	EvalOnline  bool   // predict each incoming batch before it is learned
	EvalAhead   int    // predict the batch that comes so many steps after the next one; 0 is none
	EvalProbe   int    // training images of each class to which a probe is fitted at the end; 0 is no probe
	Seed        uint64
	Seeds       Seeds
	Runs        int // seeds Seed, Seed+1, … for each method
	// Tricks are those of each run of a method: none, or names joined by plus signs, such as lb+ncm.
	Tricks []string
	Engine Engine
	Parent Parent
	Tune   Tune
}

// Tune says how each run is tuned on the first two tasks before it learns the others; the zero value is not at all. The
// config of a run has none: its settings are then those that were chosen.
type Tune struct {
	Grid    string  // paper, authors or a file; "" does not tune
	By      string  // the metric by which a point is chosen; "" is MetricDefault
	Search  string  // SearchGrid, SearchRandom or SearchHalving; "" is SearchGrid
	Points  int     // of SearchRandom, how many are drawn
	Repeats int     // trials of each point; 0 is by data and method
	Seed    *uint64 // whose tuning chooses for all runs of a method with its tricks; nil tunes each run by itself
}

// Parent is the run whose learner an experiment continues, with all that it has learned and stored; the zero value is
// none.
type Parent struct {
	Run        string // its folder; not part of what makes two experiments the same
	Checkpoint string // "sha256:…" of the checkpoint of its learner; "" is the newest that the folder has
}

// Data names the data set and its place.
type Data struct {
	Name string
	Dir  string // folder or archive; not part of what makes two experiments the same
	// Size is the side in pixels, for images that are drawn, scaled or padded, and TrainPerClass, TestPerClass the images
	// of each class; 0 is the data set's own.
	Size          int
	Channels      int // 3 makes three equal channels of grey images; 0 leaves them as they are
	TrainPerClass int
	TestPerClass  int
	Domains       string // what differs between the domains of the images, where there is a choice; "" is DomainsFont
	Seed          uint64 // of what belongs to the data: a split into training and test images, a part of the images
	Unreadable    string // UnreadableFail or UnreadableSkip
	Reading       string // how a person's own images say which class they show; "" is what the files call for
	// Backbone is the file of a pretrained network that makes embeddings of the images; "" is none. It is not part of what
	// makes two experiments the same, but BackboneDigest is: "sha256:…" of the file, which is found when an experiment is
	// opened.
	Backbone, BackboneDigest string
}

// Stream says how the data become tasks and batches.
type Stream struct {
	Kind       string // of the catalogue of package stream: how tasks differ; "" is by data and Shift
	Tasks      int    // 0 is the data set's own
	Batch      int    // b, samples in an incoming batch
	ClassOrder Order
	// TaskClasses is the number of classes of each task, where tasks are not equally large.
	TaskClasses []int
	TaskSignals bool    // whether learners are told where a task begins and ends
	Blurry      float64 // share of the training images of each task that come in the task before or after it
	LongTail    float64 // images of the rarest class divided by those of the most frequent one; 0 leaves all
	ClassCounts []int   // training images of each class; empty leaves all
	Shift       Shift
	IBlurry     IBlurry
	Delay       int       // c: of c batches one is learned, and the others are lost
	LabelDelay  int       // d: the labels of a batch come d batches later
	DropLast    *bool     // nil: by protocol (survey and tuning drop, standard learns)
	HeldOut     *bool     // test on a tenth of the training images; nil: by protocol and data
	Mean        []float64 // normalisation, a value a channel
	Std         []float64
}

// IBlurry are the percentages of the kinds iblurry and siblurry.
type IBlurry struct {
	Disjoint float64 // N: of the classes, that belong to one task
	Blurry   float64 // M: of the images of the others, that come in any task
}

// Shift says how the images of tasks that have the same classes are disturbed (survey tab: ns_mini).
type Shift struct {
	// noise, occlusion, blur, or some of them joined by plus signs in the order in which they are applied; "" means none
	Kind string
	// Strengths of each task; empty is the survey's list (§app:exp_detail).
	NoiseStrengths, OcclusionStrengths, BlurStrengths []float64

	Occlusion string // OcclusionPerTask or OcclusionPerImage
	Blur      string // BlurPerImage or BlurCrossImage
}

// Strengths returns the strengths of a kind of shift. An empty list means the survey's.
func (s Shift) Strengths(kind string) []float64 {
	switch kind {
	case "noise":
		return s.NoiseStrengths
	case "occlusion":
		return s.OcclusionStrengths
	}
	return s.BlurStrengths
}

// Order is the order of the classes: a name, or all classes in a list, by their numbers or by what the data call them.
type Order struct {
	// OrderRandom, OrderGiven or OrderOfficial; "" where a list is set, or where nothing is: then it is by data
	Name    string
	Classes []int
	Called  []string // instead of Classes, until the data are open and say their numbers
}

// String is the order as flags take it: a name, or "2,0,1", or "owl,dog,cat".
func (o Order) String() string {
	if o.Name != "" {
		return o.Name
	}
	words := slices.Clone(o.Called)
	for _, k := range o.Classes {
		words = append(words, strconv.Itoa(k))
	}
	return strings.Join(words, ",")
}

// listed is the number of classes in the list.
func (o Order) listed() int { return len(o.Classes) + len(o.Called) }

// IsUnset says that the order is left to the data.
func (o Order) IsUnset() bool { return o.Name == "" && o.listed() == 0 }

// official says that the order is a published one.
func (o Order) official() bool {
	_, _, ok := o.Official()
	return ok
}

// Official says whether the order is a published one, and its number, from 0; without number it is by the seed.
func (o Order) Official() (number int, numbered, ok bool) {
	rest, ok := strings.CutPrefix(o.Name, OrderOfficial)
	if !ok || rest == "" {
		return 0, false, ok
	}
	digits, ok := strings.CutPrefix(rest, ":")
	number, err := strconv.Atoi(digits)
	return number, true, ok && err == nil && number >= 0
}

// Replay holds what the replay methods share.
type Replay struct {
	Batch      int    // rows replayed beside each incoming batch
	Iterations int    // steps on each incoming batch
	Passes     int    // passes of rows for each incoming sample, which choose Iterations; 0 leaves that to Iterations
	Joint      bool   // one concatenated pass instead of two
	Augment    bool   // crop and flip at each draw
	Teacher    string // the statistics that a teacher's batch norm uses; "" is by method
	KDCStar    string // whether the trick kdc* has a teacher
	Update     string // which samples the memory keeps
	From       string // what each step learns from
	Latent     bool   // store the activations of the frozen stages in place of images
	LatentBits int    // of a stored activation: LatentFloats or LatentCodes
}

// Values of Replay.LatentBits.
const (
	LatentFloats = 16 // half precision
	LatentCodes  = 8  // codes of equal steps
)

// Values of Network.Head.
const (
	HeadLinear = "linear"
	HeadCosine = "cosine"
)

// Network names the network.
type Network struct {
	Name   string
	Width  int    // nf of resnet18
	Hidden []int  // hidden layers of mlp
	Head   string // HeadLinear or HeadCosine; "" leaves it to the method, and is linear for most
	Freeze int    // stages from the images on that do not learn
	// Init is a file of weights that the network starts with; "" draws them. It is not part of what makes two experiments
	// the same, but InitDigest is: "sha256:…" of the file, which is found when an experiment is opened.
	Init, InitDigest string
}

// Optimizer describes the optimiser.
type Optimizer struct {
	Name        string
	LR          float64
	WeightDecay float64
	Momentum    float64
}

// Seeds are separate seeds for some of the random choices; nil uses the run's seed.
type Seeds struct {
	Order  *uint64 // of classes and samples
	Init   *uint64 // initial parameters of networks
	Memory *uint64 // what is stored, what is replayed and how images are augmented
}

// Engine selects the arithmetic. Engines round differently, which may move an accuracy by a point or more.
type Engine struct {
	Kernel      string // kernel set; "" is the fastest of the machine
	Convolution string // algorithm of convolutions; "" is the faster one of each layer
}

// OrderSeed is the seed of the orders of classes and samples.
func (c Config) OrderSeed() uint64 { return orSeed(c.Seeds.Order, c.Seed) }

// InitSeed is the seed of the initial parameters of networks.
func (c Config) InitSeed() uint64 { return orSeed(c.Seeds.Init, c.Seed) }

// MemorySeed is the seed of what is stored and replayed, and of how images are augmented.
func (c Config) MemorySeed() uint64 { return orSeed(c.Seeds.Memory, c.Seed) }

func orSeed(own *uint64, seed uint64) uint64 {
	if own != nil {
		return *own
	}
	return seed
}

// Default is the experiment of `ocl run` without flags: the built-in glyphs in ten tasks, Finetune and ER side by side.
// Batch sizes, learning rate and network are those of the survey's experiments (§5).
func Default() Config {
	return Config{
		Data:        Data{Name: "glyphs"},
		Stream:      Stream{Batch: 10, TaskSignals: true, IBlurry: IBlurry{50, 10}, Delay: 1},
		Methods:     []string{"finetune", "er"},
		Memory:      DefaultMemory,
		Classifiers: []string{ClassifierHead},
		Replay: Replay{Batch: 10, Iterations: 1, KDCStar: KDCStarText, Update: UpdateReservoir, From: FromBoth,
			LatentBits: LatentFloats},
		Network:   Network{Name: "resnet18", Width: 20, Hidden: []int{256, 256}},
		Optimizer: Optimizer{Name: "sgd", LR: 0.1},
		Protocol:  ProtocolStandard,
		Seed:      1,
		Runs:      1,
		Tricks:    []string{NoTrick},
	}
}

// NoTrick is the entry of a list of tricks that stands for the method without tricks.
const NoTrick = "none"

// Classifiers lists the values of Config.Classifiers.
func Classifiers() []string { return []string{ClassifierHead, ClassifierNCM} }

// Clone is a deep copy of c.
func (c Config) Clone() Config {
	given := c
	for _, k := range table {
		k.assign(&c, &given)
	}
	if c.Method != nil {
		c.Method = make(map[string]map[string]any, len(given.Method))
		for name, options := range given.Method {
			c.Method[name] = maps.Clone(options)
		}
	}
	return c
}

// Canonical is [Schema.Canonical] without a catalogue: every option that is set has its line, its default too.
func (c Config) Canonical() string { return new(Schema).Canonical(c) }

// Canonical returns a text that is the same for two equal experiments. It has a line for each key, and each option of a
// method, whose value is not the one that a file without it means. So a key that a later program adds does not change
// the text as long as it has that value. Keys that only name places are left out, and so are those of [Engine], because
// an identity names the engine itself. Values with the same meaning have the same text.
func (s *Schema) Canonical(c Config) string {
	var b strings.Builder
	for _, v := range s.Values(c) {
		_, seed := v.sample().(uint64)
		own := seed && v.optional() && v.Text == plain(c.Seed) // a separate seed equal to the run's seed changes nothing
		if v.Place || v.Engine || v.Usual || own {
			continue
		}
		fmt.Fprintf(&b, "%s=%s\n", v.Name, v.Text)
	}
	return b.String()
}

// Value is the value of one key or option in a config, as text.
type Value struct {
	Key
	Text  string // as a flag takes it, "" where it is not set
	Usual bool   // the value is the one that a file without the key means
}

// Values are all that a config says, in the order of files, the options last, those that a record lacks too. What means
// the same has the same text.
func (s *Schema) Values(c Config) []Value {
	d := Default()
	if c = s.settled(c); !c.Stream.Normalises() {
		c.Stream.Mean, c.Stream.Std = nil, nil
	}
	values := make([]Value, 0, len(table))
	for _, k := range table {
		text := k.text(&c)
		values = append(values, Value{k, text, text == k.text(&d)})
	}
	for _, key := range optionKeys(c) {
		k, known := s.find(key)
		if !known {
			k = keyCalled(key)
		}
		v := k.conform(k.value(&c))
		values = append(values, Value{k, plain(v), known && equal(v, k.preset)})
	}
	for _, of := range s.owners() {
		for _, o := range of.options {
			if _, set := c.Method[of.name][o.Name]; !set && s.used(c, of.name) {
				values = append(values, Value{o.key(of.name), plain(o.Default), true})
			}
		}
	}
	return values
}

// Difference says which keys differ between two experiments, such as "optimizer.lr is 0.1 there and 0.05 here"; "" says
// that they are equal. There is the first, here the second. Keys that say where are not compared.
func Difference(there, here Config) string {
	return difference(there, here, func(Key) bool { return true })
}

// Kept is Difference for the keys that a run keeps from its parent.
func Kept(parent, here Config) string {
	return difference(parent, here, func(k Key) bool { return !k.Anew })
}

// difference is Difference for some keys, and for all options of methods.
func difference(there, here Config, compared func(Key) bool) string {
	var parts []string
	keys := slices.Clone(table)
	for _, key := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(optionKeys(there), optionKeys(here))))) {
		keys = append(keys, keyCalled(key))
	}
	for _, k := range keys {
		if a, b := k.text(&there), k.text(&here); a != b && !k.Place && compared(k) {
			parts = append(parts, fmt.Sprintf("%s is %s there and %s here", shown(k.Name), cmp.Or(shown(a), "not set"),
				cmp.Or(shown(b), "not set")))
		}
	}
	return strings.Join(parts, ", ")
}

// optionKeys are the keys of the options that are set, in order.
func optionKeys(c Config) (keys []string) {
	for _, name := range sortedKeys(c.Method) {
		for _, option := range sortedKeys(c.Method[name]) {
			keys = append(keys, optionKey(name, option))
		}
	}
	return keys
}

func optionKey(method, option string) string { return "method." + method + "." + option }

// Text is the value of a key, as a flag takes it; ok is false for an unknown key. A key of an option that is not set is
// unknown.
func (c Config) Text(key string) (text string, ok bool) {
	k := keyCalled(key)
	return k.text(&c), k.index != nil || k.value(&c) != nil
}
