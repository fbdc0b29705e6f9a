package watch

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"ocl/internal/browsertest"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/sweep/study"
)

// boardOf is the page of a study of 60 jobs, of which so many are done and others are at work.
func boardOf(done int) []byte {
	mean := 0.4121
	var jobs []study.Entry
	var runs []*progress.Run
	add := func(n int, name string, memory int, st progress.State) {
		for range n {
			jobs = append(jobs, study.Entry{Name: name, Memory: memory, Data: "mnist", Seed: uint64(len(jobs))})
			runs = append(runs, &progress.Run{Name: jobs[len(jobs)-1].String(), Steps: 1000, State: st})
		}
	}
	working := func(host string, pid int) progress.State {
		return progress.State{Phase: progress.Running,
			Progress: progress.Progress{Host: host, PID: pid, Step: 125, Task: 2, Tasks: 10, Seen: &mean}}
	}
	add(done, "er", 100, progress.State{Phase: progress.Done, Outcome: result.Finished, Accuracy: &mean})
	add(1, "er", 100, working("desk", 1))
	add(4, "er", 100, working("desk", 2))
	add(20, "er", 100, working("far\u202eaway", 1))
	add(1, "agem", 0, progress.State{Phase: progress.Failed, Error: "<script>alert(1)</script>\nand more"})
	add(60-len(jobs), "agem", 0, progress.State{Phase: progress.Waiting})
	return Board("quick<b>", jobs, runs)
}

func listenHere(t *testing.T) (net.Listener, string) {
	t.Helper()
	on, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return on, "http://" + on.Addr().String() + "/"
}

// TestBoard: the page says how far the study is to those who ask this machine, escapes names, and counts what is not
// listed. It is read only.
func TestBoard(t *testing.T) {
	on, address := listenHere(t)
	t.Cleanup(ServeBoard(on, "", func() []byte { return boardOf(12) }, func() []byte { return []byte("{\"done\": 12}\n") }))
	a := get(t, http.MethodGet, address, "")
	for _, want := range []string{"12 of 60 jobs done, 25 running, 1 failed, 22 waiting", "41.2\u00a0%",
		`desk</td><td class="n">2</td><td class="n">5</td>`, `er, memory 100, on mnist</td><td class="n">12 of 37`,
		`er m100 s12</td><td>desk</td><td>task 2/10</td><td class="n">12&nbsp;%`, "and 5 more", "quick&lt;b&gt;", "&lt;script&gt;alert(1)"} {
		if !strings.Contains(a.text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if a.code != http.StatusOK || strings.Contains(a.text, "\u202e") ||
		!strings.Contains(a.header.Get("Content-Security-Policy"), "script-src 'sha256-") {
		t.Errorf("code %d, %v", a.code, a.header)
	}
	if j := get(t, http.MethodGet, address+"status.json", "localhost:1"); j.text != "{\"done\": 12}\n" ||
		j.header.Get("Content-Type") != "application/json" {
		t.Errorf("%+v", j)
	}
	if a := get(t, http.MethodGet, address, "evil.example"); a.code != http.StatusForbidden ||
		!strings.Contains(a.text, "`ocl sweep --status`") {
		t.Errorf("another name: %+v", a)
	}
	if a := get(t, http.MethodPost, address, ""); a.code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", a.code)
	}
}

// TestBoardInABrowser: in Chromium the page follows the study, on a phone and on a screen.
func TestBoardInABrowser(t *testing.T) {
	browser := browsertest.Start(t)
	for name, size := range map[string][2]int64{"board-390": {390, 844}, "board-1440": {1440, 900}} {
		t.Run(name, func(t *testing.T) {
			var done atomic.Int64
			on, address := listenHere(t)
			stop := ServeBoard(on, "", func() []byte { return boardOf(int(done.Load())) }, func() []byte { return nil })
			t.Cleanup(stop)
			ctx := browser.Visit(t, address, size[0], size[1])
			wait := func(text string) {
				t.Helper()
				err := chromedp.Run(ctx, browsertest.Holds("document.getElementById('board').innerText.includes("+quoted(text)+")"))
				if err != nil {
					t.Fatalf("the page does not come to say %q: %v", text, err)
				}
			}
			wait("0 of 60 jobs done")
			browsertest.Shoot(t, ctx, name)
			done.Store(30)
			wait("30 of 60 jobs done")
			var fits bool
			if err := chromedp.Run(ctx, chromedp.Evaluate("document.documentElement.scrollWidth<=innerWidth",
				&fits)); err != nil || !fits {
				t.Errorf("the page is wider than the screen (error %v)", err)
			}
		})
	}
}
