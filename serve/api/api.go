// Package api is the daemon over HTTP: predictions, samples and their labels, classes, tasks, the model, forgetting,
// the status with its events and metrics, the Open Inference Protocol v2, and that of Label Studio. It decodes, checks
// and answers; package daemon does what is asked.
//
// openapi.yaml describes all paths but those of protocols of others, and the daemon serves it. The tests hold every
// request and answer to it. Errors are problem documents (RFC 9457), whose detail says what is wrong and how to mend
// it. docs/serve.md is the page for people.
//
// Start at [New].
package api

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"time"

	"ocl/internal/limit"
	"ocl/live"
	"ocl/predict"
	"ocl/serve/daemon"
	"ocl/serve/labelstudio"
)

// Model predicts: it is a daemon, or a replica that follows one.
type Model interface {
	Shape() (c, h, w int)
	Measure() predict.Measure
	Predict(ctx context.Context, pixels [][]byte, k int) (live.Answer, error) // 1 to live.MaxPictures pictures
	Names() []string                                                          // of the classes
	Version() int64                                                           // that answers now
	Model(ctx context.Context, format string, w io.Writer) (version int64, err error)
	Status() daemon.Status
	Ready() error
	Problem() string // what is wrong while requests are served; "" is nothing
}

// Decoder makes of a picture file what the network sees: uint8 [C,H,W].
type Decoder interface {
	Size(file []byte) (w, h int, err error) // as stored, before anything is decoded
	Decode(ctx context.Context, file []byte, dst []byte) error
}

// Options of a handler.
type Options struct {
	Decoder  Decoder
	Tokens   *Tokens         // who may do what; nil lets everybody who reaches the daemon do everything
	Hosts    []string        // names by which the daemon may be asked for without tokens, beside localhost and addresses
	Name     string          // of the model, for the Open Inference Protocol; "" is ocl
	Release  string          // of the program
	Page     http.Handler    // answers GET /; nil is no page
	Ending   <-chan struct{} // closed when streams of events are to end; nil is never
	Log      *slog.Logger    // nil is none
	Limits   Limits
	Upstream string // of a replica: where the daemon is that learns
	// LabelStudio is the project of Label Studio whose requests are answered; nil is none.
	LabelStudio *labelstudio.Project
}

// Limits of requests. 0 is the default of each.
type Limits struct {
	Body     int64 // bytes of a body
	Pixels   int64 // of a picture as stored
	Bodies   int64 // bytes that all requests hold at the same time
	Decodes  int   // pictures that are decoded at the same time
	Requests int   // that are answered at the same time
	Streams  int   // streams of events
}

func (l Limits) complete() Limits {
	l.Body = cmp.Or(l.Body, limit.ServeBody)
	l.Pixels = cmp.Or(l.Pixels, limit.ServePixels)
	l.Bodies = cmp.Or(l.Bodies, limit.ServeBodies)
	l.Decodes = cmp.Or(l.Decodes, max(1, runtime.NumCPU()/2))
	l.Requests = cmp.Or(l.Requests, limit.ServeRequests)
	l.Streams = cmp.Or(l.Streams, limit.ServeStreams)
	return l
}

// server has what handlers share.
type server struct {
	o        Options
	model    Model
	daemon   *daemon.Daemon // nil for a replica
	log      *slog.Logger
	memory   *share // bytes
	requests *share
	streams  *share
	models   *share // that are sent
	decoding *turns
	large    *turns // pictures of many pixels that are decoded at the same time
	asking   *turns // pictures that the model has at the same time
	queued   queued
	instance string // of this process, for ETags: the versions of another one are others
	metrics  *metrics
}

// New is the handler of a daemon.
func New(d *daemon.Daemon, o Options) (http.Handler, error) {
	if d == nil {
		return nil, errors.New("api: there is no daemon. Open one first")
	}
	return newServer(d, d, o).handler(), nil
}

// NewReplica is the handler of a model that learns elsewhere.
func NewReplica(m Model, o Options) http.Handler { return newServer(m, nil, o).handler() }

func newServer(m Model, d *daemon.Daemon, o Options) *server {
	o.Limits = o.Limits.complete()
	o.Name, o.Log = cmp.Or(o.Name, "ocl"), cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	c, h, w := m.Shape()
	most := 2*o.Limits.Body + int64(limit.ServePictures*c*h*w) // of one request
	alone := o.Tokens == nil
	s := &server{
		o: o, model: m, daemon: d, log: o.Log, instance: newID()[:8],
		memory:   newShare(max(o.Limits.Bodies, 3*most), alone), // the largest requests of two can be there at the same time
		requests: newShare(int64(o.Limits.Requests), alone), streams: newShare(int64(o.Limits.Streams), alone),
		models:   newShare(16, alone),
		decoding: newTurns(o.Limits.Decodes), large: newTurns(1), asking: newTurns(4 * live.MaxPictures),
	}
	s.metrics = newMetrics(s)
	return s
}

// route is one path with what it does.
type route struct {
	pattern string // of ServeMux
	role    Role
	learns  bool // a replica does not do it
	do      does
}

func (s *server) routes() []route {
	list := []route{
		{"POST /v1/predictions", RolePredict, false, s.predict},
		{"POST /v1/samples", RoleLabel, true, s.learn},
		{"GET /v1/samples", RoleLabel, true, s.list},
		{"GET /v1/samples/{id}", RoleLabel, true, s.sample},
		{"DELETE /v1/samples/{id}", RoleAdmin, true, s.remove},
		{"PUT /v1/samples/{id}/label", RoleLabel, true, s.label},
		{"DELETE /v1/samples/{id}/label", RoleLabel, true, s.unlabel},
		{"PUT /v1/samples/{id}/mark", RoleLabel, true, s.mark},
		{"GET /v1/samples/{id}/picture", RoleLabel, true, s.picture},
		{"GET /v1/classes", RolePredict, false, s.classes},
		{"POST /v1/classes", RoleLabel, true, s.addClass},
		{"PATCH /v1/classes/{name}", RoleAdmin, true, s.changeClass},
		{"DELETE /v1/classes/{name}", RoleAdmin, true, s.removeClass},
		{"POST /v1/classes/{name}/split", RoleAdmin, true, s.splitClass},
		{"POST /v1/tasks", RoleAdmin, true, s.boundary},
		{"GET /v1/model", RolePredict, false, s.weights},
		{"GET /v1/versions", RolePredict, true, s.versions},
		{"POST /v1/versions", RoleAdmin, true, s.keep},
		{"GET /v1/versions/{version}/accuracy", RoleLabel, true, s.accuracy},
		{"POST /v1/rollback", RoleAdmin, true, s.rollback},
		{"GET /v1/history", RoleLabel, true, s.history},
		{"POST /v1/forget", RoleAdmin, true, s.forget},
		{"GET /v1/status", RolePredict, false, s.status},
		{"GET /v1/events", RolePredict, true, s.events},
		{"GET /v1/session", RolePredict, false, s.self},
		{"POST /v1/session", RoleNone, false, s.session},
		{"DELETE /v1/session", RoleNone, false, s.session},
		{"GET /v1/openapi.yaml", RoleNone, false, s.openAPI},
		{"GET /v1/openapi.json", RoleNone, false, s.openAPI},
		{"GET /metrics", RolePredict, false, s.metrics.serve},
		{"GET /livez", RoleNone, false, s.livez},
		{"GET /readyz", RoleNone, false, s.readyz},
		{"GET /health", RoleNone, true, s.studio(s.studioHealth)},
		{"POST /setup", RolePredict, true, s.studio(s.studioSetup)},
		{"POST /predict", RolePredict, true, s.studio(s.studioPredict)},
		{"POST /webhook", RoleNone, true, s.studio(s.studioWebhook)},
		{"GET /v2", RoleNone, false, s.v2Server},
		{"GET /v2/health/live", RoleNone, false, s.livez},
		{"GET /v2/health/ready", RoleNone, false, s.readyz},
	}
	for _, version := range []string{"", "/versions/{version}"} {
		list = append(list,
			route{"GET /v2/models/{model}" + version, RolePredict, false, s.v2Model},
			route{"GET /v2/models/{model}" + version + "/ready", RoleNone, false, s.v2Ready},
			route{"POST /v2/models/{model}" + version + "/infer", RolePredict, false, s.v2Infer},
		)
	}
	return list
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, r := range s.routes() {
		method, path, _ := strings.Cut(r.pattern, " ")
		methods[path] = append(methods[path], method)
		if method == http.MethodGet {
			methods[path] = append(methods[path], http.MethodHead)
		}
		do := r.do
		if r.learns && s.daemon == nil {
			do = s.elsewhere
		}
		mux.HandleFunc(r.pattern, s.metrics.measured(path, s.allowed(r.role, s.answers(do))))
	}
	for path, allow := range methods {
		mux.HandleFunc(path, s.answers(func(_ http.ResponseWriter, r *http.Request) (int, any, error) {
			p := problem(http.StatusMethodNotAllowed, "%.20q is not possible here. Use %s.", r.Method,
				strings.Join(allow, " or "))
			p.allow = strings.Join(allow, ", ")
			return 0, nil, p
		}))
	}
	if s.o.Page != nil {
		mux.Handle("GET /{$}", s.o.Page)
	}
	mux.HandleFunc("/", s.answers(func(http.ResponseWriter, *http.Request) (int, any, error) {
		return 0, nil, problem(http.StatusNotFound, "There is nothing at this path. /v1/openapi.yaml has all paths.")
	}))
	return s.guarded(mux)
}

// elsewhere refuses what a replica cannot do.
func (s *server) elsewhere(http.ResponseWriter, *http.Request) (int, any, error) {
	return 0, nil, problem(http.StatusMisdirectedRequest,
		"This is a replica, which only predicts. Send this to %.200s, which learns.", s.o.Upstream)
}

// readJSON reads a small JSON body of known fields.
func (s *server) readJSON(to http.ResponseWriter, r *http.Request, v any) error {
	return s.readJSONOf(to, r, limit.ServeSmallBody, v)
}

// readJSONOf decodes a body of at most so many bytes.
func (s *server) readJSONOf(to http.ResponseWriter, r *http.Request, most int64, v any) error {
	body, memory, err := s.readBody(to, r, most)
	if err != nil {
		return err
	}
	defer memory.back()
	return decode(body, v)
}

// unhurried lets an answer take longer than the server's limit of writing, until it is written.
func unhurried(to http.ResponseWriter) (hurry func()) {
	c := http.NewResponseController(to)
	_ = c.SetWriteDeadline(time.Time{}) // a test's recorder has none
	return func() { _ = c.SetWriteDeadline(time.Now().Add(writeTime)) }
}

// writeTime is the time that a client has to take an answer, or one event of a stream.
const writeTime = 30 * time.Second
