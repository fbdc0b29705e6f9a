package watch

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ocl/config"
	"ocl/internal/lifecycle/lifecycletest"
	"ocl/internal/limit"
	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/sweep/study"
	"ocl/view/known"
	"ocl/view/report"
)

// made is an experiment of two methods that has ended, and is made once.
var made = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ocl-watch-")
	if err != nil {
		return "", err
	}
	c := config.Default()
	c.Methods, c.Memory, c.Seed = []string{"finetune", "er"}, 20, 1
	c.Data.Size, c.Data.TrainPerClass, c.Data.TestPerClass, c.Stream.Tasks = 8, 4, 2, 4
	c.Network.Name, c.Network.Hidden = "mlp", []int{8}
	_, err = experiment.Run(context.Background(), c, experiment.Options{Out: dir, Workers: 1, Concurrency: 1})
	return dir, err
})

// live is a copy of the experiment in which ER has not ended: its events end after so many evaluations.
type live struct {
	t      *testing.T
	dir    string // of the experiment
	run    string // folder of ER
	lines  []string
	result []byte
	now    time.Time
}

func copied(t *testing.T, evaluations int) *live {
	t.Helper()
	from, err := made()
	if err != nil {
		t.Fatal(err)
	}
	l := &live{t: t, dir: filepath.Join(t.TempDir(), "x")}
	if err := os.CopyFS(l.dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	runs, err := filepath.Glob(filepath.Join(l.dir, "er-*"))
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	l.run = runs[0]
	text, err := os.ReadFile(l.events())
	if err != nil {
		t.Fatal(err)
	}
	l.lines = strings.SplitAfter(string(text), "\n")
	if l.result, err = os.ReadFile(filepath.Join(l.run, experiment.ResultFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(l.run, experiment.ResultFile)); err != nil {
		t.Fatal(err)
	}
	l.write(l.events(), "")
	l.goOn(evaluations)
	return l
}

func (l *live) events() string { return filepath.Join(l.run, experiment.EventsFile) }

func (l *live) write(path, text string) {
	l.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		l.t.Fatal(err)
	}
}

// goOn adds the events up to so many further evaluations.
func (l *live) goOn(evaluations int) {
	l.t.Helper()
	f, err := os.OpenFile(l.events(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		l.t.Fatal(err)
	}
	defer f.Close()
	for evaluations > 0 && len(l.lines) > 0 {
		line := l.lines[0]
		l.lines = l.lines[1:]
		if _, err := f.WriteString(line); err != nil {
			l.t.Fatal(err)
		}
		var e result.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			l.t.Fatal(err)
		}
		if l.now, err = time.Parse(result.EventTime, e.Time); err != nil {
			l.t.Fatal(err)
		}
		if e.Event == result.EventEvaluation {
			evaluations--
		}
	}
}

// end writes the result of the run.
func (l *live) end() { l.write(filepath.Join(l.run, experiment.ResultFile), string(l.result)) }

// watcher watches it a moment after the last event.
func (l *live) watcher() *Watcher {
	return watcherOf(l.dir, func() time.Time { return l.now.Add(time.Second) })
}

func watcherOf(dir string, now func() time.Time) *Watcher {
	return New(dir, Options{Report: report.Options{Known: known.Methods(), Tricks: known.Tricks(),
		Catalogue: experiment.Schema()}, Now: now})
}

func (l *live) finished() *result.Result {
	l.t.Helper()
	r, err := result.Read(filepath.Join(l.run, experiment.ResultFile))
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

// job is the job of ER.
func jobOf(t *testing.T, s *State) *progress.Run {
	t.Helper()
	for _, j := range s.Jobs {
		if j.Name == "er s1" {
			return j
		}
	}
	t.Fatalf("no job er s1 in %+v", s.Jobs)
	return nil
}

// TestRunAtWork: what a run measures is seen as its events come, and is what its result says in the end.
func TestRunAtWork(t *testing.T) {
	l := copied(t, 0)
	w := l.watcher()
	s := w.Look()
	if s.Kind != "experiment" || len(s.Jobs) != 2 || progress.Count(s.Jobs).Done != 1 || s.Over() {
		t.Errorf("before its first event: %+v", s)
	}
	for evaluations := 1; evaluations <= 4; evaluations++ {
		l.goOn(1)
		s = w.Look()
		j := jobOf(t, s)
		if j.Phase != progress.Running || j.Progress.Task != evaluations || j.Progress.Tasks != 4 ||
			j.Progress.Seen == nil || !(math.Abs(j.Share()-float64(evaluations)/4) < 0.15) || s.Over() {
			t.Errorf("after %d evaluations: %+v", evaluations, j)
		}
		at := s.found[len(s.found)-1].Result
		if s.found[0].Result.Outcome.State == result.Running {
			at = s.found[0].Result
		}
		if at.Outcome.State != result.Running || len(at.Accuracy) != evaluations || at.Method.Title != "ER" {
			t.Errorf("after %d evaluations the report is of %+v", evaluations, at)
		}
		if evaluations == 4 {
			l.end()
			r := l.finished()
			if *at.Metrics.AverageAccuracy != *r.Metrics.AverageAccuracy ||
				*at.Metrics.AverageForgetting != *r.Metrics.AverageForgetting || !(j.Share() > 0.999) {
				t.Errorf("%+v and a share of %v, want those of the result %+v", at.Metrics, j.Share(), r.Metrics)
			}
		}
	}
	if s = w.Look(); !s.Over() || !s.Idle() || jobOf(t, s).Phase != progress.Done {
		t.Errorf("with the result: %+v", s)
	}
}

// TestStopped: a run whose events have stood still for long, and whose folder nobody has locked, is stopped. When it
// goes on its events are read from their beginning, whether they are in another file or other lines stand in the same
// one.
func TestStopped(t *testing.T) {
	l := copied(t, 2)
	later := time.Hour
	w := watcherOf(l.dir, func() time.Time { return l.now.Add(later) })
	s := w.Look()
	if j := jobOf(t, s); j.Phase != progress.Begun || s.Over() || !s.Idle() {
		t.Errorf("%+v", j)
	}
	if page := string(w.Page()); !strings.Contains(page, "ocl run --resume "+l.run) {
		t.Error("the page does not say how the run is continued")
	}
	unlock, err := experiment.LockRun(l.run)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	later += time.Hour
	if j := jobOf(t, w.Look()); j.Phase != progress.Running {
		t.Errorf("with the lock held: %+v", j)
	}
	text, err := os.ReadFile(l.events())
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.LastIndex(text, []byte(`{"time"`))
	if err := os.Remove(l.events()); err != nil {
		t.Fatal(err)
	}
	l.write(l.events(), string(text[:at]))
	if n := len(w.Look().found); n != 2 {
		t.Errorf("%d runs have measured something, want 2", n)
	}
	if f := w.reader.follows[l.run]; f.measured != 1 || f.read != int64(at) {
		t.Errorf("of the new file %d evaluations in %d bytes are read, want 1 in %d", f.measured, f.read, at)
	}
	before, _, _ := strings.Cut(string(text), `"event":"evaluation"`)
	before = before[:strings.LastIndex(before, "\n")+1]
	step := before[strings.LastIndex(before[:len(before)-1], "\n")+1:]
	// the same steps once more instead of the evaluation
	again := before + strings.Repeat(step, 1+(at-len(before))/len(step))
	l.write(l.events(), again)
	w.Look()
	if f := w.reader.follows[l.run]; f.measured != 0 || f.fault != nil || f.read != int64(len(again)) {
		t.Errorf("of the file that was cut %d evaluations in %d bytes are read (%v), want none in %d", f.measured, f.read,
			f.fault, len(again))
	}
}

// TestDeadJob: a job whose worker has died is not locked again and again. It is asked for when a file comes or goes,
// and after some time.
func TestDeadJob(t *testing.T) {
	dir, now := t.TempDir(), time.Unix(1_000_000, 0)
	e := study.Entry{Name: "er", Folder: "er-s1"}
	folder := filepath.Join(dir, e.Folder)
	r := newReader(dir, func() time.Time { return now })
	r.store = study.OpenFolder(dir)
	says := func(when, want string) {
		t.Helper()
		if st := r.state(e, folder); st.Phase != want {
			t.Errorf("%s the job is %q, want %q", when, st.Phase, want)
		}
	}
	lock := func() (unlock func()) {
		t.Helper()
		unlock, err := experiment.LockRun(folder)
		if err != nil {
			t.Fatal(err)
		}
		return unlock
	}
	lock()()
	for _, name := range []string{".attempt", experiment.EventsFile} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("{"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	says("after a death", progress.Waiting)
	unlock := lock()
	says("a moment later", progress.Waiting)
	now = now.Add(askEvery)
	says("after the time", progress.Running)
	unlock()
	says("after another death", progress.Waiting)
	unlock = lock()
	defer unlock()
	if err := os.Chtimes(folder, time.Time{}, time.Unix(1, 0)); err != nil { // as if a worker had made a file
		t.Fatal(err)
	}
	says("when a file has come", progress.Running)
}

// listener reads server-sent events.
type listener struct {
	t     *testing.T
	lines *bufio.Scanner
	close func()
}

func listening(t *testing.T, address string) *listener {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("the stream is %q (%s)", kind, answer.Status)
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	return &listener{t, lines, func() { answer.Body.Close() }}
}

// next is the next event.
func (l *listener) next() (n news) {
	l.t.Helper()
	for l.lines.Scan() {
		if text, is := strings.CutPrefix(l.lines.Text(), "data: "); is {
			if err := json.Unmarshal([]byte(text), &n); err != nil {
				l.t.Fatal(err)
			}
			return n
		}
	}
	l.t.Fatalf("the stream has ended: %v", l.lines.Err())
	return n
}

// answer is what a server said.
type answer struct {
	code   int
	header http.Header
	text   string
}

// get asks a server.
func get(t *testing.T, method, address, host string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		r.Host = host
	}
	said, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer said.Body.Close()
	text, err := io.ReadAll(said.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{said.StatusCode, said.Header, string(text)}
}

// TestStream: a browser is told of each change, and the page that it then loads has it.
func TestStream(t *testing.T) {
	l := copied(t, 1)
	w := l.watcher()
	w.Look()
	server := httptest.NewServer(w.Handler())
	defer server.Close()
	defer w.end()
	stream := listening(t, server.URL)
	first := stream.next()
	if first.Page != 1 || !strings.Contains(first.Strip, "task 1/4") ||
		!strings.Contains(first.Strip, "1 of 2 runs done, 1 running") || first.Over {
		t.Errorf("the first news are %+v", first)
	}
	l.goOn(1)
	w.Look()
	second := stream.next()
	if second.Page != 2 || !strings.Contains(second.Strip, "task 2/4") {
		t.Errorf("the second news are %+v", second)
	}
	polled := get(t, http.MethodGet, server.URL+"/state", "").text
	if want := string(encoded(second)); polled != want {
		t.Errorf("who asks is told %s, want %s", polled, want)
	}
	if page := get(t, http.MethodGet, server.URL+"/?results.sort=-runs", "").text; !strings.Contains(page, second.Strip) ||
		!strings.Contains(page, "the numbers are those after 2 tasks") ||
		!strings.Contains(page, "% so far</h1>") {
		t.Errorf("the page has not what was told: %.3000s", page)
	}
	l.goOn(2)
	l.end()
	w.Look()
	w.finish()
	for n := stream.next(); ; n = stream.next() {
		if n.Over {
			if n.Page != 3 || !strings.Contains(n.Strip, "Ended") || !strings.Contains(n.Strip, "2 of 2 runs done") ||
				n.Title != "100 % x" {
				t.Errorf("the last news are %+v", n)
			}
			break
		}
	}
	// The last page is the report but for the strip, its style and its script.
	written, err := report.Write(t.Context(), []string{l.dir}, filepath.Join(t.TempDir(), "r"), w.options)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(written.Page)
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Replace(strings.Replace(strings.Replace(string(w.Page()), string(frame.Top), "", 1), liveCSS, "", 1),
		liveJS, "", 1)
	page = strings.Replace(page, strings.Replace(string(frame.Top), place, w.strip(), 1), "", 1)
	if page != string(want) {
		t.Errorf("the last page has %d bytes beside the strip, and the report has %d", len(page), len(want))
	}
}

// TestAnswers: the server answers for this machine's names alone, changes nothing, and lets the page do nothing but
// what it is for.
func TestAnswers(t *testing.T) {
	l := copied(t, 2)
	w := l.watcher()
	w.Look()
	server := httptest.NewServer(w.Handler())
	defer server.Close()
	for _, c := range []struct {
		method, path, host string
		code               int
		want               string
	}{
		{"GET", "/", "", 200, "<!doctype html>"},
		{"GET", "/", "localhost:99", 200, ""},
		{"GET", "/", "[::1]:99", 200, ""},
		{"GET", "/", "evil.example", 403, "evil.example is no name of this machine"},
		{"GET", "/state", "evil.example:80", 403, ""},
		{"GET", "/", "127.0.0.1.evil.example", 403, ""},
		{"POST", "/", "", 405, "can only be read"},
		{"DELETE", "/tables/results.csv", "", 405, ""},
		{"HEAD", "/", "", 200, ""},
		{"GET", "/tables/results.csv", "", 200, "method,memory"},
		{"GET", "/tables/results.md", "", 200, "| ER"},
		{"GET", "/figures/accuracy.svg", "", 200, "<svg"},
		{"GET", "/figures/accuracy.pdf", "", 200, "%PDF"},
		{"GET", "/figures/accuracy.html", "", 404, "no such file"},
		{"GET", "/figures/..%2f..%2fexperiment.yaml", "", 404, ""},
		{"GET", "/experiment.yaml", "", 404, ""},
	} {
		a := get(t, c.method, server.URL+c.path, c.host)
		if a.code != c.code || !strings.Contains(a.text, c.want) || a.header.Get("X-Content-Type-Options") != "nosniff" ||
			a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s %s as %q: %d, %.200s", c.method, c.path, c.host, a.code, a.text)
		}
	}
	a := get(t, "GET", server.URL+"/", "")
	_, script, _ := strings.Cut(a.text, `<script type="module">`)
	script, _, _ = strings.Cut(script, "</script>")
	sum := sha256.Sum256([]byte(script))
	rules := a.header.Get("Content-Security-Policy")
	if !strings.Contains(script, "follow();") ||
		!strings.Contains(rules, "script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"';") ||
		!strings.HasPrefix(rules, "default-src 'none';") {
		t.Errorf("the policy %q does not fit the script", rules)
	}
	if strings.Contains(string(waiting()), "import {") {
		t.Error("the script of the page imports a file, which the page does not have")
	}
}

// TestManyStreams: more pages than may have a stream are told to ask by themselves.
func TestManyStreams(t *testing.T) {
	w := copied(t, 1).watcher()
	w.Look()
	server := httptest.NewServer(w.Handler())
	defer server.Close()
	defer w.end()
	w.streams = limit.WatchStreams - 1
	listening(t, server.URL).next()
	if a := get(t, "GET", server.URL+"/events", ""); a.code != http.StatusServiceUnavailable ||
		!strings.Contains(a.text, "There are 64 open pages already.") {
		t.Errorf("%d: %s", a.code, a.text)
	}
	if a := get(t, "GET", server.URL+"/state", ""); a.code != http.StatusOK {
		t.Errorf("who asks is answered %d", a.code)
	}
}

// TestFolders: what is not there yet, vanishes or is damaged is told in two sentences, and the page goes on.
func TestFolders(t *testing.T) {
	l := copied(t, 2)
	away := l.dir + "-away"
	if err := os.Rename(l.dir, away); err != nil {
		t.Fatal(err)
	}
	w := l.watcher()
	if s := w.Look(); s.Problem != l.dir+" does not exist. The page shows the first run that begins there." || s.Over() ||
		s.Results() {
		t.Errorf("%+v", s)
	}
	if page := string(w.Page()); !strings.Contains(page, "Nothing was measured yet") ||
		!strings.Contains(page, "does not exist. The page") {
		t.Errorf("the page says %.2000s", page)
	}
	if err := os.Mkdir(l.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if s := w.Look(); !strings.Contains(s.Problem, "has no run yet. The page shows") {
		t.Errorf("%+v", s)
	}
	if err := os.Remove(l.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(away, l.dir); err != nil {
		t.Fatal(err)
	}
	if s := w.Look(); s.Problem != "" || len(s.found) != 2 || !s.Results() {
		t.Errorf("%+v", s)
	}
	page := w.Page()
	if err := os.Rename(l.dir, away); err != nil {
		t.Fatal(err)
	}
	if s := w.Look(); !strings.Contains(s.Problem, "does not exist.") {
		t.Errorf("%+v", s)
	}
	if again := w.Page(); !strings.Contains(string(again), "the numbers are those after 2 tasks") ||
		len(again) < len(page)/2 {
		t.Error("when the folder has vanished the page does not show any longer what it has shown")
	}
	if err := os.Rename(away, l.dir); err != nil {
		t.Fatal(err)
	}

	// A line that is damaged ends the reading of the events of this run.
	l.write(l.events(), strings.Join([]string{readLines(t, l)[0], "damaged\n"}, ""))
	if j := jobByNote(w.Look(), "byte "); j == nil || !strings.Contains(j.Note(), "The page shows what stands before it") {
		t.Errorf("damaged events: %+v", w.Look().Jobs)
	}
	l.write(l.events(), strings.Repeat("x", limit.EventLine+10))
	if j := jobByNote(w.Look(), "more than 1048576 bytes"); j == nil {
		t.Errorf("a long line: %+v", w.Look().Jobs)
	}
	l.write(filepath.Join(l.run, experiment.ResultFile), "{")
	s := w.Look()
	if j := jobByNote(s, "its result cannot be read"); j == nil || !s.Over() || len(s.left) != 1 {
		t.Errorf("a damaged result: %+v", s)
	}
	if page := string(w.Page()); !strings.Contains(page, "is left out") {
		t.Error("the page does not say that a result is left out")
	}
	l.write(filepath.Join(l.dir, experiment.ConfigFile), "methods: [\n")
	if s := w.Look(); !strings.Contains(s.Problem, experiment.ConfigFile+" cannot be read: ") ||
		strings.Count(s.Problem, ". ") < 1 || len(s.Jobs) != 2 {
		t.Errorf("a damaged config: %+v", s)
	}
}

func readLines(t *testing.T, l *live) []string {
	t.Helper()
	text, err := os.ReadFile(l.events())
	if err != nil {
		t.Fatal(err)
	}
	return strings.SplitAfter(string(text), "\n")
}

func jobByNote(s *State, part string) *progress.Run {
	for _, j := range s.Jobs {
		if strings.Contains(j.Note(), part) {
			return j
		}
	}
	return nil
}

// TestCheck: what can never be a folder is an error at once.
func TestCheck(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Check(file); err == nil ||
		err.Error() != "watch: "+file+" is a file and not a folder. Give the folder of a run, of an experiment or of a study" {
		t.Errorf("a file: %v", err)
	}
	for _, dir := range []string{filepath.Dir(file), filepath.Join(filepath.Dir(file), "nothing")} {
		if err := Check(dir); err != nil {
			t.Error(err)
		}
	}
	if err := os.Symlink("nowhere", file+"-link"); err != nil {
		t.Skip(err)
	}
	if err := Check(file + "-link"); err == nil {
		t.Error("a link to nothing is a folder")
	}
}

// TestServe: serving ends when all runs have ended, when nobody has been at work for the time that is given, and at the
// end of its context.
func TestServe(t *testing.T) {
	l := copied(t, 4)
	serve := func(ctx context.Context, o Options) *State {
		t.Helper()
		on, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(l.dir, o).Serve(ctx, on, o)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := net.Dial("tcp", on.Addr().String()); err == nil {
			c.Close()
			t.Error("somebody listens still")
		}
		return s
	}
	ctx, cancel := context.WithCancel(t.Context())
	clock := l.now.Add(time.Hour)
	o := Options{Now: func() time.Time { clock = clock.Add(time.Minute); cancel(); return clock }}
	if s := serve(ctx, o); s != nil && s.Over() {
		t.Errorf("at the end of its context: %+v", s)
	}
	lifecycletest.Serve(t, func(ctx context.Context, ready func()) error {
		on, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		o := Options{Now: func() time.Time { ready(); return l.now }}
		_, err = New(l.dir, o).Serve(ctx, on, o)
		return err
	})
	o.Idle = time.Second
	if s := serve(t.Context(), o); s.Over() || !s.Idle() {
		t.Errorf("where nobody is at work: %+v", s)
	}
	o.Idle = 0
	l.end()
	if s := serve(t.Context(), o); !s.Over() {
		t.Errorf("where all has ended: %+v", s)
	}
}

// TestFarewell: a browser is told that nothing more comes before the server ends.
func TestFarewell(t *testing.T) {
	l := copied(t, 4)
	on, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Now: func() time.Time { return l.now }}
	ended := make(chan *State, 1)
	go func() {
		s, _ := New(l.dir, o).Serve(t.Context(), on, o)
		ended <- s
	}()
	stream := listening(t, "http://"+on.Addr().String())
	stream.next()
	l.end()
	for !stream.next().Over {
	}
	stream.close()
	if s := <-ended; !s.Over() {
		t.Errorf("%+v", s)
	}
}

// TestStrip: the strip names some jobs and counts the others, and shows nothing of a file as HTML.
// TestIdleStrip: no time is left to tell where nobody is at work, however fast the runs were before they were stopped.
func TestIdleStrip(t *testing.T) {
	r, now := &progress.Run{Name: "er s1"}, time.Unix(1_000_000, 0)
	r.Begin(now, result.Plan{Steps: 100, StepFLOPs: 1, FLOPs: 100}, []progress.Task{{Number: 1}}, 0, 0)
	r.TaskBegin(now, 0)
	for step := range 40 {
		now = now.Add(time.Second)
		r.Step(now, step+1, nil)
	}
	s := &State{Jobs: []*progress.Run{r}}
	if strip := stripOf("a", s, false); !strings.Contains(strip, "0 of 1 run done, 1 running, 1m00s left") {
		t.Errorf("of a run at work: %s", strip)
	}
	r.Phase = progress.Begun
	if strip := stripOf("a", s, false); strings.Contains(strip, "left") || !strings.Contains(strip, "<b>Waiting</b>") {
		t.Errorf("of a run that was stopped: %s", strip)
	}
}

func TestStrip(t *testing.T) {
	s := &State{Kind: "study", Problem: "<b> is damaged."}
	for i := range 20 {
		s.Jobs = append(s.Jobs, &progress.Run{Name: "er<" + strings.Repeat("x", i), Steps: 1000,
			State: progress.State{Phase: progress.Running, Progress: progress.Progress{Step: 500, Task: 2, Tasks: 10}}})
	}
	s.Jobs = append(s.Jobs,
		&progress.Run{Name: "mir s1", State: progress.State{Phase: progress.Failed, Error: "no space left"}},
		&progress.Run{State: progress.State{Phase: progress.Waiting}},
		&progress.Run{State: progress.State{Phase: progress.Done}})
	strip := stripOf("a&b", s, false)
	for _, want := range []string{"1 of 23 jobs done", "20 running", "1 failed", "1 waiting",
		"&lt;b&gt; is damaged.", "er&lt;", "and 9 more", "task 2/10, step 500/1,000", "a&amp;b"} {
		if !strings.Contains(strip, want) {
			t.Errorf("the strip has no %q: %s", want, strip)
		}
	}
	if strings.Contains(strip, "<b> is") {
		t.Error("text of files is not escaped")
	}
}
