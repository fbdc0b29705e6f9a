package paper

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"ocl/config"
	"ocl/learn/method"
	"ocl/run/experiment"
	"ocl/run/identity"
	"ocl/survey"
)

// Benchmark is a column of the survey's tables: a data set and how it becomes a stream.
type Benchmark struct {
	Name  string // as the survey heads the column, such as [survey.CIFAR100]
	Data  string // of the catalogue of data sets
	Kind  string // of stream
	Tasks int    // of the whole stream, before a protocol cuts it
	Order string // of the classes or domains
	Shift string // how tasks disturb their images; "" is not at all
	Blur  string // how shift blur blurs; "" is image by image
	Runs  int    // as many as the survey made; where it does not say, a guess (docs/deviations.md)
}

// DomainIncremental says whether all tasks have the same classes.
func (b Benchmark) DomainIncremental() bool { return b.Kind != config.KindClasses }

// benchmarks are the columns of the survey's tables, in their order. The published rows of blur have a filter that goes
// across the images of a task (docs/deviations.md).
var benchmarks = []Benchmark{
	{survey.CIFAR100, "cifar100", config.KindClasses, 20, config.OrderRandom, "", "", 15},
	{survey.MiniImageNet, "mini-imagenet", config.KindClasses, 20, config.OrderRandom, "", "", 15},
	{survey.CORe50NC, "core50", config.KindClasses, 9, config.OrderOfficial, "", "", 10},
	{survey.Noise, "mini-imagenet", config.KindShift, 10, config.OrderRandom, "noise", "", 10},
	{survey.Occlusion, "mini-imagenet", config.KindShift, 10, config.OrderRandom, "occlusion", "", 10},
	{survey.Blur, "mini-imagenet", config.KindShift, 10, config.OrderRandom, "blur", config.BlurCrossImage, 10},
	{survey.CORe50NI, "core50", config.KindDomains, 8, config.OrderOfficial, "", "", 10},
}

// Benchmarks are the columns of the survey's tables, in their order.
func Benchmarks() []Benchmark { return slices.Clone(benchmarks) }

// benchmark is that of a name; it panics for a name that is none of the survey's.
func benchmark(name string) Benchmark {
	i := slices.IndexFunc(benchmarks, func(b Benchmark) bool { return b.Name == name })
	if i < 0 {
		panic("paper: the survey has no benchmark " + name)
	}
	return benchmarks[i]
}

// MethodName is the name in the catalogue of a method as the survey's tables call it; "" is a method that ocl does not
// have.
func MethodName(row string) string {
	if row == "EWC" { // so table:ni calls EWC++
		row = "EWC++"
	}
	return methodNames()[row]
}

// methodNames are the names in the catalogue by those in the survey's tables.
var methodNames = sync.OnceValue(func() map[string]string {
	names := map[string]string{}
	for _, i := range method.Catalogue() {
		names[strings.TrimSuffix(i.Title, "-Greedy")] = i.Name
	}
	return names
})

// Spec says which runs a cell is made of. Runs count that differ only in their seed, in what else they evaluate, and in
// the engine that computed them.
type Spec struct {
	Benchmark  string // the name of a [Benchmark]
	Protocol   string
	Method     string // of the catalogue
	Tricks     string // as a config has them, but for ncm, which is a classifier: "lb+rv"; "" means none
	Classifier string // whose predictions count: config.ClassifierHead is the method's own rule
	Memory     int    // samples; 0 for a method without memory
}

// cellOf is what runs of one cell share, and the settings that are tuned, as texts. Two runs of one key and the same
// settings differ at most in their seeds.
func cellOf(id identity.Identity) (key identity.Part, settings string) {
	info, err := method.Lookup(id.Config.Methods[0])
	if err != nil {
		return nil, ""
	}
	if id.Tuning != nil { // each run may have values of its own
		settings = tunedText + ": " + id.Tuned().Words()
	} else {
		var texts []string
		for _, name := range tunedKeys(info) {
			if text, ok := id.Config.Text(name); ok {
				texts = append(texts, name+"="+text)
			}
		}
		settings = strings.Join(texts, " ")
	}
	return id.Row().Without(append(id.Tuned().Keys(), tunedKeys(info)...)...), settings
}

// keysOf are the key and the settings of the runs of a spec with the settings that were chosen.
func keysOf(s Spec) (key, settings string) {
	keysMutex.Lock()
	defer keysMutex.Unlock()
	k, known := keysBySpec[s]
	if !known {
		key, settings := cellOf(s.identity())
		k.key, k.settings = key.String(), settings
		keysBySpec[s] = k
	}
	return k.key, k.settings
}

// keysBySpec remembers what keysOf has found: a page asks for each some hundred times.
var (
	keysMutex  sync.Mutex
	keysBySpec = map[Spec]struct{ key, settings string }{}
)

// withoutNCM is the text of tricks without the one that is a classifier.
func withoutNCM(text string) string {
	names := slices.DeleteFunc(strings.Split(text, "+"),
		func(t string) bool { return t == config.ClassifierNCM || t == config.NoTrick })
	return strings.Join(names, "+")
}

// tunedKeys are the keys of the config that the survey tuned for a method.
func tunedKeys(info method.Info) []string {
	keys := []string{"optimizer.lr", "optimizer.weight_decay"}
	for _, axis := range info.Paper {
		if !slices.Contains(keys, axis.Key) {
			keys = append(keys, axis.Key)
		}
	}
	return keys
}

// identity is that of a run of the cell, of the first seed.
func (s Spec) identity() identity.Identity { return identity.New(experiment.Schema(), s.Config(1)) }

// Config is the config of a run of the cell, with the settings that were chosen on CIFAR-100 ([chosen]) and the
// defaults of docs/deviations.md for all else.
func (s Spec) Config(seed uint64) config.Config {
	b := benchmark(s.Benchmark)
	c := config.Default()
	c.Data.Name, c.Protocol, c.Memory, c.Seed = b.Data, s.Protocol, s.Memory, seed
	c.Stream.Kind, c.Stream.Tasks, c.Stream.ClassOrder.Name, c.Stream.Shift.Kind, c.Stream.Shift.Blur = b.Kind, b.Tasks,
		b.Order, b.Shift, b.Blur
	held := false
	c.Stream.HeldOut = &held
	c.Methods, c.Eval = []string{s.Method}, config.EvalFinal
	if s.Tricks != "" {
		c.Tricks = []string{s.Tricks}
	}
	if s.Classifier != config.ClassifierHead {
		c.Classifiers = append(c.Classifiers, s.Classifier)
	}
	if set, ok := settingOf(s.Method, b.Data); ok {
		c.Optimizer.LR, c.Optimizer.WeightDecay = set.lr, set.weightDecay
		if set.option != "" {
			c.Method = map[string]map[string]any{s.Method: {set.option: set.value}}
		}
	}
	return experiment.Schema().Runs(c)[0]
}

//go:embed settings.csv
var settingsFile string

// setting is what was chosen for a method where the survey has a grid.
type setting struct {
	data            string // set that it is of alone; "" is all
	lr, weightDecay float64
	option          string // of the method; "" means none
	value           float64
}

// settingOf is what was chosen for a method on a data set; ok is false if nothing was.
func settingOf(method, data string) (s setting, ok bool) {
	s, ok = chosen()[method]
	return s, ok && (s.data == "" || s.data == data)
}

// chosen are the settings of the methods that ocl's runs of the tables have: those with the best score on the first two
// tasks of CIFAR-100, with a memory of 5,000 (survey/results/cifar100/tuning.csv). Finetune has those of ER, and
// Offline is not tuned. Those of CN-DPM are the best of six tries with 1,000 samples and sleeps of 1,250 steps
// (survey/results/cifar100/cndpm); other images need others.
var chosen = sync.OnceValue(func() map[string]setting {
	records, err := csv.NewReader(strings.NewReader(settingsFile)).ReadAll()
	if err != nil {
		panic("paper: settings.csv: " + err.Error())
	}
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			panic(fmt.Sprintf("paper: settings.csv: %v", err))
		}
		return v
	}
	all := map[string]setting{}
	for _, r := range records[1:] {
		s := setting{lr: number(r[1]), weightDecay: number(r[2]), option: r[3], data: r[5]}
		if s.option != "" {
			s.value = number(r[4])
		}
		all[r[0]] = s
	}
	return all
})
