package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ocl/internal/atomicfile"
)

// Erase implements [Journal]. A row keeps its length: zeros of the same number replace its bytes, so that SQLite writes
// them in its place and moves nothing. Rows that were removed earlier may have left bytes of other rows behind, as
// SQLite moves rows between pages then (TestMovedRows); so the file is written anew after that. Then the log is
// emptied, which has the pages of before, and a damaged journal that a person has put aside goes: nothing can be erased
// in it.
func (s *store) Erase(ids []string) error {
	wanted := make(map[string]bool, len(ids))
	for _, id := range ids {
		if id != "" {
			wanted[id] = true
		}
	}
	return s.held(func() error {
		if s.readOnly {
			return ErrReadOnly
		}
		rows, err := s.rowsOf(wanted)
		if err != nil {
			return err
		}
		if err := s.blank(rows); err != nil {
			return err
		}
		if s.head.moved {
			if err := s.rewrite(); err != nil {
				return err
			}
		}
		if err := s.checkpoint("TRUNCATE"); err != nil {
			return err
		}
		return s.dropDamaged()
	})
}

// damagedNames are the files of a damaged journal.
var damagedNames = []string{damagedName, damagedName + walSuffix, damagedName + "-shm", damagedName + "-journal"}

// PutAside are the names of the files of a damaged journal in the folder of a daemon: what was left out of the new one
// may be in them.
func PutAside(dir string) (names []string) {
	for _, name := range damagedNames {
		if there, err := isThere(filepath.Join(dir, name)); there || err != nil {
			names = append(names, name)
		}
	}
	return names
}

// dropDamaged removes a damaged journal that mend has used.
func (s *store) dropDamaged() error {
	removed := false
	for _, name := range damagedNames {
		there, err := isThere(filepath.Join(s.dir, name))
		if err == nil && !there {
			continue
		}
		if err == nil {
			err = os.Remove(filepath.Join(s.dir, name))
		}
		if err != nil {
			return fmt.Errorf("journal: the damaged journal stays, and may have what is to be erased: %w. Remove it by hand",
				err)
		}
		removed = true
	}
	if removed {
		return atomicfile.SyncFolder(s.dir)
	}
	return nil
}

// rowsOf finds the rows of some ids that have something to be erased. It looks through all: an index would cost each
// append more than it saves here, and a damaged one would hide a row.
func (s *store) rowsOf(ids map[string]bool) (all []row, err error) {
	rows, err := s.conn.QueryContext(context.Background(),
		"SELECT number, kind, time, who, id, coalesce(length(body), 0), coalesce(length(pixels), 0) FROM event WHERE erased = 0")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		r := row{}
		var who, id []byte
		var body, pixels int
		if err := rows.Scan(&r.Number, &r.Kind, &r.nanos, &who, &id, &body, &pixels); err != nil {
			return nil, err
		}
		if !ids[string(id)] {
			continue
		}
		r.Who, r.ID, r.Erased = string(who), string(id), true
		r.Body, r.Pixels = make([]byte, body), make([]byte, pixels)
		all = append(all, r)
	}
	return all, errors.Join(rows.Err(), rows.Close())
}

// blank replaces the bytes of rows by zeros.
func (s *store) blank(rows []row) error {
	if len(rows) == 0 {
		return nil
	}
	s.wrote = 0
	return s.transaction(func() error {
		for _, r := range rows {
			s.wrote += int64(len(r.Body)+len(r.Pixels)) + 2*pageSize
			err := s.run("UPDATE event SET erased = 1, sum = ?, body = zeroblob(?), pixels = zeroblob(?) WHERE number = ?",
				r.sum(), len(r.Body), len(r.Pixels), r.Number)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// rewrite writes the file anew, without what was left between the rows.
func (s *store) rewrite() error {
	s.wrote, _ = s.size()
	if err := s.run("VACUUM"); err != nil {
		return err
	}
	next := s.head
	next.moved = false
	if err := s.transaction(func() error { return s.setHeadTo(next) }); err != nil {
		return err
	}
	s.head = next
	return nil
}
