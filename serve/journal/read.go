package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// readAtOnce is the number of events that are read while others wait.
const readAtOnce = 64

// Read implements [Journal].
func (s *store) Read(from int64, each func(Event) error) error {
	// Whoever wants one event reads one, and whoever wants all soon reads many at once.
	for n := 1; ; n = min(4*n, readAtOnce) {
		var events []Event
		err := s.held(func() (err error) {
			from = max(from, s.head.first)
			if from > s.head.last {
				return nil
			}
			events, err = s.rows(from, n)
			return err
		})
		for _, e := range events { // those before a damaged one too
			if err := each(e); err != nil {
				return err
			}
			from++
		}
		if err != nil || len(events) == 0 {
			return err
		}
	}
}

const selectRows = "SELECT number, kind, time, who, id, erased, sum, body, pixels FROM event WHERE number >= ? ORDER BY number"

// rowOf is a row that was selected, and what is wrong with it; "" is nothing.
func rowOf(rows *sql.Rows) (r row, wrong string) {
	var who, id, sum []byte
	if err := rows.Scan(&r.Number, &r.Kind, &r.nanos, &who, &id, &r.Erased, &sum, &r.Body, &r.Pixels); err != nil {
		return r, fmt.Sprintf("a column has the wrong type (%v)", err)
	}
	r.Who, r.ID = string(who), string(id)
	if string(sum) != string(r.sum()) {
		return r, fmt.Sprintf("its checksum (CRC-32C) is %x instead of %x", r.sum(), sum)
	}
	return r, ""
}

// whole counts the rows from a number on that are whole, as far as they can be read.
func (s *store) whole(from int64) (n int64) {
	rows, err := s.conn.QueryContext(context.Background(), selectRows, from)
	if err != nil {
		return 0
	}
	defer rows.Close()
	for rows.Next() {
		if _, wrong := rowOf(rows); wrong == "" {
			n++
		}
	}
	_ = rows.Err() // the file is damaged, so it may be read no further
	return n
}

// rows reads n events from a number on, or fewer up to the last. Those before an error are whole.
func (s *store) rows(from int64, n int) (events []Event, err error) {
	damage := func(what string) error {
		at := from + int64(len(events))
		return &DamageError{Path: s.path, Number: at, What: what, Lost: fmt.Sprintf("the events %d to %d", at, s.head.last)}
	}
	rows, err := s.conn.QueryContext(context.Background(), selectRows+" LIMIT ?", from, n)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		r, wrong := rowOf(rows)
		switch {
		case r.Number != from+int64(len(events)):
			return events, damage("it is missing")
		case wrong != "":
			return events, damage(wrong)
		}
		r.Time = time.Unix(0, r.nanos).UTC()
		if r.Erased {
			r.Body, r.Pixels = nil, nil
		}
		events = append(events, r.Event)
	}
	err = errors.Join(rows.Err(), rows.Close())
	if primary(err) == sqlite3.SQLITE_CORRUPT {
		return events, damage(err.Error())
	}
	if last := from + int64(len(events)) - 1; err == nil && len(events) < n && last < s.head.last {
		return events, damage("it is missing")
	}
	return events, err
}
