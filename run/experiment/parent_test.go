package experiment

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl"
	"ocl/checkpoint"
	"ocl/config"
	"ocl/data"
	"ocl/learn/learner/learnertest"
	"ocl/learn/method"
	"ocl/nn"
	"ocl/rng"
	"ocl/run/build"
	"ocl/run/result"
	"ocl/run/trained"
)

// learnOn is the config of a run that continues the one in folder, on other data.
func learnOn(t *testing.T, folder string, d config.Data) config.Config {
	t.Helper()
	c, err := trained.LearnOn(folder, false)
	if err != nil {
		t.Fatal(err)
	}
	c.Data = d
	return c
}

// learnerOf is the learner's state in the newest checkpoint of the only run in a folder.
func learnerOf(t *testing.T, folder string) *checkpoint.Container {
	t.Helper()
	_, got := lastCheckpoint(t, filepath.Join(folder, jobFolder(t, folder)))
	state := checkpoint.NewContainer()
	for _, name := range got.Names() {
		if strings.HasPrefix(name, "learner/") {
			b, err := got.Decoder().Bytes(name)
			if err != nil {
				t.Fatal(err)
			}
			state.Encoder().Bytes(name, b)
		}
	}
	return state
}

// pictures writes a folder of images of 12×10 pixels, so many of each class, and is a data set of them. The colour of a
// class is by its name.
func pictures(t *testing.T, perClass int, classes ...string) config.Data {
	t.Helper()
	dir := t.TempDir()
	for _, class := range classes {
		if err := os.MkdirAll(filepath.Join(dir, class), 0o755); err != nil {
			t.Fatal(err)
		}
		hue := rng.New(1, class)
		base := [3]int{hue.IntN(200), hue.IntN(200), hue.IntN(200)}
		for i := range perClass {
			noise := rng.New(uint64(i), "noise")
			m := image.NewRGBA(image.Rect(0, 0, 12, 10))
			for p := range 120 {
				c := func(k int) uint8 { return uint8(base[k] + noise.IntN(55)) }
				m.Set(p%12, p/12, color.RGBA{c(0), c(1), c(2), 255})
			}
			f, err := os.Create(filepath.Join(dir, class, fmt.Sprintf("%d.png", i)))
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join((&png.Encoder{CompressionLevel: png.NoCompression}).Encode(f, m), f.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return config.Data{Name: "folder", Dir: dir}
}

// ofPictures is a run of a method on pictures of four classes of 8×8 pixels.
func ofPictures(t *testing.T, method string, classes ...string) config.Config {
	t.Helper()
	c := one(method)
	c.Data = pictures(t, 20, classes...)
	if c.Data.Size = 8; build.Method(method).OwnNetworks {
		c.Data.Size = 12
	}
	c.Stream.Tasks, c.Stream.Batch = 2, 5
	c.Memory = 12
	if info := build.Method(method); !info.UsesMemory {
		c.Memory = config.DefaultMemory // what nobody chose
	}
	return c
}

// TestLearnOnEqualsOneRun: the first two tasks of a stream and then the others are learned as all of them at once, bit
// for bit, by every method and by what uses the boundaries of tasks, whatever drew, stored or taught before.
func TestLearnOnEqualsOneRun(t *testing.T) {
	t.Parallel()
	var configs []config.Config
	for _, info := range method.Catalogue() {
		if info.Offline {
			continue // it is shown all tasks at once
		}
		c := one(info.Name)
		c.Replay.Augment = slices.Contains(info.Settings, "replay.augment")
		if !info.UsesMemory {
			c.Memory = config.DefaultMemory
		}
		configs = append(configs, c)
	}
	for _, tricks := range []string{"kdc+rv", "kdc*+lb", "ss", "mi+ncm"} {
		c := one("er")
		c.Tricks, c.Optimizer.Name, c.Optimizer.LR = []string{tricks}, "adam", 0.001
		configs = append(configs, c)
	}
	for _, c := range configs {
		t.Run(c.Methods[0]+"+"+c.Tricks[0], func(t *testing.T) {
			t.Parallel()
			if err := Schema().Set(&c, "method.ewc++.every", "3"); err != nil { // a task is 12 steps
				t.Fatal(err)
			}
			dir := t.TempDir()
			out := func(name string) Options { return Options{Out: filepath.Join(dir, name), KeepCheckpoint: true} }
			whole := mustRun(t, c, out("whole"))[0]
			first := c
			first.Protocol = config.ProtocolTuning
			parent := mustRun(t, first, out("first"))[0]
			rest := learnOn(t, out("first").Out, c.Data)
			rest.Stream.Tasks, rest.Protocol = c.Stream.Tasks, config.ProtocolSurvey
			got := mustRun(t, rest, out("rest"))[0]
			learnertest.CheckSame(t, "the learner at the end", learnerOf(t, out("rest").Out), learnerOf(t, out("whole").Out))
			if d := cmp.Diff(whole.Accuracy[4][2:], got.Accuracy[2]); d != "" {
				t.Error("accuracy of the last tasks: ", d)
			}
			want := &result.Parent{Run: filepath.Base(mustRunFolder(t, out("first").Out)), Key: parent.Key,
				Checkpoint: rest.Parent.Checkpoint, Tasks: 2, Steps: 24, Classes: 100}
			if d := cmp.Diff(want, got.Parent); d != "" {
				t.Error(d)
			}
			if build.Method(c.Methods[0]).UsesMemory {
				for j := range 3 {
					if n, m := whole.Memory.TaskCounts[4][j+2], got.Memory.TaskCounts[2][j]; n != m {
						t.Errorf("%d samples of task %d are stored, and %d by the run of all tasks", m, j+1, n)
					}
				}
			}
			last := func(r *result.Result) result.TaskErrors {
				e := r.ErrorAnalysis.Tasks[len(r.ErrorAnalysis.Tasks)-1]
				return result.TaskErrors{New: e.New, NewAsOld: e.NewAsOld, NewAsNew: e.NewAsNew, NewAsUnseen: e.NewAsUnseen}
			}
			if d := cmp.Diff(last(whole), last(got)); d != "" { // classes of the first run are old
				t.Error("errors on new classes: ", d)
			}
		})
	}
}

func mustRunFolder(t *testing.T, out string) string {
	t.Helper()
	return filepath.Join(out, jobFolder(t, out))
}

// TestLearnOnNewClasses: known names keep their index, new ones get the next, images get the parent's size, and a child
// of a child knows the classes of both.
func TestLearnOnNewClasses(t *testing.T) {
	t.Parallel()
	for _, info := range method.Catalogue() {
		t.Run(info.Name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			out := func(name string) Options { return Options{Out: filepath.Join(dir, name), KeepCheckpoint: true} }
			mustRun(t, ofPictures(t, info.Name, "a", "b", "m", "n"), out("parent"))
			c := learnOn(t, out("parent").Out, pictures(t, 20, "b", "c", "x", "y"))
			c.Stream.ClassOrder.Name = config.OrderGiven
			x := mustOpen(t, c, Options{})
			if size := x.Config().Data.Size; size != ofPictures(t, info.Name, "a", "b").Data.Size ||
				!slices.Contains(x.Notes(), "1 of 4 classes of folder known to the parent by name") ||
				info.Offline != slices.Contains(x.Notes(), "3 new classes") ||
				info.Offline == slices.Contains(x.Notes(), "3 new classes in 2 tasks; --tasks 1 learns them together") {
				t.Errorf("images of %d pixels, notes %q", size, x.Notes())
			}
			child := mustRun(t, c, out("child"))[0]
			if d := cmp.Diff([]string{"a", "b", "m", "n", "c", "x", "y"}, child.Stream.ClassNames); d != "" {
				t.Error(d)
			}
			var classes [][]int
			for _, task := range child.Stream.Tasks {
				classes = append(classes, task.Classes)
			}
			if d := cmp.Diff([][]int{{1, 4}, {5, 6}}, classes); d != "" {
				t.Error(d)
			}
			for k, accuracy := range child.PerClass[len(child.PerClass)-1] {
				if tested := slices.Contains([]int{1, 4, 5, 6}, k); tested != (accuracy != nil) {
					t.Errorf("class %d has the accuracy %v; want one for the classes of the new stream alone", k, accuracy)
				}
			}
			if m := child.Memory; m != nil && !info.OwnNetworks { // which empties its memory
				before := 0
				for _, n := range m.ClassCounts[0] {
					before += n
				}
				for _, n := range m.TaskCounts[0] {
					before -= n
				}
				if before < 1 {
					t.Errorf("no sample from before the run is stored: %v of %v", m.TaskCounts, m.ClassCounts)
				}
			}
			grand := learnOn(t, out("child").Out, pictures(t, 20, "y", "z"))
			got := mustRun(t, grand, out("grand"))[0]
			p := got.Parent
			if d := cmp.Diff([]string{"a", "b", "m", "n", "c", "x", "y", "z"}, got.Stream.ClassNames); d != "" || p.Tasks != 4 ||
				p.Key != child.Key || p.Classes != 7 {
				t.Errorf("%s: %+v", d, p)
			}
			model, err := trained.Open(t.Context(), out("grand").Out, trained.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer model.Close()
			if model.Tasks != 4+len(got.Stream.Tasks) || model.Steps != p.Steps+got.Outcome.Step || len(model.ClassNames) != 8 {
				t.Errorf("%d tasks, %d steps, classes %q", model.Tasks, model.Steps, model.ClassNames)
			}
		})
	}
}

// TestLearnOnResumes: a run with a parent that is stopped and resumed, or done again, ends in the same files.
func TestLearnOnResumes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"icarl", "lwf"} {
		dir := t.TempDir()
		mustRun(t, ofPictures(t, name, "a", "b"), Options{Out: filepath.Join(dir, "parent"), KeepCheckpoint: true})
		c := learnOn(t, filepath.Join(dir, "parent"), pictures(t, 20, "c", "d", "e", "f"))
		want := filepath.Join(dir, "whole")
		mustRun(t, c, Options{Out: want, KeepCheckpoint: true})
		for _, at := range []int{5} {
			out := filepath.Join(dir, fmt.Sprint(at))
			ctx, o := stopAfter(at, Options{Out: out, KeepCheckpoint: true})
			if _, err := Run(ctx, c, o); !errors.Is(err, context.Canceled) {
				t.Fatalf("%s: interrupted after %d steps: error %v", name, at, err)
			}
			if _, err := Resume(t.Context(), out, Options{KeepCheckpoint: true}); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(filesOf(t, want, c), filesOf(t, out, c)); d != "" {
				t.Errorf("%s, resumed after %d steps: %s", name, at, d)
			}
			learnertest.CheckSame(t, name+", resumed", learnerOf(t, out), learnerOf(t, want))
			mustRun(t, c, Options{Out: out, Force: true})
			if d := cmp.Diff(filesOf(t, want, c), filesOf(t, out, c)); d != "" {
				t.Errorf("%s, done again: %s", name, d)
			}
		}
	}
}

// counting is a learner that notes the indices of the tasks that it is told of.
type counting struct {
	ocl.Learner
	told *[]int
}

func (c counting) BeginTask(t ocl.TaskInfo) error {
	*c.told = append(*c.told, t.Index)
	return nil
}

func (c counting) EndTask(context.Context) error { return nil }

// TestLearnOnCountsTasks: a learner is told of new tasks as those that follow the tasks of its parents, and the files
// count the tasks of their run.
func TestLearnOnCountsTasks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := one("er")
	c.Protocol = config.ProtocolTuning
	mustRun(t, c, Options{Out: filepath.Join(dir, "first"), KeepCheckpoint: true})
	next := learnOn(t, filepath.Join(dir, "first"), c.Data)
	next.Stream.Tasks, next.Protocol = c.Stream.Tasks, config.ProtocolSurvey
	var told, begun []int
	o := Options{Events: func(Job) Events {
		return Events{TaskBegin: func(t ocl.TaskInfo) { begun = append(begun, t.Index) }}
	}}
	o.hooks.learner = func(l ocl.Learner, _ *nn.Network) ocl.Learner { return counting{l, &told} }
	mustRun(t, next, o)
	if !slices.Equal(told, []int{2, 3, 4}) || !slices.Equal(begun, []int{0, 1, 2}) {
		t.Errorf("the learner is told of tasks %v, and observers of %v", told, begun)
	}
}

// TestParentRefuses what cannot be continued, and what would be another learner.
func TestParentRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out := func(name string) Options { return Options{Out: filepath.Join(dir, name), KeepCheckpoint: true} }
	mustRun(t, ofPictures(t, "er", "a", "b"), out("parent"))
	d := pictures(t, 20, "c", "d")
	fails := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	for want, change := range map[string]func(*config.Config){
		"a run keeps the learner of its parent, but memory is 12 there and 13 here, with the parent's value first. Remove the setting": func(c *config.Config) { c.Memory = 13 },
		"methods is er there and mir here": func(c *config.Config) { c.Methods = []string{"mir"} },
		"tricks is none there and rv here": func(c *config.Config) { c.Tricks = []string{"rv"} },
		"seed is 1 there and 2 here":       func(c *config.Config) { c.Seed = 2 },
		"stream.mean is not set there and 0.5,0.5,0.5": func(c *config.Config) {
			c.Stream.Mean, c.Stream.Std = []float64{0.5, 0.5, 0.5}, []float64{1, 1, 1}
		},
		"network.hidden is 16 there and 17 here": func(c *config.Config) { c.Network.Hidden = []int{17} },

		"one run continues a parent, but the config ha":                           func(c *config.Config) { c.Runs = 2 },
		"learned images of 3×8×8, but those of folder are 3×9×9. Use data.size=8": func(c *config.Config) { c.Data.Size = 9 },
		"parent.checkpoint is sha256:0. Give the run that has this checkpoint":    func(c *config.Config) { c.Parent.Checkpoint = "sha256:0" },
		"there is no run here": func(c *config.Config) { c.Parent.Run = dir },
		"network.init: the run has the network of its parent, so it cannot start from a file too": func(c *config.Config) { c.Network.Init = "w.safetensors" },
	} {
		c := learnOn(t, out("parent").Out, d)
		change(&c)
		_, err := Open(t.Context(), c, Options{})
		fails(err, want)
	}
	p, err := trained.OpenParent(config.Parent{Run: out("parent").Out}, false)
	if err != nil {
		t.Fatal(err)
	}
	fails(p.Fits([]Job{{Config: p.Config}}, &data.Set{Name: "grey", C: 1, H: 8, W: 8}),
		"those of grey are 1×8×8. Use data.channels=3, which makes three equal channels")
	p.Known.Shape[0] = 1
	fails(p.Fits([]Job{{Config: p.Config}}, &data.Set{Name: "folder", C: 3, H: 8, W: 8}),
		"No option makes the colours of a data set grey")
	p.Known.Shape[0] = 3
	for name, change := range map[string]func(*config.Config){
		"lr":          func(c *config.Config) { c.Optimizer.LR = 0.01 },
		"order":       func(c *config.Config) { c.Seeds.Order = new(uint64) },
		"batch":       func(c *config.Config) { c.Stream.Batch = 4 },
		"classifiers": func(c *config.Config) { c.Classifiers = config.Classifiers() },
		"digest":      func(c *config.Config) { c.Parent.Checkpoint = "" },
	} {
		c := learnOn(t, out("parent").Out, d)
		change(&c)
		if _, err := Open(t.Context(), c, Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	ctx, o := stopAfter(5, out("stopped"))
	if _, err := Run(ctx, one("er"), o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	_, err = trained.LearnOn(o.Out, false)
	fails(err, "the run was stopped within task 1. Continue it with `ocl run --resume ")
	c := one("finetune")
	c.Optimizer.LR, c.Memory = 1e30, config.DefaultMemory
	if got := mustRun(t, c, out("diverged")); got[0].Outcome.State != result.Diverged {
		t.Fatal(got[0].Outcome)
	}
	_, err = trained.LearnOn(out("diverged").Out, false)
	fails(err, "the run has diverged, so its network cannot be used. Run it again, with a smaller --lr")
	ctx, cancel := context.WithCancel(t.Context())
	o = out("working")
	asked := false
	o.Events = func(Job) Events {
		return Events{StepEnd: func(int, ocl.StepStats) {
			if !asked {
				_, err = trained.LearnOn(o.Out, false)
			}
			asked = true
			cancel()
		}}
	}
	if _, err := Run(ctx, one("er"), o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	fails(err, "the run is still at work. Learn on when it has ended")
	if !errors.Is(err, ErrBusy) {
		t.Error("a run at work is no ErrBusy")
	}
}

// TestLearnOnOneClass: a learner learns one new class on top of those that it knows, in a stream of one task.
func TestLearnOnOneClass(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"er", "icarl", "lwf", "cndpm"} {
		info := build.Method(name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			out := func(name string) Options { return Options{Out: filepath.Join(dir, name), KeepCheckpoint: true} }
			mustRun(t, ofPictures(t, info.Name, "a", "b"), out("parent"))
			one := learnOn(t, out("parent").Out, pictures(t, 20, "c"))
			child := mustRun(t, one, out("child"))[0]
			if tasks := child.Stream.Tasks; len(tasks) != 1 || !slices.Equal(tasks[0].Classes, []int{2}) ||
				child.Stream.Classes != 3 || child.Accuracy[0][0] == nil {
				t.Errorf("tasks %+v of %d classes, accuracy %v", tasks, child.Stream.Classes, child.Accuracy)
			}
			if info.UsesMemory && !info.OwnNetworks && child.Memory.ClassCounts[0][2] == 0 {
				t.Errorf("no image of the new class is stored: %v", child.Memory.ClassCounts)
			}
			model, err := trained.Open(t.Context(), out("child").Out, trained.Options{})
			if err != nil {
				t.Fatal(err)
			}
			model.Close()
			if !slices.Equal(model.Learned, []ocl.Label{0, 1, 2}) {
				t.Errorf("the classes %v are learned", model.Learned)
			}
		})
	}
	c := one("er")
	c.Data = pictures(t, 20, "c")
	if _, err := Open(t.Context(), c, Options{}); err == nil ||
		!strings.Contains(err.Error(), "found 1 folder with images, but at least two classes are needed") {
		t.Errorf("one class without a parent: %v", err)
	}
}

// TestNewClassesAreTold: a person learns in how many tasks new classes come, and how to learn them together unless
// somebody chose the tasks.
func TestNewClassesAreTold(t *testing.T) {
	t.Parallel()
	out := Options{Out: filepath.Join(t.TempDir(), "parent"), KeepCheckpoint: true}
	mustRun(t, ofPictures(t, "er", "a", "b"), out)
	four := pictures(t, 20, "c", "d", "e", "f")
	for want, change := range map[string]func(*config.Config){
		"4 new classes in 2 tasks; --tasks 1 learns them together": func(c *config.Config) {},
		"4 new classes in 4 tasks":                                 func(c *config.Config) { c.Stream.Tasks = 4 },
		"4 new classes in 3 tasks": func(c *config.Config) {
			c.Stream.TaskClasses = []int{1,
				1, 2}
		},
		"4 new classes in 1 task": func(c *config.Config) { c.Stream.Tasks = 1 },
		"2 new classes in 1 task": func(c *config.Config) {
			c.Data = pictures(t, 20, "a", "b", "c", "d")
			c.Stream.ClassOrder.Name = config.OrderGiven
		},
		"3 new classes in 1 task": func(c *config.Config) { c.Data = pictures(t, 20, "c", "d", "e") },
		"3 new classes in 2 tasks": func(c *config.Config) {
			c.Data = pictures(t, 20, "c", "d", "e")
			c.Stream.Tasks = 2
			c.Stream.TaskClasses = []int{2, 1}
		},
		"": func(c *config.Config) { c.Data = pictures(t, 20, "a", "b") },
	} {
		c := learnOn(t, out.Out, four)
		change(&c)
		x := mustOpen(t, c, Options{})
		told := slices.DeleteFunc(x.Notes(), func(note string) bool { return !strings.Contains(note, "new class") })
		if got := strings.Join(told, "\n"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		const lost = "2 classes of the parent are not in this stream, and its accuracy says nothing of them. Afterwards, measure what is forgotten with `ocl eval RUN --data folder --data-dir "
		if measured := want == "" || strings.HasPrefix(want, "2"); measured == slices.ContainsFunc(x.Notes(),
			func(n string) bool { return strings.HasPrefix(n, lost) }) {
			t.Errorf("%s: notes %q", want, x.Notes())
		}
	}
}

// TestLearnOnMoved: the library refuses pictures of an old class under a new name too, and learns them where it is told
// to, or when the run is opened again.
func TestLearnOnMoved(t *testing.T) {
	t.Setenv("OCL_CACHE", t.TempDir())
	c, folder := ofPictures(t, "er", "cat", "dog", "eel", "fox"), t.TempDir()
	if _, err := Run(t.Context(), c, Options{Out: folder, Workers: 1, KeepCheckpoint: true}); err != nil {
		t.Fatal(err)
	}
	d := config.Data{Name: "folder", Dir: t.TempDir(), Size: c.Data.Size}
	for old, name := range map[string]string{"cat": "big cat", "dog": "dog"} {
		if err := os.Rename(filepath.Join(c.Data.Dir, old), filepath.Join(d.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	on := learnOn(t, folder, d)
	_, err := Open(t.Context(), on, Options{})
	if !errors.Is(err, trained.ErrMoved) || !errors.Is(err, ErrUnfit) {
		t.Fatalf("got %v", err)
	}
	out := t.TempDir()
	res, err := Run(t.Context(), on, Options{Out: out, Workers: 1, NewClasses: true, KeepCheckpoint: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenResumed(t.Context(), out, Options{}); err != nil {
		t.Error(err)
	}
	if _, err := OpenRerun(t.Context(), res[0], "", Options{}); err != nil {
		t.Error(err)
	}
	// The pictures of both runs are known from then on.
	if err := os.Rename(filepath.Join(d.Dir, "big cat"), filepath.Join(d.Dir, "Katze")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), learnOn(t, out, d), Options{}); !errors.Is(err, trained.ErrMoved) {
		t.Errorf("got %v", err)
	}
}
