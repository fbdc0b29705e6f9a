package experiment

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl"
	"ocl/checkpoint"
	"ocl/config"
)

var makeEarlier = flag.Bool("make-earlier", false, "write testdata/earlier anew; only with a program whose checkpoints are to be read for ever")

// earlier are runs that the program stopped in the middle before states were lists of parts. Their checkpoints lie in
// testdata/earlier, one for each kind of state. They have no origins of stored samples, but for er-origins, which is
// younger.
var earlier = []struct {
	name   string // of the file
	method string
	trick  string
	set    map[string]string
	step   int  // of the checkpoint
	tested bool // the checkpoint is that after an evaluation in the middle of the task
}{
	{"agem", "agem", "none", nil, 11, false},
	{"er", "er", "none", map[string]string{"optimizer.momentum": "0.5"}, 4, false},
	{"er-origins", "er", "none", nil, 11, false},
	{"er-distilled", "er", "kdc*+rv+ss", map[string]string{"replay.teacher": "evaluation"}, 11, false},
	{"ewc", "ewc++", "none", map[string]string{"method.ewc++.every": "3"}, 11, false},
	{"ewc-first", "ewc++", "lb", map[string]string{"method.ewc++.every": "3"}, 4, false},
	{"finetune-adam", "finetune", "none", map[string]string{"optimizer.name": "adam"}, 9, false},
	{"gdumb", "gdumb", "none", nil, 11, false},
	{"gdumb-trained", "gdumb", "none", nil, 12, true},
	{"gss", "gss", "none", map[string]string{"method.gss.gate": "sample"}, 11, false},
	{"gss-batch", "gss", "none", map[string]string{"method.gss.gate": "batch"}, 11, false},
	{"icarl", "icarl", "rv", map[string]string{"optimizer.momentum": "0.5", "replay.teacher": "evaluation"}, 11, false},
	{"icarl-first", "icarl", "none", map[string]string{"replay.teacher": "evaluation"}, 4, false},
	{"icarl-tested", "icarl", "none", map[string]string{"replay.teacher": "evaluation"}, 12, true},
	{"lwf", "lwf", "none", map[string]string{"replay.teacher": "evaluation"}, 11, false},
	{"mir", "mir", "kdc+mi", map[string]string{"replay.teacher": "evaluation"}, 9, false},
}

// TestEarlierCheckpointsAreContinued: a checkpoint that the program wrote earlier is loaded, is written again in the
// same bytes, and the run that goes on from it ends as one that was never stopped.
func TestEarlierCheckpointsAreContinued(t *testing.T) {
	t.Setenv("OCL_KERNEL", "")
	t.Setenv("OCL_CONV", "")
	for _, e := range earlier {
		t.Run(e.name, func(t *testing.T) {
			c := config.Default()
			c.Data = config.Data{Name: "npz", Dir: filepath.Join(version1, "data.npz")}
			c.Stream.Tasks, c.Memory, c.EvalEvery = 2, 12, 3
			c.Network = config.Network{Name: networkMLP, Width: 20, Hidden: []int{4}}
			c.Engine.Kernel = "generic"
			c.Methods, c.Tricks = []string{e.method}, []string{e.trick}
			if e.method != "finetune" && e.method != "lwf" && e.method != "ewc++" {
				c.Classifiers = []string{config.ClassifierHead, config.ClassifierNCM}
			}
			for key, value := range e.set {
				if err := Schema().Set(&c, key, value); err != nil {
					t.Fatal(err)
				}
			}
			file := filepath.Join("testdata/earlier", e.name+".ckpt")
			out := filepath.Join(t.TempDir(), "x")
			folder := stopForEarlier(t, c, out, e.step, e.tested)
			if *makeEarlier {
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				copyFile(t, filepath.Join(folder, fmt.Sprintf("step-%d.ckpt", e.step)), file)
			}
			checkWrittenAgain(t, c, file)
			if err := os.RemoveAll(folder); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			copyFile(t, file, filepath.Join(folder, fmt.Sprintf("step-%d.ckpt", e.step)))
			resumed, err := Run(context.Background(), c, Options{Out: out, Workers: 1, Events: func(Job) Events {
				return Events{Begin: func(_ Job, _ ocl.StreamInfo, p Plan) {
					if p.StepsDone != e.step {
						t.Errorf("the run goes on from step %d, want %d", p.StepsDone, e.step)
					}
				}}
			}})
			if err != nil {
				t.Fatal(err)
			}
			whole := mustRun(t, c, Options{Workers: 1})
			if m := resumed[0].Memory; m != nil && (len(m.TaskCounts) > 0) != (e.name == "er-origins") {
				t.Errorf("counts by task %v", m.TaskCounts)
			} else if m != nil && len(m.TaskCounts) == 0 {
				whole[0].Memory.TaskCounts = nil
			}
			if d := cmp.Diff(comparable(t, whole), comparable(t, resumed)); d != "" {
				t.Error(d)
			}
		})
	}
}

// stopForEarlier stops a run at a step, or behind it where the checkpoint of the step is to be the one after an
// evaluation. It returns the folder with the checkpoints.
func stopForEarlier(t *testing.T, c config.Config, out string, step int, tested bool) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := Options{Out: out, Workers: 1}
	if tested {
		o = o.savingEvery(step)
		step++
	}
	o.Events = func(Job) Events {
		return Events{StepEnd: func(at int, _ ocl.StepStats) {
			if at == step {
				cancel()
			}
		}}
	}
	if _, err := Run(ctx, c, o); err == nil {
		t.Fatal("the run was not stopped")
	}
	return filepath.Join(out, jobsOf(t, c)[0].Folder, CheckpointDir)
}

// checkWrittenAgain loads a file into a fresh run and saves that: the same sections in the same order, with the same
// bytes. The config is left out, which has the keys of the program that writes it.
func checkWrittenAgain(t *testing.T, c config.Config, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	read, err := checkpoint.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	x := mustOpen(t, c, Options{})
	r := &run{x: x, job: x.jobs[0], on: machinery{workers: 1, together: 1}}
	if err := r.build(); err != nil {
		t.Fatal(err)
	}
	defer r.ws.Close()
	length := int64(0)
	if err := r.decode(read.Decoder(), &length); err != nil {
		t.Fatal(err)
	}
	r.desk.journal = &journal{length: length}
	again := checkpoint.NewContainer()
	if err := r.encode(again.Encoder()); err != nil {
		t.Fatal(err)
	}
	want := read.Names()
	if !slices.Contains(want, shownSection) { // the first files lack what the numbers do not depend on
		want = append(want, shownSection)
	}
	if d := cmp.Diff(want, again.Names()); d != "" {
		t.Errorf("sections differ: %s", d)
	}
	for _, name := range read.Names() {
		was, _ := read.Decoder().Bytes(name)
		is, err := again.Decoder().Bytes(name)
		if name != "identity/config" && (err != nil || !slices.Equal(was, is)) {
			t.Errorf("section %s has other bytes when it is written again (%v)", name, err)
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o644); err != nil {
		t.Fatal(err)
	}
}
