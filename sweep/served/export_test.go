package served

import (
	"bytes"
	"context"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ocl/sweep/study"
)

// Die lets a process of a store die: its locks and its connection are gone, and nothing is given back.
func Die(s study.Store) {
	d := s.(*store)
	d.mu.Lock()
	for _, c := range d.mine {
		c.unlock()
		c.unlock = func() {}
	}
	d.mu.Unlock()
	d.close()
}

// Expire removes claims that are older than their age would be if so much more time had passed, as the server does by
// itself.
func (h *Holder) Expire(older func(key string) bool) (gone []string) {
	ctx, cancel := op()
	defer cancel()
	keys, err := h.store.claims.Keys(ctx)
	if err != nil {
		return nil // there are none
	}
	for _, k := range keys {
		if older(k) {
			_ = h.store.claims.Purge(ctx, k)
			gone = append(gone, k)
		}
	}
	return gone
}

// Restart ends the embedded server and starts it again.
func (h *Holder) Restart(between func()) error {
	h.server.stop()
	between()
	return h.server.start()
}

// MaxAge is how long a claim lasts.
const MaxAge time.Duration = maxAge

// Send sends a result of a job as the worker does.
func (h *RemoteWorker) Send(key string, data []byte, header string) error {
	m := nats.NewMsg(h.store.result(h.store.token, key))
	if header != "" {
		m.Header.Set(bundleHeader, h.store.name)
	}
	m.Data = data
	ctx, cancel := op()
	defer cancel()
	_, err := h.store.js.PublishMsg(ctx, m)
	return err
}

// Forger is a connection by which a test sends whatever it likes.
type Forger struct {
	names
	NC   *nats.Conn
	JS   jetstream.JetStream
	Name string
	// Token stands for it in the subjects of results.
	Token string
}

// Forge connects with a join file and a key, under a name that ends in the mark of the key, or under any name.
func Forge(file, key, begin, name string) (*Forger, error) {
	t, err := readJoin(file)
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = begin + "-" + mark(key)
	}
	options := []nats.Option{nats.CustomInboxPrefix(inboxOf(name)), nats.NoReconnect(),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})}
	if t.Secret != "" {
		options = append(options, secure(t.SHA256, func(error) {}), nats.UserInfo(name, t.Secret+"."+key))
	}
	nc, err := nats.Connect(joined(t.Servers), options...)
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(forgeTime))
	return &Forger{t.Study, nc, js, name, token(key)}, err
}

// forgeTime is how long a forger waits for an answer, as a refusal has none.
const forgeTime = 300 * time.Millisecond

// Put publishes a message with headers; a refusal is an error.
func (f *Forger) Put(subject string, data []byte, header ...string) error {
	m := nats.NewMsg(subject)
	m.Data = data
	for i := 0; i < len(header); i += 2 {
		m.Header.Set(header[i], header[i+1])
	}
	ctx, cancel := context.WithTimeout(context.Background(), forgeTime)
	defer cancel()
	_, err := f.JS.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
	return err
}

// Subjects of messages.
func (f *Forger) Result(from, key string) string { return f.result(from, key) }
func (f *Forger) Ask(from, key string) string    { return f.ask(from, key) }
func (f *Forger) Bundle(from, of string) string  { return f.bundle(from, of) }
func (f *Forger) KV(bucket, key string) string {
	return "$KV.ocl-" + string(f.names) + "-" + bucket + "." + key
}

// Headers and sizes of messages.
const (
	FailedHeader = failedHeader
	BundleHeader = bundleHeader
	PartBytes    = partBytes
)

// Refused are the names of workers that are refused.
func (h *Holder) Refused() (all []string) {
	ctx, cancel := op()
	defer cancel()
	keys, _ := h.store.settings.Keys(ctx)
	for _, k := range keys {
		if name, is := strings.CutPrefix(k, refusedKey); is {
			all = append(all, name)
		}
	}
	return all
}

// Worker is the name of the process.
func (h *RemoteWorker) Worker() string { return h.store.worker }

// Pack is the archive of files.
func Pack(folder string, paths ...string) []byte {
	var b bytes.Buffer
	if err := pack(&b, folder, paths); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// Conn is the connection of the worker, and the word of the study.
func (h *RemoteWorker) Conn() (nc *nats.Conn, word string) { return h.store.nc, string(h.store.names) }

// SetVersion lets the holder say that it speaks another version.
func (h *Holder) SetVersion(v string) error {
	ctx, cancel := op()
	defer cancel()
	return h.store.set(ctx, versionKey, v)
}

// SetJob writes the record of a job as an attempt that hands its result over, whose message is lost.
func (h *Holder) SetHanded(key string) error {
	ctx, cancel := op()
	defer cancel()
	_, err := h.store.jobs.Put(ctx, key, encoded(record{Phase: phaseHanded, Worker: "w"}))
	return err
}

// Waiting is how many messages with results are on the server.
func (h *Holder) Waiting() uint64 {
	ctx, cancel := op()
	defer cancel()
	info, err := h.results.Info(ctx)
	if err != nil {
		return 1
	}
	return info.State.Msgs
}

// Bundles is how many messages with parts and manifests are on the server.
func (h *Holder) Bundles() uint64 {
	ctx, cancel := op()
	defer cancel()
	info, err := h.store.bundles.Info(ctx)
	if err != nil {
		return 1
	}
	return info.State.Msgs
}

// Names of the folder.
const (
	NatsFolder = natsFolder
	AsideDir   = asideDir
	SecretFile = secretFile
)

// Bury removes the claims of a process that was killed, as the server does a minute later.
func (h *Holder) Bury(pid string) {
	h.store.mu.Lock()
	claims := maps.Clone(h.store.view.claims.values)
	h.store.mu.Unlock()
	ctx, cancel := op()
	defer cancel()
	for key, c := range claims {
		if strconv.Itoa(c.PID) == pid {
			_ = h.store.claims.Purge(ctx, key)
		}
	}
}

// Value is the last message of a subject of a bucket or of bundles, as the server has it.
func (h *Holder) Value(subject string) ([]byte, error) {
	ctx, cancel := op()
	defer cancel()
	stream, err := h.store.js.StreamNameBySubject(ctx, subject)
	if err != nil {
		return nil, err
	}
	of, err := h.store.js.Stream(ctx, stream)
	if err != nil {
		return nil, err
	}
	m, err := of.GetLastMsgForSubject(ctx, subject)
	if err != nil {
		return nil, err
	}
	return m.Data, nil
}

// Last is the last revision of a bucket.
func (h *Holder) Last(bucket string) uint64 {
	ctx, cancel := op()
	defer cancel()
	s, err := h.store.js.Stream(ctx, "KV_ocl-"+string(h.store.names)+"-"+bucket)
	if err != nil {
		return 0
	}
	return s.CachedInfo().State.LastSeq
}

// Seen is the last revision of the bucket of ends, or of that of settings, that the worker has read.
func (h *RemoteWorker) Seen(bucket string) uint64 {
	h.store.mu.Lock()
	defer h.store.mu.Unlock()
	if bucket == "ends" {
		return h.store.view.ends.seen
	}
	return h.store.view.settings.seen
}
