// Package journal keeps what a daemon has promised: its events in the order in which they came, each on the disk before
// it is acknowledged. Beside them in the folder of the daemon are snapshots of its state and versions of its weights.
// The package does not know what an event means.
//
// Start at [Open]. Behind [Journal] is SQLite, which no other package imports. [Snapshots] and [Versions] are the files
// beside it.
package journal

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"ocl/internal/count"
	"ocl/internal/limit"
)

// Event is a row of the journal.
type Event struct {
	Number int64     // from 1, without gaps; Append gives it
	Kind   string    // what happened, 1 to 64 bytes
	Time   time.Time // when, to the nanosecond, in the years 1678 to 2262; the caller keeps it in order
	Who    string    // who asked for it; any bytes
	ID     string    // the sample that it is about, any bytes; "" is none. Erase finds rows by it
	Body   []byte    // nil and empty are the same
	Pixels []byte    // nil and empty are the same
	Erased bool      // Erase has taken Body and Pixels, which are nil then; Append ignores it
}

// Journal is a log of events on the disk. Its methods may be called by many goroutines. A state is a function of a
// snapshot and of the events after it, so any log that keeps them in order can be behind it.
type Journal interface {
	// Append adds events, all or none. When it returns without an error they are on the disk. Their numbers are first,
	// first+1, and so on; those in events are ignored. Without events, first is the number of the next one. An error that
	// is [ErrNoRoom] has appended nothing, and later calls may succeed. After an error that is [ErrBroken], every call
	// fails.
	Append(events []Event) (first int64, err error)

	// Read calls each for every event from a number on that is kept, in order. An error of each ends it and is returned.
	// Each may call the journal; events that are appended meanwhile are read too. An event that is not what was appended,
	// or that is missing, is a [*DamageError].
	Read(from int64, each func(Event) error) error

	// Trim removes the events below a number, or none where the journal retains all. It does so in small steps, between
	// which others may append.
	Trim(before int64) error

	// Erase takes the bodies and the pixels of all events of these ids away: when it returns without an error, their bytes
	// are in no file of the journal. The events stay, marked as erased, so that the numbers have no gap. It may be
	// repeated.
	Erase(ids []string) error

	// Size is how many bytes the files of the journal have, and how many events it keeps.
	Size() (bytes, rows int64)

	// Full says whether a write like the last one would find no room on the disk now. It writes a file to find out, and
	// removes it.
	Full() bool

	// First is the number of the first event that is kept, or of the next one where none is. Last is that of the last
	// event ever appended, or 0.
	First() int64
	Last() int64

	// Close waits for what is under way, closes the files, and lets another process open the folder.
	Close() error
}

// Options of [Open].
type Options struct {
	Retain   bool         // Trim removes nothing
	Log      *slog.Logger // what became of a damaged journal; nil is none
	ReadOnly bool         // the folder must be there, and no byte in it is changed; it may be one that cannot be written
}

var (
	// ErrNoRoom says that the disk, a quota or a limit on the size of files leaves no room. Nothing was changed.
	ErrNoRoom = errors.New("there is no room on the disk")

	// ErrBroken says that a write or an fsync failed, so that nobody knows what is on the disk. Only opening the folder
	// again tells.
	ErrBroken = errors.New("the disk failed")

	// ErrBusy says that another process, or another call in this one, has the folder open.
	ErrBusy = errors.New("another ocl serves this folder")

	// ErrNewer says that a newer ocl has written the folder.
	ErrNewer = errors.New("a newer ocl has written it")

	// ErrOther says that the folder is none of a daemon.
	ErrOther = errors.New("it is no folder of ocl serve")

	// ErrForeign says that a snapshot or a version is that of another folder.
	ErrForeign = errors.New("it is of another folder. Put the one of this folder back, or remove it")

	// ErrClosed says that the journal was closed.
	ErrClosed = errors.New("the journal is closed")

	// ErrReadOnly says that the journal was opened for reading.
	ErrReadOnly = errors.New("the journal was opened for reading only")
)

// DamageError says that bytes of the journal changed after they were written, or are gone, or that the journal is that
// of another folder. A tail that a crash has torn is none: it was never acknowledged.
type DamageError struct {
	Path   string // the file
	Number int64  // the first event that is damaged or missing; 0 where that cannot be told
	Whole  bool   // the file is whole, but it ends too early or is that of another folder
	What   string // what was found
	Lost   string // what it costs to go on without it
	Way    string // how to go on without it; "" is to rename the journal
}

func (d *DamageError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "journal: %s: ", d.Path)
	if d.Number > 0 {
		fmt.Fprintf(&b, "event %d: ", d.Number)
	}
	if !d.Whole {
		b.WriteString("the file is damaged: ")
	}
	way := cmp.Or(d.Way, fmt.Sprintf("rename %s to %s and start again", dbName, damagedName))
	fmt.Fprintf(&b, "%s. Put a good copy of the folder in its place. To go on without what is lost (%s), %s", d.What,
		d.Lost, way)
	return b.String()
}

// maxKind is the length of a kind, in bytes.
const maxKind = 64

// check is an error about an event that no journal takes.
func (e *Event) check() error {
	size := len(e.Who) + len(e.ID) + len(e.Body) + len(e.Pixels)
	switch {
	case e.Kind == "" || len(e.Kind) > maxKind:
		return fmt.Errorf("journal: an event has the kind %.80q; it has 1 to %d bytes", e.Kind, maxKind)
	case size > limit.JournalEvent:
		return fmt.Errorf("journal: an event of the kind %s has %s, and %s are the limit. Send smaller pictures", e.Kind,
			count.Of(size, "byte"), count.Number(limit.JournalEvent))
	case e.Time.Year() < 1678 || e.Time.Year() > 2261:
		return fmt.Errorf("journal: an event of the kind %s has the time %v. Set the clock of this machine", e.Kind, e.Time)
	}
	return nil
}
