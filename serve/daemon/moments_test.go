package daemon

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"ocl/live"
	"ocl/serve/journal"
)

// stops is a journal that calls functions at moments between two goroutines.
type stops struct {
	journal.Journal
	mu                   sync.Mutex
	before, after, reads func() // an Append, behind it when it is on the disk, and a Read
}

func (s *stops) at(f *func()) {
	s.mu.Lock()
	do := *f
	s.mu.Unlock()
	if do != nil {
		do()
	}
}

func (s *stops) set(f *func(), to func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*f = to
}

func (s *stops) Append(events []journal.Event) (int64, error) {
	s.at(&s.before)
	first, err := s.Journal.Append(events)
	s.at(&s.after)
	return first, err
}

func (s *stops) Read(from int64, each func(journal.Event) error) error {
	s.at(&s.reads)
	return s.Journal.Read(from, each)
}

// stopped opens a daemon whose journal can be stopped.
func stopped(t *testing.T, dir string, o Options) (*Daemon, *stops) {
	t.Helper()
	j, err := journal.Open(dir, journal.Options{Retain: o.Retain})
	if err != nil {
		t.Fatal(err)
	}
	s := &stops{Journal: j}
	d, err := openOn(s, dir, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, d) })
	return d, s
}

// together lets requests wait while the disk writes another one, so that the next write has all of them, in their
// order.
func together(t *testing.T, s *stops, first func(), requests ...func()) {
	t.Helper()
	writes, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.set(&s.before, func() { once.Do(func() { close(writes); <-goOn }) })
	var all sync.WaitGroup
	all.Go(first)
	<-writes
	for _, r := range requests {
		begun := make(chan struct{})
		all.Go(func() { close(begun); r() })
		<-begun
		for range 200 { // it does not matter for what holds, but for how often the moment is met
			runtime.Gosched()
		}
	}
	close(goOn)
	all.Wait()
	s.set(&s.before, nil)
}

// TestLabelBesideRemember: a label that is acknowledged is not lost because pictures that come in the same write let go
// of its picture.
func TestLabelBesideRemember(t *testing.T) {
	for range 10 {
		o := small()
		o.Remember.Count, o.Age = 1, 1
		d, s := stopped(t, t.TempDir(), o)
		remember := func(id string, n int) func() {
			return func() {
				if _, err := d.Remember(context.Background(), []Remembered{{ID: id, Pixels: picture(1, n)}}, ""); err != nil {
					t.Error(err)
				}
			}
		}
		remember("a", 1)()
		var err error
		together(t, s, func() { learn(t, d, samples(0, 1)) }, remember("b", 2), remember("c", 3),
			func() { _, err = d.Label(context.Background(), "a", "cat", "") })
		if err != nil && !errors.Is(err, ErrExpired) {
			t.Error(err)
		}
		if i, _ := d.Sample("a"); err == nil && i.Label != "cat" {
			t.Fatalf("the label was acknowledged, and the sample is %+v", i)
		}
		if err := d.Wait(t.Context(), []string{"a"}); err != nil {
			t.Error(err)
		}
		if i, _ := d.Sample("a"); err == nil && i.State != StateLearned {
			t.Fatalf("the label was acknowledged, and the sample is %+v", i)
		}
	}
}

// TestSampleBesideDivergence: a sample that comes to the disk while a batch is set aside is taken once.
func TestSampleBesideDivergence(t *testing.T) {
	o := diverging()
	d, s := stopped(t, t.TempDir(), o)
	var once sync.Once
	var beside sync.WaitGroup
	s.set(&s.reads, func() { // the journal is read to learn again without the batch
		once.Do(func() {
			there, goOn := make(chan struct{}), make(chan struct{})
			var written sync.Once
			s.set(&s.after, func() { written.Do(func() { close(there); <-goOn }) })
			beside.Go(func() {
				if _, err := d.Learn(context.Background(), samples(100, 1), ""); err != nil {
					t.Error(err)
				}
			})
			<-there // it is on the disk, and the daemon does not know yet
			beside.Go(func() {
				if err := d.until(context.Background(), func() bool { return d.aside > 0 || d.broken != nil }); err != nil {
					t.Error(err)
				}
				close(goOn)
			})
		})
	})
	learn(t, d, samples(0, 2))
	_ = d.until(t.Context(), func() bool { return d.aside > 0 || d.halted })
	beside.Wait()
	applied(t, d)
	if err := d.Ready(); err != nil {
		t.Error(err)
	}
	if i, there := d.Sample("id-100"); !there || i.State != StateWaiting {
		t.Errorf("%+v", i)
	}
}

// TestIDGoesBesideLabel: the id of a sample is let go of while its label comes. Whatever is answered, nothing waits for
// that label for ever.
func TestIDGoesBesideLabel(t *testing.T) {
	o := small()
	o.IDs, o.HeldOut, o.Retain, o.Live.Memory = 10, 0, true, 10
	d, s := stopped(t, t.TempDir(), o)
	learn(t, d, samples(0, 5))
	applied(t, d)
	var once sync.Once
	s.set(&s.reads, func() { // the pixels are looked for
		once.Do(func() {
			for i := 10; i < 260; i += 10 {
				learn(t, d, samples(i, 10))
				applied(t, d)
			}
		})
	})
	_, err := d.Label(t.Context(), "id-0", "class 1", "")
	if err != nil && !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	s.set(&s.reads, nil)
	if _, err := d.Label(t.Context(), "id-0", "class 2", ""); err != nil && !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if _, err := d.Forget(t.Context(), Which{IDs: []string{"id-255"}}, ""); err != nil {
		t.Error(err)
	}
}

// TestLastClass: where there is room for one more class, one of many new names that come at once is taken, and the
// folder opens again.
func TestLastClass(t *testing.T) {
	dir, o := t.TempDir(), small()
	o.Live.MaxClasses = 4
	d, s := stopped(t, dir, o)
	learn(t, d, samples(0, 20)) // three classes
	var list []func()
	var mu sync.Mutex
	taken := 0
	for i := range 16 {
		list = append(list, func() {
			_, err := d.Label(context.Background(), fmt.Sprintf("id-%d", i), fmt.Sprintf("new %d", i), "")
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				taken++
			} else if !errors.Is(err, live.ErrBound) {
				t.Error(err)
			}
		})
	}
	together(t, s, func() { learn(t, d, samples(30, 1)) }, list...)
	if taken != 1 {
		t.Errorf("%d new classes were acknowledged, and there was room for one", taken)
	}
	applied(t, d)
	again(t, d, dir, o)
}
