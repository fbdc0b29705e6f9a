package served

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ocl/experiment"
	"ocl/experiment/result"
	"ocl/internal/atomicfile"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/study"
)

// ServeOptions say how a study is served.
type ServeOptions struct {
	// Listen is HOST:PORT where workers reach the embedded server; "" listens nowhere.
	Listen string
	// NATS is the URL of a team's own servers, which are used instead of an embedded one; "" is none. OCL_NATS_CREDS, or
	// OCL_NATS_USER and OCL_NATS_PASSWORD, have what they ask for.
	NATS string
	// Note is told what a person should know, once each; may be nil.
	Note func(string)
}

// mostFaults is how many results of a worker may be unusable before it is refused.
const mostFaults = 3

// Holder serves the study of a folder. It alone writes into the folder.
type Holder struct {
	dir     string
	folder  *study.Folder
	entries map[string]study.Entry // by key
	order   []study.Entry
	tell    func(string)
	lock    *flock.Flock
	server  *embedded // nil with a team's own servers
	store   *store    // of its own hands

	results jetstream.Stream
	wake    chan struct{}
	asks    chan *nats.Msg
	over    context.CancelFunc
	ended   chan struct{}

	epoch  string
	saved  map[string]bool // keys of jobs of which something was saved
	kept   uint64          // place in the stream of bundles up to which they are in the folder
	faults map[string]int  // results that could not be used, by worker
	full   bool            // the folder has no room, as it was told
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

// Serve serves the study in a folder until Close. When it returns, workers can join by the file [Holder.Join]. After the end of ctx, what
// its own hands have is handed over for a minute at most.
func Serve(ctx context.Context, dir string, folder *study.Folder, entries []study.Entry, o ServeOptions) (*Holder, error) {
	h := &Holder{dir: dir, folder: folder, order: entries, entries: map[string]study.Entry{}, tell: noted(o.Note),
		wake: make(chan struct{}, 1), asks: make(chan *nats.Msg, 1024), ended: make(chan struct{}), faults: map[string]int{}, saved: map[string]bool{}}
	for _, e := range entries {
		if !isName(e.Key) {
			return nil, fmt.Errorf("served: the job %s has the key %.80q, which cannot be served. Do the study without --listen", e.Folder, e.Key)
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
		return nil, fmt.Errorf("served: another process serves the study in %s. Join it with `ocl sweep join %s`, or end that process", dir, filepath.Join(dir, JoinFile))
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
	h.store = newStore(ctx, id.Study, filepath.Join(h.dir, handsDir), h.tell)
	h.store.heard = h.heard
	options, url := h.store.options(holderUser), o.NATS
	if o.NATS == "" {
		if h.server, err = newEmbedded(h.dir, o.Listen, id); err != nil {
			return err
		}
		options = append(options, nats.InProcessServer(h.server), nats.UserInfo(holderUser, id.HolderSecret))
		t.Servers, t.User, t.Secret, t.SHA256 = h.server.addresses(), workerUser, id.WorkerSecret, h.server.pin()
	} else {
		options = append(options, fromEnvironment()...)
		t.Servers = strings.Split(o.NATS, ",")
		if err := t.check(); err != nil {
			return fmt.Errorf("served: --nats: %w. Give it as nats://HOST:PORT or tls://HOST:PORT, without a password", err)
		}
	}
	nc, err := nats.Connect(url, options...)
	if err != nil {
		return fmt.Errorf("served: %s does not answer: %w. Correct --nats, and OCL_NATS_CREDS or OCL_NATS_USER and OCL_NATS_PASSWORD", cmp.Or(url, "the embedded server"), err)
	}
	h.store.nc = nc
	if h.store.js, err = jetstream.New(nc); err != nil {
		return err
	}
	if err := h.build(ctx); err != nil {
		return fmt.Errorf("served: the study cannot be put on the server: %w. Look at the server, or make room on its disk", err)
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
	go h.store.follow()
	serving, over := context.WithCancel(context.Background())
	h.over = over
	go h.serve(serving)
	return nil
}

// Join is the path of the join file.
func (h *Holder) Join() string { return filepath.Join(h.dir, JoinFile) }

// Store is the store for jobs that the process of the holder does itself.
func (h *Holder) Store() study.Store { return h.store }

// Close takes in what has come and ends. If the study is done, what the server keeps is removed, after the workers had time to see it.
func (h *Holder) Close() error {
	done := true
	for _, e := range h.order { // the folder knows it first
		phase := h.folder.State(e).Phase
		done = done && (phase == study.Done || phase == study.Failed)
	}
	if done && h.server != nil {
		for end := time.Now().Add(2 * lookEvery); h.server.current().NumClients() > 1 && time.Now().Before(end); {
			time.Sleep(lookEvery / 50)
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
		err = errors.Join(err, os.RemoveAll(h.Join()), os.RemoveAll(filepath.Join(h.dir, handsDir)))
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
	for _, stream := range []string{"KV_" + n.settings(), "KV_" + n.claims(), "KV_" + n.jobs(), n.results(), n.bundles()} {
		err = errors.Join(err, h.store.js.DeleteStream(ctx, stream))
	}
	return err
}

// serve takes in what comes, until ctx ends.
func (h *Holder) serve(ctx context.Context) {
	defer close(h.ended)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		more := h.takeIn()
		h.keep()
		if more {
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

// heard lets the holder look at once for what a worker says that it has handed over.
func (h *Holder) heard(r record) {
	if r.Phase == phaseHanded || r.Phase == phaseReleased || r.Phase == study.Begun && r.Step > r.Start {
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

// build makes whatever the server lacks, and lets it say what the folder says. Workers begin anew with what they know.
func (h *Holder) build(ctx context.Context) (err error) {
	s, n := h.store, h.store.names
	before := s.known()
	for _, b := range []jetstream.KeyValueConfig{
		{Bucket: n.settings(), Storage: jetstream.FileStorage},
		{Bucket: n.claims(), Storage: jetstream.MemoryStorage, TTL: maxAge, LimitMarkerTTL: maxAge},
		{Bucket: n.jobs(), Storage: jetstream.FileStorage},
	} {
		if _, err := s.js.CreateOrUpdateKeyValue(ctx, b); err != nil {
			return err
		}
	}
	if h.results, err = s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: n.results(), Subjects: []string{n.result("*")}}); err != nil {
		return err
	}
	if _, err = s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: n.bundles(), Subjects: []string{n.bundle(">")},
		MaxMsgsPerSubject: 1, AllowDirect: true}); err != nil {
		return err
	}
	if err := s.use(ctx, s.nc); err != nil {
		return err
	}
	h.kept = 0
	for h.takeIn() { // first, so that no job is offered again whose result is there
	}
	h.keep()
	if err := h.putStudy(ctx); err != nil {
		return err
	}
	v, err := s.watch(ctx, "")
	if err != nil {
		return err
	}
	v.stop()
	s.mu.Lock() // the watches write until they have ended
	records, claims := maps.Clone(v.jobs.values), maps.Clone(v.claims.values)
	s.mu.Unlock()
	var written []jetstream.PubAckFuture
	for _, e := range h.order {
		now, there := records[e.Key]
		r := now
		if !there {
			r = before[e.Key] // all was lost while this process knew it
		}
		if r, err = h.settle(ctx, e, r); err != nil {
			return err
		}
		if !there && r.Phase != "" || r != now {
			f, err := s.js.PublishMsgAsync(&nats.Msg{Subject: "$KV." + n.jobs() + "." + e.Key, Data: encoded(r)}, jetstream.WithStallWait(opTime))
			if err != nil {
				return err
			}
			written = append(written, f)
		}
		if _, claimed := claims[e.Key]; r.Phase == study.Begun && !claimed { // its worker has time to come back
			if _, err := s.claims.Create(ctx, e.Key, encoded(held{Worker: r.Worker, Progress: r.Progress})); err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
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
	if _, err := s.settings.PutString(ctx, versionKey, version); err != nil {
		return err
	}
	h.epoch = word(8)
	_, err = s.settings.PutString(ctx, epochKey, h.epoch)
	return err
}

// settle is the record of a job as the folder has it; r is that of the server.
func (h *Holder) settle(ctx context.Context, e study.Entry, r record) (record, error) {
	st := h.folder.State(e)
	switch {
	case st.Phase == r.Phase && (r.Phase == study.Done || r.Phase == study.Failed && r.Kept):
		return r, nil
	case st.Phase == study.Done:
		return doneRecord(st), nil
	case st.Phase == study.Failed:
		r.Phase, r.Kept, r.Error = study.Failed, true, st.Error
		return r, nil
	case r.Phase == study.Done, r.Phase == study.Failed && r.Kept: // the folder has no result, or somebody has asked for another try
		return record{}, nil
	case r.Phase == study.Failed:
		return h.keepFailure(e, r), nil
	case r.Phase == phaseHanded:
		there, err := h.pending(ctx, e.Key)
		if err != nil || there {
			return r, err
		}
		r.Phase = phaseReleased
	}
	if st.Progress.Step > 0 && r.Phase != study.Begun { // what the server may not have any more
		m, there, err := h.store.manifest(ctx, savedOf(e.Key))
		if err != nil {
			return r, err
		}
		if !there || m.Step < st.Progress.Step {
			from := filepath.Join(h.dir, e.Folder)
			paths, err := study.Files(from)
			if err == nil {
				_, err = h.store.put(context.WithoutCancel(ctx), savedOf(e.Key), st.Progress.Step, func(w io.Writer) error { return pack(w, from, paths) })
			}
			if err != nil {
				return r, err
			}
		}
		r.Phase, r.Step = phaseReleased, max(r.Step, m.Step, st.Progress.Step)
	}
	return r, nil
}

func doneRecord(st study.State) record {
	return record{Phase: study.Done, Attempt: study.Attempt{Progress: study.Progress{Step: st.Progress.Step}}, Outcome: st.Outcome, Accuracy: st.Accuracy}
}

// keepFailure writes into the folder why a job has failed.
func (h *Holder) keepFailure(e study.Entry, r record) record {
	c, st, err := h.folder.Claim(e)
	if err == nil && c != nil {
		err = c.Fail(errors.New(cmp.Or(r.Error, "it failed")))
	}
	r.Kept = err == nil && (c != nil || st.Phase == study.Failed)
	if err != nil && !h.full {
		h.full = true
		h.tell(fmt.Sprintf("that %s has failed cannot be written: %v", e, err))
	}
	return r
}

// pending says whether the result of a job waits to be taken in.
func (h *Holder) pending(ctx context.Context, key string) (bool, error) {
	_, err := h.results.GetLastMsgForSubject(ctx, h.store.names.result(key))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	return err == nil, err
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
	return h.tidy(ctx, studyBundle)
}

// tidy removes the parts of a bundle that are not those of its newest manifest.
func (h *Holder) tidy(ctx context.Context, name string) error {
	m, there, err := h.store.manifest(ctx, name)
	if err != nil || !there {
		return err
	}
	first, err := h.store.bundles.GetLastMsgForSubject(ctx, h.store.bundle(name)+"."+m.Word+".0")
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return h.store.bundles.Purge(ctx, jetstream.WithPurgeSubject(h.store.bundle(name)+".>"), jetstream.WithPurgeSequence(first.Sequence))
}

// forget removes what was saved of a job.
func (h *Holder) forget(ctx context.Context, key string) {
	delete(h.saved, key)
	h.failed(h.store.bundles.Purge(ctx, jetstream.WithPurgeSubject(h.store.bundle(key+".>"))))
}

// takeIn takes in results that have come. More says that there are others.
func (h *Holder) takeIn() (more bool) {
	for range 100 {
		ctx, cancel := op()
		next, err := h.results.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(h.store.names.result("*")))
		if err != nil {
			cancel()
			if !errors.Is(err, jetstream.ErrMsgNotFound) {
				h.failed(err)
			}
			return false
		}
		taken := h.take(ctx, next)
		if taken {
			err = h.results.DeleteMsg(ctx, next.Sequence)
			h.failed(err)
		}
		cancel()
		if !taken || err != nil {
			return false
		}
	}
	return true
}

// take takes a message with a result. It is false if the message must wait, as there is no room.
func (h *Holder) take(ctx context.Context, m *jetstream.RawStreamMsg) bool {
	key := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
	worker := m.Header.Get(workerHeader)
	if !isName(worker) {
		worker = "unknown"
	}
	e, known := h.entries[key]
	if !known {
		h.refuse(ctx, m, worker, key, errors.New("the study has no such job"))
		return true
	}
	from := filepath.Join(h.dir, handsDir, ".in")
	defer os.RemoveAll(from)
	err := os.RemoveAll(from)
	switch {
	case err != nil:
	case h.faults[worker] >= mostFaults:
		err = errors.New("its worker was refused")
	case m.Header.Get(bundleHeader) != "":
		var of manifest
		if of, err = manifestOf(m.Data); err == nil {
			err = h.store.fetch(context.Background(), resultOf(key), of, from, limit.ServedResult)
		}
	default:
		err = unpack(bytes.NewReader(m.Data), from, limit.ServedResult)
	}
	if errors.As(err, new(*atServer)) {
		h.failed(err)
		return false
	}
	if noRoom(err) {
		return h.wait(e, err)
	}
	if _, missing := os.Stat(filepath.Join(from, experiment.ResultFile)); err == nil && missing != nil {
		err = errors.New("it has no result.json")
	}
	if err == nil {
		_, err = h.folder.TakeOver(e, from) // a second result is dropped
		if errors.Is(err, experiment.ErrBusy) || errors.As(err, new(syscall.Errno)) {
			return h.wait(e, err)
		}
	}
	st := h.folder.State(e)
	if err == nil && st.Phase != study.Done {
		err = errors.New("its run was interrupted")
	}
	if err != nil {
		h.refuse(ctx, m, worker, key, err)
		return true
	}
	h.full = false
	_, err = h.store.jobs.Put(ctx, key, encoded(doneRecord(st)))
	h.failed(err)
	if h.saved[key] || m.Header.Get(bundleHeader) != "" {
		h.forget(ctx, key)
	}
	return err == nil
}

// wait leaves a result on the server that cannot be written into the folder now.
func (h *Holder) wait(e study.Entry, err error) (taken bool) {
	if !h.full {
		h.full = true
		h.tell(fmt.Sprintf("the result of %s cannot be written: %v. Make room in %s; results wait until then", e, err, h.dir))
	}
	return false
}

// noRoom says whether an error is that of the disk, and not of what should be written.
func noRoom(err error) bool {
	return slices.ContainsFunc([]error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EFBIG, syscall.EIO, syscall.EMFILE, syscall.ENFILE, syscall.EACCES, syscall.EPERM},
		func(of error) bool { return errors.Is(err, of) })
}

// refuse keeps a result that cannot be used, and offers its job again. A worker that has sent several is refused.
func (h *Holder) refuse(ctx context.Context, m *jetstream.RawStreamMsg, worker, key string, fault error) {
	where := "It was dropped, as there are many in " + filepath.Join(h.dir, asideDir)
	folder := filepath.Join(h.dir, asideDir)
	err := atomicfile.MakeFolder(folder)
	entries, failed := input.ReadDir(folder)
	if err = errors.Join(err, failed); err == nil && len(entries) < limit.ServedAside {
		path := filepath.Join(folder, fmt.Sprintf("%.16s-%d.tar.gz", wordOf(key), time.Now().UnixNano()))
		if err = atomicfile.WriteBytes(path, m.Data); err == nil {
			where = "It was put into " + path
		}
	}
	if err != nil {
		where = fmt.Sprintf("It was dropped (%v)", err)
	}
	text := strings.ReplaceAll(study.Fault(fault), filepath.Join(h.dir, handsDir, ".in")+string(filepath.Separator), "")
	e, known := h.entries[key]
	what := fmt.Sprintf("a result from %s for the job %.16s", worker, key)
	if known {
		what = fmt.Sprintf("the result of %s from %s", e, worker)
	}
	h.faults[worker]++
	if h.faults[worker] <= mostFaults {
		h.tell(fmt.Sprintf("%s cannot be used: %s. %s, and the job is offered again", what, text, where))
	}
	if h.faults[worker] == mostFaults {
		h.tell(fmt.Sprintf("the worker %s has sent %d results that cannot be used. It is refused; look at its machine", worker, mostFaults))
		_, err := h.store.settings.PutString(ctx, refusedKey+worker, fmt.Sprintf("%d of its results could not be used, the last because %s", mostFaults, text))
		h.failed(err)
	}
	if !known {
		return
	}
	r, _, err := h.store.job(ctx, key)
	h.failed(err)
	if err == nil && r.Phase != study.Done && r.Phase != study.Failed && (r.Phase != study.Begun || r.Worker == worker) { // else another one is at work on it
		r.Phase, r.Worker = phaseReleased, ""
		_, err = h.store.jobs.Put(ctx, key, encoded(r))
		h.failed(err)
	}
}

// keep copies into the folder what workers have saved.
func (h *Holder) keep() {
	for {
		ctx, cancel := op()
		m, err := h.store.bundles.GetMsg(ctx, h.kept+1, jetstream.WithGetMsgSubject(h.store.bundle(savedOf("*"))))
		cancel()
		if err != nil {
			if !errors.Is(err, jetstream.ErrMsgNotFound) {
				h.failed(err)
			}
			return
		}
		if !h.keepOne(m) {
			return
		}
		h.kept = m.Sequence
	}
}

// keepOne copies one bundle. It is false if the server does not answer.
func (h *Holder) keepOne(m *jetstream.RawStreamMsg) bool {
	words := strings.Split(m.Subject, ".")
	key := words[len(words)-2]
	e, known := h.entries[key]
	if !known {
		return true
	}
	h.saved[key] = true
	of, err := manifestOf(m.Data)
	if err == nil && of.Step > 0 && of.Step <= study.StepOf(filepath.Join(h.dir, e.Folder), e) {
		return true
	}
	from := filepath.Join(h.dir, handsDir, ".in")
	defer os.RemoveAll(from)
	if err == nil {
		err = errors.Join(os.RemoveAll(from), h.store.fetch(context.Background(), savedOf(key), of, from, of.most()))
	}
	if err == nil {
		_, err = h.folder.TakeOver(e, from)
	}
	if errors.As(err, new(*atServer)) {
		h.failed(err)
		return false
	}
	if err != nil {
		h.tell(fmt.Sprintf("what a worker has saved of %s is not kept here: %v. The job goes on", e, err))
	}
	ctx, cancel := op()
	defer cancel()
	h.failed(h.tidy(ctx, savedOf(key)))
	return true
}

// answer answers a question of a worker.
func (h *Holder) answer(m *nats.Msg) {
	words := strings.Split(m.Subject, ".")
	verb, e := words[len(words)-2], h.entries[words[len(words)-1]]
	reply := nats.NewMsg(m.Reply)
	data, err := h.do(verb, e)
	if reply.Data = data; err != nil {
		reply.Header.Set(errorHeader, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	h.failed(m.RespondMsg(reply))
}

func (h *Holder) do(verb string, e study.Entry) ([]byte, error) {
	ctx, cancel := op()
	defer cancel()
	switch verb {
	case askCancel, askResume:
		change := h.folder.Cancel
		if verb == askResume {
			change = h.folder.Resume
		}
		return nil, errors.Join(change(), h.mirrorCancelled(ctx))
	}
	if e.Key == "" {
		return nil, errors.New("served: the study has no such job. Use the same ocl on both machines")
	}
	switch verb {
	case askRetry:
		again, err := h.retry(ctx, e)
		if err != nil || !again {
			return nil, err
		}
		return []byte("yes"), nil
	case askResult:
		r, err := h.folder.Result(e)
		if err != nil || r == nil {
			return nil, err
		}
		text, err := result.Encode(r)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		zip := gzip.NewWriter(&b)
		_, err = zip.Write(text)
		if err = errors.Join(err, zip.Close()); err == nil && int64(b.Len()) > h.store.nc.MaxPayload()-4096 {
			err = fmt.Errorf("served: the result of %s has %d bytes, too many for a message. Do the study on one machine", e.Folder, b.Len())
		}
		return b.Bytes(), err
	}
	return nil, errors.New("served: the question is unknown. Use the same ocl on both machines")
}

// retry lets a job be tried again that has failed.
func (h *Holder) retry(ctx context.Context, e study.Entry) (bool, error) {
	r, _, err := h.store.job(ctx, e.Key)
	if err != nil || r.Phase != study.Failed {
		return false, err
	}
	if _, err := h.folder.Retry(e); err != nil {
		return false, err
	}
	_, err = h.store.jobs.Put(ctx, e.Key, encoded(record{}))
	return err == nil, err
}

// look compares the server with the folder: all of the server may be gone, and people change the folder.
func (h *Holder) look() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if h.server != nil && h.server.vanished() {
		h.tell("what the server kept was removed. It is made again from the folder; workers wait for it")
		h.server.stop()
		if err := h.server.start(); err != nil {
			h.failed(err)
			return
		}
	}
	epoch, err := h.store.settings.Get(ctx, epochKey)
	if gone(err) || err == nil && string(epoch.Value()) != h.epoch {
		err = h.build(ctx)
	}
	if err == nil {
		err = h.mirrorCancelled(ctx)
	}
	if err != nil {
		h.failed(err)
		return
	}
	known := h.store.known()
	for _, key := range slices.Sorted(maps.Keys(known)) {
		r, e := known[key], h.entries[key]
		if e.Key == "" || r.Phase != study.Failed && r.Phase != phaseHanded {
			continue
		}
		r, rev, err := h.store.job(ctx, key)
		if err == nil {
			if now, failed := h.settle(ctx, e, r); failed == nil && now != r {
				_, err = h.store.jobs.Update(ctx, key, encoded(now), rev)
			}
		}
		if err != nil && !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			h.failed(err)
			return
		}
	}
}

// mirrorCancelled lets the server say whether the study was cancelled, as the folder does.
func (h *Holder) mirrorCancelled(ctx context.Context) error {
	want := ""
	if h.folder.Cancelled() {
		want = "yes"
	}
	e, err := h.store.settings.Get(ctx, cancelledKey)
	if err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
		return err
	}
	if err == nil && string(e.Value()) == want || err != nil && want == "" {
		return nil
	}
	_, err = h.store.settings.PutString(ctx, cancelledKey, want)
	return err
}
