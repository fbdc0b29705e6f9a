package cli

import (
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ocl/live"
	"ocl/run/result"
)

// otherModule is a program in a module of its own that registers two methods, a data set, a kind of stream and a
// network.
const otherModule = `package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"ocl"
	"ocl/cli"
	"ocl/data"
	"ocl/learn/loss"
	"ocl/live"
	"ocl/learn/memory"
	"ocl/learn/method"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/rng"
	"ocl/data/stream"
	"ocl/nn/tensor"
)

// broken is a criterion that panics once.
type broken struct{ loss.Criterion }

func (b broken) Eval(d *tensor.Tensor, in loss.Input) (float64, error) {
	if in.Role.Has(loss.Replayed) {
		panic("no such row")
	}
	return b.Criterion.Eval(d, in)
}

func main() {
	arch.Register(arch.Info{Name: "tiny", Summary: "one block", Settings: []string{arch.Width}, LeastSide: 14,
		Build: func(c arch.Config, src *rng.Source) (*nn.Network, error) {
			b, err := nn.NewBuilder(c.Channels, c.Height, c.Width, c.Engine, src)
			if err != nil {
				return nil, err
			}
			b.Stem("stem", "norm", c.NF)
			b.Block("block", c.NF, 2)
			if err := b.AvgPool(4); err != nil {
				return nil, err
			}
			if err := b.Head("linear", c.Head, c.Classes); err != nil {
				return nil, err
			}
			return b.Build()
		}})
	data.Register(data.Info{Name: "dots", Title: "dots of another module", Open: func(context.Context, data.Spec) (*data.Set, error) {
		set := &data.Set{Name: "dots", C: 1, H: 1, W: 1, Classes: 2}
		for _, half := range []*data.Split{&set.Train, &set.Test} {
			half.Images, half.Y = data.Block{Pixels: []uint8{0, 255, 0, 255}, Size: 1}, []int32{0, 1, 0, 1}
		}
		return set, nil
	}})
	stream.Register(stream.Kind{Name: "halves", Scenario: ocl.DomainIncremental, Summary: "the images in their order", AllClasses: true,
		Divide: func(set *data.Set, o stream.Options, train []int32) ([]stream.Share, error) {
			half := len(train) / 2
			return []stream.Share{{Train: train[:half], Test: []int32{0, 1}}, {Train: train[half:], Test: []int32{2, 3}}}, nil
		}})
	method.Register(method.Info{Name: "breaks", Traits: method.Traits{UsesMemory: true}, Settings: []string{"memory", "replay.batch"},
		Build: func(s method.Setup) (ocl.Learner, error) {
			r := s.Replay()
			r.Memory, r.Criterion = s.Store(), broken{s.Labels()}
			return r, nil
		}})
	for _, name := range []string{"er-x", "derx++"} {
		rows := method.Option{Name: "rows", Default: 10, Least: 1, Most: 100, Meaning: "rows to replay"}
		method.Register(method.Info{
			Name: name, Text: method.Text{Title: "Other", Summary: "ER of another module."}, Traits: method.Traits{UsesMemory: true},
			Settings: []string{"memory", "replay.batch", "replay.iterations", "replay.augment"}, Options: []method.Option{rows},
			Tuning: method.Tuning{Paper: method.Grid{{Key: "optimizer.lr", Values: []any{0.01, 0.1}}, {Key: "method." + name + ".rows", Values: []any{5}}}},
			Build: func(s method.Setup) (ocl.Learner, error) {
				r := s.Replay()
				r.Memory, r.Retrieve = s.Store(), memory.Random{Size: method.OptionOf[int](s, rows)}
				return r, nil
			},
		})
	}
	if len(os.Args) == 3 && os.Args[1] == "live" {
		if err := remember(os.Args[2]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(cli.Main(context.Background(), os.Args[1:]...))
}

// remember learns one more image with the learner of a file, or of a new file.
func remember(path string) error {
	l, err := live.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		l, err = live.New(live.Options{Method: "er-x", Memory: 20, Size: 16, Set: []string{"network.name=tiny", "network.width=3"}})
	}
	if err != nil {
		return err
	}
	fmt.Println(l.Notes())
	ctx := context.Background()
	return errors.Join(l.LearnPixels(ctx, make([]byte, 3*16*16), "a"), l.Flush(ctx), l.Save(path))
}
`

// programs builds the program of another module without a commit and at two of its commits, and ocl itself. Its go.mod
// has the requirements of this one, so it needs the modules of this build and no others: a new machine has no more.
func programs(t *testing.T, dir string) (unstamped, first, second, plain string) {
	t.Helper()
	repo, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(repo, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(repo, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "other")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	needs := strings.Replace(string(mod), "module ocl\n", "module example.com/other\n", 1) +
		"\nrequire ocl v0.0.0\n\nreplace ocl => " + filepath.ToSlash(repo) + "\n"
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	do := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = home
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "GIT_CONFIG_GLOBAL="+os.DevNull,
			"GIT_CONFIG_SYSTEM="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
	}
	commit := func(message string) {
		do("git", "add", ".")
		do("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", message)
	}
	unstamped, first, second, plain = filepath.Join(dir, "unstamped.exe"), filepath.Join(dir, "first.exe"),
		filepath.Join(dir, "second.exe"), filepath.Join(dir, "ocl.exe")
	write("go.mod", needs)
	write("go.sum", string(sum))
	write("main.go", otherModule)
	do("git", "init", "-q")
	do("go", "build", "-o", plain, "ocl/cmd/ocl")
	do("go", "build", "-buildvcs=false", "-o", unstamped, ".")
	commit("one")
	do("go", "build", "-buildvcs=true", "-o", first, ".")
	write("note", "a change")
	commit("two")
	do("go", "build", "-buildvcs=true", "-o", second, ".")
	return unstamped, first, second, plain
}

// TestOtherModule goes with a method of another module through the commands: the program that has it runs, verifies and
// reports it as one of its own, a program of another version mixes no numbers, and ocl itself says what it lacks.
func TestOtherModule(t *testing.T) {
	if os.Getenv("OCL_LONG") == "" {
		t.Skip("OCL_LONG is not set: the test builds four programs. .ci/run outside runs it")
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git, and without it a build has no version")
	}
	dir := t.TempDir()
	unstamped, first, second, plain := programs(t, dir)
	call := func(program string, args ...string) (string, bool) {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err == nil
	}
	succeeds := func(program string, args ...string) string {
		t.Helper()
		out, ok := call(program, args...)
		if !ok {
			t.Fatalf("%q failed:\n%s", args, out)
		}
		return out
	}
	refused := func(program string, wants []string, args ...string) {
		t.Helper()
		out, ok := call(program, args...)
		if ok {
			t.Errorf("%q succeeded:\n%s", args, out)
		}
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("%q: %s\nwant %q", args, out, want)
			}
		}
	}
	small := []string{"--memory", "20", "--network", "mlp", "--tasks", "2", "data.train_per_class=5",
		"data.test_per_class=3", "network.hidden=8"}
	run := append([]string{"run", "--method", "er-x,derx++,er", "method.er-x.rows=5", "--out", "runs"}, small...)
	succeeds(first, run...)
	folder := func(pattern string) string {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %q, want one (%v)", pattern, found, err)
		}
		return found[0]
	}
	own, ours := folder("runs/er-x-m20-*"), folder("runs/er-m20-*")
	folder("runs/derxpp-m20-*")
	read := func(folder string) *result.Result {
		t.Helper()
		r, err := result.Read(filepath.Join(folder, "result.json"))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	made := read(own).Provenance.Registered
	if len(made) != 1 || made[0].Key != "methods" || made[0].Name != "er-x" || made[0].Module != "example.com/other" ||
		!regexp.MustCompile(`^v0\.0\.0-\d{14}-[0-9a-f]{12}$`).MatchString(made[0].Version) {
		t.Fatalf("the result is of %+v, want er-x of example.com/other with its commit", made)
	}
	if r := read(ours); r.Provenance.Registered != nil {
		t.Errorf("a run of er is of %+v", r.Provenance.Registered)
	}
	// What is registered is as good as what is built in.
	succeeds(first, "run", "--method", "er-x", "--data", "dots", "--stream", "halves", "--tasks", "2", "--batch", "1",
		"--network", "mlp", "network.hidden=4", "--memory", "10", "--out", "dots")
	if list := read(folder("dots/er-x-*")).Provenance.Registered; len(list) != 3 || list[1].Name != "dots" ||
		list[2].Name != "halves" || list[2].Module != "example.com/other" {
		t.Errorf("a run with method, data and stream of another module is of %+v", list)
	}
	refused(plain, []string{"the method er-x of example.com/other"}, "verify",
		filepath.Join(folder("dots/er-x-*"), "result.json"))
	net := testNetwork(t, dir, folder, succeeds, first)
	testBoth(t, folder, succeeds, first)
	for range 2 {
		if out := succeeds(first, "live", "cats.ocl"); out != "[]\n" {
			t.Errorf("a live learner of this version has the notes %s", out)
		}
	}
	succeeds(first, "verify", filepath.Join(own, "result.json"))
	succeeds(first, "run", "--resume", "runs")
	succeeds(first, "inspect", own)
	succeeds(first, "report", "runs", "--out", "first")
	if out := succeeds(first, "methods", "er-x"); !strings.Contains(out, "example.com/other v0.0.0-") ||
		!strings.Contains(out, "method.er-x.NAME") {
		t.Errorf("the description of er-x lacks its module or its options:\n%s", out)
	}
	if out := succeeds(first, "methods", "--markdown"); !strings.Contains(out, "[er-x](#er-x)") ||
		!strings.Contains(out, "[derx++](#derx)") {
		t.Error("docs/methods.md would not link to er-x and derx++")
	}
	for want, args := range map[string][]string{
		"er-x": {"__complete", "run", "--method", "er-"}, "method.er-x.rows=": {"__complete", "run", "method.er-x."},
		"method.derx++.rows": {"config", "keys"}, "derx++": {"config", "schema"}, "\ndots ": {"data", "list"},
		"the images in their order": {"data", "streams"}, "halves": {"__complete", "run", "--stream", ""},
		"dots":     {"__complete", "run", "--data", "d"},
		"\ntiny\n": {"__complete", "run", "--network", ""},
		"resnet18 (reduced), mlp, linear (no hidden layer) or tiny (one block)": {"run", "--help"},
		`"tiny"`: {"config", "schema"}, `"resnet18, tiny, not cndpm, not ncm, not randumb, not ranpac, not slda"`: {"config", "keys",
			"--json", "read_by"},
	} {
		if out := succeeds(first, args...); !strings.Contains(out, want) {
			t.Errorf("%q lacks %s", args, want)
		}
	}
	var fields []map[string]any
	if err := json.Unmarshal([]byte(succeeds(first, "methods", "--json", "name,module")), &fields); err != nil {
		t.Error(err)
	} else if !slices.ContainsFunc(fields, func(m map[string]any) bool {
		return m["name"] == "derx++" && m["module"] == "example.com/other"
	}) {
		t.Errorf("the methods in JSON are %v", fields)
	}
	if out := succeeds(first, "--version"); !strings.Contains(out,
		"\nmodule       example.com/other "+made[0].Version+"\n") {
		t.Errorf("the version lacks the module:\n%s", out)
	}
	// A panic in the code of the module is told as one of it, also in a worker.
	for _, workers := range []string{"1", "2"} {
		refused(first, []string{"breaks, seed 1: task 1, step 1: panic: no such row, in main.broken.Eval of the module example.com/other " +
			made[0].Version + " (", "main.go:", "Please correct it there"},
			append([]string{"run", "--method", "breaks", "--workers", workers, "--out", "broken" + workers}, small...)...)
	}
	succeeds(first, append([]string{"tune", "--method", "er-x", "--out", "tuned"},
		strings.Fields(strings.ReplaceAll(strings.Join(small, " "), "--tasks 2", "--tasks 4"))...)...)
	study := "study: 1\nmethods: [er-x, derx++]\nmemory: 20\nruns: 1\ndata: {train_per_class: 5, test_per_class: 3}\nnetwork: {name: mlp, hidden: [8]}\n" +
		"stream: {tasks: 2}\nmethod: {er-x: {rows: [5, 10]}}\n"
	if err := os.WriteFile(filepath.Join(dir, "study.yaml"), []byte(study), 0o644); err != nil {
		t.Fatal(err)
	}
	succeeds(first, "sweep", "study.yaml", "--workers", "2", "--out", "sweep")

	// Another version is refused where numbers would mix, and has runs of its own.
	older := []string{"made with the method", "of example.com/other v0.0.0-",
		"this program has that of example.com/other v0.0.0-"}
	refused(second, older, "verify", filepath.Join(own, "result.json"))
	refused(second, older, "run", "--resume", "runs")
	refused(second, older, run...)
	refused(second, older, "sweep", "join", "sweep")
	// nothing mixes, but they say so
	for _, args := range [][]string{{"live", "cats.ocl"}, {"predict", net, "picture.png"}} {
		if out := succeeds(second, args...); !strings.Contains(out, "it was made with the ") ||
			!strings.Contains(out, older[2]) {
			t.Errorf("%q does not say that the version is another one:\n%s", args, out)
		}
	}
	again := append([]string{"run", "--method", "er-x,derx++,er", "method.er-x.rows=5", "--out", "again"}, small...)
	succeeds(second, again...)
	if read(folder("again/er-x-m20-*")).Key == read(own).Key || read(folder("again/er-m20-*")).Key != read(ours).Key {
		t.Error("the keys of er-x are the same for two versions, or those of er are not")
	}
	succeeds(second, "report", "runs", "again", "--out", "both")
	page, err := os.ReadFile(filepath.Join(dir, "both", "report.html"))
	if err != nil || !strings.Contains(string(page), "The results mix versions of the method er-x") {
		t.Errorf("the report of two versions does not say so (%v)", err)
	}

	// A version that names no state of the code is said before a run and in its report.
	const vague = "example.com/other (devel)"
	if out := succeeds(unstamped, append([]string{"run", "--method", "er-x", "--out", "unstamped"},
		small...)...); !strings.Contains(out, "the version of "+vague+" does not name one state of its code") {
		t.Errorf("a run says nothing of the unknown version:\n%s", out)
	}
	if out := succeeds(first, append([]string{"run", "--method", "er-x", "--out", "stamped", "--dry-run"},
		small...)...); strings.Contains(out, "does not name one state") {
		t.Errorf("a run of a commit says that its version is unknown:\n%s", out)
	}
	page, err = os.ReadFile(filepath.Join(dir, "unstamped", "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"The results that use " + vague + " may be of several states of its code",
		"Here ocl stands for a program that has the method er-x of " + vague + ".",
		"<dt>Other modules</dt><dd>method er-x of " + vague + "</dd>"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the report of a run of an unknown version lacks %q", want)
		}
	}

	// A program without the method says which one, of which module and version, and what to do. A report needs no method.
	lacks := []string{"of example.com/other " + made[0].Version, "imports the package", "cli.Main"}
	for _, args := range [][]string{
		{"verify", filepath.Join(own, "result.json")}, {"predict", own, "."},
		{"export", own, "--to", "safetensors", "-o", "x"}, {"eval", own, "--data", "glyphs"},
		{"learn", own, "--data", "glyphs", "--tasks", "1", "--out", "more"}, {"inspect", own}, {"run", "--resume", "runs"},
		{"run", "--resume", own},
		append([]string{"run", "--method", "er", "--out", "runs"}, small...), {"sweep", "join", "sweep"},
	} {
		refused(plain, lacks, args...)
		if out, _ := call(plain, args...); strings.Count(out, "cli.Main") != 1 || strings.Contains(out, "goroutine") {
			t.Errorf("%q says it more than once:\n%s", args, out)
		}
	}
	for _, args := range [][]string{{"verify", filepath.Join(net, "result.json")}, {"predict", net, "."},
		{"export", net, "--to", "onnx", "-o", "y"}, {"run", "--resume", "nets"}} {
		refused(plain, []string{"the network tiny of example.com/other " + made[0].Version, "imports the package",
			"cli.Main"}, args...)
	}
	if _, err := live.Open(filepath.Join(dir, "cats.ocl")); err == nil ||
		!strings.Contains(err.Error(), "the method er-x of example.com/other v0.0.0-") ||
		!strings.Contains(err.Error(), lacks[1]) {
		t.Errorf("a live learner without the method: %v", err)
	}
	refused(plain, []string{`network.name (--network): unknown value "tiny". Use resnet18, mlp or linear`}, "run",
		"--method", "er", "--network", "tiny", "--out", "none")
	succeeds(plain, "report", "nets", "--out", "plainnets")
	for _, args := range [][]string{{"sweep", "status", "sweep"}, {"inspect", "sweep"}} {
		if out := succeeds(plain, args...); !strings.Contains(out, "3 of 3 jobs done") {
			t.Errorf("%q does not say how far the study is:\n%s", args, out)
		}
	}
	succeeds(plain, "report", "runs", "--out", "plain")
	mark := func(report string) string {
		t.Helper()
		page, err := os.ReadFile(filepath.Join(dir, report, "report.html"))
		if err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile(`class="sw m-n\d+`).FindString(string(page))
	}
	if with, without := mark("first"), mark("plain"); with == "" || with != without {
		t.Errorf("er-x looks like %q in the report of the program that has it, and like %q in that of one without it", with,
			without)
	}
}

// testBoth goes with a method and a network of another module together through the commands that use a run.
func testBoth(t *testing.T, folder func(string) string, succeeds func(string, ...string) string, program string) {
	t.Helper()
	few := []string{"--tasks", "2", "data.train_per_class=2", "data.test_per_class=1", "data.size=16"}
	succeeds(program, append([]string{"run", "--method", "er-x", "--network", "tiny", "network.width=3", "--memory", "20",
		"--out", "two"}, few...)...)
	succeeds(program, append([]string{"learn", folder("two/er-x-*"), "--data", "glyphs", "--out", "grown"}, few...)...)
	for _, run := range []string{folder("two/er-x-*"), folder("grown/er-x-*")} {
		succeeds(program, "predict", run, "picture.png")
		succeeds(program, "eval", run)
		succeeds(program, "export", run, "--to", "onnx", "-o", "both.onnx")
		succeeds(program, "export", run, "--to", "safetensors", "-o", "both.safetensors")
	}
	succeeds(program, "verify", filepath.Join(folder("grown/er-x-*"), "result.json"))
}

// testNetwork goes with a network of another module through the commands of the program that has it. It returns the
// folder of its run.
func testNetwork(t *testing.T, dir string, folder func(string) string, succeeds func(string, ...string) string,
	program string) (run string) {
	t.Helper()
	succeeds(program, "run", "--method", "er", "--network", "tiny", "network.width=3", "--memory", "20", "--tasks", "2",
		"data.train_per_class=5", "data.test_per_class=3", "data.size=16", "--out", "nets")
	run = folder("nets/er-*")
	r, err := result.Read(filepath.Join(run, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	if list := r.Provenance.Registered; len(list) != 1 || list[0].Key != "network.name" || list[0].Name != "tiny" ||
		list[0].Module != "example.com/other" {
		t.Errorf("a run with a network of another module is of %+v", list)
	}
	succeeds(program, "verify", filepath.Join(run, "result.json"))
	succeeds(program, "run", "--resume", "nets")
	succeeds(program, "eval", run, "--data", "glyphs")
	picture, err := os.Create(filepath.Join(dir, "picture.png"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(png.Encode(picture, image.NewGray(image.Rect(0, 0, 16, 16))), picture.Close()); err != nil {
		t.Fatal(err)
	}
	succeeds(program, "predict", run, "picture.png")
	for _, format := range []string{"safetensors", "npz", "onnx"} {
		succeeds(program, "export", run, "--to", format, "-o", "net."+format)
	}
	if out := succeeds(program, "report", "nets", "--out", "netsreport"); strings.Contains(out, "goroutine") {
		t.Error(out)
	}
	return run
}
