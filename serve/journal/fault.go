package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// code is SQLite's extended code of an error, 0 where it is none of SQLite.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

// primary is the kind of SQLite's code.
func primary(err error) int { return code(err) & 0xff }

// judge says what an error of SQLite means for the journal. After anything but a lack of room the journal is broken:
// whether a write or an fsync that failed is on the disk, nobody knows, and asking again would be answered with success
// (fsyncgate). Other errors than SQLite's come back as they are. The caller holds the lock of s.
func (s *store) judge(err error) error {
	switch {
	case err == nil, code(err) == 0:
		return err
	case primary(err) == sqlite3.SQLITE_FULL, code(err) == sqlite3.SQLITE_IOERR_WRITE && s.noRoom(s.wrote):
		return fmt.Errorf("journal: %s: %w (%w). Make room; nothing was changed", s.path, ErrNoRoom, err)
	case primary(err) == sqlite3.SQLITE_CORRUPT, primary(err) == sqlite3.SQLITE_NOTADB:
		s.broken = &DamageError{Path: s.path, What: err.Error(), Lost: "what cannot be read in it"}
	case primary(err) == sqlite3.SQLITE_BUSY:
		s.broken = fmt.Errorf("journal: %s: %w: another program has it open (%w). Close that program, and start again",
			s.path, ErrBusy, err)
	case primary(err) == sqlite3.SQLITE_CANTOPEN, primary(err) == sqlite3.SQLITE_READONLY,
		primary(err) == sqlite3.SQLITE_PERM:
		s.broken = fmt.Errorf("journal: %s cannot be written (%w). Give this user the right to write it, or choose another folder",
			s.path, err)
	default:
		s.broken = fmt.Errorf("journal: %s: %w (%w). Look after the disk, and start again: what was acknowledged is kept",
			s.path, ErrBroken, err)
	}
	return s.broken
}

// noRoom finds out whether a write failed because there was no room. SQLite tells a full disk from a broken one, but
// not a full quota, nor a limit on the size of files. So as many bytes are written as failed at most, into a file as
// long as the journal would be (TestFaults, TestFullDisk).
func (s *store) noRoom(bytes int64) bool {
	path := filepath.Join(s.dir, roomName)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		end, _ := s.size()
		_, err = f.WriteAt(make([]byte, max(bytes, pageSize)), end)
		if err == nil {
			err = f.Sync()
		}
		_, _ = f.Close(), os.Remove(path) // clean removes what stays
	}
	return isFull(err)
}

// isFull says whether an error of the system is for want of room.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
