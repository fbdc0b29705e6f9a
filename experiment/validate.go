package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ocl/data"
	"ocl/internal/nearest"
	"ocl/method"
	"ocl/nn/arch"
	"ocl/stream"
)

// Limits of a config. They catch slips of the keyboard, not ambition.
const (
	maxTasks  = 10_000
	maxBatch  = 100_000
	maxMemory = 100_000_000
	maxRuns   = 10_000
	maxWidth  = 4_096
	maxHidden = 1_000_000
)

// Validate reports everything that is wrong with the config at once, one fault a line as `config: key: what was found;
// what was wanted; what to do`; nil when [Run] can start. What only the data can tell (that the tasks divide the
// classes, that the files are whole) is found by Run before anything is learned.
func (c Config) Validate() error {
	var f faults
	c.checkData(&f)
	c.checkStream(&f)
	c.checkMethods(&f)
	c.checkMemory(&f)
	c.checkClassifiers(c.withoutMemory(), &f)
	c.checkTraining(&f)
	c.checkTricks(&f)
	oneOf(&f, "protocol", c.Protocol, ProtocolStandard, ProtocolSurvey, ProtocolTuning)
	if c.Eval != "" {
		oneOf(&f, "eval", c.Eval, EvalSeen, EvalAll, EvalFinal)
	}
	whole(&f, "runs", c.Runs, 1, maxRuns)
	if c.Runs >= 1 && c.Seed > math.MaxUint64-uint64(c.Runs-1) {
		f.add("seed", fmt.Sprintf("the last of %d runs would have a seed beyond 18446744073709551615", c.Runs),
			"want seed + runs - 1 in range", "use a smaller seed")
	}
	return f.err()
}

func (c Config) checkData(f *faults) {
	d := c.Data
	info, err := data.Lookup(d.Name)
	if err != nil {
		f.add("data.name", fmt.Sprintf("unknown data set %q", d.Name), "want one of "+strings.Join(data.Names(), ", "),
			nearest.Hint(d.Name, data.Names()))
		return
	}
	switch {
	case info.NeedsDir && d.Dir == "":
		f.add("data.dir", "not given", "want the folder or file that holds "+d.Name,
			"pass --data-dir DIR; `ocl data info "+d.Name+"` says where to get it")
	case !info.NeedsDir && d.Dir != "":
		f.add("data.dir", fmt.Sprintf("%q", d.Dir), "want no folder, "+d.Name+" is built in", "take it away")
	}
	c.checkDrawn(info, f)
}

// checkDrawn holds what is asked of drawn pictures against what the data set can draw; 0 is its own. Pictures in files are
// what they are: a size may be given if it is theirs, which only the files tell.
func (c Config) checkDrawn(info data.Info, f *faults) {
	d := c.Data
	for _, v := range []struct {
		key           string
		asked, lo, hi int
	}{
		{"data.size", d.Size, info.MinSize, info.MaxSize},
		{"data.train_per_class", d.TrainPerClass, 1, info.MaxPerClass},
		{"data.test_per_class", d.TestPerClass, 1, info.MaxPerClass},
	} {
		switch {
		case v.asked == 0:
		case v.hi > 0:
			whole(f, v.key, v.asked, v.lo, v.hi)
		case v.asked < 0 || v.key != "data.size":
			f.add(v.key, fmt.Sprint(v.asked), "want 0, the pictures of "+d.Name+" are in files", "take it away")
		}
	}
}

// checkDivides holds the tasks against the classes of a data set whose number is known before it is opened.
func (c Config) checkDivides(f *faults) {
	info, err := data.Lookup(c.Data.Name)
	if err != nil || info.Classes == 0 || c.Stream.Tasks < 1 || c.Stream.Tasks > maxTasks {
		return
	}
	if err := stream.CheckTasks(c.Stream.Tasks, info.Classes); err != nil {
		f.list = append(f.list, fmt.Errorf("config: stream.tasks: %w", err))
	}
}

func (c Config) checkStream(f *faults) {
	s := c.Stream
	least := 1
	switch c.Protocol {
	case ProtocolSurvey:
		least = 3
	case ProtocolTuning:
		least = 2
	}
	if s.Tasks >= 1 && s.Tasks < least {
		f.add("stream.tasks", fmt.Sprint(s.Tasks), fmt.Sprintf("want at least %d under protocol %s", least, c.Protocol),
			"use more tasks or --protocol standard")
	} else {
		whole(f, "stream.tasks", s.Tasks, least, maxTasks)
		c.checkDivides(f)
	}
	whole(f, "stream.batch", s.Batch, 1, maxBatch)
	switch order := s.ClassOrder.(type) {
	case string:
		oneOf(f, classOrderKey, order, "random", "given")
	case []int:
		info, err := data.Lookup(c.Data.Name)
		if err == nil && info.Classes > 0 && len(order) != info.Classes {
			f.add(classOrderKey, fmt.Sprintf("a list of %d classes", len(order)),
				fmt.Sprintf("want each of the %d classes of %s once", info.Classes, c.Data.Name), "correct the list or use random")
			break
		}
		sorted := slices.Sorted(slices.Values(order))
		for i, k := range sorted {
			if k != i {
				f.add(classOrderKey, fmt.Sprintf("the list of %d classes is no order, class %d is missing or repeated", len(order), i),
					fmt.Sprintf("want each of 0 to %d once", len(order)-1), "correct the list or use random")
				break
			}
		}
	default:
		f.add(classOrderKey, fmt.Sprintf("%v", order), "want random, given or a list of all classes, such as 2,0,1", "use random")
	}
	if len(s.Mean) != len(s.Std) {
		f.add("stream.mean", fmt.Sprintf("%d means and %d deviations", len(s.Mean), len(s.Std)),
			"want one of each for every channel, or none", "set stream.mean and stream.std together")
	}
	for i, v := range s.Std {
		if !(v > 0) || math.IsInf(v, 0) {
			f.add("stream.std", fmt.Sprintf("value %d is %v", i+1, v), "want deviations above 0", "correct the value")
		}
	}
	for i, v := range s.Mean {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			f.add("stream.mean", fmt.Sprintf("value %d is %v", i+1, v), "want finite numbers", "correct the value")
		}
	}
}

// checkMethods holds the list and the options against the catalogue.
func (c Config) checkMethods(f *faults) {
	if len(c.Methods) == 0 {
		f.add("methods", "the list is empty", "want at least one method", "choose from `ocl methods`")
	}
	for i, name := range c.Methods {
		info, err := method.Lookup(name)
		if err != nil {
			f.add("methods", fmt.Sprintf("unknown method %q", name), "want one that `ocl methods` lists", nearest.Hint(name, methodNames()))
			continue
		}
		if slices.Contains(c.Methods[:i], name) {
			f.add("methods", name+" is listed twice", "want each method once", "take one away")
		}
		c.checkTogether(info, f)
	}
	for _, name := range sortedKeys(c.Method) {
		info, err := method.Lookup(name)
		if err != nil {
			f.add("method."+name, "unknown method", "want one that `ocl methods` lists", nearest.Hint(name, methodNames()))
			continue
		}
		c.checkOptions(info, f)
	}
}

// checkMemory holds a memory size against the methods that would fill it.
func (c Config) checkMemory(f *faults) {
	whole(f, "memory", c.Memory, 0, maxMemory)
	usesMemory := c.usingMemory()
	replays := c.methodsWhere(func(info method.Info) bool { return slices.Contains(info.Settings, "replay.batch") })
	switch {
	case c.Memory == 0 && len(usesMemory) > 0:
		f.add("memory", fmt.Sprintf("0, and %s learns from stored samples", strings.Join(usesMemory, ", ")),
			"want at least 1 sample", "use --method finetune, which is replay without memory, or set --memory")
	case len(usesMemory) == 0 && len(c.Methods) > 0 && !c.hasUnknownMethod() && c.Memory > 0 && (c.memoryGiven || c.Memory != DefaultMemory):
		f.add("memory", fmt.Sprintf("%d, but %s keeps no memory", c.Memory, strings.Join(c.Methods, ", ")),
			"want no memory size, or a method that has a memory in the list", "take memory away or add a method, such as er")
	case c.Memory > 0 && c.Replay.Batch > c.Memory && len(replays) > 0:
		f.add("replay.batch", fmt.Sprintf("%d, above the %d samples of memory that %s replays from", c.Replay.Batch, c.Memory, strings.Join(replays, ", ")),
			"want at most memory", "use a smaller --replay-batch or a larger --memory")
	}
}

func (c Config) checkTraining(f *faults) {
	whole(f, "replay.batch", c.Replay.Batch, 1, maxBatch)
	whole(f, "replay.iterations", c.Replay.Iterations, 1, maxRuns)
	oneOf(f, "replay.teacher", c.Replay.Teacher, TeacherEvaluation, TeacherTraining)
	if oneOf(f, "network.name", c.Network.Name, "resnet18", "mlp") {
		if c.Network.Name == "resnet18" {
			whole(f, "network.width", c.Network.Width, 1, maxWidth)
			if c.Data.Size != 0 && c.Data.Size < arch.LeastSide {
				f.add("data.size", fmt.Sprint(c.Data.Size), fmt.Sprintf("want at least %d pixels a side for resnet18", arch.LeastSide),
					"use larger images (--size), or --network mlp")
			}
		} else if len(c.Network.Hidden) == 0 {
			f.add("network.hidden", "the list is empty", "want at least one hidden layer", "use 256 or 256,256")
		}
	}
	for _, h := range c.Network.Hidden {
		whole(f, "network.hidden", h, 1, maxHidden)
	}
	o := c.Optimizer
	oneOf(f, "optimizer.name", o.Name, "sgd", "adam")
	if !(o.LR > 0) || math.IsInf(o.LR, 0) {
		f.add("optimizer.lr", fmt.Sprint(o.LR), "want a learning rate above 0", "0.1 is the survey's")
	}
	if !(o.WeightDecay >= 0) || math.IsInf(o.WeightDecay, 0) {
		f.add("optimizer.weight_decay", fmt.Sprint(o.WeightDecay), "want 0 or more", "use 0 to switch it off")
	}
	if !(o.Momentum >= 0 && o.Momentum < 1) {
		f.add("optimizer.momentum", fmt.Sprint(o.Momentum), "want 0 or more and less than 1", "use 0 to switch it off")
	} else if o.Name == "adam" && o.Momentum != 0 {
		f.add("optimizer.momentum", fmt.Sprint(o.Momentum), "want 0 with adam, which has momentum of its own", "take it away")
	}
}

// whole notes a fault unless lo ≤ v ≤ hi.
func whole(f *faults, key string, v, lo, hi int) {
	if v < lo || v > hi {
		f.add(key, fmt.Sprint(v), fmt.Sprintf("want a whole number from %d to %d", lo, hi), "correct the value")
	}
}

// oneOf notes a fault unless v is one of the choices, and tells whether it is.
func oneOf(f *faults, key, v string, choices ...string) bool {
	if slices.Contains(choices, v) {
		return true
	}
	f.add(key, fmt.Sprintf("%q", v), "want one of "+strings.Join(choices, ", "), nearest.Hint(v, choices))
	return false
}
