package experiment

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl"
	"ocl/config"
	"ocl/nn"
)

// tree lists the files below a folder with their contents.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		files[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestFinishedRunsAreKept(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "x")
	first := mustRun(t, tiny(), Options{Out: out})
	before := tree(t, out)
	notes, steps := 0, 0
	second := mustRun(t, tiny(), Options{Out: out, Concurrency: 1, Events: func(Job) Events {
		return Events{
			Note:    func(string) { notes++ },
			StepEnd: stepCounter(&steps),
		}
	}})
	if d := cmp.Diff(before, tree(t, out)); d != "" {
		t.Errorf("files changed: %s", d)
	}
	if d := cmp.Diff(comparable(t, first), comparable(t, second)); d != "" {
		t.Errorf("results changed: %s", d)
	}
	if notes != 4 || steps != 0 {
		t.Errorf("%d notes, want 4; %d steps, want 0", notes, steps)
	}
	for path := range before {
		if strings.Contains(path, CheckpointDir) {
			t.Errorf("without KeepCheckpoint %s is left", path)
		}
	}
}

// A result that cannot be read stops its run with what to do; done, the same command ends in the same result.
func TestDamagedResult(t *testing.T) {
	t.Parallel()
	c := tiny()
	c.Methods, c.Runs = []string{"er"}, 1
	o := Options{Out: filepath.Join(t.TempDir(), "x"), KeepCheckpoint: true}
	first := mustRun(t, c, o)
	path := filepath.Join(o.Out, jobsOf(t, c)[0].Folder, ResultFile)
	if err := os.WriteFile(path, []byte("garbage"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Resume(context.Background(), o.Out, o)
	if err == nil || !strings.Contains(err.Error(), path+": ") ||
		!strings.Contains(err.Error(), "remove it and run again") ||
		strings.Contains(err.Error(), "step 0") {
		t.Errorf("error %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	again, err := Resume(context.Background(), o.Out, o)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(comparable(t, first), comparable(t, again)); d != "" {
		t.Error(d)
	}
}

func TestOtherExperimentRefused(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "x")
	small := tiny()
	small.Runs, small.Stream.Tasks = 1, 2
	mustRun(t, small, Options{Out: out, KeepCheckpoint: true})
	before := tree(t, out)
	other := small
	other.Optimizer.LR = 0.05
	_, err := Run(context.Background(), other, Options{Out: out})
	want := "the folder has a different experiment: optimizer.lr is 0.1 there and 0.05 here. Choose another --out"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if d := cmp.Diff(before, tree(t, out)); d != "" {
		t.Errorf("files changed: %s", d)
	}

	// Force replaces what the program wrote, and only that.
	for _, name := range []string{"notes.txt", jobsOf(t, small)[1].Folder + "/mine.txt", "figures/a.svg",
		"figures/photo.jpg", "tables/t.csv", "report.html"} {
		path := filepath.Join(out, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	other.Methods = []string{"finetune"}
	results := mustRun(t, other, Options{Out: out, Force: true})
	if len(results) != 1 || results[0].Outcome.Step != 60 {
		t.Errorf("results %v", results)
	}
	left := listed(t, out)
	slices.Sort(left)
	wanted := []string{".lock", ".use", "er-m30-s1-KEY/.lock", "er-m30-s1-KEY/mine.txt", "experiment.yaml",
		"figures/photo.jpg", "finetune-s1-KEY/.lock",
		"finetune-s1-KEY/config.yaml", "finetune-s1-KEY/events.jsonl", "finetune-s1-KEY/result.json", "notes.txt"}
	if d := cmp.Diff(wanted, left); d != "" {
		t.Error(d)
	}
}

func TestForeignFolderRefused(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	if err := os.WriteFile(filepath.Join(out, "thesis.tex"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	refused(t, out, "the folder has other files and no experiment.yaml")
	if n := len(tree(t, out)); n != 1 {
		t.Errorf("%d files, want 1", n)
	}
	file := filepath.Join(out, "thesis.tex")
	refused(t, file, "thesis.tex")
	refused(t, filepath.Join(file, "x"), "thesis.tex")
	damaged := t.TempDir()
	if err := os.WriteFile(filepath.Join(damaged, ConfigFile), []byte("sed: 1"), 0o644); err != nil {
		t.Fatal(err)
	}
	refused(t, damaged, "its experiment.yaml cannot be read")
}

func refused(t *testing.T, out, want string) {
	t.Helper()
	steps := 0
	results, err := Run(context.Background(), tiny(), Options{Out: out, Events: func(Job) Events {
		return Events{StepEnd: stepCounter(&steps)}
	}})
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--out") || len(results) > 0 ||
		steps > 0 {
		t.Errorf("%s: %d results, %d steps, error %v\nwant %s", out, len(results), steps, err, want)
	}
}

// A folder that cannot be written is told before anything is learned. /sys takes no files from anyone.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs /sys of Linux")
	}
	refused(t, "/sys/ocl-test", "/sys/ocl-test")
}

// Seeds and methods that are added to a finished experiment are all that is computed.
func TestAddingComputesOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "x")
	c := tiny()
	first := comparable(t, mustRun(t, c, Options{Out: out}))
	for _, tt := range []struct {
		change func(*config.Config)
		begun  []string
		runs   int
	}{
		{func(c *config.Config) { c.Runs = 3 }, []string{"finetune s3", "er s3"}, 6},
		{func(c *config.Config) { c.Methods = []string{"finetune", "er", "agem"} }, []string{"agem s1", "agem s2", "agem s3"},
			9},
		{func(c *config.Config) { c.Tricks = []string{"none", "lb"} },
			[]string{"finetune+lb s1", "er+lb s1", "agem+lb s1", "finetune+lb s2", "er+lb s2", "agem+lb s2",
				"finetune+lb s3", "er+lb s3", "agem+lb s3"}, 18},
	} {
		tt.change(&c)
		var begun []string
		results := mustRun(t, c, Options{Out: out, Concurrency: 1, Events: func(j Job) Events {
			return Events{StepEnd: func(step int, _ ocl.StepStats) {
				if step == 1 {
					begun = append(begun, fmt.Sprintf("%s s%d", j.Name(), j.Seed))
				}
			}}
		}})
		if d := cmp.Diff(tt.begun, begun); d != "" || len(results) != tt.runs {
			t.Errorf("%d results; begun: %s", len(results), d)
		}
		if d := cmp.Diff(first[0], comparable(t, results[:1])[0]); d != "" {
			t.Errorf("a kept result changed: %s", d)
		}
	}
	c.Runs = 2
	if _, err := Run(context.Background(), c, Options{Out: out}); err == nil ||
		!strings.Contains(err.Error(), "runs is 3 there and 2 here. To add runs to it, also list the runs that it has") {
		t.Errorf("an experiment with fewer runs takes the folder: %v", err)
	}
	if _, err := Resume(context.Background(), out, Options{}); err != nil {
		t.Error(err)
	}
}

// The key of a run depends on what its numbers depend on, and on nothing else.
func TestKeys(t *testing.T) {
	t.Parallel()
	keyOf := func(change func(*config.Config)) string {
		c := one("er")
		change(&c)
		j := jobsOf(t, c)[0]
		if len(j.Key) != 64 || !strings.HasSuffix(j.Folder, "-"+j.Key[:8]) {
			t.Errorf("key %s, folder %s", j.Key, j.Folder)
		}
		return j.Key
	}
	base := keyOf(func(*config.Config) {})
	drop, seed := false, uint64(1)
	for name, change := range map[string]func(*config.Config){
		"the default of eval":  func(c *config.Config) { c.Eval = config.EvalSeen },
		"the default of drop":  func(c *config.Config) { c.Stream.DropLast = &drop },
		"another method":       func(c *config.Config) { c.Methods = []string{"er", "finetune"} },
		"another seed":         func(c *config.Config) { c.Runs = 3 },
		"an idle option":       func(c *config.Config) { c.Method = map[string]map[string]any{"gss": {"gate": "batch"}} },
		"the teacher":          func(c *config.Config) { c.Replay.Teacher = config.TeacherTraining }, // er has none
		"its own seed":         func(c *config.Config) { c.Seeds.Order = &seed },
		"a width for resnet18": func(c *config.Config) { c.Network.Width = 7 }, // the network is an mlp
		"the engine there is":  func(c *config.Config) { c.Engine.Kernel = nn.DefaultEngine().Kernel },
	} {
		if keyOf(change) != base {
			t.Errorf("%s changes the key", name)
		}
	}
	own := keyOf(func(c *config.Config) { c.Data.Size = 0 })
	if keyOf(func(c *config.Config) { c.Data.Size = 32 }) != own || own == base {
		t.Error("the glyphs' own size is another run than no size")
	}
	seed2 := uint64(2)
	seen := map[string]string{base: "the base"}
	for name, change := range map[string]func(*config.Config){
		"lr":         func(c *config.Config) { c.Optimizer.LR = 0.05 },
		"memory":     func(c *config.Config) { c.Memory = 31 },
		"order seed": func(c *config.Config) { c.Seeds.Order = &seed2 },
		"init seed":  func(c *config.Config) { c.Seeds.Init = &seed2 },
		"data":       func(c *config.Config) { c.Data.TestPerClass = 3 },
		"kernel":     func(c *config.Config) { c.Engine.Kernel = "generic" },
		"eval_every": func(c *config.Config) { c.EvalEvery = 5 },
	} {
		key := keyOf(change)
		if other, twice := seen[key]; twice && !(name == "kernel" && nn.DefaultEngine().Kernel == "generic") {
			t.Errorf("%s and %s have one key", name, other)
		}
		seen[key] = name
	}
}

// A folder with a run of the same config but other data is refused: results of both would
// stand side by side.
func TestStrayRunsRefused(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "x")
	c := one("er")
	mustRun(t, c, Options{Out: out})
	folder := filepath.Join(out, jobsOf(t, c)[0].Folder)
	path := filepath.Join(folder, EventsFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(text), `"data_digest":"sha256:`, `"data_digest":"sha256:0`, 1)
	if err := os.WriteFile(path, []byte(other), 0o644); err != nil {
		t.Fatal(err)
	}
	stray := filepath.Join(out, "er-m30-s1-00000000")
	if err := os.Rename(folder, stray); err != nil {
		t.Fatal(err)
	}
	refused := func(want string) {
		t.Helper()
		for name, try := range map[string]func() error{
			"run":    func() error { _, err := Run(context.Background(), c, Options{Out: out}); return err },
			"resume": func() error { _, err := Resume(context.Background(), out, Options{}); return err },
		} {
			if err := try(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), stray) {
				t.Errorf("%s: got  %v\nwant %s", name, err, want)
			}
		}
	}
	refused("it was made with the data sha256:0")
}

// A folder whose config is of another experiment than all its runs is not resumed.
func TestConfigOfAnotherExperimentRefused(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "x")
	mustRun(t, one("er"), Options{Out: out})
	other := filepath.Join(t.TempDir(), "y")
	mustRun(t, one("finetune"), Options{Out: other})
	if err := os.Rename(filepath.Join(other, ConfigFile), filepath.Join(out, ConfigFile)); err != nil {
		t.Fatal(err)
	}
	_, err := Resume(t.Context(), out, Options{})
	if err == nil || !strings.Contains(err.Error(), "its experiment.yaml is of another experiment") {
		t.Errorf("error %v", err)
	}
}

// The data are opened once for any number of experiments over them.
func TestWithSharesTheData(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, tiny(), Options{})
	c := tiny()
	c.Methods, c.Memory = []string{"gdumb"}, 40
	y, err := x.With(c, Options{})
	if err != nil || y.set != x.set || len(y.Jobs()) != 2 {
		t.Fatalf("%v, %+v", err, y)
	}
	c.Data.Size = 9
	if _, err := x.With(c, Options{}); err == nil || !strings.Contains(err.Error(), "other data") {
		t.Errorf("other data: %v", err)
	}
}
