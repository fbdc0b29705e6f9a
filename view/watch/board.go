package watch

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/internal/listen"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/sweep/study"
	"ocl/view/report"
)

// board has the content of the page about a study that is at work.
type board struct {
	Name, Line, Left string // Line has the jobs by phase, in words
	Share            float64
	Hosts            []*host
	Cells            []*cell
	Work, Failed     []*progress.Run
}

// host is a machine that is at work.
type host struct {
	Name      string
	Jobs      int
	processes map[int]bool
}

// Processes is how many are at work.
func (h *host) Processes() int { return len(h.processes) }

// cell is a method with its tricks, memory and data: what its jobs have shown so far.
type cell struct {
	Name       string
	Done, Jobs int
	sum        float64 // of the average accuracies of those that have finished
	finished   int
}

// Accuracy is the mean of those that have finished; nil where none has.
func (c *cell) Accuracy() *float64 {
	if c.finished == 0 {
		return nil
	}
	mean := c.sum / float64(c.finished)
	return &mean
}

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
		"line":     escape.Line,
		"number":   count.Number[int],
		"percent":  func(share float64) int { return int(100 * share) },
		"accuracy": seenText,
		"most":     func() int { return mostOnBoard },
		"more":     func(n int) int { return max(0, n-mostOnBoard) },
		"head": func(b board) template.HTML {
			return report.Head(fmt.Sprintf("%d %% %s", int(100*b.Share), escape.Line(b.Name)), boardCSS, reload)
		},
		"code": func() template.JS { return template.JS(boardJS) },
	}).Parse(boardText))
})

// Board is the page about the jobs of a study, which has the name of its folder, in HTML. runs say how far each is.
func Board(name string, jobs []study.Entry, runs []*progress.Run) []byte {
	b := board{Name: name, Line: progress.Count(runs).Line("job"), Share: progress.ShareOf(runs), Left: leftText(runs...)}
	hosts, cells := map[string]*host{}, map[string]*cell{}
	for i, r := range runs {
		c := one(cells, cellOf(jobs[i]), func(name string) *cell {
			b.Cells = append(b.Cells, &cell{Name: name})
			return b.Cells[len(b.Cells)-1]
		})
		c.Jobs++
		switch r.Phase {
		case progress.Done:
			c.Done++
			if r.Accuracy != nil && r.Outcome == result.Finished {
				c.sum += *r.Accuracy
				c.finished++
			}
		case progress.Failed:
			b.Failed = append(b.Failed, r)
		case progress.Running:
			b.Work = append(b.Work, r)
			h := one(hosts, r.Progress.Host, func(name string) *host {
				b.Hosts = append(b.Hosts, &host{Name: name, processes: map[int]bool{}})
				return b.Hosts[len(b.Hosts)-1]
			})
			h.Jobs++
			h.processes[r.Progress.PID] = true
		}
	}
	slices.SortStableFunc(b.Cells, func(x, y *cell) int {
		none := -1.0 // comes last
		return cmp.Compare(*cmp.Or(y.Accuracy(), &none), *cmp.Or(x.Accuracy(), &none))
	})
	var page bytes.Buffer
	if err := boards().Execute(&page, b); err != nil {
		panic("watch: the board: " + err.Error()) // the template is part of the program
	}
	return page.Bytes()
}

// one is that with a name, which is made where it is not there yet.
func one[V any](of map[string]*V, name string, make func(name string) *V) *V {
	v, there := of[name]
	if !there {
		v = make(name)
		of[name] = v
	}
	return v
}

// cellOf names the cell of a job.
func cellOf(j study.Entry) string {
	if j.Memory > 0 {
		return fmt.Sprintf("%s, memory %s, on %s", j.Name, count.Number(j.Memory), j.Data)
	}
	return fmt.Sprintf("%s on %s", j.Name, j.Data)
}

// ServeBoard answers browsers on a listener, which it closes, until stop is called: with the page of a study ([Board]),
// and with the same in JSON at /status.json. Both are asked for each time. host is a name by which the page may be
// asked for beside localhost and addresses; "" is none.
func ServeBoard(on net.Listener, host string, board, status func() []byte) (stop func()) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(to http.ResponseWriter, _ *http.Request) {
		listen.SendPage(to, board(), false)
	})
	mux.HandleFunc("GET /status.json", func(to http.ResponseWriter, _ *http.Request) {
		listen.Send(to, "application/json", status())
	})
	mux.HandleFunc("GET /favicon.ico", func(to http.ResponseWriter, _ *http.Request) {
		to.WriteHeader(http.StatusNoContent)
	})
	_, stop = serve(on, guarded(mux, "ocl sweep --status", strings.ToLower(host)))
	return stop
}
