package experiment

import (
	"math"
	"slices"
	"strings"
	"testing"

	"ocl/config"
	"ocl/learn/method"
	"ocl/run/build"
	"ocl/run/result"
)

// TestMemoryBytes: with as many bytes, methods store as many samples as fit beside what they keep, and their runs are
// those of that memory.
func TestMemoryBytes(t *testing.T) {
	t.Parallel()
	const all = 40_000
	c := tiny()
	c.Runs, c.Memory, c.MemoryBytes = 1, config.DefaultMemory, all
	c.Methods, c.Tricks = []string{"er", "der++"}, []string{"none", "ema"}
	results := mustRun(t, c, Options{})
	if len(results) != 4 {
		t.Fatalf("%d runs", len(results))
	}
	sizes := map[int]bool{}
	for i, j := range jobsOf(t, c) {
		r, m := results[i], j.Config.Memory
		copies := r.Resources.NetworkBytes - 4*int64(r.Resources.Parameters)
		used := r.Resources.MemoryBytes + copies
		slot := r.Resources.MemoryBytes / int64(m)
		if r.Memory.Capacity != m || used > all || used+slot <= all {
			t.Errorf("%s: %d samples take %d bytes of %d, and one more %d", j.Name(), m, used, all, slot)
		}
		if ema := slices.Equal(j.Tricks, []string{"ema"}); ema != (copies > 0) {
			t.Errorf("%s: copies of the network take %d bytes", j.Name(), copies)
		}
		sizes[m] = true
		plain := c.Clone()
		plain.Methods, plain.Tricks, plain.MemoryBytes, plain.Memory = []string{j.Method}, []string{j.Config.Tricks[0]}, 0, m
		if key := jobsOf(t, plain)[0].Key; key != j.Key || j.Config.MemoryBytes != 0 {
			t.Errorf("%s is another run than that with memory=%d", j.Name(), m)
		}
	}
	if len(sizes) != 4 {
		t.Errorf("the sizes are %v, want four", sizes)
	}
}

// TestPasses chooses iterations by what an iteration of each method needs: 6 of er, 3 of finetune.
func TestPasses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, trick string
		passes, want  int
	}{{"er", "none", 6, 1}, {"er", "none", 11, 1}, {"er", "none", 12, 2}, {"er", "none", 20, 3}, {"pcr", "none", 12, 1},
		{"er", "kdc", 16, 2}, {"er", "mi", 30, 1}, {"finetune", "none", 6, 2}, {"lwf", "none", 5, 1}} {
		x := one(c.method)
		x.Tricks, x.Replay.Passes = []string{c.trick}, c.passes
		if c.method == "finetune" || c.method == "lwf" {
			x.Memory = config.DefaultMemory
		}
		j := jobsOf(t, x)[0]
		if j.Config.Replay.Iterations != c.want || j.Config.Replay.Passes != 0 {
			t.Errorf("%s with %d passes: %d iterations, want %d", j.Name(), c.passes, j.Config.Replay.Iterations, c.want)
		}
		plan := plansOf(t, x)[0]
		if work := plan.RowsForward + 2*plan.RowsBackward; work > float64(c.passes) || 2*work <= float64(c.passes) {
			t.Errorf("%s with %d passes makes %v", j.Name(), c.passes, work)
		}
	}
}

// TestBudgetsAreRefused where they cannot be held, and where something else says the same.
func TestBudgetsAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		set  func(*config.Config)
		want string
	}{
		{func(c *config.Config) { c.MemoryBytes, c.Memory = 9999, 31 },
			"memory_bytes: 9999 chooses the size of the memory, but memory (31) is given too. Remove one of them"},
		{func(c *config.Config) { c.MemoryBytes, c.Methods = 9999, []string{"finetune"} },
			"memory_bytes: 9999 is given, but finetune stores no samples"},
		{func(c *config.Config) { c.MemoryBytes = 100 }, "memory_bytes: 100 B are 0 samples for er, of 196 B each, but at least 10 are needed"},
		{func(c *config.Config) { c.MemoryBytes, c.Tricks = 9999, []string{"ema"} },
			"samples for er+ema beside 1 further copy of the network with "},
		{func(c *config.Config) { c.Replay.Passes, c.Replay.Iterations = 12, 2 },
			"replay.passes: 12 chooses the iterations, but replay.iterations (2) is given too"},
		{func(c *config.Config) { c.Replay.Passes = 5 },
			"replay.passes: er makes 6 passes of rows for each incoming sample with 1 iteration, which is more than 5 or at most half of it"},
		{func(c *config.Config) { c.Replay.Passes, c.Methods = 40, []string{"icarl"} },
			"replay.passes: icarl makes 8 passes of rows for each incoming sample with 1 iteration, which is more than 40 or at most half"},
		{func(c *config.Config) { c.Replay.Passes, c.Methods = 6, []string{"gdumb"} },
			"replay.passes: gdumb does not learn step by step with one network"},
	} {
		x := one("er")
		x.Memory = config.DefaultMemory
		c.set(&x)
		if _, err := Open(t.Context(), x, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// TestCopiesAreKept: what the catalogue says of copies of the network is what a learner's state holds.
func TestCopiesAreKept(t *testing.T) {
	t.Parallel()
	check := func(name, trick string, derived int) {
		c := one(name)
		c.Tricks, c.Network.Hidden, c.Eval = []string{trick}, []int{200}, config.EvalFinal
		r := mustRun(t, c, Options{})[0]
		if r.Outcome.State != result.Finished {
			t.Fatalf("%s+%s: %+v", name, trick, r.Outcome)
		}
		network := 4 * float64(r.Resources.Parameters)
		held := float64(r.Resources.StateBytes-r.Resources.MemoryBytes) / network
		if want := float64(r.Resources.NetworkBytes)/network - float64(derived); math.Abs(held-want) > 0.2 {
			t.Errorf("%s+%s: the state has %.2f times the parameters, want %v", name, trick, held, want)
		}
	}
	for _, info := range method.Catalogue() {
		if info.OwnNetworks || info.Solves != nil || info.Deferred || info.Offline {
			continue
		}
		check(info.Name, "none", 0)
	}
	check("er", "kdc", 0)
	check("er", "ema", 0)
	check("er", "mkd", 1) // the mean of both is made of them
	if build.Method("finetune").Copies(build.Setup(one("finetune")), 10) != 0 {
		t.Error("finetune keeps copies")
	}
}
