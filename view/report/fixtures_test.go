package report

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ocl/config"
	"ocl/run/metric"
	"ocl/run/result"
)

// methods are those of the fakes, as the command hands them over.
var methods = []Known{
	{Name: "agem"}, {Name: "er"}, {Name: "ewc++"}, {Name: "finetune", Bound: LowerBound}, {Name: "gdumb"}, {Name: "gss"},
	{Name: "icarl"},
	{Name: "lwf"}, {Name: "mir"}, {Name: "offline", Bound: UpperBound},
}

// surveyed are the nine methods of the survey and its two bounds.
var surveyed = []string{"agem", "cndpm", "er", "ewc++", "finetune", "gdumb", "gss", "icarl", "lwf", "mir", "offline"}

// studyOf is newStudy with these methods.
func studyOf(runs []*run, notes []string) *study { return newStudy(runs, notes, methods, nil) }

// fake describes a made-up run.
type fake struct {
	method, title  string
	tricks         []string
	classifier     string // "" is the method's own rule
	memory         int    // -1 without
	seed           uint64
	tasks, perTask int
	level          float64 // accuracy on a task just learnt
	decay          float64 // factor by which accuracy on a task falls with each later task
	protocol       string
	lr             float64
	signals        []string
	state          string // "" is finished
	through        int    // tasks learnt; 0 is all
	kernel         string
	convolution    string // "" is table, "-" not recorded
	numbers        int
	concurrency    int
	errors         bool // with error analysis
	older          bool // from before the memory was counted by task
}

// make builds the result; the same fake gives the same result.
func (f fake) make() *result.Result {
	if f.tasks == 0 {
		f.tasks = 10
	}
	if f.perTask == 0 {
		f.perTask = 10
	}
	if f.protocol == "" {
		f.protocol = "standard"
	}
	if f.state == "" {
		f.state = result.Finished
	}
	if f.through == 0 {
		f.through = f.tasks
	}
	if f.kernel == "" {
		f.kernel = "avx512"
	}
	switch f.convolution {
	case "":
		f.convolution = "table"
	case "-":
		f.convolution = ""
	}
	if f.numbers == 0 {
		f.numbers = 1
	}
	if f.lr == 0 {
		f.lr = 0.1
	}
	src := rand.New(rand.NewPCG(f.seed, uint64(len(f.method))))
	classes := f.tasks * f.perTask
	r := &result.Result{Format: result.Format, Version: result.Version}
	r.Config = config.Default()
	r.Config.Stream.Kind, r.Config.Stream.ClassOrder.Name = config.KindClasses, config.OrderRandom
	r.Config.Methods, r.Config.Memory, r.Config.Stream.Tasks = []string{f.method}, max(f.memory, 0), f.tasks
	r.Config.Optimizer.LR, r.Config.Protocol, r.Config.Eval, r.Config.Seed = f.lr, f.protocol, config.EvalSeen, f.seed
	r.Method = result.Method{Name: f.method, Title: f.title, Tricks: f.tricks, Signals: f.signals}
	if r.Config.Tricks = f.tricks; f.classifier != "" {
		r.Config.Classifiers = []string{f.classifier}
	}
	r.Provenance = result.Provenance{
		Revision: "0123456789abcdef", Numbers: f.numbers, Kernel: f.kernel, Convolution: f.convolution,
		Workers: 2, Concurrency: max(f.concurrency, 1), Go: "go1.26.0", DataDigest: "sha256:5f0c0a0e",
	}
	r.Stream = result.Stream{Name: "glyphs", Scenario: "class-incremental", Protocol: f.protocol, Shape: [3]int{3, 32, 32},
		Classes: classes}
	order := src.Perm(classes)
	for t := range f.tasks {
		r.Stream.Tasks = append(r.Stream.Tasks, result.Task{Index: t, Classes: order[t*f.perTask : (t+1)*f.perTask],
			Train: 100 * f.perTask, Test: 25 * f.perTask})
	}
	for c := range classes {
		r.Stream.ClassNames = append(r.Stream.ClassNames, fmt.Sprintf("glyph %c", 'A'+c))
	}
	value := func(v float64) *float64 { v = math.Round(1000*min(max(v, 0), 1)) / 1000; return &v }
	if f.memory >= 0 {
		r.Memory = &result.Memory{Capacity: f.memory}
	}
	for i := range f.through {
		row := make([]*float64, f.tasks)
		perClass := make([]*float64, classes)
		counts := map[int]int{}
		for j := range i + 1 {
			a := f.level * math.Pow(f.decay, float64(i-j)) * (1 + 0.1*src.NormFloat64())
			row[j] = value(a)
			for _, c := range r.Stream.Tasks[j].Classes {
				perClass[c] = value(a * (1 + 0.5*src.NormFloat64()))
				counts[c] = max(f.memory, 0) / ((i + 1) * f.perTask)
			}
		}
		r.Accuracy = append(r.Accuracy, row)
		r.PerClass = append(r.PerClass, perClass)
		if r.Memory != nil {
			r.Memory.ClassCounts = append(r.Memory.ClassCounts, counts)
			if !f.older {
				byTask := map[int]int{}
				for j := range i + 1 {
					byTask[j] = f.perTask * (max(f.memory, 0) / ((i + 1) * f.perTask))
				}
				r.Memory.TaskCounts = append(r.Memory.TaskCounts, byTask)
			}
		}
	}
	if f.errors {
		r.ErrorAnalysis = f.analysis(r)
	}
	r.Metrics = result.MetricsOf(r.Accuracy, r.Stream.CommonTest, nil)
	r.Seconds = result.Seconds{Train: 40 + 30*f.decay + src.Float64(), Test: 9}
	r.Resources = result.Resources{PeakResidentBytes: 312e6, Parameters: 1_109_240,
		MemoryBytes: int64(max(f.memory, 0)) * 3072, FLOPsPerStep: 7e9}
	r.Outcome = result.Outcome{State: f.state, Step: f.through * 100}
	if f.state == result.Diverged {
		r.Outcome.Reason = "the loss is not a finite number"
	}
	return r
}

// analysis is an error analysis in which a quarter of the old samples that are wrong stay among the old classes; of
// each class seen 100 samples were tested.
func (f fake) analysis(r *result.Result) *result.ErrorAnalysis {
	a := &result.ErrorAnalysis{}
	var tasks [][]int
	for _, t := range r.Stream.Tasks {
		tasks = append(tasks, t.Classes)
	}
	value := func(v float64) *float64 { return &v }
	for i := range f.through {
		c := metric.NewConfusion(r.Stream.Classes)
		for j, classes := range tasks[:i+1] {
			for k, y := range classes {
				right := int(math.Round(100 * *r.Accuracy[i][j]))
				c[y][y] += right
				c[y][tasks[(j+1)%(i+1)][k]] += (100 - right) / 4
				c[y][tasks[i][(k+1)%len(classes)]] += 100 - right - (100-right)/4
			}
		}
		g := metric.Groups(tasks, i, r.Stream.Classes)
		e := c.Errors(g)
		t := result.TaskErrors{
			Task: i, New: e.New, Old: e.Old, NewAsOld: e.NewAsOld, NewAsNew: e.NewAsNew, OldAsOld: e.OldAsOld,
			OldAsNew:          e.OldAsNew,
			NewAsOldOfSamples: value(e.NewAsOldOfSamples()), NewAsOldOfErrors: value(e.NewAsOldOfErrors()),
			Confusion: c.ByTask(tasks, i),
		}
		t.Predictions = metric.Predictions(t.Confusion)
		if i > 0 {
			t.OldAsNewOfSamples, t.OldAsNewOfErrors = value(e.OldAsNewOfSamples()), value(e.OldAsNewOfErrors())
		}
		if f.method != "icarl" {
			t.Logits = &result.Logits{NewOwn: value(3), NewAll: value(2.5)}
			t.Head = &result.Head{NewWeight: value(0.01 / float64(i+1)), NewBias: value(0.02)}
			if i > 0 {
				t.Logits.OldOwn, t.Logits.OldAll, t.Head.OldWeight, t.Head.OldBias = value(-1), value(-2), value(-0.002),
					value(-0.01)
			}
		}
		a.Tasks, a.Confusion = append(a.Tasks, t), c
	}
	return a
}

// folder is the name of the run's folder.
func (f fake) folder() string {
	name := plainName(f.method)
	for _, t := range append(slices.Clone(f.tricks), f.classifier) {
		if t != "" {
			name += "+" + t
		}
	}
	if f.protocol != "" {
		name += "-" + f.protocol
	}
	if f.memory >= 0 {
		name += fmt.Sprintf("-m%d", f.memory)
	}
	return fmt.Sprintf("%s-s%d", name, f.seed)
}

// pair is an experiment of Finetune and ER with the given number of seeds.
func pair(seeds int) []fake {
	var f []fake
	for s := range uint64(seeds) {
		f = append(f,
			fake{method: "finetune", title: "Finetune", memory: -1, seed: s + 1, level: 0.7, decay: 0.2},
			fake{method: "er", title: "ER", memory: 500, seed: s + 1, level: 0.65, decay: 0.87, signals: []string{"memory"}})
	}
	return f
}

// save writes an experiment folder.
func save(t testing.TB, dir string, fakes []fake) {
	t.Helper()
	for _, f := range fakes {
		folder := filepath.Join(dir, f.folder())
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		b, err := json.MarshalIndent(f.make(), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "result.json"), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// results makes the results of fakes.
func results(fakes []fake) []*result.Result {
	var out []*result.Result
	for _, f := range fakes {
		out = append(out, f.make())
	}
	return out
}
