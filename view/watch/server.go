package watch

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"ocl/internal/escape"
	"ocl/internal/limit"
	"ocl/internal/listen"
	"ocl/view/report"
)

//go:embed live.mjs
var liveJS string

//go:embed live.css
var liveCSS string

// place stands in a page where the strip belongs. The strip changes more often than the rest.
const place = "<!--strip-->"

// reload makes a browser without scripts load a page again and again.
const reload template.HTML = `<noscript><meta http-equiv="refresh" content="10"/></noscript>`

// frame has the parts of the page around the report.
var frame = report.Frame{
	Top:   reload + `<aside id="live" aria-label="Progress">` + template.HTML(place) + "</aside>\n",
	Style: liveCSS, Script: liveJS,
}

// Watcher shows a folder. Its methods may be called from several goroutines.
type Watcher struct {
	dir     string
	options report.Options
	host    string // beside addresses of machines, a name by which the page may be asked for

	looking sync.Mutex // held by who reads the folder
	reader  *reader

	mu      sync.Mutex
	state   *State
	over    bool
	page    int           // number of the page, which changes with what it shows
	version string        // of the state that the page shows
	shown   *State        // that the page shows
	draft   *report.Draft // of page, nil until somebody asks for it
	changed chan struct{} // closed by the next look
	streams int
	ended   chan struct{} // closed when streams end
	ending  sync.Once
}

// New is a watcher of a folder, which need not be there yet.
func New(dir string, o Options) *Watcher {
	return &Watcher{dir: dir, options: o.Report, host: o.Host, reader: newReader(dir, o.now()), state: &State{},
		shown: &State{}, changed: make(chan struct{}), ended: make(chan struct{})}
}

// Look reads the folder and tells the browsers what has changed.
func (w *Watcher) Look() *State {
	w.looking.Lock()
	defer w.looking.Unlock()
	s := w.reader.read()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = s
	gone := s.Kind == "" && len(w.shown.found) > 0 // the page keeps what it has shown
	if !gone && s.version != w.version || w.page == 0 {
		w.page++
		w.version, w.shown, w.draft = s.version, s, nil
	}
	close(w.changed)
	w.changed = make(chan struct{})
	return s
}

// finish tells the browsers that nothing more comes.
func (w *Watcher) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	close(w.changed)
	w.changed = make(chan struct{})
}

// end ends the streams.
func (w *Watcher) end() { w.ending.Do(func() { close(w.ended) }) }

// news is a message to the browsers.
type news struct {
	Page  int    `json:"page"`
	Strip string `json:"strip"`
	Title string `json:"title"`
	Over  bool   `json:"over"` // nothing more comes
}

// tell returns the present message for browsers, and a channel that is closed when there may be a newer one.
func (w *Watcher) tell() (n news, more <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return news{Page: w.page, Strip: w.strip(), Title: w.state.title(w.dir), Over: w.over}, w.changed
}

// strip returns the HTML above the report. The caller holds the lock.
func (w *Watcher) strip() string { return stripOf(w.dir, w.state, w.over) }

// Page is the page as it is now.
func (w *Watcher) Page() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	page := w.drawn()
	return bytes.Replace(page, []byte(place), []byte(w.strip()), 1)
}

// drawn is the page without its strip. The caller holds the lock.
func (w *Watcher) drawn() []byte {
	if len(w.shown.found) == 0 {
		return waiting()
	}
	if w.draft == nil {
		w.draft = report.NewDraft(w.shown.found, w.shown.notes, w.shown.left, w.options, frame)
	}
	return w.draft.Page
}

// file is a file that the page links.
func (w *Watcher) file(name string) ([]byte, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drawn()
	if w.draft == nil {
		return nil, false
	}
	return w.draft.File(name)
}

// waiting is the page of a folder in which nothing was measured yet.
func waiting() []byte {
	return []byte(string(report.Head("ocl watch", liveCSS)) + `
<body>
` + string(frame.Top) + `<svg class="defs" aria-hidden="true"></svg>
<header id="answer"></header>
<main>
<section class="first" id="first"><h1>Nothing was measured yet</h1>
<p class="shared">The figures come with the first evaluation.</p></section>
</main>
<footer></footer>
<script type="module">` + report.PageScript() + liveJS + `</script>
</body>
</html>
`)
}

// Handler serves the page.
func (w *Watcher) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(to http.ResponseWriter, _ *http.Request) {
		listen.SendPage(to, w.Page(), true)
	})
	mux.HandleFunc("GET /state", func(to http.ResponseWriter, _ *http.Request) {
		n, _ := w.tell()
		listen.Send(to, "application/json", encoded(n))
	})
	mux.HandleFunc("GET /events", w.stream)
	mux.HandleFunc("GET /favicon.ico", func(to http.ResponseWriter,
		_ *http.Request) {
		to.WriteHeader(http.StatusNoContent)
	})
	for pattern := range kinds {
		mux.HandleFunc("GET "+pattern, func(to http.ResponseWriter, r *http.Request) {
			name := strings.TrimPrefix(r.URL.Path, "/")
			text, ok := w.file(name)
			kind := types[path.Ext(name)]
			if !ok || kind == "" {
				http.Error(to, "The report has no such file. Load the page again, and follow its links.", http.StatusNotFound)
				return
			}
			to.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
			listen.Send(to, kind, text)
		})
	}
	return guarded(mux, "ocl watch", w.host)
}

// kinds are the folders of a report, and types what their files are.
var (
	kinds = map[string]bool{"/figures/{name}": true, "/tables/{name}": true}
	types = map[string]string{".svg": "image/svg+xml", ".pdf": "application/pdf", ".csv": "text/csv; charset=utf-8",
		".md": "text/plain; charset=utf-8"}
)

// guarded answers only those who ask for this machine by its address or as localhost. A page elsewhere can let its own
// name mean this machine, and would then be allowed to read the answer.
func guarded(next http.Handler, command, name string) http.Handler {
	return http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		h := to.Header()
		listen.Harden(h)
		switch {
		case !listen.Knows(r.Host, name):
			http.Error(to, fmt.Sprintf("%s is no name of this machine that `%s` knows. Use the address that it has printed.",
				escape.Line(r.Host), command), http.StatusForbidden)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(to, "This page can only be read. Use GET.", http.StatusMethodNotAllowed)
		default:
			defer listen.Admit(r.Context())()
			next.ServeHTTP(to, r)
		}
	})
}

func encoded(n news) []byte {
	text, err := json.Marshal(n)
	if err != nil {
		panic("watch: " + err.Error()) // it has numbers and texts alone
	}
	return text
}

// pingAfter is the number of looks without news after which a comment is sent, so that a stream whose browser has gone
// ends.
const pingAfter = 15

const (
	// writeTime is how long a browser may take for an event.
	writeTime = 30 * time.Second
	// retryAfter is when a browser asks again after a stream has ended, in milliseconds.
	retryAfter = 2000
)

// stream sends server-sent events: what there is, and then all that changes.
func (w *Watcher) stream(to http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || !w.enter() {
		http.Error(to, fmt.Sprintf("There are %d open pages already. Close one of them; this one asks every few seconds.",
			limit.WatchStreams), http.StatusServiceUnavailable)
		return
	}
	defer w.leave()
	stream, ok := listen.NewEvents(to, writeTime, retryAfter)
	for last, quiet := []byte(nil), 0; ok; quiet++ {
		n, more := w.tell()
		if text := encoded(n); !bytes.Equal(text, last) {
			last, quiet = text, 0
			ok = stream.Send("message", text)
		} else if quiet%pingAfter == 0 {
			ok = stream.Beat()
		}
		select {
		case <-more:
		case <-r.Context().Done():
			return
		case <-w.ended:
			return
		}
	}
}

// enter counts a stream, unless there are too many.
func (w *Watcher) enter() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.streams >= limit.WatchStreams {
		return false
	}
	w.streams++
	return true
}

func (w *Watcher) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.streams--
}

// watched says how many browsers have the page open.
func (w *Watcher) watched() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.streams
}
