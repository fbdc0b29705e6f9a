package daemon

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ocl/serve/journal"
)

// logText is a log that a test reads while it is written.
type logText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logText) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// TestSalvage: a daemon whose journal was put aside goes on with what is whole in it and says what is lost, and Verify
// takes its folder, with a snapshot from before.
func TestSalvage(t *testing.T) {
	dir, o := t.TempDir(), small()
	o.HeldOut = 0
	d := open(t, dir, o)
	learn(t, d, samples(0, 20))
	applied(t, d)
	d = again(t, d, dir, o)
	learn(t, d, samples(20, 20))
	applied(t, d)
	bad := crashed(t, dir)
	snapshots, err := journal.Snapshots(bad).Numbers()
	if err != nil || len(snapshots) != 2 {
		t.Fatalf("snapshots %v, %v", snapshots, err)
	}
	text, err := os.ReadFile(filepath.Join(bad, "journal.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	spoilt := samples(30, 1)[0].Pixels
	if bytes.Count(text, spoilt) == 0 {
		t.Fatal("the log does not have the picture")
	}
	if err := os.WriteFile(filepath.Join(bad, "journal.db-wal"), bytes.ReplaceAll(text, spoilt, samples(99, 1)[0].Pixels),
		0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(bad, o); err == nil || !strings.Contains(err.Error(), "rename journal.db to journal.db.damaged") {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(bad, "journal.db"), filepath.Join(bad, "journal.db.damaged")); err != nil {
		t.Fatal(err)
	}
	var log logText
	o.Log = log.logger()
	d = open(t, bad, o)
	if _, there := d.Sample("id-19"); !there {
		t.Error("a sample of the snapshot is not there")
	}
	if _, there := d.Sample("id-39"); there {
		t.Error("the last sample is there")
	}
	if text := log.String(); !strings.Contains(text, "made anew from what is whole in the damaged one") ||
		!strings.Contains(text, " lost=") {
		t.Error(text)
	}
	learn(t, d, samples(20, 20)) // clients send them again
	applied(t, d)
	end(t, d)
	if r, err := Verify(t.Context(), bad, Options{}); err != nil || !r.Same() || r.From != snapshots[1] {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestForgetBesideADamagedJournal: of a sample that was left out of the new journal nobody says that it is nowhere, as
// long as the damaged one is there.
func TestForgetBesideADamagedJournal(t *testing.T) {
	dir, o := t.TempDir(), small()
	o.HeldOut = 0
	d := open(t, dir, o)
	learn(t, d, samples(0, 5))
	applied(t, d)
	d = again(t, d, dir, o)
	learn(t, d, samples(5, 5))
	bad := crashed(t, dir)
	text, err := os.ReadFile(filepath.Join(bad, "journal.db-wal"))
	if err == nil {
		text = bytes.ReplaceAll(text, []byte("id-5"), []byte("id-X"))
		err = os.WriteFile(filepath.Join(bad, "journal.db-wal"), text, 0o600)
	}
	if err := errors.Join(err, os.Rename(filepath.Join(bad, "journal.db"),
		filepath.Join(bad, "journal.db.damaged"))); err != nil {
		t.Fatal(err)
	}
	d = open(t, bad, o)
	if _, there := d.Sample("id-9"); there {
		t.Fatal("the sample was not left out")
	}
	for _, w := range []Which{{IDs: []string{"id-9"}}, {Digest: Digest(samples(9, 1)[0].Pixels)},
		{IDs: []string{"id-8", "id-9"}}} {
		_, err := d.Forget(t.Context(), w, "")
		if !errors.Is(err, ErrPutAside) || !strings.Contains(err.Error(),
			"Remove journal.db.damaged and journal.db.damaged-wal in the folder of the daemon, and send this again") {
			t.Errorf("%+v: %v", w, err)
		}
	}
	if err := errors.Join(os.Remove(filepath.Join(bad, "journal.db.damaged")),
		os.Remove(filepath.Join(bad, "journal.db.damaged-wal"))); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Forget(t.Context(), Which{IDs: []string{"id-9"}}, ""); !errors.Is(err, ErrNobody) {
		t.Error(err)
	}
	files, err := filepath.Glob(filepath.Join(bad, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil && bytes.Contains(text, samples(9, 1)[0].Pixels) {
			t.Errorf("%s has the picture", name)
		}
	}
}
