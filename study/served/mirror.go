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
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ocl/experiment/result"
	"ocl/study"
)

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
	if h.server != nil {
		if err := h.server.ill(); err != nil && h.server.hasRoom() {
			h.tell(fmt.Sprintf("the server could not write its files (%v), and there is room now. It is started again; workers wait for it", err))
			h.server.stop()
			if err := h.server.start(); err != nil {
				h.failed(err)
				return
			}
			h.epoch = "" // what was in its memory is gone: everything is made again, and tried again until it is
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
		// A result that was handed over may be lost. While others wait to be taken in, it is most likely one of those, and asking for each would
		// take longer than to take them in.
		if e.Key == "" || r.Phase != study.Failed && (r.Phase != phaseHanded || h.behind) {
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
