package cli

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// addressed cancels a context when a page, whose address is written to it, shows what was read.
type addressed struct {
	t      *testing.T
	cancel context.CancelFunc
	mu     sync.Mutex
	text   bytes.Buffer
	asked  sync.Once
}

var pageAddress = regexp.MustCompile(`http://[^ ]+/`)

func (a *addressed) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if page := pageAddress.Find(b); page != nil {
		a.asked.Do(func() { go a.wait(string(page)) })
	}
	return a.text.Write(b)
}

func (a *addressed) wait(page string) {
	defer a.cancel()
	for a.t.Context().Err() == nil {
		request, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, page, nil)
		if err != nil {
			a.t.Error(err)
			return
		}
		if r, err := http.DefaultClient.Do(request); err == nil {
			text, _ := io.ReadAll(r.Body)
			r.Body.Close()
			if strings.Contains(string(text), "</html>") && strings.Contains(string(text), "ER") {
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestWatchTakesTime: after a signal the report of a study is written, however long it takes, as the last resort is
// lifted before.
func TestWatchTakesTime(t *testing.T) {
	dir := t.TempDir()
	var out, errs bytes.Buffer
	run := strings.Fields("run --method er --runs 2 --tasks 2 --memory 20 --network mlp network.hidden=4 data.size=8 data.train_per_class=1 data.test_per_class=1 --quiet --no-report --out " +
		dir + "/x")
	if code := execute(t.Context(), run, &out, &errs); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	results, err := filepath.Glob(filepath.Join(dir, "x", "*-s2-*", "result.json"))
	if err != nil || len(results) != 1 {
		t.Fatalf("%v, %v", results, err)
	}
	if err := os.Remove(results[0]); err != nil { // one run has not ended
		t.Fatal(err)
	}
	page := filepath.Join(dir, "r", "report.html")
	lifted := 0
	ctx, cancel := context.WithCancel(t.Context())
	ctx = context.WithValue(ctx, unhurried{}, func() {
		lifted++
		if _, err := os.Stat(page); err == nil {
			t.Error("the report was written before")
		}
	})
	told := &addressed{t: t, cancel: cancel}
	out.Reset()
	code := execute(ctx, []string{"watch", dir + "/x", "--out", dir + "/r"}, &out, told)
	if _, err := os.Stat(page); err != nil || code != exitDone || lifted != 1 ||
		!strings.Contains(told.text.String(), "writing the report. Ctrl-C again ends without it\n") {
		t.Errorf("exit code %d, lifted %d times, %v: %s%s", code, lifted, err, &out, &told.text)
	}
}
