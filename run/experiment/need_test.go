package experiment

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/config"
	"ocl/internal/fuzztest"
	"ocl/learn/method"
	"ocl/run/train"
)

// smallRun is a config of few steps on drawn images.
func smallRun(name string) config.Config {
	c := config.Default()
	c.Data.TrainPerClass, c.Data.TestPerClass, c.Data.Size = 4, 1, 32
	c.Stream.Tasks, c.Methods, c.Memory, c.Eval = 2, []string{name}, 100, config.EvalFinal
	return c
}

// live is the bytes in use.
func live() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// TestNeeds compares what a run is said to need at least, and its estimated peak, with what it holds in the end of its
// steps: for ER with an MLP, alone and with tricks that keep further networks, and with OCL_LONG for all methods with
// both networks.
func TestNeeds(t *testing.T) {
	for _, info := range method.Catalogue() {
		for _, network := range []string{"resnet18", "mlp", "mlp+ema", "mlp+mkd"} {
			network, trick, with := strings.Cut(network, "+")
			if with && info.Name != "er" {
				continue
			}
			if info.OwnNetworks && network == "mlp" || os.Getenv("OCL_LONG") == "" && (network != "mlp" || info.Name != "er") {
				continue
			}
			t.Run(info.Name+"/"+network+"/"+trick, func(t *testing.T) {
				c := smallRun(info.Name)
				if with {
					c.Tricks = []string{trick}
				}
				c.Network.Name, c.Network.Hidden = network, []int{600, 400}
				if info.OwnNetworks {
					c.Method = map[string]map[string]any{info.Name: {"sleep_vae_steps": 2, "sleep_classifier_steps": 2}}
				}
				if info.Offline {
					c.Method = map[string]map[string]any{info.Name: {method.Epochs: 2}}
				}
				before, most, steps := live(), 0.0, 0
				x, err := Open(t.Context(), c, Options{Workers: 1, Events: func(Job) Events {
					return Events{
						StepEnd: func(int, ocl.StepStats) {
							if steps++; steps == 15 || steps == 35 {
								most = max(most, live()-before)
							}
						},
						Evaluated: func(Evaluated) { most = max(most, live()-before) },
					}
				}})
				if err != nil {
					t.Fatal(err)
				}
				plan, err := x.Plan(x.Jobs()[0])
				if err != nil {
					t.Fatal(err)
				}
				if _, err := x.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				least := 0.0
				for _, n := range plan.Needs {
					least += n.Bytes
				}
				// At the peak there are also a checkpoint in the making and one being written. The program itself is not measured,
				// nor is it counted here. Half of a right estimate is refused.
				peak := most + 2*float64(plan.CheckpointBytes)
				if estimate := (float64(plan.MemoryBytes) - 30<<20) / peak; !(least <= most) ||
					!(estimate >= 0.7 && estimate <= 1.6) {
					t.Errorf("at least %.1f MB and estimated %.1f MB, but %.1f MB are in use: %v", least/1e6,
						float64(plan.MemoryBytes)/1e6, most/1e6, plan.Needs)
				}
			})
		}
	}
}

// TestTooLarge: what cannot fit is refused before it is allocated, with the key that makes it large.
func TestTooLarge(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "300MiB")
	for _, tt := range []struct {
		change func(c *config.Config)
		want   string
	}{
		{func(c *config.Config) { c.Network.Width = 4096 }, "network.width (4096): nn: a network of"},
		// it fits without the rest of a run
		{func(c *config.Config) { c.Network.Width = 100 }, "Use less of network.width (100)"},
		{func(c *config.Config) { c.Network.Name, c.Network.Hidden = "mlp", []int{1e6, 1e6, 1e6} },
			"network.hidden (1000000,1000000,1000000): nn: a network of 2,003,"},
		{func(c *config.Config) { c.Network.Name, c.Network.Hidden = "mlp", slices.Repeat([]int{999_999}, 100) },
			"network.hidden (999999,999999,999999,999999,999999,…): nn:"},
		{func(c *config.Config) { c.Network.Name, c.Network.Hidden = "mlp", slices.Repeat([]int{1e6}, 100) }, "takes 792 TB"},
		{func(c *config.Config) { c.Stream.Batch = 200 }, "Use less of stream.batch (200)"},
		{func(c *config.Config) { c.Replay.Batch, c.Memory = 400, 400 }, "Use less of replay.batch (400)"},
	} {
		c := smallRun("er")
		tt.change(&c)
		var err error
		most := uint64(64 << 20)
		if got := fuzztest.Allocated(most, func() { _, err = Open(t.Context(), c, Options{}) }); got > most {
			t.Errorf("%s: %d bytes were allocated", tt.want, got)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) || !errors.Is(err, ErrUnfit) ||
			!errors.Is(err, train.ErrMemory) {
			t.Errorf("error %v, want %s", err, tt.want)
		}
	}
	c := smallRun("er")
	c.Runs = 8
	x, err := Open(t.Context(), c, Options{Concurrency: 8})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Run(t.Context()); !errors.Is(err, train.ErrMemory) ||
		!strings.Contains(err.Error(), "8 runs at once") || !strings.Contains(err.Error(), "Use less of --concurrency (8)") {
		t.Errorf("eight at once: %v", err)
	}
}

// TestFinishedNeedsNoMemory: an experiment that has ended is only read, also where its runs would not fit. One that has
// a run left is refused.
func TestFinishedNeedsNoMemory(t *testing.T) {
	c := one("er")
	o := Options{Out: filepath.Join(t.TempDir(), "x")}
	want, err := Run(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOMEMLIMIT", "100KiB")
	again, err := Run(t.Context(), c, o)
	if err != nil || len(again) != 1 || again[0].Key != want[0].Key {
		t.Errorf("%d results, %v", len(again), err)
	}
	if _, err := Resume(t.Context(), o.Out, o); err != nil {
		t.Error(err)
	}
	c.Runs = 2
	if _, err := Run(t.Context(), c, o); !errors.Is(err, train.ErrMemory) {
		t.Errorf("with a run that is left: %v", err)
	}
}
