package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// mend makes a journal anew from what is whole in journal.db.damaged: the events after the newest whole snapshot, up to the first that is
// damaged. Those after it are left out even where they are whole, as the state follows from all events in their order. The numbers go on
// after the last that is kept.
func (s *store) mend() error {
	from := int64(0)
	switch newest, err := Snapshots(s.dir).Newest(); {
	case err == nil:
		from = newest.Number
	case !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("journal: %s cannot be mended without a snapshot: %w", s.path, err)
	}
	damaged := filepath.Join(s.dir, damagedName)
	// The log belongs to the file under its old name.
	if err := os.Rename(s.path+walSuffix, damaged+walSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("journal: %w", err)
	}
	return s.make(head{first: from + 1, last: from}, func(made *store) error {
		old := &store{dir: s.dir, path: damaged}
		err := errors.Join(salvage(old, from+1, made), made.broken)
		_ = old.shut() // it is damaged
		return err
	})
}

// salvage appends what is whole of a damaged journal, from a number on. Its error is that of the new one.
func salvage(old *store, from int64, made *store) error {
	if err := old.connect(old.path); err != nil {
		return nil //nolint:nilerr // nothing of it can be read, which is what its damage costs
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
