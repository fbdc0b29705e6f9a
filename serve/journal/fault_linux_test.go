package journal

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ocl/internal/faulttest"
)

// TestFaults lets each write, fsync and other change of the files fail once, with the errors of a broken and of a full
// disk, and kills the process before each. What was acknowledged is there afterwards, and a failed fsync ends the
// journal.
func TestFaults(t *testing.T) {
	run := func(decide func(faulttest.Op) faulttest.Verdict) (dir, out string, killed bool) {
		t.Helper()
		top := t.TempDir()
		dir = filepath.Join(top, "served")
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childFolder+"="+dir, childTask+"=faults", "GOMAXPROCS=1")
		var text, faults bytes.Buffer
		child.Stdout, child.Stderr = &text, &faults
		killed, err := faulttest.Run(child, "journal.test", top, decide)
		if errors.Is(err, faulttest.ErrNoTraps) {
			t.Skip(err)
		}
		if err != nil && !killed {
			t.Errorf("%v: %s%s", err, text.String(), faults.String())
		}
		return dir, text.String(), killed
	}
	var ops []faulttest.Op
	dir, out, _ := run(func(o faulttest.Op) faulttest.Verdict { ops = append(ops, o); return faulttest.Verdict{} })
	acknowledged, erased := answers([]byte(out))
	if checkKept(t, dir, acknowledged, erased); acknowledged != 20 || len(ops) < 60 || t.Failed() {
		t.Fatalf("%d events were acknowledged in %d operations: %s", acknowledged, len(ops), out)
	}
	verdicts := []faulttest.Verdict{{Err: syscall.EIO}, {Err: syscall.ENOSPC}, {Kill: true}}
	broken, full := 0, 0
	for i, at := range ops {
		for k, v := range verdicts {
			if os.Getenv("OCL_LONG") == "" && (i+k)%4 != 0 || at.Call == "close" {
				continue
			}
			dir, out, killed := run(func(o faulttest.Op) faulttest.Verdict {
				if o.N == at.N {
					return v
				}
				return faulttest.Verdict{}
			})
			acknowledged, erased := answers([]byte(out))
			if checkKept(t, dir, acknowledged, erased); t.Failed() {
				t.Fatalf("%v, %+v:\n%s", at, v, out)
			}
			name := filepath.Base(at.Path)
			ours := name == dbName || name == dbName+walSuffix
			told := strings.Contains(out, "broken:") || strings.Contains(out, "opening:") || strings.Contains(out, "no room:")
			if ours && at.Call == "fsync" && !killed && v.Err != 0 {
				if !strings.Contains(out, "broken:") && !strings.Contains(out, "opening:") && !lastSync(ops, at) {
					t.Fatalf("%v, %v: nothing broke:\n%s", at, v.Err, out)
				}
				broken++
			}
			if ours && at.Call == "write" && !killed && v.Err == syscall.ENOSPC && strings.Contains(out, "no room:") {
				full++
			}
			if ours && at.Call == "write" && v.Err == syscall.EIO && !told && !lastSync(ops, at) {
				t.Fatalf("%v, %v: nobody was told:\n%s", at, v.Err, out)
			}
		}
	}
	t.Logf("%d operations; %d failed fsyncs ended the journal, and %d writes had no room", len(ops), broken, full)
	if broken == 0 || full == 0 {
		t.Errorf("%d failed fsyncs were told, and %d writes without room", broken, full)
	}
}

// lastSync says whether an operation comes after everything that is acknowledged: while SQLite closes the file, it
// takes the log in again, and tells nobody where it fails, as the log stays then.
func lastSync(ops []faulttest.Op, at faulttest.Op) bool {
	snapshots := 0
	for _, o := range ops[:at.N] {
		if strings.Contains(o.Path, snapshotsName) {
			snapshots++
		}
	}
	return snapshots > 0
}

// TestFullDisk: where the files may not grow, an append says that there is no room and changes nothing; later ones work
// again.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	j := opened(t, dir, Options{})
	for j.Last() < 5000 { // the files are longer than all that package testing writes meanwhile, which has the limit too
		appended(t, j, 250)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	longer, _ := j.size()
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE,
		&syscall.Rlimit{Cur: uint64(longer) + 5*pageSize, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	var full error
	last := int64(0)
	for full == nil && last < 25_000 {
		last = j.Last()
		_, full = j.Append(samples(last+1, 50))
	}
	after := j.Last()
	_, again := j.Append(samples(after+1, 50))
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{full, again} {
		if !errors.Is(err, ErrNoRoom) || !strings.Contains(err.Error(), "Make room") {
			t.Errorf("full: %v", err)
		}
	}
	if after != last {
		t.Errorf("%d events were appended to a full disk", after-last)
	}
	holds(t, j, 1, last)
	appended(t, j, 50)
	closed(t, j)
	holds(t, opened(t, dir, Options{}), 1, last+50)
	if entries, _ := os.ReadDir(dir); len(entries) > 5 {
		t.Errorf("the folder has %v", entries)
	}
}
