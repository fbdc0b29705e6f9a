package config

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"ocl/internal/fuzztest"
	"ocl/internal/limit"
)

// small is a schema of two methods, a trick and a data set, as a caller hands one over.
var small = &Schema{Catalogue{
	Data: []DataSet{{Name: "glyphs", Domains: []string{"font", "noise"}, Classes: 100, Size: 32, MinSize: 8, MaxSize: 512,
		MaxPerClass: 10_000}, {Name: "files", NeedsDir: true}},
	Streams: []StreamKind{{Name: "classes", CheckTasks: func(tasks, classes int) error {
		if classes%tasks != 0 {
			return fmt.Errorf("%d tasks do not divide %d classes", tasks, classes)
		}
		return nil
	}}, {Name: "domains", AllClasses: true}},
	Methods: []Method{
		{Name: "er", UsesMemory: true, Settings: []string{"memory", "replay.batch", "replay.iterations", "replay.joint"}},
		{Name: "ewc++", Settings: []string{"replay.iterations"}, Options: []Option{
			{Name: "lambda", Default: 100.0}, {Name: "every", Default: 5, Least: 1, Most: 9},
			{Name: "steps", Default: 7}, {Name: "raw", Default: false},
			{Name: "mode", Default: "a", Choices: []string{"a", "b"}}}},
		{Name: "finetune", Settings: []string{"replay.iterations"}},
		{Name: "icarl", UsesMemory: true, Settings: []string{"memory", "replay.batch", "replay.teacher"},
			Teacher: TeacherTraining},
		{Name: "fresh", Scratch: true},
	},
	Tricks: []Trick{{Name: "kdc", Settings: []string{"replay.teacher"}},
		{Name: "mi", Settings: []string{"replay.iterations"}, Steps: true}, {Name: "ncm", Classifies: true}},
	ParseTricks: func(text string) ([]string, error) {
		if text == NoTrick {
			return nil, nil
		}
		names := strings.Split(text, "+")
		slices.Sort(names)
		for _, n := range names {
			if !slices.Contains([]string{"kdc", "mi", "ncm"}, n) {
				return nil, fmt.Errorf("unknown trick %q", n)
			}
		}
		return names, nil
	},
}}

// aDigest is one that network.init_digest takes.
var aDigest = "sha256:" + strings.Repeat("0a", 32)

// drawn sets every key to a value drawn from those that it takes, and some options.
func drawn(src *rand.Rand) Config {
	c := Default()
	for _, k := range table {
		k.draw(&c, src)
	}
	if src.IntN(2) == 0 {
		c.Method = map[string]map[string]any{"ewc++": {"lambda": 1e-7 + src.Float64(), "every": 1 + src.IntN(9), "raw": true,
			"mode": "b"}}
		if src.IntN(2) == 0 {
			c.Method["ewc++"]["lambda"] = float64(src.IntN(5)) // a whole number is a number
		}
	}
	return c
}

func (k Key) draw(c *Config, src *rand.Rand) {
	if k.optional() && src.IntN(3) == 0 {
		k.assign(c, new(Config))
		return
	}
	words := []string{"a folder: with 'signs' #1", "yes", "0x1f", "2026-11-22", "null", "", "- a", "er", "~", "1e3",
		"naïve \"q\"", "\ttab\nline", "[x]",
		"\x7f", "a\u0080b\u0085c\u009fd", "\ufffe\uffff", "\ufeffa", "a\u2028b\u2029c", "\U0001fffe \U0010ffff \U0001f600",
		"\x00\x1b", "\r\n", "/\\", "\ufffd"}
	word := func() string {
		if len(k.Choices) > 0 {
			return k.Choices[src.IntN(len(k.Choices))]
		}
		return words[src.IntN(len(words))]
	}
	numeral := func() float64 {
		all := []float64{0, 1, -1, 0.1, 1e-3, 1e30, 5e-324, math.MaxFloat64, 1.0 / 3, 123456789, -2.5e-9}
		return all[src.IntN(len(all))]
	}
	n := src.IntN(4)
	switch k.sample().(type) {
	case string:
		k.set(c, word())
	case int:
		k.set(c, []int{0, 1, -3, 70, math.MaxInt, math.MinInt}[src.IntN(6)])
	case uint64:
		k.set(c, []uint64{0, 1, math.MaxUint64, src.Uint64()}[src.IntN(4)])
	case float64:
		k.set(c, numeral())
	case bool:
		k.set(c, src.IntN(2) == 0)
	case []string:
		list := []string{}
		for range n {
			list = append(list, word())
		}
		k.set(c, list)
	case []int:
		list := []int{}
		for range n {
			list = append(list, src.IntN(100))
		}
		k.set(c, list)
	case []float64:
		list := []float64{}
		for range n {
			list = append(list, numeral())
		}
		k.set(c, list)
	case Order:
		k.set(c, []Order{{Name: OrderGiven}, {Name: OrderRandom}, {}, {Name: OrderOfficial}, {Name: "official:3"},
			{Classes: []int{2, 0, 1}}, {Classes: []int{0}}, {Called: []string{"owl", "a cat"}}}[src.IntN(8)])
	}
}

// What is printed, read back, is the same, for every key: as YAML, as JSON, as a record and through the zero schema.
func TestPrintedIsReadBack(t *testing.T) {
	src := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		c := drawn(src)
		text, err := c.YAML()
		if err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		for name, written := range map[string][]byte{"YAML": text, "JSON": asJSON} {
			got, err := small.Parse("x", written)
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, written)
			}
			if d := cmp.Diff(c, got, cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("%s: changed by writing and reading: %s\n%s", name, d, written)
			}
		}
		var got Config
		if err := json.Unmarshal(asJSON, &got); err != nil {
			t.Fatal(err)
		}
		for _, r := range got.Data.Dir {
			if escaped(r) && strings.ContainsRune(string(asJSON), r) {
				t.Fatalf("%+q is written as it is", r)
			}
		}
		if d := Difference(c, got); d != "" {
			t.Fatalf("the zero schema reads another config: %s", d)
		}
	}
}

// TestUnsetValuesAreExplained: a value that is not set has a comment that says what it stands for, and no other value
// has.
func TestUnsetValuesAreExplained(t *testing.T) {
	own := uint64(3)
	set := Default()
	set.Data = Data{Name: "glyphs", Dir: "x", Size: 8, Channels: 3, TrainPerClass: 1, TestPerClass: 1,
		Unreadable: UnreadableSkip}
	set.Stream.Kind, set.Stream.Tasks, set.Stream.ClassOrder = KindClasses, 5, Order{Name: OrderGiven}
	set.Stream.TaskClasses, set.Stream.LongTail, set.Stream.ClassCounts = []int{1}, 0.5, []int{1}
	set.Stream.Shift = Shift{"noise", []float64{1}, []float64{1}, []float64{1}, OcclusionPerImage, BlurCrossImage}
	set.Stream.DropLast, set.Stream.Mean, set.Stream.Std = new(bool), []float64{0}, []float64{1}
	set.Replay.Teacher, set.Eval, set.EvalEvery, set.Seeds = "training", "all", 1, Seeds{&own, &own, &own}
	set.Engine = Engine{Kernel: "avx2", Convolution: "table"}
	for _, c := range []Config{Default(), set} {
		text, err := c.YAML()
		if err != nil {
			t.Fatal(err)
		}
		lines := map[string]string{}
		var path []string
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
			word := strings.TrimSpace(name)
			path = append(path[:(len(name)-len(word))/2], word)
			lines[strings.Join(path, ".")] = value
		}
		for _, k := range Keys() {
			_, comment, _ := strings.Cut(lines[k.Name], " # ")
			if want := k.Unset; k.IsUnset(k.text(&c)) != (comment != "") || comment != "" && comment != want {
				t.Errorf("%s:%s; want the comment %q if it is not set", k.Name, lines[k.Name], want)
			}
		}
	}
}

// Every key is set by the text that it shows.
func TestTextSets(t *testing.T) {
	src := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		c := drawn(src)
		got := Default()
		for _, k := range Keys() {
			if slices.ContainsFunc(toTexts(k.value(&c)), func(s string) bool {
				return strings.TrimSpace(s) != s || strings.ContainsAny(s, ",[]'\"\t\n") || s == ""
			}) {
				k.assign(&got, &c) // a list of flags has no quotes
				continue
			}
			text := k.text(&c)
			if k.List() && text == "" {
				text = "[]"
			}
			if k.Name == "stream.class_order" && len(c.Stream.ClassOrder.Classes) == 1 {
				text = "[" + text + "]"
			}
			if k.ZeroInFiles && text == "0" {
				text = "" // nobody gives the 0 of files
			}
			if err := small.Set(&got, k.Name, text); err != nil {
				t.Fatal(err)
			}
		}
		got.Method = c.Method
		if d := cmp.Diff(c, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
	}
}

func toTexts(v any) []string {
	list, _ := v.([]string)
	return list
}

// Files of other versions are refused, whoever wrote them.
func TestVersions(t *testing.T) {
	for version, want := range map[int]string{1: "from before the first release",
		Version - 1: "from before the first release", Version: "", Version + 1: "newer ocl"} {
		_, err := small.Parse("x", fmt.Appendf(nil, "version: %d\nseed: 2\n", version))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("version %d: %v, want %q", version, err, want)
		}
	}
}

// The identity does not see places, engines, or a key that has its default; it sees all others.
func TestCanonical(t *testing.T) {
	base := Default()
	if got := base.Canonical(); got != "" {
		t.Errorf("the default is %q, want nothing", got)
	}
	seen := map[string]string{}
	for _, k := range table {
		base := base.Clone()
		if name := k.network(); name != "" {
			base.Network.Name = name // another one does not read it
		}
		c := base.Clone()
		src := rand.New(rand.NewPCG(5, 6))
		for range 100 {
			k.draw(&c, src)
			if said := k.Place || k.Engine || c.Canonical() != base.Canonical(); said && !equal(k.value(&c), k.value(&base)) {
				break // a default may be said, too, which says nothing
			}
		}
		text := strings.TrimPrefix(c.Canonical(), base.Canonical())
		if outside := k.Place || k.Engine; outside != (text == "") {
			t.Errorf("%s: the identity is %q", k.Name, text)
		}
		if d := Difference(base, c); (d == "") != k.Place || d != "" && !strings.HasPrefix(d, k.Name+" is ") {
			t.Errorf("%s: the difference is told as %q", k.Name, d)
		}
		if other, twice := seen[text]; twice && text != "" {
			t.Errorf("%s and %s have one identity", k.Name, other)
		}
		seen[text] = k.Name
	}
}

func TestParseFaults(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"unknown key", "seed: 1\nmemroy: 5\n", "config: x.yaml:2: unknown key memroy. Did you mean memory?"},
		{"unknown nested key", "optimizer:\n  lr: 0.1\n  learning: 2\n",
			"config: x.yaml:3: unknown key optimizer.learning. Did you mean optimizer.lr?"},
		{"misspelt section", "optimiser:\n  lr: 0.1\n",
			"config: x.yaml:1: unknown key optimiser. Did you mean optimizer.name?"},
		{"text for a number", "stream:\n  batch: ten\n",
			"config: x.yaml:2: stream.batch cannot be ten. Use a whole number from 1 to 100000"},
		{"quoted number", "runs: \"3\"\n", "config: x.yaml:1: runs cannot be the text \"3\". Use a whole number"},
		{"quoted number in single quotes", "memory: '500'\n",
			"config: x.yaml:1: memory cannot be the text \"500\". Use a whole number"},
		{"quoted nothing", "memory: ''\n", "config: x.yaml:1: memory cannot be the text \"\". Use a whole number"},
		{"a tag", "memory: !!foo 3\n", "config: x.yaml:1: memory cannot be 3 with the tag !!foo. Use a whole number"},
		{"a list of aliases", "data: {name: &a er}\nnetwork: {hidden: [*a, 3]}\n",
			"config: x.yaml:2: network.hidden cannot be [er, 3]. Use a list"},
		{"a list of lists", "data: {name: &a [er]}\nmethods: [*a]\n",
			"x.yaml:2: methods cannot be a list of lists. Use a list"},
		{"a list of mappings", "methods: [{a: 1}]\n", "x.yaml:1: methods cannot be a list of keys with values. Use a list"},
		{"a text for a list", "methods: er\n", "config: x.yaml:1: methods cannot be er. Use a list of names, such as [er]"},
		{"a number for a list", "network: {hidden: 256}\n",
			"network.hidden cannot be 256. Use a list of whole numbers from 1 to 1000000, such as [256]"},
		{"a dotted key", "optimizer.lr: 0.2\n",
			"config: x.yaml:1: optimizer.lr has a dot, but keys in a file are nested. Write `optimizer:` and, indented on the next line, `lr:`"},
		{"a dotted section", "method.ewc++: {every: 2}\n",
			"config: x.yaml:1: method.ewc++ has a dot, but keys in a file are nested."},
		{"a dotted option", "method: {ewc++.every: 2}\n",
			"config: x.yaml:1: method.ewc++.every has a dot, but keys in a file are nested. Write `ewc++:`"},
		{"an unknown dotted key", "optimizer.lrr: 0.2\n",
			"config: x.yaml:1: unknown key optimizer.lrr. Did you mean optimizer.lr?"},
		{"fraction for a whole number", "runs: 1.5\n", "config: x.yaml:1: runs cannot be 1.5. Use a whole number"},
		{"negative seed", "seed: -1\n",
			"config: x.yaml:1: seed cannot be -1. Use a whole number from 0 to 18446744073709551615"},
		{"number for text", "protocol: 3\n", "config: x.yaml:1: protocol cannot be 3. Use one of standard, survey, tuning"},
		{"no value", "seed:\n", "config: x.yaml:1: seed has no value. Use a whole number"},
		{"unknown method's option", "method:\n  err:\n    x: 1\n", "config: x.yaml:2: unknown method err. Did you mean er?"},
		{"option of a method without", "method:\n  er:\n    x: 1\n",
			"config: x.yaml:3: unknown option x. The method er has no options"},
		{"misspelt option", "method:\n  ewc++:\n    lamda: 1\n",
			"config: x.yaml:3: unknown option lamda of ewc++. Did you mean lambda? `ocl methods ewc++` lists all its options"},
		{"fraction for a whole option", "method:\n  ewc++:\n    every: 1.5\n",
			"config: x.yaml:3: method.ewc++.every cannot be 1.5. Use a whole number from 1 to 9"},
		{"bad list", "methods: [er, 3]\n", "config: x.yaml:1: methods cannot be [er, 3]. Use a list of names"},
		{"bad order", "stream:\n  class_order: 3\n",
			"x.yaml:2: stream.class_order cannot be 3. Use random, given, official, official:N or a list of all classes, such as 2,0,1"},
		{"bad list of classes", "stream:\n  class_order: 1,0,x\n", "x.yaml:2: stream.class_order cannot be 1,0,x. Use"},
		{"no mapping", "- a\n",
			"config: x.yaml:1: this file must hold keys with values, but it holds [a]. Write `key: value`"},
		{"scalar for a section", "optimizer: sgd\n",
			"config: x.yaml:1: optimizer must hold keys with values, but it holds sgd. Write `key: value`"},
		{"no YAML", "a: [\n", "config: x.yaml: "},
		{"key twice", "seed: 1\nseed: 2\n", "config: x.yaml:2: seed is given twice. Remove one of them"},
		{"two documents", "seed: 1\n---\nseed: 2\n",
			"config: x.yaml: the file holds several YAML documents. Keep one of them"},
		{"a list as a key", "? [a]\n: 1\n", "config: x.yaml:1: [a] is used as a key. Use a word as the key"},
		{"merge", "<<: {seed: 1}\n", "config: x.yaml:1: unknown key <<"},
		{"a terminal's control characters", "\"\\e[31mmemory\": 1\nseed: \"\\a\"\n",
			`config: x.yaml:1: unknown key "\x1b[31mmemory"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := small.Parse("x.yaml", []byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got  %v\nwant %s", err, tt.want)
			}
			if strings.ContainsAny(err.Error(), "\x1b\a\r") {
				t.Errorf("control characters reach the terminal: %q", err)
			}
		})
	}
	_, err := small.Parse("x.yaml", []byte("memroy: 1\nruns: x\nsed: 2\n"))
	if n := strings.Count(err.Error(), "\n"); n != 2 {
		t.Errorf("three faults are told in %d lines: %v", n+1, err)
	}
}

// A file that is something else altogether is told to be so in few lines.
func TestManyFaults(t *testing.T) {
	repeat := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < limit.Config-200; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for _, tt := range []struct{ name, text, last string }{
		{"unknown keys", repeat("k%d: 1\n"), "config: there may be more"},
		{"dotted keys", repeat("optimizer.k%d: 1\n"), "config: there may be more"},
		{"unknown options", "method:\n  ewc++:\n" + repeat("    k%d: 1\n"), "config: there may be more"},
		{"unknown methods", "method:\n" + repeat("  k%d: {a: 1}\n"), "config: there may be more"},
		{"a long key", strings.Repeat("k", 1000) + ": 1\n? " + strings.Repeat("k", 900_000) + "\n: 1\n",
			"config: x.yaml:2: unknown key kkk"},
		{"methods", "methods: [" + repeat("k%d,") + "er]\n", "config: methods (--method): the list has 1"},
		{"tricks", "tricks: [" + repeat("k%d,") + "none]\n", "config: tricks (--trick): the list has 1"},
		{"some methods", "methods: [" + strings.Repeat("a,b,", 400) + "er]\n", "config: there may be more"},
		{"some tricks", "tricks: [" + strings.TrimPrefix(repeat("k%d,")[:4000], "x") + "]\n", "config: there may be more"},
		{"hidden layers", "network: {hidden: [" + strings.Repeat("0,", 500_000) + "1]}\n",
			"config: network.hidden: the list has 500,001 entries, but at most 1,000"},
		{"classes", "stream: {class_order: [" + strings.Repeat("7,", 500_000) + "1]}\n",
			"config: stream.class_order: the list has 500,001 entries, but at most 100,000"},
		{"comments", strings.Repeat("# a\n", 260_000) + "k: 1\n", "config: x.yaml:260001: unknown key k."},
	} {
		c, err := small.Parse("x.yaml", []byte(tt.text))
		if err == nil {
			err = small.Validate(c)
		}
		lines := strings.Split(fmt.Sprint(err), "\n")
		if last := lines[len(lines)-1]; len(lines) > limit.Faults+1 || !strings.HasPrefix(last, tt.last) {
			t.Errorf("%s: %d lines, the last one %.200s", tt.name, len(lines), last)
		}
	}
}

// What is no structure may have as many brackets and dashes as it likes.
func TestCommentsAndTextsMayHaveBrackets(t *testing.T) {
	text := "# " + strings.Repeat("[", 70) + "\n# " + strings.Repeat("-", 1100) + "\nseed: 3 # " + strings.Repeat("{",
		70) +
		"\ndata: {dir: \"" + strings.Repeat("[-", 700) + "\"}\n"
	if c, err := small.Parse("x", []byte(text)); err != nil || c.Seed != 3 || c.Data.Dir != strings.Repeat("[-", 700) {
		t.Errorf("%v, %+v", err, c)
	}
}

// Text that is nested or large on purpose is refused in little time and memory.
func TestHostileText(t *testing.T) {
	const n = 400_000
	deep := func(open string) string { return "a: " + strings.Repeat(open, n/len(open)) }
	var stairs strings.Builder
	for i := range 880 {
		stairs.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	bytesOf := make([]byte, n)
	src := rand.New(rand.NewPCG(7, 8))
	for i := range bytesOf {
		bytesOf[i] = byte(src.Uint32())
	}
	nested := func(open, shut string) string {
		return strings.Repeat("- "+strings.Repeat(open, 9_000)+strings.Repeat(shut, 9_000)+"a\n", 20)
	}
	for name, text := range map[string]string{
		"many lists": nested("- ", ""), "many brackets": nested("[", "]"), "nested keys": strings.Repeat("? ", 9_000),
		"brackets": deep("["), "braces": deep("{a: "), "lists": deep("- "), "keys": deep("? "),
		"lines of brackets": deep("[\n"),
		"stairs":            stairs.String(), "random bytes": string(bytesOf),
		"too much": strings.Repeat("# comment\n", 200_000),
		"aliases":  "a: &a [1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nmethods: [*b,*b,*b,*b,*b]\n",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := small.Parse("x.yaml", []byte(text))
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: read without an error", name)
			continue
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 100<<20 {
			t.Errorf("%s: took %d MB", name, used>>20)
		}
		if message := err.Error(); len(message) > 2_000 && name != "stairs" ||
			strings.ContainsFunc(message, func(r rune) bool { return r < ' ' && r != '\n' }) {
			t.Errorf("%s: the message has %d bytes or control characters: %.200q", name, len(message), message)
		}
	}
}

func TestSet(t *testing.T) {
	c := Default()
	for _, kv := range [][2]string{
		{"optimizer.lr", "1e-3"}, {"methods", "er"}, {"seed", "18446744073709551615"}, {"stream.class_order", "1, 0"},
		{"stream.mean", "0.1,0.2,0.3"}, {"stream.drop_last", "true"}, {"data.dir", "/a/[b c"},
		{"optimizer.weight_decay", "1"},
		{"network.hidden", "[]"}, {"memory", "1e3"}, {"seeds.order", "7"}, {"method.ewc++.lambda", "3"}, {"eval", ""},
	} {
		if err := small.Set(&c, kv[0], kv[1]); err != nil {
			t.Error(err)
		}
	}
	for _, k := range table { // empty text unsets what may be unset
		c := Default()
		c.EvalEvery, c.Data.Size, c.Data.TrainPerClass, c.Data.TestPerClass = 3, 3, 3, 3
		if err := small.Set(&c, k.Name, ""); k.Unset != "" && (err != nil || k.text(&c) != "" && k.text(&c) != "0") {
			t.Errorf("%s: empty text leaves %q (%v)", k.Name, k.text(&c), err)
		}
	}
	drop, seven := true, uint64(7)
	want := Default()
	want.Optimizer.LR, want.Methods, want.Seed, want.Memory = 1e-3, []string{"er"}, math.MaxUint64, 1000
	want.Stream.ClassOrder, want.Stream.Mean, want.Stream.DropLast = Order{Classes: []int{1, 0}}, []float64{0.1, 0.2, 0.3},
		&drop
	want.Data.Dir, want.Optimizer.WeightDecay, want.Network.Hidden, want.Seeds.Order = "/a/[b c", 1, []int{}, &seven
	want.Method = map[string]map[string]any{"ewc++": {"lambda": 3.0}}
	if d := cmp.Diff(want, c); d != "" {
		t.Error(d)
	}
	for _, tt := range [][3]string{
		{"memory", "", "config: memory cannot be empty. Use a whole number"},
		{"optimizer.lr", " ", "config: optimizer.lr cannot be empty. Use a number"},
		{"replay.joint", "", "config: replay.joint cannot be empty. Use true or false"},
		{"stream.long_tail", "0",
			"config: stream.long_tail: 0 is out of range. Use a number above 0 and up to 1, or leave it out for all images"},
		{"stream.long_tail", "0.0", "config: stream.long_tail: 0 is out of range."},
		{"optimizer.lr", "fast", "config: optimizer.lr cannot be fast. Use a number above 0"},
		{"optimizr.lr", "1", "config: unknown key optimizr.lr. Did you mean optimizer.lr?"},
		{"lr", "1", "config: unknown key lr. Did you mean optimizer.lr? `"},
		{"weight_decay", "1", "config: unknown key weight_decay. Did you mean optimizer.weight_decay? `"},
		{"weight-decay", "1", "config: unknown key weight-decay. Did you mean optimizer.weight_decay? `"},
		{"optimiser", "adam", "config: unknown key optimiser. Did you mean optimizer.name? `"},
		{"dataset", "glyphs", "config: unknown key dataset. Did you mean data.name or data.seed? `"},
		{"memroy", "1", "config: unknown key memroy. Did you mean memory? `"},
		{"methods", "[a", "config: methods cannot be [a. Use a list"},
		{"stream.class_order", "3", "config: stream.class_order cannot be 3. Use random"},
		{"method.er.x", "1", "config: unknown option x. The method er has no options"},
		{"method.er", "1", "config: method.er is a section, not a key."},
		{"zzz", "1", "`ocl config keys` lists all keys"},
		{"optimizer.epochs", "1", "config: unknown key optimizer.epochs. `ocl config keys` lists all keys"},
		{"optimizer.lrate", "1", "config: unknown key optimizer.lrate. Did you mean optimizer.lr? `"},
		{"optimizer.nesterov", "true", "config: unknown key optimizer.nesterov. `ocl config keys` lists all keys"},
		{"optimizer.learning_rate", "1", "config: unknown key optimizer.learning_rate. Did you mean optimizer.lr? `"},
		{"network.lr", "1", "config: unknown key network.lr. Did you mean optimizer.lr? `"},
		{"training.momentum", "1", "config: unknown key training.momentum. Did you mean optimizer.momentum? `"},
		{"epochs", "1", "config: unknown key epochs. `ocl config keys` lists all keys"},
	} {
		if err := small.Set(&c, tt[0], tt[1]); err == nil || !strings.HasPrefix(err.Error(), tt[2]) &&
			!strings.Contains(err.Error(), tt[2]) {
			t.Errorf("got  %v\nwant %s", err, tt[2])
		}
	}
}

func TestValidate(t *testing.T) {
	if err := small.Validate(Default()); err != nil {
		t.Error(err)
	}
	for _, tt := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Memory = 5 },
			"config: memory: 5 is smaller than replay.batch (10). Use --memory 10 or replay.batch=5"},
		{func(c *Config) { c.Method = map[string]map[string]any{"a\x1b": {"x": 1}} },
			`config: "method.a\x1b": unknown method.`},
		{func(c *Config) { c.Memory = 0 }, "config: memory: 0 is too small for er: stored samples are needed."},
		{func(c *Config) { c.Stream.LongTail = -0.5 },
			"config: stream.long_tail: -0.5 is out of range. Use a number above 0 and up to 1"},
		{func(c *Config) { c.Data.Channels = 2 }, "config: data.channels: 2 is out of range. Use 3, or 0"},
		{func(c *Config) { c.Memory = -1 },
			"config: memory (--memory): -1 is out of range. Use a whole number from 0 to 100000000"},
		{func(c *Config) { c.Optimizer.LR = 0 }, "config: optimizer.lr (--lr): 0 is out of range. Use a number above 0"},
		{func(c *Config) { c.Optimizer.LR = math.NaN() }, "config: optimizer.lr (--lr): NaN is out of range."},
		{func(c *Config) { c.Optimizer.LR = math.Inf(1) }, "config: optimizer.lr (--lr): +Inf is out of range."},
		{func(c *Config) { c.Optimizer.Momentum = 1 },
			"config: optimizer.momentum: 1 is out of range. Use a number, at least 0 and below 1"},
		{func(c *Config) { c.Optimizer.Name, c.Optimizer.Momentum = "adam", 0.5 },
			"config: optimizer.momentum: 0.5 is given, but adam has its own momentum"},
		{func(c *Config) { c.Optimizer.Name = "sgdd" }, `config: optimizer.name: unknown value "sgdd". Did you mean sgd?`},
		{func(c *Config) { c.Protocol = "" }, `config: protocol (--protocol): unknown value "".`},
		{func(c *Config) { c.Methods = nil }, "config: methods (--method): the list is empty."},
		{func(c *Config) { c.Methods = []string{"er", "er"} },
			"config: methods (--method): er is listed twice. Remove one of them"},
		{func(c *Config) { c.Methods = []string{"err"} },
			`config: methods (--method): unknown method "err". Did you mean er?`},
		{func(c *Config) { c.Tricks = []string{"kdc", "kdc"} },
			"config: tricks (--trick): kdc is listed twice. Remove one of them"},
		{func(c *Config) { c.Tricks = []string{"ncm+kdc", "kdc+ncm"} },
			"config: tricks (--trick): ncm+kdc and kdc+ncm are the same tricks."},
		{func(c *Config) { c.Tricks, c.Replay.Iterations = []string{"none", "mi"}, 3 },
			"config: tricks (--trick): none and mi are the same run when replay.iterations 3 is set."},
		{func(c *Config) { c.Classifiers = []string{"head", "nc"} },
			`config: classifiers (--classifiers): unknown value "nc". Did you mean ncm?`},
		{func(c *Config) { c.Classifiers = []string{"ncm"} },
			"config: classifiers: ncm needs stored samples, but there are none with finetune."},
		{func(c *Config) { c.Stream.Tasks = 7 }, "config: stream.tasks (--tasks): 7 tasks do not divide 100 classes"},
		{func(c *Config) { c.Stream.Kind, c.Stream.ClassOrder = "domains", Order{Classes: []int{1, 0}} },
			"config: stream.class_order: a list of classes is given, but in a stream of the kind domains every task"},
		{func(c *Config) { c.Stream.Kind = "domain" },
			`config: stream.kind (--stream): unknown kind "domain". Did you mean domains?`},
		{func(c *Config) { c.Stream.Tasks, c.Protocol = 2, ProtocolSurvey },
			"config: stream.tasks: 2 is too few for the protocol survey, which needs at least 3. Use --tasks 3 or more, or --protocol standard"},
		{func(c *Config) { c.Stream.ClassOrder = Order{Classes: []int{0, 0}} },
			"config: stream.class_order: the list has 2 classes, but glyphs has 100."},
		{func(c *Config) { c.Stream.ClassOrder = Order{Called: []string{"owl", "dog"}} },
			"config: stream.class_order: the list has 2 classes, but glyphs has 100."},
		{func(c *Config) { c.Stream.ClassOrder = Order{Name: "rando"} },
			`config: stream.class_order: unknown order "rando". Use stream.class_order=random, given, official`},
		{func(c *Config) { c.Stream.ClassOrder = Order{Name: "official:-1"} },
			`config: stream.class_order: unknown order "official:-1".`},
		{func(c *Config) { c.Stream.ClassOrder = Order{Name: "official:2"} },
			"config: stream.class_order: glyphs has no published orders."},
		{func(c *Config) { c.Stream.Tasks, c.Stream.TaskClasses = 3, []int{50, 50} },
			"config: stream.task_classes: the list has 2 entries, but stream.tasks (--tasks) is 3."},
		{func(c *Config) { c.Stream.LongTail, c.Stream.ClassCounts = 0.1, []int{5} },
			"config: stream.class_counts: a list of counts and a long tail are both given."},
		{func(c *Config) { c.Stream.Shift.NoiseStrengths = []float64{0, math.NaN()} },
			"config: stream.shift.noise_strengths: value 2: NaN is out of range."},
		{func(c *Config) { c.Data.Domains = "size" }, `config: data.domains: unknown value "size".`},
		{func(c *Config) { c.Data.Domains, c.Stream.Kind = "noise", "classes" },
			"config: data.domains: noise is given, but in a stream of the kind classes the domains make no difference. Use --stream domains"},
		{func(c *Config) { c.Data.Domains, c.Stream.Shift.Kind = "noise", "blur" },
			"config: data.domains: noise is given, but in a stream of the kind shift"},
		{func(c *Config) { c.Data.Unreadable = "skip" },
			"config: data.unreadable: skip is given, but glyphs is not made of image files, so no image can be left out. Remove data.unreadable"},
		{func(c *Config) { c.Stream.Tasks, c.Stream.Blurry = 1, 0.5 },
			"config: stream.blurry: 0.5 of the images are to come in a neighbouring task, but there is one task. Use more --tasks, or remove stream.blurry"},
		{func(c *Config) { c.Data = Data{Name: "files", Dir: "x", Domains: "font"} },
			"config: data.domains: font is given, but files has no domains to choose from. Remove"},
		{func(c *Config) { c.Data.Unreadable = "ignore" }, `config: data.unreadable: unknown value "ignore".`},
		{func(c *Config) { c.Stream.Mean = []float64{1} },
			"config: stream.mean: there are 1 means but 0 standard deviations."},
		{func(c *Config) { c.Stream.Mean, c.Stream.Std = []float64{1}, []float64{0} },
			"config: stream.std: value 1: 0 is out of range."},
		{func(c *Config) { c.Data.Name = "files" }, "config: data.dir: files is read from files, but no folder is given."},
		{func(c *Config) { c.Data.Dir = "x" }, "config: data.dir: glyphs is built in and reads no files"},
		{func(c *Config) { c.Data.Size = 7 }, "config: data.size: 7 is out of range for glyphs. Use data.size from 8 to 512"},
		{func(c *Config) { c.Data.TrainPerClass = 10_001 },
			"config: data.train_per_class: 10001 is out of range for glyphs. Use data.train_per_class from 1 to 10000"},
		{func(c *Config) { c.Network.Name, c.Network.Hidden = "mlp", nil },
			"config: network.hidden: the list is empty, but mlp"},
		{func(c *Config) { c.Network.Hidden = []int{5, 0} }, "config: network.hidden: value 2: 0 is out of range."},
		{func(c *Config) { c.Method = map[string]map[string]any{"ewc++": {"every": 10}} },
			"config: method.ewc++.every: 10 is out of range. Use a whole number from 1 to 9"},
		{func(c *Config) { c.Method = map[string]map[string]any{"ewc++": {"every": "x"}} },
			"config: method.ewc++.every: x has the wrong type."},
		{func(c *Config) { c.Method = map[string]map[string]any{"ewc++": {"mode": "c"}} },
			`config: method.ewc++.mode: unknown value "c".`},
		{func(c *Config) { c.Seed, c.Runs = math.MaxUint64, 2 },
			"config: seed (--seed): 18446744073709551615 is too large for 2 runs"},
		{func(c *Config) { c.Runs, c.Seeds = 2, Seeds{new(uint64), new(uint64), new(uint64)} },
			"config: runs: all 2 runs would be the same, because seeds.order, seeds.init and seeds.memory are all set. Use --runs 1, or remove"},
		{func(c *Config) { c.Data.Name, c.Data.Dir = "files", "/a/\xe9t\xe9" },
			`config: data.dir (--data-dir): the text "/a/\xe9t\xe9" is not UTF-8. Use UTF-8;`},
		{func(c *Config) { c.Parent.Checkpoint = "sha256:0" },
			"config: parent.checkpoint: a checkpoint is given, but not its run. Set parent.run to the folder of the run, or remove"},
		{func(c *Config) { c.Tune.Repeats = 2 },
			"config: tune.repeats: it is given, but nothing is tuned. Add --tune paper, or remove it"},
		{func(c *Config) { c.Tune.Grid = "paper" },
			"config: tune.grid: a tuning learns the first two tasks, and the protocol standard keeps them for the run. Use --protocol survey, or remove --tune"},
		{func(c *Config) { c.Protocol, c.Tune = ProtocolSurvey, Tune{Grid: "paper", Search: SearchRandom} },
			"config: tune.points: a random search draws points, but nothing says how many"},
		{func(c *Config) { c.Protocol, c.Tune = ProtocolSurvey, Tune{Grid: "paper", Points: 3} },
			"config: tune.points: only the search random draws points. Remove tune.points (--points of `ocl tune`), or use tune.search=random (--search)"},
		{func(c *Config) { c.Protocol, c.Tune = ProtocolSurvey, Tune{Grid: "paper", Search: "luck"} },
			"config: tune.search: unknown value \"luck\""},
		{func(c *Config) { c.Network.Init, c.Network.InitDigest = "w", "sha256:12" },
			"config: network.init_digest: sha256:12 is not a digest. Use sha256: and 64 hexadecimal digits"},
		{func(c *Config) { c.Network.Init, c.Parent.Run = "w", "x" },
			"config: network.init: the run has the network of its parent, so it cannot start from a file too. Remove"},
		{func(c *Config) { c.Network.InitDigest = aDigest },
			"config: network.init_digest: a digest is given, but no file of weights. Set network.init, or remove"},
		{func(c *Config) { c.Network.Init, c.Methods = "w", []string{"er", "fresh"} },
			"config: network.init: fresh trains a new network from drawn weights for each evaluation, so it cannot start from a file. Freeze stages of it (--freeze), remove network.init, or fresh from --method"},
		{func(c *Config) { c.EvalEvery = -1 },
			"config: eval_every: -1 is out of range. Use a whole number from 1 to 1000000000, or 0"},
		{func(c *Config) { c.EvalSample = 3 },
			"config: eval_sample: 3 is given, but nothing is evaluated in the middle of tasks. Add eval_every"},
		{func(c *Config) { c.Engine.Kernel = "sse" }, `config: engine.kernel: unknown value "sse".`},
	} {
		c := Default()
		tt.change(&c)
		err := small.Validate(c)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
		if n := strings.Count(fmt.Sprint(err), "\n"); n > 0 {
			t.Errorf("one fault is told %d times: %v", n+1, err)
		}
	}
}

// A run has what it reads, whatever stands beside it in the list.
func TestRuns(t *testing.T) {
	c := Default()
	c.Methods, c.Runs, c.Seed, c.Tricks = []string{"finetune", "er", "icarl"}, 2, 5, []string{"none", "ncm+kdc"}
	c.Replay.Joint, c.Protocol = true, ProtocolSurvey
	c.Method = map[string]map[string]any{"ewc++": {"every": 3}}
	runs := small.Runs(c)
	var got []string
	for _, r := range runs {
		got = append(got, fmt.Sprintf("%s %s s%d m%d joint=%v teacher=%s %v", r.Methods[0], r.Tricks[0], r.Seed, r.Memory,
			r.Replay.Joint, r.Replay.Teacher, r.Classifiers))
		if r.Runs != 1 || r.Method != nil || !*r.Stream.DropLast {
			t.Errorf("run %+v", r)
		}
		if again := small.Runs(r); len(again) != 1 || cmp.Diff(r, again[0]) != "" {
			t.Errorf("the config of a run is another run: %s", cmp.Diff(r, again[0]))
		}
	}
	want := []string{
		"finetune none s5 m0 joint=false teacher= [head]", "finetune kdc+ncm s5 m0 joint=false teacher=evaluation [ncm]",
		"er none s5 m500 joint=true teacher= [head]", "er kdc+ncm s5 m500 joint=true teacher=evaluation [ncm]",
		"icarl none s5 m500 joint=false teacher=training [head]", "icarl kdc+ncm s5 m500 joint=false teacher=training [ncm]",
	}
	for _, w := range slices.Clone(want) {
		want = append(want, strings.Replace(w, "s5", "s6", 1))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	alone := Default()
	alone.Methods, alone.Protocol, alone.Seed = []string{"finetune"}, ProtocolSurvey, 5
	if a, b := small.Runs(alone)[0], runs[0]; a.Canonical() != b.Canonical() {
		t.Errorf("Finetune alone is another run than beside others: %s", Difference(a, b))
	}
}

// What means the same is the same run and has the same identity.
func TestOneMeaningOneRun(t *testing.T) {
	rising := make([]int, 100)
	for i := range rising {
		rising[i] = i
	}
	swapped := slices.Clone(rising)
	swapped[0], swapped[1] = 1, 0
	mlp := func(c *Config) { c.Network.Name = "mlp" }
	for _, tt := range []struct {
		name string
		a, b func(*Config)
		same bool
	}{
		{"width of mlp", mlp, func(c *Config) { mlp(c); c.Network.Width = 7 }, true},
		{"hidden layers of mlp", mlp, func(c *Config) { mlp(c); c.Network.Hidden = []int{7} }, false},
		{"hidden layers of resnet18", nil, func(c *Config) { c.Network.Hidden = []int{7} }, true},
		{"width of resnet18", nil, func(c *Config) { c.Network.Width = 7 }, false},
		{"the place of the first weights", func(c *Config) { c.Network.Init = "a" }, func(c *Config) { c.Network.Init = "b" },
			true},
		{"other first weights", func(c *Config) { c.Network.Init = "a" },
			func(c *Config) { c.Network.Init, c.Network.InitDigest = "a", aDigest }, false},
		{"the data set's own size", nil, func(c *Config) { c.Data.Size = 32 }, true},
		{"another size", nil, func(c *Config) { c.Data.Size = 33 }, false},
		{"a size that nobody knows", func(c *Config) { c.Data.Name = "files" },
			func(c *Config) { c.Data.Name, c.Data.Size = "files", 32 }, false},
		{"normalised as they are", nil, func(c *Config) {
			c.Stream.Mean, c.Stream.Std = []float64{0, 0, 0},
				[]float64{1, 1, 1}
		}, true},
		{"normalised", nil, func(c *Config) { c.Stream.Mean, c.Stream.Std = []float64{0, 0, 1}, []float64{1, 1, 1} }, false},
		{"given and listed", func(c *Config) { c.Stream.ClassOrder = Order{Name: OrderGiven} },
			func(c *Config) { c.Stream.ClassOrder = Order{Classes: rising} }, true},
		{"given and listed otherwise", func(c *Config) { c.Stream.ClassOrder = Order{Name: OrderGiven} },
			func(c *Config) { c.Stream.ClassOrder = Order{Classes: swapped} }, false},
	} {
		a, b := Default(), Default()
		if tt.a != nil {
			tt.a(&a)
		}
		tt.b(&b)
		x, y := small.Runs(a)[0], small.Runs(b)[0]
		if same := x.Canonical() == y.Canonical(); same != tt.same {
			t.Errorf("%s: the same run is %v (%s)", tt.name, same, Difference(x, y))
		}
		if same := small.Canonical(a) == small.Canonical(b); same != tt.same {
			t.Errorf("%s: one identity is %v", tt.name, same)
		}
	}
}

func TestSeeds(t *testing.T) {
	c := Default()
	c.Seed = 4
	if c.OrderSeed() != 4 || c.InitSeed() != 4 || c.MemorySeed() != 4 {
		t.Error("seed does not set everything")
	}
	n := uint64(9)
	c.Seeds.Init = &n
	if c.OrderSeed() != 4 || c.InitSeed() != 9 || c.MemorySeed() != 4 {
		t.Error("seeds.init sets something else than itself")
	}
	same := Default()
	one := uint64(1)
	same.Seeds.Order = &one
	if d := Default(); small.Runs(same)[0].Canonical() != small.Runs(d)[0].Canonical() {
		t.Error("a seed of its own that is the run's makes another run")
	}
}

func TestCheckGiven(t *testing.T) {
	for _, tt := range []struct {
		change func(*Config)
		key    string
		want   string
	}{
		{func(c *Config) {}, "memory", ""},
		{func(c *Config) { c.Methods, c.Memory = []string{"finetune"}, 100 }, "memory",
			"memory: 100 is given, but finetune does not use it. Add a method that does (er, icarl), or remove it"},
		{func(c *Config) { c.Methods, c.Memory = []string{"finetune"}, 500 }, "memory", "memory: 500 is given"},
		{func(c *Config) { c.Replay.Teacher = TeacherTraining }, "replay.teacher",
			"replay.teacher: training is given, but none of finetune, er uses it. Add a method that does (icarl) or a trick that does (kdc), or remove it"},
		{func(c *Config) { c.Replay.Teacher, c.Tricks = TeacherTraining, []string{"none", "kdc"} }, "replay.teacher", ""},
		{func(c *Config) {}, "replay.joint", ""},
		{func(c *Config) {}, "method.ewc++.every",
			"method.ewc++.every is an option of ewc++, but ewc++ is not in the list of methods (finetune, er)."},
		{func(c *Config) { c.Methods = []string{"ewc++"} }, "method.ewc++.every", ""},
		{func(c *Config) { c.Optimizer.LR = 3 }, "optimizer.lr", ""},
		{func(c *Config) { c.Network.Name, c.Network.Width = "mlp", 7 }, "network.width",
			"network.width: 7 is given, but mlp does not use it. Use --network resnet18, or remove it"},
		{func(c *Config) { c.Network.Hidden = []int{5, 6} }, "network.hidden",
			"network.hidden: 5,6 is given, but resnet18 does not use it. Use --network mlp, or remove it"},
		{func(c *Config) { c.Network.Name = "mlp" }, "network.width", ""},
		{func(c *Config) { c.Network.Width = 7 }, "network.width", ""},
		{func(c *Config) { c.Network.Name, c.Network.Hidden = "mlp", []int{5} }, "network.hidden", ""},
	} {
		c := Default()
		tt.change(&c)
		err := small.CheckGiven(c, tt.key)
		if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: got  %v\nwant %s", tt.key, err, tt.want)
		}
	}
}

// The schema for editors takes what the program prints and refuses what it refuses.
func TestJSONSchema(t *testing.T) {
	text, err := small.JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("config.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	validate := func(text []byte) error {
		var v any
		if err := yaml.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(strings.NewReader(string(asJSON)))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(instance)
	}
	other := Default()
	other.Stream.ClassOrder, other.Seeds.Order = Order{Classes: []int{1, 0}}, new(uint64)
	other.Methods, other.Method = []string{"ewc++"}, map[string]map[string]any{"ewc++": {"every": 3}}
	for _, good := range []string{"", "optimizer:", "method: {ewc++: }", "seed: 18446744073709551615",
		"seeds: {order: 18446744073709551615}",
		"method: {ewc++: {steps: 9223372036854775807}}"} {
		if good != "" && validate([]byte(good)) != nil {
			t.Errorf("the schema refuses %s", good)
		}
		if c, err := small.Parse("x", []byte(good)); err != nil || small.Validate(c) != nil {
			t.Errorf("the program refuses %s", good)
		}
	}
	for _, c := range []Config{Default(), small.Resolved(Default()), small.Runs(Default())[1], other} {
		text, err := c.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(text); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
	for _, bad := range []string{"memroy: 1", "runs: 0", "runs: x", "optimizer: {lr: 0}", "optimizer: {momentum: 1}",
		"protocol: surveys", "methods: [err]",
		"methods: []", "method: {ewc++: {evry: 1}}", "method: {ewc++: {every: 10}}", "stream: {class_order: 3}", "seed: -1",
		"seed: 18446744073709551616", "seeds: {init: 18446744073709551616}",
		"method: {ewc++: {steps: 9223372036854775808}}", "stream: {class_order: []}",
		"stream: {class_order: [9223372036854775808]}", "optimizer.lr: 0.2", "method.ewc++.every: 2",
		"replay: {teacher: evening}"} {
		if validate([]byte(bad)) == nil {
			t.Errorf("the schema takes %s", bad)
		}
		c, err := small.Parse("x", []byte(bad))
		if err == nil && small.Validate(c) == nil {
			t.Errorf("the program takes %s", bad)
		}
	}
}

// A key has what lists and pages say of it, and its default is in its range.
func TestKeysAreDeclaredWhole(t *testing.T) {
	flags := map[string]bool{}
	for _, k := range table {
		if k.Help == "" || (k.Group == "") != (k.Value == "") || k.Flag() != "" && k.Truth() {
			t.Errorf("%s is not declared whole", k.Name)
		}
		if k.Short != "" && flags[k.Short] {
			t.Errorf("two keys are called %s", k.Short)
		}
		flags[k.Short] = true
	}
	fields := 0
	var count func(reflect.Type)
	count = func(typ reflect.Type) {
		for i := range typ.NumField() {
			if f := typ.Field(i).Type; f.Kind() == reflect.Struct && f != reflect.TypeFor[Order]() {
				count(f)
			} else if typ.Field(i).Name != "Method" {
				fields++
			}
		}
	}
	if count(reflect.TypeFor[Config]()); fields != len(table) {
		t.Errorf("Config has %d fields, the table %d keys", fields, len(table))
	}
}

// A clone may be changed without changing the config.
func TestCloneSharesNothing(t *testing.T) {
	src := rand.New(rand.NewPCG(9, 10))
	for range 50 {
		c := drawn(src)
		before, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		d := c.Clone()
		for _, k := range table {
			switch v := k.value(&d).(type) {
			case []string:
				for i := range v {
					v[i] = "changed"
				}
			case []int:
				for i := range v {
					v[i] = -7
				}
			case []float64:
				for i := range v {
					v[i] = -7
				}
			}
		}
		for _, p := range []*uint64{d.Seeds.Order, d.Seeds.Init, d.Seeds.Memory} {
			if p != nil {
				*p++
			}
		}
		if d.Stream.DropLast != nil {
			*d.Stream.DropLast = !*d.Stream.DropLast
		}
		for _, k := range d.Stream.ClassOrder.Classes {
			d.Stream.ClassOrder.Classes[0] = k + 1
		}
		for _, options := range d.Method {
			options["raw"] = false
		}
		if after, _ := json.Marshal(c); string(after) != string(before) {
			t.Fatalf("changing a clone changed the config:\n%s\n%s", before, after)
		}
	}
}

// checkRead holds what must hold of every config that was read, valid or not: written as YAML and as JSON it is read as
// the same, and of a valid one each run is a valid config whose only run it is.
func checkRead(t *testing.T, c Config) {
	t.Helper()
	asYAML, err := c.YAML()
	if err != nil { // a text that is no UTF-8
		if small.Validate(c) == nil {
			t.Fatalf("a valid config cannot be written: %v", err)
		}
		return
	}
	asJSON, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{asYAML, asJSON} {
		if again, err := small.Parse("x", text); err != nil || Difference(c, again) != "" {
			t.Fatalf("written, it is read as another: %v, %s\n%s", err, Difference(c, again), text)
		}
	}
	if err := small.Validate(c); err != nil {
		plainMessage(t, err)
		return
	}
	c.Runs = min(c.Runs, 2)
	for _, r := range small.Runs(c) {
		if err := small.Validate(r); err != nil {
			t.Fatalf("of a valid config, a run is not valid: %v\n%s", err, asYAML)
		}
		if again := small.Runs(r); len(again) != 1 || Difference(r, again[0]) != "" ||
			small.Canonical(r) != small.Canonical(again[0]) {
			t.Fatalf("a run is not its own only run\n%s", asYAML)
		}
	}
}

// plainMessage holds that a message shows nothing raw of what was read; faults are one a line.
func plainMessage(t *testing.T, err error) {
	t.Helper()
	if strings.ContainsFunc(err.Error(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) {
		t.Errorf("a message with a control character: %q", err)
	}
}

// readAll reads a text as a person's file, as a program's and as the config of a result.
func readAll(t *testing.T, text []byte) {
	t.Helper()
	var c Config
	var err error
	most := uint64(4000*len(text) + 1<<20)
	if n := fuzztest.Allocated(most, func() { c, err = small.Parse("x", text) }); n > most {
		t.Fatalf("%d bytes were allocated for a text of %d", n, len(text))
	}
	if err != nil {
		plainMessage(t, err)
	} else {
		checkRead(t, c)
	}
	var bare Config
	if err := json.Unmarshal(text, &bare); err == nil {
		if small.Validate(bare) == nil { // options were read without a catalogue
			checkRead(t, bare)
		}
	}
}

func FuzzParse(f *testing.F) {
	text, err := Default().YAML()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("method: {ewc++: {lambda: 1e-3}}\nstream: {class_order: [1, 0]}\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("version: 1\nmethods: [er, \"ewc++\"]\noptimizer:\n  lr: .inf\nnetwork: {hidden: [0x10, 1e2]}\nseed: !!int 3\n"))
	f.Fuzz(readAll)
}

// FuzzKeys reads a config of many keys with changes in it, as JSON, which is YAML too: bytes that are drawn hardly ever
// get past the keys to their values.
func FuzzKeys(f *testing.F) {
	c := Default()
	c.Methods, c.Tricks, c.Classifiers = []string{"er", "ewc++"}, []string{"none", "kdc+mi"}, []string{"head", "ncm"}
	c.Method = map[string]map[string]any{"ewc++": {"lambda": 0.5, "every": 2, "raw": true, "mode": "b"}}
	base, err := json.Marshal(c)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{})
	f.Add([]byte{3, 0, 0, 9, 1, 4})
	f.Add([]byte{20, 6, 7, 12, 2, 3, 30, 4, 1})
	f.Fuzz(func(t *testing.T, choices []byte) { readAll(t, fuzztest.JSON(base, fuzztest.Of(choices))) })
}

// FuzzSet sets keys from lines KEY=VALUE, as the command line does. A value that was taken is taken again as it is
// shown.
func FuzzSet(f *testing.F) {
	c := Default()
	for _, k := range table {
		f.Add(k.Name + "=" + k.text(&c))
	}
	f.Add("methods=er,ewc++\nmethod.ewc++.lambda=1e-3\nmethod.ewc++.every=3\nmethod.ewc++.raw=true\nmethod.ewc++.mode=b")
	f.Add("tricks=[none, kdc+mi]\nnetwork.hidden=[0x10, 1e2]\nstream.class_order=[2, 0, 1]\nseed=18446744073709551615")
	f.Add("data.dir=a\xff")
	f.Add("stream.mean=\"0.5\", '1'\noptimizer.lr=0x1p-3\nruns=1_000\nmethod.er.x=1\n=\nmethod.=3")
	f.Fuzz(func(t *testing.T, lines string) {
		c := Default()
		for line := range strings.Lines(lines) {
			key, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			before := c.Clone()
			if err := small.Set(&c, key, text); err != nil {
				plainMessage(t, err)
				if d := cmp.Diff(before, c, cmpopts.EquateNaNs()); d != "" {
					t.Fatalf("%q was refused and changed the config: %s", line, d)
				}
				continue
			}
			if err := small.CheckGiven(c, key); err != nil {
				plainMessage(t, err)
			}
		}
		checkRead(t, c)
	})
}

// TestLargeOptions: a number of a result's config is the same number when the config is read with the catalogue,
// however large.
func TestLargeOptions(t *testing.T) {
	for _, number := range []string{"3", "999999999999999", "1000000000000000", "9007199254740993", "9223372036854775807",
		"18446744073709551615"} {
		text := `{"methods": ["ewc++"], "method": {"ewc++": {"lambda": ` + number + `}}}`
		var bare Config
		if err := json.Unmarshal([]byte(text), &bare); err != nil {
			t.Fatalf("%s: %v", number, err)
		}
		read, err := small.Parse("x", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", number, err)
		}
		if d := Difference(bare, read); d != "" {
			t.Errorf("%s: read without the catalogue and with it, %s", number, d)
		}
	}
}

// TestKept: a run keeps from its parent what the learner is, and takes data, stream and rates anew.
func TestKept(t *testing.T) {
	parent := Default()
	c := parent.Clone()
	c.Data, c.Stream = Data{Name: "folder", Dir: "x"}, Stream{Batch: 3}
	c.Protocol, c.Eval, c.EvalEvery, c.Classifiers = ProtocolSurvey, EvalAll, 7, Classifiers()
	c.Optimizer.LR, c.Optimizer.WeightDecay = 0.5, 0.25
	c.Seeds.Order, c.Engine, c.Parent = new(uint64), Engine{Kernel: "avx2", Convolution: "direct"},
		Parent{Run: "a", Checkpoint: "b"}
	if d := Kept(parent, c); d != "" {
		t.Errorf("%s is not kept", d)
	}
	for want, change := range map[string]func(*Config){
		"memory is 500 there and 1 here":          func(c *Config) { c.Memory = 1 },
		"seed is 1 there and 2 here":              func(c *Config) { c.Seed = 2 },
		"replay.batch is 10 there and 3 here":     func(c *Config) { c.Replay.Batch = 3 },
		"optimizer.name is sgd there and adam":    func(c *Config) { c.Optimizer.Name = "adam" },
		"optimizer.momentum is 0 there and 0.5":   func(c *Config) { c.Optimizer.Momentum = 0.5 },
		"stream.mean is not set there and 1 here": func(c *Config) { c.Stream.Mean = []float64{1} },
		"seeds.memory is not set there and 0":     func(c *Config) { c.Seeds.Memory = new(uint64) },
		"method.mir.candidates is not set there":  func(c *Config) { c.Method = map[string]map[string]any{"mir": {"candidates": 5}} },
	} {
		c := parent.Clone()
		change(&c)
		if got := Kept(parent, c); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestAliasesAreCounted: aliases that stand for more than a file may have are refused before any is followed.
func TestAliasesAreCounted(t *testing.T) {
	numbers := strings.Repeat("1, ", 20_000)
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'm'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9))
	}
	for _, text := range []string{
		"study: 1\nmethods: [er]\nmemory: &x [" + numbers + "]\ninclude: [" + strings.Repeat("{methods: [er], memory: *x}, ",
			1000) + "]\n",
		"study: 1\n" + bomb,
		"study: 1\na: &a [*a]\n",
	} {
		var err error
		most := uint64(64 << 20)
		if got := fuzztest.Allocated(most, func() { _, err = small.ParseSheet("s.yaml", []byte(text)) }); got > most {
			t.Errorf("%d bytes were allocated for %d bytes of text", got, len(text))
		}
		if err == nil || !strings.Contains(err.Error(),
			"s.yaml: its aliases (*name) stand for more than 1048576 values. Write out") {
			t.Errorf("%.60s: error %v", text, err)
		}
	}
	if _, err := small.ParseSheet("s.yaml", []byte("study: 1\nmethods: &m [er]\ninclude: [{methods: *m}]\n")); err != nil {
		t.Error(err)
	}
}
