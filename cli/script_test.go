package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"ocl/data/npz"
	"ocl/internal/faulttest"
	"ocl/internal/kernel"
	"ocl/rng"
	"ocl/run/experiment"
	"ocl/run/result"
)

// longTier is set where the tests may take long, as in `.ci/run all`.
const longTier = "OCL_LONG"

func TestMain(m *testing.M) {
	faulttest.Arm()
	// A busy machine takes long for what takes a second, and tests want the whole outcome of an interrupted command.
	command := func() { os.Exit(Main(context.Background(), os.Args[1:]...)) }
	patient := func() { patience, servedLook = time.Minute, time.Second/10; command() }
	testscript.Main(m, map[string]func(){"ocl": patient, "ocl-impatient": command,
		"ocl-hasty": func() { silence = time.Second / 2; patient() }})
}

// TestScript runs the command in testdata/script/*.txtar. Besides testscript's own commands there are:
//
//	code N ocl ARGS...            the command ends with exit code N
//	npz FILE [KIND]               an .npz of 4 classes of 6×6 images, 40 to train and 10 to test each; KIND is
//	                              label (a test label out of range), missing (no y_test) or other (other images)
//	resize FILE BYTES             a file of zeros, or an existing file made so long
//	folder NAME PATTERN           the environment variable NAME is the one folder of that pattern, as names of runs
//	                              have digits of their keys
//	same RESULT RESULT            two results are the same but for the keys that say where and when
//	poke FILE OFFSET BYTE         one byte changed; a negative offset counts from the end; FILE may be a pattern, and
//	                              is then the file that was written last
//	edit FILE REGEXP TEXT         the first match in a file replaced; the text may name groups
//	moved RESULT FILE SEED POINTS
//	                              the result of a run with another seed, whose accuracies after the last task are so
//	                              many points higher
//	photos FOLDER                 two folders of 15 images each, bright and dark
//	names FOLDER FILE             copies of the file, with a name of bytes that a terminal would obey and with one
//	                              that is not UTF-8
//
// The condition [simd] is true where there are other kernels than plain Go, [long] in the long tier.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("TERM", "xterm")
			repo, err := filepath.Abs("..")
			if err != nil {
				return err
			}
			env.Setenv("REPO", repo)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": code, "folder": folder, "same": same, "npz": imagesNPZ, "resize": resize, "poke": poke, "edit": edit,
			"moved": moved, "names": names, "photos": photos,
		},
		Condition: func(cond string) (bool, error) {
			if cond == "simd" {
				return len(kernel.Available()) > 1, nil
			}
			if cond == "long" {
				return os.Getenv(longTier) != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		RequireExplicitExec: true,
	})
}

func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func folder(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: folder NAME PATTERN")
	}
	found, err := filepath.Glob(ts.MkAbs(args[1]))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("%s: found %q, want one folder", args[1], found)
	}
	rel, err := filepath.Rel(ts.MkAbs("."), found[0])
	ts.Check(err)
	ts.Setenv(args[0], filepath.ToSlash(rel))
}

func same(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: same RESULT RESULT")
	}
	a, err := result.Read(ts.MkAbs(args[0]))
	ts.Check(err)
	b, err := result.Read(ts.MkAbs(args[1]))
	ts.Check(err)
	if difference, same := result.Same(experiment.Schema(), a, b); same == neg {
		ts.Fatalf("same is %v: %s", same, difference)
	}
}

func imagesNPZ(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: npz FILE [KIND]")
	}
	ts.Check(writeNPZ(ts.MkAbs(args[0]), append(args, "")[1]))
}

// writeNPZ draws images of noise around a brightness that is the class's own, so that there is something to learn.
func writeNPZ(path, kind string) error {
	const classes, side = 4, 6
	shape := []int{side, side, 3}
	if kind == "embeddings" {
		shape = []int{8}
	}
	src := rng.New(1, "cmd/ocl/npz/"+kind)
	var arrays []npz.Source
	for _, part := range []struct {
		name     string
		perClass int
	}{{"train", 40}, {"test", 10}} {
		var x []uint8
		var e []float32
		var y []int64
		for i := range classes * part.perClass {
			k := i % classes
			for range side * side * 3 {
				x = append(x, uint8(30+60*k+src.IntN(30)))
			}
			for d := range shape[0] {
				v := float32(src.Float64() - 0.5)
				if d == 2*k {
					v += 2
				}
				e = append(e, v)
			}
			y = append(y, int64(k))
		}
		if kind == "label" && part.name == "test" {
			y[7] = classes
		}
		images := npz.Numbers("x_"+part.name, x, append([]int{len(y)}, shape...)...)
		if kind == "embeddings" {
			images = npz.Numbers("x_"+part.name, e, append([]int{len(y)}, shape...)...)
		}
		arrays = append(arrays, images)
		if kind == "missing" && part.name == "test" {
			continue
		}
		arrays = append(arrays, npz.Numbers("y_"+part.name, y, len(y)))
	}
	var b bytes.Buffer
	if err := npz.Write(&b, arrays, nil); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

func resize(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: resize FILE BYTES")
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_RDWR|os.O_CREATE, 0o644)
	ts.Check(err)
	ts.Check(errors.Join(f.Truncate(n), f.Close()))
}

func poke(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: poke FILE OFFSET BYTE")
	}
	at, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	value, err := strconv.ParseUint(args[2], 0, 8)
	ts.Check(err)
	f, err := os.OpenFile(newest(ts, ts.MkAbs(args[0])), os.O_RDWR, 0)
	ts.Check(err)
	info, err := f.Stat()
	ts.Check(err)
	if at < 0 {
		at += info.Size()
	}
	_, err = f.WriteAt([]byte{byte(value)}, at)
	ts.Check(errors.Join(err, f.Close()))
}

func edit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: edit FILE REGEXP TEXT")
	}
	path := ts.MkAbs(args[0])
	text, err := os.ReadFile(path)
	ts.Check(err)
	pattern, err := regexp.Compile(args[1])
	ts.Check(err)
	at := pattern.FindSubmatchIndex(text)
	if at == nil {
		ts.Fatalf("%s has nothing like %s", args[0], args[1])
	}
	changed := slices.Concat(text[:at[0]], pattern.Expand(nil, []byte(args[2]), text, at), text[at[1]:])
	ts.Check(os.WriteFile(path, changed, 0o644))
}

// newest is the file written last of those that match a pattern.
func newest(ts *testscript.TestScript, pattern string) string {
	paths, err := filepath.Glob(pattern)
	ts.Check(err)
	var best string
	var at time.Time
	for _, p := range paths {
		info, err := os.Stat(p)
		ts.Check(err)
		if info.ModTime().After(at) {
			best, at = p, info.ModTime()
		}
	}
	if best == "" {
		ts.Fatalf("no file matches %s", pattern)
	}
	return best
}

func photos(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: photos FOLDER")
	}
	src := rng.New(1, "cli/photos")
	for k, class := range []string{"dark", "light"} {
		dir, light := filepath.Join(ts.MkAbs(args[0]), class), []int{20, 200}[k]
		ts.Check(os.MkdirAll(dir, 0o755))
		for i := range 15 {
			m := image.NewGray(image.Rect(0, 0, 8, 8))
			for p := range m.Pix {
				m.Pix[p] = uint8(light + src.IntN(30))
			}
			var b bytes.Buffer
			ts.Check(png.Encode(&b, m))
			ts.Check(os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.png", i)), b.Bytes(), 0o644))
		}
	}
}

func names(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: names FOLDER FILE")
	}
	b, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	ts.Check(os.WriteFile(filepath.Join(ts.MkAbs(args[0]), "esc\x1b[31mred\nline.png"), b, 0o644))
	// Not every file system takes names that are not UTF-8.
	_ = os.WriteFile(filepath.Join(ts.MkAbs(args[0]), "latin\xe9.png"), b, 0o644)
}
