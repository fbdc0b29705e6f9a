package live

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"ocl"
	"ocl/config"
	"ocl/data"
	"ocl/data/embed"
	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/limit"
	"ocl/internal/priority"
	"ocl/learn/calibrate"
	"ocl/learn/learner"
	"ocl/learn/method"
	"ocl/nn"
	"ocl/nn/backbone"
	"ocl/predict"
	"ocl/run/build"
)

// Options say what a new learner is. The zero value is a small ER for colour images of 32×32 pixels.
type Options struct {
	Method   string // of `ocl methods`, with tricks if wanted: "er", "er+ncm"; "" is er
	Memory   int    // stored images, of a method with a memory; 0 is 500
	Size     int    // side in pixels of the images that the network sees; 0 is 32
	Channels int    // 3, or 1 for grey; 0 is 3
	// Set are all other settings of a learner, such as "network.name=mlp", "optimizer.lr=0.05" or "seed=2": the keys of
	// network, optimizer, replay, method, seed, seeds and engine, and stream.mean and stream.std. `ocl config keys`
	// explains them, with their defaults.
	Set []string
	// Capacity is how many outputs the head has at first; 0 is 256. The outputs of classes that are not there yet change
	// no other number, but another Capacity is another draw of the first weights. A full head doubles.
	Capacity int

	Process
}

// Process are the options that no weight depends on, except by when batches are cut. They may be others each time that
// a learner is opened.
type Process struct {
	Batch int // images that are learned in one step; 0 is 10
	// after which a smaller batch is cut, counted from its first image; 0 is 200 ms, and a negative one is never
	Age   time.Duration
	Queue int // images that may wait, at least Batch; 0 is 16 batches. Learn waits for room

	// Bounds, each 0 for none. Learn refuses a new class that would go beyond them, with an error that wraps ErrBound; New
	// and Open refuse a learner that does.
	MaxClasses    int
	MaxParameters int   // of the network
	MaxBytes      int64 // of what Stats.Bytes counts

	Workers int // goroutines that learn; 0 is one fewer than there are processors, so that one is left for predictions
	// predictions that work at the same time; further ones wait for each other. 0 is as many as there are processors
	AtOnce int
	// Unknown is the share of images of known classes that may be called unknown, in (0,1); 0 is 0.05. Coverage is the
	// share of them whose class is to be in the set of an answer, in (0,1); 0 counts no set.
	Unknown, Coverage float64
	// Nice makes learning give way to the rest of the process: on Linux the threads that learn have this niceness, 1 to
	// 19; 0 is that of the process. Elsewhere it is ignored. Go polls sockets when a processor of its own is free,
	// so a server sets GOMAXPROCS to Workers+1.
	Nice int

	// Backbone is the file of a pretrained network that makes embeddings of the images (`ocl run --backbone`); "" is none.
	// It does not learn: the method learns the embeddings. A learner that is opened must get the file that it has had,
	// wherever that lies now; a file of Save and the folder of a run say where it was.
	Backbone string

	opened frozenFile // that a trainer has opened already
}

// Errors that other errors of this package wrap.
var (
	ErrClosed   = errors.New("the learner was closed. Open or make another one")
	ErrBound    = errors.New("a bound of the options is reached")
	ErrMethod   = errors.New("the method cannot be used live")
	ErrLabel    = errors.New("the label cannot name a class")
	ErrBackbone = errors.New("the pretrained network is missing, or is another one")
	ErrFew      = calibrate.ErrFew // samples to say how sure a learner may be
	ErrNothing  = errors.New("nothing has been learned yet. Learn an image first")
)

// Errors of calls that are faulty in the program.
var (
	errZero    = errors.New("it was made by no function of package live. Use New or Open, or NewTrainer or OpenTrainer")
	errContext = errors.New("the context is nil. Give one, such as context.Background()")
)

// Defaults of Options and Process.
const (
	defaultMethod   = "er"
	defaultSize     = 32
	defaultCapacity = 256
	defaultAge      = 200 * time.Millisecond
	queuedBatches   = 16
)

// complete fills in the defaults and refuses what is none of the possible values.
func (p Process) complete() (Process, error) {
	for _, v := range []struct {
		name  string
		value int64
		most  int64
	}{
		{"Batch", int64(p.Batch), limit.LiveBatch}, {"Queue", int64(p.Queue), limit.LiveQueue},
		{"MaxClasses", int64(p.MaxClasses), limit.KnownClasses},
		{"MaxParameters", int64(p.MaxParameters), 1 << 62}, {"MaxBytes", p.MaxBytes, 1 << 62},
		{"Workers", int64(p.Workers), limit.Workers},
		{"AtOnce", int64(p.AtOnce), limit.Concurrency}, {"Nice", int64(p.Nice), priority.Least},
	} {
		if v.value < 0 || v.value > v.most {
			return p, fmt.Errorf("%s is %d. Use 0 to %d", v.name, v.value, v.most)
		}
	}
	if _, err := predict.NewSureness(nil, p.Unknown, p.Coverage); err != nil {
		return p, err
	}
	p.Batch = cmp.Or(p.Batch, config.Default().Stream.Batch)
	p.Age = cmp.Or(p.Age, defaultAge)
	p.Queue = cmp.Or(p.Queue, queuedBatches*p.Batch)
	p.Workers = cmp.Or(p.Workers, max(1, runtime.GOMAXPROCS(0)-1))
	p.AtOnce = cmp.Or(p.AtOnce, runtime.GOMAXPROCS(0))
	if p.Queue < p.Batch {
		return p, fmt.Errorf("a queue of %s has no room for a batch of %d. Use a larger Queue or a smaller Batch",
			count.Of(p.Queue, "image"), p.Batch)
	}
	return p, nil
}

// settings are the keys that Options.Set may have, or how they begin.
var settings = []string{"network.", "optimizer.", "replay.", "method.", "seed", "seeds.", "engine.", "stream.mean",
	"stream.std"}

// setting says whether Options.Set may have a key.
func setting(key string) bool {
	return key != "network.init" && slices.ContainsFunc(settings,
		func(s string) bool { return key == s || strings.HasSuffix(s, ".") && strings.HasPrefix(key, s) })
}

// config is the config of a run that would learn what the options say, and the pretrained network; nil is none.
func (o Options) config() (c config.Config, front *backbone.Backbone, err error) {
	c = config.Default()
	s := build.Schema()
	name, tricks := methodAndTricks(o.Method)
	c.Methods, c.Tricks = []string{name}, []string{tricks}
	c.Data = config.Data{Name: "folder", Dir: "live", Size: o.Size} // images are prepared as those of a folder
	c.Memory = o.Memory
	c.Memory = cmp.Or(c.Memory, config.DefaultMemory)
	var given []string
	for _, text := range o.Set {
		key, value, ok := strings.Cut(text, "=")
		if !ok || !setting(key) {
			return c, nil, fmt.Errorf("option Set: %.80q is no setting of a live learner. Use key=value with a key of %s", text,
				strings.Join(settings, ", "))
		}
		if err := s.Set(&c, key, value); err != nil {
			return c, nil, fmt.Errorf("option Set: %w", inFields(err))
		}
		given = append(given, key)
	}
	images, err := data.Lookup(c.Data.Name)
	if err != nil {
		return c, nil, err
	}
	if o.Backbone != "" {
		if front, err = withBackbone(&c, o.Process); err != nil {
			return c, nil, err
		}
		c.Data.Size = embed.Wanted(build.Data(c), front).Size
	}
	c.Data.Size = cmp.Or(c.Data.Size, defaultSize)
	if c.Data.Size < images.MinSize || c.Data.Size > images.MaxSize {
		return c, nil, fmt.Errorf("option Size is %d. Use %d to %d, or 0 for %d", c.Data.Size, images.MinSize, images.MaxSize,
			defaultSize)
	}
	whole := c.Clone()
	whole.Data.Backbone = o.Backbone // some settings are not for embeddings
	if err := s.Validate(whole); err != nil {
		return c, nil, inFields(err)
	}
	for _, key := range given {
		if err := s.CheckGiven(whole, key); err != nil {
			return c, nil, fmt.Errorf("option Set: %w", inFields(err))
		}
	}
	return s.Runs(c)[0], front, nil
}

// inFields is an error about a config, with the fields of Options in the place of keys and of flags, which a program
// does not have.
func inFields(err error) error {
	if err == nil {
		return nil
	}
	return cause.As(errors.New(fields().Replace(err.Error())), err)
}

// fields replaces what errors about configs call a key.
var fields = sync.OnceValue(func() *strings.Replacer {
	field := map[string]string{"methods": "Method", "tricks": "Method", "memory": "Memory", "data.size": "Size",
		"data.backbone": "Backbone"}
	var pairs []string
	keys := config.Keys()
	// one flag may begin with another
	slices.SortStableFunc(keys, func(a, b config.Key) int { return len(b.Flag()) - len(a.Flag()) })
	for _, k := range keys {
		name, known := field[k.Name]
		if !known {
			name = k.Name
		}
		pairs = append(pairs, "config: "+k.Name+":", name+":")
		if flag := "--" + k.Flag(); flag != "--" {
			set := name + "="
			if known {
				set = name + ": "
			}
			if k.Name == "tricks" {
				set = "the trick "
			}
			pairs = append(pairs, "config: "+k.Name+" ("+flag+")", name, " ("+flag+")", "", flag+" ", set, flag, name)
		}
	}
	return strings.NewReplacer(append(pairs, "data.size", "Size", "data.backbone", "Backbone", "config: ", "")...)
})

// methodAndTricks splits a text such as "er+ncm". The name of a method may itself have a +.
func methodAndTricks(text string) (name, tricks string) {
	text = cmp.Or(text, defaultMethod)
	for name = text; name != ""; name = name[:max(0, strings.LastIndex(name, "+"))] {
		if _, err := method.Lookup(name); err != nil {
			continue
		}
		if name == text {
			return name, config.NoTrick
		}
		return name, text[len(name)+1:]
	}
	return text, config.NoTrick // the error names it
}

// checkMethod refuses methods that cannot learn from images that come one at a time, with the reason.
func checkMethod(c config.Config) error {
	info := build.Method(c.Methods[0])
	why := ""
	switch {
	case info.Offline:
		why = "learns all images together in many epochs, and here each comes once. Use another method, such as er"
	case info.Deferred:
		why = "trains a new network for every prediction, which takes minutes. Use another method, such as er"
	case info.OwnNetworks:
		why = "predicts with the networks that it trains, so that predictions would wait for its training. Use another method, such as er"
	}
	if why != "" {
		return fmt.Errorf("%w: %s %s", ErrMethod, info.Title, why)
	}
	return nil
}

// checkLearner refuses learners, such as those of other modules, that do not show what they predict with.
func checkLearner(c config.Config, l ocl.Learner, net *nn.Network) error {
	name := c.Methods[0]
	shows, open := l.(learner.Open)
	if !open {
		return fmt.Errorf("%w: %s does not show the network that it predicts with (learner.Open), so there is nothing to predict with while it learns",
			ErrMethod, name)
	}
	if p := shows.Parts(); !p.ByLogits && p.Means == nil && !byMeans(c) {
		return fmt.Errorf("%w: %s predicts neither by its logits nor by class means, so a copy of its network is not enough for predictions",
			ErrMethod, name)
	}
	if p := shows.Parts(); p.Net != nil && p.Net != net {
		return fmt.Errorf("%w: %s predicts by another network than the one that learns, as the trick ema does, and only that one is published. Remove the trick",
			ErrMethod, name)
	}
	if _, aware := l.(ocl.TaskAware); aware {
		if _, extends := l.(ocl.Extending); !extends {
			return fmt.Errorf("%w: %s must know all classes of a task when the task begins (it is no ocl.Extending), and here nobody knows them",
				ErrMethod, name)
		}
	}
	return nil
}

// byMeans says that a classifier of the config predicts by class means, instead of the learner's own rule.
func byMeans(c config.Config) bool { return c.Classifiers[0] == config.ClassifierNCM }

// usesMemory says whether the method stores images.
func usesMemory(c config.Config) bool {
	info, err := method.Lookup(c.Methods[0])
	return err == nil && info.UsesMemory
}
