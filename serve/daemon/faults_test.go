package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ocl/live"
	"ocl/serve/journal"
)

// again opens the folder of a daemon that has ended.
func again(t *testing.T, d *Daemon, dir string, o Options) *Daemon {
	t.Helper()
	end(t, d)
	return open(t, dir, o)
}

// TestRememberedTwice: a client that sends a picture again before it was answered, with or without a label, leaves one
// sample and a folder that opens.
func TestRememberedTwice(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, small())
	one := Remembered{ID: "a", Pixels: picture(1, 1)}
	if _, err := d.Remember(t.Context(), []Remembered{one, one}, "x"); err != nil {
		t.Error(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := d.Remember(context.Background(), []Remembered{{ID: "b", Pixels: picture(1, 2)}}, "x"); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			if _, err := d.Learn(context.Background(), []Sample{{ID: "c", Label: "k", Pixels: picture(1, 3)}},
				"x"); err != nil && !errors.Is(err, ErrConflict) {
				t.Error(err)
			}
		})
		all.Go(func() {
			if _, err := d.Remember(context.Background(), []Remembered{{ID: "c", Pixels: picture(1, 3)}}, "x"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	applied(t, d)
	d = again(t, d, dir, small())
	if n := len(d.state.samples); n != 3 {
		t.Errorf("%d samples", n)
	}
}

// TestClassesBeyondTheBound: a class for which there is no room is refused, and not written into the journal, which
// would open no more.
func TestClassesBeyondTheBound(t *testing.T) {
	dir, o := t.TempDir(), small()
	o.Live.MaxClasses = 2
	d := open(t, dir, o)
	for i, name := range []string{"a", "b", "c"} {
		if err := d.AddClass(t.Context(), name, "x"); (err != nil) != (i == 2) || i == 2 && !errors.Is(err, live.ErrBound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := d.Learn(t.Context(), []Sample{{Label: "d", Pixels: picture(1, 1)}}, "x"); !errors.Is(err, live.ErrBound) {
		t.Error(err)
	}
	applied(t, d)
	again(t, d, dir, o)
}

// diverging are options of a learner whose loss soon is no number, and goes on to be none.
func diverging() Options {
	o := small()
	o.Live.Set = append(o.Live.Set, "optimizer.lr=1e30")
	o.Batch, o.Queue = 2, 1000
	return o
}

// checked is the digest of a state whose weights are numbers.
func checked(t *testing.T, d *Daemon) (text string) {
	t.Helper()
	for text == "" {
		applied(t, d)
		done := make(chan error, 1)
		d.between <- func() {
			err := d.publish(t.Context())
			if err == nil && d.trainer.Err() == nil {
				text, err = d.state.digest()
			}
			done <- err
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	return text
}

// TestDiverges: batches whose loss is no number are set aside one after the other, three of them end learning and not
// the daemon, and the next start makes the same state, also where the process was killed before it could note the last
// one.
func TestDiverges(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, diverging())
	learn(t, d, samples(0, 6)) // three batches, so that a start has none to try again
	if err := d.until(t.Context(), func() bool { return d.halted }); err != nil {
		t.Fatal(err)
	}
	applied(t, d)
	if s := d.Status(); s.State != "stopped" || s.Problem == "" {
		t.Errorf("%+v", s)
	}
	if _, err := d.Learn(t.Context(), samples(100, 1), "x"); !errors.Is(err, ErrStopped) {
		t.Error(err)
	}
	want := checked(t, d)
	before := crashed(t, dir)
	d = again(t, d, dir, diverging())
	if got := checked(t, d); got != want {
		t.Errorf("a start makes the state %s instead of %s", got, want)
	}
	if got := checked(t, open(t, before, diverging())); got != want {
		t.Errorf("a start after a crash makes the state %s instead of %s", got, want)
	}
}

// TestWaitEndsWhenLearningStops: who waits for a picture that will not be learned any more is told so, and who waits
// for one that was set aside waits no more.
func TestWaitEndsWhenLearningStops(t *testing.T) {
	d := open(t, t.TempDir(), diverging())
	list := samples(0, 7)
	first, told := learn(t, d, list[:1])[0].ID, make(chan error, 1) // half a batch, so that it waits
	go func() { told <- d.Wait(t.Context(), []string{first}) }()
	receipts := learn(t, d, list[1:])
	if err := <-told; err != nil {
		t.Error(err)
	}
	if err := d.Wait(t.Context(), []string{receipts[4].ID}); err != nil {
		t.Error(err)
	}
	if err := d.Wait(t.Context(), []string{receipts[4].ID, receipts[5].ID}); !errors.Is(err, ErrStopped) {
		t.Errorf("%v, want %v", err, ErrStopped)
	}
}

// TestNoRoomForAVersion: weights that cannot be written cost their version and nothing else.
func TestNoRoomForAVersion(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, small())
	learn(t, d, samples(0, 10))
	applied(t, d)
	if err := os.WriteFile(filepath.Join(dir, "versions"), nil, 0o600); err != nil { // in the place of the folder
		t.Fatal(err)
	}
	v, err := d.Keep(t.Context(), "before", "x")
	if err != nil {
		t.Fatal(err)
	}
	learn(t, d, samples(10, 10))
	applied(t, d)
	if err := d.Rollback(t.Context(), v.Number, "x"); !errors.Is(err, ErrNoVersion) {
		t.Error(err)
	}
	if err := d.Ready(); err != nil || len(d.Versions()) > 0 { // nobody can go back to it
		t.Errorf("%v, versions %v", err, d.Versions())
	}
	d = again(t, d, dir, small())
	if n := d.Status().Samples.Learned; n != 20 {
		t.Errorf("%d were learned", n)
	}
}

// TestBounds: pictures beyond the bounds go, a start may have other bounds, and `verify`, which knows none of them,
// makes the same state.
func TestBounds(t *testing.T) {
	dir, o := t.TempDir(), small()
	o.Remember.Count = 3
	d := open(t, dir, o)
	remember := func(from int) {
		for i := from; i < from+5; i++ {
			if _, err := d.Remember(t.Context(), []Remembered{{Pixels: picture(1, i)}}, "x"); err != nil {
				t.Fatal(err)
			}
		}
	}
	remember(0)
	learn(t, d, samples(0, 5))
	applied(t, d)
	if n := d.Status().Samples.Remembered; n != 3 {
		t.Errorf("%d are remembered", n)
	}
	o.Remember.Count = 2
	d = again(t, d, dir, o)
	remember(5)
	applied(t, d)
	if n := d.Status().Samples.Remembered; n != 2 {
		t.Errorf("%d are remembered", n)
	}
	end(t, d)
	if r, err := Verify(t.Context(), dir, Options{}); err != nil || !r.Same() || r.Want == "" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestNobodyPushesOthersOut: beyond the bounds, in pictures or in bytes, the pictures go of who has most of them; a
// start and `verify` find the same.
func TestNobodyPushesOthersOut(t *testing.T) {
	for _, by := range []Remember{{Count: 4}, {Bytes: 4 * 3 * side * side}} {
		dir, o := t.TempDir(), small()
		o.Remember = by
		d := open(t, dir, o)
		remember := func(who string, from, n int) {
			for i := from; i < from+n; i++ {
				if _, err := d.Remember(t.Context(), []Remembered{{ID: fmt.Sprint(who, i), Pixels: picture(1, i)}},
					who); err != nil {
					t.Fatal(err)
				}
			}
		}
		remember("a", 0, 2)
		remember("b", 0, 10)
		d = again(t, d, dir, o)
		remember("b", 10, 3)
		for id, want := range map[string]string{"a0": StateRemembered, "a1": StateRemembered, "b10": StateExpired,
			"b11": StateRemembered, "b12": StateRemembered} {
			if i, _ := d.Sample(id); i.State != want {
				t.Errorf("%+v: %s is %q, want %q", by, id, i.State, want)
			}
		}
		end(t, d)
		if r, err := Verify(t.Context(), dir, Options{}); err != nil || !r.Same() || r.Want == "" {
			t.Errorf("%+v: %+v, %v", by, r, err)
		}
	}
}

// TestForgetUnderLoad: what is forgotten while samples come all the time is forgotten soon, and a label that comes at
// the same time brings no pixel again.
func TestForgetUnderLoad(t *testing.T) {
	dir := t.TempDir()
	o := small()
	o.Queue = 100_000
	d := open(t, dir, o)
	learn(t, d, samples(0, 20))
	applied(t, d)
	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	load.Go(func() {
		for i := 1000; ctx.Err() == nil; i++ {
			if _, err := d.Learn(ctx, samples(i, 1), ""); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	for i := range 20 {
		id := fmt.Sprintf("id-%d", i)
		var both sync.WaitGroup
		both.Go(func() {
			if _, err := d.Label(t.Context(), id, fmt.Sprintf("class %d", (i+1)%3), ""); err != nil &&
				!errors.Is(err, ErrForgotten) {
				t.Errorf("label: %v", err)
			}
		})
		both.Go(func() {
			if _, err := d.Forget(t.Context(), Which{IDs: []string{id}}, ""); err != nil {
				t.Errorf("forget: %v", err)
			}
		})
		both.Wait()
	}
	stop()
	load.Wait()
	end(t, d)
	for i := range 20 {
		if has(t, dir, picture(i%3, i)) {
			t.Errorf("a file has the picture %d", i)
		}
	}
}

// TestForgetTriesAgain: what could not be erased, as the disk had no room, is erased once it has.
func TestForgetTriesAgain(t *testing.T) {
	dir := t.TempDir()
	j, err := journal.Open(dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	full := &fullJournal{Journal: j}
	full.full.Store(true)
	d, err := openOn(full, dir, small(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer end(t, d)
	learn(t, d, samples(0, 5))
	applied(t, d)
	for range 2 { // a client that does not believe it asks again
		if _, err := d.Forget(t.Context(), Which{IDs: []string{"id-1"}}, ""); !errors.Is(err, ErrUnerased) {
			t.Errorf("where there is no room: %v", err)
		}
	}
	if i, _ := d.Sample("id-1"); i.State != StateForgotten {
		t.Errorf("%+v", i)
	}
	full.full.Store(false)
	if err := d.until(t.Context(), func() bool { return len(d.state.unerased) == 0 }); err != nil {
		t.Fatal(err)
	}
	if has(t, dir, picture(1, 1)) {
		t.Error("a file has it")
	}
	if _, err := d.Forget(t.Context(), Which{IDs: []string{"id-1"}}, ""); !errors.Is(err, ErrErased) {
		t.Errorf("what is erased: %v", err)
	}
	if _, err := d.Forget(t.Context(), Which{Who: "nobody"}, ""); !errors.Is(err, ErrNobody) {
		t.Errorf("nothing is meant: %v", err)
	}
}

// fullJournal erases nothing while it is full.
type fullJournal struct {
	journal.Journal
	full  atomic.Bool
	tries atomic.Int32
}

func (f *fullJournal) Erase(ids []string) error {
	f.tries.Add(1)
	if f.full.Load() {
		return journal.ErrNoRoom
	}
	return f.Journal.Erase(ids)
}

// TestClockJumps: after a clock that stood in the future for a while, and was set back over a restart, what is
// remembered then does not count as old, and events do not go back in time.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	dir, o := t.TempDir(), small()
	o.Remember.Age = time.Hour
	d := open(t, dir, o)
	learn(t, d, samples(0, 5))
	end(t, d)
	j, err := journal.Open(dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := event(kindClass, "", "", body{Label: "of the future"}, nil)
	e.Time = time.Now().Add(24 * 365 * time.Hour)
	if _, err := j.Append([]journal.Event{e}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	d = open(t, dir, o)
	if _, err := d.Remember(t.Context(), []Remembered{{ID: "seen", Pixels: picture(1, 900)}}, ""); err != nil {
		t.Fatal(err)
	}
	learn(t, d, samples(5, 5))
	applied(t, d)
	if i, _ := d.Sample("seen"); i.State != StateRemembered {
		t.Errorf("a picture that just came is %s", i.State)
	}
	last := time.Time{}
	if err := d.journal.Read(d.journal.First(), func(e journal.Event) error {
		if e.Time.Before(last) {
			t.Errorf("event %d is of %v, before %v", e.Number, e.Time, last)
		}
		last = e.Time
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestStartLearnsWhatWaits: a daemon that was killed with pictures in its queue learns them when it starts, without a
// request.
func TestStartLearnsWhatWaits(t *testing.T) {
	dir, o := t.TempDir(), small()
	o.HeldOut, o.Age = 0, time.Millisecond
	d := open(t, dir, o)
	held, free := make(chan struct{}), make(chan struct{})
	go func() { d.between <- func() { close(held); <-free } }() // the applier stands still
	<-held
	learn(t, d, samples(0, 4*o.Batch+1))
	before := crashed(t, dir)
	close(free)
	d = open(t, before, o)
	if err := d.until(t.Context(), func() bool { return d.trainer.Stats().Images == int64(4*o.Batch+1) }); err != nil {
		t.Fatal(err)
	}
}
