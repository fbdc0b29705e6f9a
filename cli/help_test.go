package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"ocl/config"
)

// TestHelp: the help of each command has one sentence first, then two examples, in at most 100 columns.
func TestHelp(t *testing.T) {
	root := newRoot(&bytes.Buffer{}, &bytes.Buffer{})
	for _, cmd := range allCommands(root) {
		text := helpText(cmd)
		lines := strings.Split(text, "\n")
		for _, l := range lines {
			if columns(l) > helpWidth {
				t.Errorf("%s: %d columns, want at most %d: %s", cmd.CommandPath(), columns(l), helpWidth, l)
			}
		}
		if !regexp.MustCompile(`^[A-Z][^.]*\.$`).MatchString(cmd.Short) {
			t.Errorf("%s: the first line is %q, want one sentence", cmd.CommandPath(), cmd.Short)
		}
		examples := strings.Split(strings.Trim(cmd.Example, "\n"), "\n")
		if len(examples) < 2 {
			t.Errorf("%s: %d examples, want two", cmd.CommandPath(), len(examples))
		}
		for _, e := range examples { // TestLinesOfDocs parses them
			if call(e) == "" {
				t.Errorf("%s: example %q does not call ocl", cmd.CommandPath(), e)
			}
		}
	}
}

// TestCommandLineIsSmall: there are at most 20 commands, `ocl run` has at most 30 flags in four groups, and its help
// fits two screens.
func TestCommandLineIsSmall(t *testing.T) {
	root := newRoot(&bytes.Buffer{}, &bytes.Buffer{})
	if names := commandNames(root); len(names) > 20 {
		t.Errorf("%d commands: %v", len(names), names)
	}
	run := child(root, "run")
	flags, groups := 0, map[string]bool{}
	run.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if flags++; root.PersistentFlags().Lookup(f.Name) == nil {
			groups[annotation(f, groupKey)] = true
		}
	})
	if lines := strings.Count(helpText(run), "\n"); flags > 30 || len(groups) > 4 || lines > 100 {
		t.Errorf("ocl run has %d flags in the groups %v, and its help %d lines", flags, groups, lines)
	}
	for _, cmd := range allCommands(root) {
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && annotation(f, groupKey) == "" {
				t.Errorf("%s: --%s has no group", cmd.CommandPath(), f.Name)
			}
			if isSwitch := f.Value.Type() == "bool"; f.Name != "help" && isSwitch != (annotation(f, valueKey) == "") {
				t.Errorf("%s: --%s has value name %q and type %s", cmd.CommandPath(), f.Name, annotation(f, valueKey),
					f.Value.Type())
			}
		})
	}
}

// TestShownIsRunAgain: for every flag of the config, and for of every key, what `ocl config show` prints is the same
// experiment when it is read back.
func TestShownIsRunAgain(t *testing.T) {
	base := []string{"config", "show", "--method", "er,icarl,ewc++,offline"}
	other := map[string]string{ // a value that is not the default
		"data.name": "npz", "data.dir": "x.npz", "data.size": "64", "stream.kind": "domains", "data.train_per_class": "7",
		"data.test_per_class": "7", "stream.tasks": "20",
		"stream.batch": "5", "stream.class_order": "given", "stream.drop_last": "true", "stream.held_out": "true",
		"stream.mean":   "0.5,0.25,1e-3",
		"data.channels": "3", "data.seed": "5", "data.unreadable": "skip", "data.reading": "list:breed", "data.domains": "noise",
		"stream.task_classes": "10,50,40", "stream.task_signals": "false", "stream.blurry": "0.25",
		"stream.long_tail": "0.01", "stream.class_counts": "1,2,3", "stream.shift.kind": "blur+noise",
		"stream.shift.noise_strengths": "0,0.5",
		"stream.iblurry.disjoint":      "20", "stream.iblurry.blurry": "30", "stream.delay": "2", "stream.label_delay": "3",
		"stream.shift.occlusion_strengths": "0,0.25", "stream.shift.blur_strengths": "0,1.5",
		"stream.shift.occlusion": "per-image",
		"stream.shift.blur":      "cross-image",
		"stream.std":             "1,2,3", "methods": "er,gss", "tricks": "none,rv", "memory": "70", "memory_bytes": "1000000", "classifiers": "head,ncm",
		"replay.batch":  "7",
		"replay.passes": "12", "replay.iterations": "3", "replay.joint": "true", "replay.augment": "true", "replay.teacher": "training",
		"replay.kdc_star": "authors", "replay.update": "greedy", "replay.from": "memory", "replay.latent": "true", "replay.latent_bits": "8", "network.name": "mlp",
		"network.width":  "3",
		"network.hidden": "9", "network.head": "cosine", "network.freeze": "2", "data.backbone": "b.safetensors",
		"data.backbone_digest": "sha256:" + strings.Repeat("6", 64), "network.init": "w.safetensors",
		"network.init_digest": "sha256:" + strings.Repeat("5", 64), "optimizer.name": "adam", "optimizer.lr": "1e-7",
		"optimizer.weight_decay": "0.5", "optimizer.momentum": "0.9",
		"protocol": "survey", "eval": "final", "eval_every": "9", "eval_sample": "3",
		"eval_online": "true", "eval_ahead": "4", "eval_probe": "5", "seed": "18446744073709551614", "seeds.order": "5",
		"seeds.init":   "6",
		"seeds.memory": "7", "runs": "2", "engine.kernel": "generic", "engine.convolution": "direct",
		"parent.run": "runs/er1k", "parent.checkpoint": "sha256:0",
		"tune.grid": "paper", "tune.by": "retention", "tune.search": "halving", "tune.points": "5", "tune.repeats": "2", "tune.seed": "3",
	}
	beside := map[string][]string{
		"data.name": {"--data-dir", "x.npz"}, "data.unreadable": {"--data", "folder", "--data-dir", "x"},
		"data.reading": {"--data", "folder", "--data-dir", "x"},
		"data.dir":     {"--data", "npz"}, "classifiers": {"--method", "er"},
		"stream.mean": {"stream.std=1,1,1"}, "stream.std": {"stream.mean=0,0,0"},
		"stream.task_classes": {"--tasks", "3"}, "stream.task_signals": {"--method", "er"},
		"stream.shift.noise_strengths": {"stream.shift.kind=noise"},
		"stream.iblurry.disjoint":      {"stream.kind=iblurry"}, "stream.iblurry.blurry": {"stream.kind=iblurry"},
		"stream.shift.occlusion_strengths": {"stream.shift.kind=occlusion"},
		"stream.shift.blur_strengths":      {"stream.shift.kind=blur"}, "stream.shift.occlusion": {"stream.shift.kind=occlusion"},
		"stream.shift.blur": {"stream.shift.kind=blur"},
		"replay.latent":     {"--freeze", "1"}, "replay.latent_bits": {"--freeze", "1", "replay.latent=true"},
		"methods": {}, "tricks": {"--method", "er"}, "replay.kdc_star": {"--method", "er", "--trick", "kdc*"},
		"eval_sample": {"eval_every=9"}, "eval_online": {"--method", "er"}, "eval_ahead": {"--method", "er"},
		"replay.update": {"--method", "er"}, "replay.from": {"--method", "er"},
		"network.hidden":      {"--network", "mlp"},
		"parent.checkpoint":   {"parent.run=runs/er1k"},
		"network.init_digest": {"network.init=w.safetensors"}, "data.backbone_digest": {"--backbone", "b.safetensors"},
		"tune.by":   {"--protocol", "survey", "--tune", "paper"},
		"tune.grid": {"--protocol", "survey"}, "tune.search": {"--protocol", "survey", "--tune", "paper"},
		"tune.points":  {"--protocol", "survey", "--tune", "paper", "tune.search=random"},
		"tune.repeats": {"--protocol", "survey", "--tune", "paper"}, "tune.seed": {"--protocol", "survey", "--tune", "paper"},
	}
	show := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := execute(context.Background(), args, &out, &errs); code != exitDone {
			t.Fatalf("ocl %v: exit code %d: %s", args, code, errs.String())
		}
		return out.String()
	}
	file := filepath.Join(t.TempDir(), "shown.yaml")
	plain := show(base...)
	for _, k := range config.Keys() {
		value, ok := other[k.Name]
		if !ok {
			t.Errorf("%s: the test has no other value for it", k.Name)
			continue
		}
		ways := [][]string{{k.Name + "=" + value}}
		if k.Flag() != "" {
			ways = append(ways, []string{"--" + k.Flag() + "=" + value})
		}
		for _, way := range ways {
			args := base
			if more, special := beside[k.Name]; special {
				args = append([]string{"config", "show"}, more...)
			}
			shown := show(append(slices.Clone(args), way...)...)
			if shown == plain {
				t.Errorf("%v changes nothing", way)
			}
			for _, format := range []string{"yaml", "json"} {
				text := shown
				if format == "json" {
					text = show(append(append(slices.Clone(args), way...), "--json=all")...)
				}
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				if again := show("config", "show", "--config", file); again != shown {
					t.Errorf("%v as %s, read back:\n%s\nwant\n%s", way, format, again, shown)
				}
			}
		}
	}
}
