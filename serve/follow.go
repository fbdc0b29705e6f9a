package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"ocl/checkpoint"
	"ocl/data"
	"ocl/internal/cause"
	"ocl/internal/edition"
	"ocl/internal/input"
	"ocl/internal/lifecycle"
	"ocl/internal/limit"
	"ocl/live"
	"ocl/predict"
	"ocl/serve/api"
	"ocl/serve/client"
	serving "ocl/serve/daemon"
)

// Follow says which daemon a replica follows.
type Follow struct {
	URL   string        // of the daemon; "" is no replica
	CA    string        // file of certificates to trust, PEM; "" is those of the system
	Token string        // that may predict; "" is none
	Every time.Duration // between two looks; 0 is a second
}

// staleAfter is how long a replica that does not reach its daemon is ready.
const staleAfter = time.Minute

// replica predicts with the newest model of a daemon elsewhere.
type replica struct {
	o        Follow
	process  live.Process
	began    time.Time
	log      *slog.Logger
	from     *client.Client
	tag      string // of the model; one goroutine uses it
	current  atomic.Pointer[copied]
	weighing sync.Mutex
	seen     atomic.Int64          // when the daemon answered last, in ns
	fault    atomic.Pointer[error] // of the last look; nil is none
	stop     context.CancelFunc
	ended    sync.WaitGroup
	end      lifecycle.End
}

// copied is a model of the daemon.
type copied struct {
	*live.Trainer
	version int64
}

// follow fetches the first model, waiting for the daemon if need be, and then every newer one until close is called.
func follow(ctx context.Context, o Follow, p live.Process, log *slog.Logger) (model, error) {
	c, err := o.client()
	if err != nil {
		return nil, err
	}
	if o.Every == 0 {
		o.Every = time.Second
	}
	r := &replica{o: o, process: p, began: time.Now(), log: log, from: c}
	for said := ""; ; {
		err := r.look(ctx)
		switch {
		case err == nil:
			ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
			r.ended.Go(func() { r.loop(ctx) })
			return r, nil
		case errors.As(err, new(hopeless)):
			return nil, fmt.Errorf("--follow: %w", err)
		}
		if is := sort(err); is != said {
			log.WarnContext(ctx, "the daemon has no model yet, or does not answer; it is asked until it does", "address", o.URL,
				"error", err)
			said = is
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(o.Every):
		}
	}
}

// client is one that trusts what the options say.
func (o Follow) client() (*client.Client, error) {
	transport, err := trusting(o.CA)
	if err != nil {
		return nil, err
	}
	c, err := client.New(o.URL, client.Options{Token: o.Token, Tries: 1,
		HTTP: &http.Client{Transport: transport, Timeout: 5 * time.Minute}})
	if err != nil {
		return nil, fmt.Errorf("--follow: %w", err)
	}
	return c, nil
}

// trusting is a transport that trusts the certificates of a file, PEM; "" is those of the system.
func trusting(file string) (*http.Transport, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if file == "" {
		return transport, nil
	}
	text, err := input.ReadFile(file, input.Want{Most: limit.ServeKeyFile})
	if err != nil {
		return nil, fmt.Errorf("--ca: %s: %w", file, cause.Of(err))
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("--ca: %s has no certificate. Use a PEM file", file)
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return transport, nil
}

// loop looks again and again.
func (r *replica) loop(ctx context.Context) {
	tick := time.NewTicker(r.o.Every)
	defer tick.Stop()
	for said := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := r.look(ctx)
		if err == nil {
			if r.fault.Store(nil); said != "" {
				r.log.InfoContext(ctx, "the daemon gives its model again", "address", r.o.URL)
			}
			said = ""
			continue
		}
		r.fault.Store(&err)
		if is := sort(err); is != said && ctx.Err() == nil {
			r.log.WarnContext(ctx, "the daemon gives no model; the one that is here goes on", "error", err)
			said = is
		}
	}
}

// hopeless is an error that no other look mends, and says what does.
type hopeless struct{ error }

func (h hopeless) Unwrap() error { return h.error }

// sort is the same for errors of which one is told.
func sort(err error) string {
	if refused := new(client.Error); errors.As(err, new(hopeless)) || errors.As(err, &refused) {
		return err.Error()
	}
	return "no answer"
}

// judged is the error of asking, which is hopeless where a person has to change something.
func judged(err error) error {
	var refused *client.Error
	errors.As(err, &refused)
	switch {
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return hopeless{fmt.Errorf("%w. Give the certificate that has signed the daemon's with --ca FILE, and an address that it names",
			err)}
	case errors.Is(err, http.ErrSchemeMismatch):
		return hopeless{fmt.Errorf("%w. Use an http address", err)}
	case errors.Is(err, client.ErrAnswer):
		return hopeless{err}
	case refused == nil, refused.Status >= 500:
		return err
	}
	switch refused.Status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly,
		http.StatusTooManyRequests: // it has learned nothing yet, or is busy
		return err
	case http.StatusUnauthorized:
		return hopeless{fmt.Errorf("%w. Set OCL_TOKEN to a token that may predict", err)}
	case http.StatusForbidden: // the answer says why
		return hopeless{err}
	}
	return hopeless{fmt.Errorf("%w. Use the address of `ocl serve`: its scheme, its port, and the prefix that a proxy gives it",
		err)}
}

// look fetches the model of the daemon if it is another one than here.
func (r *replica) look(ctx context.Context) error {
	var text bytes.Buffer
	m, changed, err := r.from.Model(ctx, "ocl", r.tag, &bounded{&text, limit.ServeModel})
	if err != nil {
		return judged(err)
	}
	r.seen.Store(time.Now().UnixNano())
	if !changed {
		return nil
	}
	state, err := checkpoint.Parse(text.Bytes())
	var t *live.Trainer
	if err == nil {
		t, err = live.ReadTrainer(state.Decoder(), func(p *live.Process) { *p = r.process })
	}
	switch {
	case errors.Is(err, live.ErrBackbone):
		return hopeless{fmt.Errorf("%w. Give it with --backbone FILE", err)}
	case err != nil:
		return hopeless{fmt.Errorf("the daemon's model cannot be read here: %w. Use the same release of ocl for both", err)}
	}
	n := &copied{Trainer: t, version: m.Version}
	if err := t.Publish(ctx, m.Version); err != nil {
		return errors.Join(err, t.Close())
	}
	r.tag, r.process = m.Tag, t.Process()
	if old := r.current.Swap(n); old != nil {
		return r.retire(old)
	}
	return nil
}

// bounded is a buffer with a limit: the daemon may be another one than it says.
type bounded struct {
	to   io.Writer
	left int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errors.New("the model is larger than any that is followed")
	}
	return b.to.Write(p)
}

func (r *replica) handler(o api.Options) (http.Handler, error) {
	o.Decoder, o.Upstream = r, r.o.URL
	return api.NewReplica(r, o), nil
}

func (r *replica) failed() <-chan error { return nil }

func (r *replica) close(context.Context) error {
	return r.end.Do(func() error {
		r.stop()
		r.ended.Wait()
		return r.retire(r.current.Load())
	})
}

// Predict implements [api.Model].
func (r *replica) Predict(_ context.Context, pixels [][]byte, k int) (a live.Answer, err error) {
	for {
		n := r.current.Load()
		if a, err = n.Trainer.Predict(k, pixels); !errors.Is(err, live.ErrClosed) || r.current.Load() == n {
			return a, err
		}
	} // a newer one is here
}

// Size implements [api.Decoder].
func (r *replica) Size(file []byte) (w, h int, err error) { return data.PictureSize(file) }

// Decode implements [api.Decoder].
func (r *replica) Decode(ctx context.Context, file, dst []byte) error {
	return r.current.Load().Decode(ctx, file, dst)
}

// Shape implements [api.Model].
func (r *replica) Shape() (c, h, w int) { return r.current.Load().Shape() }

// Measure implements [api.Model].
func (r *replica) Measure() predict.Measure { return r.current.Load().Measure() }

// Names implements [api.Model].
func (r *replica) Names() []string { return r.current.Load().Classes() }

// Version implements [api.Model].
func (r *replica) Version() int64 { return r.current.Load().version }

// Model implements [api.Model].
func (r *replica) Model(_ context.Context, format string, w io.Writer) (version int64, err error) {
	if format != serving.Weights {
		for {
			m := r.current.Load()
			if version, err = m.Export(w, format); !errors.Is(err, live.ErrClosed) || r.current.Load() == m {
				return version, err
			}
		} // a newer one is here
	}
	r.weighing.Lock()
	m := r.current.Load()
	state, err := m.Weights()
	r.weighing.Unlock()
	if err == nil {
		_, err = state.WriteTo(w) // a slow client keeps nobody waiting
	}
	return m.version, err
}

// retire closes a model that is not the current one any more, or is the last one. It waits for the predictions that are
// at work, and for whoever takes its weights.
func (r *replica) retire(m *copied) error {
	r.weighing.Lock()
	defer r.weighing.Unlock()
	return m.Close()
}

// Problem implements [api.Model].
func (r *replica) Problem() string {
	fault := r.fault.Load()
	if fault == nil {
		return ""
	}
	return fmt.Sprintf("The daemon at %s has given no model since %s, so the one here may be old: %v.", r.o.URL,
		time.Unix(0, r.seen.Load()).UTC().Format(time.RFC3339), *fault)
}

// Ready implements [api.Model].
func (r *replica) Ready() error {
	since := time.Since(time.Unix(0, r.seen.Load()))
	if text := r.Problem(); since > staleAfter && text != "" {
		return errors.New(text)
	}
	if since > staleAfter {
		return fmt.Errorf("the daemon at %s has not answered for %s, so the model here may be old. Look at that daemon",
			r.o.URL, since.Round(time.Second))
	}
	return nil
}

// Status implements [api.Model].
func (r *replica) Status() serving.Status {
	s := serving.Status{
		Method: r.current.Load().Config().Methods[0], Release: edition.Release, Started: r.began, State: "idle",
		Version: r.Version(), Problem: r.Problem(),
		Classes: []serving.ClassInfo{}, History: []serving.Point{},
	}
	for _, name := range r.Names() {
		s.Classes = append(s.Classes, serving.ClassInfo{Name: name})
	}
	return s
}
