// Package serve runs the daemon of `ocl serve`: it opens the folder, listens, and drains when it is asked to end.
// Package daemon learns, and package api answers; here is what an operator sees of a process: addresses, TLS, tokens,
// signals, the log, and how many processors learn.
//
// Start at [Run].
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"ocl/internal/limit"
	"ocl/internal/listen"
	"ocl/serve/api"
	serving "ocl/serve/daemon"
)

// Options of a daemon as a process.
type Options struct {
	Dir      string // folder of the daemon; unused by a replica
	Daemon   serving.Options
	Listen   string   // address and port
	Tokens   string   // file of tokens; "" is none
	Cert     string   // file of the certificate with its chain, PEM; "" is no TLS
	Key      string   // file of its key
	Insecure bool     // listen beyond this machine without tokens or TLS
	Hosts    []string // further names by which the daemon may be asked for without tokens
	Name     string   // of the model in the Open Inference Protocol
	Release  string   // of the program
	Page     http.Handler
	Play     bool          // send drawings
	Follow   Follow        // of a replica; its zero value learns here
	Studio   Studio        // a project of Label Studio to learn from; its zero value is none
	Idle     time.Duration // end after nobody has asked for so long; 0 is never
	Log      *slog.Logger
	Ready    func(address string) // called once with the daemon's address, when it answers; may be nil
}

const (
	// drainTime is how long a daemon takes to end at most.
	drainTime = 10 * time.Second
	// requestTime is how long requests at work have of it.
	requestTime = 3 * time.Second
)

// Run serves until ctx ends, and then drains: requests at work are answered, and the state is saved. It returns nil
// after that. A daemon whose disk failed is an error at once.
func Run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	keys, err := o.keys()
	if err != nil {
		return err
	}
	project, err := o.Studio.project(o.Insecure, o.Log)
	if err != nil {
		return err
	}
	on, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("%s cannot be used: %w. Use another --listen", o.Listen, refused(err))
	}
	g := &gate{}
	g.let(api.Starting(o.Follow.URL != ""))
	server := newServer(g, o.Log)
	listener := listen.Crowd(on, limit.ServeConnections, limit.ServeStrangers)
	if keys.certificate != nil {
		server.TLSConfig = keys.certificate.config()
	}
	failed, stop := listen.Serve(server, listener)
	defer stop(0)
	stopReload := keys.reload(o.Log)
	defer stopReload()
	address := keys.address(on.Addr(), append(slices.Clone(o.Hosts), keys.certificate.name())...)

	m, err := o.open(ctx) // livez answers meanwhile
	if err != nil {
		return err
	}
	ending := make(chan struct{})
	handler, err := m.handler(api.Options{
		Tokens: keys.tokens, Hosts: o.Hosts, Name: o.Name, Release: o.Release, Page: o.Page, Ending: ending, Log: o.Log,
		LabelStudio: project,
	})
	if err != nil {
		return errors.Join(err, m.close(context.WithoutCancel(ctx)))
	}
	g.let(handler)
	o.Log.InfoContext(ctx, "ready", "address", address)
	_, _ = daemon.SdNotify(false, daemon.SdNotifyReady) // without systemd it does nothing
	if o.Ready != nil {
		o.Ready(address)
	}
	playing := o.play(ctx, keys.address(on.Addr()))
	annotating := annotations(ctx, project, handler)
	select {
	case <-ctx.Done():
		err = nil
	case <-g.idle(ctx, o.Idle):
		err = nil
	case err = <-failed:
		err = fmt.Errorf("the daemon cannot answer any longer: %w", err)
	case err = <-m.failed():
		g.let(api.Draining())
		close(ending)
		stop(requestTime) // who waits is told
		return err        // what is durable is so; a restart recovers
	}
	o.Log.InfoContext(ctx, "draining")
	_, _ = daemon.SdNotify(false, daemon.SdNotifyStopping)
	g.let(api.Draining())
	close(ending)
	<-playing
	<-annotating
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	stop(requestTime)
	return errors.Join(err, m.close(ctx))
}

// newServer is a server with limits of time for everything that a client may do slowly.
func newServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: 2 * time.Minute,
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: 1 << 14, ConnContext: listen.ConnContext, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 100},
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// gate is a handler that can be replaced, and knows when it was asked last.
type gate struct {
	current atomic.Pointer[http.Handler]
	asked   atomic.Int64 // ns since 1970
	open    atomic.Int64 // requests
}

func (g *gate) let(h http.Handler) { g.current.Store(&h) }

// ServeHTTP implements [http.Handler].
func (g *gate) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	g.open.Add(1)
	defer g.open.Add(-1)
	(*g.current.Load()).ServeHTTP(to, r)
	g.asked.Store(time.Now().UnixNano()) // before it is closed
}

// idle is closed when nobody has asked for so long, and no request is open, such as the stream of a page; 0 is never.
func (g *gate) idle(ctx context.Context, long time.Duration) <-chan struct{} {
	if long <= 0 {
		return nil
	}
	g.asked.Store(time.Now().UnixNano())
	over := make(chan struct{})
	go func() {
		for {
			left := long
			if g.open.Load() == 0 {
				left -= time.Since(time.Unix(0, g.asked.Load()))
			}
			if left <= 0 {
				close(over)
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(left):
			}
		}
	}()
	return over
}

// refused is the system's error about an address, without the address.
func refused(err error) error {
	var of *net.OpError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// Processors sets how many goroutines compute at the same time, and returns how many of them learn and by how much
// their threads are less urgent than others. There is one P more than learning goroutines: with all Ps computing, Go
// looks at the network every 10 ms only. Where threads cannot be made less urgent, one processor is left to
// predictions.
func Processors(workers int) (learn, nice int) {
	cores := runtime.NumCPU()
	if runtime.GOOS == "linux" {
		nice = learnNice
	}
	switch {
	case workers > 0:
		learn = workers
	case nice > 0:
		learn = cores
	default:
		learn = max(1, cores-1)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(learn + 1)
	}
	return learn, nice
}

// learnNice is what is added to the niceness of threads that learn.
const learnNice = 10

// NewLog is a log of text, or of JSON, of this level: debug, info, warn or error.
func NewLog(to io.Writer, format, level string) (*slog.Logger, error) {
	var at slog.Level
	if err := at.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("--log-level cannot be %.40q. Use debug, info, warn or error", level)
	}
	o := &slog.HandlerOptions{Level: at}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(to, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(to, o)), nil
	}
	return nil, fmt.Errorf("--log cannot be %.40q. Use text or json", format)
}
