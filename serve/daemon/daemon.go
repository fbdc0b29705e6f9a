// Package daemon is a learner that serves: predictions, samples whose labels may come late, and a journal before the
// learner, so that no sample is lost that was acknowledged. It knows no HTTP; package serve/api answers requests by it.
//
// Everything that changes the state is an event of the journal. A request makes events, the committer puts those of all
// requests that wait on the disk at once, and then they are acknowledged. The applier, the only user of the learner,
// applies them in their order. When enough images wait, or have waited for long enough, the committer adds a cut: an
// event that says how many are learned in one step. So a start that applies the same events makes the same state to the
// bit, and no prediction shows what it would not make again.
//
// Start at [Open].
package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ocl"
	"ocl/config"
	"ocl/internal/atomicfile"
	"ocl/internal/input"
	"ocl/internal/lifecycle"
	"ocl/internal/limit"
	"ocl/live"
	"ocl/predict"
	"ocl/serve/journal"
)

// Daemon learns and predicts. Any number of goroutines may call its methods.
type Daemon struct {
	dir     string
	o       Options
	journal journal.Journal
	files   *journal.Files // snapshots
	trainer *live.Trainer
	state   *state
	began   time.Time

	requests chan *request
	poke     chan struct{} // a cut may be due
	asks     chan *ask
	looked   chan struct{} // somebody looks at lists of samples
	testing  chan struct{} // holds one while a version is tested

	gathering sync.Mutex // guards carried
	carried   *ask       // the request that did not fit into the last pass, and is first in the next; nil is none

	between    chan func() // what the applier does between two ops
	arrived    chan struct{}
	failed     chan error
	stop       context.CancelFunc
	reclassErr error  // why the method cannot change its classes; nil where it can
	carries    string // what stays of classes that were merged
	amendErr   error  // why the method cannot remove a stored picture; nil where it can
	// the learner is a sum, so what was learned of a picture can be subtracted
	sums    bool
	notes   func(context.Context, journal.Event) error // appends an event of the applier
	closing chan struct{}                              // closed when nothing is taken any more
	stopped chan struct{}                              // closed when all goroutines have ended
	done    sync.WaitGroup
	end     lifecycle.End

	// state.mu guards these too.
	first     *live.Trainer // of an empty folder, until that is set up
	since     time.Time     // when the first picture came that no cut has
	flush     bool          // what waits is cut at once
	moved     chan struct{} // closed and made anew when something was written into the book, done or published
	version   int64         // that predictions use: the event of the last op in it
	answering int64         // pictures that were learned in it
	unused    bool          // the learner has something that they do not use yet
	problem   string
	halted    bool // learning has stopped
	aside     int  // cuts in a row that were set aside
	draining  bool
	broken    error          // ErrBroken or ErrFault
	writing   bool           // a snapshot is being written
	grown     int64          // bytes of events since the last one
	saved     int64          // last event in the newest one, or a later one
	noErase   bool           // the last try to erase found no room
	refused   int            // requests, since the disk is full
	spoilt    map[int64]bool // versions whose files were found to be damaged

	// The applier uses these alone.
	calibratedBy int          // held-out pictures by which it was tried to calibrate the learner
	unfinished   bool         // what was forgotten may still be in a file
	erased       <-chan error // of the event that notes what was erased, while that is on its way
	tried        time.Time    // to erase it
	single       int64        // number of the only snapshot; 0 where there are two, or where it is that of a new folder
	alone        time.Time    // since when it is that

	meter
	looks looks
}

// Open opens the folder of a daemon, applies what its journal has, and goes on. An empty folder gets the learner of the
// options. Nothing is written to a folder of something else, nor where that learner cannot be made.
func Open(dir string, o Options) (*Daemon, error) {
	unused, err := journal.Unused(dir)
	if err != nil {
		return nil, err
	}
	var first *live.Trainer
	if unused {
		if first, err = o.complete().first(); err != nil {
			return nil, err
		}
	}
	j, err := journal.Open(dir, journal.Options{Retain: o.Retain, Log: o.Log})
	if err != nil {
		if first != nil {
			_ = first.Close()
		}
		return nil, err
	}
	return openOn(j, dir, o, first)
}

// openOn is Open with a journal, which it closes after an error, and with the learner of an empty folder; nil makes it
// where it is wanted.
func openOn(j journal.Journal, dir string, o Options, first *live.Trainer) (*Daemon, error) {
	o = o.complete()
	d := &Daemon{dir: dir, first: first, o: o, journal: j, files: journal.Snapshots(dir), began: time.Now(),
		requests: make(chan *request, 1024), poke: make(chan struct{}, 1),
		asks: make(chan *ask, 1024), looked: make(chan struct{}, 1),
		testing: make(chan struct{}, 1), between: make(chan func()), failed: make(chan error, 1), closing: make(chan struct{}),
		stopped: make(chan struct{}), arrived: make(chan struct{}, 1), moved: make(chan struct{}), spoilt: map[int64]bool{}}
	err := d.recover()
	if d.first != nil { // another process has set up the folder
		_ = d.first.Close()
	}
	if err != nil {
		if d.trainer != nil {
			_ = d.trainer.Close()
		}
		return nil, errors.Join(err, j.Close())
	}
	d.notes = func(ctx context.Context, e journal.Event) error {
		_, err := d.ask(ctx, note(e))
		return err
	}
	d.readStatistics()
	if j.Full() {
		d.full()
	}
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	d.done.Go(d.commitLoop)
	d.nudge() // what waits from before, and other bounds
	d.done.Go(func() { d.applyLoop(ctx) })
	for range d.trainer.Process().AtOnce {
		d.done.Go(func() { d.predictLoop(ctx) })
	}
	d.done.Go(func() { d.lookLoop(ctx) })
	return d, nil
}

// recover makes the state: the newest snapshot and the events after it.
func (d *Daemon) recover() error {
	d.state = newState(nil, d.o, journal.Versions(d.dir))
	ctx := context.Background()
	var err error
	if numbers, fault := d.files.Numbers(); fault != nil {
		return fault
	} else if len(numbers) == 0 && d.journal.Last() == 0 {
		if err := d.begin(); err != nil {
			return err
		}
	} else {
		if l := d.o.Live; d.o.Init != "" || l.Method != "" || l.Memory != 0 || l.Size != 0 || l.Channels != 0 ||
			l.Capacity != 0 || len(l.Set) > 0 {
			d.o.Log.Info("the folder has its learner; what was said of a new one is not used", "folder", d.dir)
		}
		d.o = d.o.in(d.dir)
		d.state.o, d.state.learner.o = d.o, d.o
		err = d.restore(ctx, d.state, 1<<62)
	}
	if err != nil && !errors.Is(err, ocl.ErrDiverged) {
		return err
	}
	d.trainer = d.state.trainer
	d.reclassErr, d.carries = d.trainer.Reclasses(), d.trainer.Carries()
	d.amendErr, d.sums = d.trainer.Amendable(), d.trainer.Unlearns() == nil
	d.notes = func(_ context.Context, e journal.Event) error { // nobody else appends yet
		if e.Time = time.Now(); e.Time.Before(d.state.time) {
			e.Time = d.state.time
		}
		number, err := d.journal.Append([]journal.Event{e})
		if e.Number = number; err != nil || number != d.state.book.last+1 { // the rest is read
			return err
		}
		_, err = d.state.enter(e, nil)
		return err
	}
	for _, note := range d.trainer.Notes() {
		d.o.Log.Warn(note)
	}
	if errors.Is(err, ocl.ErrDiverged) { // the process ended before it could set the event aside
		o, _ := d.state.next()
		var s *state
		if s, _, err = d.skipped(ctx, o.Number, func() int64 { return 1 << 62 }); err == nil {
			d.state.take(s)
		}
	}
	if err != nil {
		return err
	}
	for more := true; more; more = d.trainer.Err() != nil && !d.halted {
		if err := d.publish(ctx); err != nil {
			return err
		}
	}
	d.since, d.saved = time.Now(), d.state.book.last
	d.unfinished = len(d.state.unerased) > 0
	numbers, err := d.files.Numbers()
	if d.o.Retain && len(numbers) == 2 && numbers[0] == 0 { // the first one stays, and takes long to go on from
		numbers = numbers[1:]
	}
	if len(numbers) == 1 {
		d.single, d.alone = numbers[0], time.Now()
	}
	return err
}

// first makes the learner of an empty folder.
func (o Options) first() (t *live.Trainer, err error) {
	if o.Init != "" {
		t, err = live.OpenTrainer(o.Init, o.process())
	} else {
		l := o.Live
		l.Batch, l.Age, l.Queue = o.Batch, 0, 0
		t, err = live.NewTrainer(l)
	}
	if err != nil {
		return nil, fmt.Errorf("daemon: %w", err)
	}
	return t, nil
}

// begin sets up an empty folder: its learner, and the first snapshot.
func (d *Daemon) begin() error {
	first, err := d.first, error(nil)
	if d.first = nil; first == nil {
		first, err = d.o.first()
	}
	if err != nil {
		return err
	}
	d.trainer = first
	d.state.learns(first)
	d.o.Log.Info("the folder is new, and gets a new learner", "folder", d.dir, "method", first.Config().Methods[0])
	if err := d.keepBackbone(); err != nil {
		return err
	}
	c, _, err := d.state.container()
	if err == nil {
		err = d.files.Write(0, c)
	}
	if err != nil {
		return fmt.Errorf("daemon: the learner is not saved: %w. Make room in %s, and start again", err, d.dir)
	}
	return nil
}

// backboneFile is a copy of the pretrained network that makes embeddings of the pictures, so that the folder of the
// daemon has all that it needs.
const backboneFile = "backbone.safetensors"

// keepBackbone copies the pretrained network of the learner, if it has one, into the folder.
func (d *Daemon) keepBackbone() error {
	from := d.trainer.Process().Backbone
	if from == "" {
		return nil
	}
	text, err := input.ReadFile(from, input.Want{Most: limit.Backbone})
	if err == nil {
		err = atomicfile.WritePrivateBytes(filepath.Join(d.dir, backboneFile), text)
	}
	if err != nil {
		return fmt.Errorf("daemon: the pretrained network is not copied: %w. Make room in %s, and start again", err, d.dir)
	}
	return nil
}

// in are the options with what a folder has.
func (o Options) in(dir string) Options {
	if file := filepath.Join(dir, backboneFile); exists(file) {
		o.Live.Backbone = file
	}
	return o
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// Shape is the shape of the network's pictures: C, H, W.
func (d *Daemon) Shape() (c, h, w int) { return d.trainer.Shape() }

// Measure says how to read the values of guesses.
func (d *Daemon) Measure() predict.Measure { return d.trainer.Measure() }

// Config is the config of a run that would learn as the daemon does.
func (d *Daemon) Config() config.Config { return d.trainer.Config() }

// Names returns the names of the classes, in the order in which they came.
func (d *Daemon) Names() []string { return d.trainer.Named() }

// Failed delivers the error after which the process must end: of the disk, or of the learner. The next start finds out
// what is left.
func (d *Daemon) Failed() <-chan error { return d.failed }

// Ready is nil where samples are taken.
func (d *Daemon) Ready() error {
	d.state.mu.Lock()
	defer d.state.mu.Unlock()
	return d.ready()
}

// ready is nil where samples are taken. The caller holds mu.
func (d *Daemon) ready() error {
	switch {
	case d.broken != nil:
		return d.broken
	case d.draining:
		return ErrDraining
	}
	return nil
}

// change wakes those that wait for something to be applied or published. The caller holds mu.
func (d *Daemon) change() {
	close(d.moved)
	d.moved = make(chan struct{})
}

// Close takes nothing any more, learns what waits as far as ctx allows, saves, and ends. What was not learned is
// learned after the next start. Any goroutine may call it, and more than once; the first ctx counts.
func (d *Daemon) Close(ctx context.Context) error {
	return d.end.Do(func() error { return d.close(ctx) })
}

func (d *Daemon) close(ctx context.Context) error {
	d.state.mu.Lock()
	d.draining, d.flush = true, true
	d.state.mu.Unlock()
	d.nudge()
	for d.until(ctx, func() bool { return !d.busyNow() }) == nil { // what is published was checked, and only that is saved
		published := make(chan struct{})
		select {
		case d.between <- func() { d.ends(d.publish(ctx)); close(published) }:
			<-published
		case <-ctx.Done():
		}
		if !d.busy() {
			break
		}
	}
	close(d.closing)
	d.stop()
	d.done.Wait()
	close(d.stopped)
	var err error
	if _, unchecked := d.trainer.PublishDue(false); d.broken == nil && d.trainer.Err() == nil && !unchecked {
		if err = d.snapshot(); errors.Is(err, journal.ErrNoRoom) { // the journal has everything
			d.o.Log.Warn("the disk is full, so the last snapshot is not written; the next start learns again what came after the one before",
				"error", err)
			err = nil
		}
		d.keepStatistics()
	}
	return errors.Join(err, d.trainer.Close(), d.journal.Close())
}

// busy says whether something waits to be applied or learned.
func (d *Daemon) busy() bool {
	d.state.mu.Lock()
	defer d.state.mu.Unlock()
	return d.busyNow()
}

// busyNow is busy where the caller holds mu. On a full disk nothing is cut.
func (d *Daemon) busyNow() bool {
	return d.broken == nil && !d.halted && (len(d.state.queue) > 0 && d.problem != noRoom || len(d.state.ops) > 0)
}
