package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"ocl/internal/nearest"
	"ocl/internal/spelling"
	"ocl/live"
	"ocl/serve/journal"
)

// request is a call that waits for the committer.
type request struct {
	// adds events to a part, or an error; the committer calls it with mu held, perhaps several times until it is admitted
	admit func(*part) error
	done  chan error
	op    *op // of its last event, when done has answered nil
}

// row is what one write puts on the disk: the parts of several requests. Each part was admitted by the book as it is
// before the row and by the limits with what is in the row, so no two of them may be about the same sample.
type row struct {
	now     time.Time // of its events
	busy    map[string]bool
	classes map[string]bool // that it adds
	held    map[string]int  // samples that it holds out, by class
	queued  int             // pictures that it brings into the queue
	alone   bool            // it takes no further part
	added   []journal.Event // of its classes
	parts   []*part
}

// part has the events that one request adds to a row.
type part struct {
	d       *Daemon
	row     *row
	request *request
	rank    int
	events  []journal.Event
	pixels  [][]byte // of the files in them, or nil
	ids     []string // that they are about
	classes []string
	added   []journal.Event
	held    []string // classes of those that are held out
	queued  int      // pictures that come into the queue; below 0 that go from it
	alone   bool     // it changes classes, so no other one is in its row
}

// Ranks of parts in a row. Labels and marks come first, as what comes after them may let go of their pictures, and
// pictures to be remembered last, as they let go of others. So do those whose label is taken away, but these must come
// before a cut.
const (
	rankLabel = iota
	rankUnlabel
	rankSample
	rankOther
	rankBoundary // what is in the row before it is cut
	rankRemember
)

// errLater says that a request has to wait for the next row.
var errLater = errors.New("later")

// versionsKey is the key of parts that change the versions, in place of the id of a sample. No sample has such an id.
const versionsKey = "\x00versions"

// free is errLater if another part of the row is about one of some samples.
func (p *part) free(ids ...string) error {
	for _, id := range ids {
		if p.row.busy[id] {
			return errLater
		}
	}
	return nil
}

// add adds an event, with the pixels of the file in it, or nil.
func (p *part) add(e journal.Event, pixels []byte) {
	p.events, p.pixels = append(p.events, e), append(p.pixels, pixels)
}

// class is the name of the class that a label means. It adds a new one where that is allowed: open says that it is,
// whatever the options say.
func (p *part) class(label, who string, open bool) (string, error) {
	d, name := p.d, p.d.state.called(label)
	if d.state.classes[name] {
		return name, nil
	}
	// those of samples that come with this one
	comes := append(slices.Collect(maps.Keys(p.row.classes)), p.classes...)
	name = spelling.Find(name, func(name string) bool { return slices.Contains(comes, name) },
		func() []string { return comes })
	if slices.Contains(comes, name) {
		return name, nil
	}
	if err := live.CheckLabel(name); err != nil {
		return "", err
	}
	if !open && !d.o.NewClasses {
		return "", &UnknownClassError{name, nearest.Word(name, slices.Sorted(maps.Keys(d.state.classes)))}
	}
	// The event of a class for which the learner has no room would end each start.
	if err := d.trainer.RoomFor(d.state.outputs + len(p.row.classes) + len(p.classes) + 1); err != nil {
		return "", fmt.Errorf("daemon: %w", err)
	}
	p.classes = append(p.classes, name)
	p.added = append(p.added, event(kindClass, "", who, body{Label: name}, nil))
	return name, nil
}

// mostHeld bounds the samples of a class that are held out.
const mostHeld = 20

// holdsOut says whether a sample of a class is held out, and notes it.
func (p *part) holdsOut(label string) bool {
	have := p.d.state.held[label] + p.row.held[label]
	for _, other := range p.held {
		if other == label {
			have++
		}
	}
	if have >= mostHeld || p.d.o.chance() >= p.d.o.HeldOut {
		return false
	}
	p.held = append(p.held, label)
	return true
}

// room refuses pictures for which the queue has no room.
func (p *part) room() error {
	d := p.d
	if d.halted {
		return ErrStopped
	}
	over := d.waiting() + p.row.queued + p.queued - d.o.Queue
	if over <= 0 {
		return nil
	}
	return &FullError{time.Duration(float64(over) / max(1, d.learnedPerSecond()) * float64(time.Second))}
}

// waiting is the number of pictures that wait to be learned, or are about to be. The caller holds mu.
func (d *Daemon) waiting() int { return len(d.state.queue) + d.state.lessons }

// join takes a part into the row.
func (r *row) join(p *part) {
	for _, id := range p.ids {
		r.busy[id] = true
	}
	for _, name := range p.classes {
		r.classes[name] = true
	}
	for _, label := range p.held {
		r.held[label]++
	}
	r.queued += p.queued
	r.alone = p.alone
	r.added = append(r.added, p.added...)
	r.parts = append(r.parts, p)
}

// mostAhead bounds the cuts that wait to be applied: one is learned, and the next is on the disk already.
const mostAhead = 2

// mostRow bounds the requests that share an fsync.
const mostRow = 256

// ask lets the committer admit a request. When it returns without an error, its events are on the disk and in the book.
// If ctx ends before that, they may come there all the same.
func (d *Daemon) ask(ctx context.Context, admit func(*part) error) (*op, error) {
	d.o.point(ctx, "ask")
	c := &request{admit: admit, done: make(chan error, 1)}
	select {
	case d.requests <- c:
	case <-d.closing:
		return nil, ErrDraining
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case err := <-c.done:
		return c.op, err
	case <-d.stopped:
		select {
		case err := <-c.done:
			return c.op, err
		default:
			return nil, ErrDraining
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// note is a request of the daemon itself for one event.
func note(e journal.Event) func(*part) error {
	return func(p *part) error {
		p.rank = rankOther
		p.add(e, nil)
		return nil
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
	var late []*request // that could not share a row with those before them
	for {
		list := late
		if len(late) == 0 {
			select {
			case c := <-d.requests:
				list = append(list, c)
			case <-d.poke:
			case <-timer.C:
			case <-d.closing:
				d.refuseRest()
				return
			}
		}
		for more := true; more && len(list) < mostRow; {
			select {
			case c := <-d.requests:
				list = append(list, c)
			default:
				more = false
			}
		}
		var again time.Duration
		late, again = d.write(list)
		timer.Reset(again)
	}
}

// refuseRest answers requests that came too late.
func (d *Daemon) refuseRest() {
	for {
		select {
		case c := <-d.requests:
			c.done <- ErrDraining
		default:
			return
		}
	}
}

// write puts requests and the cuts that are due on the disk, and then into the book. It returns the requests that have
// to wait for the next row, and when to look again at the latest.
func (d *Daemon) write(list []*request) (late []*request, again time.Duration) {
	if len(list) > 0 {
		d.o.point(context.Background(), "write")
	}
	d.state.mu.Lock()
	r := &row{now: time.Now(), busy: map[string]bool{}, classes: map[string]bool{}, held: map[string]int{}}
	if r.now.Before(d.state.time) { // a clock that was set back
		r.now = d.state.time
	}
	for _, c := range list {
		if r.alone {
			late = append(late, c)
			continue
		}
		p := &part{d: d, row: r, request: c}
		err := d.broken
		if err == nil {
			err = c.admit(p)
		}
		switch {
		case errors.Is(err, errLater):
			late = append(late, c)
		case err != nil || len(p.events)+len(p.added) == 0:
			c.done <- err
		default:
			r.join(p)
		}
	}
	lines := d.lines(r)
	again = d.again(r.now)
	err, full := d.broken, d.problem == noRoom && !d.noErase
	d.state.mu.Unlock()
	if len(lines) == 0 {
		if full && !d.journal.Full() {
			d.state.mu.Lock()
			defer d.state.mu.Unlock()
			d.hasRoom()
			d.change()
		}
		return late, again
	}
	var first int64
	if err == nil {
		events := make([]journal.Event, len(lines))
		for i, l := range lines {
			events[i] = l.Event
		}
		first, err = d.journal.Append(events)
	}
	d.state.mu.Lock()
	defer d.state.mu.Unlock()
	switch {
	case err == nil:
		err = d.enter(lines, first)
		again = d.again(r.now)
	case errors.Is(err, journal.ErrNoRoom):
		d.say(noRoom)
		d.change()
		d.refused += len(r.parts)
		err, again = ErrNoRoom, tryAgain
	case errors.Is(err, journal.ErrBroken):
		d.breaks(err)
		err = d.broken
	}
	for _, p := range r.parts {
		p.request.done <- err
	}
	return late, again
}

// again returns the time until the committer must look again: until a smaller batch or a version is due, or until it
// tries whether the disk has room. The caller holds mu.
func (d *Daemon) again(now time.Time) time.Duration {
	wait := time.Hour // the applier wakes the committer when it has learned a cut
	if d.state.fresh > 0 && !d.halted {
		wait = min(wait, d.o.VersionAge-now.Sub(d.versioned()))
	}
	if len(d.state.queue) > 0 && d.state.cuts == 0 && !d.halted && d.o.Age > 0 {
		wait = min(wait, d.o.Age-now.Sub(d.since))
	}
	if d.problem == noRoom {
		wait = min(wait, tryAgain)
	}
	return max(time.Millisecond, wait)
}

// line is an event on its way to the disk.
type line struct {
	journal.Event
	pixels []byte // of the file in it, or nil
	of     *part  // nil where the daemon itself adds it
}

// lines are the events of a row in their order, with the cuts that are due. The caller holds mu.
func (d *Daemon) lines(r *row) (lines []line) {
	add := func(e journal.Event, pixels []byte, of *part) {
		if e.Kind == kindVersion { // its number is that of its event
			b, _ := bodyOf(e)
			e = event(kindVersion, "", e.Who, body{Label: b.Label, Number: d.state.book.last + int64(len(lines)) + 1}, nil)
		}
		e.Time = r.now
		lines = append(lines, line{e, pixels, of})
	}
	uncut, ahead, fresh := len(d.state.queue), d.state.cuts, d.state.fresh
	cut := func(n int) {
		add(event(kindCut, "", "", body{N: n}, nil), nil, nil)
		uncut, ahead, fresh = uncut-n, ahead+1, fresh+n
		d.since = r.now
	}
	for _, e := range r.added {
		add(e, nil, nil)
	}
	slices.SortStableFunc(r.parts, func(a, b *part) int { return cmp.Compare(a.rank, b.rank) })
	for _, p := range r.parts {
		for p.rank == rankBoundary && uncut > 0 {
			cut(min(uncut, d.o.Batch))
		}
		for i, e := range p.events {
			add(e, p.pixels[i], p)
		}
		if uncut == 0 && p.queued > 0 {
			d.since = r.now
		}
		uncut += p.queued
	}
	for uncut >= d.o.Batch && ahead < mostAhead && !d.halted {
		cut(d.o.Batch)
	}
	if uncut > 0 && ahead == 0 && !d.halted && (d.flush || d.o.Age > 0 && r.now.Sub(d.since) >= d.o.Age) {
		cut(uncut)
	}
	if !d.halted && (fresh >= d.o.VersionEvery || fresh > 0 && r.now.Sub(d.versioned()) >= d.o.VersionAge) {
		add(event(kindVersion, "", "", body{}, nil), nil, nil)
	}
	if now := d.o.bounds(); now != d.state.bounds { // last, as they may let go of what the others are about
		add(event(kindBounds, "", "", body{Bounds: &now}, nil), nil, nil)
	}
	return lines
}

// versioned is the time when the last version was kept, or when the daemon began. The caller holds mu.
func (d *Daemon) versioned() time.Time {
	at := d.began
	for _, v := range d.state.versions {
		if v.Time.After(at) {
			at = v.Time
		}
	}
	return at
}

// enter writes events that are on the disk into the book. The caller holds mu.
func (d *Daemon) enter(lines []line, first int64) error {
	for i, l := range lines {
		l.Number = first + int64(i)
		o, err := d.state.enter(l.Event, l.pixels)
		if err != nil { // it was admitted, so this is a fault of this program
			d.breaks(err)
			return d.broken
		}
		if l.of != nil {
			l.of.request.op = o
		}
		d.grown += int64(len(l.Body) + len(l.Pixels))
		d.report(l.Event)
	}
	d.hasRoom()
	d.change()
	select {
	case d.arrived <- struct{}{}:
	default:
	}
	return nil
}

// noRoom is the problem of a full disk.
const noRoom = "The disk of the daemon is full, so samples are refused and nothing is learned. Make room there."

// full notes that the disk is full, and lets the committer look when it is not any more.
func (d *Daemon) full() {
	d.state.mu.Lock()
	defer d.state.mu.Unlock()
	d.say(noRoom)
	d.nudge()
}

// hasRoom notes that the disk has room again, unless it has none for erasing. The caller holds mu.
func (d *Daemon) hasRoom() {
	if d.problem != noRoom || d.noErase {
		return
	}
	d.o.Log.Warn("the disk has room again", "refused", d.refused)
	d.problem, d.refused = "", 0
}

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
	d.broken = ErrBroken
	problem := "The disk of the daemon has failed. Start the daemon again; what was acknowledged is learned then."
	if fault := d.trainer.Err(); fault != nil && errors.Is(err, fault) {
		d.broken, problem = ErrFault, fmt.Sprintf("The method or its network has failed, and the daemon ends (%v). What was acknowledged is learned by a start that can.",
			fault)
	}
	d.say(problem)
	d.change()
	d.failed <- fmt.Errorf("daemon: %w", err)
}
