package checkpoint

import (
	"fmt"
	"runtime/debug"
)

// Writer writes checkpoints into a [Dir] in the background, one at a time and in the given order. So the caller waits
// only for a write that is already under way. It is used by one goroutine at a time; until Wait returns, the Dir
// belongs to it. There is nothing to close: after Wait no goroutine is left.
type Writer struct {
	// Save, Failed and Wait call Saved with the path of a checkpoint that is safe on the disk since the last call of one
	// of them, and Warn in place of [Dir.Warn]. Either may be nil.
	Saved func(path string)
	Warn  func(error)

	dir     *Dir
	pending chan outcome // gets how the write under way ended; nil where none was begun since the last Wait
}

// outcome is how a write ended: panicked is nil where it did not panic.
type outcome struct {
	path     string
	warnings []error
	err      error
	panicked *Panic
}

// Panic is the value that [Writer.Wait] and [Writer.Save] panic with after a panic in the goroutine that wrote: it has
// that goroutine's stack, which would be lost otherwise.
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
// Another goroutine calls before, which may be nil, and then writes. An error of before is that of the write: the
// checkpoint does not appear.
func (w *Writer) Save(step int, c *Container, before func() error) error {
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
		w.dir.Warn = func(err error) { o.warnings = append(o.warnings, err) }
		if before != nil {
			o.err = before()
		}
		if o.err == nil {
			o.path, o.err = w.dir.Save(step, c)
		}
	}()
	return nil
}

// Failed returns the error of a write that has ended meanwhile, once, without waiting for one that is under way.
func (w *Writer) Failed() error {
	select {
	case o := <-w.pending:
		return w.end(o)
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
	return w.end(<-w.pending)
}

// end reports how a write ended; a panic goes on in the goroutine that asks.
func (w *Writer) end(o outcome) error {
	w.pending = nil
	if o.panicked != nil {
		panic(o.panicked)
	}
	for _, err := range o.warnings {
		if w.Warn != nil {
			w.Warn(err)
		}
	}
	if o.path != "" && w.Saved != nil {
		w.Saved(o.path)
	}
	return o.err
}
