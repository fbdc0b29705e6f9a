package stream

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"ocl"
	"ocl/internal/count"
	"ocl/rng"
)

// Offline delivers all tasks of a stream together, several times, each epoch in a new order. The survey's baseline of
// the same name learns from it (§exp_setup, par: Offline). For a learner it is one long task, delivered once.
//
// It describes itself with the T tasks and the test sets of the stream, so that its results can be compared with those
// of other methods. All training data come with the last task. A run starts there ([Offline.Start]) and fills only the
// last row of the accuracy matrix. The other rows are not measured, and neither are forgetting and transfer, as there
// is no time at which only some tasks are learned.
type Offline struct {
	*Tasks
	epochs, size int
	dropLast     bool
	all          []sample // of all tasks, in the order of the data set
	order        []sample // of an epoch, in the order of delivery
	buf          *buffer
	from         int // batch at which Train begins
}

var (
	_ ocl.Stream = (*Offline)(nil)
	_ ocl.Seeker = (*Offline)(nil)
)

// Offline returns a view of the stream that delivers all its training images epochs times in batches of the given size;
// dropLast leaves out the incomplete last batch of each epoch. The order of epoch e comes from the source
// "stream/offline/e" of the seed. The stream itself must not be ranged over any more, and must keep its incomplete
// batches.
func (s *Tasks) Offline(epochs, batch int, dropLast bool) (*Offline, error) {
	o := &Offline{Tasks: s, epochs: epochs, size: batch, dropLast: dropLast}
	for i, list := range s.train.lists {
		for at := range list {
			o.all = append(o.all, sample{int32(i), int32(at)})
		}
	}
	image := func(of sample) int32 { return s.train.lists[of.list][of.at] }
	slices.SortFunc(o.all, func(a, b sample) int { return cmp.Compare(image(a), image(b)) })
	o.order = make([]sample, len(o.all))
	if epochs < 1 || batch < 1 || dropLast && batch > len(o.all) {
		return nil, fmt.Errorf("stream: offline: %s in batches of %d are out of range. Use at least 1 of each, and batches of at most %d, "+
			"the number of training images, if incomplete batches are dropped", count.Of(epochs, "epoch"), batch, len(o.all))
	}
	o.buf = newBuffer(min(batch, len(o.all)), s.set)
	return o, nil
}

// Info describes the stream; Batch is that of the view.
func (o *Offline) Info() ocl.StreamInfo {
	info := o.Tasks.Info()
	info.Batch = o.size
	return info
}

// Start is the last task.
func (o *Offline) Start() int { return len(o.train.lists) - 1 }

// Batches is the number of mini-batches of all epochs for the last task, and 0 for the others.
func (o *Offline) Batches(task int) int {
	if task != o.Start() {
		return 0
	}
	return o.epochs * o.perEpoch()
}

// MemoryBytes is that of the stream, with the training images of all tasks.
func (o *Offline) MemoryBytes() int64 { return o.keptBytes(len(o.all)) }

func (o *Offline) perEpoch() int {
	if o.dropLast {
		return len(o.all) / o.size
	}
	return (len(o.all) + o.size - 1) / o.size
}

// Train delivers the mini-batches of all epochs with the last task, once. A second call yields ocl.ErrConsumed, and so
// does any other task. The batch and its tensor are reused for the next batch.
func (o *Offline) Train(task int) iter.Seq2[ocl.Batch, error] {
	return func(yield func(ocl.Batch, error) bool) {
		if err := o.checkTask(task); err != nil {
			yield(ocl.Batch{}, err)
			return
		}
		if task != o.Start() || o.used[task] {
			yield(ocl.Batch{}, fmt.Errorf("offline: task %d has no data, as all data come with task %d: %w", task+1, o.Start()+1,
				ocl.ErrConsumed))
			return
		}
		o.used[task] = true
		per := o.perEpoch()
		for i := o.from; i < o.epochs*per; i++ {
			if i == o.from || i%per == 0 { // an epoch begins
				copy(o.order, o.all)
				src := rng.New(o.opts.Seed, fmt.Sprintf("stream/offline/%d", i/per))
				src.Shuffle(len(o.order), func(i, j int) { o.order[i], o.order[j] = o.order[j], o.order[i] })
			}
			at := i % per * o.size
			batch, err := o.fill(o.buf, &o.train, min(o.size, len(o.order)-at), func(i int) sample { return o.order[at+i] })
			if !yield(batch, err) || err != nil {
				return
			}
		}
	}
}

// Seek makes Train start at the given batch of the last task, counted over all epochs. If task is the number of tasks,
// nothing is left.
func (o *Offline) Seek(task, batch int) error {
	last := o.Start()
	if batch < 0 || task != last+1 && task != last || batch > 0 && (task != last || batch > o.Batches(last)) {
		return fmt.Errorf("stream: seek: batch %[2]d of task %[1]d is outside the offline stream of %[3]d batches in task %[4]d. "+
			"Use a position from a checkpoint of the same stream", task, batch, o.Batches(last), last)
	}
	if task == last && o.used[last] {
		return fmt.Errorf("stream: seek: task %d: %w", task+1, ocl.ErrConsumed)
	}
	o.used[last] = task > last
	o.from = batch
	return nil
}
