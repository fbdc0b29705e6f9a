package study

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ocl/experiment"
	"ocl/experiment/result"
	"ocl/experiment/train"
	"ocl/internal/atomicfile"
)

// Names in the folder of a study.
const (
	StudyFile     = "study.yaml"
	jobsFile      = "jobs.jsonl"
	cancelledFile = "cancelled"
)

// Folder is the store in plain files, also on a network file system where databases break. Every job has a folder with
// the files of its run; that is done when its result.json says so.
//
// A process locks the folder of the run and makes the file .claim there, which it rewrites every [BeatEvery]. On one
// machine the lock decides: the jobs of a killed process are free at once. The claim of another machine, or one without a
// lock, holds until it has stood still for [StaleAfter] by the clock of whoever looks. Then it is renamed away, which one
// process alone can do. So machines may share a folder whether or not it has locks, and whether or not they share them.
type Folder struct {
	dir     string
	machine string
	host    string
	log     logFile
	lock    func(folder string) (unlock func(), err error) // experiment.LockRun, but in tests of other file systems

	mu      sync.Mutex
	known   map[string]State    // of jobs that are done, by folder: a result does not change
	watched map[string]sighting // claims of others, by folder
	mine    map[string]*claim   // of this process, by token
	aside   []string            // notes about results that could not be used
}

// sighting is what this process has seen of another process's claim.
type sighting struct {
	text  string
	since time.Time // it has not changed since
	moved bool      // it has changed while we looked
}

// OpenFolder opens the store in a folder. program is the version of ocl, for the log.
func OpenFolder(dir, program string) *Folder {
	host := hostName()
	return &Folder{dir: dir, machine: machineID(), host: host, log: logFile{dir: dir, host: host, program: program},
		lock: experiment.LockRun, known: map[string]State{}, watched: map[string]sighting{}, mine: map[string]*claim{}}
}

// machineID tells machines apart on which a lock says whether a process lives: the boot id of Linux, which containers of
// one machine share, or the host's name.
func machineID() string {
	if id, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil && len(id) > 8 {
		return "boot " + strings.TrimSpace(string(id))
	}
	return "host " + hostName()
}

func hostName() string {
	host, _ := os.Hostname()
	return cmp.Or(host, "unknown")
}

// Host is the name of this machine.
func (s *Folder) Host() string { return s.host }

// Note implements [Store].
func (s *Folder) Note(e Event) { s.log.add(e) }

// Close implements [Store].
func (s *Folder) Close() error { return s.log.close() }

// Claim implements [Store].
func (s *Folder) Claim(e Entry) (Claim, State, error) {
	folder := folderOf(s.dir, e)
	if gone := train.Vanished(s.dir); gone != nil { // it would be made again, without its list
		return nil, State{}, fmt.Errorf("study: %w", gone)
	}
	// A result without a note is read under the lock: its process, if it lives, is about to write the note, and reading
	// takes milliseconds.
	if st, done := s.noted(e, folder); done {
		s.tidy(folder)
		return nil, st, nil
	}
	if f, failed := readFailure(folder); failed {
		return nil, failedState(f), nil
	}
	if err := atomicfile.MakeFolder(folder); err != nil {
		return nil, State{}, fmt.Errorf("study: %w. Make room on the disk, or choose another --out", err)
	}
	unlock, err := s.lock(folder)
	locked := err == nil
	switch {
	case errors.Is(err, experiment.ErrBusy):
		return nil, s.running(folder, true), nil
	case err != nil:
		if _, there := os.Stat(filepath.Join(folder, experiment.LockFile)); there != nil {
			return nil, State{}, fmt.Errorf("study: %w", err)
		}
		unlock = func() {} // the file system has no locks
	}
	c, st, err := s.take(e, folder, locked, unlock)
	if c == nil {
		unlock()
		return nil, st, err
	}
	return c, st, nil
}

// take makes the claim in a folder that is locked, or has no locks. The claim is nil if the job is not free.
func (s *Folder) take(e Entry, folder string, locked bool, unlock func()) (*claim, State, error) {
	path := filepath.Join(folder, claimFile)
	there, text, whole, err := readClaim(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, State{}, fmt.Errorf("study: %w", err)
	case whole && s.isMine(there.Token):
		return nil, s.running(folder, true), nil
	case locked && whole && there.Locked && there.Machine == s.machine: // the lock is free, so the process is dead
		if !bury(folder, there, text) {
			return nil, s.running(folder, false), nil
		}
		s.Note(Event{Event: EventTakeover, Job: e.Folder, Attempt: there.Attempt, Step: there.Step})
	case !s.stale(e.Folder, string(text)):
		return nil, s.running(folder, false), nil
	default:
		if !bury(folder, there, text) {
			return nil, s.running(folder, false), nil
		}
		s.Note(Event{Event: EventTakeover, Job: e.Folder, Attempt: there.Attempt, Step: there.Step})
	}
	dead, paths, err := graves(folder)
	if err != nil {
		return nil, State{}, fmt.Errorf("study: %w", err)
	}
	if st, done := s.done(e, true); done { // meanwhile
		removeAll(paths)
		return nil, st, nil
	}
	if f, failed := readFailure(folder); failed {
		return nil, failedState(f), nil
	}
	found, _ := foundIn(folder, e) // an error is ignored here, because a result that cannot be read is put aside below
	mine := record{Token: fmt.Sprintf("%016x", rand.Uint64()), Machine: s.machine, Locked: locked, Attempt: 1, Start: found.Step,
		Since: time.Now().UTC().Format(time.RFC3339Nano), Progress: Progress{Host: s.host, PID: os.Getpid(), Step: found.Step}}
	for _, d := range dead {
		if d.Attempt < mine.Attempt {
			continue // an earlier one, which the later one has counted
		}
		mine.Attempt, mine.Deaths = d.Attempt+1, 1
		if d.Start == found.Step {
			mine.Deaths = d.Deaths + 1
		}
		if d.Stopping {
			mine.Deaths-- // a person or the system ended it
		}
	}
	if mine.Deaths >= MostDeaths {
		f := failure{Error: fmt.Sprintf("%d attempts died at step %d", mine.Deaths, found.Step), Attempt: mine.Attempt - 1, Step: found.Step, Deaths: mine.Deaths}
		if err := s.fail(folder, f, nil); err != nil {
			return nil, State{}, err
		}
		s.Note(Event{Event: EventFail, Job: e.Folder, Attempt: f.Attempt, Step: f.Step, Error: f.Error})
		removeAll(paths)
		return nil, failedState(f), nil
	}
	c := &claim{store: s, entry: e, folder: folder, unlock: unlock, mine: mine}
	s.own(c)
	made, err := putClaim(folder, mine)
	if err != nil || !made {
		s.forget(mine.Token)
		if err != nil {
			return nil, State{}, fmt.Errorf("study: %s: the job cannot be claimed: %w. Make room on the disk, or give a folder that can be written", folder, err)
		}
		return nil, s.running(folder, false), nil
	}
	removeAll(paths)
	if err := s.putAside(e, folder); err != nil {
		c.unlock = func() {} // the caller does
		return nil, State{}, errors.Join(err, c.end())
	}
	s.Note(Event{Event: EventClaim, Job: e.Folder, Attempt: mine.Attempt, Step: mine.Start})
	return c, State{Phase: Running, Sure: true, Attempt: mine.Attempt, Progress: mine.Progress}, nil
}

// tidy removes the claim of a process that died after it had written the result. A process that still has the folder locked
// removes its own claim.
func (s *Folder) tidy(folder string) {
	path := filepath.Join(folder, claimFile)
	if _, err := os.Lstat(path); err != nil {
		return
	}
	unlock, err := s.lock(folder)
	if err != nil {
		return
	}
	defer unlock()
	_, paths, _ := graves(folder) // a folder that cannot be listed keeps them
	removeAll(append(paths, path))
}

func removeAll(paths []string) {
	for _, p := range paths {
		_ = os.Remove(p) // if it cannot be removed, it is only counted again
	}
}

func (s *Folder) own(c *claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mine[c.mine.Token] = c
}

func (s *Folder) forget(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mine, token)
}

func (s *Folder) isMine(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mine[token] != nil
}

// stale says whether a claim has stood still for long enough. It remembers what it saw.
func (s *Folder) stale(name, text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, there := s.watched[name]
	if !there || seen.text != text {
		s.watched[name] = sighting{text: text, since: time.Now(), moved: there}
		return false
	}
	return time.Since(seen.since) >= StaleAfter
}

// moved says whether the claim of a job was seen to change.
func (s *Folder) moved(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.watched[name]
	return seen.moved && time.Since(seen.since) < StaleAfter
}

// running is the state of a job that somebody is at work on.
func (s *Folder) running(folder string, sure bool) State {
	r, _, _, _ := readClaim(filepath.Join(folder, claimFile)) // one that is not there yet says nothing
	return State{Phase: Running, Sure: sure || s.moved(filepath.Base(folder)), Attempt: r.Attempt, Progress: r.Progress}
}

func failedState(f failure) State {
	return State{Phase: Failed, Error: f.Error, Attempt: f.Attempt, Progress: Progress{Host: f.Host, Step: f.Step}}
}

// noted says whether a job is known to have its result, here or by the note of the process that wrote or read it.
func (s *Folder) noted(e Entry, folder string) (State, bool) {
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
func (s *Folder) done(e Entry, write bool) (State, bool) {
	folder := folderOf(s.dir, e)
	if st, done := s.noted(e, folder); done {
		return st, true
	}
	stamp, whole := stampOf(folder) // before it is read: whoever replaces it meanwhile makes another stamp
	r, err := verified(filepath.Join(folder, experiment.ResultFile), e)
	if err != nil || r == nil || r.Outcome.State == result.Interrupted {
		return State{}, false
	}
	note := noteOf(e, r, stamp)
	if write && whole {
		note.write(folder)
	}
	s.know(e, note.state())
	return note.state(), true
}

func (s *Folder) know(e Entry, st State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[e.Folder] = st
}

// State implements [Store].
func (s *Folder) State(e Entry) State {
	if st, done := s.done(e, false); done {
		return st
	}
	folder := folderOf(s.dir, e)
	if f, failed := readFailure(folder); failed {
		return failedState(f)
	}
	if r, text, whole, err := readClaim(filepath.Join(folder, claimFile)); err == nil {
		dead := s.stale(e.Folder, string(text)) || whole && r.Locked && r.Machine == s.machine && !s.isMine(r.Token) && s.isFree(folder)
		if !dead {
			return s.running(folder, whole && r.Machine == s.machine)
		}
	}
	if fault := s.Unusable(e); fault != nil {
		return State{Phase: Begun, Error: Fault(fault)}
	}
	found, err := foundIn(folder, e)
	switch {
	case err != nil:
		return State{Phase: Begun, Error: Fault(err)}
	case found.State == "":
		return State{Phase: Waiting}
	}
	return State{Phase: Begun, Progress: Progress{Step: found.Step}}
}

// isFree says whether nobody on this machine has a folder locked.
func (s *Folder) isFree(folder string) bool {
	unlock, err := s.lock(folder)
	if err == nil {
		unlock()
	}
	return err == nil
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
	text := fmt.Sprintf("cancelled %s on %s\n", time.Now().UTC().Format(time.RFC3339), s.host)
	if err := experiment.WriteShared(s.dir, cancelledFile, []byte(text), nil); err != nil {
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
