package study

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"ocl/experiment"
	"ocl/experiment/result"
	"ocl/experiment/train"
	"ocl/internal/atomicfile"
	"ocl/internal/input"
	"ocl/internal/limit"
)

// Names in the folder of a run.
const (
	claimFile  = ".claim"
	deadPrefix = ".claim-" // of a claim whose process died, with its token
	failedFile = "failed.json"
)

// claimBytes is the length of a claim file: a beat writes over the one before, in one piece and in its place.
const claimBytes = 1024

// record is what a claim file says.
type record struct {
	Token   string `json:"token"`   // of this attempt alone
	Machine string `json:"machine"` // boot id, or the host's name
	Locked  bool   `json:"locked"`  // the process has the folder locked for as long as it lives
	Attempt int    `json:"attempt"`
	Start   int    `json:"start"`  // the step at which the attempt began
	Deaths  int    `json:"deaths"` // attempts before this one that died without a checkpoint of a later step
	Beat    int    `json:"beat"`
	Since   string `json:"since"`
	Progress
}

func (r record) encode() ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if len(text) >= claimBytes {
		return nil, fmt.Errorf("study: a claim of %d bytes is too long", len(text))
	}
	return append(append(text, bytes.Repeat([]byte{' '}, claimBytes-1-len(text))...), '\n'), nil
}

// parseRecord reads a claim file; ok is false if it is none, such as one that is half written.
func parseRecord(text []byte) (r record, ok bool) {
	if len(text) != claimBytes || json.Unmarshal(text, &r) != nil {
		return record{}, false
	}
	return r, r.Token != "" && r.Machine != "" && r.Attempt > 0 && r.Start >= 0 && r.Deaths >= 0
}

// readClaim reads the claim of a run. The text is what the file holds, whole or not.
func readClaim(path string) (r record, text []byte, ok bool, err error) {
	f, _, err := input.Open(path, input.Want{Most: limit.StudyNote})
	if err != nil {
		return r, nil, false, err
	}
	defer f.Close()
	buf := make([]byte, claimBytes+1)
	n := 0
	for n < len(buf) {
		k, err := f.Read(buf[n:])
		n += k
		if err != nil {
			break // the end, or a fault: it is then not whole
		}
	}
	r, ok = parseRecord(buf[:n])
	return r, buf[:n], ok, nil
}

// temporary is the name of the claim while it is made.
func (r record) temporary(folder string) string {
	return filepath.Join(folder, claimFile+"."+r.Token+".tmp")
}

// putClaim makes a claim file that is whole from the start. made is false if there is one.
func putClaim(folder string, r record) (made bool, err error) {
	text, err := r.encode()
	if err != nil {
		return false, err
	}
	path, temp := filepath.Join(folder, claimFile), r.temporary(folder)
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return false, err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Link(temp, path)
	}
	defer os.Remove(temp)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrExist):
		return false, nil
	}
	// The file system may have no links: then a killed process can leave a claim that is half written, which counts as dead
	// when it has stood still.
	f, opened := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	switch {
	case errors.Is(opened, fs.ErrExist):
		return false, nil
	case opened != nil:
		return false, errors.Join(err, opened)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path)
		return false, err
	}
	return true, nil
}

// bury renames the claim of a dead process. It returns false and changes nothing if another process was faster: the file may
// then be a new claim, which it puts back.
func bury(folder string, dead record, text []byte) bool {
	path := filepath.Join(folder, claimFile)
	grave := deadPrefix + fmt.Sprintf("%08x", rand.Uint32())
	if dead.Token != "" {
		grave = deadPrefix + dead.Token
	}
	grave = filepath.Join(folder, grave)
	if os.Rename(path, grave) != nil {
		return false
	}
	_, got, _, err := readClaim(grave)
	if err == nil && bytes.Equal(got, text) {
		return true
	}
	if os.Link(grave, path) == nil || errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(grave)
	} else if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) { // no links
		_ = os.Rename(grave, path)
	}
	return false
}

// graves returns the renamed claims of dead processes, and the temporary files that they left.
func graves(folder string) (dead []record, paths []string, err error) {
	files, err := input.ReadDir(folder)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		name := f.Name()
		half := strings.HasPrefix(name, claimFile+".") && strings.HasSuffix(name, ".tmp") || atomicfile.IsTemporary(name, failedFile)
		if !half && !strings.HasPrefix(name, deadPrefix) {
			continue
		}
		path := filepath.Join(folder, name)
		paths = append(paths, path)
		if r, _, ok, err := readClaim(path); err == nil && ok && strings.HasPrefix(name, deadPrefix) {
			dead = append(dead, r)
		}
	}
	return dead, paths, nil
}

// failure is what failed.json says.
type failure struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Error   string `json:"error"`
	Host    string `json:"host"`
	Attempt int    `json:"attempt"`
	Step    int    `json:"step"`
	Deaths  int    `json:"deaths,omitempty"`
	Time    string `json:"time"`
}

const failureFormat = "ocl-failure"

// readFailure reads why a job failed. A file that cannot be read fails the job all the same: nobody removes it by accident.
func readFailure(folder string) (f failure, failed bool) {
	path := filepath.Join(folder, failedFile)
	text, err := input.ReadFile(path, input.Want{Most: limit.StudyFailure})
	if errors.Is(err, fs.ErrNotExist) {
		return f, false
	}
	if errors.Is(err, syscall.ENOTDIR) {
		return failure{Error: folder + " is not a folder. Remove it, and the job is done"}, true
	}
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err != nil || f.Format != failureFormat {
		return failure{Error: path + " is damaged"}, true
	}
	return f, true
}

// claim is a job of a folder that this process has taken.
type claim struct {
	store  *Folder
	entry  Entry
	folder string
	unlock func()
	mine   record
}

func (c *claim) Place() experiment.RunIn {
	// Without locks, nobody else of this machine can have one.
	return experiment.RunIn{Folder: c.folder, Locked: true, Permit: c.permit}
}

func (c *claim) Attempt() (number, step int) { return c.mine.Attempt, c.mine.Start }

// permit says whether the claim is still ours.
func (c *claim) permit() error {
	r, _, ok, err := readClaim(filepath.Join(c.folder, claimFile))
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("study: %w", err)
	case err == nil && ok && r.Token == c.mine.Token:
		return nil
	}
	if gone := train.Vanished(c.folder); gone != nil {
		return fmt.Errorf("study: %w. %w", gone, ErrLost)
	}
	return fmt.Errorf("study: %s: %w, as this one was not heard of for %s", c.folder, ErrLost, StaleAfter)
}

// Beat writes over the claim, if it is ours.
func (c *claim) Beat(p Progress) error {
	path := filepath.Join(c.folder, claimFile)
	f, err := input.OpenToWrite(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c.permit()
	}
	if err != nil {
		return fmt.Errorf("study: %w", err)
	}
	defer f.Close()
	text := make([]byte, claimBytes)
	if _, err := f.ReadAt(text, 0); err != nil {
		return c.permit()
	}
	if r, ok := parseRecord(text); !ok || r.Token != c.mine.Token {
		return c.permit()
	}
	p.Host, p.PID = c.store.host, os.Getpid()
	c.mine.Progress = p
	c.mine.Beat++
	if text, err = c.mine.encode(); err != nil {
		return err
	}
	if _, err := f.WriteAt(text, 0); err != nil { // into the open file, even if it was renamed meanwhile
		return fmt.Errorf("study: %w", err)
	}
	return nil
}

func (c *claim) Done(r *result.Result) error {
	if s, ok := stampOf(c.folder); ok && r.Key == c.entry.Key && c.permit() == nil {
		noteOf(c.entry, r, s).write(c.folder)
	}
	c.store.Note(Event{Event: EventDone, Job: c.entry.Folder, Attempt: c.mine.Attempt, Step: r.Outcome.Step, Outcome: r.Outcome.State, Seconds: c.seconds()})
	return c.end()
}

func (c *claim) Fail(cause error) error {
	c.store.Note(Event{Event: EventFail, Job: c.entry.Folder, Attempt: c.mine.Attempt, Step: c.mine.Step, Error: cause.Error(), Seconds: c.seconds()})
	err := c.store.fail(c.folder, failure{Error: cause.Error(), Attempt: c.mine.Attempt, Step: c.mine.Step}, c.permit)
	return errors.Join(err, c.end())
}

func (c *claim) Release() error {
	event := EventRelease
	if errors.Is(c.permit(), ErrLost) {
		event = EventLost
	}
	c.store.Note(Event{Event: event, Job: c.entry.Folder, Attempt: c.mine.Attempt, Step: c.mine.Step, Seconds: c.seconds()})
	return c.end()
}

func (c *claim) seconds() float64 {
	since, err := time.Parse(time.RFC3339Nano, c.mine.Since)
	if err != nil {
		return 0
	}
	return time.Since(since).Round(time.Millisecond).Seconds()
}

// end removes the claim, if it is ours, and unlocks the folder.
func (c *claim) end() (err error) {
	_ = os.Remove(c.mine.temporary(c.folder)) // if it could not be removed when the claim was made
	if c.permit() == nil {
		if err = os.Remove(filepath.Join(c.folder, claimFile)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	c.unlock()
	c.store.forget(c.mine.Token)
	if err != nil {
		return fmt.Errorf("study: %w", err)
	}
	return nil
}

// fail writes why a job failed.
func (s *Folder) fail(folder string, f failure, permit func() error) error {
	f.Format, f.Version, f.Host, f.Time = failureFormat, 1, s.host, time.Now().UTC().Format(time.RFC3339)
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.WriteBytesIf(filepath.Join(folder, failedFile), append(text, '\n'), permit); err != nil {
		return fmt.Errorf("study: %w", err)
	}
	return nil
}
