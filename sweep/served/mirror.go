package served

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ocl/run/progress"
	"ocl/run/result"
	"ocl/sweep/study"
)

// endOf returns how a job has ended, as the folder says, and whether it has ended. It updates what the holder keeps of
// the job.
func (h *Holder) endOf(e study.Entry) (end, bool) {
	over, ended := endOf(h.folder.State(e))
	h.store.mu.Lock()
	defer h.store.mu.Unlock()
	if ended {
		h.store.ended[e.Key] = over
		delete(h.begun, e.Key)
	} else {
		delete(h.store.ended, e.Key)
	}
	return over, ended
}

// same says whether two ends are one; that of a job that has not ended is empty.
func same(a, b end) bool { return bytes.Equal(encoded(a), encoded(b)) }

// tellEnd tells workers whether a job has ended, as the folder says.
func (h *Holder) tellEnd(ctx context.Context, e study.Entry) (err error) {
	if over, ended := h.endOf(e); ended {
		_, err = h.store.ends.Put(ctx, e.Key, h.store.sign(h.store.names.end(e.Key), encoded(over)))
	} else {
		err = h.store.ends.Purge(ctx, e.Key)
	}
	return err
}

// settle is the record of a job that has not ended, as the folder has it; r is that of the server.
func (h *Holder) settle(ctx context.Context, e study.Entry, r record) (record, error) {
	st := h.folder.State(e)
	if r.Phase == phaseHanded {
		there, err := h.pending(ctx, e.Key)
		if err != nil || there {
			return r, err
		}
		r.Phase = phaseReleased
	}
	if st.Progress.Step > 0 && r.Phase != progress.Begun { // what the server may not have any more
		m, there, err := h.store.manifest(ctx, "*", savedOf(e.Key))
		if err != nil {
			return r, err
		}
		if !there || m.Step < st.Progress.Step {
			from := filepath.Join(h.dir, e.Folder)
			paths, err := study.Files(from)
			if err == nil {
				_, err = h.store.put(context.WithoutCancel(ctx), savedOf(e.Key), st.Progress.Step,
					func(w io.Writer) error { return pack(w, from, paths) })
			}
			if err != nil {
				return r, err
			}
		}
		r.Phase, r.Step = phaseReleased, max(r.Step, m.Step, st.Progress.Step)
	}
	return r, nil
}

// pending says whether the result of a job waits to be taken in.
func (h *Holder) pending(ctx context.Context, key string) (bool, error) {
	_, err := h.results.GetLastMsgForSubject(ctx, h.store.names.result("*", key))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	return err == nil, err
}

// answer answers a question of a worker, and nobody else.
func (h *Holder) answer(m *nats.Msg) {
	words := strings.Split(m.Subject, ".")
	name, e := words[len(words)-2], h.entries[words[len(words)-1]]
	if !strings.HasPrefix(m.Reply, inboxOf(name)+".") {
		return
	}
	reply := nats.NewMsg(m.Reply)
	data, err := h.resultOf(e)
	if reply.Data = h.store.sign(m.Subject, data); err != nil {
		reply.Header.Set(errorHeader, cut(strings.ReplaceAll(err.Error(), "\n", " ")))
	}
	h.failed(m.RespondMsg(reply))
}

// resultOf is the result of a job as a message has it; none is nil.
func (h *Holder) resultOf(e study.Entry) ([]byte, error) {
	if e.Key == "" {
		return nil, errors.New("served: the study has no such job. Use the same ocl on both machines")
	}
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
		err = fmt.Errorf("served: the result of %s has %d bytes, too many for a message. Do the study on one machine",
			e.Folder, b.Len())
	}
	return b.Bytes(), err
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
	if h.server != nil {
		if err := h.server.ill(); err != nil && h.server.hasRoom() {
			h.tell(fmt.Sprintf("the server could not write its files (%v), and there is room now. It is started again; workers wait for it",
				err))
			h.server.stop()
			if err := h.server.start(); err != nil {
				h.failed(err)
				return
			}
			h.epoch = "" // what was in its memory is gone: everything is made again, and tried again until it is
		}
	}
	whole, err := h.whole(ctx)
	if gone(err) || err == nil && !whole {
		err = h.build(ctx)
	}
	if err == nil {
		err = h.mirrorCancelled(ctx)
	}
	if err != nil {
		h.failed(err)
		return
	}
	h.store.mu.Lock()
	told, ours, refused := maps.Clone(h.store.view.ends.values), maps.Clone(h.store.ended),
		maps.Clone(h.store.view.settings.values)
	h.store.mu.Unlock()
	for key := range refused { // only the holder writes one
		if name, is := strings.CutPrefix(key, refusedKey); is && h.refused[name] == "" {
			h.failed(h.store.settings.Purge(ctx, key))
		}
	}
	keys := slices.AppendSeq(slices.Collect(maps.Keys(told)), maps.Keys(ours)) // workers may not know of ours yet
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		was := told[key]
		e, known := h.entries[key]
		if !known {
			h.failed(h.store.ends.Purge(ctx, key))
			continue
		}
		// somebody may let a job be tried again that has failed
		if now := ours[key]; now.Phase != progress.Failed && same(was, now) {
			continue
		}
		over, ended := h.endOf(e)
		if same(was, over) {
			continue
		}
		err := h.tellEnd(ctx, e)
		if err == nil && !ended {
			_, err = h.store.jobs.Put(ctx, key, encoded(record{}))
			delete(h.said, key)
		}
		h.failed(err)
	}
	known := h.store.known()
	for _, key := range slices.Sorted(maps.Keys(known)) {
		r, e := known[key], h.entries[key]
		if e.Key == "" {
			h.failed(h.store.jobs.Purge(ctx, key))
			continue
		}
		// A result that was handed over may be lost. While others wait to be taken in, it is most likely one of those, and
		// asking for each would take longer than to take them in.
		if r.Phase != phaseHanded || h.behind || ours[key].Phase != "" {
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
	h.settleFailures(ctx)
	h.sweep(ctx)
	h.bar()
}

// whole says whether the server has what workers need before anything else, as this process has put it there.
func (h *Holder) whole(ctx context.Context) (bool, error) {
	for key, want := range map[string]string{epochKey: h.epoch, versionKey: version} {
		if got, err := h.store.setting(ctx, key); err != nil || got != want {
			return false, err
		}
	}
	_, there, err := h.store.manifest(ctx, holderUser, studyBundle)
	return there, err
}

// mirrorCancelled lets the server say whether the study was cancelled, as the folder does.
func (h *Holder) mirrorCancelled(ctx context.Context) error {
	want := ""
	if h.folder.Cancelled() {
		want = "yes"
	}
	got, err := h.store.setting(ctx, cancelledKey)
	if err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
		return err
	}
	if got == want {
		return nil
	}
	return h.store.set(ctx, cancelledKey, want)
}
