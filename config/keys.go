package config

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Groups of flags in the help of `ocl run`.
const (
	GroupData     = "Data"
	GroupMethod   = "Method"
	GroupTraining = "Training"
)

// Key declares one key of a config: all that is said of it anywhere comes from here.
type Key struct {
	Name  string // such as optimizer.lr
	Flag  string // of `ocl run`, without its hyphens; "" has none, and --set serves
	Group string // of the flag in the help
	Value string // how the flag's value is called there; "" is a switch
	Help  string // one line, for help, page and editors
	Unset string // what an empty value, or 0 where Zero says so, stands for; "" has no such value

	Choices     []string // of a text, or of each text of a list; nil is any
	Least, Most float64  // of a number, or of each number of a list; both 0 is no bound
	Above       bool     // Least itself is too little
	Below       bool     // Most itself is too much
	Zero        bool     // 0 stands for Unset, whatever the bounds

	Place  bool // it says where, not what: no part of what makes two experiments the same
	Engine bool // it says how the arithmetic is done
	ReadBy string
	// Historic is the value of files that were written before the key was; nil is the default.
	Historic any
	// Retired says what to do instead of a key that is no more; "" is in use. Files that a program wrote may have it, flags and people's
	// files may not, and no run has another value than the zero one.
	Retired string
	Instead string // the key that took its place

	field func(*Config) any // a pointer to where it is kept
}

// table holds every key that is a field, in the order in which files have them. A new key is a field and an entry here.
var table = []Key{
	{Name: "data.name", Flag: "data", Group: GroupData, Value: "NAME", Help: "data set; `ocl data list` shows them",
		field: func(c *Config) any { return &c.Data.Name }},
	{Name: "data.dir", Flag: "data-dir", Group: GroupData, Value: "PATH", Place: true, Unset: "no files",
		Help:  "the data set's folder, archive or file, or a folder that holds it under its published name",
		field: func(c *Config) any { return &c.Data.Dir }},
	{Name: "data.size", Flag: "size", Group: GroupData, Value: "PIXELS", Zero: true, Unset: "the data set's own", Most: 100_000,
		Help: "side of drawn images", ReadBy: "data sets that the program draws", field: func(c *Config) any { return &c.Data.Size }},
	{Name: "data.train_per_class", Flag: "train-per-class", Group: GroupData, Value: "N", Zero: true, Unset: "the data set's own", Most: 100_000_000,
		Help: "drawn training images a class", ReadBy: "data sets that the program draws", field: func(c *Config) any { return &c.Data.TrainPerClass }},
	{Name: "data.test_per_class", Flag: "test-per-class", Group: GroupData, Value: "N", Zero: true, Unset: "the data set's own", Most: 100_000_000,
		Help: "drawn test images a class", ReadBy: "data sets that the program draws", field: func(c *Config) any { return &c.Data.TestPerClass }},
	{Name: "stream.kind", Flag: "stream", Group: GroupData, Value: "KIND", Help: "how tasks differ; `ocl data streams` shows the kinds",
		field: func(c *Config) any { return &c.Stream.Kind }},
	{Name: "stream.tasks", Flag: "tasks", Group: GroupData, Value: "T", Least: 1, Most: 10_000,
		Help: "tasks of the stream; they share the classes, or the domains, equally", field: func(c *Config) any { return &c.Stream.Tasks }},
	{Name: "stream.batch", Flag: "batch", Group: GroupTraining, Value: "B", Least: 1, Most: 100_000,
		Help: "samples in an incoming batch", field: func(c *Config) any { return &c.Stream.Batch }},
	{Name: "stream.class_order", Flag: "class-order", Group: GroupData, Value: "ORDER",
		Help: "order in which tasks take the classes; random is drawn from the seed, given is 0, 1, …", field: func(c *Config) any { return &c.Stream.ClassOrder }},
	{Name: "stream.drop_last", Flag: "drop-last", Group: GroupData, Unset: "by protocol: false under standard, else true",
		Help: "leave out a task's last batch when it is not full", field: func(c *Config) any { return &c.Stream.DropLast }},
	{Name: "stream.augment", Flag: "augment",
		Instead: "replay.augment", Retired: "Use replay.augment (--replay-augment): memory holds images as they came, and each draw is cropped and flipped anew",
		field: func(c *Config) any { return &c.Stream.Augment }},
	{Name: "stream.mean", Unset: "0", Least: -math.MaxFloat64, Most: math.MaxFloat64,
		Help: "normalise, (pixel − mean) / std: a value a channel, pixels in [0,1]", field: func(c *Config) any { return &c.Stream.Mean }},
	{Name: "stream.std", Unset: "1", Above: true, Most: math.MaxFloat64,
		Help: "normalise, (pixel − mean) / std: a value a channel", field: func(c *Config) any { return &c.Stream.Std }},
	{Name: "methods", Flag: "method", Group: GroupMethod, Value: "NAME,...",
		Help: "methods, all with the same seeds and streams; `ocl methods` shows them", field: func(c *Config) any { return &c.Methods }},
	{Name: "tricks", Flag: "trick", Group: GroupMethod, Value: "NAME,...",
		Help:  "tricks of each method, a run for each; + combines, as in none,ncm,lb+rv; `ocl methods --tricks` shows them",
		field: func(c *Config) any { return &c.Tricks }},
	{Name: "memory", Flag: "memory", Group: GroupMethod, Value: "M", Most: 100_000_000,
		Help: "samples in memory; of several methods, those without memory have none", field: func(c *Config) any { return &c.Memory }},
	{Name: "classifiers", Flag: "classifiers", Group: GroupMethod, Value: "NAME,...", Choices: Classifiers(),
		Help:  "what predicts, evaluated side by side: head (the method's own rule), ncm (nearest class mean of the memory); the first one is the run's accuracy",
		field: func(c *Config) any { return &c.Classifiers }},
	{Name: "replay.batch", Flag: "replay-batch", Group: GroupMethod, Value: "N", Least: 1, Most: 100_000,
		Help: "samples replayed beside each incoming batch, and in each step of a review", field: func(c *Config) any { return &c.Replay.Batch }},
	{Name: "replay.iterations", Flag: "iterations", Group: GroupMethod, Value: "N", Least: 1, Most: 10_000,
		Help: "steps on each incoming batch", field: func(c *Config) any { return &c.Replay.Iterations }},
	{Name: "replay.joint", Flag: "joint", Group: GroupMethod,
		Help: "one pass over incoming and replayed samples together instead of two", field: func(c *Config) any { return &c.Replay.Joint }},
	{Name: "replay.augment", Flag: "replay-augment", Group: GroupMethod,
		Help:  "crop and flip images anew at each draw, incoming and replayed ones; memory holds them as they came",
		field: func(c *Config) any { return &c.Replay.Augment }},
	{Name: "replay.teacher", Flag: "teacher", Group: GroupMethod, Value: "MODE", Unset: "by method",
		Choices: []string{TeacherEvaluation, TeacherTraining}, Historic: TeacherEvaluation,
		Help:  "statistics that a teacher's batch norm goes by: evaluation (the running ones) or training (those of the images it is shown)",
		field: func(c *Config) any { return &c.Replay.Teacher }},
	{Name: "replay.kdc_star", Flag: "kdc-star", Group: GroupMethod, Value: "WHOSE", Choices: []string{KDCStarText, KDCStarAuthors},
		Help:  "the trick kdc* as the survey's text has it (with a teacher) or as its authors' code has it (without one)",
		field: func(c *Config) any { return &c.Replay.KDCStar }},
	{Name: "network.name", Flag: "network", Group: GroupTraining, Value: "NAME", Choices: []string{"resnet18", "mlp"},
		Help: "resnet18 (reduced) or mlp", field: func(c *Config) any { return &c.Network.Name }},
	{Name: "network.width", Flag: "width", Group: GroupTraining, Value: "NF", Least: 1, Most: 4_096, ReadBy: "resnet18",
		Help: "maps of the first stage of resnet18", field: func(c *Config) any { return &c.Network.Width }},
	{Name: "network.hidden", Flag: "hidden", Group: GroupTraining, Value: "N,...", Least: 1, Most: 1_000_000, ReadBy: "mlp",
		Help: "units of the hidden layers of mlp", field: func(c *Config) any { return &c.Network.Hidden }},
	{Name: "optimizer.name", Flag: "optimizer", Group: GroupTraining, Value: "NAME", Choices: []string{"sgd", "adam"},
		Help: "sgd or adam", field: func(c *Config) any { return &c.Optimizer.Name }},
	{Name: "optimizer.lr", Flag: "lr", Group: GroupTraining, Value: "RATE", Above: true, Most: math.MaxFloat64,
		Help: "learning rate", field: func(c *Config) any { return &c.Optimizer.LR }},
	{Name: "optimizer.weight_decay", Flag: "weight-decay", Group: GroupTraining, Value: "RATE", Most: math.MaxFloat64,
		Help: "weight decay", field: func(c *Config) any { return &c.Optimizer.WeightDecay }},
	{Name: "optimizer.momentum", Flag: "momentum", Group: GroupTraining, Value: "SHARE", Most: 1, Below: true, ReadBy: "sgd",
		Help: "momentum of sgd", field: func(c *Config) any { return &c.Optimizer.Momentum }},
	{Name: "protocol", Flag: "protocol", Group: GroupData, Value: "NAME", Choices: []string{ProtocolStandard, ProtocolSurvey, ProtocolTuning},
		Help:  "standard (all tasks), survey (leaves the first two to tuning) or tuning (those two alone)",
		field: func(c *Config) any { return &c.Protocol }},
	{Name: "eval", Flag: "eval", Group: GroupData, Value: "WHAT", Unset: "by scenario: seen where tasks bring new classes, else all",
		Choices: []string{EvalSeen, EvalAll, EvalFinal},
		Help:    "test sets after each task: seen, all, or final (after the last task only)", field: func(c *Config) any { return &c.Eval }},
	{Name: "eval_every", Flag: "eval-every", Group: GroupData, Value: "N", Zero: true, Unset: "never", Least: 1, Most: 1_000_000_000,
		Help: "also evaluate after every N steps, on the tasks seen; no bit of the training depends on it", field: func(c *Config) any { return &c.EvalEvery }},
	{Name: "seed", Flag: "seed", Group: GroupTraining, Value: "S", Help: "seed of the first run; every random choice comes from it",
		field: func(c *Config) any { return &c.Seed }},
	{Name: "seeds.order", Unset: "the run's seed", Help: "a seed of its own for the order of classes and samples",
		field: func(c *Config) any { return &c.Seeds.Order }},
	{Name: "seeds.init", Unset: "the run's seed", Help: "a seed of its own for the initial parameters of networks",
		field: func(c *Config) any { return &c.Seeds.Init }},
	{Name: "seeds.memory", Unset: "the run's seed", Help: "a seed of its own for what is stored, what is replayed and how images are augmented",
		field: func(c *Config) any { return &c.Seeds.Memory }},
	{Name: "runs", Flag: "runs", Group: GroupTraining, Value: "N", Least: 1, Most: 10_000, Help: "runs of each method, with the seeds S, S+1, …",
		field: func(c *Config) any { return &c.Runs }},
	{Name: "engine.kernel", Flag: "kernel", Group: GroupTraining, Value: "SET", Engine: true, Unset: "the fastest of the machine",
		Choices: []string{"avx512", "avx2", "generic"}, Help: "kernel set; OCL_KERNEL overrides it", field: func(c *Config) any { return &c.Engine.Kernel }},
	{Name: "engine.convolution", Flag: "convolution", Group: GroupTraining, Value: "NAME", Engine: true, Unset: "the faster one of each layer",
		Choices: []string{"table", "direct", "winograd"}, Help: "algorithm of 3×3 convolutions; OCL_CONV overrides it",
		field: func(c *Config) any { return &c.Engine.Convolution }},
}

// AllKeys lists the keys of this program and of earlier ones, in the order in which files have them: results that differ in any of
// them are of different experiments.
func AllKeys() []Key { return slices.Clone(table) }

// Keys is AllKeys without those that are retired.
func Keys() []Key {
	return slices.DeleteFunc(slices.Clone(table), func(k Key) bool { return k.Retired != "" })
}

// RetiredFlag says what to do instead of a flag that there was in an earlier program; "" is no such flag.
func RetiredFlag(name string) string {
	for _, k := range table {
		if k.Retired != "" && k.Flag == name {
			return k.Retired
		}
	}
	return ""
}

// find finds a key, retired or not.
func find(name string) (Key, bool) {
	i := slices.IndexFunc(table, func(k Key) bool { return k.Name == name })
	if i < 0 {
		return Key{}, false
	}
	return table[i], true
}

// Historic is what a file means that has no keys at all and was written by the first program: the default but for the keys
// that have changed since.
func Historic() Config {
	c := Default()
	for _, k := range table {
		if k.Historic != nil {
			k.restore(&c)
		}
	}
	return c
}

// restore sets the key to the value of files that lack it.
func (k Key) restore(c *Config) {
	if k.Historic != nil {
		*k.field(c).(*string) = k.Historic.(string) // the only kind so far; another one panics in every test
		return
	}
	d := Default()
	k.assign(c, &d)
}

// Default is the default value as a flag takes it.
func (k Key) Default() string {
	d := Default()
	return k.text(&d)
}

// List says that the key holds a list: values of a flag given twice are joined.
func (k Key) List() bool {
	switch k.kind() {
	case kindTexts, kindWholes, kindNumbers:
		return true
	}
	return false
}

// Wanted is the range in words.
func (k Key) Wanted() string {
	text := k.kind().words()
	if len(k.Choices) > 0 {
		text = "one of " + strings.Join(k.Choices, ", ")
		if k.kind() == kindTexts {
			text = "a list of " + strings.Join(k.Choices, ", ")
		}
	}
	if !k.bounded() {
		return text
	}
	low, high := number(k.Least), number(k.Most)
	switch {
	case k.Most == math.MaxFloat64 && k.Least == -math.MaxFloat64:
	case k.Most == math.MaxFloat64 && k.Above:
		text += " above " + low
	case k.Most == math.MaxFloat64:
		text += ", at least " + low
	case k.Below:
		text += fmt.Sprintf(", at least %s and below %s", low, high)
	default:
		text += fmt.Sprintf(" from %s to %s", low, high)
	}
	if k.Zero && k.Least > 0 {
		text += ", or 0"
	}
	return text
}

// network is the one network that reads the key; "" where they all do, or it is about something else.
func (k Key) network() string {
	if k.ReadBy == "" {
		return ""
	}
	if names, _ := find("network.name"); slices.Contains(names.Choices, k.ReadBy) {
		return k.ReadBy
	}
	return ""
}

func (k Key) bounded() bool { return k.Least != 0 || k.Most != 0 }

// holds says whether a number is in range.
func (k Key) holds(v float64) bool {
	switch {
	case k.Zero && v == 0:
		return true
	case math.IsNaN(v) || math.IsInf(v, 0):
		return false
	case !k.bounded():
		return true
	case k.Above && !(v > k.Least), !(v >= k.Least), k.Below && !(v < k.Most), !(v <= k.Most):
		return false
	}
	return true
}
