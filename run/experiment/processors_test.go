package experiment

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"ocl/checkpoint"
	"ocl/config"
	"ocl/nn"
	"ocl/run/build"
)

// learnedOnAMD64 has hashes of what a learner is after a run on an amd64 machine with plain Go and with AVX2:
// parameters, running statistics, memory and the rest of its state. A change that raises the numbers version may move
// them.
var learnedOnAMD64 = []struct{ network, method, trick, plain, avx2 string }{
	{build.ResNet18, "er", "kdc*+rv+ss", "e378fac25e67529f", "42f8e17a568b0e15"},
	{build.ResNet18, "ewc++", "none", "7d9a28fffd433127", "aa9c8e19221b7853"},
	{build.MLP, "gdumb", "none", "499ec744b1158cce", "2237f753a27ed5ab"},
	{build.ResNet18, "icarl", "none", "f13b98b2ed2ca0cd", "9b06ef14133cecdf"},
	{build.ResNet18, "lwf", "none", "290f513a3f8e55c8", "1de32b42fad4a5f3"},
	{build.MLP, "agem", "none", "fc33dc5d11e2472f", "d66c95b90c13cbb5"},
	{build.MLP, "gss", "none", "488359d84f64933f", "b953c7df0e8d993c"},
	{build.MLP, "mir", "none", "bd3ae1266d906022", "905e9365b04c19e7"},
	{build.MLP, "cndpm", "none", "e6e2e9ee367bb8b2", "aee0c4a16d76a339"},
	{build.MLP, "randumb", "none", "9605f47e9b7d3601", "8762ae1f4ae320a9"},
	{build.MLP, "scr", "none", "0de18679df2a8a20", "6a845cc2d9fa9449"},
	{build.MLP, "pcr", "none", "335214acf44b59ad", "3393cfba7fb32d68"},
}

// TestPlainGoLearnsTheSameEverywhere: the key of a run says which kernel set it used, but not on which processor. So
// plain Go must round the same on all of them. Go fuses x*y+z on arm64 unless the product is converted explicitly.
func TestPlainGoLearnsTheSameEverywhere(t *testing.T) {
	for _, l := range learnedOnAMD64 {
		t.Run(l.network+" "+l.method+" "+l.trick, func(t *testing.T) {
			if got := learned(t, "generic", l.network, l.method, l.trick); got != l.plain {
				t.Errorf("the learner is %s, but must be %s. Look for a product that is added without an explicit conversion", got,
					l.plain)
			}
		})
	}
}

// TestAVX2LearnsTheSameEverywhere: a kernel set with AVX2's bits learns what AVX2 learns.
func TestAVX2LearnsTheSameEverywhere(t *testing.T) {
	needsAVX2(t)
	for _, l := range learnedOnAMD64 {
		t.Run(l.network+" "+l.method+" "+l.trick, func(t *testing.T) {
			if got := learned(t, "avx2", l.network, l.method, l.trick); got != l.avx2 {
				t.Errorf("the learner is %s, but must be %s", got, l.avx2)
			}
		})
	}
}

// needsAVX2 skips a test where neither AVX2 nor a kernel set with its bits can run.
func needsAVX2(t *testing.T) {
	t.Setenv("OCL_KERNEL", "")
	t.Setenv("OCL_CONV", "")
	if err := (nn.Engine{Kernel: "avx2"}).Check(); err != nil {
		t.Skipf("no kernels here have AVX2's bits: %v", err)
	}
}

// learned is a hash of what a learner is after a short run.
func learned(t *testing.T, kernel, network, method, trick string) string {
	t.Helper()
	if testing.Short() && (method == "cndpm" || method == "randumb") {
		t.Skip("-short: half a minute in an emulator")
	}
	t.Setenv("OCL_KERNEL", "")
	t.Setenv("OCL_CONV", "")
	c := config.Default()
	c.Data.Size, c.Data.TrainPerClass, c.Data.TestPerClass = 26, 1, 1
	c.Stream.Tasks, c.Memory, c.Eval = 2, 20, "final"
	c.Network = config.Network{Name: network, Width: 2, Hidden: []int{4}}
	c.Engine.Kernel = kernel
	c.Methods, c.Tricks = []string{method}, []string{trick}
	if method == "cndpm" {
		c.Data.Size = 12 // its experts halve twice
	}
	c.Method = map[string]map[string]any{"cndpm": {"sleep_vae_steps": 3, "sleep_classifier_steps": 3, "sleep_batch": 5}}
	out := t.TempDir()
	mustRun(t, c, Options{Out: out, Workers: 1, KeepCheckpoint: true})
	dir, err := checkpoint.OpenDir(filepath.Join(out, jobsOf(t, c)[0].Folder, CheckpointDir))
	if err != nil {
		t.Fatal(err)
	}
	last, err := dir.Load()
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	for _, name := range last.Names() {
		if text, err := last.Decoder().Bytes(name); err != nil {
			t.Fatal(err)
		} else if strings.HasPrefix(name, "learner/") {
			fmt.Fprintf(h, "%s %d\n", name, len(text))
			h.Write(text)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}
