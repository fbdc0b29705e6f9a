package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ocl/data"
	"ocl/experiment"
	"ocl/experiment/result"
	"ocl/method"
)

// Groups of flags in the help.
const (
	groupConfig   = "Config"
	groupData     = "Data"
	groupMethod   = "Method"
	groupTraining = "Training"
	groupOutput   = "Output"
)

// setting is a flag that sets one key of the config.
type setting struct {
	flag, key, group string
	value            string // how the value is called in the help; "" is a switch
	usage            string
	list             bool // given twice, the values are joined
	complete         func() []string
}

// settings are all flags of the config, in the order of the help.
var settings = []setting{
	{flag: "data", key: "data.name", group: groupData, value: "NAME", usage: "data set; `ocl data list` shows them", complete: data.Names},
	{flag: "data-dir", key: "data.dir", group: groupData, value: "PATH",
		usage: "the data set's folder, archive or file, or a folder that holds it under its published name"},
	{flag: "size", key: "data.size", group: groupData, value: "PIXELS", usage: "side of drawn pictures (default: the data set's own)"},
	{flag: "train-per-class", key: "data.train_per_class", group: groupData, value: "N", usage: "drawn training pictures a class (default: the data set's own)"},
	{flag: "test-per-class", key: "data.test_per_class", group: groupData, value: "N", usage: "drawn test pictures a class (default: the data set's own)"},
	{flag: "tasks", key: "stream.tasks", group: groupData, value: "T", usage: "tasks of the stream; they share the classes equally"},
	{flag: "class-order", key: "stream.class_order", group: groupData, value: "ORDER", usage: "random (by seed), given, or a list of all classes, such as 2,0,1"},
	{flag: "drop-last", key: "stream.drop_last", group: groupData,
		usage: "leave out a task's last batch when it is not full (default: only under the survey and tuning protocols)"},
	{flag: "augment", key: "stream.augment", group: groupData, usage: "crop and flip incoming pictures"},
	{flag: "protocol", key: "protocol", group: groupData, value: "NAME",
		usage:    "standard (all tasks), survey (leaves the first two to tuning) or tuning (those two alone)",
		complete: words(experiment.ProtocolStandard, experiment.ProtocolSurvey, experiment.ProtocolTuning)},
	{flag: "eval", key: "eval", group: groupData, value: "WHAT",
		usage:    "test sets after each task: seen, all, or final (after the last task only) (default: by scenario)",
		complete: words(experiment.EvalSeen, experiment.EvalAll, experiment.EvalFinal)},

	{flag: "method", key: "methods", group: groupMethod, value: "NAME,...", list: true,
		usage: "methods, all with the same seeds and streams; `ocl methods` shows them", complete: methodNames},
	{flag: "trick", key: "tricks", group: groupMethod, value: "NAME,...", list: true, complete: trickNames,
		usage: "tricks of each method, a run for each; + combines, as in none,ncm,lb+rv; `ocl methods --tricks` shows them"},
	{flag: "memory", key: "memory", group: groupMethod, value: "M", usage: "samples in memory; of several methods, those without memory have none"},
	{flag: "replay-batch", key: "replay.batch", group: groupMethod, value: "N", usage: "samples replayed beside each incoming batch, and of each step of a review"},
	{flag: "iterations", key: "replay.iterations", group: groupMethod, value: "N", usage: "steps on each incoming batch"},
	{flag: "joint", key: "replay.joint", group: groupMethod, usage: "one pass over incoming and replayed samples together instead of two"},
	{flag: "teacher", key: "replay.teacher", group: groupMethod, value: "MODE", complete: words(experiment.TeacherEvaluation, experiment.TeacherTraining),
		usage: "statistics that the batch norm of a teacher (of lwf, icarl, kdc, kdc*) goes by: evaluation (the running ones) or training (those of the images it is shown)"},
	{flag: "classifiers", key: "classifiers", group: groupMethod, value: "NAME,...", list: true, complete: experiment.Classifiers,
		usage: "what predicts, evaluated side by side: head (the method's own rule), ncm (nearest class mean of the memory); the first one is the run's accuracy"},

	{flag: "network", key: "network.name", group: groupTraining, value: "NAME", usage: "resnet18 (reduced) or mlp", complete: words("mlp", "resnet18")},
	{flag: "width", key: "network.width", group: groupTraining, value: "NF", usage: "maps of the first stage of resnet18"},
	{flag: "hidden", key: "network.hidden", group: groupTraining, value: "N,...", list: true, usage: "units of the hidden layers of mlp"},
	{flag: "optimizer", key: "optimizer.name", group: groupTraining, value: "NAME", usage: "sgd or adam", complete: words("adam", "sgd")},
	{flag: "lr", key: "optimizer.lr", group: groupTraining, value: "RATE", usage: "learning rate"},
	{flag: "weight-decay", key: "optimizer.weight_decay", group: groupTraining, value: "RATE", usage: "weight decay"},
	{flag: "momentum", key: "optimizer.momentum", group: groupTraining, value: "SHARE", usage: "momentum of sgd"},
	{flag: "batch", key: "stream.batch", group: groupTraining, value: "B", usage: "samples in an incoming batch"},
	{flag: "seed", key: "seed", group: groupTraining, value: "S", usage: "seed of the first run"},
	{flag: "runs", key: "runs", group: groupTraining, value: "N", usage: "runs of each method, with the seeds S, S+1, …"},
}

func words(w ...string) func() []string { return func() []string { return w } }

// configFlags are the flags that make a config: a file, one flag for each setting, and --set for every key.
type configFlags struct {
	flags *pflag.FlagSet
	file  string
	set   []string
}

// addConfigFlags defines them on cmd.
func addConfigFlags(cmd *cobra.Command) *configFlags {
	c := &configFlags{flags: cmd.Flags()}
	c.flags.SortFlags = false
	c.flags.StringVarP(&c.file, "config", "c", "", "YAML file with a config, or the result.json of a run to repeat it; flags win over it")
	c.flags.StringArrayVar(&c.set, "set", nil, "set any key of the config; `ocl config show` lists the keys; may be given again")
	annotate(c.flags, groupConfig, map[string]string{"config": "FILE", "set": "KEY=VALUE"})
	defaults := defaultTexts()
	for _, s := range settings {
		v := &settingValue{list: s.list, kind: s.value, text: defaults[s.key]}
		f := c.flags.VarPF(v, s.flag, "", s.usage)
		f.DefValue = v.text
		if s.value == "" {
			v.kind, f.NoOptDefVal = "bool", "true"
		}
		annotate(c.flags, s.group, map[string]string{s.flag: s.value})
		if s.complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(s.flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return s.complete(), cobra.ShellCompDirectiveNoFileComp
			})
		}
	}
	return c
}

// settingValue keeps the text of a flag; the config itself judges it, so that all faults are reported at once.
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

// config resolves defaults, then the file, then the flags, then --set, and validates the outcome. What is wrong is wrong
// usage, all of it at once. On notes it says when the file is a result that this program may not reach again.
func (c *configFlags) config(notes io.Writer) (experiment.Config, error) {
	cfg := experiment.Default()
	if c.file != "" {
		var err error
		if cfg, err = experiment.Load(c.file); err != nil {
			return cfg, usage(err)
		}
	}
	var (
		faults []error
		given  []struct{ flag, key string }
	)
	for _, s := range settings {
		if f := c.flags.Lookup(s.flag); f.Changed {
			if err := cfg.Set(s.key, f.Value.String()); err != nil {
				faults = append(faults, fmt.Errorf("--%s: %w", s.flag, err))
			} else {
				given = append(given, struct{ flag, key string }{s.flag, s.key})
			}
		}
	}
	for _, pair := range c.set {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			faults = append(faults, fmt.Errorf("--set: found %q; want KEY=VALUE, such as optimizer.lr=0.05; add the equals sign", pair))
			continue
		}
		key = strings.TrimSpace(key)
		if err := cfg.Set(key, value); err != nil {
			faults = append(faults, fmt.Errorf("--set: %w", err))
			continue
		}
		given = append(given, struct{ flag, key string }{"set", key})
	}
	for _, g := range given { // once the lists of methods and tricks are known
		if err := cfg.CheckGiven(g.key); err != nil {
			faults = append(faults, fmt.Errorf("--%s: %w", g.flag, err))
		}
	}
	if err := cfg.Validate(); err != nil {
		faults = append(faults, err)
	}
	if n := cfg.Numbers(); n != 0 && n != result.Numbers && len(faults) == 0 {
		fmt.Fprintf(notes, "%s: made with numbers version %d; this program has %d, so its figures may differ\n", c.file, n, result.Numbers)
	}
	return cfg, usage(errors.Join(faults...))
}

// given lists the flags that the command line changes and that a resumed experiment has already: all of the config but
// the place of the data, which may have moved.
func (c *configFlags) given() []string {
	var names []string
	c.flags.Visit(func(f *pflag.Flag) {
		if group := annotation(f, groupKey); group != "" && group != groupOutput && f.Name != "data-dir" {
			names = append(names, "--"+f.Name)
		}
	})
	return names
}

// defaultTexts are the default values of all keys, as a flag shows them.
func defaultTexts() map[string]string {
	b, err := json.Marshal(experiment.Default())
	if err != nil {
		panic(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(b, &tree); err != nil {
		panic(err)
	}
	texts := map[string]string{}
	var walk func(prefix string, v any)
	walk = func(prefix string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, sub := range v {
				walk(strings.TrimPrefix(prefix+"."+k, "."), sub)
			}
		case []any:
			var items []string
			for _, item := range v {
				items = append(items, defaultText(item))
			}
			texts[prefix] = strings.Join(items, ",")
		default:
			texts[prefix] = defaultText(v)
		}
	}
	walk("", tree)
	return texts
}

func defaultText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

func methodNames() []string {
	var names []string
	for _, info := range method.Catalogue() {
		names = append(names, info.Name)
	}
	return names
}

// trickNames are what --trick takes, one at a time.
func trickNames() []string {
	names := []string{method.NoTrick}
	for _, t := range method.Tricks() {
		names = append(names, t.Name)
	}
	return names
}
