package journal

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"ocl/internal/atomicfile"
	"ocl/internal/cause"
	"ocl/internal/input"
	"ocl/internal/limit"
)

// Open opens the journal in the folder of a daemon, and locks the folder until Close. A folder that is missing or empty
// is set up.
//
// Errors are ErrBusy, ErrNewer and ErrOther, a [*DamageError], fs.ErrNotExist for a missing folder that is only to be
// read, and those of the disk. Each says what can be done.
func Open(dir string, o Options) (Journal, error) {
	if o.ReadOnly {
		if _, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("journal: %w. Name the folder of a daemon", err)
		}
	} else if err := makeFolder(dir); err != nil {
		return nil, fmt.Errorf("journal: the folder cannot be made: %w. Choose another one", err)
	}
	if _, err := input.ReadDir(dir); err != nil { // before a lock is made in what is no folder
		return nil, fmt.Errorf("journal: %w", err)
	}
	if o.ReadOnly {
		if f, err := known(dir); err != nil {
			return nil, err
		} else if !f.Complete {
			return nil, fmt.Errorf("journal: %s: %w: it is empty. Name the folder of a daemon", dir, ErrOther)
		}
	}
	lock, err := lockFolder(dir, o.ReadOnly)
	if err != nil {
		return nil, err
	}
	s := &store{dir: dir, path: filepath.Join(dir, dbName), retain: o.Retain, readOnly: o.ReadOnly, lock: lock,
		log: cmp.Or(o.Log, slog.New(slog.DiscardHandler))}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.shut())
	}
	return s, nil
}

// open sets up what is not there yet, checks the files, and connects.
func (s *store) open() error {
	f, err := known(s.dir)
	if err != nil {
		return err
	}
	if !s.readOnly {
		if err := errors.Join(clean(s.dir), tighten(s.dir)); err != nil {
			return err
		}
	}
	if !f.Complete { // nothing was acknowledged in this folder so far
		if f, err = s.setUp(f); err != nil {
			return err
		}
	}
	if err := s.isWhole(f); err != nil {
		return err
	}
	// What is refused is only read (TestWayOn): SQLite takes a damaged frame of its log as the end of it, and
	// would remove what follows when it closes the files.
	only := s.readOnly
	s.readOnly = true
	if err := s.connect(); err != nil {
		return s.judged(err)
	}
	if err := s.verify(); err != nil {
		return s.judged(err)
	}
	identity, err := s.belongs(f)
	if err != nil || only {
		return err
	}
	s.readOnly = false
	if err := s.disconnect(); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if err := s.connect(); err != nil {
		return s.judged(err)
	}
	if err := s.belong(f, identity); err != nil {
		return err
	}
	if s.mark, err = openMark(s.dir, s.identity); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	s.mark.set(s.head.last)
	// The log is there now. Its name has to survive a power cut as its bytes do, and SQLite does not tell whether that
	// worked.
	if err := atomicfile.SyncFolder(s.dir); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	// the log goes on to grow there, as in grown
	if err := s.judged(s.checkpoint("TRUNCATE")); !errors.Is(err, ErrNoRoom) {
		return err
	}
	return nil
}

// makeFolder makes the folder of a daemon, which nobody but its owner may enter. One that is there becomes so later,
// when it is known to be ours.
func makeFolder(dir string) error {
	there, err := isThere(dir)
	switch {
	case err != nil:
		return err
	case there:
		return atomicfile.MakeFolder(dir)
	}
	return atomicfile.MakePrivateFolder(dir)
}

// setUp makes a new journal in an empty folder, step by step so that it can be cut short anywhere and done again.
func (s *store) setUp(f format) (format, error) {
	if f.Format = formatWord; f.Identity == "" {
		f.Identity = newIdentity()
	}
	if err := writeFormat(s.dir, false, f.Identity); err != nil {
		return f, err
	}
	if err := writeMark(s.dir, f.Identity, 0); err != nil {
		return f, err
	}
	if there, err := isThere(s.path); err != nil {
		return f, fmt.Errorf("journal: %w", err)
	} else if !there {
		if err := s.make(f.Identity, head{first: 1}, nil); err != nil {
			return f, err
		}
	}
	return f, writeFormat(s.dir, true, f.Identity)
}

// make makes a new journal in one step: with a head, and with the events that fill appends.
func (s *store) make(identity string, h head, fill func(*store) error) error {
	made := &store{dir: s.dir, path: filepath.Join(s.dir, newName), head: h, identity: identity}
	// SQLite makes its other files with the rights of this one.
	file, err := os.OpenFile(made.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = errors.Join(file.Close(), atomicfile.Tighten(made.path, 0o600))
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	err = made.connect()
	if err == nil {
		err = made.create()
	}
	if err = made.judged(err); err == nil && fill != nil {
		err = fill(made)
		made.moving.Wait()
	}
	if err == nil {
		err = made.judged(made.checkpoint("TRUNCATE"))
	}
	if err = errors.Join(err, made.shut()); err != nil {
		return err
	}
	if err := os.Rename(made.path, s.path); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if err := atomicfile.SyncFolder(s.dir); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// isWhole checks that the journal is there and begins as one, or mends it, before SQLite opens it.
func (s *store) isWhole(f format) error {
	there, err := isThere(s.path)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if !there {
		damaged, err := isThere(filepath.Join(s.dir, damagedName))
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		d := &DamageError{Path: s.path, Whole: true, What: "it is missing",
			Lost: "all samples acknowledged since the newest snapshot",
			Way:  fmt.Sprintf("make an empty file %s and start again", damagedName)}
		if damaged {
			d.What, d.Lost = fmt.Sprintf("it was put aside as %s, and a new one was not made yet", damagedName),
				"what cannot be read in that"
			d.Way = "start ocl serve with the folder"
		}
		if !damaged || s.readOnly {
			return d
		}
		if err := s.mend(f); err != nil {
			return err
		}
	}
	file, _, err := input.Open(s.path, input.Want{Most: limit.Journal, Magic: "SQLite format 3\x00", Format: "a journal",
		NoLinks: true})
	if errors.Is(err, input.ErrMagic) {
		return &DamageError{Path: s.path, What: cause.Of(err).Error(),
			Lost: "all samples acknowledged since the newest snapshot"}
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}
