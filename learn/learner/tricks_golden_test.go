package learner_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"ocl"
	"ocl/internal/goldentest"
	"ocl/learn/learner"
	"ocl/learn/learner/learnertest"
	"ocl/learn/method"
	"ocl/learn/optim"
)

// trickCases is what testdata/tricks.json, which tricks.py makes, has beside the head of trajectories.
type trickCases struct {
	Candidates int
	Cases      []struct {
		Name, Trick string
		Plain       bool // A-GEM's reference is of the loss on labels alone
		Losses      []float64
		LossTol     float64     `json:"loss_tol"`
		Ends        [][]float64 // parameters at the end of each task
		ParamTol    float64     `json:"param_tol"`
		Slots       [][]int     // retrieved last at each step
		Memory      []int       // number of the sample in each slot at the end
		Heads       [][]int     // class of each sample of the stream by the head at the end of each task; -1 is too close
		Means       [][]int     // and by the nearest class mean
	}
}

// replayOf is the Replay within a learner.
func replayOf(t *testing.T, l ocl.Learner) *learner.Replay {
	t.Helper()
	switch l := l.(type) {
	case *learner.Replay:
		return l
	case learner.Bounded:
		return l.Replay
	case *learner.AGEM:
		return l.Replay
	}
	t.Fatalf("a learner of type %T holds no Replay", l)
	return nil
}

// TestGoldenTricks follows ER, MIR and A-GEM with each trick over twenty steps and the ends of two tasks of an
// independent PyTorch program, which draws the same numbers: losses, retrieved slots, and at each end, after review and
// teacher's copy, parameters and predictions by head and by class means.
func TestGoldenTricks(t *testing.T) {
	var g trajectories
	var f trickCases
	goldentest.Read(t, "testdata/tricks.json", &g, &f)
	if len(f.Cases) != 3*8+3 {
		t.Errorf("%d cases, want 3 methods with each of 8 lists of tricks, and A-GEM with another reference in 3",
			len(f.Cases))
	}
	for _, c := range f.Cases {
		t.Run(fmt.Sprint(c.Name, " ", c.Trick, " plain=", c.Plain), func(t *testing.T) {
			start := g.finetune(t)
			s := method.Setup{
				Net: start.Net, WS: start.WS, Opt: optim.SGD{LR: g.LR, WeightDecay: g.WeightDecay}, Memory: g.Capacity,
				ReplayBatch: g.Replay, Iterations: 1,
				Shape: [3]int{1, 1, g.Pixels}, Classes: g.Classes, Seed: g.Seed,
			}
			if c.Name == "mir" {
				s.Options = map[string]any{"candidates": f.Candidates}
			}
			if c.Plain {
				s.Options = map[string]any{"reference": "plain"}
			}
			info, err := method.Lookup(c.Name)
			if err != nil {
				t.Fatal(err)
			}
			if s.Tricks, err = method.ParseTricks(c.Trick); err != nil {
				t.Fatal(err)
			}
			l, err := info.New(s)
			if err != nil {
				t.Fatal(err)
			}
			r := replayOf(t, l)
			retrieved := &recorder{Retriever: r.Retrieve}
			r.Retrieve = retrieved
			aware, _ := l.(ocl.TaskAware)
			stream := g.samples(0, g.Steps*g.Batch)
			for step := range g.Steps {
				task := step / g.Task
				if aware != nil && step%g.Task == 0 {
					if err := aware.BeginTask(g.task(task)); err != nil {
						t.Fatal(err)
					}
				}
				retrieved.slots = nil
				got := learnertest.Observe(t, l, []ocl.Batch{g.samples(step*g.Batch, g.Batch)})[0]
				if !(math.Abs(got.Loss-c.Losses[step]) <= c.LossTol) {
					t.Errorf("step %d: loss %v, want %v ± %v", step+1, got.Loss, c.Losses[step], c.LossTol)
				}
				if !slices.Equal(retrieved.slots, c.Slots[step]) {
					t.Errorf("step %d: slots %v retrieved, want %v", step+1, retrieved.slots, c.Slots[step])
				}
				if (step+1)%g.Task > 0 {
					continue
				}
				if aware != nil {
					if err := aware.EndTask(context.Background()); err != nil {
						t.Fatal(err)
					}
				}
				g.compare(t, step+1, r.Net, c.Ends[task], c.ParamTol)
				learner.CheckPredictions(t, "head", learnertest.Predict(t, l, stream.X), c.Heads[task])
				learner.CheckPredictions(t, "class means", byMeans(t, r, stream), c.Means[task])
			}
			g.checkMemory(t, r.Memory, c.Memory)
		})
	}
}

// byMeans predicts by the nearest class mean of the learner's memory.
func byMeans(t *testing.T, r *learner.Replay, b ocl.Batch) []ocl.Label {
	t.Helper()
	var ncm learner.NCM
	if err := ncm.Fit(context.Background(), r.Net, r.WS, r.Memory); err != nil {
		t.Fatal(err)
	}
	labels := make([]ocl.Label, b.Len())
	if err := ncm.Classify(labels, r.Net.Predict(r.WS, b.X).Features); err != nil {
		t.Fatal(err)
	}
	return labels
}
