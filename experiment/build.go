package experiment

import (
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
	Batches(task int) int  // that Train delivers
}

// newStream splits the data; a method that learns offline gets all tasks at once, in the epochs and batches of its options.
func newStream(set *data.Set, c config.Config) (view, error) {
	keep, err := stream.Protocol(c.Protocol, c.Stream.Tasks)
	if err != nil {
		return nil, err
	}
	o := stream.Options{
		Kind: c.Stream.Kind, Tasks: c.Stream.Tasks, Batch: c.Stream.Batch, Keep: keep, Order: c.Stream.ClassOrder.Name,
		DropLast: *c.Stream.DropLast,
		Mean:     c.Stream.Mean, Std: c.Stream.Std, Seed: c.OrderSeed(),
	}
	if classes := c.Stream.ClassOrder.Classes; len(classes) > 0 {
		o.Order, o.ClassOrder = stream.List, classes
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

// newNetwork draws the parameters from the source "network/init" of the seed of initial parameters.
func newNetwork(info ocl.StreamInfo, c config.Config) (*nn.Network, error) {
	size := arch.Config{
		Channels: info.Channels, Height: info.Height, Width: info.Width, Classes: info.Classes,
		NF: c.Network.Width, Hidden: c.Network.Hidden,
		Engine: nn.Engine{Kernel: c.Engine.Kernel, Convolution: c.Engine.Convolution},
	}
	src := rng.New(c.InitSeed(), "network/init")
	if c.Network.Name == networkMLP {
		return arch.MLP(size, src)
	}
	return arch.ResNet18(size, src)
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
		Opt:  newOptimizer(c.Optimizer),
		Seed: c.MemorySeed(), InitSeed: c.InitSeed(), Options: c.Method[c.Methods[0]],
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
