package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ocl/config"
	"ocl/data"
	"ocl/experiment"
	"ocl/method"
	"ocl/stream"
)

// Groups of flags in the help, besides those of package config.
const (
	groupConfig = "Config"
	groupOutput = "Output"
)

// configFlags are the flags that make a config: a file, a flag for each key that has one, and --set for every key.
type configFlags struct {
	flags *pflag.FlagSet
	file  string
	set   []string
	// settle changes the config after the file was read and before the flags are; nil changes nothing.
	settle func(*config.Config)
}

// addConfigFlags defines them on cmd, in the order of the keys.
func addConfigFlags(cmd *cobra.Command) *configFlags {
	return addSomeConfigFlags(cmd, func(config.Key) bool { return true })
}

// addSomeConfigFlags defines the flags of some keys. --config and --set take all keys.
func addSomeConfigFlags(cmd *cobra.Command, wanted func(config.Key) bool) *configFlags {
	c := &configFlags{flags: cmd.Flags()}
	c.flags.StringVarP(&c.file, "config", "c", "", "config file (YAML), or the result.json of a run to repeat it; flags override it")
	annotate(c.flags, groupConfig, map[string]string{"config": "FILE"})
	c.addKeys(cmd, wanted)
	return c
}

// addKeys defines --set and the flags of some keys.
func (c *configFlags) addKeys(cmd *cobra.Command, wanted func(config.Key) bool) {
	c.flags.SortFlags = false
	c.flags.StringArrayVar(&c.set, "set", nil, "set a key of the config; may be repeated; `ocl config keys` lists all keys")
	annotate(c.flags, groupConfig, map[string]string{"set": "KEY=VALUE"})
	for _, group := range []string{config.GroupData, config.GroupMethod, config.GroupTraining} {
		for _, k := range config.Keys() {
			if k.Flag != "" && k.Group == group && wanted(k) {
				addKey(cmd, k)
			}
		}
	}
}

// addKey defines the flag of a key.
func addKey(cmd *cobra.Command, k config.Key) {
	usage := k.Help
	if k.Unset != "" && !k.Place {
		usage += " (default: " + k.Unset + ")"
	}
	v := &settingValue{list: k.List(), kind: k.Value, text: k.Default()}
	f := cmd.Flags().VarPF(v, k.Flag, "", usage)
	f.DefValue = v.text
	if k.Value == "" {
		v.kind, f.NoOptDefVal = "bool", "true"
	}
	annotate(cmd.Flags(), k.Group, map[string]string{k.Flag: k.Value})
	names := func() []string { return k.Choices }
	switch k.Name {
	case "data.name":
		names = data.Names
	case "stream.kind":
		names = streamNames
	case "methods":
		names = methodNames
	case "tricks":
		names = trickNames
	}
	if len(names()) > 0 {
		_ = cmd.RegisterFlagCompletionFunc(k.Flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return names(), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// settingValue keeps the text of a flag. The config checks it, so that all faults are reported at once.
type settingValue struct {
	text, kind string
	list, set  bool
}

func (v *settingValue) String() string { return v.text }
func (v *settingValue) Type() string   { return v.kind }
func (v *settingValue) Set(s string) error {
	if v.list && v.set {
		s = v.text + "," + s
	}
	v.text, v.set = s, true
	return nil
}

// config resolves defaults, then the file, then the flags, then --set, and validates the outcome. The error is wrong usage
// and reports everything at once. What is worth knowing about the file is written to notes.
func (c *configFlags) config(notes io.Writer) (config.Config, error) {
	if f := c.flags.Lookup("data"); f != nil && f.Changed {
		if err := isPath(f.Value.String()); err != nil {
			return config.Config{}, usage(err) // what else is wrong depends on the data set
		}
	}
	cfg, schema := config.Default(), experiment.Schema()
	var told []string
	var from config.Places
	var faults []error
	if c.file != "" {
		var err error
		if cfg, from, told, err = experiment.Load(c.file); err != nil {
			faults = append(faults, err) // and those of what could be read, below
		}
	}
	if c.settle != nil {
		c.settle(&cfg)
	}
	var given []struct{ flag, key string }
	set := func(flag, key, value string) {
		if err := schema.Set(&cfg, key, value); err != nil {
			faults = append(faults, fmt.Errorf("--%s: %s", flag, strings.TrimPrefix(err.Error(), "config: ")))
			return
		}
		from.Forget(key)
		given = append(given, struct{ flag, key string }{flag, key})
	}
	for _, k := range config.Keys() {
		if f := c.flags.Lookup(k.Flag); k.Flag != "" && f != nil && f.Changed {
			set(k.Flag, k.Name, f.Value.String())
		}
	}
	for _, pair := range c.set {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			faults = append(faults, fmt.Errorf("--set: %q has no equals sign. Give KEY=VALUE, such as optimizer.lr=0.05", pair))
			continue
		}
		set("set", strings.TrimSpace(key), value)
	}
	for _, g := range given { // once the lists of methods and tricks are known
		if err := schema.CheckGiven(cfg, g.key); err != nil {
			faults = append(faults, fmt.Errorf("--%s: %w", g.flag, err))
		}
	}
	if err := schema.ValidateAt(cfg, from); err != nil {
		faults = append(faults, err)
	}
	if len(faults) == 0 {
		for _, note := range told {
			fmt.Fprintln(notes, note)
		}
	}
	return cfg, usage(errors.Join(faults...))
}

// given lists the flags of the config on the command line, which a resumed experiment does not take. The places of the data
// and of the first weights are not among them, as these may have moved.
func (c *configFlags) given() []string {
	var names []string
	c.flags.Visit(func(f *pflag.Flag) {
		if group := annotation(f, groupKey); group != "" && group != groupOutput && f.Name != "data-dir" && f.Name != "init" {
			names = append(names, "--"+f.Name)
		}
	})
	return names
}

func methodNames() []string {
	var names []string
	for _, info := range method.Catalogue() {
		names = append(names, info.Name)
	}
	return names
}

func streamNames() []string {
	var names []string
	for _, k := range stream.Kinds() {
		names = append(names, k.Name)
	}
	return names
}

// trickNames are the names that --trick combines.
func trickNames() []string {
	names := []string{config.NoTrick}
	for _, t := range method.Tricks() {
		names = append(names, t.Name)
	}
	return names
}
