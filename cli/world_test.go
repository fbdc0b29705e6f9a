//go:build linux

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/spf13/cobra"
)

// The settings of the runs of a world: they take tenths of a second.
const worldly = " data.size=8 data.train_per_class=4 data.test_per_class=2 --tasks 4 --method er --memory 20 --network mlp network.hidden=8 --workers 1 --concurrency 1"

// worldLines are the commands that make a world, a folder with one of everything that commands read.
var worldLines = []string{
	"run --out x --quiet --no-report" + worldly,
	"run --out y --seed 2 --quiet --no-report" + worldly,
	"sweep study.yaml --out study --workers 1 --concurrency 1 --keep-checkpoint --quiet --no-report",
	"tune --grid grid.yaml --repeats 1 --out tuned --quiet --checkpoint-every -1" + worldly,
	"export x --to safetensors -o x.safetensors",
	"report import matrix.csv --method er --data glyphs --program other",
	"run --data folder --data-dir images data.size=8 --tasks 2 --method er --memory 20 --network mlp network.hidden=8 --out photos --quiet --no-report",
	"run --backbone x.safetensors --data folder --data-dir images --tasks 2 --method slda --out frozen --quiet --no-report",
	"serve retained --size 8 network.name=mlp network.hidden=8 --retain --listen 127.0.0.1:0 --idle 1s --quiet --log-level warn",
}

// worldFiles are the files from which a world is made, beside pictures.
var worldFiles = map[string]string{
	"study.yaml": "study: 1\ndata: {size: 8, train_per_class: 4, test_per_class: 2}\nstream: {tasks: 4}\nnetwork: {name: mlp, hidden: [8]}\nmemory: 20\nmethods: [er, finetune]\n",
	"grid.yaml":  crashGrid,
	"cfg.yaml":   "methods: [er]\nmemory: 20\ndata: {name: glyphs, size: 8, train_per_class: 4, test_per_class: 2}\nstream: {tasks: 4}\nnetwork: {name: mlp, hidden: [8]}\n",
	"serve.yaml": "size: 8\nset: [network.name=mlp, network.hidden=8]\nlisten: 127.0.0.1:0\nidle: 1s\nlog-level: warn\n",
	"matrix.csv": "0.5,0.25\n0.25,0.5\n",
	"sorted.csv": "path,label\nimages/class0/0.png,new\nimages/class0/1.png,new\nimages/class0/2.png,new\nimages/class0/3.png,new\nimages/class0/4.png,new\nimages/class0/5.png,new\n",
}

// lines are command lines that work in a world, by the path of the command: at least one for each command that has no
// others below it. The tests of bad files and of signals go through them. A word that is the path of something in the
// world, and each flag that takes a path, is tried.
var lines = map[string][]string{
	"advise":                {"advise many --time 0.3s --quiet --backbone x.safetensors"},
	"bench engine":          {"bench engine --size 25 --repeat 1 --workers 1"},
	"bench methods":         {"bench methods --method er --repeat 1 --workers 1 --memory 50"},
	"bench predict":         {"bench predict --size 25 --repeat 1 --workers 1"},
	"bench serve":           {"bench serve --size 8 network.name=mlp network.hidden=8 --memory 20 --seconds 0.5 --warm 0"},
	"completion bash":       {"completion bash"},
	"completion fish":       {"completion fish"},
	"completion zsh":        {"completion zsh"},
	"completion powershell": {"completion powershell"},
	"config check":          {"config check cfg.yaml"},
	"config keys":           {"config keys"},
	"config schema":         {"config schema"},
	"config show":           {"config show --config cfg.yaml"},
	"data cache":            {"data cache"},
	"data cache clean":      {"data cache clean"},
	"data fetch":            {"data fetch glyphs"},
	"data info":             {"data info folder --data-dir images data.size=8"},
	"data list":             {"data list"},
	"data preview": {"data preview folder --data-dir images data.size=8 -o sheet.png",
		"data preview npz --data-dir tiny.npz -o sheet.png", "data preview glyphs --config cfg.yaml -o sheet.png"},
	"data streams": {"data streams"},
	"data verify":  {"data verify folder --data-dir images data.size=8", "data verify npz --data-dir tiny.npz"},
	"doctor": {"doctor images data.size=8 -o d", "doctor images --backbone x.safetensors --move gone",
		"doctor tiny.npz"},
	"embed": {"embed --backbone x.safetensors --data folder --data-dir images -o e.npz"},
	"eval":  {"eval x -o measured", "eval photos", "eval frozen"},
	"export": {"export x --to onnx -o x.onnx", "export x --to npz -o x.npz", "export x --to csv -o x.csv",
		"export study --to csv -o s.csv", "export x --to tensorboard -o board"},
	"classes": {"classes x", "classes photos split class0 --by sorted.csv -o parts"},
	"inspect": {"inspect x", "inspect study", "inspect tuned", "inspect x.safetensors",
		"inspect matrix.json.gz", "inspect cfg.yaml"},
	"learn":   {"learn x --data folder --data-dir images data.size=8 --tasks 2 --batch 1 --out learned --quiet --no-report"},
	"methods": {"methods er"},
	"predict": {"predict photos images/class0", "predict photos images/class1/1.png",
		"predict frozen images/class0 --backbone x.safetensors"},
	"report":        {"report x -o r", "report study -o r", "report matrix.json.gz x -o r"},
	"report import": {"report import matrix.csv --method er --data glyphs --program other -o m.json.gz"},
	"report paper":  {"report paper x -o p"},
	"run": {"run --config cfg.yaml --out n --quiet --no-report" + worldly,
		"run --resume x --quiet --no-report", "run --resume half --quiet --no-report",
		"run network.init=x.safetensors --out n --quiet --no-report" + worldly,
		"run --config cfg.yaml --tune grid.yaml --protocol survey tune.repeats=1 --out n --quiet --no-report" + worldly,
		"run --data folder --data-dir images data.size=8 --tasks 2 --method er --memory 20 --network mlp network.hidden=8 --out n --quiet --no-report",
		"run --backbone x.safetensors --data folder --data-dir images --tasks 2 --method slda --out n --quiet --no-report"},
	"serve": {"serve retained --listen 127.0.0.1:0 --idle 1s --quiet --log-level warn",
		"serve served --init x --listen 127.0.0.1:0 --idle 1s --quiet --log-level warn",
		"serve fresh --config serve.yaml --listen 127.0.0.1:0 --idle 1s --quiet"},
	"serve rebuild": {"serve rebuild retained"},
	"serve token":   {"serve token anna --role label --tokens tokens"},
	"serve verify":  {"serve verify retained"},
	"sweep": {"sweep study.yaml --out n --results x --workers 1 --concurrency 1 --quiet --no-report",
		"sweep study.yaml --out study --workers 1 --concurrency 1 --quiet --no-report"},
	"sweep cancel": {"sweep cancel study"},
	"sweep join":   {"sweep join study --workers 1 --concurrency 1 --quiet"},
	"sweep retry":  {"sweep retry study"},
	"sweep status": {"sweep status study"},
	"tune": {"tune --grid grid.yaml --repeats 1 --out n --results tuned --quiet --checkpoint-every -1" +
		worldly, "tune --grid grid.yaml --repeats 1 --out tuned --quiet --checkpoint-every -1" + worldly},
	"verify": {"verify x"},
	"watch":  {"watch x -o r --idle 1s --quiet", "watch study -o r --idle 1s --quiet"},
}

// leaves are the commands that have no others below them, or that do something themselves, by their paths.
func leaves(t *testing.T) map[string]*cobra.Command {
	all := map[string]*cobra.Command{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, child := range c.Commands() {
			walk(child)
		}
		if c.Name() != "help" && (len(c.Commands()) == 0 || lines[pathOf(c)] != nil) {
			all[pathOf(c)] = c
		}
	}
	walk(newRoot(io.Discard, io.Discard))
	for path := range all {
		if len(lines[path]) == 0 {
			t.Errorf("the command %q has no line in lines: add one that works in a world", path)
		}
	}
	for path := range lines {
		if all[path] == nil {
			t.Errorf("there is no command %q, but a line of it", path)
		}
	}
	return all
}

// madeWorld has the files of a world once a test has made it, for the tests after it.
var madeWorld struct {
	sync.Mutex
	files fstest.MapFS
}

// makeWorld makes a world.
func makeWorld(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	check := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	madeWorld.Lock()
	defer madeWorld.Unlock()
	if madeWorld.files != nil {
		check(os.CopyFS(dir, madeWorld.files))
		return dir
	}
	files := maps.Clone(worldFiles)
	for name, text := range pictures() {
		if strings.HasPrefix(name, "images/class0/") || strings.HasPrefix(name, "images/class1/") {
			files[name] = text
			for _, copy := range []string{"a", "b", "c"} { // advise holds out a tenth of each class
				files[strings.Replace(name, "images/", "many/", 1)+copy+".png"] = text
			}
		}
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		check(errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)))
	}
	check(writeNPZ(filepath.Join(dir, "tiny.npz"), ""))
	for _, line := range worldLines {
		if r := give(dir, strings.Fields(line)); r.err != nil {
			t.Fatalf("ocl %s: %v: %s", line, r.err, r.stderr)
		}
	}
	// A run that was interrupted before its result was written.
	check(os.CopyFS(filepath.Join(dir, "half"), os.DirFS(filepath.Join(dir, "x"))))
	results, err := filepath.Glob(filepath.Join(dir, "half", "*", "result.json"))
	check(err)
	for _, path := range results {
		check(os.Remove(path))
	}
	made := fstest.MapFS{}
	check(filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		file := &fstest.MapFile{Mode: info.Mode(), ModTime: info.ModTime()}
		if !e.IsDir() {
			if !e.Type().IsRegular() {
				return fmt.Errorf("%s is %v, which a copy of the world does not have", path, e.Type())
			}
			file.Data, err = os.ReadFile(path)
		}
		made[filepath.ToSlash(strings.TrimPrefix(path, dir+string(filepath.Separator)))] = file
		return err
	}))
	madeWorld.files = made
	return dir
}

// copyOf is a copy of a world beside it, in the folder of the test.
func copyOf(world string) (string, error) {
	dir, err := os.MkdirTemp(filepath.Dir(world), "copy-")
	if err != nil {
		return "", err
	}
	return dir, os.CopyFS(dir, os.DirFS(world))
}

// outcome is what a child did.
type outcome struct {
	dir            string // where
	code           int
	err            error
	stdout, stderr string
	took           time.Duration
	rss            int64 // peak, in bytes
}

// mostMemory is the most memory that a command takes in a world, in bytes, and childLimit the address space that it may
// have, in KiB: one that takes all memory ends in a Go trace. The race detector takes several times the memory, and
// terabytes of addresses.
var mostMemory, childLimit = func() (int64, string) {
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings,
		debug.BuildSetting{Key: "-race", Value: "true"}) {
		return 8 << 30, "unlimited"
	}
	return 1 << 30, "4000000"
}()

// command is the program in a folder, with nothing of the person's environment.
func command(ctx context.Context, dir string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", `ulimit -v ` + childLimit + `; exec ocl "$@"`, "sh"},
		args...)...)
	cmd.Dir = dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "OCL_") }),
		"HOME="+dir, "OCL_CACHE="+filepath.Join(dir, "cache"), "NO_COLOR=1", "TMPDIR="+dir)
	return cmd
}

// childTimeout is generous: a busy machine takes long for what takes a second.
const childTimeout = 5 * time.Minute

// give runs the program to its end.
func give(dir string, args []string) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), childTimeout)
	defer cancel()
	cmd := command(ctx, dir, args)
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	start := time.Now()
	fault := cmd.Run()
	return outcomeOf(cmd, fault, &out, &err, time.Since(start))
}

func outcomeOf(cmd *exec.Cmd, fault error, out, err *bytes.Buffer, took time.Duration) outcome {
	r := outcome{dir: cmd.Dir, code: -1, err: fault, stdout: out.String(), stderr: err.String(), took: took}
	if s := cmd.ProcessState; s != nil {
		r.code = s.ExitCode()
		if u, ok := s.SysUsage().(*syscall.Rusage); ok {
			r.rss = u.Maxrss << 10
		}
	}
	return r
}
