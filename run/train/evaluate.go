package train

import (
	"context"
	"fmt"
	"math"
	"time"

	"ocl"
	"ocl/config"
	"ocl/nn"
	"ocl/nn/tensor"
	"ocl/run/build"
	"ocl/run/metric"
	"ocl/run/result"
)

// testSets are the test sets of an evaluation after task t, or in its middle with what "seen" tests.
func testSets(info ocl.StreamInfo, eval string, t int) []int {
	n := info.TestSets()
	if eval == config.EvalSeen && !info.CommonTest {
		n = t + 1
	}
	sets := make([]int, n)
	for i := range sets {
		sets[i] = i
	}
	return sets
}

// evaluator measures a learner on the test sets of its stream.
type evaluator struct {
	stream      build.Stream
	learner     ocl.Learner
	classifiers Classifiers
	midTask     Classifiers           // of evaluations in the middle of a task: the first classifier alone
	tested      func(done, total int) // called after each batch of the evaluation under way; may be nil
	sure        *sureness             // of the evaluation after the last task; nil in others
	seen        []bool                // the classes that have come, by label; nil where nobody asks
	sample      int                   // test images of each class in an evaluation in the middle of a task; 0 is all
	counts      []int                 // of them so far, in the evaluation under way
}

// newEvaluator measures a learner that had learned the classes before.
func newEvaluator(c config.Config, st build.Stream, l ocl.Learner, before []int) (e evaluator, err error) {
	e.stream, e.learner, e.sample = st, l, c.EvalSample
	if e.classifiers, err = NewClassifiers(c.Classifiers, l); err != nil {
		return e, err
	}
	e.classifiers.before = before
	e.classifiers.cumulates = c.Eval != config.EvalFinal && !st.Info().CommonTest && st.Start() == 0
	e.midTask, err = NewClassifiers(c.Classifiers[:1], l)
	e.midTask.plain = true
	if err == nil && c.EvalProbe > 0 {
		err = e.classifiers.checkProbe()
	}
	return e, err
}

// measure tests the classifiers on some test sets, after task t. There is an evaluation for each classifier.
func (e *evaluator) measure(ctx context.Context, c *Classifiers, t int, sets []int) ([]evaluation, error) {
	info := e.stream.Info()
	found, done, total := c.newEvaluations(info, t), 0, 0
	for _, set := range sets {
		total += info.Tasks[set].Test
	}
	count := func(n int) {
		done += n
		if e.tested != nil {
			e.tested(done, total)
		}
	}
	count(0)
	e.counts = nil
	if c.plain && e.sample > 0 {
		e.counts = make([]int, info.Classes)
	}
	for _, set := range sets {
		if err := e.test(ctx, c, set, found, count); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// test adds a test set to the evaluations. count hears of each batch.
func (e *evaluator) test(ctx context.Context, c *Classifiers, set int, found []evaluation, count func(n int)) error {
	right, all := make([]int, len(found)), 0
	for b, err := range e.stream.Test(set) {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		arrived := b.Len()
		if b = e.sampled(b); b.Len() == 0 {
			count(arrived)
			continue
		}
		out, err := c.Predict(e.learner, b.X)
		if err == nil && e.sure != nil {
			err = e.sure.add(c, e.learner, b, out)
		}
		if err != nil {
			return err
		}
		for i := range found {
			right[i] += found[i].add(b.Y, c.Labels[i], out.Logits)
		}
		if e.seen != nil {
			found[0].among(e.seen, b.Y, c, out.Logits)
		}
		for i := range found {
			if found[i].upTo == nil {
				continue
			}
			if err := found[i].cumulate(set, b.Y, c.scorer(i, out, len(found[i].all))); err != nil {
				return err
			}
		}
		all += len(b.Y)
		count(arrived)
	}
	if all == 0 {
		return fmt.Errorf("test set %d is empty. Use data with at least one test image for each task", set+1)
	}
	for i := range found {
		found[i].accuracy[set] = float64(right[i]) / float64(all)
	}
	return nil
}

// evaluation holds the results of one classifier in one evaluation.
type evaluation struct {
	accuracy   []float64        // by test set, NaN where not evaluated
	right, all []int            // test samples by class
	confusion  metric.Confusion // nil without error analysis
	logits     *metric.Logits   // nil without, and where the classifier does not predict by logits

	seenRight, seenAll int // test samples of the classes that have come, each predicted as one of these

	upTo  [][]int // [k ≤ t]: the classes of task k, of which no earlier task has any; nil where nobody asks
	under []int   // [k]: test samples of the tasks up to k, each predicted as one of their classes, that are right
	sizes []int   // [k]: test samples of task k
}

// among counts samples of the classes that have come. A classifier by logits predicts the one of them with the largest.
func (e *evaluation) among(seen []bool, y []ocl.Label, c *Classifiers, logits *tensor.Tensor) {
	for i, label := range y {
		if !seen[label] {
			continue
		}
		e.seenAll++
		predicted := c.Labels[0][i]
		if c.ByLogits(0) {
			row, best := logits.Row(i), -1
			for k, v := range row {
				if seen[k] && (best < 0 || v > row[best]) {
					best = k
				}
			}
			predicted = ocl.Label(best)
		}
		if predicted == label {
			e.seenRight++
		}
	}
}

// seenAccuracy is the accuracy on these; nil where there are none.
func (e *evaluation) seenAccuracy() *float64 {
	if e.seenAll == 0 {
		return nil
	}
	v := float64(e.seenRight) / float64(e.seenAll)
	return &v
}

// scorer gives the scores of a row of a batch for each of so many classes, by the logits or the class means of a
// classifier. A class without a mean has −Inf. The scores hold until the next call.
func (c *Classifiers) scorer(of int, out nn.Outputs, classes int) func(row int) ([]float64, error) {
	means, scores := c.means(of), make([]float64, classes)
	return func(row int) ([]float64, error) {
		if means == nil {
			for k, v := range out.Logits.Row(row)[:classes] {
				scores[k] = float64(v)
			}
			return scores, nil
		}
		err := means.Squares(scores, out.Features.Row(row))
		for k := range scores {
			scores[k] = -scores[k]
		}
		return scores, err
	}
}

// cumulate counts samples of the test set of a task. scores gives those of a row.
func (e *evaluation) cumulate(set int, y []ocl.Label, scores func(row int) ([]float64, error)) error {
	if set >= len(e.upTo) {
		return nil
	}
	e.sizes[set] += len(y)
	for i, label := range y {
		z, err := scores(i)
		if err != nil {
			return err
		}
		best := -1
		for k, classes := range e.upTo {
			for _, class := range classes {
				if best < 0 || z[class] > z[best] || z[class] == z[best] && class < best {
					best = class
				}
			}
			if k >= set && best == int(label) {
				e.under[k]++
			}
		}
	}
	return nil
}

// cumulative are the accuracies on the tasks up to each.
func (e *evaluation) cumulative() []*float64 {
	row, n := make([]*float64, len(e.upTo)), 0
	for k, right := range e.under {
		n += e.sizes[k]
		v := float64(right) / float64(n)
		row[k] = &v
	}
	return row
}

// sampled is the part of a batch that an evaluation tests: of each class the first images of the data set, where only
// some are wanted.
func (e *evaluator) sampled(b ocl.Batch) ocl.Batch {
	if e.counts == nil {
		return b
	}
	var rows []int
	for i, y := range b.Y {
		if e.counts[y] < e.sample {
			e.counts[y]++
			rows = append(rows, i)
		}
	}
	some := ocl.Batch{X: tensor.New(append([]int{len(rows)}, b.X.Shape[1:]...)...), Y: make([]ocl.Label, len(rows))}
	for i, row := range rows {
		copy(some.X.Row(i), b.X.Row(row))
		some.Y[i] = b.Y[row]
	}
	return some
}

// add counts predictions of a batch of samples with labels y, and returns how many are right. logits [B,K] may be nil.
func (e *evaluation) add(y, predicted []ocl.Label, logits *tensor.Tensor) (right int) {
	for i, label := range y {
		if e.confusion != nil {
			e.confusion.Add(int(label), int(predicted[i]))
		}
		if e.logits != nil {
			e.logits.Add(int(label), logits.Row(i))
		}
		e.all[label]++
		if predicted[i] == label {
			e.right[label]++
			right++
		}
	}
	return right
}

// perClass is the accuracy of each class, NaN where no sample was tested.
func (e *evaluation) perClass() []float64 {
	out := undefined(len(e.all))
	for k, n := range e.all {
		if n > 0 {
			out[k] = float64(e.right[k]) / float64(n)
		}
	}
	return out
}

// undefined is a list of NaN.
func undefined(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.NaN()
	}
	return v
}

// nullable copies a row for result.json, nil where it is NaN.
func nullable(row []float64) []*float64 {
	out := make([]*float64, len(row))
	for i, v := range row {
		if !math.IsNaN(v) {
			out[i] = &v
		}
	}
	return out
}

// evaluate fills a row of the accuracy matrix after the task, if the config wants one.
func (r *run) evaluate(ctx context.Context) error {
	info := r.Stream.Info()
	if !evaluatedAfter(r.Job.Config.Eval, r.at.Task, len(info.Tasks)) {
		return nil
	}
	if err := r.journal.flush(); err != nil { // the next line may come late
		return err
	}
	if r.at.Phase == ended {
		if _, ok := r.learner.(ocl.Preparer); ok { // it may work for long
			if err := r.saveBetween(); err != nil {
				return err
			}
		}
		if err := r.prepare(ctx); err != nil {
			return interruptedBy(ctx, err)
		}
		r.at.Phase = prepared
	}
	found, err := r.measure(ctx, &r.tests.classifiers, r.Job.Config.Eval)
	if err == nil {
		err = r.concluded()
	}
	if err != nil {
		return err
	}
	if err := clock(&r.found.Seconds.Test, func() (err error) {
		r.found.Probe, err = r.probed(ctx)
		return err
	}); err != nil {
		return r.stopOn(ctx, err)
	}
	for i := range found {
		r.found.measured[i].take(r.at.Task, &found[i], info, &r.tests.classifiers)
	}
	for len(r.found.Seen) < len(info.Tasks) && r.tests.seen != nil {
		r.found.Seen = append(r.found.Seen, nil)
	}
	if r.tests.seen != nil {
		r.found.Seen[r.at.Task] = found[0].seenAccuracy()
	}
	if r.at.Task == len(info.Tasks)-1 {
		r.found.Retained = r.retained(found[0].perClass())
	}
	return r.report(Evaluated{Task: r.at.Task, Step: r.at.Step, Accuracy: nullable(found[0].accuracy)})
}

// retained is the accuracy on held-out samples of what came in each task, given the one of each class.
func (r *run) retained(perClass []float64) (list []*float64) {
	for t := range r.Stream.Info().Tasks {
		came := r.Stream.Came(t)
		if came == nil {
			return nil
		}
		list = append(list, finite(metric.HeldOut(came, perClass)))
	}
	return list
}

// evaluateMidTask evaluates the first classifier in the middle of a task, on the test sets of the tasks seen so far. It
// does not change the training.
func (r *run) evaluateMidTask(ctx context.Context) error {
	if err := r.journal.flush(); err != nil { // the next line may come late
		return err
	}
	if err := r.prepare(ctx); err != nil {
		return r.stopOn(ctx, err)
	}
	found, err := r.measure(ctx, &r.tests.midTask, config.EvalSeen)
	if err != nil {
		return err
	}
	r.found.Evaluations = append(r.found.Evaluations,
		result.Evaluation{Step: r.at.Step, Task: r.at.Task, Accuracy: nullable(found[0].accuracy),
			Seen: found[0].seenAccuracy()})
	return r.report(Evaluated{Task: r.at.Task, Step: r.at.Step, MidTask: true, Accuracy: nullable(found[0].accuracy)})
}

// prepare lets a learner prepare for an evaluation, if it does so, and keeps the time. It ends when ctx does.
func (r *run) prepare(ctx context.Context) error {
	if p, ok := r.learner.(ocl.Preparer); ok {
		return clock(&r.found.Seconds.Prepare, func() error { return p.Prepare(ctx) })
	}
	return nil
}

// measure fits and tests classifiers on the test sets of eval, and keeps the time. If ctx ends, it stops the run.
func (r *run) measure(ctx context.Context, c *Classifiers, eval string) (found []evaluation, err error) {
	err = clock(&r.found.Seconds.Prepare, func() error {
		if err := c.Fit(ctx); err != nil || c.plain {
			return err
		}
		return r.calibrated(ctx)
	})
	if err == nil {
		r.tests.seen = r.Stream.Observed(r.at.Task, r.at.Batch)
		err = clock(&r.found.Seconds.Test, func() (err error) {
			found, err = r.tests.measure(ctx, c, r.at.Task, testSets(r.Stream.Info(), eval, r.at.Task))
			return err
		})
	}
	if err != nil {
		return nil, r.stopOn(ctx, err)
	}
	return found, nil
}

// report writes an evaluation into the journal and shows it to the observers.
func (r *run) report(e Evaluated) error {
	if err := r.journal.evaluation(e, r.learner.Cost().Parameters); err != nil {
		return err
	}
	if r.Events.Evaluated != nil {
		r.Events.Evaluated(e)
	}
	return nil
}

// clock adds the time that f takes to seconds.
func clock(seconds *float64, f func() error) error {
	start := time.Now()
	err := f()
	*seconds += time.Since(start).Seconds()
	return err
}
