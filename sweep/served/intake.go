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

	"ocl/internal/atomicfile"
	"ocl/internal/cause"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/sweep/study"
)

// takeIn takes in results that have come. More says that there are others.
func (h *Holder) takeIn() (more bool) { return h.takeInTo(math.MaxUint64) }

// takeInTo takes in results up to a place in their stream.
func (h *Holder) takeInTo(last uint64) (more bool) {
	for range 100 {
		ctx, cancel := op()
		// Of all subjects: the server looks up a narrower filter in the subjects of all results that wait, so a holder that
		// is behind would fall further behind.
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
	from := filepath.Join(h.dir, ownWorkDir, ".in")
	err := emptied(from)
	switch {
	case err != nil:
	case h.refused[worker] != "" || h.faults[markOf(worker)] >= mostFaults:
		err = errRefused
	case h.folder.State(e).Phase == progress.Done: // a second result is dropped
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
	if err == nil && h.folder.State(e).Phase != progress.Done {
		err = errors.New("its run was interrupted")
	}
	if err != nil {
		h.refuse(ctx, m, worker, key, err)
		return true
	}
	h.full = false
	for _, other := range h.said[key].by {
		if markOf(other) != markOf(worker) {
			h.fault(ctx, other, fmt.Sprintf("it said that %d jobs have failed that others have done, the last because %s",
				mostFaults, cause.Line(h.said[key].why)))
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

// emptied removes what a folder has, and not the folder: ext4 without a journal makes new files slowly where others
// were just removed.
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
	return slices.ContainsFunc([]error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EFBIG, syscall.EIO,
		syscall.EMFILE, syscall.ENFILE, syscall.EACCES, syscall.EPERM},
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
	text := strings.ReplaceAll(study.Fault(fault), filepath.Join(h.dir, ownWorkDir, ".in")+string(filepath.Separator), "")
	e, known := h.entries[key]
	what := fmt.Sprintf("a result from %s for the job %.16s", worker, key)
	if known {
		what = fmt.Sprintf("the result of %s from %s", e, worker)
	}
	// parts have a name that others see
	if !errors.Is(fault, errLost) && !errors.Is(fault, errParts) && !errors.Is(fault, errRefused) {
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
	if _, ended := h.endOf(e); err == nil && !ended && (r.Phase != progress.Begun || r.Worker == worker) {
		r.Phase, r.Worker = phaseReleased, ""
		_, err = h.store.jobs.Put(ctx, e.Key, encoded(r))
		h.failed(err)
	}
}
