package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ocl/serve/journal"
)

// commit is what one request adds to the journal.
type commit struct {
	events   []journal.Event
	queued   int  // images that come into the queue by it
	boundary bool // what waits is cut before it
	done     chan error

	signals map[string]chan struct{} // of its samples, closed when it is known whether they are on the disk
	held    []string                 // labels of those that are held out
	classes []string                 // that are new
}

// mostAhead is how many cuts may wait to be applied: one is learned, and the next is on the disk already.
const mostAhead = 2

// mostCommits is how many requests share an fsync.
const mostCommits = 256

// commit puts events on the disk. If ctx ends before that, they may come there all the same.
func (d *Daemon) commit(ctx context.Context, c *commit) error {
	c.done = make(chan error, 1)
	select {
	case d.commits <- c:
	case <-d.closing:
		return ErrDraining
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-c.done:
		return err
	case <-d.stopped:
		select {
		case err := <-c.done:
			return err
		default:
			return ErrDraining
		}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// nudge lets the committer look whether a cut is due.
func (d *Daemon) nudge() {
	select {
	case d.poke <- struct{}{}:
	default:
	}
}

// commitLoop puts what comes on the disk, with the cuts that are due.
func (d *Daemon) commitLoop() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		var list []*commit
		select {
		case c := <-d.commits:
			list = append(list, c)
		case <-d.poke:
		case <-timer.C:
		case <-d.closing:
			d.refuseRest()
			return
		}
		for more := true; more && len(list) < mostCommits; {
			select {
			case c := <-d.commits:
				list = append(list, c)
			default:
				more = false
			}
		}
		timer.Reset(d.write(list))
	}
}

// refuseRest answers requests that came too late.
func (d *Daemon) refuseRest() {
	for {
		select {
		case c := <-d.commits:
			c.done <- ErrDraining
		default:
			return
		}
	}
}

// write appends the events of requests and the cuts that are due, and says when to look again at the latest.
func (d *Daemon) write(list []*commit) (again time.Duration) {
	d.mu.Lock()
	uncut, since, ahead := d.uncut, d.since, d.ahead
	uncut0, ahead0 := uncut, ahead
	var events []journal.Event
	now := time.Now()
	cut := func(n int) {
		events = append(events, event(kindCut, "", "", body{N: n}, nil))
		uncut, since = uncut-n, now
		ahead++
	}
	for _, c := range list {
		for c.boundary && uncut > 0 {
			cut(min(uncut, d.o.Batch))
		}
		events = append(events, c.events...)
		if uncut == 0 && c.queued > 0 {
			since = now
		}
		uncut += c.queued
	}
	for uncut >= d.o.Batch && ahead < mostAhead && !d.halted {
		cut(d.o.Batch)
	}
	again = time.Hour
	if uncut > 0 && uncut < d.o.Batch && ahead == 0 && !d.halted {
		switch wait := d.o.Age - now.Sub(since); {
		case d.flush || d.o.Age > 0 && wait <= 0:
			cut(uncut)
		case d.o.Age > 0:
			again = wait
		}
	}
	broken := d.broken
	d.mu.Unlock()
	for i := range events {
		if events[i].Time = now; now.Before(d.clock) { // a clock that was set back
			events[i].Time = d.clock
		}
	}
	if len(events) == 0 {
		return again
	}
	first, err := int64(0), broken
	if err == nil {
		first, err = d.journal.Append(events)
	}
	d.mu.Lock()
	switch {
	case err == nil:
		d.clock = events[0].Time
		for i := range events {
			events[i].Number = first + int64(i)
		}
		d.uncut, d.since, d.ahead = d.uncut+uncut-uncut0, since, d.ahead+ahead-ahead0 // the applier has changed them meanwhile
		d.durable = append(d.durable, events...)
		if d.problem == noRoom {
			d.problem = ""
		}
		select {
		case d.arrived <- struct{}{}:
		default:
		}
	case errors.Is(err, journal.ErrNoRoom):
		d.say(noRoom)
		err, again = ErrNoRoom, time.Second
	case errors.Is(err, journal.ErrBroken):
		d.breaks(err)
		err = ErrBroken
	}
	d.mu.Unlock()
	for _, c := range list {
		c.done <- err
	}
	return again
}

// noRoom is the problem of a full disk.
const noRoom = "The disk of the daemon is full, so samples are refused and nothing is learned. Make room there."

// say notes a problem for people. The caller holds mu.
func (d *Daemon) say(problem string) {
	if d.problem != problem {
		d.problem = problem
		d.o.Log.Error(problem)
		d.tell("problem", problem, 0)
	}
}

// breaks ends everything but predictions. The caller holds mu.
func (d *Daemon) breaks(err error) {
	if d.broken != nil {
		return
	}
	d.broken = err
	d.say("The disk of the daemon has failed. Start the daemon again; what was acknowledged is learned then.")
	d.change()
	d.failed <- fmt.Errorf("daemon: %w", err)
}
