package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Groups of flags in the help of `ocl run`.
const (
	GroupData     = "Input"
	GroupMethod   = "Method"
	GroupTraining = "Training"
)

// Key declares one key of a config: all that is said of it anywhere comes from here.
type Key struct {
	Name string // such as optimizer.lr, or method.mir.candidates for an option of a method
	// how tables and labels call it, and the flag of `ocl run` where there is one; "" is the last part of Name
	Short string
	Group string // of its flag in the help; "" has none, and is set by Name=VALUE alone
	Value string // how the flag's value is called in the help
	Help  string // one line, for help, page and editors
	Unset string // what an empty value, or 0 where Zero says so, stands for; "" has no such value

	Choices     []string // of a text, or of each text of a list; nil is any
	Least, Most float64  // of a number, or of each number of a list; both 0 is no bound
	Above       bool     // Least itself is too little
	Below       bool     // Most itself is too much
	Zero        bool     // 0 stands for Unset, whatever the bounds
	// ZeroInFiles is Zero for files alone: they write 0 where nothing is said, and a person who gives 0 means the number,
	// which is out of range.
	ZeroInFiles bool

	// Later says that older records lack the key. A record in which it is not set, or has its default, is written without
	// it and keeps its bytes.
	Later bool

	Place  bool // it says where, not what: no part of what makes two experiments the same
	Engine bool // it says how the arithmetic is done
	// Measured says that it is about what is measured of a run: nothing that is learned depends on it.
	Measured bool
	Anew     bool // a run with a parent may have another value than the parent; it keeps the others
	// the network or the optimiser of this module that reads it and not every other does, or the method; "" is all
	ReadBy string

	index  []int  // of the field that holds it; nil of an option
	preset any    // of an option, its default; nil where the option is in no catalogue
	values string // of an option, what Wanted says; "" has Wanted say the range
}

// table holds every key that is a field, in the order in which files have them. A new key is a field of that name and
// an entry here.
var table = placed([]Key{
	{Name: "data.name", Anew: true, Short: "data", Group: GroupData, Value: "NAME",
		Help: "data set; `ocl data list` lists them"},
	{Name: "data.dir", Anew: true, Short: "data-dir", Group: GroupData, Value: "PATH", Place: true, Unset: "no files",
		Help: "folder, archive or file of the data set, or the folder that it is in under its published name"},
	{Name: "data.size", Anew: true, Short: "size", Zero: true, Unset: "the data set's own", Most: 100_000,
		Help: "side of the images, for data sets that are drawn, scaled or padded"},
	{Name: "data.channels", Anew: true, Short: "channels", Zero: true, Unset: "the data set's own", Least: 3, Most: 3,
		Help: "3 makes three equal channels of grey images"},
	{Name: "data.train_per_class", Anew: true, Short: "train-per-class", Zero: true, Unset: "the data set's own",
		Most: 100_000_000,
		Help: "training images per class: how many are drawn (glyphs), or a part of the data set for a quick look"},
	{Name: "data.test_per_class", Anew: true, Short: "test-per-class", Zero: true, Unset: "the data set's own",
		Most: 100_000_000,
		Help: "test images per class: how many are drawn (glyphs), or a part of the data set for a quick look"},
	{Name: "data.domains", Anew: true, Short: "domains", Unset: DomainsFont,
		Choices: []string{DomainsFont, DomainsNoise, DomainsRotation},
		Help:    "what differs between the tasks of a stream of domains of glyphs: font, noise or rotation"},
	{Name: "data.seed", Anew: true, Short: "data-seed",
		Help: "seed of what is drawn of the data, the same for all runs: the split into training and test images, or a part of the images"},
	{Name: "data.unreadable", Anew: true, Short: "unreadable", Unset: UnreadableFail,
		Choices: []string{UnreadableFail, UnreadableSkip},
		Help:    "what happens if an image cannot be read: fail (the command ends with an error) or skip (the image is left out, and the result says so)"},
	{Name: "data.reading", Anew: true, Later: true, Unset: "what the files call for",
		Help: "how your own images say which class they show: folders, names (of the files, such as cat.12.jpg), list (a file in the folder) or list:COLUMN; `ocl data info folder --data-dir DIR` says what is read"},
	{Name: "data.backbone", Anew: true, Short: "backbone", Group: GroupData, Value: "FILE", Later: true, Place: true,
		Unset: "none",
		Help:  "pretrained network: methods learn its embeddings in place of the images, and it stays as it is (docs/format/backbone.md)"},
	{Name: "data.backbone_digest", Later: true, Unset: "that of the file",
		Help: "SHA-256 that the file of data.backbone must have, or that embeddings in a file must name, as sha256:…; the program fills it in"},
	{Name: "stream.kind", Anew: true, Short: "stream", Group: GroupData, Value: "KIND",
		Unset: "shift with stream.shift.kind, domains with data.domains, tasks if the data set gives them, otherwise classes",
		Help:  "kind of stream: how its tasks differ; `ocl data streams` lists the kinds"},
	{Name: "stream.tasks", Anew: true, Short: "tasks", Group: GroupData, Value: "T", Zero: true,
		Unset: "by the data set, at most 10", Least: 1, Most: 10_000,
		Help: "number of tasks; the classes (or domains, or images) are divided equally among them"},
	{Name: "stream.batch", Anew: true, Short: "batch", Group: GroupTraining, Value: "B", Least: 1, Most: 100_000,
		Help: "samples in an incoming batch"},
	{Name: "stream.class_order", Anew: true, Short: "class-order",
		Unset: "official if the data set has published orders, otherwise random",
		Help:  "order in which the tasks take the classes or domains: random (from the seed), given (0, 1, …), a list of classes, or official:N (the published order N, from 0)"},
	{Name: "stream.task_classes", Anew: true, Short: "task-classes",
		Unset: "as the data set's own tasks or published order have it, otherwise equally many, or nearly so if stream.tasks is unset too",
		Least: 1, Most: 1_000_000,
		Help: "number of classes of each task, such as 10,5,5"},
	{Name: "stream.task_signals", Anew: true, Short: "task-signals",
		Help: "tell learners where a task begins and ends; false makes a task-free stream"},
	{Name: "stream.blurry", Anew: true, Short: "blurry", Most: 1, Below: true,
		Help: "share of the training images of each task that come in the task before or after it (blurry boundaries)"},
	{Name: "stream.long_tail", Anew: true, Short: "long-tail", ZeroInFiles: true, Unset: "all images", Most: 1,
		Help: "long-tailed classes: training images of the rarest class divided by those of the most frequent one, above 0 and up to 1"},
	{Name: "stream.class_counts", Anew: true, Short: "class-counts", Unset: "all images", Least: 1, Most: 100_000_000,
		Help: "training images of each class, a number for each"},
	{Name: "stream.shift.kind", Anew: true, Short: "shift", Unset: "none",
		Help: "disturbance of the images, stronger in each task: noise, occlusion, blur, or several, such as blur+noise"},
	{Name: "stream.shift.noise_strengths", Anew: true, Short: "noise-strengths", Unset: "the survey's", Most: 100,
		Help: "strength of the noise in each task, in tenths of the range of a pixel"},
	{Name: "stream.shift.occlusion_strengths", Anew: true, Short: "occlusion-strengths", Unset: "the survey's", Most: 1,
		Help: "side of the white square in each task, as a share of the image's side"},
	{Name: "stream.shift.blur_strengths", Anew: true, Short: "blur-strengths", Unset: "the survey's", Most: 100,
		Help: "standard deviation of the blur in each task, in pixels"},
	{Name: "stream.shift.occlusion", Anew: true, Short: "occlusion", Unset: OcclusionPerTask,
		Choices: []string{OcclusionPerTask, OcclusionPerImage},
		Help:    "place of the square: per-task (one for the training images of a task, one for its test images) or per-image"},
	{Name: "stream.shift.blur", Anew: true, Short: "blur", Unset: BlurPerImage,
		Choices: []string{BlurPerImage, BlurCrossImage},
		Help:    "per-image, or cross-image (also across neighbouring images, as in the survey's published results)"},
	{Name: "stream.iblurry.disjoint", Anew: true, Short: "disjoint", Later: true, Most: 100,
		Help: "of the kinds iblurry and siblurry: per cent of the classes that belong to one task (N of i-Blurry-N-M)"},
	{Name: "stream.iblurry.blurry", Anew: true, Short: "iblurry", Later: true, Most: 100,
		Help: "of the kinds iblurry and siblurry: per cent of the images of the other classes that come in any task (M of i-Blurry-N-M)"},
	{Name: "stream.delay", Anew: true, Short: "delay", Later: true, Least: 1, Most: 1_000_000,
		Help: "learn one of so many batches and lose the others, as a learner that is too slow for the stream"},
	{Name: "stream.label_delay", Anew: true, Short: "label-delay", Later: true, Most: 1_000_000,
		Help: "the labels of a batch come so many batches later; those of the last batches never come"},
	{Name: "stream.held_out", Anew: true, Short: "held-out",
		Unset: "true for the protocol tuning if all tasks share one test set, otherwise false",
		Help:  "test on a tenth of the training images of each task instead of on the test images; this tenth is not learned"},
	{Name: "stream.drop_last", Anew: true, Short: "drop-last",
		Unset: "depends on the protocol: false for standard, otherwise true",
		Help:  "skip the last batch of a task if it is not full"},
	{Name: "stream.mean", Unset: "0 for each channel", Least: -math.MaxFloat64, Most: math.MaxFloat64,
		Help: "mean of each channel, for normalisation: (pixel − mean) / std, with pixels in [0,1]"},
	{Name: "stream.std", Unset: "1 for each channel", Above: true, Most: math.MaxFloat64,
		Help: "standard deviation of each channel, for normalisation"},
	{Name: "methods", Short: "method", Group: GroupMethod, Value: "NAME,...",
		Help: "methods to run, all with the same seeds and streams; `ocl methods` lists them"},
	{Name: "tricks", Short: "trick", Group: GroupMethod, Value: "NAME,...",
		Help: "tricks; each entry is one more run of every method, and + combines tricks, as in none,ncm,lb+rv; `ocl methods --tricks` lists them"},
	{Name: "memory", Short: "memory", Group: GroupMethod, Value: "M", Most: 100_000_000,
		Help: "size of the memory in samples; methods without memory ignore it"},
	{Name: "memory_bytes", Later: true, Zero: true, Unset: "what memory takes", Least: 1, Most: 1 << 40,
		Help: "instead of memory, the bytes of all stored samples and of all copies of the network that a method keeps beside it; the size of the memory follows, method by method"},
	{Name: "classifiers", Anew: true, Measured: true, Short: "classifiers", Group: GroupMethod, Value: "NAME,...",
		Choices: Classifiers(),
		Help:    "classifiers to evaluate: head (the method's own rule) and ncm (nearest class mean of the memory); the first one gives the accuracy of the run"},
	{Name: "replay.batch", Short: "replay-batch", Least: 1, Most: 100_000,
		Help: "samples replayed with each incoming batch, and in each step of a review"},
	{Name: "replay.iterations", Short: "iterations", Least: 1, Most: 10_000,
		Help: "training steps on each incoming batch"},
	{Name: "replay.passes", Later: true, Zero: true, Unset: "what replay.iterations takes", Least: 1, Most: 1_000_000,
		Help: "instead of replay.iterations, the passes of rows for each incoming sample (1 forward, 2 backward; er makes 6): the iterations are the most that need no more, method by method"},
	{Name: "replay.joint", Short: "joint",
		Help: "train on incoming and replayed samples in one pass instead of two"},
	{Name: "replay.augment", Short: "replay-augment",
		Help: "crop and flip images at random each time they are used, incoming and replayed ones; the memory stores them unchanged"},
	{Name: "replay.teacher", Short: "teacher", Unset: "training for the methods and tricks of today",
		Choices: []string{TeacherEvaluation, TeacherTraining},
		Help:    "batch norm statistics of a teacher: evaluation (the running statistics) or training (those of the current batch)"},
	{Name: "replay.kdc_star", Short: "kdc-star", Choices: []string{KDCStarText, KDCStarAuthors},
		Help: "form of the trick kdc*: text (with a teacher, as in the survey's text) or authors (without one, as in its authors' code)"},
	{Name: "replay.update", Short: "replay-update", Later: true,
		Choices: []string{UpdateReservoir, UpdateBalanced, UpdateGreedy},
		Help:    "which samples the memory keeps: reservoir (each with the same probability), balanced (by class, class-balancing reservoir sampling) or greedy (each new one, in place of one of a largest class)"},
	{Name: "replay.from", Short: "replay-from", Later: true, Choices: []string{FromBoth, FromMemory},
		Help: "what each step learns from: both (incoming and stored samples) or memory (as many samples, all of them stored ones)"},
	{Name: "replay.latent", Short: "latent", Later: true,
		Help: "store the activations of the frozen stages (network.freeze) in place of images, and learn from them"},
	{Name: "replay.latent_bits", Short: "latent-bits", Later: true, Least: LatentCodes, Most: LatentFloats,
		Help: "bits of a stored activation: 16 (half precision) or 8 (codes of equal steps)"},
	{Name: "network.name", Short: "network", Group: GroupTraining, Value: "NAME",
		Help: "network that learns"},
	{Name: "network.width", Short: "width", Least: 1, Most: 4_096, ReadBy: "resnet18",
		Help: "feature maps in the first stage of resnet18"},
	{Name: "network.hidden", Short: "hidden", Least: 1, Most: 1_000_000, ReadBy: "mlp",
		Help: "units in each hidden layer of mlp"},
	{Name: "network.head", Short: "head", Later: true, Unset: "linear, unless the method has a head of its own",
		Choices: []string{HeadLinear, HeadCosine},
		Help:    "how features become logits: linear (weights and biases) or cosine (cosines of features and weights, times a learned number, as in LUCIR)"},
	{Name: "network.freeze", Short: "freeze", Group: GroupTraining, Value: "DEPTH", Later: true, Zero: true, Unset: "none",
		Least: 1, Most: 1_000,
		Help: "how many of the first stages of the network do not learn; docs/networks.md lists the stages"},
	{Name: "network.init", Short: "init", Place: true, Unset: "drawn weights",
		Help: "safetensors file with the weights that the network starts with, from `ocl export` or PyTorch"},
	{Name: "network.init_digest", Anew: true, Unset: "that of the file",
		Help: "SHA-256 that the file of network.init must have, as sha256:…; the program fills it in"},
	{Name: "optimizer.name", Short: "optimizer", Choices: []string{"sgd", "adam"},
		Help: "sgd or adam"},
	{Name: "optimizer.lr", Anew: true, Short: "lr", Group: GroupTraining, Value: "RATE", Above: true,
		Most: math.MaxFloat64,
		Help: "learning rate"},
	{Name: "optimizer.weight_decay", Anew: true, Short: "weight-decay", Most: math.MaxFloat64,
		Help: "weight decay"},
	{Name: "optimizer.momentum", Short: "momentum", Most: 1, Below: true, ReadBy: "sgd",
		Help: "momentum, for sgd"},
	{Name: "protocol", Anew: true, Short: "protocol", Group: GroupData, Value: "NAME",
		Choices: []string{ProtocolStandard, ProtocolSurvey, ProtocolTuning},
		Help:    "tasks to learn: standard (all), survey (all but the first two, which are for tuning) or tuning (only the first two)"},
	{Name: "eval", Anew: true, Measured: true, Short: "eval", Group: GroupData, Value: "WHAT",
		Unset:   "depends on the scenario: seen if tasks bring new classes, otherwise all",
		Choices: []string{EvalSeen, EvalAll, EvalFinal},
		Help:    "test sets to evaluate after each task: seen, all, or final (all, after the last task only)"},
	{Name: "eval_every", Anew: true, Measured: true, Short: "eval-every", Zero: true, Unset: "never", Least: 1,
		Most: 1_000_000_000,
		Help: "also evaluate after every N steps, on the tasks seen so far; this does not change the training"},
	{Name: "eval_sample", Anew: true, Measured: true, Short: "eval-sample", Later: true, Zero: true, Unset: "all", Least: 1,
		Most: 1_000_000,
		Help: "test images of each class in the evaluations of eval_every, the first of the data set"},
	{Name: "eval_online", Anew: true, Measured: true, Short: "eval-online", Later: true,
		Help: "predict each incoming batch just before it is learned (online accuracy): a pass for each image, and what the method prepares for each prediction"},
	{Name: "eval_ahead", Anew: true, Measured: true, Short: "eval-ahead", Later: true, Zero: true, Unset: "no batch",
		Least: 1, Most: 1_000_000_000,
		Help: "predict the batch that comes so many steps after the next one (near-future accuracy), at the cost of eval_online"},
	{Name: "eval_probe", Anew: true, Measured: true, Short: "eval-probe", Later: true, Zero: true, Unset: "no probe",
		Least: 1, Most: 1_000_000,
		Help: "fit a logistic regression to the features of so many training images of each class, the first that came, after the last task (probed accuracy): a pass for each, and seconds to minutes for the fit"},
	{Name: "seed", Short: "seed", Group: GroupTraining, Value: "S",
		Help: "seed of the first run; every random choice comes from it"},
	{Name: "seeds.order", Anew: true, Unset: "the run's seed", Help: "separate seed for the order of classes and samples"},
	{Name: "seeds.init", Unset: "the run's seed", Help: "separate seed for the initial parameters of networks"},
	{Name: "seeds.memory", Unset: "the run's seed",
		Help: "separate seed for what is stored, what is replayed and how images are augmented"},
	{Name: "runs", Short: "runs", Group: GroupTraining, Value: "N", Least: 1, Most: 10_000,
		Help: "runs of each method, with the seeds S, S+1, …"},
	{Name: "engine.kernel", Anew: true, Short: "kernel", Engine: true, Unset: "the fastest on this machine",
		Choices: []string{"avx512", "avx2", "neon", "generic"},
		Help:    "kernel set (instructions of the processor): avx512, avx2, neon (arm64, with the bits of avx2: one runs where the other is named) or generic (plain Go); OCL_KERNEL overrides it"},
	{Name: "engine.convolution", Anew: true, Short: "convolution", Engine: true, Unset: "the faster one for each layer",
		Choices: []string{"table", "direct", "winograd"},
		Help:    "algorithm of 3×3 convolutions: direct, winograd or table (the faster one for each layer); OCL_CONV overrides it"},
	{Name: "parent.run", Anew: true, Place: true, Unset: "no parent",
		Help: "folder of the run whose learner is continued; `ocl learn` sets it"},
	{Name: "parent.checkpoint", Anew: true, Unset: "the newest of the parent",
		Help: "SHA-256 of the parent's checkpoint, as sha256:…, so that no other one is continued"},
	{Name: "tune.grid", Short: "tune", Group: GroupTraining, Value: "GRID", Unset: "no tuning",
		Help: "choose the settings of each run on the first two tasks, with --protocol survey: paper (the survey's grid), authors (its authors' files) or a YAML file of keys and values"},
	{Name: "tune.by", Later: true, Unset: MetricDefault, Choices: Metrics(),
		Help: "metric of result.json by which a point is chosen, of the two tasks; trials then measure what eval and eval_… say"},
	{Name: "tune.search", Unset: SearchGrid, Choices: []string{SearchGrid, SearchRandom, SearchHalving},
		Help: "points that are tried: grid (all), random (tune.points of them, drawn within the bounds) or halving (all with few images, then twice the best third with more)"},
	{Name: "tune.points", Zero: true, Unset: "none", Least: 1, Most: 10_000,
		Help: "with tune.search random, how many points are drawn"},
	{Name: "tune.repeats", Zero: true, Unset: "3, but 1 for core50, disturbed images and offline", Least: 1, Most: 1000,
		Help: "trials of each point, each with another network at the start"},
	{Name: "tune.seed", Unset: "the run's seed",
		Help: "tune each method with its tricks once, with this seed, and use the choice for all its runs"},
})

func placed(keys []Key) []Key {
	for i := range keys {
		keys[i].index = fieldOf(keys[i].Name)
	}
	return keys
}

// Keys lists the keys in the order in which files have them: results that differ in any of them are of different
// experiments.
func Keys() []Key { return slices.Clone(table) }

// find finds a key.
func find(name string) (Key, bool) {
	i := slices.IndexFunc(table, func(k Key) bool { return k.Name == name })
	if i < 0 {
		return Key{}, false
	}
	return table[i], true
}

// keyCalled is the key of that name; another name is that of an option.
func keyCalled(name string) Key {
	if k, ok := find(name); ok {
		return k
	}
	return Key{Name: name}
}

// Flag is the flag of `ocl run` that sets the key, without its hyphens; "" is none.
func (k Key) Flag() string {
	if k.Group == "" {
		return ""
	}
	return k.Short
}

// Argument returns the argument of a command line that sets a key: "--lr 0.1" or "network.width=8".
func Argument(key, value string) string {
	if k, _ := find(key); k.Flag() != "" {
		return "--" + k.Flag() + " " + value
	}
	return key + "=" + value
}

// Default is the default value as a flag takes it.
func (k Key) Default() string {
	if k.index == nil {
		return plain(k.preset)
	}
	d := Default()
	return k.text(&d)
}

// List says that the key holds a list: values of a flag given twice are joined.
func (k Key) List() bool { return reflect.ValueOf(k.sample()).Kind() == reflect.Slice }

// wanted is the range in words.
func (k Key) wanted() string {
	if k.values != "" {
		return k.values
	}
	text := typeInWords(k.sample())
	if len(k.Choices) > 0 {
		text = "one of " + strings.Join(k.Choices, ", ")
		if k.List() {
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
	case k.ZeroInFiles:
		text += fmt.Sprintf(" above %s and up to %s", low, high)
	case k.Least == k.Most:
		text = low
	default:
		text += fmt.Sprintf(" from %s to %s", low, high)
	}
	if k.Zero && k.Least > 0 {
		text += ", or 0"
	}
	return text
}

// network is the network of this module that reads the key and not every other does; "" where they all do, or it is
// about something else.
func (k Key) network() string {
	if !isNetworkKey(k.Name) {
		return ""
	}
	return k.ReadBy
}

func (k Key) bounded() bool { return k.Least != 0 || k.Most != 0 }

// zero says whether a file may have 0 for Unset.
func (k Key) zero() bool { return k.Zero || k.ZeroInFiles }

// holds says whether a number is in range.
func (k Key) holds(v float64) bool {
	switch {
	case k.zero() && v == 0:
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

// Truth says that the key is true or false.
func (k Key) Truth() bool {
	_, is := k.sample().(bool)
	return is
}
