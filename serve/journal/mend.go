package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// mend makes a journal anew from what is whole in journal.db.damaged, which stays as it is: the events after the newest
// whole snapshot, up to the first that is damaged. Those after it are left out even where they are whole, as the state
// follows from all events in their order, and nobody knows what the damaged one said: without the class that it made, a
// start could not apply what follows, and without the correction or the forgetting of it, a state would be made that
// nobody ever had. The numbers go on after the last that is kept. Of the journal of another folder nothing is kept. The
// log says what became of it (TestMend, TestWayOn).
func (s *store) mend(f format) error {
	from, identity, sure := int64(0), f.Identity, false // sure: the journal had that identity too
	switch newest, err := Snapshots(s.dir).Newest(); {
	case err == nil:
		from = newest.Number
		if of, err := stampIn(newest.Container); err == nil && of.Folder != "" {
			identity, sure = of.Folder, true
		}
	case !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("journal: %s cannot be mended without a snapshot: %w", s.path, err)
	}
	damaged := filepath.Join(s.dir, damagedName)
	// The log belongs to the file under its old name.
	if err := os.Rename(s.path+walSuffix, damaged+walSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("journal: %w", err)
	}
	acknowledged := readMark(s.dir, identity)
	if err := Snapshots(s.dir).Remove(func(n int64) bool { return n > from }); err != nil { // they are damaged
		return err
	}
	if identity == "" {
		identity = newIdentity()
	}
	var kept salvaged
	err := s.make(identity, head{first: from + 1, last: from}, func(made *store) (err error) {
		old := &store{dir: s.dir, path: damaged, readOnly: true}
		kept, err = salvage(old, from+1, made, sure)
		_ = old.shut() // it is damaged
		if err = errors.Join(err, made.broken); err != nil {
			return err
		}
		return writeMark(s.dir, identity, from+kept.events) // a person has said to go on without what the old one had more
	})
	if err != nil {
		return err
	}
	last := from + kept.events
	what := []any{"snapshot", from, "kept", kept.events, "last", last, "left_out", kept.leftOut, "file", damaged}
	switch {
	case acknowledged > last:
		what = append(what, "lost", fmt.Sprintf("%d to %d", last+1, acknowledged))
	case acknowledged < 0:
		what = append(what, "lost", fmt.Sprintf("what was acknowledged after %d, if anything was", last))
	}
	var damage *DamageError
	switch {
	case errors.As(kept.fault, &damage) && damage.Number == 0:
		what = append(what, "fault", damage.What)
	case damage != nil:
		what = append(what, "fault", fmt.Sprintf("event %d: %s", damage.Number, damage.What))
	case kept.fault != nil:
		what = append(what, "fault", kept.fault)
	}
	s.log.Warn("the journal was made anew from what is whole in the damaged one", what...)
	return nil
}

// salvaged counts the events of a damaged journal that were kept and left out, and has the fault that was found.
type salvaged struct {
	events  int64 // that are kept
	leftOut int64 // whole ones that follow the first damaged or missing one
	fault   error // what is wrong with it; nil where all of it was read
}

// salvage appends what is whole of a damaged journal, from a number on. Its error is that of the new one. With sure a
// journal without an identity is one of another folder.
func salvage(old *store, from int64, made *store, sure bool) (s salvaged, err error) {
	if info, err := os.Stat(old.path); err == nil && info.Size() == 0 {
		s.fault = errors.New("it is empty")
		return s, nil
	}
	if s.fault = old.connect(); s.fault != nil {
		return s, nil //nolint:nilerr // nothing of it can be read, which is what its damage costs
	}
	var version int64
	unversioned := old.ask("PRAGMA user_version").Scan(&version)
	its, unnamed := old.texts("SELECT identity FROM folder")
	if unversioned == nil && version == firstVersion && sure || unnamed == nil && len(its) == 1 &&
		its[0] != made.identity {
		s.fault = errors.New("it is the journal of another folder")
		return s, nil
	}
	for next := from; ; next = from + s.events {
		var events []Event
		events, s.fault = old.rows(next, readAtOnce)
		if len(events) > 0 {
			if _, err := made.Append(events); err != nil {
				return s, err
			}
			s.events += int64(len(events))
		}
		if s.fault != nil || len(events) == 0 {
			s.leftOut = old.whole(from + s.events)
			return s, nil //nolint:nilerr // the fault is what was found
		}
	}
}
