package study

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ocl/internal/atomicfile"
	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/run/train"
)

// Names in the folder of a study.
const (
	StudyFile     = "study.yaml"
	jobsFile      = "jobs.jsonl"
	cancelledFile = "cancelled"
)

// Folder is the store in plain files. Every job has a folder with the files of its run; that is done when its
// result.json says so.
//
// A process at work on a job holds the lock of its folder, and keeps in the file .attempt how far it is. The system
// releases the lock when the process ends, however it ends. So a job with that file and without the lock is one whose
// process has died.
type Folder struct {
	dir, host string
	lock      func(folder string) (unlock func(), err error) // experiment.LockRun, but in tests of other file systems
	now       func() time.Time                               // time.Now, but in tests

	mu    sync.Mutex
	known map[string]progress.State // of jobs that are done, by folder: a result does not change
	mine  map[string]*claim         // of this process, by folder
	aside []string                  // notes about results that could not be used
}

// OpenFolder opens the store in a folder.
func OpenFolder(dir string) *Folder {
	return &Folder{dir: dir, host: HostName(), lock: experiment.LockRun, now: time.Now, known: map[string]progress.State{},
		mine: map[string]*claim{}}
}

// HostName is the name of this machine, as [Progress] has it.
func HostName() string {
	host, _ := os.Hostname()
	return cmp.Or(host, "unknown")
}

// Claim implements [Store].
func (s *Folder) Claim(e Entry) (Claim, progress.State, error) {
	folder := folderOf(s.dir, e)
	if gone := train.Vanished(s.dir); gone != nil { // it would be made again, without its list
		return nil, progress.State{}, fmt.Errorf("study: %w", gone)
	}
	// A result without a note is read under the lock: its process, if it lives, is about to write the note, and reading
	// takes milliseconds.
	_, begun := readAttempt(folder)
	if st, done := s.noted(e, folder); done && !begun {
		return nil, st, nil
	}
	if f, failed := readFailure(folder); failed {
		return nil, failedState(f), nil
	}
	if s.isMine(folder) { // the locks of some network file systems do not hold within a process
		return nil, s.running(folder, true), nil
	}
	unlock, err := s.lock(folder)
	switch {
	case errors.Is(err, experiment.ErrBusy):
		return nil, s.running(folder, true), nil
	case err != nil:
		return nil, progress.State{}, fmt.Errorf("study: %w", err)
	}
	c, st, err := s.take(e, folder)
	if c == nil {
		unlock()
		return nil, st, err
	}
	c.unlock = unlock
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mine[folder] = c
	return c, st, nil
}

// take makes the claim in a folder that is locked. The claim is nil if the job is not free.
func (s *Folder) take(e Entry, folder string) (*claim, progress.State, error) {
	before, begun := readAttempt(folder)
	if st, done := s.done(e, true); done {
		_ = os.Remove(filepath.Join(folder, attemptFile)) // of a process that died after the result
		return nil, st, nil
	}
	if f, failed := readFailure(folder); failed {
		return nil, failedState(f), nil
	}
	if begun && s.mayLive(before) {
		return nil, s.running(folder, false), nil
	}
	found, _ := foundIn(folder, e) // an error is ignored here, because a result that cannot be read is put aside below
	mine := attempt{Attempt: FirstAttempt(found.Step)}
	if begun {
		mine.Attempt = before.Next(found.Step)
		if err := atomicfile.RemoveTemporaries(folder, failedFile); err != nil {
			return nil, progress.State{}, fmt.Errorf("study: %w", err)
		}
	}
	mine.Host, mine.PID = s.host, os.Getpid()
	if cause := mine.TooMany(); cause != nil {
		f := failure{Error: cause.Error(), Attempt: mine.Number - 1, Step: found.Step, Deaths: mine.Deaths}
		if err := s.fail(folder, f); err != nil {
			return nil, progress.State{}, err
		}
		_ = os.Remove(filepath.Join(folder, attemptFile)) // the failure says it all
		return nil, failedState(f), nil
	}
	file, err := mine.create(folder, s.now())
	if err != nil {
		return nil, progress.State{}, fmt.Errorf("study: %s: the job cannot be claimed: %w. Make room on the disk, or give a folder that can be written",
			folder, err)
	}
	c := &claim{store: s, entry: e, folder: folder, file: file, mine: mine}
	if err := s.putAside(e, folder); err != nil {
		return nil, progress.State{}, errors.Join(err, c.close())
	}
	return c, progress.State{Phase: progress.Running, Sure: true, Attempt: mine.Number, Progress: mine.Progress}, nil
}

// mayLive says that an attempt whose lock is free may be alive: its machine is another one, and has said a moment ago
// how far it is. Where locks do not cross machines this keeps a job that several of them begin at once from counting as
// dead so many times.
func (s *Folder) mayLive(a attempt) bool {
	return a.Host != s.host && s.now().Sub(a.At).Abs() < StaleAfter
}

func (s *Folder) isMine(folder string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mine[folder] != nil
}

// running is the state of a job that somebody is at work on.
func (s *Folder) running(folder string, sure bool) progress.State {
	a, _ := readAttempt(folder) // one that is not there yet says nothing
	return progress.State{Phase: progress.Running, Sure: sure, Attempt: a.Number, Progress: a.Progress}
}

func failedState(f failure) progress.State {
	return progress.State{Phase: progress.Failed, Error: f.Error, Attempt: f.Attempt,
		Progress: progress.Progress{Host: f.Host, Step: f.Step}}
}

// noted says whether a job is known to have its result, here or by the note of the process that wrote or read it.
func (s *Folder) noted(e Entry, folder string) (progress.State, bool) {
	s.mu.Lock()
	st, known := s.known[e.Folder]
	s.mu.Unlock()
	if known {
		return st, true
	}
	st, whole := noted(folder, e)
	if whole {
		s.know(e, st)
	}
	return st, whole
}

// done says whether a job has its result. With write, it notes for others that it has read one.
func (s *Folder) done(e Entry, write bool) (progress.State, bool) {
	folder := folderOf(s.dir, e)
	if st, done := s.noted(e, folder); done {
		return st, true
	}
	stamp, whole := stampOf(folder) // before it is read: whoever replaces it meanwhile makes another stamp
	r, err := verified(filepath.Join(folder, experiment.ResultFile), e)
	if err != nil || r == nil || r.Outcome.State == result.Interrupted {
		return progress.State{}, false
	}
	note := noteOf(e, r, stamp)
	if write && whole {
		note.write(folder)
	}
	s.know(e, note.state())
	return note.state(), true
}

func (s *Folder) know(e Entry, st progress.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[e.Folder] = st
}

// Result implements [Store].
func (s *Folder) Result(e Entry) (*result.Result, error) {
	return verified(filepath.Join(folderOf(s.dir, e), experiment.ResultFile), e)
}

// State implements [Store].
func (s *Folder) State(e Entry) progress.State {
	if st, done := s.done(e, false); done {
		return st
	}
	folder := folderOf(s.dir, e)
	if f, failed := readFailure(folder); failed {
		return failedState(f)
	}
	if s.isMine(folder) {
		return s.running(folder, true)
	}
	if a, begun := readAttempt(folder); begun {
		unlock, err := s.lock(folder)
		if err == nil {
			unlock()
		}
		if locked := errors.Is(err, experiment.ErrBusy); locked || s.mayLive(a) {
			return s.running(folder, locked)
		}
	}
	if _, fault := s.Result(e); fault != nil {
		return progress.State{Phase: progress.Begun, Error: Fault(fault)}
	}
	found, err := foundIn(folder, e)
	switch {
	case err != nil:
		return progress.State{Phase: progress.Begun, Error: Fault(err)}
	case found.State == "":
		return progress.State{Phase: progress.Waiting}
	}
	return progress.State{Phase: progress.Begun, Progress: progress.Progress{Step: found.Step}}
}

// Retry implements [Store].
func (s *Folder) Retry(e Entry) (bool, error) {
	err := os.Remove(filepath.Join(folderOf(s.dir, e), failedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("study: %w", err)
	}
	return true, nil
}

// Cancel implements [Store].
func (s *Folder) Cancel() error {
	text := fmt.Sprintf("cancelled %s on %s\n", s.now().UTC().Format(time.RFC3339), s.host)
	if err := experiment.WriteShared(s.dir, cancelledFile, []byte(text)); err != nil {
		return fmt.Errorf("study: %w", err)
	}
	return nil
}

// Cancelled implements [Store].
func (s *Folder) Cancelled() bool {
	_, err := os.Stat(filepath.Join(s.dir, cancelledFile))
	return err == nil
}

// Resume implements [Store].
func (s *Folder) Resume() error {
	if err := os.Remove(filepath.Join(s.dir, cancelledFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("study: %w", err)
	}
	return nil
}
