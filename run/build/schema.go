package build

import (
	"fmt"
	"slices"

	"ocl/config"
	"ocl/data"
	"ocl/data/stream"
	"ocl/data/stream/shift"
	"ocl/learn/method"
	"ocl/nn/arch"
)

// Schema is the schema of configs with the methods, tricks and data sets of this program.
func Schema() *config.Schema {
	s := &config.Schema{Catalogue: config.Catalogue{
		ParseTricks: method.ParseTricks,
		CheckShift:  checkShift,
	}}
	for _, info := range arch.Catalogue() {
		s.Networks = append(s.Networks, config.NetworkKind{Name: info.Name, Origin: originOf(info.Origin()),
			About: info.Summary, Settings: info.Settings, LeastSide: info.LeastSide})
	}
	for _, info := range data.Catalogue() {
		s.Data = append(s.Data, config.DataSet{Name: info.Name, Origin: originOf(info.Origin()), NeedsDir: info.NeedsDir,
			Classes: info.Classes, Domains: info.Domains, Ordered: info.Ordered, Files: info.Cached(), Size: info.Size,
			MinSize: info.MinSize, MaxSize: info.MaxSize, MaxPerClass: info.MaxPerClass})
	}
	for _, k := range stream.Kinds() {
		s.Streams = append(s.Streams, config.StreamKind{Name: k.Name, Origin: originOf(k.Origin()), CheckTasks: k.CheckTasks,
			AllClasses: k.AllClasses})
	}
	for _, info := range method.Catalogue() {
		own := ""
		if info.ClassMeans {
			own = config.ClassifierNCM
		}
		s.Methods = append(s.Methods, config.Method{OwnRule: own, Name: info.Name, Origin: originOf(info.Origin()),
			About: info.Title + " " + info.Summary, UsesMemory: info.UsesMemory, Scratch: info.Deferred, Offline: info.Offline,
			OwnNetworks: info.OwnNetworks, NoGradient: info.Solves != nil,
			Settings: info.Settings, Options: info.Options, Teacher: info.Teacher,
			Refuses: info.CheckTricks, Check: func(c config.Config) error { return check(info, c) }})
	}
	for _, t := range method.Tricks() {
		s.Tricks = append(s.Tricks, config.Trick{Name: t.Name, Settings: t.Settings, Classifies: t.Classifies,
			Steps: t.StepsAlone(), Teacher: t.Teacher, Options: t.Options})
	}
	return s
}

// Modules are the versions of the other modules that have registered something in this program, by their paths.
func Modules() map[string]string {
	versions := map[string]string{}
	note := func(module, version string) {
		if module != "" {
			versions[module] = version
		}
	}
	for _, info := range arch.Catalogue() {
		note(info.Origin())
	}
	for _, info := range data.Catalogue() {
		note(info.Origin())
	}
	for _, k := range stream.Kinds() {
		note(k.Origin())
	}
	for _, info := range method.Catalogue() {
		note(info.Origin())
	}
	return versions
}

// originOf returns the module that registered a name, with its version.
func originOf(module, version string) config.Origin {
	return config.Origin{Module: module, Version: version}
}

// check says whether a method can be used with a config.
func check(info method.Info, c config.Config) error {
	s := Setup(c)
	if given := c.Network.Head; given != "" && info.Head != nil {
		if own := info.Head(s).Kind; own != "" && own != given {
			return fmt.Errorf("network.head: %s is given, but %s needs another head (%s). Remove network.head", given, info.Name,
				own)
		}
	}
	return info.CheckTogether(s)
}

// checkShift says what is wrong with the disturbances of a stream.
func checkShift(s config.Stream) error {
	kinds, err := stream.ParseShift(s.Shift.Kind)
	if err != nil {
		return err
	}
	for _, k := range shift.Kinds() {
		list, listed := s.Shift.Strengths(k), slices.Contains(kinds, k)
		if len(list) > 0 && !listed {
			return fmt.Errorf("strengths of %s are given, but the images are not disturbed by it. Add %s to stream.shift.kind, or remove the strengths",
				k, k)
		}
	}
	if s.Kind != "" && (s.Kind == config.KindShift) != (len(kinds) > 0) {
		return fmt.Errorf("the kind of stream is %s, but stream.shift.kind is %q. Use --stream shift with stream.shift.kind=noise, occlusion or blur, or neither",
			s.Kind, s.Shift.Kind)
	}
	return nil
}

// Values of Config.Network.Name.
const (
	ResNet18 = arch.NameResNet18
	MLP      = arch.NameMLP
)

// Method is the entry of a method that a validated config names.
func Method(name string) method.Info {
	info, err := method.Lookup(name)
	if err != nil {
		panic("build: a validated config names an unknown method: " + name)
	}
	return info
}

// Architecture is the entry of the network that a validated config names, or of the one that its method computes.
func Architecture(c config.Config) arch.Info {
	name := c.Network.Name
	if of := solution(c); of != nil {
		name = NetworkName(c)
	}
	info, err := arch.Lookup(name)
	if err != nil {
		panic("build: a validated config names an unknown network: " + c.Network.Name)
	}
	return info
}

// OfImages says whether a network takes images alone, and no embeddings.
func OfImages(network string) bool {
	info, err := arch.Lookup(network)
	return err == nil && info.LeastSide > 1
}

// NetworkName returns the name of the network of a run in the catalogue of networks.
func NetworkName(c config.Config) string {
	switch of := solution(c); {
	case of == nil:
		return c.Network.Name
	case of.Hidden == nil:
		return arch.NameLinear
	}
	return MLP
}

// Hidden is the hidden layers of the network of a run that is a perceptron.
func Hidden(c config.Config) []int {
	if of := solution(c); of != nil {
		return of.Hidden
	}
	return c.Network.Hidden
}

// waves says whether the hidden layers of the network of a run have cosines in place of ReLUs.
func waves(c config.Config) bool {
	of := solution(c)
	return of != nil && of.Waves
}

// solution describes the network that the method of a run computes; nil where it trains one.
func solution(c config.Config) *method.Solution {
	solves := Method(c.Methods[0]).Solves
	if solves == nil {
		return nil
	}
	of := solves(Setup(c))
	return &of
}

// Tricks are the names of the tricks of a run.
func Tricks(c config.Config) []string {
	names, err := method.ParseTricks(c.Tricks[0])
	if err != nil {
		panic("build: a validated config has tricks that cannot be read: " + c.Tricks[0])
	}
	return names
}
