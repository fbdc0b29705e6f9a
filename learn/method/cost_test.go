package method_test

import (
	"fmt"
	"slices"
	"testing"

	"ocl/learn/learner/learnertest"
	"ocl/learn/method"
)

// TestStepCostIsThatOfItsPasses compares what a learner counts in a step with a full memory, in the second task, with
// the passes that the catalogue says the step takes: for every method, with every trick that it takes and with every
// setting and option changed, and with a memory that holds less than a step could replay.
func TestStepCostIsThatOfItsPasses(t *testing.T) {
	network := perceptron
	for _, info := range method.Catalogue() {
		if info.OwnNetworks || info.Solves != nil {
			continue // its steps cost what its experts do, which grow
		}
		cases := map[string]func(*method.Setup){
			"":               func(*method.Setup) {},
			" memory 0":      func(s *method.Setup) { s.Memory = 0 },
			" memory 2":      func(s *method.Setup) { s.Memory = 2 },
			" memory 31":     func(s *method.Setup) { s.Memory = 31 },
			" replay 30":     func(s *method.Setup) { s.ReplayBatch = 30 },
			" three changes": func(s *method.Setup) { s.ReplayBatch, s.Iterations, s.Joint = 7, 3, true },
		}
		for _, key := range info.Settings {
			cases[" "+key] = changes[key]
		}
		for _, o := range info.Options {
			cases[" "+o.Name] = with(o.Name, other(info.Name, o))
		}
		switch info.Name {
		case "agem":
			// it needs one that distils
			cases[" reference"] = func(s *method.Setup) { s.Tricks, s.Options = []string{"kdc"}, others["agem"] }
		case "mir":
			// nothing to choose
			cases[" statistics memory 2"] = func(s *method.Setup) { s.Memory = 2; with("statistics", "moved")(s) }
		}
		for _, trick := range method.Tricks() {
			if _, refused := info.Refuses[trick.Name]; !refused {
				cases["+"+trick.Name] = func(s *method.Setup) { s.Tricks = []string{trick.Name} }
				cases["+"+trick.Name+" three changes"] = func(s *method.Setup) {
					s.ReplayBatch, s.Iterations, s.Joint, s.Training, s.Tricks = 7, 3, true, true, []string{trick.Name}
				}
			}
		}
		for name, change := range cases {
			t.Run(info.Name+name, func(t *testing.T) {
				var setup method.Setup
				l := build(info.Name, network, func(s *method.Setup) {
					change(s)
					if info.Name == "mir" && s.ReplayBatch > 10 {
						s.Options = map[string]any{"candidates": s.ReplayBatch}
					}
					if slices.Contains([]string{"clib", "icarl", "pcr", "scr"}, info.Name) && s.Memory == 0 {
						s.Memory = 1 // without, it can predict nothing
					}
					setup = *s
				})(t, 1)
				forwards := 0
				for _, p := range info.StepPasses(setup, 5) {
					if slices.Contains(p.Images, 0) {
						t.Errorf("pass %s of no image", p)
					}
					forwards += p.Forwards()
				}
				gradients := 0 // that GSS finds twice where a batch passes
				for _, p := range info.StepPasses(setup, 5) {
					if p.Work == method.Gradients && setup.Options["gate"] == "batch" {
						gradients += p.Forwards()
					}
				}
				if info.Deferred {
					forwards = 0 // its passes are those of a training
				}
				c := learnertest.Case{Shape: [3]int{3, 5, 4}, Classes: 6}
				batches := c.Batches(1, 20, 5)
				c.Learn(t, l, batches, 0, 10)
				once, twice := 0, 0
				for i := 10; i < len(batches); i++ {
					c.Learn(t, l, batches, i, i+1)
					cost := l.Cost()
					switch want := int64(forwards) * cost.ImageFLOPs; {
					case cost.StepFLOPs == want:
						once++
					case gradients > 0 && cost.StepFLOPs == want+int64(gradients)*cost.ImageFLOPs:
						twice++
					case info.Name == "clib" && i%3 == 0 && setup.Options["every"] == 3 &&
						cost.StepFLOPs == want+int64(setup.Memory)*cost.ImageFLOPs: // it measures
					case info.Name == "aser" && cost.StepFLOPs < want: // a class has fewer samples than it draws
						once++
					case info.Name == "icarl" && i > 10 && cost.StepFLOPs < want: // it replays earlier tasks alone
					default:
						t.Errorf("step %d: counted %s forward passes of an image, want %d", i,
							fmt.Sprint(float64(cost.StepFLOPs)/float64(cost.ImageFLOPs)), forwards)
					}
				}
				if once == 0 || gradients > 0 && twice == 0 && setup.Memory > 2 {
					t.Errorf("%d steps as told and %d with gradients found twice; want some", once, twice)
				}
			})
		}
	}
}
