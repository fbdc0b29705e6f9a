// Package stream makes streams of data sets: it splits the classes into tasks, orders and shuffles them by the seed and
// delivers each training image once, in mini-batches. It knows nothing of learners, memories or metrics. Start at
// [Split].
//
// A stream delivers tasks in order, and each batch of a task once; a second pass is an error:
//
//	tasks, err := stream.Split(set, stream.Options{Tasks: 10, Batch: 10, Seed: 1})
//	for batch, err := range tasks.Train(0) {
//		// the learner observes the batch
//	}
//
// Test images may be seen any number of times. The kinds of streams are those of [Kinds]: new classes or new domains,
// changed images, blurry boundaries, rare classes, or tasks of one's own.
package stream

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"ocl"
	"ocl/data"
	"ocl/data/stream/shift"
	"ocl/internal/count"
	"ocl/rng"
)

// Class orders of Options.Order.
const (
	Random   = "random"   // drawn from the seed
	Given    = "given"    // 0, 1, 2, …
	List     = "list"     // Options.ClassOrder
	Official = "official" // Options.Official, of those that were published with the data
)

// defaultTestBatch is the size with which the evaluation of the network is fastest (measured with images of 32 pixels).
const defaultTestBatch = 200

// Options say how a data set becomes a stream.
type Options struct {
	Kind       string // of the catalogue; "" is by the data and Shift
	Tasks      int    // T of the whole stream, before Keep; 0 is by the data
	Batch      int    // b, samples in an incoming batch
	TestBatch  int    // samples in a test batch; 0 is 200
	Order      string // Random, Given, List or Official; "" is by ClassOrder and the data
	Official   int    // number of the published order, from 0
	ClassOrder []int  // every class once, for List: the first of them are task 0
	Keep       Range  // the tasks that are delivered; the zero value keeps all
	// TaskClasses is the number of classes of each task of the whole stream, such as 10, 5, 5, …; empty gives all tasks
	// equally many. Where Tasks is 0 too, and the number of tasks does not divide the classes, the first tasks have one
	// more.
	TaskClasses []int
	// HeldOut tests on a tenth of the training images of each task that Keep keeps, which is then not learned, in place of
	// the test images: a tuning must not see the images that a run is tested on (docs/tuning.md).
	HeldOut bool
	// NoSignals tells no learner where a task begins and ends.
	NoSignals bool
	// Blurry is the share of the training images of each task, in [0,1), that come in the task before or after it.
	Blurry float64
	// LongTail is the number of training images of the rarest class divided by that of the most frequent one, in (0,1],
	// and ClassCounts [K] the number of each class; 0 and empty leave all.
	LongTail    float64
	ClassCounts []int
	Mixture     Mixture // of the kinds iblurry and siblurry
	// Delay is c of real-time evaluation (Ghunaim et al. 2023): after n batches ⌊n/c⌋ of them were learned, and the others
	// are lost; 0 is 1. LabelDelay is d: a batch is learned when its labels come, d batches later, and those of the last d
	// batches never come.
	Delay, LabelDelay int
	Shift             Shift // of the kind shift

	DropLast bool // leave out the incomplete last batch of a task
	// Mean and Std normalise: x = (pixel/255 - Mean)/Std, with one value per channel; empty means 0 and 1.
	Mean, Std []float64
	Seed      uint64
}

// Range is the tasks From to To-1 of the whole stream, 0-based. The zero value is all of them.
type Range struct{ From, To int }

// Tasks is a stream over a data set in memory, in tasks of some [Kind]. One goroutine uses it at a time; any number of
// streams may share a data set.
type Tasks struct {
	set      *data.Set
	opts     Options
	info     ocl.StreamInfo
	original []int // [task] its index in the whole stream
	skipped  []int // tasks of the whole stream that have no images
	train    half
	test     half
	used     []bool // Train was ranged over
	start    int    // batch at which startAt's Train begins, set by Seek
	startAt  int
	batch    *buffer
	spare    *buffer // for Test, nil while a Test is ranged over
	peeked   *buffer // for Peek, nil before the first
}

var (
	_ ocl.Stream = (*Tasks)(nil)
	_ ocl.Seeker = (*Tasks)(nil)
)

// Split makes a stream of opts.Tasks tasks, of the kind opts.Kind. The order of the images of task i comes from the
// source "stream/shuffle/i" of the seed. i counts the tasks of the whole stream, so Keep does not change the order
// within a task.
//
// It is an error if the kind cannot make that many tasks of the data, if a batch is larger than a task, if the order
// does not list every class once, or if a test set is empty.
func Split(set *data.Set, opts Options) (*Tasks, error) {
	if opts.TestBatch == 0 {
		opts.TestBatch = defaultTestBatch
	}
	opts = opts.For(set)
	kind, err := LookupKind(opts.Kind)
	if err == nil {
		var own error
		if kind.check != nil {
			own = kind.check(set, opts)
		}
		err = errors.Join(kind.checkLists(opts), own, opts.check(set), opts.checkPool(set))
	}
	if err != nil {
		return nil, fmt.Errorf("stream: %w", err)
	}
	if opts.Keep == (Range{}) {
		opts.Keep.To = opts.Tasks
	}
	s := &Tasks{set: set, opts: opts, train: half{name: shift.Train, from: &set.Train},
		test: half{name: shift.Test, from: &set.Test}}
	s.info = ocl.StreamInfo{
		Name: set.Name, Scenario: kind.Scenario, Channels: set.C, Height: set.H, Width: set.W,
		Classes: set.Classes, Batch: opts.Batch, Digest: set.Digest,
		Embeddings: set.Embeddings, Of: set.Of, By: set.By, CommonTest: opts.SharesTest(set),
		NoBoundaries: opts.NoSignals || kind.NoBoundaries,
	}
	if !set.Embeddings {
		s.info.Pixels = ocl.NewPixelValues(set.C, opts.Mean, opts.Std)
	}
	if kind.scenario != nil {
		s.info.Scenario = kind.scenario(set)
	}
	shares, err := kind.shares(input{set, opts, opts.pool(set)})
	if err != nil {
		return nil, fmt.Errorf("stream: kind %s: %w", kind.Name, err)
	}
	opts.blur(shares, set)
	if opts.HeldOut {
		s.test = half{name: shift.Train, from: &set.Train}
		for t := opts.Keep.From; t < opts.Keep.To; t++ {
			shares[t].holdOut(opts.Seed, t)
		}
	}
	for t := opts.Keep.From; t < opts.Keep.To; t++ {
		if err := s.add(t, shares[t]); err != nil {
			return nil, err
		}
	}
	if err := s.late(); err != nil {
		return nil, err
	}
	if len(s.original) == 0 {
		return nil, fmt.Errorf("stream: no task has both training and test images. Get more images of %s", set.Name)
	}
	if s.info.CommonTest {
		if err := s.shareTest(); err != nil {
			return nil, err
		}
	}
	s.used = make([]bool, len(s.train.lists))
	s.batch = newBuffer(opts.Batch, set)
	return s, nil
}

// add makes a task of its images.
func (s *Tasks) add(t int, of taskImages) error {
	tr, te := of.train, of.test
	if s.set.Incomplete && (len(tr) == 0 || len(te) == 0 && !s.info.CommonTest) {
		s.skipped = append(s.skipped, t)
		return nil
	}
	if !of.ordered {
		src := rng.New(s.opts.Seed, fmt.Sprintf("stream/shuffle/%d", t))
		src.Shuffle(len(tr), func(i, j int) { tr[i], tr[j] = tr[j], tr[i] })
	}
	if s.opts.DropLast {
		tr = tr[:len(tr)/s.opts.Batch*s.opts.Batch]
	}
	task := ocl.TaskInfo{Index: len(s.original), Train: len(tr), Test: len(te)}
	for _, k := range of.classes {
		task.Classes = append(task.Classes, ocl.Label(k))
	}
	if len(tr) == 0 {
		return fmt.Errorf("stream: %s has fewer training images than stream.batch (%d), and incomplete batches are dropped. "+
			"Use a smaller --batch, or stream.drop_last=false", s.words(t), s.opts.Batch)
	}
	if len(te) == 0 && !s.info.CommonTest {
		return s.untested(t, of.classes)
	}
	s.info.Tasks, s.original = append(s.info.Tasks, task), append(s.original, t)
	s.train.lists, s.test.lists = append(s.train.lists, tr), append(s.test.lists, te)
	return nil
}

// shareTest makes one test set for all tasks: all test images, or those that are held out.
func (s *Tasks) shareTest() error {
	list := all(s.set.Test)
	if s.opts.HeldOut {
		list = slices.Concat(s.test.lists...)
		slices.Sort(list)
	}
	if len(list) == 0 {
		return fmt.Errorf("stream: the classes of the tasks %s have no test images. Use more test data",
			count.Range(s.original[0]+1, s.original[len(s.original)-1]+1))
	}
	s.test.lists = [][]int32{list}
	for i := range s.info.Tasks {
		s.info.Tasks[i].Test = len(list)
	}
	return nil
}

// Info describes the stream; Index counts the tasks delivered, and Train leaves out what DropLast drops.
func (s *Tasks) Info() ocl.StreamInfo { return s.info }

// Original is the 0-based index of a task in the whole stream, before Keep left out tasks.
func (s *Tasks) Original(task int) int { return s.original[task] }

// TaskName is the name that the data set gives to a task of the whole stream, 0-based; "" where it gives none.
func (s *Tasks) TaskName(original int) string {
	if s.opts.Kind != tasks.Name || original >= len(s.set.TaskNames) {
		return ""
	}
	return s.set.TaskNames[original]
}

// words returns the name of a task of the whole stream for messages: "task 2", or "task 2 (autumn)".
func (s *Tasks) words(original int) string {
	text := fmt.Sprintf("task %d", original+1)
	if name := s.TaskName(original); name != "" {
		text += " (" + name + ")"
	}
	return text
}

// untested returns the error for a task without test images, with what the user can do about it.
func (s *Tasks) untested(original int, classes []int) error {
	remedy := "Use fewer --tasks, or add test images"
	if s.opts.Kind == tasks.Name {
		remedy = "Add test images of this task, give no test image a task so that all tasks share them, or use --stream classes"
	}
	return fmt.Errorf("stream: %s has no test images; its classes are %s. %s", s.words(original), s.classNames(classes),
		remedy)
}

// classNames are the first of some classes.
func (s *Tasks) classNames(classes []int) string {
	var words []string
	for _, k := range classes {
		words = append(words, s.set.ClassName(k))
	}
	if len(words) > labelWords {
		words = append(words[:labelWords], "…")
	}
	return strings.Join(words, ", ")
}

// Skipped are the 0-based indices of tasks in the whole stream that are left out, as images of the data set are absent.
func (s *Tasks) Skipped() []int { return s.skipped }

// Start is the first task that is learned: task 0.
func (s *Tasks) Start() int { return 0 }

// Batches is the number of mini-batches that Train(task) delivers.
func (s *Tasks) Batches(task int) int {
	return (len(s.train.lists[task]) + s.opts.Batch - 1) / s.opts.Batch
}

// Train delivers the mini-batches of a task, once. A second call yields ocl.ErrConsumed, and so does a task that Seek
// has skipped. The batch and its tensor are reused for the next batch.
func (s *Tasks) Train(task int) iter.Seq2[ocl.Batch, error] {
	return func(yield func(ocl.Batch, error) bool) {
		if err := s.checkTask(task); err != nil {
			yield(ocl.Batch{}, err)
			return
		}
		if s.used[task] {
			yield(ocl.Batch{}, fmt.Errorf("task %d: %w", task+1, ocl.ErrConsumed))
			return
		}
		s.used[task] = true
		from := 0
		if task == s.startAt {
			from = s.start
		}
		if s.deliver(yield, s.batch, &s.train, task, s.opts.Batch, from) && s.train.shifted != nil {
			s.train.shifted[task] = nil // delivered once
		}
	}
}

// Peek is a batch of a task as Train delivers it, before or after that, for measurements: it is not learned, and counts
// as not delivered. A batch behind the last one of the task is empty. It holds until the next Peek.
func (s *Tasks) Peek(task, batch int) (ocl.Batch, error) {
	if err := s.checkTask(task); err != nil {
		return ocl.Batch{}, err
	}
	at, n := batch*s.opts.Batch, len(s.train.lists[task])
	if at >= n {
		if s.used[task] && s.train.shifted != nil {
			s.train.shifted[task] = nil // all of it was seen again
		}
		return ocl.Batch{}, nil
	}
	if s.peeked == nil {
		s.peeked = newBuffer(s.opts.Batch, s.set)
	}
	return s.fill(s.peeked, &s.train, min(s.opts.Batch, n-at), func(i int) sample { return sample{int32(task), int32(at + i)} })
}

// Test delivers the images of a test set in the order of the data set, and those of the kind shift in their shuffled
// order, any number of times, in batches of Options.TestBatch. The batch is reused for the next one.
func (s *Tasks) Test(set int) iter.Seq2[ocl.Batch, error] {
	return func(yield func(ocl.Batch, error) bool) {
		if set < 0 || set >= len(s.test.lists) {
			yield(ocl.Batch{}, fmt.Errorf("stream: there is no test set %d. Use 0 to %d", set, len(s.test.lists)-1))
			return
		}
		buf := s.spare
		s.spare = nil // a nested Test takes its own buffer
		if buf == nil {
			buf = newBuffer(s.opts.TestBatch, s.set)
		}
		defer func() { s.spare = buf }()
		s.deliver(yield, buf, &s.test, set, s.opts.TestBatch, 0)
	}
}

// Seek makes the next Train(task) start at the given batch, as if all earlier batches had been delivered. If task is
// the number of tasks or batch the number of batches, nothing is left. Seek never goes back: a task that was ranged
// over stays consumed, and to seek it is an error that wraps ocl.ErrConsumed.
func (s *Tasks) Seek(task, batch int) error {
	n := len(s.train.lists)
	if task < 0 || task > n || batch < 0 || task == n && batch > 0 || task < n && batch > s.Batches(task) {
		return fmt.Errorf("stream: seek: batch %[2]d of task %[1]d is outside the stream of %[3]d tasks. "+
			"Use a position from a checkpoint of the same stream", task, batch, n)
	}
	if task < n && s.used[task] {
		return fmt.Errorf("stream: seek: task %d: %w", task+1, ocl.ErrConsumed)
	}
	for i := range task {
		s.used[i] = true
	}
	s.startAt, s.start = task, batch
	return nil
}

func (s *Tasks) checkTask(task int) error {
	if task < 0 || task >= len(s.train.lists) {
		return fmt.Errorf("stream: there is no task %d. Use 0 to %d", task, len(s.train.lists)-1)
	}
	return nil
}
