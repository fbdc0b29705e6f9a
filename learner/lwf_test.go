package learner_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"ocl"
	"ocl/learner"
	"ocl/learner/learnertest"
	"ocl/loss"
	"ocl/nn"
	"ocl/tensor"
)

// TestLwFIsFinetune in the first task.
func TestLwFIsFinetune(t *testing.T) {
	r := residual(t)
	sameAsFinetune(t, "first task", learner.NewLwF(r, false), r, 3)
}

// TestLwFWeights: the teacher is the network at the last task's end, by its running statistics, and its weight is the
// share of the old classes, a class counted once for every task it occurs in (docs/deviations.md: LwF). With mc the old
// classes are those that the task does not have.
func TestLwFWeights(t *testing.T) {
	for _, mc := range []bool{false, true} {
		r := residual(t)
		l := learner.NewLwF(r, mc)
		learn := func(task int, b ocl.Batch, classes ...ocl.Label) ocl.StepStats {
			t.Helper()
			if err := l.BeginTask(ocl.TaskInfo{Index: task, Classes: classes}); err != nil {
				t.Fatal(err)
			}
			return learnertest.Observe(t, l, []ocl.Batch{b})[0]
		}
		end := func() *nn.Network {
			t.Helper()
			if err := l.EndTask(context.Background()); err != nil {
				t.Fatal(err)
			}
			return r.Net.Clone()
		}
		batches := residualCase.Batches(1, 6, 5)
		learn(0, batches[0], 0, 1)
		teacher := end()
		check := func(b ocl.Batch, w float64, taught []ocl.Label, got ocl.StepStats, student *nn.Network) {
			t.Helper()
			ws := student.NewWorkspace(1)
			defer ws.Close()
			target := teacher.Predict(ws, b.X).Clone()
			z := student.Forward(ws, b.X, nn.Probe)
			d := tensor.New(5, 6)
			want := 0.0
			if mc {
				for i, y := range b.Y {
					for c, v := range z.Row(i) {
						p := 0.0
						if int(y) == c {
							p = 1
						}
						if slices.Contains(taught, ocl.Label(c)) {
							p = loss.Sigmoid(float64(target.Row(i)[c]))
						}
						q := loss.Sigmoid(float64(v))
						want -= (p*math.Log(q) + (1-p)*math.Log(1-q)) / 5
					}
				}
			} else {
				ce, err := loss.CrossEntropy{}.Eval(d, loss.Input{Logits: z, Y: b.Y})
				if err != nil {
					t.Fatal(err)
				}
				want = w*ce + (1-w)*loss.Distillation{T: 2}.AddTo(d, z, target, 1)
			}
			if !(math.Abs(got.Loss-want) <= 1e-5) {
				t.Errorf("mc %v: loss %v, want %v", mc, got.Loss, want)
			}
		}
		before := r.Net.Clone()
		check(batches[1], 3./5, []ocl.Label{0, 1}, learn(1, batches[1], 2, 3, 4), before)
		before = r.Net.Clone()
		check(batches[2], 3./5, []ocl.Label{0, 1}, learnertest.Observe(t, l, batches[2:3])[0], before) // the same teacher
		teacher = end()
		before = r.Net.Clone()
		check(batches[3], 2./7, []ocl.Label{0, 2, 3, 4}, learn(2, batches[3], 1, 5), before) // class 1 again
		teacher = end()
		before = r.Net.Clone()
		check(batches[4], 1./8, []ocl.Label{1, 2, 3, 4, 5}, learn(3, batches[4], 0), before)
	}
}
