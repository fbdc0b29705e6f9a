package experiment

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ocl/experiment/result"
)

var ignoreGiven = cmpopts.IgnoreUnexported(Config{})

func TestDefaultIsValid(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
}

func TestYAMLRoundTrip(t *testing.T) {
	full := Default()
	full.Stream.ClassOrder = []int{2, 0, 1}
	full.Stream.Mean, full.Stream.Std = []float64{0.5, 0.25, 1e-3}, []float64{1, 2, 3}
	full.Seed = math.MaxUint64
	full.Optimizer.LR = 1e30
	full.Network.Hidden = []int{}
	full.Data.Dir = "a folder: with 'signs' #1"
	drop := true
	full.Stream.DropLast = &drop
	for _, c := range []Config{Default(), full, Default().Resolved()} {
		text, err := c.YAML()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse("x.yaml", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if d := cmp.Diff(c, got, ignoreGiven, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("changed by writing and reading: %s\n%s", d, text)
		}
		if c.canonical() != got.canonical() {
			t.Errorf("identity changed:\n%s\n%s", c.canonical(), got.canonical())
		}
	}
}

func TestParseFaults(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"unknown key", "seed: 1\nmemroy: 5\n",
			"config: x.yaml:2: memroy: unknown key; want a key that `ocl config show` lists; did you mean memory?"},
		{"unknown nested key", "optimizer:\n  lr: 0.1\n  learning: 2\n",
			"config: x.yaml:3: optimizer.learning: unknown key; want a key that `ocl config show` lists; did you mean optimizer.lr?"},
		{"misspelt section", "optimiser:\n  lr: 0.1\n", "config: x.yaml:1: optimiser: unknown key"},
		{"text for a number", "stream:\n  batch: ten\n",
			"config: x.yaml:2: stream.batch: found ten; want a whole number; correct the value"},
		{"fraction for a whole number", "runs: 1.5\n", "config: x.yaml:1: runs: found 1.5; want a whole number; correct the value"},
		{"negative seed", "seed: -1\n",
			"config: x.yaml:1: seed: found -1; want a whole number from 0 to 18446744073709551615; correct the value"},
		{"number for text", "protocol: 3\n", "config: x.yaml:1: protocol: found 3; want text; correct the value"},
		{"no value", "seed:\n", "config: x.yaml:1: seed: no value; want a whole number"},
		{"unknown method's option", "method:\n  err:\n    x: 1\n",
			"config: x.yaml:2: method.err: unknown method \"err\"; want a key that `ocl config show` lists; did you mean er?"},
		{"unknown option", "method:\n  er:\n    x: 1\n", "config: x.yaml:3: method.er.x: unknown option"},
		{"misspelt option", "method:\n  ewc++:\n    lamda: 1\n",
			"config: x.yaml:3: method.ewc++.lamda: unknown option; want one that `ocl methods ewc++` lists; did you mean method.ewc++.lambda?"},
		{"fraction for a whole option", "method:\n  ewc++:\n    every: 1.5\n", "config: x.yaml:3: method.ewc++.every: found 1.5; want a whole number"},
		{"bad list", "methods: [er, 3]\n", "config: x.yaml:1: methods: found [er, 3]; want a list, each text; correct the value"},
		{"bad order", "stream:\n  class_order: 3\n", "x.yaml:2: stream.class_order: found 3; want random, given or a list of all classes, such as 2,0,1"},
		{"bad list of classes", "stream:\n  class_order: 1,0,x\n", "x.yaml:2: stream.class_order: found 1,0,x; want"},
		{"no mapping", "- a\n", "config: x.yaml:1: found"},
		{"scalar for a section", "optimizer: sgd\n", "config: x.yaml:1: found sgd; want keys with values"},
		{"no YAML", "a: [\n", "config: x.yaml: "},
		{"key twice", "seed: 1\nseed: 2\n", "config: x.yaml: "},
		{"two documents", "seed: 1\n---\nseed: 2\n", "config: x.yaml: holds 2 documents; want one"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("x.yaml", []byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
	_, err := Parse("x.yaml", []byte("memroy: 1\nruns: x\nsed: 2\n"))
	if n := strings.Count(err.Error(), "\n"); n != 2 {
		t.Errorf("three faults are told in %d lines: %v", n+1, err)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml")); err == nil || !os.IsNotExist(unwrapAll(err)) {
		t.Errorf("missing file: %v", err)
	}
}

func unwrapAll(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			return err
		}
		err = u.Unwrap()
	}
}

func TestSet(t *testing.T) {
	c := Default()
	for _, kv := range [][2]string{
		{"optimizer.lr", "0.05"}, {"methods", "er"}, {"seed", "18446744073709551615"}, {"stream.class_order", "1, 0"},
		{"stream.mean", "0.1,0.2,0.3"}, {"stream.drop_last", "true"}, {"data.dir", "/a/b c"}, {"optimizer.weight_decay", "1"},
		{"network.hidden", "[]"}, {"memory", "7"},
	} {
		if err := c.Set(kv[0], kv[1]); err != nil {
			t.Error(err)
		}
	}
	drop := true
	want := Default()
	want.Optimizer.LR, want.Optimizer.WeightDecay, want.Methods, want.Seed = 0.05, 1, []string{"er"}, math.MaxUint64
	want.Stream.ClassOrder, want.Stream.Mean, want.Stream.DropLast = []int{1, 0}, []float64{0.1, 0.2, 0.3}, &drop
	want.Data.Dir, want.Network.Hidden, want.Memory = "/a/b c", []int{}, 7
	if d := cmp.Diff(want, c, ignoreGiven); d != "" {
		t.Error(d)
	}
	for _, tt := range [][3]string{
		{"optimizer.l", "1", "config: optimizer.l: unknown key; want a key that `ocl config show` lists; did you mean optimizer.lr?"},
		{"method.lwf.mc", "maybe", "config: method.lwf.mc: found maybe; want true or false"},
		{"method.lwf.temperature", "2", "want one that `ocl methods lwf` lists; choose one of method.lwf.mc"},
		{"runs", "many", "config: runs: found many; want a whole number; correct the value"},
		{"runs", "", "config: runs: no value; want a whole number"},
		{"data.dir", "[", "config: data.dir: \"[\" cannot be read"},
		{"runs", "99999999999999999999", "config: runs: found 99999999999999999999; want a whole number"},
	} {
		if err := c.Set(tt[0], tt[1]); err == nil || !strings.Contains(err.Error(), tt[2]) {
			t.Errorf("got  %v\nwant %s", err, tt[2])
		}
	}
}

// What a person asks for beside lists that do not read it is refused; the same in a file may be for another list.
func TestCheckGiven(t *testing.T) {
	for _, tt := range []struct{ methods, tricks, key, value, want string }{
		{"mir, agem", "none", "replay.joint", "true", "replay.joint: true, but mir, agem does not read it; want a method that does in the list: er, gss; take it away"},
		{"mir", "none", "replay.joint", "false", ""},
		{"mir, er", "none", "replay.joint", "true", ""},
		{"finetune, er", "none", "replay.teacher", "training", "replay.teacher: training, but finetune, er does not read it; want a method that does in the list: icarl, lwf; or a trick: kdc, kdc*; take it away"},
		{"er", "none, kdc", "replay.teacher", "training", ""},
		{"er", "kcd", "replay.teacher", "training", ""}, // Validate says what kcd is
		{"icarl", "none", "replay.iterations", "3", "replay.iterations: 3, but icarl does not read it; want a method that does in the list: agem, "},
		{"finetune", "none", "replay.batch", "20", "replay.batch: 20, but finetune does not read it; want a method that does in the list: agem, "},
		{"finetune", "none", "replay.batch", "10", ""},
		{"mri", "none", "replay.batch", "20", ""}, // nor does anyone know what mri reads
		{"lwf", "none", "method.lwf.mc", "true", ""},
		{"er", "none", "method.lwf.mc", "true", "method.lwf.mc: lwf is not in the list of methods, er; want it there"},
	} {
		c := Default()
		for _, kv := range [][2]string{{"methods", tt.methods}, {"tricks", tt.tricks}, {tt.key, tt.value}} {
			if err := c.Set(kv[0], kv[1]); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.CheckGiven(tt.key); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s with %s, %s %s: got %v, want %q", tt.methods, tt.tricks, tt.key, tt.value, err, tt.want)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"data set", func(c *Config) { c.Data.Name = "cifar10" }, `config: data.name: unknown data set "cifar10"`},
		{"no folder", func(c *Config) { c.Data.Name = "cifar100" }, "config: data.dir: not given"},
		{"folder for built-in", func(c *Config) { c.Data.Dir = "x" }, "config: data.dir: \"x\"; want no folder, glyphs is built in"},
		{"size for resnet18", func(c *Config) { c.Data.Size = 24 }, "config: data.size: 24; want at least 25 pixels a side for resnet18; use larger images (--size), or --network mlp"},
		{"size", func(c *Config) { c.Data.Size = 3 }, "config: data.size: 3; want a whole number from 8"},
		{"too large", func(c *Config) { c.Data.Size = 513 }, "config: data.size: 513; want a whole number from 8 to 512"},
		{"images", func(c *Config) { c.Data.TrainPerClass = -1 }, "config: data.train_per_class: -1"},
		{"too many images", func(c *Config) { c.Data.TestPerClass = 10001 }, "config: data.test_per_class: 10001; want a whole number from 1 to 10000"},
		{"images in files", func(c *Config) { c.Data = DataConfig{Name: "npz", Dir: "x", TrainPerClass: 5} }, "config: data.train_per_class: 5; want 0, the pictures of npz are in files"},
		{"size in files", func(c *Config) { c.Data = DataConfig{Name: "npz", Dir: "x", Size: -1} }, "config: data.size: -1; want 0"},
		{"tasks", func(c *Config) { c.Stream.Tasks = 0 }, "config: stream.tasks: 0; want a whole number from 1"},
		{"tasks of survey", func(c *Config) { c.Stream.Tasks, c.Protocol = 2, "survey" }, "config: stream.tasks: 2; want at least 3 under protocol survey"},
		{"batch", func(c *Config) { c.Stream.Batch = 0 }, "config: stream.batch: 0"},
		{"order", func(c *Config) { c.Stream.ClassOrder = "randon" }, "config: stream.class_order: \"randon\"; want one of random, given; did you mean random?"},
		{"order list", func(c *Config) {
			c.Data, c.Stream.ClassOrder = DataConfig{Name: "npz", Dir: "x"}, []int{0, 2}
		}, "class 1 is missing or repeated"},
		{"short order", func(c *Config) { c.Stream.ClassOrder = []int{0, 1} }, "config: stream.class_order: a list of 2 classes; want each of the 100 classes of glyphs once; correct"},
		{"order type", func(c *Config) { c.Stream.ClassOrder = 3 }, "config: stream.class_order: 3; want"},
		{"mean", func(c *Config) { c.Stream.Mean = []float64{1} }, "config: stream.mean: 1 means and 0 deviations"},
		{"std", func(c *Config) { c.Stream.Mean, c.Stream.Std = []float64{1}, []float64{0} }, "config: stream.std: value 1 is 0"},
		{"no methods", func(c *Config) { c.Methods = nil }, "config: methods: the list is empty"},
		{"method", func(c *Config) { c.Methods = []string{"finetun"} }, `config: methods: unknown method "finetun"; want one that ` + "`ocl methods`" + ` lists; did you mean finetune?`},
		{"method twice", func(c *Config) { c.Methods = []string{"er", "er"} }, "config: methods: er is listed twice"},
		{"option", func(c *Config) { c.Method = map[string]map[string]any{"er": {"x": 1}} }, "config: method.er.x: unknown option"},
		{"option's method", func(c *Config) { c.Method = map[string]map[string]any{"e": {"x": 1}} }, "config: method.e: unknown method"},
		{"memory", func(c *Config) { c.Memory = -1 }, "config: memory: -1; want a whole number from 0"},
		{"er without memory", func(c *Config) { c.Memory = 0 }, "config: memory: 0, and er learns from stored samples; want at least 1 sample; use --method finetune"},
		{"option out of range", func(c *Config) { _ = c.Set("method.ewc++.alpha", "1.5") }, "config: method.ewc++.alpha: 1.5; want a number from 0 to 1; correct the value"},
		{"a teacher's mode", func(c *Config) { c.Replay.Teacher = "train" }, `config: replay.teacher: "train"; want one of evaluation, training; did you mean training?`},
		{"replay above memory", func(c *Config) { c.Memory, c.Replay.Batch = 5, 6 }, "config: replay.batch: 6, above the 5 samples of memory that er replays from; want at most memory"},
		{"options beside settings", func(c *Config) { c.Methods = []string{"mir"}; _ = c.Set("method.mir.candidates", "5") }, "config: method.mir: option candidates: 5 is below replay.batch 10"},
		{"every beside raw", func(c *Config) {
			c.Methods = []string{"ewc++"}
			_ = c.Set("method.ewc++.raw", "true")
			_ = c.Set("method.ewc++.every", "20")
		}, "config: method.ewc++: option every: 20, but raw updates the Fisher information at every step"},
		{"options beside each other", func(c *Config) {
			c.Methods = []string{"gss"}
			_ = c.Set("method.gss.subset", "sample")
			_ = c.Set("method.gss.gate", "batch")
		}, "config: method.gss: option subset: sample, but gate batch"},
		{"memory without method", func(c *Config) { c.Methods, c.Memory = []string{"finetune"}, 1000 }, "config: memory: 1000, but finetune keeps no memory"},
		{"memory given", func(c *Config) { c.Methods = []string{"finetune"}; _ = c.Set("memory", "500") }, "config: memory: 500, but finetune keeps no memory"},
		{"replay batch", func(c *Config) { c.Replay.Batch = 0 }, "config: replay.batch: 0"},
		{"iterations", func(c *Config) { c.Replay.Iterations = 0 }, "config: replay.iterations: 0"},
		{"network", func(c *Config) { c.Network.Name = "resnet" }, `config: network.name: "resnet"; want one of resnet18, mlp; did you mean resnet18?`},
		{"width", func(c *Config) { c.Network.Width = 0 }, "config: network.width: 0"},
		{"hidden", func(c *Config) { c.Network.Name, c.Network.Hidden = "mlp", nil }, "config: network.hidden: the list is empty"},
		{"hidden size", func(c *Config) { c.Network.Hidden = []int{0} }, "config: network.hidden: 0"},
		{"optimiser", func(c *Config) { c.Optimizer.Name = "" }, "config: optimizer.name: \"\""},
		{"rate", func(c *Config) { c.Optimizer.LR = math.NaN() }, "config: optimizer.lr: NaN"},
		{"decay", func(c *Config) { c.Optimizer.WeightDecay = -1 }, "config: optimizer.weight_decay: -1"},
		{"momentum", func(c *Config) { c.Optimizer.Momentum = 1 }, "config: optimizer.momentum: 1"},
		{"momentum of adam", func(c *Config) { c.Optimizer.Name, c.Optimizer.Momentum = "adam", 0.9 }, "config: optimizer.momentum: 0.9; want 0 with adam"},
		{"protocol", func(c *Config) { c.Protocol = "paper" }, "config: protocol: \"paper\""},
		{"eval", func(c *Config) { c.Eval = "last" }, "config: eval: \"last\""},
		{"runs", func(c *Config) { c.Runs = 0 }, "config: runs: 0"},
		{"last seed", func(c *Config) { c.Seed, c.Runs = math.MaxUint64, 2 }, "config: seed: the last of 2 runs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Default()
			tt.change(&c)
			err := c.Validate()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got  %v\nwant %s", err, tt.want)
			}
			for line := range strings.Lines(err.Error()) {
				if strings.Count(line, "; ") < 2 || !strings.HasPrefix(line, "config: ") {
					t.Errorf("does not tell what was found, wanted and to do: %s", line)
				}
			}
		})
	}
	c := Default()
	c.Stream.Batch, c.Runs, c.Protocol, c.Data.Name = 0, 0, "", ""
	if n := strings.Count(c.Validate().Error(), "config: "); n != 4 {
		t.Errorf("%d of 4 faults told: %v", n, c.Validate())
	}
	for _, d := range []DataConfig{
		{Name: "glyphs", Size: 25},
		{Name: "glyphs", Size: 512, TrainPerClass: 10000, TestPerClass: 1},
		{Name: "npz", Dir: "x", Size: 600}, // the file may well be of that size
	} {
		c = Default()
		c.Data = d
		if err := c.Validate(); err != nil {
			t.Errorf("%+v: %v", d, err)
		}
	}
	c = Default()
	c.Methods = []string{"finetune"}
	if err := c.Validate(); err != nil {
		t.Errorf("the default memory is held against finetune: %v", err)
	}
}

// A result.json gives the config of its run: one method, one seed, no memory where there was none.
func TestLoadResult(t *testing.T) {
	out := filepath.Join(t.TempDir(), "x")
	mustRun(t, tiny(), Options{Out: out})
	for _, j := range Jobs(tiny()) {
		c, err := Load(filepath.Join(out, j.Folder, ResultFile))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", j.Folder, err)
		}
		if !reflect.DeepEqual(c.Methods, []string{j.Method}) || c.Seed != j.Seed || c.Runs != 1 {
			t.Errorf("%s: methods %v, seed %d, runs %d", j.Folder, c.Methods, c.Seed, c.Runs)
		}
		if c.Numbers() != result.Numbers {
			t.Errorf("%s: numbers version %d, want %d", j.Folder, c.Numbers(), result.Numbers)
		}
	}
}

func TestFolderNames(t *testing.T) {
	for name, want := range map[string]string{"ewc++": "ewcpp", "a/b c": "a-b-c", "cn-dpm": "cn-dpm"} {
		if got := sanitised(name); got != want {
			t.Errorf("%s becomes %s, want %s", name, got, want)
		}
	}
	var got []string
	for _, j := range Jobs(tiny()) {
		got = append(got, j.Folder)
	}
	if d := cmp.Diff([]string{"finetune-s1", "er-m30-s1", "finetune-s2", "er-m30-s2"}, got); d != "" {
		t.Error(d)
	}
}
