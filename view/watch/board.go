package watch

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"strings"
	"sync"

	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/internal/listen"
	"ocl/view/report"
)

// Board has the content of the page about a study that is at work.
type Board struct {
	Name   string // of the study's folder
	Line   string // jobs by phase, in words
	Share  float64
	Left   string // time until the last job is done; "" if it is not known
	Hosts  []BoardHost
	Cells  []BoardCell
	Work   []BoardJob
	Errors []BoardError
}

// BoardHost is a machine that is at work.
type BoardHost struct {
	Name            string
	Processes, Jobs int
}

// BoardCell is a method with its tricks, memory and data: what its jobs have shown so far.
type BoardCell struct {
	Name       string
	Done, Jobs int
	Accuracy   *float64 // mean average accuracy of those that are done
}

// BoardJob is a job at work.
type BoardJob struct {
	Name, Host, Where string
	Share             float64
	Seen              *float64 // mean accuracy over the tasks learned so far
}

// BoardError is why a job has failed.
type BoardError struct{ Job, Error string }

// mostOnBoard bounds the lines of each list of the page. The page counts the others.
const mostOnBoard = 20

//go:embed board.html.tmpl
var boardText string

//go:embed board.mjs
var boardJS string

//go:embed board.css
var boardCSS string

// boards is parsed when it is first used: most commands serve no page.
var boards = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("board").Funcs(template.FuncMap{
		"line":    escape.Line,
		"number":  count.Number[int],
		"percent": func(share float64) int { return int(100 * share) },
		"accuracy": func(v *float64) string {
			if v == nil {
				return ""
			}
			return count.Percent(*v) + "\u00a0%"
		},
		"most": func() int { return mostOnBoard },
		"more": func(n int) int { return max(0, n-mostOnBoard) },
		"head": func(b Board) template.HTML {
			return report.Head(fmt.Sprintf("%d %% %s", int(100*b.Share), escape.Line(b.Name)), boardCSS, reload)
		},
		"code": func() template.JS { return template.JS(boardJS) },
	}).Parse(boardText))
})

// Page is the board in HTML.
func (b Board) Page() []byte {
	var page bytes.Buffer
	if err := boards().Execute(&page, b); err != nil {
		panic("watch: the board: " + err.Error()) // the template is part of the program
	}
	return page.Bytes()
}

// ServeBoard answers browsers on a listener, which it closes, until stop is called: with the board, and with the same
// in JSON at /status.json. Both are asked for each time. host is a name by which the page may be asked for beside
// localhost and addresses; "" is none.
func ServeBoard(on net.Listener, host string, board func() Board, status func() []byte) (stop func()) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(to http.ResponseWriter, _ *http.Request) {
		listen.SendPage(to, board().Page())
	})
	mux.HandleFunc("GET /status.json", func(to http.ResponseWriter,
		_ *http.Request) {
		listen.Send(to, "application/json", status())
	})
	mux.HandleFunc("GET /favicon.ico", func(to http.ResponseWriter,
		_ *http.Request) {
		to.WriteHeader(http.StatusNoContent)
	})
	_, stop = serve(on, guarded(mux, "ocl sweep --status", strings.ToLower(host)))
	return stop
}
