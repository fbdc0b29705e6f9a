package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gofrs/flock"
	"modernc.org/sqlite/vfs"

	"ocl/internal/input"
	"ocl/internal/lifecycle"
	"ocl/internal/limit"
)

// store is a [Journal] in SQLite. It has one connection, which holds the file alone, so that no other program can come
// between.
type store struct {
	dir, path string
	retain    bool
	log       *slog.Logger // nil for a journal that is being made, or that is damaged
	readOnly  bool
	identity  string       // of the folder, as the file has it; "" in one of before there were any
	lock      *flock.Flock // nil for a journal that is being made, or read without one
	files     *vfs.FS      // through which SQLite reads where readOnly is set

	mu      sync.Mutex // held by whoever uses what is below
	db      *sql.DB
	conn    *sql.Conn
	insert  *sql.Stmt
	setHead *sql.Stmt
	head    head
	wrote   int64 // bytes that the last changes had at most
	logged  int64 // bytes in the log since it was last taken into the file, at most
	broken  error // what every call returns
	mark    *mark // nil for a journal that is only read, or being made
	closed  bool

	moving sync.WaitGroup // takes the log into the file
	end    lifecycle.End
}

// The schema. Its version is PRAGMA user_version. Bytes that people send are blobs, as they need not be text. The sum
// of a row is over all its other columns. The large columns are last: what is before them is read without them.
const (
	schemaVersion = 2
	firstVersion  = 1          // it has no identity
	application   = 0x6f636c31 // "ocl1", in the header of the file
	eventTable    = `CREATE TABLE event (number INTEGER PRIMARY KEY, kind TEXT, time INTEGER, who BLOB, id BLOB, erased INTEGER, sum BLOB, body BLOB, pixels BLOB) STRICT`
	folderTable   = `CREATE TABLE folder (one INTEGER PRIMARY KEY, identity TEXT) STRICT`
	headTable     = `CREATE TABLE head (one INTEGER PRIMARY KEY, first INTEGER, last INTEGER, moved INTEGER, sum BLOB) STRICT`
)

// pageSize is the page size of all our files, in bytes.
const pageSize = 4096

// settings are the settings of the connection, in their order. Each is read again, because SQLite ignores a setting
// that it cannot apply.
var settings = []struct{ name, value, is string }{
	// before the first access: the index of the log is in memory then, and not in a file
	{"locking_mode", "EXCLUSIVE", "exclusive"},
	{"page_size", fmt.Sprint(pageSize), fmt.Sprint(pageSize)},
	{"journal_mode", "WAL", "wal"},
	{"synchronous", "FULL", "2"}, // an fsync before each commit returns
	{"fullfsync", "ON", "1"},     // macOS: fsync alone leaves bytes in the disk's own memory
	{"checkpoint_fullfsync", "ON", "1"},
	{"secure_delete", "ON", "1"},     // what is removed is overwritten
	{"wal_autocheckpoint", "0", "0"}, // it would hide the errors of a checkpoint
	{"temp_store", "MEMORY", "2"},    // no pixels in the folder for temporary files
	{"cell_size_check", "ON", "1"},
	{"trusted_schema", "OFF", "0"},
}

// name is that of the file for SQLite. What is only read is read through a file system that has no way to write: else
// SQLite would take the log into the file.
func (s *store) name() (string, error) {
	const query = "_defensive=1&_dqs=0"
	if s.readOnly {
		name, files, err := vfs.New(onlyRead(s.dir))
		s.files = files
		return (&url.URL{Scheme: "file", Opaque: filepath.Base(s.path), RawQuery: query + "&mode=ro&vfs=" + name}).String(),
			err
	}
	abs, err := filepath.Abs(s.path)
	if err != nil {
		return "", err
	}
	abs = filepath.ToSlash(abs)
	if !strings.HasPrefix(abs, "/") { // a drive of Windows
		abs = "/" + abs
	}
	return (&url.URL{Scheme: "file", Path: abs, RawQuery: query}).String(), nil
}

// onlyRead are the files of a folder. SQLite wants a log, so one that is missing is an empty file.
type onlyRead string

func (dir onlyRead) Open(name string) (fs.File, error) {
	file, _, err := input.Open(filepath.Join(string(dir), name), input.Want{Most: limit.Journal, NoLinks: true})
	if errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(name, walSuffix) {
		return noLog{}, nil
	}
	if err != nil {
		return nil, err
	}
	return file, nil
}

// noLog is an empty file. SQLite asks for no more than its size.
type noLog struct{ fs.FileInfo }

func (noLog) Size() int64                              { return 0 }
func (f noLog) Stat() (fs.FileInfo, error)             { return f, nil }
func (noLog) Read([]byte) (int, error)                 { return 0, io.EOF }
func (noLog) Seek(at int64, _ int) (to int64, _ error) { return at, nil }
func (noLog) Close() error                             { return nil }

// connect opens the file with SQLite. The caller judges its errors.
func (s *store) connect() error {
	name, err := s.name()
	if err != nil {
		return err
	}
	if s.db, err = sql.Open("sqlite", name); err != nil {
		return err
	}
	s.db.SetMaxOpenConns(1)
	if s.conn, err = s.db.Conn(context.Background()); err != nil {
		return err
	}
	for _, set := range settings {
		if err := s.run("PRAGMA " + set.name + " = " + set.value); err != nil {
			return err
		}
	}
	for _, set := range settings {
		var is string
		if err := s.ask("PRAGMA " + set.name).Scan(&is); err != nil {
			return err
		}
		if is != set.is {
			return fmt.Errorf("journal: %s: SQLite has %s %s here, and not %s. Choose a folder on a disk of this machine",
				s.path, set.name, is, set.is)
		}
	}
	return nil
}

// create makes the tables of a new file.
func (s *store) create() error {
	return s.transaction(func() error {
		for _, do := range []string{fmt.Sprintf("PRAGMA application_id = %d", application), eventTable, headTable} {
			if err := s.run(do); err != nil {
				return err
			}
		}
		if err := s.run("INSERT INTO head VALUES (1, ?, ?, ?, ?)", s.head.first, s.head.last, s.head.moved,
			s.head.sum()); err != nil {
			return err
		}
		return s.upgrade()
	})
}

// upgrade gives a file of version 1 its identity, in a transaction of the caller.
func (s *store) upgrade() error {
	for _, do := range []string{fmt.Sprintf("PRAGMA user_version = %d", schemaVersion), folderTable} {
		if err := s.run(do); err != nil {
			return err
		}
	}
	return s.run("INSERT INTO folder VALUES (1, ?)", s.identity)
}

// verify checks that a file is ours, that its parts fit together, and reads its head. Each row is checked when it is
// read.
func (s *store) verify() error {
	damage := func(what string) error {
		return &DamageError{Path: s.path, What: what, Lost: "what cannot be read in it"}
	}
	var app, version int64
	if err := errors.Join(s.ask("PRAGMA application_id").Scan(&app),
		s.ask("PRAGMA user_version").Scan(&version)); err != nil {
		return err
	}
	if app == application && version > schemaVersion {
		return fmt.Errorf("journal: %s: %w: its tables have version %d, and this ocl knows %d. Use that ocl, or choose another folder",
			s.path, ErrNewer, version, schemaVersion)
	}
	if app != application || version < firstVersion {
		return damage(fmt.Sprintf("its header has the numbers %d and %d, and not %d and %d", app, version, application,
			schemaVersion))
	}
	tables, err := s.texts("SELECT sql FROM sqlite_schema ORDER BY name")
	if err != nil {
		return err
	}
	want := []string{eventTable, folderTable, headTable}
	if version == firstVersion {
		want = []string{eventTable, headTable}
	}
	if !slices.Equal(tables, want) {
		return damage("its tables are not those of a journal")
	}
	faults, err := s.texts("PRAGMA quick_check(3)")
	if err != nil {
		return err
	}
	if !slices.Equal(faults, []string{"ok"}) {
		return damage(strings.ReplaceAll(strings.Join(faults, "; "), "\n", " "))
	}
	if version > firstVersion {
		identities, err := s.texts("SELECT identity FROM folder")
		if err != nil {
			return err
		}
		if len(identities) != 1 || !isIdentity(identities[0]) {
			return damage("the row with the identity of its folder is not what was written")
		}
		s.identity = identities[0]
	}
	return s.readHead(damage)
}

// readHead reads the head, and checks that the ends of the table are those that it says.
func (s *store) readHead(damage func(string) error) error {
	rows, err := s.conn.QueryContext(context.Background(), "SELECT one, first, last, moved, sum FROM head")
	if err != nil {
		return err
	}
	defer rows.Close()
	found := 0
	for ; rows.Next(); found++ {
		var one int64
		var sum []byte
		if err := rows.Scan(&one, &s.head.first, &s.head.last, &s.head.moved, &sum); err != nil || one != 1 ||
			string(sum) != string(s.head.sum()) {
			return damage("the row that says which events there are is not what was written")
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if found != 1 || s.head.first < 1 || s.head.last < s.head.first-1 {
		return damage("the row that says which events there are is missing")
	}
	var first, last, n int64
	if err := s.ask("SELECT coalesce(min(number), 0), coalesce(max(number), 0), count(*) FROM event").Scan(&first, &last,
		&n); err != nil {
		return err
	}
	if want := s.head.last - s.head.first + 1; n != want || n > 0 && (first != s.head.first || last != s.head.last) {
		return damage(fmt.Sprintf("it has %d events from %d to %d, and %d from %d to %d were written", n, first, last, want,
			s.head.first, s.head.last))
	}
	return nil
}

// run runs a statement.
func (s *store) run(do string, args ...any) error {
	_, err := s.conn.ExecContext(context.Background(), do, args...)
	return err
}

// ask asks for one row.
func (s *store) ask(what string) *sql.Row {
	return s.conn.QueryRowContext(context.Background(), what)
}

// texts asks for rows of one column.
func (s *store) texts(what string) (all []string, err error) {
	rows, err := s.conn.QueryContext(context.Background(), what)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text sql.NullString
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text.String)
	}
	return all, rows.Err()
}

// prepared is a statement that is prepared once.
func (s *store) prepared(at **sql.Stmt, what string) (*sql.Stmt, error) {
	var err error
	if *at == nil {
		*at, err = s.conn.PrepareContext(context.Background(), what)
	}
	return *at, err
}

// transaction makes changes together or not at all. With an error nothing is changed, unless it is one of the disk.
func (s *store) transaction(do func() error) error {
	if err := s.run("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := do()
	if err == nil {
		err = s.run("COMMIT")
	}
	if err != nil {
		// After some errors SQLite has rolled back by itself. Then this is an error that says so, and the first one counts.
		_ = s.run("ROLLBACK")
	}
	return err
}

// checkpoint takes the log into the file. PASSIVE leaves the log as it is, for the next events to overwrite it;
// TRUNCATE empties it.
func (s *store) checkpoint(mode string) error {
	var busy, logged, moved int64
	if err := s.ask("PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &logged, &moved); err != nil {
		return err
	}
	if busy != 0 || logged != moved {
		return fmt.Errorf("journal: %s: %w: %d of %d pages of the log are in the file", s.path, ErrBroken, moved, logged)
	}
	s.logged = 0
	s.mark.sync()
	return nil
}

// size returns the size of the longer of the two files, and of both together, in bytes.
func (s *store) size() (longer, all int64) {
	for _, name := range []string{s.path, s.path + walSuffix} {
		if info, err := os.Stat(name); err == nil {
			longer, all = max(longer, info.Size()), all+info.Size()
		}
	}
	return longer, all
}

// disconnect closes what connect opened.
func (s *store) disconnect() error {
	var faults []error
	if s.conn != nil {
		faults = append(faults, s.conn.Close())
	}
	if s.db != nil {
		faults = append(faults, s.db.Close())
	}
	if s.files != nil {
		faults = append(faults, s.files.Close())
	}
	s.conn, s.db, s.files = nil, nil, nil
	return errors.Join(faults...)
}

// shut closes what is open.
func (s *store) shut() error {
	s.moving.Wait()
	var faults []error
	for _, stmt := range []*sql.Stmt{s.insert, s.setHead} {
		if stmt != nil {
			faults = append(faults, stmt.Close())
		}
	}
	faults = append(faults, s.disconnect())
	s.mark.sync()
	faults = append(faults, s.mark.close())
	if s.lock != nil {
		faults = append(faults, s.lock.Close())
	}
	return errors.Join(faults...)
}
