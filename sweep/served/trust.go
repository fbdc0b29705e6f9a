package served

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ocl/internal/cause"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/run/progress"
	"ocl/sweep/study"
)

// mostFaults is the number of unusable results, or of false reports, after which a worker is refused.
const mostFaults = 3

// fault counts what of a worker could not be used, and refuses it after several. It is the mark of its key that counts,
// which it cannot choose.
func (h *Holder) fault(ctx context.Context, worker, why string) {
	m := markOf(worker)
	before := h.faults[m]
	if worker == unknown {
		return
	}
	h.faults[m]++
	if before >= mostFaults || h.faults[m] < mostFaults {
		return
	}
	h.tell(fmt.Sprintf("the worker %s is refused: %s. Look at its machine", worker, why))
	h.refused[worker] = cut(why)
	h.failed(h.store.set(ctx, refusedKey+worker, h.refused[worker]))
}

// bar ends the connections of workers that are refused, which had time to hear why. Whoever makes up new names all the
// time is refused by the secret in the end.
func (h *Holder) bar() {
	if h.server == nil {
		return
	}
	for worker := range h.refused {
		if m := markOf(worker); worker != holderUser && !h.server.isBarred(m) && h.server.bar(m) == mostRefused {
			h.tell(fmt.Sprintf("%d workers with the join file were refused, so no new one is taken; those whose results were good go on. End this process, remove %s and start it again: "+
				"it writes another join file for the machines that you trust", mostRefused, filepath.Join(h.dir, secretFile)))
		}
	}
}

// prove notes that a result of a worker was good. What others said has failed, of which no result was good, is then
// tried again: it may be their machine.
func (h *Holder) prove(ctx context.Context, worker string) {
	m := markOf(worker)
	if worker == unknown {
		return
	}
	h.proven[m] = true
	if h.server != nil {
		h.server.prove(m)
	}
	for key, by := range h.doubts {
		if by == m {
			continue
		}
		delete(h.doubts, key)
		h.retried[key] = true
		e := h.entries[key]
		if again, err := h.folder.Retry(e); err == nil && again {
			h.failed(h.tellEnd(ctx, e))
			h.offer(ctx, e, "")
		}
	}
}

// died are the marks of the processes that have begun a job, and whose connections have ended since. Of those that
// served the study before, and did it themselves, the file tells how many there were.
func (h *Holder) died(e study.Entry) (marks []string) {
	h.store.mu.Lock()
	defer h.store.mu.Unlock()
	for m := range h.begun[e.Key] {
		if h.server.gone(m) {
			marks = append(marks, m)
		}
	}
	// without it none has died
	own, _ := input.ReadFile(filepath.Join(h.dir, ownWorkDir, e.Folder, begunFile), input.Want{Most: limit.StudyNote})
	for n := range bytes.Count(own, []byte("\n")) {
		marks = append(marks, fmt.Sprintf("%s %d", holderUser, n))
	}
	return marks
}

// failure collects the reports of workers that could not do a job, while other workers may still try.
type failure struct {
	by    []string  // their names
	why   string    // as the last one has said
	since time.Time // when the job was last seen at work, or another one
}

// enough is the number of workers, each with a good result before, whose reports make a job count as failed. With fewer
// reports it fails when no other worker is there that could do it.
const enough = 2

// settled says whether a job has failed of which workers have said so: enough of them, or nobody else is there.
func (h *Holder) settled(f failure) bool {
	marks, proven := map[string]bool{}, 0
	for _, worker := range f.by {
		marks[markOf(worker)] = true
		if h.proven[markOf(worker)] {
			proven++
		}
	}
	return proven >= enough || !h.proven[holderUser] && !h.server.others(marks)
}

// settleFailures ends jobs that have failed for some workers, and that no other one takes: they may lack its data.
func (h *Holder) settleFailures(ctx context.Context) {
	h.store.mu.Lock()
	claims, records := maps.Clone(h.store.view.claims.values), maps.Clone(h.store.view.jobs.values)
	h.store.mu.Unlock()
	maps.DeleteFunc(claims, func(key string, _ held) bool { return h.entries[key].Key == "" })
	for key, f := range h.said {
		_, ended := h.endOf(h.entries[key])
		_, taken := claims[key]
		taken = taken || records[key].Phase == phaseHanded
		switch settled := h.settled(f); {
		case ended:
			delete(h.said, key)
		case !taken && (settled || len(claims) == 0 && time.Since(f.since) > maxAge):
			h.fail(ctx, h.entries[key], f.why)
		case len(claims) > 0: // who is at work on another one may take it later
			f.since = time.Now()
			h.said[key] = f
		}
	}
}

// fail notes in the folder that a job has failed. It is false if that cannot be done now.
func (h *Holder) fail(ctx context.Context, e study.Entry, why string) bool {
	c, st, err := h.folder.Claim(e)
	if err == nil && c != nil {
		err = c.Fail(errors.New(cmp.Or(why, "it failed")))
	}
	if err != nil {
		return h.wait(e, err)
	}
	if c == nil && st.Phase != progress.Failed && st.Phase != progress.Done {
		return h.wait(e, errors.New("another process is at work on it"))
	}
	delete(h.said, e.Key)
	h.failed(h.tellEnd(ctx, e))
	return true
}

// takeFailure takes the message that a job has failed. From a worker of which no result was good it counts only while
// no other one is known to be better, and from any other one once nobody else can do the job.
func (h *Holder) takeFailure(ctx context.Context, m *jetstream.RawStreamMsg, e study.Entry, worker string) bool {
	r, _, err := h.store.job(ctx, e.Key)
	if err != nil {
		h.failed(err)
		return false
	}
	if _, ended := h.endOf(e); ended || r.Worker != worker && worker != holderUser { // somebody else has the job
		return true
	}
	by, why := markOf(worker), cut(string(m.Data))
	proven := h.proven[by] || worker == holderUser
	f := h.said[e.Key]
	if m.Header.Get(failedHeader) == byDeaths && h.server != nil {
		died := h.died(e)
		if len(died) < study.MostDeaths { // somebody else has written so
			r.Deaths = 0
			_, err := h.store.jobs.Put(ctx, e.Key, encoded(r))
			h.failed(err)
			h.offer(ctx, e, worker)
			return true
		}
		proven = slices.ContainsFunc(died, func(m string) bool { return h.proven[m] }) || h.retried[e.Key]
		by = ""
	} else if again := slices.ContainsFunc(f.by, func(other string) bool { return markOf(other) == by }); again ||
		!proven && len(h.proven) > 0 && len(f.by) == 0 {
		h.fault(ctx, worker, fmt.Sprintf("it said that %d jobs have failed, and did none, as others did, or the same one again. The last: %s",
			mostFaults, cause.Line(why)))
		h.offer(ctx, e, worker)
		return true
	} else if worker != holderUser && h.server != nil && len(h.proven) > 0 {
		f = failure{append(f.by, worker), why, time.Now()}
		if !h.settled(f) {
			h.said[e.Key] = f
			h.offer(ctx, e, worker)
			return true
		}
	}
	if !h.fail(ctx, e, why) {
		return false
	}
	if !proven && len(f.by) == 0 {
		h.doubts[e.Key] = by
	}
	return true
}
