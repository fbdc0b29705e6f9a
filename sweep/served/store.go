package served

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ocl/internal/lifecycle"
	"ocl/internal/limit"
	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/sweep/study"
)

// store is a study as a process sees it that is connected to the server. It watches claims and jobs, so that asking for
// a state costs nothing.
type store struct {
	names
	nc     *nats.Conn
	js     jetstream.JetStream
	place  string             // where runs write
	worker string             // the name of this process
	key    string             // of the name, which nobody else knows
	name   string             // in the subjects of bundles and questions: worker, or holderUser
	token  string             // in those of results
	holder ed25519.PublicKey  // of the holder's signatures
	signer ed25519.PrivateKey // of the holder alone
	host   string
	tell   func(string)
	heard  func(key string, r record) // what changes of a job, with mu locked; may be nil

	settings, claims, jobs, ends jetstream.KeyValue
	bundles                      jetstream.Stream

	folder    *study.Folder   // of the holder: it alone says what has ended and whether the study was cancelled
	ended     map[string]end  // of the holder, by key: what the folder says
	forbidden context.Context // ended once the server has refused a question
	forbid    func()

	every  time.Duration   // between two looks
	asked  <-chan struct{} // closed once the process was asked to end
	late   chan struct{}   // closed a while later: nothing is handed over any more
	closed chan struct{}
	wake   chan struct{} // the connection has changed

	following sync.WaitGroup
	end       lifecycle.End

	mu   sync.Mutex
	view *view
	mine map[string]*claim // by key
	gave map[string]string // why jobs have failed here, by key, until the holder says how they end
	away string            // why the server does not answer, as it was told; "" if it does
	dead error             // why this process can do nothing more
}

// view has the contents of the study's buckets, as the watches of one epoch have reported them.
type view struct {
	epoch    string
	settings bucket[string]
	claims   bucket[held]
	jobs     bucket[record]
	ends     bucket[end]
	watchers []jetstream.KeyWatcher
}

// bucket has the contents of one bucket, as far as its watch has reported them.
type bucket[V any] struct {
	values map[string]V
	seen   uint64 // the revision up to which it was watched
	of     func(key string, text []byte) V
}

// learn takes a value of which a watch may tell later, or has told already.
func (b *bucket[V]) learn(e jetstream.KeyValueEntry) {
	if e.Revision() <= b.seen {
		return
	}
	if e.Operation() == jetstream.KeyValuePut {
		b.values[e.Key()] = b.of(e.Key(), e.Value())
	} else {
		delete(b.values, e.Key())
	}
}

// watched takes what a watch tells.
func (b *bucket[V]) watched(e jetstream.KeyValueEntry) {
	b.learn(e)
	b.seen = e.Revision()
}

// newStore makes the store of a connection. It does not use it yet.
func newStore(ctx context.Context, n names, place string, every time.Duration, note func(string)) *store {
	host := study.HostName()
	key := word(32)
	s := &store{names: n, place: place, host: host[:min(len(host), limit.ServedHost)], key: key,
		worker: fmt.Sprintf("%s-%d-%s", wordOf(host), os.Getpid(), mark(key)),
		tell:   note, every: cmp.Or(every, usualLook), asked: ctx.Done(), late: make(chan struct{}),
		closed: make(chan struct{}), wake: make(chan struct{}, 1), mine: map[string]*claim{}, gave: map[string]string{}}
	s.name, s.token = s.worker, s.worker
	s.forbidden, s.forbid = context.WithCancel(context.Background())
	context.AfterFunc(ctx, func() { time.AfterFunc(patience, func() { close(s.late) }) })
	return s
}

// retry is the time between two tries of what the server did not answer.
func (s *store) retry() time.Duration { return min(s.every, time.Second) }

// options returns the options of a connection that lasts as long as the process.
func (s *store) options() []nats.Option {
	awake := func() {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
	return []nats.Option{nats.Name(s.worker), nats.MaxReconnects(-1), nats.ReconnectWait(s.retry()),
		nats.ReconnectBufSize(-1), nats.CustomInboxPrefix(inboxOf(s.name)),
		nats.Timeout(opTime), nats.PingInterval(20 * time.Second), nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { awake() }), nats.ReconnectHandler(func(*nats.Conn) { awake() }),
		// an operation that fails says so itself, but for one without an answer
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) {
				s.forbid()
			}
		}),
		nats.ClosedHandler(func(nc *nats.Conn) {
			if err := nc.LastError(); errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) {
				s.die(errSecret)
			}
		})}
}

// use takes a connection.
func (s *store) use(ctx context.Context, nc *nats.Conn) (err error) {
	s.nc = nc
	if s.js, err = jetstream.New(nc); err != nil {
		return err
	}
	for _, b := range []struct {
		to   *jetstream.KeyValue
		name string
	}{{&s.settings, s.names.settings()}, {&s.claims, s.names.claims()}, {&s.jobs, s.names.jobs()},
		{&s.ends, s.names.ends()}} {
		if *b.to, err = s.js.KeyValue(ctx, b.name); err != nil {
			return err
		}
	}
	s.bundles, err = s.js.Stream(ctx, s.names.bundles())
	return err
}

// op is the context of one operation.
func op() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), opTime)
}

// follow looks again and again whether the watches are those of the server, until the store is closed.
func (s *store) follow() {
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		s.look()
		select {
		case <-s.closed:
			return
		case <-tick.C:
		case <-s.wake:
		}
	}
}

// look asks for the epoch, and watches anew if it is another one.
func (s *store) look() {
	ctx, cancel := op()
	defer cancel()
	epoch, err := s.setting(ctx, epochKey)
	if err != nil {
		s.lost(err)
		return
	}
	if epoch != "" && s.epoch() != epoch {
		v, err := s.watch(ctx, epoch)
		if err != nil {
			s.lost(err)
			return
		}
		s.mu.Lock()
		old := s.view
		s.view, s.gave = v, map[string]string{}
		s.mu.Unlock()
		old.stop()
	}
	s.found()
}

func (s *store) epoch() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.view == nil {
		return ""
	}
	return s.view.epoch
}

// watch reads all buckets, and goes on to read what changes.
func (s *store) watch(ctx context.Context, epoch string) (*view, error) {
	v := &view{epoch: epoch, settings: bucket[string]{values: map[string]string{},
		of: func(key string, text []byte) string { return string(s.signed(s.names.setting(key), text)) }},
		claims: bucket[held]{values: map[string]held{}, of: func(_ string, text []byte) held { return heldOf(text) }},
		jobs:   bucket[record]{values: map[string]record{}, of: func(_ string, text []byte) record { return recordOf(text) }},
		ends: bucket[end]{values: map[string]end{},
			of: func(key string, text []byte) end { return readEnd(s.signed(s.names.end(key), text)) }}}
	for _, b := range []struct {
		of   jetstream.KeyValue
		take func(jetstream.KeyValueEntry)
	}{{s.settings, v.settings.watched}, {s.claims, v.claims.watched}, {s.ends, func(e jetstream.KeyValueEntry) {
		v.ends.watched(e)
		delete(s.gave, e.Key())
	}}, {s.jobs, func(e jetstream.KeyValueEntry) {
		v.jobs.watched(e)
		if s.heard != nil {
			s.heard(e.Key(), v.jobs.values[e.Key()])
		}
	}}} {
		w, err := b.of.WatchAll(context.WithoutCancel(ctx))
		if err != nil {
			v.stop()
			return nil, err
		}
		v.watchers = append(v.watchers, w)
		whole := make(chan struct{})
		go func() {
			for e := range w.Updates() {
				if e == nil {
					close(whole)
					continue
				}
				s.mu.Lock()
				b.take(e)
				s.mu.Unlock()
			}
		}()
		select {
		case <-whole:
		case <-ctx.Done():
			v.stop()
			return nil, ctx.Err()
		}
	}
	return v, nil
}

func (v *view) stop() {
	if v == nil {
		return
	}
	for _, w := range v.watchers {
		_ = w.Stop() // the connection may be gone
	}
}

// die notes why this process can do nothing more.
func (s *store) die(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead = cmp.Or(s.dead, err)
}

// lost notes that an operation has failed. It is told once until the server answers again.
func (s *store) lost(err error) {
	text := "the server of the study does not answer. Jobs at work go on, and what they have waits until it does"
	if refused := new(jetstream.APIError); errors.As(err, &refused) && !missing(err) {
		text = fmt.Sprintf("the server of the study takes nothing: %s. Make room there; jobs at work go on, and what they have waits",
			refused.Description)
	}
	s.mu.Lock()
	first := s.away == ""
	if first {
		s.away = text
	}
	s.mu.Unlock()
	if first && !s.end.Begun() {
		s.tell(text)
	}
}

// found notes that the server answers.
func (s *store) found() {
	s.mu.Lock()
	again := s.away != ""
	s.away = ""
	s.mu.Unlock()
	if again {
		s.tell("the server of the study answers again")
	}
}

// insist repeats an operation until the server has taken it. After the process was asked to end, it gives up after a
// while.
func (s *store) insist(do func(context.Context) error) error {
	for {
		if s.end.Begun() {
			return ErrClosed
		}
		ctx, cancel := op()
		err := do(ctx)
		cancel()
		if err == nil {
			return nil
		}
		s.lost(err)
		s.mu.Lock()
		dead := s.dead
		s.mu.Unlock()
		if dead != nil {
			return dead
		}
		select {
		case <-s.late:
			return err
		case <-s.closed:
		case <-time.After(s.retry()):
		}
	}
}

// State implements [study.Store].
func (s *store) State(e study.Entry) progress.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state(e.Key)
}

func (s *store) state(key string) progress.State {
	if s.view == nil {
		return progress.State{Phase: progress.Waiting}
	}
	ends := s.view.ends.values
	if s.folder != nil {
		ends = s.ended
	}
	if e := ends[key]; e.Phase != "" {
		return e.state()
	}
	if why, gave := s.gave[key]; gave { // it is for others
		return progress.State{Phase: progress.Failed, Error: why}
	}
	r := s.view.jobs.values[key]
	h, taken := s.view.claims.values[key]
	if c := s.mine[key]; c != nil {
		return progress.State{Phase: progress.Running, Sure: true, Attempt: c.job.Number, Progress: h.Progress}
	}
	if taken {
		return progress.State{Phase: progress.Running, Attempt: r.Number, Progress: h.Progress}
	}
	return r.state()
}

// Claim implements [study.Store].
func (s *store) Claim(e study.Entry) (study.Claim, progress.State, error) {
	if s.end.Begun() {
		return nil, progress.State{}, ErrClosed
	}
	s.mu.Lock()
	st, idle, err := s.state(e.Key), s.away != "" || s.view == nil, s.dead
	if err != nil {
		err = fmt.Errorf("served: %w", err)
	}
	if s.view != nil && s.view.settings.values[refusedKey+s.name] != "" {
		err = fmt.Errorf("served: the holder of the study refuses this process: %s. Compare the ocl and the machine with those of the others",
			s.view.settings.values[refusedKey+s.name])
	}
	s.mu.Unlock()
	if err != nil {
		return nil, progress.State{}, err
	}
	if idle || st.Phase != progress.Waiting && st.Phase != progress.Begun {
		return nil, st, nil
	}
	if !isName(e.Key) {
		return nil, progress.State{}, fmt.Errorf("served: the job %s has the key %.80q, which cannot be served. Do the study without --listen",
			e.Folder, e.Key)
	}
	folder := filepath.Join(s.place, e.Folder)
	unlock, err := experiment.LockRun(folder)
	if errors.Is(err, experiment.ErrBusy) { // another process of this machine is about to end with it
		return nil, progress.State{Phase: progress.Running}, nil
	}
	if err != nil {
		return nil, progress.State{}, fmt.Errorf("served: %w", err)
	}
	c := &claim{store: s, entry: e, folder: folder, unlock: unlock,
		held: held{Worker: s.worker, Progress: progress.Progress{Host: s.host, PID: os.Getpid()}}}
	st, err = c.take()
	if err == nil && st.Phase == progress.Running && st.Sure {
		s.mu.Lock()
		s.mine[e.Key] = c
		s.mu.Unlock()
		return c, st, nil
	}
	unlock()
	if fault := new(atServer); errors.As(err, &fault) {
		s.lost(fault.error)
		return nil, progress.State{Phase: progress.Waiting}, nil
	}
	return nil, st, err
}

// job reads a record and its revision, 0 of one that is not there.
func (s *store) job(ctx context.Context, key string) (record, uint64, error) {
	e, err := s.jobs.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return record{}, 0, nil
	}
	if err != nil {
		return record{}, 0, err
	}
	s.mu.Lock()
	if s.view != nil {
		s.view.jobs.learn(e)
	}
	s.mu.Unlock()
	return recordOf(e.Value()), e.Revision(), nil
}

// Cancelled implements [study.Store].
func (s *store) Cancelled() bool {
	if s.folder != nil {
		return s.folder.Cancelled()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view != nil && s.view.settings.values[cancelledKey] != ""
}

// ErrClosed is the error of what asks the server after Close of a [Holder] or of a [RemoteWorker].
var ErrClosed = errors.New("served: the study was closed here. Serve it, or join it, again")

// errHolder says that a worker elsewhere asked for what only the machine with the folder may do.
var errHolder = errors.New("served: a worker does jobs and nothing else. Use `ocl sweep cancel` and `retry` on the machine that serves the study")

// Cancel implements [study.Store]. Only the holder may.
func (s *store) Cancel() error {
	if s.folder == nil {
		return errHolder
	}
	return s.folder.Cancel()
}

// Resume implements [study.Store]. Only the holder may.
func (s *store) Resume() error {
	if s.folder == nil {
		return errHolder
	}
	return s.folder.Resume()
}

// Retry implements [study.Store]. Only the holder may, which notices it at its next look.
func (s *store) Retry(e study.Entry) (bool, error) {
	if s.folder == nil {
		return false, errHolder
	}
	return s.folder.Retry(e)
}

// Result implements [study.Store].
func (s *store) Result(e study.Entry) (*result.Result, error) {
	if s.folder != nil {
		return s.folder.Result(e)
	}
	text, err := s.ask(e.Key)
	if err != nil || len(text) == 0 {
		return nil, err
	}
	zip, err := gzip.NewReader(bytes.NewReader(text))
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(zip, limit.Result))
	}
	if err != nil {
		return nil, fmt.Errorf("served: the result of %s did not arrive whole: %w. Try again", e.Folder, err)
	}
	return result.Parse(text)
}

// ask asks the holder for a result, and waits until it answers.
func (s *store) ask(key string) (answer []byte, err error) {
	var m *nats.Msg
	if err := s.insist(func(ctx context.Context) error {
		m, err = s.nc.RequestWithContext(ctx, s.names.ask(s.name, key), nil)
		return err
	}); err != nil {
		if errors.Is(err, errSecret) || errors.Is(err, errOther) {
			return nil, fmt.Errorf("served: %w", err)
		}
		return nil, fmt.Errorf("served: the holder of the study does not answer: %w. Start it again there", err)
	}
	s.found()
	if text := m.Header.Get(errorHeader); text != "" {
		return nil, errors.New(text)
	}
	if answer = s.signed(s.names.ask(s.name, key), m.Data); answer == nil {
		return nil, errors.New("served: the answer of the holder was changed on its way. Look at the server of the study")
	}
	return answer, nil
}

// Aside implements [study.Store]. The holder tells of results that could not be used.
func (s *store) Aside() []string { return nil }

// close ends the watches and the connection, and what waits for the server.
func (s *store) close() {
	_ = s.end.Do(func() error {
		s.mu.Lock()
		close(s.closed)
		v := s.view
		s.mu.Unlock()
		v.stop()
		if s.nc != nil {
			s.nc.Close()
		}
		s.following.Wait()
		return nil
	})
}

// known are the records of all jobs that have one.
func (s *store) known() map[string]record {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.view == nil {
		return map[string]record{}
	}
	return maps.Clone(s.view.jobs.values)
}
