package checkpoint

import (
	"fmt"
	"runtime/debug"
)

// Writer writes checkpoints into a [Dir] in the background, one at a time and in the given order. So the caller waits
// only for a write that is already under way. It is used by one goroutine at a time; until Wait returns, the Dir
// belongs to it. There is nothing to close: after Wait no goroutine is left.
type Writer struct {
	dir     *Dir
	pending chan outcome // gets what the write under way came to; nil where none was begun since the last Wait
}

// outcome is how a write ended: panicked is nil where it did not.
type outcome struct {
	err      error
	panicked *Panic
}

// result is the error of a write; a panic goes on in the goroutine that asks.
func (o outcome) result() error {
	if o.panicked != nil {
		panic(o.panicked)
	}
	return o.err
}

// Panic is the value that [Writer.Wait] and [Writer.Save] panic with after a panic in the goroutine that wrote: it has that
// goroutine's stack, which would be lost otherwise.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) String() string {
	return fmt.Sprintf("in the goroutine that writes checkpoints: %v", p.Value)
}

// NewWriter returns a Writer into d.
func NewWriter(d *Dir) *Writer { return &Writer{dir: d} }

// Save begins to write the checkpoint of a step and returns before it is written. It first waits for a write under way;
// if that failed, Save returns its error and begins nothing. c must not change afterwards.
//
// Another goroutine calls before, then writes, then calls after; either may be nil. An error of before is that of the
// write: the checkpoint does not appear. after is called once the file is safe on the disk, with its path, and not when the
// write failed. Both have returned when the next Save or Wait returns. [Dir.Warn] is called by that goroutine too.
func (w *Writer) Save(step int, c *Container, before func() error, after func(path string)) error {
	if err := w.Wait(); err != nil {
		return err
	}
	pending := make(chan outcome, 1)
	w.pending = pending
	go func() {
		var o outcome
		defer func() {
			if v := recover(); v != nil {
				o.panicked = &Panic{v, debug.Stack()}
			}
			pending <- o
		}()
		o.err = w.write(step, c, before, after)
	}()
	return nil
}

func (w *Writer) write(step int, c *Container, before func() error, after func(path string)) error {
	if before != nil {
		if err := before(); err != nil {
			return err
		}
	}
	path, err := w.dir.Save(step, c)
	if err == nil && after != nil {
		after(path)
	}
	return err
}

// Failed returns the error of a write that has ended meanwhile, once, without waiting for one that is under way.
func (w *Writer) Failed() error {
	if w.pending == nil {
		return nil
	}
	select {
	case o := <-w.pending:
		w.pending = nil
		return o.result()
	default:
		return nil
	}
}

// Wait returns when everything given to Save is on the disk, with the error of the write that was under way. An error
// is returned once.
func (w *Writer) Wait() error {
	if w.pending == nil {
		return nil
	}
	o := <-w.pending
	w.pending = nil
	return o.result()
}
