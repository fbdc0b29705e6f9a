package served

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ocl/internal/input"
	"ocl/internal/lifecycle"
	"ocl/internal/limit"
	"ocl/run/progress"
	"ocl/sweep/study"
)

// ServeOptions say how a study is served.
type ServeOptions struct {
	// Listen is HOST:PORT where workers reach the embedded server; "" listens nowhere.
	Listen string
	// NATS is the URL of a team's own servers, which are used instead of an embedded one; "" is none. OCL_NATS_CREDS, or
	// OCL_NATS_USER and OCL_NATS_PASSWORD, have what they ask for.
	NATS string
	// Lend are the data that workers may fetch who do not have them: what writes them, by digest; nil are none.
	Lend map[string]func(io.Writer) error
	// Most is how many bytes a job may save or hand over, of which a bundle has no more; 0 is what a result may have.
	Most int64
	// Look is how often the holder looks at the folder; 0 is 5 seconds.
	Look time.Duration
	// Note is told what a person should know, once each; may be nil.
	Note func(string)
}

// Holder serves the study of a folder. It alone writes into the folder.
type Holder struct {
	dir     string
	folder  *study.Folder
	entries map[string]study.Entry // by key
	order   []study.Entry
	tell    func(string)
	lend    map[string]func(io.Writer) error
	lock    *flock.Flock
	server  *embedded // nil with a team's own servers
	store   *store    // of the jobs that it does itself

	results jetstream.Stream
	wake    chan struct{}
	asks    chan *nats.Msg
	over    context.CancelFunc
	ended   chan struct{}
	end     lifecycle.End

	epoch   string
	saved   map[string]bool   // keys of jobs of which something was saved
	kept    uint64            // place in the stream of bundles up to which they are in the folder
	faults  map[string]int    // what could not be used, by the mark of the worker
	refused map[string]string // why workers are refused, by their names
	proven  map[string]bool   // marks of workers of which a result was taken in
	// marks of workers that said why a job has failed before they were proven, by the job's key
	doubts  map[string]string
	retried map[string]bool    // keys of jobs that were tried again for a doubt
	said    map[string]failure // what workers said of jobs that others are to try, by key
	// marks of the workers that have begun a job, by its key; locked by that of the store
	begun  map[string]map[string]bool
	most   int64             // bytes that a job may hand over at once, as it is packed
	parts  map[string]upload // what has come of bundles at the last look, by the beginning of their subjects
	swept  uint64            // the last message of the stream of bundles at the last look
	full   bool              // the folder has no room, as it was told
	behind bool              // results wait to be taken in
}

// Serving says whether a process serves the study of a folder.
func Serving(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, lockFile)); err != nil {
		return false
	}
	f, err := input.NewLock(filepath.Join(dir, lockFile))
	if err != nil {
		return false
	}
	defer f.Close()
	got, err := f.TryLock()
	return err == nil && !got
}

// Serve serves the study in a folder until Close. When it returns, workers can join by the file [Holder.Join]. After
// ctx ends, results of the jobs that the holder does itself are handed over for at most a minute.
func Serve(ctx context.Context, dir string, folder *study.Folder, entries []study.Entry, o ServeOptions) (*Holder,
	error) {
	h := &Holder{dir: dir, folder: folder, order: entries, entries: map[string]study.Entry{}, tell: noted(o.Note),
		lend: o.Lend,
		wake: make(chan struct{}, 1), asks: make(chan *nats.Msg, 1024), ended: make(chan struct{}), faults: map[string]int{},
		saved:   map[string]bool{},
		refused: map[string]string{}, proven: map[string]bool{}, doubts: map[string]string{}, retried: map[string]bool{},
		said: map[string]failure{}, begun: map[string]map[string]bool{}, most: cmp.Or(o.Most, limit.ServedResult)}
	for _, e := range entries {
		if !isName(e.Key) {
			return nil, fmt.Errorf("served: the job %s has the key %.80q, which cannot be served. Do the study without --listen",
				e.Folder, e.Key)
		}
		h.entries[e.Key] = e
	}
	var err error
	if h.lock, err = input.NewLock(filepath.Join(dir, lockFile)); err != nil {
		return nil, fmt.Errorf("served: %w", err)
	}
	if got, err := h.lock.TryLock(); err != nil || !got {
		if err != nil {
			return nil, fmt.Errorf("served: %w. Choose a folder that has locks", err)
		}
		return nil, fmt.Errorf("served: another process serves the study in %s. Join it with `ocl sweep join %s`, or end that process",
			dir, filepath.Join(dir, JoinFile))
	}
	if err := h.start(ctx, o); err != nil {
		h.shut()
		return nil, err
	}
	return h, nil
}

// start connects, makes everything, and begins to serve.
func (h *Holder) start(ctx context.Context, o ServeOptions) error {
	id, err := identityOf(h.dir)
	if err != nil {
		return err
	}
	t := ticket{Format: joinFormat, Version: 1, Study: id.Study, Name: filepath.Base(h.dir)}
	h.store = newStore(ctx, id.Study, filepath.Join(h.dir, ownWorkDir), o.Look, h.tell)
	h.store.heard = h.heard
	h.store.name, h.store.token, h.store.folder, h.store.ended = holderUser, holderUser, h.folder, map[string]end{}
	h.store.signer = id.signer()
	h.store.holder = h.store.signer.Public().(ed25519.PublicKey)
	t.Holder = hex.EncodeToString(h.store.holder)
	options, url := h.store.options(), o.NATS
	if o.NATS == "" {
		if h.server, err = newEmbedded(h.dir, o.Listen, id); err != nil {
			return err
		}
		options = append(options, nats.InProcessServer(h.server), nats.UserInfo(holderUser, id.HolderSecret))
		t.Servers, t.Secret, t.SHA256 = h.server.addresses(), id.WorkerSecret, h.server.pin()
	} else {
		options = append(options, fromEnvironment()...)
		t.Servers = strings.Split(o.NATS, ",")
		if err := t.check(); err != nil {
			return fmt.Errorf("served: --nats: %w. Give it as nats://HOST:PORT or tls://HOST:PORT, without a password", err)
		}
	}
	nc, err := nats.Connect(url, options...)
	if err != nil {
		return fmt.Errorf("served: %s does not answer: %w. Correct --nats, and OCL_NATS_CREDS or OCL_NATS_USER and OCL_NATS_PASSWORD",
			cmp.Or(url, "the embedded server"), err)
	}
	h.store.nc = nc
	if h.store.js, err = jetstream.New(nc); err != nil {
		return err
	}
	if err := h.build(ctx); err != nil {
		return fmt.Errorf("served: the study cannot be put on the server: %w. Look at the server, or make room on its disk",
			err)
	}
	if _, err = nc.ChanSubscribe(h.store.names.ask("*", "*"), h.asks); err != nil {
		return err
	}
	if o.Listen != "" || o.NATS != "" {
		if err := writePrivate(h.Join(), t); err != nil {
			return err
		}
	}
	h.store.look()
	h.store.following.Go(h.store.follow)
	serving, over := context.WithCancel(context.Background())
	h.over = over
	go h.serve(serving)
	return nil
}

// Join is the path of the join file.
func (h *Holder) Join() string { return filepath.Join(h.dir, JoinFile) }

// Store is the store for jobs that the process of the holder does itself.
func (h *Holder) Store() study.Store { return h.store }

// Close takes in what has come and ends. If the study is done, what the server keeps is removed, after the workers had
// time to see it. Any goroutine may call it, and more than once.
func (h *Holder) Close() error { return h.end.Do(h.close) }

func (h *Holder) close() error {
	done := true
	for _, e := range h.order { // the folder knows it first
		phase := h.folder.State(e).Phase
		done = done && (phase == progress.Done || phase == progress.Failed)
	}
	if done && h.server != nil {
		for end := time.Now().Add(2 * h.store.every); h.server.current().NumClients() > 1 && time.Now().Before(end); {
			time.Sleep(h.store.every / 50)
		}
	}
	h.over()
	<-h.ended
	var err error
	if done {
		if h.server == nil {
			ctx, cancel := op()
			err = h.remove(ctx)
			cancel()
		}
		err = errors.Join(err, os.RemoveAll(h.Join()), os.RemoveAll(filepath.Join(h.dir, ownWorkDir)))
	}
	h.shut()
	if done {
		err = errors.Join(err, os.RemoveAll(filepath.Join(h.dir, natsFolder)))
	}
	if err != nil {
		return fmt.Errorf("served: what the server kept could not be removed: %w. Remove it by hand", err)
	}
	return nil
}

// shut ends the connection and the server.
func (h *Holder) shut() {
	if h.store != nil {
		h.store.close()
	}
	if h.server != nil && h.server.current() != nil {
		h.server.stop()
	}
	_ = h.lock.Close()
}

// remove removes what a team's servers have of the study.
func (h *Holder) remove(ctx context.Context) (err error) {
	n := h.store.names
	for _, stream := range []string{"KV_" + n.settings(), "KV_" + n.claims(), "KV_" + n.jobs(), "KV_" + n.ends(),
		n.results(), n.bundles()} {
		err = errors.Join(err, h.store.js.DeleteStream(ctx, stream))
	}
	return err
}

// serve takes in what comes, until ctx ends.
func (h *Holder) serve(ctx context.Context) {
	defer close(h.ended)
	tick := time.NewTicker(h.store.every)
	defer tick.Stop()
	for {
		h.behind = h.takeIn()
		h.keep()
		if h.behind {
			h.again()
		}
		select {
		case m := <-h.asks: // first, as somebody waits
			h.answer(m)
			continue
		default:
		}
		select {
		case <-ctx.Done():
			h.takeIn()
			h.keep()
			h.look()
			return
		case m := <-h.asks:
			h.answer(m)
		case <-h.wake:
		case <-tick.C:
			h.look()
		}
	}
}

// mostBegun is of how many workers is known that they have begun a job.
const mostBegun = 64

// heard lets the holder look at once for what a worker says that it has handed over.
func (h *Holder) heard(key string, r record) {
	if _, known := h.entries[key]; known && r.Phase == progress.Begun && len(h.begun[key]) < mostBegun {
		if h.begun[key] == nil {
			h.begun[key] = map[string]bool{}
		}
		h.begun[key][markOf(r.Worker)] = true
	}
	if r.Phase == phaseHanded || r.Phase == phaseReleased || r.Phase == progress.Begun && r.Step > r.Start {
		h.again()
	}
}

// again lets the holder look for results and bundles once more.
func (h *Holder) again() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// failed notes that the server did not do something; it is tried again.
func (h *Holder) failed(err error) {
	if err != nil {
		h.store.lost(err)
	}
}

// room returns the bound of a stream in bytes; -1, no bound, on a team's own servers, whose owners choose it.
func (h *Holder) room(bytes int64) int64 {
	if h.server == nil {
		return -1
	}
	return max(bytes, 64<<20)
}

// build makes whatever the server lacks, and lets it say what the folder says. Workers begin anew with what they know.
func (h *Holder) build(ctx context.Context) (err error) {
	s, n := h.store, h.store.names
	before := s.known()
	// Not by CreateOrUpdateKeyValue, which allows direct gets: the answer of one is the message itself with its number
	// among its headers, so that whoever has sent the message may choose the number, and whoever asks lets the server send
	// the message on to any subject.
	for _, b := range []jetstream.StreamConfig{
		{Name: n.settings()},
		{Name: n.claims(), Storage: jetstream.MemoryStorage, MaxAge: maxAge, AllowMsgTTL: true,
			SubjectDeleteMarkerTTL: maxAge, MaxMsgSize: limit.ServedRecord, MaxBytes: h.room(0)},
		{Name: n.jobs(), MaxMsgSize: limit.ServedRecord, MaxBytes: h.room(int64(len(h.order)) * limit.ServedRecord)},
		{Name: n.ends()},
	} {
		b.Subjects, b.Name = []string{"$KV." + b.Name + ".>"}, "KV_"+b.Name
		b.MaxMsgsPerSubject, b.Discard, b.AllowRollup, b.DenyDelete = 1, jetstream.DiscardNew, true, true
		if _, err := s.js.CreateOrUpdateStream(ctx, b); err != nil {
			return err
		}
	}
	if h.results, err = s.js.CreateOrUpdateStream(ctx,
		jetstream.StreamConfig{Name: n.results(), Subjects: []string{n.result("*", "*")}, Discard: jetstream.DiscardNew,
			MaxBytes: h.room(limit.ServedWaiting)}); err != nil {
		return err
	}
	if _, err = s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: n.bundles(),
		Subjects:          []string{n.bundle("*", ">")},
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, MaxMsgSize: partBytes + 4096,
		MaxBytes: h.room(min(limit.ServedBundles,
			1<<30+int64(len(h.lend))*limit.LentData+2*h.most*int64(len(h.order))))}); err != nil {
		return err
	}
	if s.bundles == nil { // later others use it, too, and it goes by names
		if err := s.use(ctx, s.nc); err != nil {
			return err
		}
	}
	h.kept = 0
	info, err := h.results.Info(ctx)
	if err != nil {
		return err
	}
	// first, so that no job is offered again whose result is there; more may come all the time
	for h.takeInTo(info.State.LastSeq) {
	}
	h.keep()
	if err := h.putStudy(ctx); err != nil {
		return err
	}
	if err := h.putData(ctx); err != nil {
		return err
	}
	v, err := s.watch(ctx, "")
	if err != nil {
		return err
	}
	v.stop()
	s.mu.Lock() // the watches write until they have ended
	records, claims, ends := maps.Clone(v.jobs.values), maps.Clone(v.claims.values), maps.Clone(v.ends.values)
	s.mu.Unlock()
	var written []jetstream.PubAckFuture
	write := func(subject string, data []byte) error {
		f, err := s.js.PublishMsgAsync(&nats.Msg{Subject: subject, Data: data}, jetstream.WithStallWait(opTime))
		written = append(written, f)
		return err
	}
	for _, e := range h.order {
		now, there := records[e.Key]
		r := now
		if !there {
			r = before[e.Key] // all was lost while this process knew it
		}
		over, ended := h.endOf(e)
		if was, there := ends[e.Key]; ended && !same(was, over) {
			if err := write(n.end(e.Key), s.sign(n.end(e.Key), encoded(over))); err != nil {
				return err
			}
		} else if there && !ended {
			if err := s.ends.Purge(ctx, e.Key); err != nil {
				return err
			}
		}
		if ended {
			continue
		}
		if r, err = h.settle(ctx, e, r); err != nil {
			return err
		}
		if !there && r.Phase != "" || r != now {
			if err := write("$KV."+n.jobs()+"."+e.Key, encoded(r)); err != nil {
				return err
			}
		}
		if _, claimed := claims[e.Key]; r.Phase == progress.Begun && !claimed { // its worker has time to come back
			if _, err := s.claims.Create(ctx, e.Key, encoded(held{Worker: r.Worker, Progress: r.Progress})); err != nil &&
				!errors.Is(err, jetstream.ErrKeyExists) {
				return err
			}
		}
	}
	for _, f := range written {
		select {
		case <-f.Ok():
		case err := <-f.Err():
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := h.mirrorCancelled(ctx); err != nil {
		return err
	}
	if err := s.set(ctx, versionKey, version); err != nil {
		return err
	}
	h.epoch = word(8)
	return s.set(ctx, epochKey, h.epoch)
}

// putStudy puts the files of the study on the server.
func (h *Holder) putStudy(ctx context.Context) error {
	paths, err := study.FilesOf(h.dir)
	if err != nil {
		return err
	}
	_, err = h.store.put(ctx, studyBundle, 0, func(w io.Writer) error { return pack(w, h.dir, paths) })
	if err != nil {
		return err
	}
	return h.tidy(ctx, holderUser, studyBundle)
}

// putData puts the data on the server that it lends and the server does not have.
func (h *Holder) putData(ctx context.Context) error {
	for digest, write := range h.lend {
		m, there, err := h.store.manifest(ctx, holderUser, dataOf(digest))
		if err == nil && there {
			_, err = h.store.bundles.GetLastMsgForSubject(ctx,
				h.store.bundle(holderUser, dataOf(digest))+"."+m.Word+"."+strconv.Itoa(m.Parts-1))
			if err == nil {
				continue
			}
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				err = nil
			}
		}
		if err == nil {
			_, err = h.store.put(ctx, dataOf(digest), 0, write)
		}
		if err == nil {
			err = h.tidy(ctx, holderUser, dataOf(digest))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
