package cli

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ocl/internal/faulttest"
	"ocl/learn/method"
	"ocl/nn/arch"
	"ocl/nn/safetensors"
	"ocl/nn/weights"
	"ocl/rng"
	"ocl/run/experiment"
	"ocl/run/result"
	"ocl/run/tune"
	"ocl/sweep/study"
)

var (
	kills     = flag.Int("kills", 0, "kills of each command in TestKilled; 0 is a few")
	killSeed  = flag.Uint64("killseed", 0, "seed of the instants of TestKilled and TestFaultyDisk; 0 draws one")
	allFaults = flag.Bool("faults", false, "TestFaultyDisk fails every single operation of each command instead of some")
)

// crashing is a command whose work is to survive. The same command again continues it.
type crashing struct {
	name  string
	args  []string // $OUT is the folder of the work
	retry []string // what a person gives before the same command again, after one that failed; nil is nothing
	files map[string]string
}

const small = "data.size=8 data.train_per_class=4 data.test_per_class=2 --network mlp network.hidden=8 --workers 1 --concurrency 1 --checkpoint-every -1 --no-report"

// smallExperts are settings of CN-DPM with sleeps of five steps, one for every 40 samples.
const smallExperts = "data.size=12 data.train_per_class=2 data.test_per_class=1 --memory 40 --workers 1 --concurrency 1 --checkpoint-every -1 --no-report " +
	"method.cndpm.sleep_vae_steps=3 method.cndpm.sleep_classifier_steps=2 method.cndpm.sleep_batch=5 method.cndpm.z_samples=2 " +
	"method.cndpm.z_dim=4 method.cndpm.vae_features=4 method.cndpm.vae_growth=2 method.cndpm.classifier_features=4 " +
	"method.cndpm.classifier_growth=2 method.cndpm.log_alpha=1e6"

// crashingRuns are runs of every method of the catalogue with one of the tricks that it takes, by its name, and of the
// review trick.
func crashingRuns() (all []crashing) {
	for _, info := range method.Catalogue() {
		if info.OwnNetworks {
			all = append(all, crashing{name: info.Name, args: strings.Fields("run --tasks 4 --method " + info.Name + " " +
				smallExperts + " --out $OUT/run")})
			continue
		}
		var takes []string
		for _, trick := range method.Tricks() {
			if _, refused := info.Refuses[trick.Name]; !refused {
				takes = append(takes, trick.Name)
			}
		}
		with := []string{"none"}
		if len(takes) > 0 {
			h := fnv.New32a()
			h.Write([]byte(info.Name))
			with = []string{takes[int(h.Sum32()%uint32(len(takes)))]}
		}
		if info.Name == "er" && !slices.Contains(with, "rv") {
			with = append(with, "rv")
		}
		for _, trick := range with {
			args := strings.Fields("run --tasks 4 --method " + info.Name + " --trick " + trick + " " + small + " --out $OUT/run")
			if info.UsesMemory {
				args = append(args, "--memory", "20")
			}
			if info.Solves != nil { // it reads no network
				args = slices.DeleteFunc(args, func(word string) bool {
					return word == "--network" || word == "mlp" ||
						word == "network.hidden=8"
				})
			}
			all = append(all, crashing{name: info.Name + "+" + trick, args: args})
		}
	}
	return all
}

const crashGrid = "optimizer.lr: [0.01, 0.1]\n"

// crashingOthers are the other commands that write for long.
func crashingOthers() []crashing {
	return []crashing{
		{name: "run --tune", args: strings.Fields("run --tasks 4 --method er --memory 20 --protocol survey --tune $OUT/grid.yaml tune.repeats=1 " +
			small + " --out $OUT/run"),
			files: map[string]string{"grid.yaml": crashGrid}},
		{name: "tune", args: strings.Fields("tune --tasks 4 --method er --memory 20 --grid $OUT/grid.yaml --repeats 1 " +
			strings.TrimSuffix(small, " --no-report") + " --out $OUT/run"),
			files: map[string]string{"grid.yaml": crashGrid}},
		{name: "sweep", args: strings.Fields("sweep $OUT/s.yaml --out $OUT/run --workers 1 --concurrency 1 --checkpoint-every -1 --no-report"),
			retry: strings.Fields("sweep retry $OUT/run"),
			files: map[string]string{"s.yaml": "study: 1\ndata: {size: 8, train_per_class: 4, test_per_class: 2}\nstream: {tasks: 2}\nnetwork: {name: mlp, hidden: [8]}\nmemory: 20\ninclude:\n  - {methods: [er], tricks: [rv]}\n  - {methods: [gdumb]}\n"}},
		{name: "cache", args: strings.Fields("run --data folder --data-dir $OUT/images data.size=8 --tasks 2 --method finetune --network mlp network.hidden=8 --workers 1 --concurrency 1 --checkpoint-every -1 --no-report --out $OUT/run"),
			files: pictures()},
		{name: "embed", args: strings.Fields("run --backbone $OUT/frozen.safetensors --data folder --data-dir $OUT/images --tasks 2 --method slda --workers 1 --concurrency 1 --checkpoint-every -1 --no-report --out $OUT/run"),
			files: withBackbone(pictures())},
		{name: "embed -o", args: strings.Fields("embed --backbone $OUT/frozen.safetensors --data folder --data-dir $OUT/images -o $OUT/e.npz"),
			files: withBackbone(pictures())},
	}
}

// withBackbone adds frozen.safetensors, a network of this project with random weights.
func withBackbone(files map[string]string) map[string]string {
	net, err := arch.MLP(arch.Config{Channels: 3, Height: 8, Width: 8, Classes: 2, Hidden: []int{5}},
		rng.New(1, "network/init"))
	var text bytes.Buffer
	if err == nil {
		err = safetensors.Write(&text, weights.Of(net),
			map[string]string{"ocl_version": "1", "architecture": "mlp", "shape": "[3,8,8]", "classes": "2",
				"hidden": "[5]", "mean": "[0,0,0]", "std": "[1,1,1]", "data": "glyphs"})
	}
	if err != nil {
		panic(err)
	}
	files["frozen.safetensors"] = text.String()
	return files
}

// pictures are the files of a person's own data set: 4 classes of 6 images.
func pictures() map[string]string {
	files := map[string]string{}
	for k := range 4 {
		for i := range 6 {
			m := image.NewRGBA(image.Rect(0, 0, 9, 9))
			for p := range 81 {
				m.Set(p%9, p/9, color.RGBA{uint8(60 * k), uint8(40 * i), uint8(3 * p), 255})
			}
			var b bytes.Buffer
			if err := png.Encode(&b, m); err != nil {
				panic(err)
			}
			files[fmt.Sprintf("images/class%d/%d.png", k, i)] = b.String()
		}
	}
	return files
}

// place makes the folder of a command.
func (c crashing) place(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range c.files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// run gives a command once, with decide asked about each change of the folder.
func run(t *testing.T, dir string, args []string, decide func(faulttest.Op) faulttest.Verdict) (killed bool,
	text string, err error) {
	t.Helper()
	args = slices.Clone(args)
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "$OUT", dir)
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "OCL_CACHE="+filepath.Join(dir, "cache"), "HOME="+dir, "NO_COLOR=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	killed, err = faulttest.Run(cmd, "ocl", dir, decide)
	if errors.Is(err, faulttest.ErrNoTraps) {
		t.Skipf("NOT RUN: %v", err)
	}
	return killed, out.String(), err
}

// undisturbed gives the command and returns what it leaves, and how many operations that took.
func (c crashing) undisturbed(t *testing.T) (want map[string]any, ops int) {
	t.Helper()
	dir := c.place(t)
	_, text, err := run(t, dir, c.args, func(op faulttest.Op) (v faulttest.Verdict) { ops = op.N; return v })
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if want = left(t, dir); len(want) == 0 {
		t.Fatalf("the command leaves no result: %s", text)
	}
	return want, ops
}

// left are the results, the records of tunings and the embeddings below a folder, by their places. A file that was
// being written is an error.
func left(t *testing.T, dir string) map[string]any {
	t.Helper()
	all := map[string]any{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		switch d.Name() {
		case "result.json":
			all[rel], err = result.Read(path)
		case tune.RecordFile, "e.npz": // the latter is of embed -o
			all[rel], err = os.ReadFile(path)
		}
		if strings.HasSuffix(path, ".tmp") {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// ends gives the command until it ends by itself, and compares what it leaves.
func (c crashing) ends(t *testing.T, dir, what string, want map[string]any) {
	t.Helper()
	_, text, err := run(t, dir, c.args, func(faulttest.Op) (v faulttest.Verdict) { return v })
	if err != nil {
		t.Fatalf("after %s, the same command again: %v: %s", what, err, text)
	}
	got := left(t, dir)
	for path, w := range want {
		switch w := w.(type) {
		case *result.Result:
			g, _ := got[path].(*result.Result)
			if g == nil {
				t.Errorf("after %s, %s is missing", what, path)
			} else if difference, same := result.Same(experiment.Schema(), w, g); !same {
				t.Errorf("after %s, %s: %s", what, path, difference)
			}
		case []byte:
			if g, _ := got[path].([]byte); !bytes.Equal(w, g) {
				t.Errorf("after %s, %s is\n%s\nwant\n%s", what, path, g, w)
			}
		}
	}
	if len(got) != len(want) {
		t.Errorf("after %s, there are %d results and records, want %d", what, len(got), len(want))
	}
}

// draws are the instants of a test. Their seed is told, so that a failure can be repeated.
func draws(t *testing.T) *rand.Rand {
	seed := cmp.Or(*killSeed, rand.Uint64())
	t.Logf("-killseed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// TestKilled: a command that is killed at random instants ends, given again, in the identical result. An instant is
// before one of its operations on files, in the middle of a write, or some time after one, while it computes. Each
// command is killed up to three times on its way, or twice where three deaths at one step are for a person to look at.
func TestKilled(t *testing.T) {
	t.Parallel()
	draw := draws(t)
	times := cmp.Or(*kills, 1)
	all := append(crashingRuns(), crashingOthers()...)
	if os.Getenv(longTier) != "" {
		times = cmp.Or(*kills, 2)
	} else if *kills == 0 { // one method of each kind, and the commands that keep more than a run
		all = slices.DeleteFunc(all, func(c crashing) bool {
			return !slices.Contains([]string{"er+rv", "cndpm", "run --tune", "sweep"}, c.name)
		})
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			want, ops := c.undisturbed(t)
			for done := 0; done < times; {
				dir, what := c.place(t), c.name
				most := 3
				if c.retry != nil {
					most = study.MostDeaths - 1
				}
				for range min(1+draw.IntN(most), times-done) {
					n, v := 1+draw.IntN(ops), faulttest.Verdict{Kill: true}
					switch draw.IntN(4) {
					case 0:
						v.Half = true
					case 1:
						v.After = time.Duration(draw.IntN(20_000)) * time.Microsecond
					}
					var at faulttest.Op
					killed, text, err := run(t, dir, c.args, only(n, v, &at))
					if !killed && err != nil {
						t.Fatalf("%s: %v: %s", what, err, text)
					}
					if killed {
						done++
						what += fmt.Sprintf(", a kill at %v (half %v, after %v)", at, v.Half, v.After)
					}
				}
				c.ends(t, dir, what, want)
			}
		})
	}
}

// only gives a verdict about one operation, which it stores.
func only(n int, v faulttest.Verdict, at *faulttest.Op) func(faulttest.Op) faulttest.Verdict {
	return func(op faulttest.Op) faulttest.Verdict {
		if op.N != n {
			return faulttest.Verdict{}
		}
		*at = op
		return v
	}
}

// TestFaultyDisk: whichever operation on files fails, a command ends with an error that says what failed, unless it can
// do without. Given again, it ends in the identical result.
func TestFaultyDisk(t *testing.T) {
	t.Parallel()
	draw := draws(t)
	runs := crashingRuns()
	er := runs[slices.IndexFunc(runs, func(c crashing) bool { return strings.HasPrefix(c.name, "er+") })]
	all := append([]crashing{er}, crashingOthers()...)
	faults := 6
	if os.Getenv(longTier) == "" && !*allFaults {
		all, faults = []crashing{er, all[3]}, 3
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			want, ops := c.undisturbed(t)
			which := draw.Perm(ops)
			if !*allFaults {
				which = which[:faults]
			}
			for _, n := range which {
				dir := c.place(t)
				var at faulttest.Op
				_, text, err := run(t, dir, c.args, func(op faulttest.Op) (v faulttest.Verdict) {
					if op.N != n+1 {
						return v
					}
					at, v.Err = op, syscall.EIO
					switch op.Call {
					case "write":
						v.Err, v.Half = syscall.ENOSPC, n%2 == 0
					case "open", "mkdir":
						v.Err = syscall.ENOSPC
					}
					return v
				})
				what := fmt.Sprintf("%s, a fault of %v", c.name, at)
				says := strings.Contains(text, "no space left on device") || strings.Contains(text, "input/output error")
				switch {
				case at.N == 0:
					continue // this time it took fewer
				case err == nil && !c.dispensable(at):
					t.Errorf("%s: the command ends well: %s", what, text)
				case err != nil && !(says && strings.Contains(text, shortName(at.Path))):
					t.Errorf("%s: the message does not say what failed: %s", what, text)
				case err == nil && *allFaults:
					t.Logf("%s: it does without", what)
				}
				if err != nil && c.retry != nil {
					if _, text, err := run(t, dir, c.retry, func(faulttest.Op) (v faulttest.Verdict) { return v }); err != nil {
						t.Logf("%v: %s", err, text) // there may be no study yet
					}
				}
				c.ends(t, dir, what, want)
			}
		})
	}
}

// dispensable says whether a command may end well although an operation failed: what is removed can stay, a file that
// is only locked holds nothing, events are synced before they are closed, and the notes of a study on done jobs are
// dispensable. The folder of a study, or of a record of tuning, is locked only to remove what a crash left there.
func (c crashing) dispensable(op faulttest.Op) bool {
	name, folder := filepath.Base(op.Path), filepath.Dir(op.Path)
	if op.Call == "open" && name == experiment.LockFile {
		record, err := filepath.Glob(filepath.Join(folder, tune.RecordFile))
		return err == nil && len(record) > 0 || c.name == "sweep" && filepath.Base(folder) == "run"
	}
	return op.Call == "close" && (strings.HasSuffix(name, experiment.LockFile) || name == experiment.UseFile ||
		name == experiment.EventsFile) || op.Call == "remove" || name == ".done" || name == ".attempt"
}

// shortName is the name of a file that a message about it has: that of the file which a temporary one is to become.
func shortName(path string) string {
	name := filepath.Base(path)
	if strings.HasSuffix(name, ".tmp") {
		name = strings.TrimPrefix(name, ".")
		if parts := strings.Split(name, "."); len(parts) > 2 {
			name = strings.Join(parts[:len(parts)-2], ".")
		}
	}
	return name
}
