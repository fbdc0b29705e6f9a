package served

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ocl/experiment"
	"ocl/internal/atomicfile"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/study"
)

// mostFaults is how much of a worker may be unusable before it is refused.
const mostFaults = 3

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
	return h.store.bundles.Purge(ctx, jetstream.WithPurgeSubject(h.store.bundle(from, name)+".>"), jetstream.WithPurgeSequence(first.Sequence))
}

// forget removes what was saved of a job.
func (h *Holder) forget(ctx context.Context, key string) {
	delete(h.saved, key)
	h.failed(h.store.bundles.Purge(ctx, jetstream.WithPurgeSubject(h.store.bundle("*", key+".>"))))
}

// upload is how much of a bundle has come without its manifest, and since when.
type upload struct {
	parts uint64
	since time.Time
}

// uploadTime is how long nothing may come of a bundle that has begun. Whoever sends it has stopped, as each part is sent at once.
const uploadTime = 10 * time.Minute

// sweep removes what no worker of this study needs to put on the server: bundles of other jobs, larger ones than a job may have, those of jobs that are
// done and of workers that are refused, and parts without an end. It counts against nobody: the server can be made to write in any name that others see.
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
		words := strings.Split(subject, ".") // ocl, the study, "bundle", the process, the job, the kind, and of a part a word and a number
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
		done[key] = over.Phase == study.Done
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
			h.tell(fmt.Sprintf("what %s put on the server was removed, as no job of the study needs it. Look at its machine", name))
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

// fault counts what of a worker could not be used, and refuses it after several. It is the mark of its key that counts, which it cannot choose.
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
	_, err := h.store.settings.PutString(ctx, refusedKey+worker, h.refused[worker])
	h.failed(err)
}

// bar ends the connections of workers that are refused, which had time to hear why. Whoever makes up new names all the time is refused by the secret in the end.
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

// takeIn takes in results that have come. More says that there are others.
func (h *Holder) takeIn() (more bool) { return h.takeInTo(math.MaxUint64) }

// takeInTo takes in results up to a place in their stream.
func (h *Holder) takeInTo(last uint64) (more bool) {
	for range 100 {
		ctx, cancel := op()
		// Of all subjects: the server looks up a narrower filter in the subjects of all results that wait, so a holder that is behind would fall further behind.
		next, err := h.results.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(">"))
		if err != nil {
			cancel()
			if !errors.Is(err, jetstream.ErrMsgNotFound) {
				h.failed(err)
			}
			return false
		}
		if next.Sequence > last {
			cancel()
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
	worker := h.store.sender(m.Subject)
	if h.server != nil && worker != holderUser {
		worker = h.server.of(worker)
	}
	if !isName(worker) {
		worker = unknown
	}
	e, known := h.entries[key]
	if !known {
		h.refuse(ctx, m, worker, key, errors.New("the study has no such job"))
		return true
	}
	from := filepath.Join(h.dir, handsDir, ".in")
	err := emptied(from)
	switch {
	case err != nil:
	case h.refused[worker] != "" || h.faults[markOf(worker)] >= mostFaults:
		err = errRefused
	case h.folder.State(e).Phase == study.Done: // a second result is dropped
		h.swept = 0
		return true
	case m.Header.Get(failedHeader) != "":
		return h.takeFailure(ctx, m, e, worker)
	case m.Header.Get(bundleHeader) != "":
		var of manifest
		if of, err = manifestOf(m.Data); err == nil && of.Size > h.most {
			err = fmt.Errorf("it has %d bytes, and a job of this study at most %d", of.Size, h.most)
		}
		if of.from = m.Header.Get(bundleHeader); err == nil && !isName(of.from) || worker != unknown && of.from != worker {
			err = errors.New("its parts are those of another worker")
		}
		if err == nil {
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
		_, err = h.folder.TakeOver(e, from)
		if errors.Is(err, experiment.ErrBusy) || errors.As(err, new(syscall.Errno)) {
			return h.wait(e, err)
		}
	}
	if err == nil && h.folder.State(e).Phase != study.Done {
		err = errors.New("its run was interrupted")
	}
	if err != nil {
		h.refuse(ctx, m, worker, key, err)
		return true
	}
	h.full = false
	for _, other := range h.said[key].by {
		if markOf(other) != markOf(worker) {
			h.fault(ctx, other, fmt.Sprintf("it said that %d jobs have failed that others have done, the last because %s", mostFaults, study.Problem(h.said[key].why)))
		}
	}
	delete(h.said, key)
	h.prove(ctx, worker) // first, as the study may be over with this result
	err = h.tellEnd(ctx, e)
	h.failed(err)
	if h.saved[key] || m.Header.Get(bundleHeader) != "" {
		h.forget(ctx, key)
	}
	h.swept = 0
	return err == nil
}

// unknown is the name of a process that the server does not know, as it was not connected since the holder began.
const unknown = "unknown"

var errRefused = errors.New("its worker was refused")

// prove notes that a result of a worker was good. What others said has failed, of which no result was good, is then tried again: it may be their machine.
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

// died are the marks of the processes that have begun a job, and whose connections have ended since. Of those that served the study before, and did it
// themselves, the file tells how many there were.
func (h *Holder) died(e study.Entry) (marks []string) {
	h.store.mu.Lock()
	defer h.store.mu.Unlock()
	for m := range h.begun[e.Key] {
		if h.server.gone(m) {
			marks = append(marks, m)
		}
	}
	own, _ := input.ReadFile(filepath.Join(h.dir, handsDir, e.Folder, begunFile), input.Want{Most: limit.StudyNote}) // without it none has died
	for n := range bytes.Count(own, []byte("\n")) {
		marks = append(marks, fmt.Sprintf("%s %d", holderUser, n))
	}
	return marks
}

// failure is what workers say who could not do a job, while others are there who may.
type failure struct {
	by    []string  // their names
	why   string    // as the last one has said
	since time.Time // when the job was last seen at work, or another one
}

// enough is how many workers of which a result was good must say that a job has failed, where there are as many.
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
	if c == nil && st.Phase != study.Failed && st.Phase != study.Done {
		return h.wait(e, errors.New("another process is at work on it"))
	}
	delete(h.said, e.Key)
	h.failed(h.tellEnd(ctx, e))
	return true
}

// takeFailure takes the message that a job has failed. From a worker of which no result was good it counts only while no other one is known to be better,
// and from any other one once nobody else can do the job.
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
	} else if again := slices.ContainsFunc(f.by, func(other string) bool { return markOf(other) == by }); again || !proven && len(h.proven) > 0 && len(f.by) == 0 {
		h.fault(ctx, worker, fmt.Sprintf("it said that %d jobs have failed, and did none, as others did, or the same one again. The last: %s", mostFaults, study.Problem(why)))
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

// emptied removes what a folder has, and not the folder: ext4 without a journal makes new files slowly where others were just removed.
func emptied(folder string) error {
	entries, err := input.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(folder, e.Name())))
	}
	return err
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
	if !errors.Is(fault, errLost) && !errors.Is(fault, errParts) && !errors.Is(fault, errRefused) { // parts have a name that others see
		h.fault(ctx, worker, fmt.Sprintf("%d of its results could not be used, the last because %s", mostFaults, text))
	}
	if h.faults[markOf(worker)] <= mostFaults {
		h.tell(fmt.Sprintf("%s cannot be used: %s. %s, and the job is offered again", what, text, where))
	}
	if known {
		h.offer(ctx, e, worker)
	}
	if m.Header.Get(bundleHeader) == worker {
		h.drop(ctx, h.store.bundle(worker, resultOf(key)))
	}
}

// offer offers a job again that a worker has not done, unless another one is at work on it.
func (h *Holder) offer(ctx context.Context, e study.Entry, worker string) {
	r, _, err := h.store.job(ctx, e.Key)
	h.failed(err)
	if _, ended := h.endOf(e); err == nil && !ended && (r.Phase != study.Begun || r.Worker == worker) {
		r.Phase, r.Worker = phaseReleased, ""
		_, err = h.store.jobs.Put(ctx, e.Key, encoded(r))
		h.failed(err)
	}
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
	from := filepath.Join(h.dir, handsDir, ".in")
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
