package experiment

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/config"
	"ocl/internal/atomicfile"
	"ocl/nn"
	"ocl/nn/safetensors"
	"ocl/nn/weights"
	"ocl/run/build"
	"ocl/run/trained"
)

// firstWeights writes a file of weights for networks of c, drawn with the seed 99, and returns the network.
func firstWeights(t *testing.T, path string, c config.Config) *nn.Network {
	t.Helper()
	c.Seed = 99
	x := mustOpen(t, c, Options{})
	st, err := build.NewStream(x.set, x.Jobs()[0].Config)
	if err != nil {
		t.Fatal(err)
	}
	net, err := build.NewNetwork(st.Info(), x.Jobs()[0].Config, 0)
	if err != nil {
		t.Fatal(err)
	}
	save(t, path, weights.Of(net))
	return net
}

func save(t *testing.T, path string, list []safetensors.Tensor) {
	t.Helper()
	if err := atomicfile.Write(path, func(w io.Writer) error { return safetensors.Write(w, list, nil) }); err != nil {
		t.Fatal(err)
	}
}

// startsWith runs a config of one run up to its first step, and returns the parameters that the run started with.
func startsWith(t *testing.T, c config.Config) (first []float32) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Run(ctx, c, Options{Workers: 1, hooks: hooks{learner: func(l ocl.Learner, net *nn.Network) ocl.Learner {
		first = slices.Clone(net.Params())
		cancel()
		return l
	}}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return first
}

// headAt is where the head begins in the parameters.
func headAt(net *nn.Network) int { return net.Info().Named[len(net.Info().Named)-2].Offset }

// A run starts with the weights of its file. Its key depends on the content of the file and not on the path, and the
// result has the digest.
func TestRunStartsWithWeights(t *testing.T) {
	t.Parallel()
	c := one("er")
	path := filepath.Join(t.TempDir(), "w.safetensors")
	net := firstWeights(t, path, c)
	drawn := jobsOf(t, c)[0].Key
	c.Network.Init = path
	if got := startsWith(t, c); !slices.Equal(got, net.Params()) {
		t.Error("the run did not start with the weights of the file")
	}
	res := mustRun(t, c, Options{})[0]
	text, err := os.ReadFile(path)
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(text))
	if err != nil || res.Config.Network.InitDigest != digest || Key(res) != res.Key {
		t.Errorf("the result has the digest %s and the key %s, want %s and %s (%v)", res.Config.Network.InitDigest, res.Key,
			digest, Key(res), err)
	}
	moved := c
	moved.Network.Init = path + "2"
	if err := os.Rename(path, path+"2"); err != nil {
		t.Fatal(err)
	}
	if key := jobsOf(t, moved)[0].Key; key != res.Key || key == drawn {
		t.Errorf("the key is %s after the file was moved, %s before, and %s without it", key, res.Key, drawn)
	}
	list := weights.Of(net)
	list[0].Floats[0]++
	save(t, path+"2", list)
	if key := jobsOf(t, moved)[0].Key; key == res.Key {
		t.Error("other weights have the same key")
	}
	again := res.Config.Clone()
	again.Network.Init = path + "2"
	_, err = Open(t.Context(), again, Options{})
	if err == nil || !strings.Contains(err.Error(), "its digest is sha256:") ||
		!strings.Contains(err.Error(), "but network.init_digest is "+digest) || !errors.Is(err, ErrUnfit) {
		t.Errorf("a run that is repeated with other weights: %v", err)
	}
}

// All methods but those that train from scratch start with the weights, iCaRL without the head.
func TestAllMethodsStartWithWeights(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "w.safetensors")
	net := firstWeights(t, path, one("er"))
	for _, name := range Schema().Methods {
		c := one(name.Name)
		c.Network.Init = path
		if name.OwnNetworks {
			if _, err := Open(t.Context(), c, Options{}); err == nil ||
				!strings.Contains(err.Error(), "makes networks of its own") {
				t.Errorf("%s: %v", name.Name, err)
			}
			continue
		}
		if name.Scratch || name.NoGradient {
			if _, err := Open(t.Context(), c, Options{}); err == nil ||
				!strings.Contains(err.Error(), "so it cannot start from a file") {
				t.Errorf("%s: %v", name.Name, err)
			}
			if c.Network.Freeze = 1; name.Scratch && !slices.Equal(startsWith(t, c), net.Params()) {
				t.Errorf("%s with frozen stages did not start with the weights of the file", name.Name)
			}
			continue
		}
		got, head := startsWith(t, c), headAt(net)
		if !slices.Equal(got[:head], net.Params()[:head]) {
			t.Errorf("%s did not start with the weights of the file", name.Name)
		}
		// heads of other kinds
		own := build.Method(name.Name).OwnOutputs || slices.Contains([]string{"pcr", "scr"}, name.Name)
		if slices.Equal(got[head:], net.Params()[head:]) == own {
			t.Errorf("%s: outputs of its own: %v, and the head of the file: %v", name.Name, own, !own)
		} else if notes := strings.Join(mustOpen(t, c, Options{}).Notes(), "\n"); strings.Contains(notes,
			"starts from drawn weights") != own {
			t.Errorf("%s: notes %q", name.Name, notes)
		}
	}
}

// A head for other classes starts as the seed draws it, and a note says so.
func TestOtherHeadIsDrawn(t *testing.T) {
	t.Parallel()
	c := one("finetune")
	path := filepath.Join(t.TempDir(), "w.safetensors")
	net := firstWeights(t, path, c)
	list := weights.Of(net)
	for i, w := range list {
		if strings.HasPrefix(w.Name, "linear.") {
			list[i].Shape = append([]int{7}, w.Shape[1:]...)
			list[i].Floats = w.Floats[:list[i].Len()]
		}
	}
	save(t, path, list)
	drawn := startsWith(t, c)
	c.Network.Init = path
	got, head := startsWith(t, c), headAt(net)
	if !slices.Equal(got[:head], net.Params()[:head]) || !slices.Equal(got[head:], drawn[head:]) {
		t.Error("the body is not that of the file, or the head not the drawn one")
	}
	want := "network.init: " + path +
		": the file has a head for 7 classes, but there are 100. The head (linear.weight, linear.bias) starts from drawn weights"
	if notes := mustOpen(t, c, Options{}).Notes(); !slices.Contains(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
}

// What is no file of weights for the network is refused before anything runs.
func TestUnusableWeights(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other := one("er")
	other.Network.Hidden = []int{17}
	firstWeights(t, filepath.Join(dir, "other"), other)
	for name, begin := range map[string]string{
		"text": "not weights", "short": "\x08", "onnx": "\x08\x08\x12\x03ocl",
		"numpy": "PK\x03\x04\x14\x00\x08hidden.0.weight.npy\x93NUMPY",
		"torch": "PK\x03\x04\x00\x00model/data.pkl", "old": "\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.",
		"zip": "PK\x03\x04\x00\x00notes.txt", "ckpt": "OCLCKPT\n\x01\x00\x00\x00",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(begin), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"absent": "absent: no such file or directory. Give the path of a safetensors file",
		"":       ": it is a folder, not a regular file. Give the path of a safetensors file",
		"text":   "text: not a valid safetensors file: the file begins with \"",
		"short":  "short: not a valid safetensors file",
		"onnx":   "onnx: this is what looks like an ONNX model, whose weights ocl does not read. Give a safetensors file, such as `ocl export RUN --to safetensors` writes",
		"numpy":  "numpy: this is an archive of NumPy (.npz). Give a safetensors file",
		"torch":  "torch: this is a file of torch.save. Save the state_dict with save_file of safetensors.torch",
		"old":    "old: this is a file of torch.save of PyTorch before 1.6, or another pickle. Save the state_dict",
		"zip":    "zip: not a valid safetensors file",
		"ckpt":   "ckpt: this is a checkpoint of a run, whose weights ocl does not read. Give a safetensors file",
		"other": "other: 3 tensors do not fit the network (of another shape: hidden.0.weight is [17 192] instead of [16 192], " +
			"hidden.0.bias is [17] instead of [16], linear.weight is [100 17] instead of [100 16]). Rename",
	} {
		c := one("er")
		c.Network.Init = filepath.Join(dir, name)
		if name == "" {
			c.Network.Init = dir
		}
		if _, err := Open(t.Context(), c, Options{}); err == nil || !strings.Contains(err.Error(), want) ||
			!errors.Is(err, ErrUnfit) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// A run that has a checkpoint continues without its first weights, to the same result. One that has not begun says that
// they are missing, and where to give them.
func TestResumeWithoutFirstWeights(t *testing.T) {
	t.Parallel()
	c := one("er")
	c.Runs = 2
	dir := t.TempDir()
	path, out := filepath.Join(dir, "w.safetensors"), filepath.Join(dir, "x")
	firstWeights(t, path, c)
	c.Network.Init = path
	want := comparable(t, mustRun(t, c, Options{}))
	ctx, cancel := context.WithCancel(t.Context())
	o := Options{Out: out, Workers: 1, Concurrency: 1, Events: func(Job) Events {
		return Events{StepEnd: func(step int, _ ocl.StepStats) {
			if step == 20 {
				cancel()
			}
		}}
	}}
	if _, err := Run(ctx, c, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+"2"); err != nil {
		t.Fatal(err)
	}
	results, err := Resume(t.Context(), out, Options{})
	if err == nil || len(results) != 1 || !strings.Contains(err.Error(), "er, seed 2:") ||
		!strings.Contains(err.Error(),
			"the run has no checkpoint yet, so it needs its first weights: network.init: "+path+": no such file") {
		t.Fatalf("%d results, %v", len(results), err)
	}
	if got := comparable(t, results); got[0] != want[0] {
		t.Errorf("the continued run has another result:\n%s\nwant\n%s", got[0], want[0])
	}
	results, err = Resume(t.Context(), out, Options{Init: path + "2"})
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range comparable(t, results) {
		got = strings.ReplaceAll(got, path+"2", path)
		if got != want[i] {
			t.Errorf("run %d has another result after the weights were moved:\n%s\nwant\n%s", i+1, got, want[i])
		}
	}
}

// A run that started with weights can be learned on: its child has the network of its parent, and no first weights.
func TestChildNeedsNoFirstWeights(t *testing.T) {
	t.Parallel()
	c := one("er")
	dir := t.TempDir()
	path := filepath.Join(dir, "w.safetensors")
	firstWeights(t, path, c)
	c.Network.Init = path
	out := filepath.Join(dir, "parent")
	mustRun(t, c, Options{Out: out, KeepCheckpoint: true})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	child, err := trained.LearnOn(out, false)
	if err != nil {
		t.Fatal(err)
	}
	child.Data, child.Stream.Tasks = c.Data, c.Stream.Tasks
	res := mustRun(t, child, Options{})[0]
	if n := res.Config.Network; n.Init != "" || n.InitDigest != "" || res.Parent == nil {
		t.Errorf("the child has the first weights %+v and the parent %v", n, res.Parent)
	}
}
