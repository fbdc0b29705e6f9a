package journal

import (
	"fmt"

	sqlite3 "modernc.org/sqlite/lib"
)

var _ Journal = (*store)(nil)

// logBytes is the size of the log, in bytes, at which it is copied into the file.
const logBytes = 1000 * pageSize

// held does something while nobody else uses the connection. It judges the error.
func (s *store) held(do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ErrClosed
	case s.broken != nil:
		return s.broken
	}
	return s.judge(do())
}

// judged is judge for a store that nobody else has yet.
func (s *store) judged(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.judge(err)
}

// Append implements [Journal].
func (s *store) Append(events []Event) (first int64, err error) {
	for i := range events {
		if err := events[i].check(); err != nil {
			return 0, err
		}
	}
	err = s.held(func() error {
		first = s.head.last + 1
		if len(events) == 0 {
			return nil
		}
		if s.readOnly {
			return ErrReadOnly
		}
		return s.append(events)
	})
	if err != nil {
		return 0, err
	}
	return first, nil
}

func (s *store) append(events []Event) error {
	insert, err := s.prepared(&s.insert, "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	s.wrote = 4 * pageSize // the pages above the rows, and that of the head
	next := s.head
	err = s.transaction(func() error {
		for _, e := range events {
			next.last++
			r := row{Event: e, nanos: e.Time.UnixNano()}
			r.Number, r.Erased = next.last, false
			s.wrote += int64(len(r.Body)+len(r.Pixels)+len(r.ID)+len(r.Who)) + pageSize
			if _, err := insert.Exec(r.Number, r.Kind, r.nanos, []byte(r.Who), []byte(r.ID), 0, r.sum(), r.Body,
				r.Pixels); err != nil {
				return err
			}
		}
		return s.setHeadTo(next)
	})
	if err != nil {
		return err
	}
	s.head = next
	s.mark.set(next.last)
	s.grown()
	return nil
}

// setHeadTo writes the head, in a transaction of the caller, who keeps it when that is committed.
func (s *store) setHeadTo(h head) error {
	set, err := s.prepared(&s.setHead, "UPDATE head SET first = ?, last = ?, moved = ?, sum = ?")
	if err != nil {
		return err
	}
	_, err = set.Exec(h.first, h.last, h.moved, h.sum())
	return err
}

// grown notes how much the log has grown, and has it taken into the file when it is long, after the caller has let
// others go on. The events are on the disk before; so where there is no room, the log goes on to grow. The caller holds
// the lock.
func (s *store) grown() {
	s.logged += s.wrote
	if s.logged < logBytes {
		return
	}
	s.moving.Add(1)
	go func() {
		defer s.moving.Done()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closed || s.broken != nil || s.logged < logBytes {
			return
		}
		if err := s.checkpoint("PASSIVE"); primary(err) == sqlite3.SQLITE_FULL {
			s.logged = 0 // tried again later
		} else {
			_ = s.judge(err) // the next call returns it
		}
	}()
}

// trimmed is the number of events that one step of Trim removes. Others wait while their pages are overwritten.
const trimmed = 32

// Trim implements [Journal].
func (s *store) Trim(before int64) error {
	for more := true; more; {
		err := s.held(func() error {
			if s.readOnly {
				return ErrReadOnly
			}
			next := s.head
			next.first, next.moved = min(before, s.head.last+1, s.head.first+trimmed), true
			if s.retain || next.first <= s.head.first {
				more = false
				return nil
			}
			s.wrote = (next.first - s.head.first + 4) * 2 * pageSize
			err := s.transaction(func() error {
				if err := s.run("DELETE FROM event WHERE number < ?", next.first); err != nil {
					return err
				}
				return s.setHeadTo(next)
			})
			if err != nil {
				return err
			}
			s.head = next
			s.grown()
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Size implements [Journal].
func (s *store) Size() (bytes, rows int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, bytes = s.size()
	return bytes, s.head.last - s.head.first + 1
}

// Full implements [Journal]. It tries no more than what is taken from the log into the file at once.
func (s *store) Full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.closed && !s.readOnly && s.broken == nil && s.noRoom(min(s.wrote, logBytes))
}

// First implements [Journal].
func (s *store) First() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.head.first
}

// Last implements [Journal].
func (s *store) Last() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.head.last
}

// Close implements [Journal].
func (s *store) Close() error {
	return s.end.Do(func() error {
		s.mu.Lock() // what is under way ends
		s.closed = true
		s.mu.Unlock()
		if err := s.shut(); err != nil {
			return fmt.Errorf("journal: closing %s: %w. What was acknowledged is kept", s.path, err)
		}
		return nil
	})
}
