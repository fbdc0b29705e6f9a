package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// mend makes a journal anew from what is whole in journal.db.damaged: the events after the newest whole snapshot, up to the first that is
// damaged. Those after it are left out even where they are whole, as the state follows from all events in their order. The numbers go on
// after the last that is kept. Of the journal of another folder nothing is kept.
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
	// What these say is what is lost, and a person has said to go on without it.
	if err := os.Remove(filepath.Join(s.dir, acknowledgedName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("journal: %w", err)
	}
	if err := Snapshots(s.dir).Remove(func(n int64) bool { return n > from }); err != nil { // they are damaged
		return err
	}
	if identity == "" {
		identity = newIdentity()
	}
	return s.make(identity, head{first: from + 1, last: from}, func(made *store) error {
		old := &store{dir: s.dir, path: damaged}
		err := errors.Join(salvage(old, from+1, made, sure), made.broken)
		_ = old.shut() // it is damaged
		return err
	})
}

// salvage appends what is whole of a damaged journal, from a number on. Its error is that of the new one. With sure a journal without an identity is one
// of another folder.
func salvage(old *store, from int64, made *store, sure bool) error {
	if err := old.connect(); err != nil {
		return nil //nolint:nilerr // nothing of it can be read, which is what its damage costs
	}
	var version int64
	unversioned := old.ask("PRAGMA user_version").Scan(&version)
	its, unnamed := old.texts("SELECT identity FROM folder")
	if unversioned == nil && version == firstVersion && sure || unnamed == nil && len(its) == 1 && its[0] != made.identity {
		return nil // it is of another folder
	}
	for {
		old.head.last = from + readAtOnce // its own head may be damaged
		events, damaged := old.rows(from, readAtOnce)
		if len(events) > 0 {
			if _, err := made.Append(events); err != nil {
				return err
			}
			from += int64(len(events))
		}
		if damaged != nil || len(events) == 0 {
			return nil //nolint:nilerr // what follows the damage is lost
		}
	}
}
