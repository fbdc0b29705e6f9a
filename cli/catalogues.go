package cli

import (
	"ocl/data"
	"ocl/data/stream"
	"ocl/learn/method"
)

// methodJSON is the JSON that `ocl methods --json` prints of a method. Lists and maps are never null.
type methodJSON struct {
	Name           string   `json:"name"`
	Title          string   `json:"title"`
	Group          string   `json:"group"`
	Summary        string   `json:"summary"`
	Idea           string   `json:"idea"`
	Formula        string   `json:"formula"`
	UsesMemory     bool     `json:"uses_memory"`     // it stores samples
	TaskBoundaries bool     `json:"task_boundaries"` // it is told when a task begins and ends
	StoredTasks    bool     `json:"stored_tasks"`    // it needs to know which task a stored sample came from
	Deferred       bool     `json:"deferred"`        // it learns when it prepares for an evaluation
	Offline        bool     `json:"offline"`         // it learns all tasks at once
	Prediction     string   `json:"prediction"`      // the rule, in words
	Signals        []string `json:"signals"`         // supervisory signals besides the labels of each batch
	// keys of the config that it reads besides network and optimizer
	Settings []string          `json:"settings"`
	Options  []optionJSON      `json:"options"` // keys of its own
	Tuning   tuningJSON        `json:"tuning"`
	Cost     string            `json:"cost"`
	Expect   string            `json:"expect"`
	Refuses  map[string]string `json:"refuses"` // by name of a trick, why the method does not take it
	Citation string            `json:"citation"`
	Module   string            `json:"module,omitempty"` // another one that registered the method, with its version
	Version  string            `json:"version,omitempty"`
}

// optionJSON is a key of one method alone. Default is of the type, which is named as in JSON Schema.
type optionJSON struct {
	Name    string   `json:"name"`
	Key     string   `json:"key"`
	Type    string   `json:"type"` // boolean, string, integer or number
	Default any      `json:"default"`
	Range   string   `json:"range"` // in words
	Choices []string `json:"choices"`
	Meaning string   `json:"meaning"`
}

// tuningJSON is the grids to try: the survey's table and its authors' files.
type tuningJSON struct {
	Paper   []axisJSON `json:"paper"`
	Authors []axisJSON `json:"authors"`
}

type axisJSON struct {
	Key    string `json:"key"`
	Values []any  `json:"values"`
}

func newMethodJSON(info method.Info) methodJSON {
	m := methodJSON{
		Name: info.Name, Title: info.Title, Group: info.Group(), Summary: info.Summary, Idea: info.Idea, Formula: info.Formula,
		UsesMemory: info.UsesMemory, TaskBoundaries: info.TaskBoundaries, StoredTasks: info.StoredTasks,
		Deferred: info.Deferred, Offline: info.Offline,
		Prediction: info.Rule(), Signals: notNil(info.Signals), Settings: notNil(info.Settings),
		Tuning: tuningJSON{newAxesJSON(info.Paper), newAxesJSON(info.Authors)}, Cost: info.CostPerStep, Expect: info.Expect,
		Refuses: notNilMap(info.Refuses), Citation: info.Citation,
	}
	m.Module, m.Version = info.Origin()
	m.Options = newOptionsJSON(info.Name, info.Options)
	return m
}

// newOptionsJSON are the options of a method or a trick.
func newOptionsJSON(of string, options []method.Option) []optionJSON {
	list := []optionJSON{}
	for _, o := range options {
		list = append(list, optionJSON{
			Name: o.Name, Key: "method." + of + "." + o.Name, Type: typeName(o.Default), Default: o.Default,
			Range: o.Wanted(), Choices: notNil(o.Choices), Meaning: o.Meaning,
		})
	}
	return list
}

// typeName returns the name in JSON Schema of the type of an option's value.
func typeName(v any) string {
	switch v.(type) {
	case bool:
		return "boolean"
	case string:
		return "string"
	case int:
		return "integer"
	}
	return "number"
}

func newAxesJSON(g method.Grid) []axisJSON {
	axes := []axisJSON{}
	for _, a := range g {
		axes = append(axes, axisJSON{a.Key, a.Values})
	}
	return axes
}

// trickJSON is the JSON that `ocl methods --tricks --json` prints of a trick.
type trickJSON struct {
	Name           string            `json:"name"`
	Title          string            `json:"title"`
	Summary        string            `json:"summary"`
	Idea           string            `json:"idea"`
	Formula        string            `json:"formula"`
	TaskBoundaries bool              `json:"task_boundaries"` // it is told when a task begins and ends
	ClassesOnce    bool              `json:"classes_once"`    // it makes no sense where a class occurs in several tasks
	Signals        []string          `json:"signals"`
	Settings       []string          `json:"settings"`
	Options        []optionJSON      `json:"options"`
	Methods        []string          `json:"methods"`    // that take it
	RefusedBy      map[string]string `json:"refused_by"` // by name of a method, why
	Excludes       map[string]string `json:"excludes"`   // by name of another trick, why the two do not go together
	Cost           string            `json:"cost"`
	Expect         string            `json:"expect"`
	Citation       string            `json:"citation"`
}

func newTrickJSON(t method.Trick) trickJSON {
	takes, _ := takers(t)
	j := trickJSON{
		Name: t.Name, Title: t.Title, Summary: t.Summary, Idea: t.Idea, Formula: t.Formula,
		TaskBoundaries: t.TaskBoundaries(),
		ClassesOnce:    t.ClassesOnce, Signals: notNil(t.Signals), Settings: notNil(t.Settings), Methods: notNil(takes),
		Options: newOptionsJSON(t.Name, t.Options), RefusedBy: map[string]string{},
		Excludes: map[string]string{}, Cost: t.Cost, Expect: t.Expect, Citation: t.Citation,
	}
	for _, info := range method.Catalogue() {
		if reason, refused := info.Refuses[t.Name]; refused {
			j.RefusedBy[info.Name] = reason
		}
	}
	for _, other := range method.Tricks() {
		if reason, excluded := t.Excludes(other); excluded {
			j.Excludes[other.Name] = reason
		}
	}
	return j
}

// dataJSON is the JSON that `ocl data list --json` prints of a data set. Numbers are null where the file decides.
type dataJSON struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	Summary     string `json:"summary"`
	Classes     *int   `json:"classes"`
	Train       *int   `json:"train"` // images, by default
	Test        *int   `json:"test"`
	Shape       string `json:"shape"`
	NeedsDir    bool   `json:"needs_dir"`     // --data-dir is needed
	Cached      bool   `json:"cached"`        // its images are decoded into a cache
	MinSize     *int   `json:"min_size"`      // bounds of data.size, of drawn images
	MaxSize     *int   `json:"max_size"`      //
	MaxPerClass *int   `json:"max_per_class"` // of data.train_per_class and data.test_per_class
	Layout      string `json:"layout"`
	Source      string `json:"source"`
	Licence     string `json:"licence"`
	Citation    string `json:"citation"`
	Example     string `json:"example"`
}

func newDataJSON(i data.Info) dataJSON {
	known := func(n int) *int {
		if n == 0 {
			return nil
		}
		return &n
	}
	return dataJSON{
		Name: i.Name, Title: i.Title, Summary: i.Summary, Classes: known(i.Classes), Train: known(i.Train),
		Test: known(i.Test), Shape: i.Shape,
		NeedsDir: i.NeedsDir, Cached: i.Cached(), MinSize: known(i.MinSize), MaxSize: known(i.MaxSize),
		MaxPerClass: known(i.MaxPerClass),
		Layout:      i.Layout, Source: i.Source, Licence: i.Licence, Citation: i.Citation, Example: i.Example,
	}
}

// kindJSON is the JSON that `ocl data streams --json` prints of a kind of stream.
type kindJSON struct {
	Name     string `json:"name"`
	Scenario string `json:"scenario"`
	Summary  string `json:"summary"`
}

func newKindJSON(k stream.Kind) kindJSON { return kindJSON{k.Name, string(k.Scenario), k.Summary} }

// each converts every entry of a catalogue.
func each[T, J any](list []T, convert func(T) J) []J {
	out := make([]J, len(list))
	for i, v := range list {
		out[i] = convert(v)
	}
	return out
}

func notNil(list []string) []string { return append([]string{}, list...) }

func notNilMap(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}
