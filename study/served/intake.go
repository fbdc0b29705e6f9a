package served

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// mostFaults is how many results of a worker may be unusable before it is refused.
const mostFaults = 3

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
	err := emptied(from)
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
