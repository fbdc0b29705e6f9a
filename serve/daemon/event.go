package daemon

import (
	"encoding/json"
	"fmt"

	"ocl/serve/journal"
)

// Kinds of events. The state of a daemon is a function of them in their order.
const (
	kindClass    = "class"    // a class gets the next output of the head
	kindRename   = "rename"   // a class has another name
	kindMerge    = "merge"    // a class becomes a part of another one
	kindRemove   = "remove"   // a class without samples goes
	kindSplit    = "split"    // a class begins as a copy of another one; the labels of its samples follow
	kindSample   = "sample"   // a labelled picture: held out, or into the queue
	kindRemember = "remember" // a picture that waits for its label
	kindLabel    = "label"    // a label for a picture that is there
	kindUnlabel  = "unlabel"  // a sample has no label any more, and waits for another one
	kindMark     = "mark"     // a picture that waits for its label is skipped or deleted, or not any more
	kindCut      = "cut"      // the first N of the queue are learned in one step
	kindBoundary = "boundary" // a task ends
	kindUndo     = "undo"     // what was learned of a sample is taken out of the sums, before it is forgotten
	kindForget   = "forget"   // samples go from the queue, the memory and everywhere else
	kindErased   = "erased"   // no file has them any more
	kindVersion  = "version"  // weights to which one can go back
	kindRollback = "rollback" // back to them
	kindBounds   = "bounds"   // other bounds of what is kept, which a start has
	kindSkip     = "skip"     // a cut is set aside, as its loss was no number
)

// body is the content of an event, beside the id and the pixels of its sample.
type body struct {
	Format  int      `json:"v"`
	Label   string   `json:"label,omitempty"` // also the name of a class or of a version, or a mark
	Into    string   `json:"into,omitempty"`  // the new name of a class, or the class that it becomes a part of
	Held    bool     `json:"held,omitempty"`
	N       int      `json:"n,omitempty"`      // samples of a cut, or those of a forgetting that sums still carry
	Number  int64    `json:"number,omitempty"` // of a version, or of the cut that is skipped
	IDs     []string `json:"ids,omitempty"`
	Bounds  *bounds  `json:"bounds,omitempty"`
	Guesses []Guess  `json:"guesses,omitempty"`
	Unknown bool     `json:"unknown,omitempty"` // as the daemon said with them
	Version int64    `json:"version,omitempty"` // that made the guesses
	// of a correction, or where a label is taken away: UndoesAll, UndoesMemory or UndoesNothing; "" of events of older
	// programs
	Undoes string `json:"undoes,omitempty"`
	Digest string `json:"digest,omitempty"` // of the pixels of a picture that comes or gets a label
}

// bodyFormat is the format of bodies. A body of another format was written by another version of ocl.
const bodyFormat = 1

func event(kind, id, who string, b body, pixels []byte) journal.Event {
	b.Format = bodyFormat
	text, err := json.Marshal(b)
	if err != nil {
		panic("daemon: " + err.Error()) // guesses are finite
	}
	return journal.Event{Kind: kind, ID: id, Who: who, Body: text, Pixels: pixels}
}

func bodyOf(e journal.Event) (b body, err error) {
	if err := json.Unmarshal(e.Body, &b); err != nil {
		return b, fmt.Errorf("daemon: event %d (%s) is damaged: %w. Put a good copy of the folder in its place", e.Number,
			e.Kind, err)
	}
	if b.Format != bodyFormat {
		return b, fmt.Errorf("daemon: event %d (%s) has format %d, and this ocl reads %d. Use the ocl that wrote it",
			e.Number, e.Kind, b.Format, bodyFormat)
	}
	if b.N < 0 || b.Number < 0 {
		return b, fmt.Errorf("daemon: event %d (%s) has a number below 0. Put a good copy of the folder in its place",
			e.Number, e.Kind)
	}
	return b, nil
}
