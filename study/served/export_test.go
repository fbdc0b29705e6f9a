package served

import (
	"bytes"
	"maps"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"ocl/study"
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

// Expire removes claims that are older than their age would be if so much more time had passed, as the server does by itself.
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
func (h *Hands) Send(key string, data []byte, header string) error {
	m := nats.NewMsg(h.store.result(key))
	m.Header.Set(workerHeader, h.store.worker)
	if header != "" {
		m.Header.Set(bundleHeader, header)
	}
	m.Data = data
	ctx, cancel := op()
	defer cancel()
	_, err := h.store.js.PublishMsg(ctx, m)
	return err
}

// Pack is the archive of files.
func Pack(folder string, paths ...string) []byte {
	var b bytes.Buffer
	if err := pack(&b, folder, paths); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// Conn is the connection of the worker, and the word of the study.
func (h *Hands) Conn() (nc *nats.Conn, word string) { return h.store.nc, string(h.store.names) }

// SetVersion lets the holder say that it speaks another version.
func (h *Holder) SetVersion(v string) error {
	ctx, cancel := op()
	defer cancel()
	_, err := h.store.settings.PutString(ctx, versionKey, v)
	return err
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
