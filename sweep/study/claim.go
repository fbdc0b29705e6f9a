package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"ocl/internal/atomicfile"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/result"
)

// Names in the folder of a run.
const (
	attemptFile = ".attempt"
	failedFile  = "failed.json"
)

// attemptBytes is the length of an attempt file: a beat writes over the one before, in one piece and in its place.
const attemptBytes = 1024

// attempt is the content of the file that a process has in a job's folder while it does the job. A process that dies
// leaves it.
type attempt struct {
	Attempt
	At time.Time `json:"at"` // when it was written
}

// writeTo writes over the file.
func (a *attempt) writeTo(f *os.File, now time.Time) error {
	a.At = now.UTC()
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if len(text) >= attemptBytes {
		return fmt.Errorf("an attempt of %d bytes is too long", len(text))
	}
	_, err = f.WriteAt(append(append(text, bytes.Repeat([]byte{' '}, attemptBytes-1-len(text))...), '\n'), 0)
	return err
}

// create makes the file anew in the folder of a run that is locked. An old one may be a link to another file.
func (a *attempt) create(folder string, now time.Time) (*os.File, error) {
	path := filepath.Join(folder, attemptFile)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	if err := a.writeTo(f, now); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	return f, nil
}

// readAttempt reads the attempt of a run. One that cannot be read, as when it is half written, is a first one of which
// nothing is known.
func readAttempt(folder string) (a attempt, there bool) {
	path := filepath.Join(folder, attemptFile)
	if _, err := os.Lstat(path); err != nil {
		return a, false
	}
	text, err := input.ReadFile(path, input.Want{Most: attemptBytes})
	if err != nil || json.Unmarshal(text, &a) != nil || a.Number < 1 || a.Start < 0 || a.Deaths < 0 {
		return attempt{Attempt: FirstAttempt(0)}, true
	}
	return a, true
}

// failure is the content of failed.json.
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

// readFailure reads why a job failed. A file that cannot be read fails the job all the same: nobody removes it by
// accident.
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
	file   *os.File // of the attempt
	mine   attempt
}

func (c *claim) Place() experiment.RunIn { return experiment.RunIn{Folder: c.folder, Locked: true} }

func (c *claim) Attempt() (number, step int) { return c.mine.Number, c.mine.Start }

func (c *claim) Beat(p progress.Progress) error {
	p.Host, p.PID = c.store.host, os.Getpid()
	c.mine.Progress = p
	if err := c.mine.writeTo(c.file, c.store.now()); err != nil {
		return fmt.Errorf("study: %w", err)
	}
	return nil
}

// Save does nothing: the run writes into the folder itself.
func (c *claim) Save(context.Context) error { return nil }

func (c *claim) Done(r *result.Result) error {
	if s, ok := stampOf(c.folder); ok && r.Key == c.entry.Key {
		noteOf(c.entry, r, s).write(c.folder)
	}
	return c.Release()
}

func (c *claim) Fail(cause error) error {
	err := c.store.fail(c.folder, failure{Error: cause.Error(), Attempt: c.mine.Number, Step: c.mine.Step})
	return errors.Join(err, c.Release())
}

func (c *claim) Release() error {
	err := c.close()
	c.unlock()
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	delete(c.store.mine, c.folder)
	return err
}

// close removes the file of the attempt. The folder may have been removed meanwhile.
func (c *claim) close() error {
	_ = c.file.Close() // what a beat wrote may be lost
	if err := os.Remove(c.file.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("study: %w", err)
	}
	return nil
}

// fail writes why a job failed.
func (s *Folder) fail(folder string, f failure) error {
	f.Format, f.Version, f.Host, f.Time = failureFormat, 1, s.host, s.now().UTC().Format(time.RFC3339)
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.WriteBytes(filepath.Join(folder, failedFile), append(text, '\n')); err != nil {
		return fmt.Errorf("study: %w", err)
	}
	return nil
}
