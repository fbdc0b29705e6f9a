package experiment

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"ocl/checkpoint"
	"ocl/config"
	"ocl/run/build"
)

// learnedOnAMD64 has a hash of what a learner is after a run with plain Go on an amd64 machine: parameters, running
// statistics, memory and the rest of its state. A change that raises the numbers version may move them.
var learnedOnAMD64 = []struct{ network, method, trick, hash string }{
	{build.ResNet18, "er", "kdc*+rv+ss", "e378fac25e67529f"},
	{build.ResNet18, "ewc++", "none", "7d9a28fffd433127"},
	{build.MLP, "gdumb", "none", "499ec744b1158cce"},
	{build.ResNet18, "icarl", "none", "f13b98b2ed2ca0cd"},
	{build.ResNet18, "lwf", "none", "290f513a3f8e55c8"},
	{build.MLP, "agem", "none", "fc33dc5d11e2472f"},
	{build.MLP, "gss", "none", "488359d84f64933f"},
	{build.MLP, "mir", "none", "bd3ae1266d906022"},
}

// TestPlainGoLearnsTheSameEverywhere: the key of a run says which kernel set it used, but not on which processor. So
// plain Go must round the same on all of them. Go fuses x*y+z on arm64 unless the product is converted explicitly.
func TestPlainGoLearnsTheSameEverywhere(t *testing.T) {
	t.Setenv("OCL_KERNEL", "")
	t.Setenv("OCL_CONV", "")
	for _, l := range learnedOnAMD64 {
		t.Run(l.network+" "+l.method+" "+l.trick, func(t *testing.T) {
			c := config.Default()
			c.Data.Size, c.Data.TrainPerClass, c.Data.TestPerClass = 26, 1, 1
			c.Stream.Tasks, c.Memory, c.Eval = 2, 20, "final"
			c.Network = config.Network{Name: l.network, Width: 2, Hidden: []int{4}}
			c.Engine.Kernel = "generic"
			c.Methods, c.Tricks = []string{l.method}, []string{l.trick}
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
			if got := fmt.Sprintf("%x", h.Sum(nil)[:8]); got != l.hash {
				t.Errorf("the learner is %s, but must be %s. Look for a product that is added without an explicit conversion", got,
					l.hash)
			}
		})
	}
}
