package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/learner"
	"ocl/learn/memory"
	"ocl/learn/optim"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

// footprintChild names the folder in which the child process of TestFootprint works.
const footprintChild = "OCL_TEST_FOOTPRINT"

// TestFootprint: a learner as ER has it on Mini-ImageNet, with 10,000 stored images of 84×84 and two workers, takes
// less than 850 MB of anonymous memory through first steps, an evaluation, and checkpoints that are written while it
// goes on. It measures a process of its own.
func TestFootprint(t *testing.T) {
	if folder := os.Getenv(footprintChild); folder != "" {
		if err := takeFootprint(folder); err != nil {
			t.Fatal(err)
		}
		return
	}
	if os.Getenv(longTier) == "" {
		t.Skip(longTier + " is unset: the test takes 0.8 GB and some seconds")
	}
	const most = 850_000_000
	child := exec.Command(os.Args[0], "-test.run=^TestFootprint$", "-test.v")
	child.Env = append(os.Environ(), footprintChild+"="+t.TempDir())
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	peak := 0
	for line := range strings.Lines(string(out)) {
		if what, n, is := strings.Cut(strings.TrimSpace(line), " RssAnon "); is {
			kib, err := strconv.Atoi(n)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %d kB", what, kib)
			peak = max(peak, kib<<10)
		}
	}
	if peak == 0 || peak > most {
		t.Errorf("%d bytes of anonymous memory, want at most %d", peak, most)
	}
}

// takeFootprint prints the anonymous memory of the process at each stage.
func takeFootprint(folder string) error {
	collectEarly()
	const side, capacity, batch = 84, 10000, 10
	net, err := arch.ResNet18(arch.Config{Channels: 3, Height: side, Width: side, Classes: 100, NF: 20},
		rng.New(1, "network/init"))
	if err != nil {
		return err
	}
	ws := net.NewWorkspace(2)
	defer ws.Close()
	store := memory.NewStore(capacity, [3]int{3, side, side}, nil)
	er := &learner.Replay{Net: net, WS: ws, Opt: optim.SGD{LR: 0.01}.New(), Memory: store, Seed: 1}
	dir, err := checkpoint.OpenDir(folder)
	if err != nil {
		return err
	}
	writer := checkpoint.NewWriter(dir)
	pixels, y, values := make([]byte, batch*3*side*side), make([]ocl.Label, batch), ocl.NewPixelValues(3, nil, nil)
	next := func() ocl.Batch {
		for i := range pixels {
			pixels[i] = byte(i * (store.Seen() + 7))
		}
		return ocl.NewBatch(store.Shape(), pixels, y, values)
	}
	step := 0
	learn := func(what string) error {
		for range 2 {
			if _, err := er.Observe(context.Background(), next()); err != nil {
				return err
			}
			step++
		}
		return printFootprint(what)
	}
	save := func(what string) error {
		c := checkpoint.NewContainer()
		if err := er.SaveState(c.Encoder()); err != nil {
			return err
		}
		if err := writer.Save(step, c, nil); err != nil {
			return err
		}
		return learn(what + ", while it is written")
	}
	if err := learn("first steps"); err != nil {
		return err
	}
	slots := make([]int, batch)
	for store.Len() < capacity {
		for i := range slots {
			slots[i] = min(store.Len()+i, capacity-1)
		}
		store.Put(next(), slots)
	}
	if err := learn("full memory"); err != nil {
		return err
	}
	for i := range 3 {
		if err := save(fmt.Sprint("checkpoint ", i+1)); err != nil {
			return err
		}
		if err := er.Predict(make([]ocl.Label, 100), tensor.New(100, 3, side, side)); err != nil {
			return err
		}
		if err := learn("evaluation"); err != nil {
			return err
		}
	}
	return writer.Wait()
}

// printFootprint prints RssAnon of the process in kB.
func printFootprint(what string) error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range bytes.Lines(status) {
		if f := bytes.Fields(line); len(f) == 3 && string(f[0]) == "RssAnon:" {
			fmt.Printf("%s RssAnon %s\n", what, f[1])
		}
	}
	return nil
}
