// Package build makes what the config of a run describes: its stream, its network and its learner. It also knows the
// names that a config may have ([Schema]), and gives them to package config, which knows none. Start at [NewStream],
// [NewNetwork] and [NewLearner].
package build

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ocl"
	"ocl/config"
	"ocl/data"
	"ocl/data/stream"
	"ocl/internal/count"
	"ocl/internal/limit"
	"ocl/internal/nearest"
	"ocl/internal/spelling"
	"ocl/learn/learner"
	"ocl/learn/method"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/rng"
)

// Stream is a stream as a run goes through it.
type Stream interface {
	ocl.Stream
	ocl.Seeker
	Start() int            // the first task that is learned
	Original(task int) int // its place in the whole stream
	TaskName(original int) string
	Batches(task int) int // that Train delivers
	// Observed says which classes have come in earlier tasks and in so many batches of a task; nil where tasks have test
	// sets of their own, or all classes come in the first task.
	Observed(task, batches int) []bool
	// Peek is a batch of a task as Train delivers it, for measurements at any time: it is not learned. A batch behind the
	// last one is empty. Where all tasks are learned together, batches are those that each task would have alone.
	Peek(task, batch int) (ocl.Batch, error)
	// Came says how many training images of each class come in a task, by label; nil unless tasks share one test set and
	// differ in nothing but that.
	Came(task int) []int
	Skipped() []int     // tasks of the whole stream that are left out
	MemoryBytes() int64 // of the images that it makes and keeps
}

// Data returns the part of a config that selects its data, as package data takes it.
func Data(c config.Config) data.Spec {
	return data.Spec{
		Name: c.Data.Name, Dir: c.Data.Dir, Size: c.Data.Size, Channels: c.Data.Channels,
		TrainPerClass: c.Data.TrainPerClass, TestPerClass: c.Data.TestPerClass, Domains: c.Data.Domains, Seed: c.Data.Seed,
		Reading:        c.Data.Reading,
		SkipUnreadable: c.Data.Unreadable == config.UnreadableSkip, OneClass: c.Parent.Run != "",
	}
}

// NewStream splits the data; a method that learns offline gets all tasks at once, in the epochs and batches of its
// options.
func NewStream(set *data.Set, c config.Config) (Stream, error) {
	o, err := StreamOptions(set, c)
	if err != nil {
		return nil, err
	}
	name := c.Methods[0]
	if !Method(name).Offline {
		return stream.Split(set, o)
	}
	o.DropLast = false // of a task: Offline drops its own
	tasks, err := stream.Split(set, o)
	if err != nil {
		return nil, err
	}
	options := c.Method[name]
	return tasks.Offline(options[method.Epochs].(int), options[method.Batch].(int), *c.Stream.DropLast)
}

// StreamOptions returns the options by which package stream splits the data of a config: with the published order of
// the seed, if the config wants that, and with the tasks that the protocol keeps.
func StreamOptions(set *data.Set, c config.Config) (o stream.Options, err error) {
	o = optionsOf(set, c)
	o.Keep, err = stream.Protocol(c.Protocol, o.Tasks)
	return o, err
}

// optionsOf are [StreamOptions] with all tasks.
func optionsOf(set *data.Set, c config.Config) stream.Options {
	s := c.Stream
	o := stream.Options{
		Kind: s.Kind, Tasks: s.Tasks, TaskClasses: s.TaskClasses, Batch: s.Batch,
		Order: s.ClassOrder.Name, ClassOrder: s.ClassOrder.Classes,
		NoSignals: !s.TaskSignals, Blurry: s.Blurry, LongTail: s.LongTail, ClassCounts: s.ClassCounts,
		Mean: s.Mean, Std: s.Std, Seed: c.OrderSeed(),
		Mixture: stream.Mixture(s.IBlurry), Delay: s.Delay, LabelDelay: s.LabelDelay,
		Shift: stream.Shift{
			PerImage:   s.Shift.Occlusion == config.OcclusionPerImage,
			CrossImage: s.Shift.Blur == config.BlurCrossImage,
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

// CompleteStream fills in what a config leaves to the data: the kind of the stream, the number of tasks, their classes
// where these are not equally many, and the order. It is an error if an order by names has others than the data.
func CompleteStream(set *data.Set, c *config.Config) error {
	if err := numberOrder(set, c); err != nil {
		return err
	}
	o := optionsOf(set, *c).For(set)
	c.Stream.Kind, c.Stream.Tasks, c.Stream.TaskClasses = o.Kind, o.Tasks, o.TaskClasses
	if c.Stream.ClassOrder.IsUnset() {
		c.Stream.ClassOrder.Name = o.Order
	}
	if c.Stream.HeldOut == nil {
		held := c.Protocol == config.ProtocolTuning && o.SharesTest(set)
		c.Stream.HeldOut = &held
	}
	return nil
}

// numberOrder gives an order of classes by their names the numbers that the classes have in the data.
func numberOrder(set *data.Set, c *config.Config) error {
	called := c.Stream.ClassOrder.Called
	if called == nil {
		return nil
	}
	if set.ClassNames == nil {
		return fmt.Errorf("stream.class_order: %s does not name its classes. List their numbers, from 0 to %d", set.Name,
			set.Classes-1)
	}
	order := make([]int, len(called))
	for i, name := range called {
		order[i] = spelling.Match([]string{name}, set.ClassNames)[0]
		switch near := nearest.Word(name, set.ClassNames); {
		case order[i] >= 0 && slices.Contains(order[:i], order[i]):
			return fmt.Errorf("stream.class_order: the class %.40q is listed twice. List each class once", name)
		case order[i] < 0 && near != "":
			return fmt.Errorf("stream.class_order: %s has no class %.40q. Did you mean %.40q?", set.Name, name, near)
		case order[i] < 0:
			return fmt.Errorf("stream.class_order: %s has no class %.40q. Its classes are %s; list each once", set.Name, name,
				count.Some(set.ClassNames))
		}
	}
	if len(order) != set.Classes {
		return fmt.Errorf("stream.class_order: the list has %d classes, but %s has %d. List each class once", len(order),
			set.Name, set.Classes)
	}
	c.Stream.ClassOrder = config.Order{Classes: order}
	return nil
}

// NewNetwork draws the parameters from the source "network/init" of the seed of initial parameters. With the network
// of a parent run with so many classes (K > 0), it keeps all that this one has: outputs from K on are drawn from the
// source "network/grow/K", and the rest is to be loaded.
func NewNetwork(info ocl.StreamInfo, c config.Config, inherited int) (*nn.Network, error) {
	source := "network/init"
	if inherited > 0 {
		source = fmt.Sprintf("network/grow/%d", inherited)
	}
	net, err := newNetwork(info, c, rng.New(c.InitSeed(), source))
	if err == nil && inherited > 0 {
		net.Inherit(inherited)
	}
	return net, err
}

// Outline is the outline of the network of a run (see [nn.NewBuilder]): it takes little memory, whatever the network
// does.
func Outline(info ocl.StreamInfo, c config.Config) (*nn.Network, error) {
	return newNetwork(info, c, nil)
}

func newNetwork(info ocl.StreamInfo, c config.Config, src *rng.Source) (net *nn.Network, err error) {
	if info.Classes > limit.KnownClasses { // it could be trained, and its checkpoint not be read
		return nil, fmt.Errorf("there are %s classes, and %s are the limit of a network. Use data with fewer classes",
			count.Number(info.Classes), count.Number(limit.KnownClasses))
	}
	size := sizeOf(info, c)
	if Method(c.Methods[0]).OwnNetworks { // this one is not used, so it is small
		size.Hidden, size.Head = []int{1}, nn.Head{}
		net, err = arch.MLP(size, src)
	} else {
		net, err = Architecture(c).New(size, src)
	}
	if err != nil {
		if errors.Is(err, nn.ErrMemory) {
			err = fmt.Errorf("%s: %w", WideKey(c), err)
		}
		return nil, err
	}
	if c.Network.Freeze > 0 {
		if err := net.Freeze(c.Network.Freeze, false); err != nil {
			return nil, fmt.Errorf("network.freeze: the network %s: %w", NetworkName(c), err)
		}
		if c.Replay.Latent {
			if err := net.Freeze(c.Network.Freeze, true); err != nil {
				return nil, fmt.Errorf("replay.latent: %w", err)
			}
		}
	}
	return net, nil
}

// sizeOf returns the sizes and the engine of the network of a config, as package arch takes them.
func sizeOf(info ocl.StreamInfo, c config.Config) arch.Config {
	return arch.Config{
		Channels: info.Channels, Height: info.Height, Width: info.Width, Classes: info.Classes,
		NF: c.Network.Width, Hidden: Hidden(c), Waves: waves(c), Head: Head(c),
		Engine: nn.Engine{Kernel: c.Engine.Kernel, Convolution: c.Engine.Convolution},
	}
}

// LeastParameters is a number of parameters that the network of a run has at least, see [arch.Info.LeastParameters].
func LeastParameters(info ocl.StreamInfo, c config.Config) (int, error) {
	size := sizeOf(info, c)
	size.Engine = nn.Engine{} // which may be that of another machine, and changes no size
	return Architecture(c).LeastParameters(size)
}

// Head is the head of the network of a run: the one that the method needs, or else the one that the config says.
func Head(c config.Config) nn.Head {
	if own := Method(c.Methods[0]).Head; own != nil {
		if head := own(Setup(c)); head.Kind != "" {
			return head
		}
	}
	return nn.Head{Kind: c.Network.Head}
}

// WideKey is the key that makes the network of a run large, with its value.
func WideKey(c config.Config) string {
	if Method(c.Methods[0]).Solves != nil {
		return "method." + c.Methods[0]
	}
	key := cmp.Or(Architecture(c).WideKey(), "network.name")
	text, _ := c.Text(key)
	const most = 40 // bytes
	if len(text) > most {
		text = text[:strings.LastIndex(text[:most], ",")+1] + "…"
	}
	return fmt.Sprintf("%s (%s)", key, text)
}

// NewLearner makes the learner of a run, which trains the network with the workspace.
func NewLearner(net *nn.Network, ws *nn.Workspace, info ocl.StreamInfo, c config.Config) (ocl.Learner, error) {
	s := Setup(c)
	s.Net, s.WS = net, ws
	s.Shape, s.Pixels, s.Embeddings, s.Classes = [3]int{info.Channels, info.Height, info.Width}, info.Pixels,
		info.Embeddings, info.Classes
	if in := net.Info().Latent; in[0] > 0 {
		s.Shape, s.Latent = in, latentEncoding(c)
	}
	return Method(c.Methods[0]).New(s)
}

// Latents returns the part that turns images into the activations that the learner observes; nil if the learner
// observes the images themselves.
func Latents(net *nn.Network, ws *nn.Workspace, c config.Config) *learner.Latents {
	if net.Info().Latent[0] == 0 {
		return nil
	}
	return &learner.Latents{Net: net, WS: ws, By: latentEncoding(c)}
}

func latentEncoding(c config.Config) learner.LatentEncoding {
	if c.Replay.LatentBits == config.LatentCodes {
		return ocl.Codes{}
	}
	return ocl.Float16{}
}

// SampleBytes is the size of a stored sample in bytes, without its label and without what methods add.
func SampleBytes(info ocl.StreamInfo, net *nn.Network, c config.Config) int {
	if in := net.Info().Latent; in[0] > 0 {
		return latentEncoding(c).Bytes(in[0] * in[1] * in[2])
	}
	return info.Encoding().Bytes(info.Channels * info.Height * info.Width)
}

// Setup returns the settings of a config that its method reads.
func Setup(c config.Config) method.Setup {
	s := method.Setup{
		Memory: c.Memory, ReplayBatch: c.Replay.Batch, Iterations: c.Replay.Iterations, Joint: c.Replay.Joint,
		Augment:  c.Replay.Augment,
		Training: c.Replay.Teacher == config.TeacherTraining, Undistilled: c.Replay.KDCStar == config.KDCStarAuthors,
		Update: c.Replay.Update, MemoryAlone: c.Replay.From == config.FromMemory,
		Normalises: c.Stream.Normalises(),
		Opt:        newOptimizer(c.Optimizer),
		Seed:       c.MemorySeed(), InitSeed: c.InitSeed(), Options: c.Method[c.Methods[0]],
		TrickOptions: c.Method,
	}
	if len(c.Tricks) == 1 { // a config that is not validated yet may have another number of entries
		if names, err := method.ParseTricks(c.Tricks[0]); err == nil {
			s.Tricks = names
		}
	}
	return s
}
