package progress

import (
	"math"
	"testing"
	"time"

	"ocl"
	"ocl/run/result"
	"ocl/run/train"
)

// TestMean: the first values count nearly alike, and the last fifty or so after many.
func TestMean(t *testing.T) {
	var m Mean
	for i := range 20 {
		m.add(float64(i % 2)) // 0 first
	}
	if !(math.Abs(m.Value-0.5) <= 0.01) {
		t.Errorf("after 20 values with the mean 0.5: %v", m.Value)
	}
	for range 500 {
		m.add(1)
	}
	for range 50 {
		m.add(0)
	}
	if want := math.Pow(1-smoothing, 50); !(math.Abs(m.Value-want) <= 1e-4) {
		t.Errorf("50 zeros after many ones: %v, want %v", m.Value, want)
	}
}

// clock is a run with a clock of its own, fed by the events of a process.
type clock struct {
	train.Events
	run Run
	now time.Time
}

func begun(tasks, tests int, plan train.Plan) *clock {
	c := &clock{now: time.Unix(1_000_000, 0)}
	c.Events = c.run.Events(func() time.Time { return c.now }, func(change func()) { change() })
	info := ocl.StreamInfo{}
	for i := range tasks {
		info.Tasks = append(info.Tasks, ocl.TaskInfo{Index: i, Test: tests})
	}
	c.Begin(train.Job{}, info, plan)
	return c
}

func (c *clock) wait(d time.Duration) { c.now = c.now.Add(d) }

// steps takes the steps from first to last, and a second for each.
func (c *clock) steps(first, last int) {
	for n := first; n <= last; n++ {
		c.wait(time.Second)
		c.StepEnd(n, ocl.StepStats{Samples: 10})
	}
}

// TestReviews: what the ends of tasks prepare without an evaluation counts as done when the next task begins, and where
// an earlier process did it, it does not count for this one's speed.
func TestReviews(t *testing.T) {
	for _, resumed := range []int{0, 10} {
		c := begun(3, 0, train.Plan{Steps: 30, StepsDone: resumed, FLOPsPerStep: 1000,
			PrepareFLOPs: []int64{10000, 10000, 10000}})
		for task := resumed / 10; task < 2; task++ { // each takes ten steps and a review of as much work, a second a step
			c.TaskBegin(ocl.TaskInfo{Index: task})
			c.steps(10*task+1, 10*task+10)
			c.wait(10 * time.Second)
		}
		c.TaskBegin(ocl.TaskInfo{Index: 2})
		if got := Left(&c.run); got != 20*time.Second {
			t.Errorf("after %d steps of an earlier process, %v left, want 20 s", resumed, got)
		}
	}
}

// TestPauses: long work inside a step counts as it is done, also for a run that is resumed in it or before it. A step
// of a hundred works for 100 seconds here; the others only store.
func TestPauses(t *testing.T) {
	for _, resumed := range []int{0, 50, 99} {
		c := begun(1, 0, train.Plan{Steps: 400, StepsDone: resumed, FLOPsPerStep: 1000, FLOPsPerPause: 100_000})
		c.TaskBegin(ocl.TaskInfo{Index: 0})
		for step := resumed + 1; step < 100; step++ {
			c.StepEnd(step, ocl.StepStats{Samples: 10, Correct: -1})
		}
		first := 1
		if resumed == 99 {
			first = 21
			c.Working(first, 100) // what an earlier process did is not this one's speed
		}
		for done := first + 1; done <= 50; done++ {
			c.wait(time.Second)
			c.Working(done, 100)
		}
		if got := Left(&c.run); got < 345*time.Second || got > 365*time.Second {
			t.Errorf("from step %d, in the middle of the first of four, %v left, want 350 s", resumed, got)
		}
		if c.run.Progress.Working != 0.5 || c.run.Loss.Known() {
			t.Errorf("%+v", c.run.Progress)
		}
	}
}

// TestTheLastEvaluation: what an earlier process tested is no work of this one.
func TestTheLastEvaluation(t *testing.T) {
	c := begun(2, 500, train.Plan{Steps: 20, StepsDone: 20, TestSamples: 1500, TestsDone: 500, FLOPsPerStep: 1000,
		FLOPsPerImage: 100})
	c.TaskBegin(ocl.TaskInfo{Index: 1})
	c.Tested(0, 1000)
	c.wait(4 * time.Second)
	c.Tested(400, 1000)
	if got := Left(&c.run); got != 6*time.Second || !c.run.Evaluating || c.run.EvalShare != 0.4 {
		t.Errorf("%v left of an evaluation of which %v is done", got, c.run.EvalShare)
	}
}

// TestMidTask: an evaluation in the middle of a task is no time of a step.
func TestMidTask(t *testing.T) {
	c, half := begun(1, 0, train.Plan{Steps: 100, FLOPsPerStep: 1000}), 0.5
	c.TaskBegin(ocl.TaskInfo{Index: 0})
	for step := 1; step <= 20; step++ {
		c.steps(step, step)
		if step%5 == 0 {
			c.wait(time.Minute)
			c.Evaluated(train.Evaluated{MidTask: true, Accuracy: []*float64{&half}})
		}
	}
	if c.run.Rate != 10 || len(c.run.After) > 0 || *c.run.Progress.Seen != half {
		t.Errorf("%v images a second, want 10; seen %v", c.run.Rate, *c.run.Progress.Seen)
	}
}

// TestLeft: the time left follows from the speed of the latter half of the work, so that a pause of a run that was
// stopped counts less and less.
func TestLeft(t *testing.T) {
	c := begun(1, 0, train.Plan{Steps: 100, FLOPsPerStep: 10})
	c.TaskBegin(ocl.TaskInfo{Index: 0})
	c.steps(1, 40)
	if got := Left(&c.run); got != time.Minute {
		t.Errorf("%v left after 40 of 100 steps of a second, want 1m0s", got)
	}
	c.wait(time.Hour) // it was stopped
	c.steps(41, 41)
	for n := 42; n <= 83; n++ {
		c.wait(time.Second)
		c.steps(n, n)
	}
	if got := Left(&c.run); got != 34*time.Second {
		t.Errorf("%v left after 83 of 100 steps, the last of two seconds, want 34s", got)
	}
}

// TestLeftOfAll: runs that wait take as long as the others, at the speed of those at work; those that failed take none.
func TestLeftOfAll(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	at := func(st State) *Run { return &Run{Steps: 100, Work: 100, State: st} }
	a, b := at(State{Phase: Running}), at(State{Phase: Running})
	runs := []*Run{a, b, {}, {State: State{Phase: Waiting}}, at(State{Phase: Done}), at(State{Phase: Failed})}
	if got := Left(runs...); got != 0 {
		t.Errorf("%v left before anybody has told anything", got)
	}
	for step := 0; step <= 50; step += 10 {
		for _, r := range []*Run{a, b} {
			r.Told(now.Add(time.Duration(step)*time.Second), State{Phase: Running, Progress: Progress{Step: step}})
		}
	}
	if got := Left(runs...); got != 150*time.Second {
		t.Errorf("%v left of 300 steps at two steps a second, want 2m30s", got)
	}
	if all, left := Todo(runs); all != 600 || left != 300 || ShareOf(runs) != 0.5 {
		t.Errorf("%v of %v left", left, all)
	}
	if c := Count(runs); c.Line("run") != "1 of 6 runs done, 2 running, 1 failed, 2 waiting" || c.Over() {
		t.Errorf("%q", c.Line("run"))
	}
}

// TestTrials: the steps of a tuned job are those of all its trials and of its run, and a run has its own tasks.
func TestTrials(t *testing.T) {
	r := Run{Name: "er s1", Steps: 300, Work: 3000}
	now := time.Unix(1_000_000, 0)
	plan := result.Plan{Steps: 100, FLOPs: 1000, StepFLOPs: 10}
	for trial := range 3 {
		r.Begin(now, plan, []Task{{Number: 3}, {Number: 5}}, 0, 0)
		if r.Place() != "task 0/2" {
			t.Errorf("before its first task it is at %s", r.Place())
		}
		r.TaskBegin(now, 1)
		r.Step(now, 50, nil)
		if r.StepText() != "step "+[]string{"50", "150", "250"}[trial]+"/300" || r.Place() != "task 5/5" ||
			!(math.Abs(r.Share()-(float64(trial)+0.5)/3) < 1e-9) {
			t.Errorf("trial %d: %s, %s, %v", trial, r.StepText(), r.Place(), r.Share())
		}
		r.Step(now, 100, nil)
	}
}

// TestPreparations: what is prepared for evaluations counts when they are over.
func TestPreparations(t *testing.T) {
	var r Run
	now, half := time.Unix(1_000_000, 0), 0.5
	r.Begin(now, result.Plan{Steps: 9, StepFLOPs: 10, ImageFLOPs: 3, PrepareFLOPs: []int64{100, 200},
		BetweenFLOPs: []int64{1000, 2000}}, []Task{{Test: 1}, {Test: 1}}, 0, 0)
	r.Step(now, 2, nil)
	for _, e := range []train.Evaluated{{Task: 0}, {Task: 1, MidTask: true}, {Task: 1, MidTask: true}, {Task: 1}, {Task: 7}} {
		e.Accuracy = []*float64{&half}
		r.Evaluated(now, e)
	}
	if got := r.done(); got != 20+15+300+4000 {
		t.Errorf("%v FLOPs are done, want 4335", got)
	}
}

// TestEnds: a run tells how it ended, and the accuracies of tasks that an earlier process learned come from its result.
func TestEnds(t *testing.T) {
	half, most := 0.5, 0.7
	var r Run
	r.End(&result.Result{Outcome: result.Outcome{State: result.Diverged},
		Accuracy: [][]*float64{{&half, nil}, {&half, &most}}}, nil)
	if r.Phase != Done || r.Note() != result.Diverged || len(r.After) != 2 || *r.After[1] != 0.6 || r.Share() != 1 {
		t.Errorf("%+v", r)
	}
}
