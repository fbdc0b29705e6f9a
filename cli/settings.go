package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ocl/config"
	"ocl/data"
	"ocl/internal/escape"
	"ocl/internal/nearest"
	"ocl/learn/method"
	"ocl/run/build"
	"ocl/run/experiment"
)

// Groups of flags in the help, besides those of package config.
const groupOutput = "Output"

// settingsHelp ends the help of commands that take KEY=VALUE.
const settingsHelp = "KEY=VALUE sets any key of the config, such as optimizer.name=adam; `ocl config keys` lists all keys."

// configFlags has the parts of a command line that make a config: a file, flags for the keys that are given most, and
// KEY=VALUE for every key.
type configFlags struct {
	flags *pflag.FlagSet
	file  string
	pairs []string          // KEY=VALUE
	words []string          // the other words of the command line
	own   map[string]string // by key, the flags that only this command has
	// several says how this command tries several values of a key.
	several func(key, values string) string
	// settle changes the config after the file was read and before the flags are; nil changes nothing.
	settle func(*config.Config)
	// takes says whether the command takes a key of package config, or the option of a method, of which it sees the name
	// alone; nil takes all.
	takes func(config.Key) bool
}

// addConfig makes cmd a command with a config: words are what stands before KEY=VALUE, such as RUN. Keys that takes
// refuses have no flag, and KEY=VALUE does not set them. A command with a file has --config.
func addConfig(cmd *cobra.Command, file bool, takes func(config.Key) bool, words ...string) *configFlags {
	c := &configFlags{flags: cmd.Flags(), takes: takes, several: inStudy}
	cmd.Use += " [KEY=VALUE...]"
	cmd.Args = c.args(words...)
	complete := cmd.ValidArgsFunction
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) < len(words) && complete != nil {
			return complete(cmd, args, word)
		}
		return c.complete(word)
	}
	if file {
		c.flags.StringVarP(&c.file, "config", "c", "",
			"config file (YAML), or the result.json of a run to repeat it; everything else overrides it")
		annotate(c.flags, config.GroupData, "config", "FILE")
		_ = cmd.MarkFlagFilename("config", "yaml", "yml", "json")
	}
	for _, group := range []string{config.GroupData, config.GroupMethod, config.GroupTraining} {
		for _, k := range experiment.Schema().Keys() {
			if k.Group == group && c.has(k) {
				addKey(cmd, k, k.Flag(), k.Group, k.Value)
			}
		}
	}
	return c
}

// has says whether the command takes a key.
func (c *configFlags) has(k config.Key) bool { return c.takes == nil || c.takes(k) }

// addOwn gives the command a flag of its own for a key of tuning.
func (c *configFlags) addOwn(cmd *cobra.Command, key, flag, value string) {
	if c.own == nil {
		c.own = map[string]string{}
	}
	c.own[key] = flag
	for _, k := range config.Keys() {
		if k.Name == key {
			addKey(cmd, k, flag, groupTuning, value)
		}
	}
}

// addKey defines a flag for a key.
func addKey(cmd *cobra.Command, k config.Key, flag, group, value string) {
	usage := k.Help
	if k.Unset != "" && !k.Place {
		usage += " (default: " + k.Unset + ")"
	}
	f := cmd.Flags().VarPF(&settingValue{list: k.List(), kind: value, text: k.Default()}, flag, "", usage)
	annotate(cmd.Flags(), group, f.Name, value)
	completeFlag(cmd, f.Name, func() []string { return choicesOf(k) })
}

// choicesOf are the values of a key, or of each entry of its list, where they can be listed.
func choicesOf(k config.Key) []string {
	if k.Name == "tricks" {
		return trickNames()
	}
	if k.Truth() {
		return []string{"true", "false"}
	}
	return experiment.Schema().Choices(k)
}

// complete completes KEY= and its values.
func (c *configFlags) complete(word string) (list []string, how cobra.ShellCompDirective) {
	add := func(text string) {
		if strings.HasPrefix(text, word) {
			list = append(list, text)
		}
	}
	key, _, given := strings.Cut(word, "=")
	if !given {
		for _, name := range c.names() {
			add(name + "=")
		}
		return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	for _, k := range config.Keys() {
		if k.Name == key {
			for _, choice := range choicesOf(k) {
				add(key + "=" + choice)
			}
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// names are the keys that the command takes, with those of the options of methods.
func (c *configFlags) names() []string {
	refused := map[string]bool{}
	for _, k := range config.Keys() {
		refused[k.Name] = !c.has(k)
	}
	return slices.DeleteFunc(experiment.Schema().Names(), func(name string) bool {
		return refused[name] || strings.HasPrefix(name, "method.") && !c.has(config.Key{Name: name})
	})
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

// args takes KEY=VALUE from the words of a command line. The others must be as many as are named.
func (c *configFlags) args(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		c.pairs, c.words = pairsOf(args)
		if len(names) == 0 && len(c.words) > 0 {
			return usage(noPair(cmd, c.words[0]))
		}
		return exactly(names...)(cmd, c.words)
	}
}

// pairsOf parts the words of a command line.
func pairsOf(args []string) (pairs, words []string) {
	for _, word := range args {
		if isPair(word) {
			pairs = append(pairs, word)
		} else {
			words = append(words, word)
		}
	}
	return pairs, words
}

// isPair says whether a word is KEY=VALUE. A path with an equals sign in it has a slash before that.
func isPair(word string) bool {
	key, _, is := strings.Cut(word, "=")
	return is && key != "" && !strings.ContainsAny(key, `/\ `)
}

// noPair is the error about a word that is neither a flag nor KEY=VALUE, with the form that works where the word is a
// name.
func noPair(cmd *cobra.Command, word string) error {
	remedy := fmt.Sprintf("Write KEY=VALUE, such as optimizer.lr=0.05; `%s --help` lists all flags", cmd.CommandPath())
	name := strings.Trim(word, ",")
	switch {
	case slices.Contains(methodNames(), name):
		remedy = fmt.Sprintf("Write --method %s, with commas and no spaces between several methods", name)
	case slices.Contains(trickNames(), name):
		remedy = fmt.Sprintf("Write --trick %s. Commas between tricks make a run with each, and plus signs make one run with all",
			escape.Word(name))
	case slices.Contains(experiment.Schema().Names(), name):
		remedy = fmt.Sprintf("Write %s=VALUE", name)
	}
	return fmt.Errorf("%s: %q is neither a flag nor KEY=VALUE. %s", pathOf(cmd), word, remedy)
}

// setting is a value that the command line gives a key. as is how the key is written there, such as --lr or
// optimizer.lr.
type setting struct{ as, key, text string }

// given lists the keys that the command line sets: flags in the order of the keys, then KEY=VALUE.
func (c *configFlags) given() (list []setting) {
	for _, k := range config.Keys() {
		if f := c.flags.Lookup(cmp.Or(c.own[k.Name], k.Flag())); f != nil && f.Changed {
			list = append(list, setting{"--" + f.Name, k.Name, f.Value.String()})
		}
	}
	for _, pair := range c.pairs {
		key, text, _ := strings.Cut(pair, "=")
		list = append(list, setting{key, key, text})
	}
	return list
}

// text returns the value of a key on the command line; is says whether there is one.
func (c *configFlags) text(key string) (text string, is bool) {
	for _, g := range c.given() {
		if g.key == key {
			text, is = g.text, true
		}
	}
	return text, is
}

// config resolves defaults, then the file, then the flags, then KEY=VALUE, and validates the outcome. The error is
// wrong usage and reports everything at once. What is worth knowing about the file is written to notes.
func (c *configFlags) config(notes io.Writer) (config.Config, error) {
	if name, is := c.text("data.name"); is {
		if err := isPath(name); err != nil {
			return config.Config{}, usage(err) // what else is wrong depends on the data set
		}
	}
	cfg, schema := config.Default(), experiment.Schema()
	var fileNotes []string
	var from config.Places
	var faults []error
	if c.file != "" {
		var err error
		if cfg, from, fileNotes, err = experiment.Load(c.file); err != nil {
			faults = append(faults, err) // and those of what could be read, below
		}
	}
	if c.settle != nil {
		c.settle(&cfg)
	}
	fault := func(g setting, err error) {
		text := strings.TrimPrefix(err.Error(), "config: ")
		if g.as != g.key {
			text = g.as + ": " + text
		}
		faults = append(faults, errors.New(text))
	}
	var set []setting
	allowed := c.names()
	for _, g := range c.given() {
		if c.own[g.key] == "" && !slices.Contains(allowed, g.key) && slices.Contains(schema.Names(), g.key) {
			faults = append(faults, fmt.Errorf("%s cannot be set for this command. Remove it", g.as))
		} else if err := schema.Set(&cfg, g.key, g.text); err != nil {
			if c.isSeveral(g) {
				err = fmt.Errorf("%s are several values, and %s takes one. %s", g.text, g.key, c.several(g.key, g.text))
			}
			fault(g, err)
		} else {
			from.Forget(g.key)
			set = append(set, g)
		}
	}
	for _, g := range set { // once the lists of methods and tricks are known
		if err := schema.CheckGiven(cfg, g.key); err != nil {
			fault(g, err)
		}
	}
	// the default gives way to one that takes embeddings, and what somebody wants does not
	if name, named := c.text("network.name"); named && cfg.Data.Backbone != "" {
		if build.OfImages(name) {
			faults = append(faults, fmt.Errorf("--network %s takes images, but data.backbone makes embeddings. Use linear or mlp, or leave out --network",
				name))
		}
	}
	if err := schema.ValidateAt(cfg, from); err != nil {
		faults = append(faults, err)
	}
	if len(faults) == 0 {
		printNotes(notes, fileNotes)
	}
	return cfg, usage(errors.Join(faults...))
}

// isSeveral says whether the command line gives several values, with commas, to a key that takes one.
func (c *configFlags) isSeveral(g setting) bool {
	values := strings.Split(g.text, ",")
	i := slices.IndexFunc(config.Keys(), func(k config.Key) bool { return k.Name == g.key })
	if len(values) < 2 || i >= 0 && config.Keys()[i].List() {
		return false
	}
	return !slices.ContainsFunc(values, func(v string) bool {
		cfg := config.Default()
		return experiment.Schema().Set(&cfg,
			g.key, v) != nil
	})
}

// inStudy says how a study tries several values of a key.
func inStudy(key, values string) string {
	text := "[" + strings.ReplaceAll(values, ",", ", ") + "]"
	parts := strings.Split(key, ".")
	for i := len(parts) - 1; i > 0; i-- {
		text = "{" + parts[i] + ": " + text + "}"
	}
	return fmt.Sprintf("Write `%s: %s` in a study file, for `ocl sweep`", parts[0], text)
}

// fixed lists the arguments for the part of the config that a resumed experiment keeps. The places of the data and of
// files of weights are not among it, as these may have moved.
func (c *configFlags) fixed() (list []string) {
	if c.file != "" {
		list = append(list, "--config")
	}
	for _, g := range c.given() {
		if g.key != "data.dir" && g.key != "data.backbone" && g.key != "network.init" {
			list = append(list, g.as)
		}
	}
	return list
}

// isPath is an error if the name of a data set is the path of one.
func isPath(name string) error {
	if slices.Contains(data.Names(), name) {
		return nil
	}
	_, err := os.Stat(name)
	set, known := data.ByPath(name)
	switch {
	case known:
		return fmt.Errorf("--data: %q is a path, not a data set. Write --data %s --data-dir %s", name, set.Name,
			escape.Word(name))
	case err == nil && nearest.Word(name, data.Names()) == "":
		return fmt.Errorf("--data: %q is a path, not a data set. Write --data NAME --data-dir %s; `ocl data list` lists the names",
			name, escape.Word(name))
	}
	return nil
}

func methodNames() []string {
	return each(method.Catalogue(), func(i method.Info) string { return i.Name })
}

// trickNames are the names that --trick combines.
func trickNames() []string {
	return append([]string{config.NoTrick}, each(method.Tricks(), func(t method.Trick) string { return t.Name })...)
}
