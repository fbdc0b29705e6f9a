package report

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain writes reports where the environment asks for it: it is then the second process of TestTwoWriters.
func TestMain(m *testing.M) {
	if job := os.Getenv("REPORT_CHILD"); job != "" {
		dir, out, _ := strings.Cut(job, "\n")
		if _, err := Write([]string{dir}, out, Options{Known: methods}); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// filesOf reads all files below a folder but the lock.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == LockFile {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[rel] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestTwoWriters: whoever writes last into a folder, two goroutines or another process, all files are of one report.
func TestTwoWriters(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	var dirs []string
	var alone []map[string]string
	for i, level := range []float64{0.4, 0.8, 0.6} { // the same figures, other numbers
		dir := filepath.Join(base, string(rune('a'+i)))
		save(t, dir, []fake{{method: "er", title: "ER", memory: 500, seed: 1, tasks: 3, perTask: 2, level: level, decay: 0.8}})
		out := t.TempDir()
		if _, err := Write([]string{dir}, out, Options{Known: methods}); err != nil {
			t.Fatal(err)
		}
		dirs, alone = append(dirs, dir), append(alone, filesOf(t, out))
	}
	out := filepath.Join(base, "out")
	var writers sync.WaitGroup
	for _, dir := range dirs[:2] {
		writers.Go(func() {
			if _, err := Write([]string{dir}, out, Options{Known: methods}); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Go(func() {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "REPORT_CHILD="+dirs[2]+"\n"+out)
		if text, err := child.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	})
	writers.Wait()
	got := filesOf(t, out)
	for name, text := range got {
		if name == "report.html" {
			continue
		}
		for i := range dirs { // whose report the page is of
			if got["report.html"] == alone[i]["report.html"] && text != alone[i][name] {
				t.Errorf("%s is not of the report whose page it lies beside", name)
			}
		}
	}
	if p := got["report.html"]; p == "" || p != alone[0]["report.html"] && p != alone[1]["report.html"] && p != alone[2]["report.html"] {
		t.Error("the page is none of the three")
	}
}

func TestLockIsHeld(t *testing.T) {
	out := t.TempDir()
	unlock, waited, err := lock(out, time.Second)
	if err != nil || waited {
		t.Fatalf("waited %v, %v", waited, err)
	}
	if _, _, err := lock(out, 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "another process has been writing a report there") {
		t.Errorf("a locked folder: %v", err)
	}
	freed := time.AfterFunc(100*time.Millisecond, unlock)
	defer freed.Stop()
	again, waited, err := lock(out, 10*time.Second)
	if err != nil || !waited {
		t.Fatalf("waited %v, %v", waited, err)
	}
	again()
	taken := t.TempDir()
	if err := os.Mkdir(filepath.Join(taken, LockFile), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, _, err := lock(taken, time.Second); err == nil || !strings.Contains(err.Error(), "cannot be locked") {
		t.Errorf("no file to lock: %v", err)
	}
}
