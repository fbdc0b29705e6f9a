package served

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ocl/run/progress"
	"ocl/sweep/study"
)

// tidy removes the parts of a bundle from a process that are not those of its newest manifest.
func (h *Holder) tidy(ctx context.Context, from, name string) error {
	m, there, err := h.store.manifest(ctx, from, name)
	if err != nil || !there {
		return err
	}
	first, err := h.store.bundles.GetLastMsgForSubject(ctx, h.store.bundle(from, name)+"."+m.Word+".0")
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return h.store.bundles.Purge(ctx, jetstream.WithPurgeSubject(h.store.bundle(from, name)+".>"),
		jetstream.WithPurgeSequence(first.Sequence))
}

// forget removes what was saved of a job.
func (h *Holder) forget(ctx context.Context, key string) {
	delete(h.saved, key)
	h.failed(h.store.bundles.Purge(ctx, jetstream.WithPurgeSubject(h.store.bundle("*", key+".>"))))
}

// upload is the number of parts of a bundle that have come without its manifest, and the time since when it has not
// grown.
type upload struct {
	parts uint64
	since time.Time
}

// uploadTime is the longest pause within a bundle. A sender sends the parts without a pause, so after it the sender has
// stopped.
const uploadTime = 10 * time.Minute

// sweep removes what no worker of this study needs to put on the server: bundles of other jobs, larger ones than a job
// may have, those of jobs that are done and of workers that are refused, and parts without an end. It counts against
// nobody: the server can be made to write in any name that others see.
func (h *Holder) sweep(ctx context.Context) {
	prefix := h.store.bundle("*", ">")
	info, err := h.store.bundles.Info(ctx)
	if err == nil && info.State.LastSeq == h.swept && len(h.parts) == 0 {
		return
	}
	last := uint64(0)
	if err == nil {
		last = info.State.LastSeq
		info, err = h.store.bundles.Info(ctx, jetstream.WithSubjectFilter(prefix))
	}
	if err != nil {
		h.failed(err)
		return
	}
	all, whole := map[string]uint64{}, map[string]bool{}
	for subject, n := range info.State.Subjects {
		// ocl, the study, "bundle", the process, the job, the kind, and of a part a word and a number
		words := strings.Split(subject, ".")
		if words[3] == holderUser {
			continue
		}
		foreign := len(words) != 6 && len(words) != 8
		if !foreign {
			_, known := h.entries[words[4]]
			foreign = !known || words[5] != savedKind && words[5] != resultKind
		}
		if foreign {
			all[strings.Join(words[:5], ".")] = math.MaxUint64
			continue
		}
		base := strings.Join(words[:6], ".")
		if len(words) == 6 {
			whole[base], n = true, 0
		}
		all[base] += n
	}
	done := map[string]bool{}
	h.store.mu.Lock()
	for key, over := range h.store.ended {
		done[key] = over.Phase == progress.Done
	}
	h.store.mu.Unlock()
	before, now := h.parts, time.Now()
	h.parts = map[string]upload{}
	for base, n := range all {
		name, key := h.store.sender(base), ""
		if words := strings.Split(base, "."); len(words) > 5 {
			key = words[4]
		}
		if h.faults[markOf(name)] >= mostFaults || done[key] {
			h.drop(ctx, base)
			continue
		}
		most := 2 * uint64(h.most/h.store.partSize()+2) // those of the one before stay until the next is whole
		if n > most {
			h.drop(ctx, base)
			h.tell(fmt.Sprintf("what %s put on the server was removed, as no job of the study needs it. Look at its machine",
				name))
			continue
		}
		if whole[base] {
			continue
		}
		u := before[base]
		if u.parts != n {
			u = upload{n, now}
		}
		if now.Sub(u.since) > uploadTime {
			h.drop(ctx, base)
			continue
		}
		h.parts[base] = u
	}
	h.swept = last
}

// drop removes a bundle from a process.
func (h *Holder) drop(ctx context.Context, base string) {
	h.failed(h.store.bundles.Purge(ctx, jetstream.WithPurgeSubject(base+".>")))
	h.failed(h.store.bundles.Purge(ctx, jetstream.WithPurgeSubject(base)))
}

// keep copies into the folder what workers have saved.
func (h *Holder) keep() {
	for {
		ctx, cancel := op()
		m, err := h.store.bundles.GetMsg(ctx, h.kept+1, jetstream.WithGetMsgSubject(h.store.bundle("*", savedOf("*"))))
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
	key, worker := words[len(words)-2], h.store.sender(m.Subject)
	e, known := h.entries[key]
	if !known {
		return true // it is swept away
	}
	h.saved[key] = true
	of, err := h.store.manifestIn(m)
	if err == nil && of.Step > 0 && of.Step <= study.StepOf(filepath.Join(h.dir, e.Folder), e) {
		return true
	}
	from := filepath.Join(h.dir, ownWorkDir, ".in")
	defer os.RemoveAll(from)
	if err == nil && of.Size > h.most {
		err = fmt.Errorf("it has %d bytes, and a job of this study at most %d", of.Size, h.most)
	}
	bad := err
	if err == nil {
		err = os.RemoveAll(from)
	}
	if err == nil {
		err = h.store.fetch(context.Background(), savedOf(key), of, from, of.most())
		bad = err
	}
	if err == nil {
		_, err = h.folder.TakeOver(e, from)
	}
	if errors.As(err, new(*atServer)) {
		h.failed(err)
		return false
	}
	ctx, cancel := op()
	defer cancel()
	if err != nil {
		h.tell(fmt.Sprintf("what a worker has saved of %s is not kept here: %v. The job goes on", e, err))
		if bad != nil && !noRoom(bad) {
			h.drop(ctx, h.store.bundle(worker, savedOf(key)))
		}
	}
	h.failed(h.tidy(ctx, worker, savedOf(key)))
	return true
}
