package experiment

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl/config"
	"ocl/run/metric"
	"ocl/run/result"
)

// TestErrorAnalysis of every method with a memory and of finetune agrees with the accuracies, class by class and task
// by task, for each classifier; only those that predict by logits have logits.
func TestErrorAnalysis(t *testing.T) {
	t.Parallel()
	c := tiny()
	c.Runs = 1
	c.Methods, c.Classifiers = withMemory(), []string{"head", "ncm"}
	results := mustRun(t, c, Options{})
	c.Methods, c.Classifiers = []string{"finetune"}, []string{"head"}
	c.Memory, c.Data.TrainPerClass, c.Optimizer.LR = config.DefaultMemory, 60, 0.02 // enough to learn a task
	results = append(results, mustRun(t, c, Options{})...)
	for _, r := range results {
		name := r.Method.Name
		checkAnalysis(t, name, r, r.Accuracy, r.ErrorAnalysis, name != "icarl" && name != "scr")
		for other, c := range r.Classifiers {
			checkAnalysis(t, name+" by "+other, r, c.Accuracy, c.ErrorAnalysis, false)
		}
		if name == "icarl" || name == "scr" {
			if d := cmp.Diff(r.ErrorAnalysis, r.Classifiers["ncm"].ErrorAnalysis); d != "" {
				t.Errorf("%s's own rule and ncm: %s", name, d)
			}
		}
	}
	last := results[len(results)-1].ErrorAnalysis.Tasks[4]
	if !(*last.OldAsNewOfSamples >= 0.9 && *last.Logits.NewAll > *last.Logits.OldAll &&
		*last.Head.NewBias > *last.Head.OldBias) {
		t.Errorf("finetune has no bias to its last task: %+v, logits %+v, head %+v", last, last.Logits, last.Head)
	}
}

func checkAnalysis(t *testing.T, name string, r *result.Result, accuracy [][]*float64, a *result.ErrorAnalysis,
	byLogits bool) {
	t.Helper()
	if a == nil || len(a.Tasks) != 5 {
		t.Fatalf("%s: error analysis %+v, want one of 5 tasks", name, a)
	}
	var tasks [][]int
	for _, task := range r.Stream.Tasks {
		tasks = append(tasks, task.Classes)
	}
	for i, e := range a.Tasks {
		right, samples := 0, 0
		for j, task := range r.Stream.Tasks[:i+1] {
			n := int(math.Round(*accuracy[i][j] * float64(task.Test)))
			if e.Confusion[j][j] < n {
				t.Errorf("%s, task %d: %d samples of task %d taken for it, of which %d rightly", name, i, e.Confusion[j][j], j, n)
			}
			right += n
			samples += task.Test
		}
		wrong := e.NewAsOld + e.NewAsNew + e.NewAsUnseen + e.OldAsOld + e.OldAsNew + e.OldAsUnseen
		if e.Task != i || right+wrong != samples || e.New != r.Stream.Tasks[i].Test || e.New+e.Old != samples {
			t.Errorf("%s, task %d: %d right and %d wrong of %d: %+v", name, i, right, wrong, samples, e)
		}
		if d := cmp.Diff(metric.Predictions(e.Confusion), e.Predictions); d != "" {
			t.Errorf("%s, task %d: %s", name, i, d)
		}
		if (i == 0) != (e.OldAsNewOfSamples == nil) || e.NewAsOldOfSamples == nil {
			t.Errorf("%s, task %d: shares %v and %v", name, i, e.OldAsNewOfSamples, e.NewAsOldOfSamples)
		}
		if (e.Logits != nil) != byLogits || (e.Head != nil) != byLogits {
			t.Errorf("%s, task %d: logits %v, head %v", name, i, e.Logits, e.Head)
		}
		if i == 0 && byLogits && (*e.Logits.NewOwn != *e.Logits.NewAll || e.Logits.OldAll != nil || e.Head.OldBias != nil) {
			t.Errorf("%s, first task: logits %+v, head %+v", name, e.Logits, e.Head)
		}
	}
	if d := cmp.Diff(a.Tasks[4].Confusion, metric.Confusion(a.Confusion).ByTask(tasks, 4)); d != "" {
		t.Errorf("%s: by class and by task: %s", name, d)
	}
}

// TestErrorAnalysisOfSeen: tests of tasks to come change nothing in it, and a run that is evaluated once has that one.
func TestErrorAnalysisOfSeen(t *testing.T) {
	t.Parallel()
	c := tiny()
	c.Methods, c.Runs = []string{"er"}, 1
	of := func(eval string) *result.ErrorAnalysis {
		c.Eval = eval
		return mustRun(t, c, Options{})[0].ErrorAnalysis
	}
	seen, all, final := of(config.EvalSeen), of(config.EvalAll), of(config.EvalFinal)
	if d := cmp.Diff(seen, all); d != "" {
		t.Errorf("seen and all: %s", d)
	}
	if d := cmp.Diff(&result.ErrorAnalysis{Tasks: seen.Tasks[4:], Confusion: seen.Confusion}, final); d != "" {
		t.Errorf("seen and final: %s", d)
	}
}
