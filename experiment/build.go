package experiment

import (
	"fmt"

	"ocl"
	"ocl/config"
	"ocl/data"
	"ocl/internal/rng"
	"ocl/method"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/optim"
	"ocl/stream"
)

// view is a stream as a run goes through it.
type view interface {
	ocl.Stream
	ocl.Seeker
	Start() int            // the first task that is learned
	Original(task int) int // its place in the whole stream
	TaskName(original int) string
	Batches(task int) int // that Train delivers
	Skipped() []int       // tasks of the whole stream that are left out
	MemoryBytes() int64   // of the images that it makes and keeps
}

// newStream splits the data; a method that learns offline gets all tasks at once, in the epochs and batches of its options.
func newStream(set *data.Set, c config.Config) (view, error) {
	o, err := keptOptions(set, c)
	if err != nil {
		return nil, err
	}
	name := c.Methods[0]
	if !infoOf(name).Offline {
		return stream.Split(set, o)
	}
	o.DropLast = false // of a task: the view drops its own
	tasks, err := stream.Split(set, o)
	if err != nil {
		return nil, err
	}
	options := c.Method[name]
	return tasks.Offline(options[method.Epochs].(int), options[method.Batch].(int), *c.Stream.DropLast)
}

// keptOptions are streamOptions with the tasks that the protocol keeps.
func keptOptions(set *data.Set, c config.Config) (o stream.Options, err error) {
	o = streamOptions(set, c)
	o.Keep, err = stream.Protocol(c.Protocol, o.Tasks)
	return o, err
}

// streamOptions are those of a config, whose order may be the published one that belongs to the seed.
func streamOptions(set *data.Set, c config.Config) stream.Options {
	s := c.Stream
	o := stream.Options{
		Kind: s.Kind, Tasks: s.Tasks, TaskClasses: s.TaskClasses, Batch: s.Batch,
		Order: s.ClassOrder.Name, ClassOrder: s.ClassOrder.Classes,
		NoSignals: !s.TaskSignals, Blurry: s.Blurry, LongTail: s.LongTail, ClassCounts: s.ClassCounts,
		Mean: s.Mean, Std: s.Std, Seed: c.OrderSeed(),
		Shift: stream.Shift{
			PerImage:   s.Shift.Occlusion == config.OcclusionPerImage,
			CrossImage: s.Shift.Blur == config.BlurCrossImage,
			Float:      s.Shift.Pixels == config.PixelsFloat,
		},
	}
	if s.HeldOut != nil {
		o.HeldOut = *s.HeldOut
	}
	if o.Kind == "" && c.Data.Domains != "" {
		o.Kind = config.KindDomains
	}
	if s.DropLast != nil {
		o.DropLast = *s.DropLast
	}
	if len(s.ClassOrder.Classes) > 0 {
		o.Order = stream.List
	}
	if number, numbered, ok := s.ClassOrder.Official(); ok {
		o.Order, o.Official = stream.Official, number
		if orders := max(len(set.Orders.Classes), len(set.Orders.Domains)); !numbered && orders > 0 {
			o.Official = int((c.OrderSeed() - 1) % uint64(orders))
		}
	}
	o.Shift.Kinds, _ = stream.ParseShift(s.Shift.Kind) // a valid config
	for _, kind := range o.Shift.Kinds {
		o.Shift.Strengths = append(o.Shift.Strengths, s.Shift.Strengths(kind))
	}
	return o
}

// settleStream fills in what a config leaves to the data: the kind of the stream, the number of tasks, their classes where
// these are not equally many, and the order.
func settleStream(set *data.Set, c *config.Config) {
	o := streamOptions(set, *c).For(set)
	c.Stream.Kind, c.Stream.Tasks, c.Stream.TaskClasses = o.Kind, o.Tasks, o.TaskClasses
	if c.Stream.ClassOrder.IsUnset() {
		c.Stream.ClassOrder.Name = o.Order
	}
	if c.Stream.HeldOut == nil {
		held := c.Protocol == config.ProtocolTuning && o.SharesTest(set)
		c.Stream.HeldOut = &held
	}
}

// newNetwork draws the parameters from the source "network/init" of the seed of initial parameters. With a parent of K
// classes the network is its heir: outputs from K on are drawn from the source "network/grow/K", and the parent has the
// rest.
func newNetwork(info ocl.StreamInfo, c config.Config, p *parent) (net *nn.Network, err error) {
	size := arch.Config{
		Channels: info.Channels, Height: info.Height, Width: info.Width, Classes: info.Classes,
		NF: c.Network.Width, Hidden: c.Network.Hidden,
		Engine: nn.Engine{Kernel: c.Engine.Kernel, Convolution: c.Engine.Convolution},
	}
	source, build := "network/init", arch.ResNet18
	if p != nil {
		source = fmt.Sprintf("network/grow/%d", p.Classes)
	}
	switch {
	case infoOf(c.Methods[0]).OwnNetworks: // nobody uses this one, so it is small
		size.Hidden, build = []int{1}, arch.MLP
	case c.Network.Name == networkMLP:
		build = arch.MLP
	}
	if net, err = build(size, rng.New(c.InitSeed(), source)); err == nil && p != nil {
		net.Inherit(p.Classes)
	}
	return net, err
}

func newLearner(net *nn.Network, ws *nn.Workspace, info ocl.StreamInfo, c config.Config) (ocl.Learner, error) {
	s := setup(c)
	s.Net, s.WS = net, ws
	s.Shape, s.Pixels, s.Classes = [3]int{info.Channels, info.Height, info.Width}, info.Pixels, info.Classes
	return infoOf(c.Methods[0]).New(s)
}

// setup is what the config of one run says of its method.
func setup(c config.Config) method.Setup {
	s := method.Setup{
		Memory: c.Memory, ReplayBatch: c.Replay.Batch, Iterations: c.Replay.Iterations, Joint: c.Replay.Joint, Augment: c.Replay.Augment,
		Training: c.Replay.Teacher == config.TeacherTraining, Undistilled: c.Replay.KDCStar == config.KDCStarAuthors,
		Normalises: c.Stream.Normalises(),
		Opt:        newOptimizer(c.Optimizer),
		Seed:       c.MemorySeed(), InitSeed: c.InitSeed(), Options: c.Method[c.Methods[0]],
	}
	if len(c.Tricks) == 1 { // of a config that is not valid yet there may be another number
		if names, err := method.ParseTricks(c.Tricks[0]); err == nil {
			s.Tricks = names
		}
	}
	return s
}

func newOptimizer(c config.Optimizer) optim.Optimizer {
	if c.Name == "adam" {
		return optim.NewAdam(optim.Adam{LR: c.LR, WeightDecay: c.WeightDecay})
	}
	return optim.NewSGD(optim.SGD{LR: c.LR, WeightDecay: c.WeightDecay, Momentum: c.Momentum})
}
